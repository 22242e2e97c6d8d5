"""Methods that take a shape or axes one by one take them by their word too; and what is refused in PyTorch's class."""

import pytest

import tapegrad.torch as T

real = pytest.importorskip("torch")

BY_WORD = [
    "x.flip(dims=(0,))", "x.permute(dims=(1, 0))", "x.reshape(shape=(3, 2))", "x.repeat(repeats=(2, 1))", "x.expand(size=(2, 2, 3))",
    "x.tile(dims=(2, 1))", "x.view(size=(3, 2))", "x.split(split_size=1)[1]", "x.unfold(dimension=1, size=2, step=1)",
    "x.where(condition=x > 1, other=-x)", "x.swapaxes(axis0=0, axis1=1)", "x.broadcast_to(size=(2, 2, 3))",
    "x.unflatten(dim=1, sizes=(3, 1))",
    "x.movedim(source=0, destination=1)", "x.transpose(dim0=0, dim1=1)", "x.narrow(dim=1, start=0, length=2)",
]  # fmt: skip


@pytest.mark.parametrize("call", BY_WORD)
def test_a_method_takes_its_arguments_by_word(call: str) -> None:
    found = []
    for torch in (real, T):
        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        y = eval(call, {"x": x})
        (y * y).sum().backward()
        found.append((y.tolist(), x.grad.tolist()))
    assert found[0] == found[1]


REFUSED = {
    "an axis twice": "t.ones(2, 2).flip(0, 0)",
    "a line upside down": "t.fliplr(t.ones(3))",
    "a number upside down": "t.flipud(t.tensor(3))",
    "axes moved to too few": "t.ones(2, 3).movedim((0, 1), (0,))",
    "an axis moved twice": "t.ones(2, 3).movedim((0, 0), (0, 1))",
    "a grid of matrices": "t.meshgrid(t.ones(2, 2))",
    "a grid of two dtypes": "t.meshgrid(t.ones(2), t.ones(2, dtype=t.int64))",
    "a grid of nothing": "t.meshgrid()",
    "a grid in another order": "t.meshgrid(t.ones(2), t.ones(2), indexing='q')",
    "an identity below zero": "t.eye(-1)",
    "an identity of columns below zero": "t.eye(2, -1)",
    "fewer powers than none": "t.logspace(0, 1, -1)",
    "an endless range": "t.arange(0, float('inf'))",
    "a range the other way": "t.range(1, 0, 1)",
    "repeats in a table": "t.repeat_interleave(t.tensor([1, 2]), t.tensor([[1, 2]]))",
    "fewer repeats than none": "t.repeat_interleave(t.tensor([1, 2]), t.tensor([1, -2]))",
    "combinations of a matrix": "t.combinations(t.ones(2, 2))",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(REFUSED))
def test_what_makes_no_sense_is_refused_in_pytorchs_class(name: str) -> None:
    for torch in (real, T):
        with pytest.raises(RuntimeError):
            eval(REFUSED[name], {"t": torch})


SAME = {
    "a range written into a part": "(lambda x: (t.arange(0, 4, out=x.narrow(1, 1, 2)), x)[1])(t.zeros(2, 3))",
    "steps written into a part": "(lambda x: (t.linspace(0, 3, 4, out=x[:, 1:]), x)[1])(t.zeros(2, 3))",
    "an older range written": "(lambda x: (t.range(1, 4, out=x), x)[1])(t.zeros(4))",
    "complex steps": "t.linspace(0, 1 + 2j, 3)",
    "no combinations": "t.combinations(t.tensor([1, 2]), r=0)",
    "trace of bytes": "t.ones(2, 2, dtype=t.uint8).trace()",
}


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
@pytest.mark.parametrize("name", list(SAME))
def test_values_and_dtypes_are_pytorchs(name: str) -> None:
    theirs, ours = (eval(SAME[name], {"t": t}) for t in (real, T))
    assert (str(theirs.dtype), tuple(theirs.shape), theirs.tolist()) == (str(ours.dtype), tuple(ours.shape), ours.tolist())


def test_as_many_as_a_float_says_is_refused() -> None:
    for torch in (real, T):
        with pytest.raises(TypeError, match="must be int, not float"):
            torch.ones(4).topk(2.5)
