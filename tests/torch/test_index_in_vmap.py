"""Indices that differ between the items of a `vmap`: each item's result, and its gradient, as in a loop."""

import pytest

from tapegrad import torch
from tapegrad.torch.nn import functional as F

vmap = torch.func.vmap


def _set(v, i):
    w = v.clone()
    w[i[0]] = 9.0
    return w


def _set_columns(v, i):
    w = v.clone()
    w[:, i] = w[:1, i] * 3
    return w


def _put_twice(v, i):
    return v.index_put((i, torch.tensor([0, -1])), v[0, :2], accumulate=True)


WITH_INDEX = {
    "rows": lambda v, i: v[i],
    "columns": lambda v, i: v[:, i],
    "elements": lambda v, i: v[i, torch.tensor([0, -1])],
    "apart": lambda v, i: v[i, :, None][None],
    "by an integer too": lambda v, i: v[-1, i],
    "negative": lambda v, i: v[i - 2],
    "gather": lambda v, i: v.gather(1, i[:, None]),
    "take_along_dim": lambda v, i: v.take_along_dim(i[None], 1),
    "take": lambda v, i: v.take(i[:, None]),
    "index_select": lambda v, i: v.index_select(1, i),
    "scatter": lambda v, i: v.scatter(1, i[None], v[:1, 1:]),
    "scatter a number": lambda v, i: v.scatter(0, i[:, None], 5.0),
    "scatter_add": lambda v, i: v.scatter_add(0, i[:, None], v),
    "scatter_reduce": lambda v, i: v.scatter_reduce(0, i[:, None], v, "amax"),
    "index_add": lambda v, i: v.index_add(1, i, v[:, :2], alpha=2),
    "index_copy": lambda v, i: v.index_copy(0, i[:1], v[:1] * 3),
    "index_fill": lambda v, i: v.index_fill(1, i, -1.0),
    "index_put": _put_twice,
    "set": _set,
    "set columns": _set_columns,
    "cummax": lambda v, i: v.cummax(1).values,
    "cummin": lambda v, i: v.cummin(0)[0] + v[i],
    "mode": lambda v, i: v.mode(1).values,
    "sort": lambda v, i: torch.sort(v, 1).values,
    "sum of a number": lambda v, i: v[0, 0].sum(0) + v[1, 1].mean(-1),
}


#: Those that write into what they are given: where that is the same for all items, it has no place for the value of each.
WRITING = ["set", "set columns"]


@pytest.fixture
def x():
    torch.manual_seed(5)
    return torch.randn(3, 2, 3, dtype=torch.float64)


INDEX = torch.tensor([[0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize("name", WITH_INDEX)
def test_an_index_of_each_item_picks_from_it(name, x):
    f = WITH_INDEX[name]
    assert torch.equal(vmap(f)(x, INDEX), torch.stack([f(v, i) for v, i in zip(x, INDEX, strict=True)]))


@pytest.mark.parametrize("name", sorted(WITH_INDEX.keys() - WRITING))
def test_the_same_from_what_all_items_share(name, x):
    f = WITH_INDEX[name]
    assert torch.equal(vmap(f, in_dims=(None, 0))(x[0], INDEX), torch.stack([f(x[0], i) for i in INDEX]))


@pytest.mark.parametrize("name", WITH_INDEX)
def test_gradients_of_items_are_those_of_a_loop(name, x):
    f = WITH_INDEX[name]
    slope = torch.func.grad(lambda v, i: (f(v, i) ** 2).sum())
    assert torch.allclose(vmap(slope)(x, INDEX), torch.stack([slope(v, i) for v, i in zip(x, INDEX, strict=True)]))


@pytest.mark.parametrize("name", WRITING)
def test_what_all_items_share_is_not_written_to_at_places_of_each(name, x):
    with pytest.raises(RuntimeError, match="more elements than `self`"):
        vmap(WITH_INDEX[name], in_dims=(None, 0))(x[0], INDEX)


@pytest.mark.parametrize("name", sorted(WITH_INDEX.keys() - WRITING))
def test_an_index_of_each_item_of_nested_batches_picks_from_it(name, x):
    f = WITH_INDEX[name]
    found = vmap(lambda v: vmap(lambda i: f(v, i))(INDEX))(x)
    assert torch.equal(found, torch.stack([torch.stack([f(v, i) for i in INDEX]) for v in x]))


@pytest.mark.parametrize(
    "f",
    [
        lambda i, v: F.one_hot(i, 4),
        lambda i, v: torch.bincount(i, minlength=3),
        lambda i, v: torch.searchsorted(v.sort().values, v),
        lambda i, v: torch.searchsorted(v, v, sorter=v.argsort(), right=True),
        lambda i, v: torch.bucketize(v, torch.tensor([-0.5, 0.5], dtype=torch.float64)),
        lambda i, v: torch.isclose(v, v.round(), atol=0.3),
        lambda i, v: v.cummin(0).indices,
        lambda i, v: v.topk(2).indices,
        lambda i, v: torch.linalg.eigh(torch.outer(v, v)).eigenvalues.round(decimals=6) + 0.0,
    ],
)
def test_functions_that_look_at_values_see_each_item(f, x):
    v = x[:, 0]
    assert torch.equal(vmap(f)(INDEX, v), torch.stack([f(i, w) for i, w in zip(INDEX, v, strict=True)]))


def test_a_result_with_names_keeps_them(x):
    found = vmap(lambda v: v.max(0))(x)
    assert torch.equal(found.values, x.max(1).values)
    assert torch.equal(found.indices, x.max(1).indices)


def test_one_tensor_may_have_a_tuple_of_one_dimension(x):
    assert torch.equal(vmap(lambda v: 2 * v, out_dims=(1,))(x), 2 * x.transpose(0, 1))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda v, i: v[i + 1], "out of bounds"),
        (lambda v, i: v[0, i - 4], "out of bounds"),
        (lambda v, i: v.gather(0, (i + 1)[:, None]), "out of bounds"),
        (lambda v, i: F.one_hot(i), "explicit positive num_classes"),
        (lambda v, i: v[v > 0], "boolean mask"),
    ],
)
def test_indices_that_pick_nothing_are_refused(f, message, x):
    with pytest.raises(RuntimeError, match=message):
        vmap(f)(x, INDEX)
