"""A function that `vmap` maps may write into its arguments: the tensors outside have what it wrote."""

import pytest

from tapegrad import torch
from tapegrad.torch.func import vmap


def added(x):
    return x.add_(1)


def placed(x):
    x[0] = 5.0
    return x * 1


def scaled(x):
    x.view(-1).mul_(3)
    return x.sum()


@pytest.mark.parametrize("dim", [0, 1])
def test_what_is_written_into_an_item_is_in_the_tensor(dim):
    x = torch.arange(6.0).view(2, 3)
    assert vmap(added, in_dims=dim, out_dims=dim)(x).tolist() == x.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_parts_and_views_of_items_are_written_too():
    x = torch.ones(2, 3)
    vmap(placed)(x)
    assert x.tolist() == [[5.0, 1.0, 1.0]] * 2
    assert vmap(scaled)(x).tolist() == [21.0, 21.0]
    assert x.tolist() == [[15.0, 3.0, 3.0]] * 2


def test_writes_go_out_of_two_maps():
    x = torch.zeros(2, 3, 2)
    vmap(vmap(added))(x)
    assert x.tolist() == torch.ones(2, 3, 2).tolist()


def test_gradients_see_the_write():
    leaf = torch.ones(2, 2, requires_grad=True)
    x = leaf * 1
    vmap(lambda row: row.mul_(4))(x)
    x.sum().backward()
    assert leaf.grad.tolist() == [[4.0, 4.0]] * 2
    with pytest.raises(RuntimeError, match="leaf"):
        vmap(added)(leaf)


def test_a_quantile_has_a_derivative_for_its_share():
    x = torch.tensor([[3.0, 1.0, 2.0, 7.0], [0.0, float("nan"), 5.0, 2.0]])
    q = torch.tensor([0.3, 0.8], requires_grad=True)
    torch.quantile(x[0], q).sum().backward()
    assert q.grad.tolist() == pytest.approx([3 * 1.0, 3 * 4.0])
    share = torch.tensor(0.75, requires_grad=True)
    torch.nanquantile(x, share, dim=1).sum().backward()
    assert share.grad.item() == pytest.approx(3 * 4.0 + 2 * 3.0)


@pytest.mark.parametrize(
    "write",
    [
        lambda z, a: z.copy_(a),
        lambda z, a: z.add_(a),
        lambda z, a: z[0].copy_(a[0]),
        lambda z, a: z.__setitem__(0, a[0]),
        lambda z, a: z.__setitem__(torch.tensor([0]), a[:1]),
        lambda z, a: torch.add(a, a, out=z),
        lambda z, a: setattr(z, "data", a),
    ],
)
def test_a_tensor_outside_is_not_given_values_of_the_items(write):
    z = torch.zeros(2)
    with pytest.raises(RuntimeError, match=r"more elements than `self`|mutating directly with `\.data`"):
        vmap(lambda a: (write(z, a), a)[1])(torch.ones(3, 2))
    assert z.tolist() == [0.0, 0.0]


def test_a_tensor_outside_is_written_to_with_what_is_the_same_for_all():
    z = torch.ones(2)
    assert vmap(lambda a: a + z.mul_(3))(torch.ones(3, 2)).tolist() == [[4.0, 4.0]] * 3
    assert z.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched tensor"):
        vmap(lambda a: z.normal_(), randomness="different")(torch.ones(3, 2))


def test_what_is_made_like_an_item_is_written_to():
    x = torch.arange(6.0).view(3, 2)

    def exchanged(a):
        made = torch.zeros_like(a)
        made[0] = a[1]
        made[1:] += a[:1]
        return made

    def longer(a):
        made = a.new_ones(3)
        made[1:].mul_(a)
        return made

    assert vmap(exchanged)(x).tolist() == x.flip(1).tolist()
    assert vmap(longer)(x).tolist() == [[1.0, *row] for row in x.tolist()]
    assert vmap(vmap(lambda a: torch.empty_like(a).copy_(a)))(x).tolist() == x.tolist()
    assert vmap(torch.ones_like)(x).tolist() == [[1.0, 1.0]] * 3
    assert torch.func.jacrev(exchanged)(x[0]).tolist() == [[0.0, 1.0], [1.0, 0.0]]
