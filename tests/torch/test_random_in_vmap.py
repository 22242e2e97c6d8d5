"""Random numbers with a distribution for each item of a `vmap`: those of one draw for the whole batch."""

import pytest

from tapegrad import torch

vmap = torch.func.vmap
DRAWS = {
    "bernoulli": torch.bernoulli,
    "normal": lambda p: torch.normal(p, 2.0),
    "normal of both": lambda p: torch.normal(p, p),
    "poisson": lambda p: torch.poisson(p * 9),
    "multinomial": lambda p: torch.multinomial(p, 4, replacement=True),
    "in place": lambda p: torch.zeros_like(p).bernoulli_(p),
}
P = torch.tensor([[0.2, 0.5, 0.9], [0.7, 0.1, 0.4]])


@pytest.mark.parametrize("name", DRAWS)
def test_different_numbers_are_those_of_one_draw_for_all_items(name):
    torch.manual_seed(7)
    found = vmap(DRAWS[name], randomness="different")(P)
    torch.manual_seed(7)
    assert torch.equal(found, DRAWS[name](P))


@pytest.mark.parametrize("name", [n for n in DRAWS if n not in ("multinomial", "in place")])
def test_nested_batches_draw_for_all_items_of_all(name):
    x = torch.stack([P, 1 - P])
    torch.manual_seed(7)
    found = vmap(vmap(DRAWS[name], randomness="different"), randomness="different")(x)
    torch.manual_seed(7)
    assert torch.equal(found, DRAWS[name](x))


def test_what_is_the_same_for_all_items_draws_for_each():
    torch.manual_seed(7)
    found = vmap(lambda _: torch.bernoulli(P), randomness="different")(torch.zeros(50))
    assert found.shape == (50, 2, 3)
    assert found.std(0).min() > 0
    same = vmap(lambda _: torch.bernoulli(P), randomness="same", out_dims=None)(torch.zeros(50))
    assert same.shape == (2, 3)


def test_matrices_of_weights_draw_for_each_row():
    torch.manual_seed(7)
    found = vmap(lambda p: torch.multinomial(p, 5, replacement=True), randomness="different")(torch.stack([P, P]))
    torch.manual_seed(7)
    assert torch.equal(found, torch.multinomial(torch.cat([P, P]), 5, replacement=True).reshape(2, 2, 5))


def test_each_item_has_an_order_of_its_own():
    torch.manual_seed(7)
    found = vmap(lambda _: torch.randperm(6), randomness="different")(torch.zeros(3))
    torch.manual_seed(7)
    assert torch.equal(found, torch.stack([torch.randperm(6) for _ in range(3)]))


@pytest.mark.parametrize("name", DRAWS)
def test_randomness_that_cannot_be_is_refused(name):
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(DRAWS[name])(P)
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor input"):
        vmap(DRAWS[name], randomness="same")(P)
