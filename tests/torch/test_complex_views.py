"""Complex numbers as pairs, pairs as complex numbers, and their parts: views that are written through."""

import pytest

from tapegrad import torch

WRITES = {
    "pairs": (lambda c: torch.view_as_real(c).mul_(2), lambda c: c * 2),
    "real parts of pairs": (lambda c: torch.view_as_real(c)[..., 0].mul_(3), lambda c: torch.complex(c.real * 3, c.imag)),
    "real": (lambda c: c.real.mul_(3), lambda c: torch.complex(c.real * 3, c.imag)),
    "imag": (lambda c: c.imag.copy_(c.real.detach()), lambda c: torch.complex(c.real, c.real.detach())),
    "a pair": (
        lambda c: torch.view_as_real(c).__setitem__((0, 1), torch.tensor([5.0, 6.0], dtype=torch.float64)),
        lambda c: torch.stack([c[0, 0], torch.tensor(5.0 + 6.0j, dtype=torch.complex128)])[None],
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_to_parts_is_one_to_the_numbers_with_its_gradient(name):
    in_place, beside = WRITES[name]
    x = torch.tensor([[1.0 + 2.0j, 3.0 - 1.0j]], dtype=torch.complex128, requires_grad=True)

    def slope(y):
        return torch.autograd.grad((y * y.conj()).real.sum() + 2 * y.real.sum() + 3 * y.imag.sum(), x)[0]

    y = x * 1
    in_place(y)
    expected = beside(x * 1)
    assert torch.equal(y, expected)
    assert torch.allclose(slope(y), slope(expected))


def test_pairs_and_numbers_share_their_memory():
    pairs = torch.arange(8.0).reshape(2, 2, 2).clone()
    numbers = torch.view_as_complex(pairs)
    numbers[0, 0] = 1j
    pairs[1, 1, 1] = 99.0
    assert pairs[0, 0].tolist() == [0.0, 1.0]
    assert numbers[1, 1].item() == 6.0 + 99.0j
    assert numbers._base is pairs
    assert torch.view_as_real(numbers)._base is pairs


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: torch.view_as_complex(x[0, 0]), "one or more dimensions"),
        (torch.view_as_complex, "last dimension of size 2"),
        (lambda x: torch.view_as_complex(x[:2].t()), "last dimension with stride 1"),
        (lambda x: torch.view_as_complex(x[:, :2]), "stride divisible by 2"),
        (lambda x: x.view(torch.float64), r"self\.size\(-1\) must be divisible by 2 to view Float as Double"),
        (lambda x: x[:, :2].view(torch.float64), r"self\.stride\(0\) must be divisible by 2"),
        (lambda x: x.t().view(torch.int16), r"self\.stride\(-1\) must be 1 to view Float as Short"),
        (lambda x: torch.ones(2, 4)[:, 1:3].view(torch.float64), r"self\.storage_offset\(\) must be divisible by 2"),
        (lambda x: x[0, 0].view(torch.float64), r"self\.dim\(\) cannot be 0"),
        (lambda x: torch.empty(0, 3).view(-1, 0), "can be any value and is ambiguous"),
        (lambda x: x.view(-2, 2), "invalid shape dimension -2 at index 0"),
    ],
)
def test_memory_that_cannot_be_seen_so_is_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(torch.ones(3, 3))
