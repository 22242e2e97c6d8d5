"""Random tensors, filling in place and `nn.init`: PyTorch's values, dtypes and shapes under the same seed."""

import warnings
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as T
from tapegrad.torch import _arrays, random
from tapegrad.torch._functions import create, random_fill  # noqa: F401  they fill the tables
from tapegrad.torch._functions._build import FUNCTIONS, METHODS
from tapegrad.torch._generator import Generator, default_generator
from tapegrad.torch.nn import init


class Facade:
    """`torch` as far as it is needed here."""

    Generator = Generator
    manual_seed = staticmethod(random.manual_seed)

    def __getattr__(self, name: str) -> Any:
        return FUNCTIONS[name] if name in FUNCTIONS else getattr(T, name)


ours = Facade()

CALLS = [
    "t.rand(3)",
    "t.rand((2, 3))",
    "t.rand(size=(2, 3))",
    "t.rand([40], dtype=t.float64)",
    "t.rand(())",
    "t.rand(3, dtype=t.complex128)",
    "t.randn(4, 5)",
    "t.randn(3, 3, dtype=t.bfloat16)",
    "t.randn(3, dtype=t.complex64)",
    "t.randn(20, dtype=t.complex64)",
    "t.randint(10, (3,))",
    "t.randint(2, 10, (3, 4))",
    "t.randint(low=2, high=10, size=(3,))",
    "t.randint(10, size=(3,))",
    "t.randint(0, 2, (5,), dtype=t.float32)",
    "t.randperm(7)",
    "t.randperm(7, dtype=t.int32)",
    "t.rand_like(t.ones(3, 2))",
    "t.randn_like(t.ones(3, 2, dtype=t.float64))",
    "t.randint_like(t.ones(3), 5)",
    "t.randint_like(t.ones(3), 2, 5)",
    "t.normal(0.0, 1.0, (3,))",
    "t.normal(2, 3, size=(20,))",
    "t.normal(t.arange(20.0), t.ones(20))",
    "t.normal(t.arange(20.0), 2.0)",
    "t.normal(1.0, t.ones(4))",
    "t.normal(t.zeros(3, 1), t.ones(1, 6))",
    "t.bernoulli(t.full((5,), 0.3))",
    "t.multinomial(t.arange(1.0, 6), 10, True)",
    "t.poisson(t.full((3,), 4.0))",
    "t.rand(2, generator=t.Generator().manual_seed(5))",
]
FILLS: list[tuple[str, tuple[int, ...], tuple[Any, ...], dict[str, Any]]] = [
    ("uniform_", (3, 4), (-1, 1), {}),
    ("uniform_", (3, 4), (), {"to": 3}),
    ("uniform_", (3, 4), (), {"from": -2, "to": 3}),
    ("normal_", (3, 4), (), {}),
    ("normal_", (3, 6), (1, 2), {}),
    ("random_", (5,), (), {}),
    ("random_", (5,), (3,), {}),
    ("random_", (5,), (2, 9), {}),
    ("geometric_", (5,), (0.3,), {}),
    ("cauchy_", (5,), (1, 2), {}),
    ("log_normal_", (5,), (), {}),
    ("normal_", (0,), (), {}),
    ("normal_", (), (), {}),
]
INITS = [
    *("uniform_(x)", "normal_(x, 1, 2)", "constant_(x, 3.0)", "ones_(x)", "zeros_(x)", "eye_(x)", "xavier_uniform_(x)"),
    *("xavier_normal_(x, 2.0)", "kaiming_uniform_(x)", "kaiming_uniform_(x, 5**0.5)", "trunc_normal_(x, 0, 1, 1, 2)"),
    *("kaiming_normal_(x, mode='fan_out', nonlinearity='relu')", "trunc_normal_(x)", "trunc_normal_(x, std=0.02)"),
    *("trunc_normal_(x, 0.5, 2.0, -0.3, 0.4)", "sparse_(x, 0.4)", "xavier_normal(x)"),
]


@pytest.fixture
def torch() -> Any:
    import torch

    torch.manual_seed(3)
    default_generator().manual_seed(3)
    return torch


def agree(theirs: Any, found: Any, what: Any) -> None:
    wide = theirs.to(_wide(theirs)).numpy()
    value = _arrays.raw(found)
    assert str(theirs.dtype) == str(found.dtype), what
    assert np.array_equal(wide, value.astype(wide.dtype)), what
    assert tuple(theirs.shape) == tuple(found.shape), what


def _wide(x: Any) -> Any:
    import torch

    return torch.complex128 if x.is_complex() else torch.float64


def same_states(torch: Any) -> bool:
    return bool(torch.get_rng_state().numpy().tobytes() == default_generator().state_bytes())


@pytest.mark.interop("torch")
def test_functions_give_the_numbers_of_pytorch(torch: Any) -> None:
    for call in CALLS:
        agree(eval(call, {"t": torch}), eval(call, {"t": ours}), call)
        assert same_states(torch), call


@pytest.mark.interop("torch")
def test_filling_gives_the_numbers_of_pytorch(torch: Any) -> None:
    for name, shape, args, words in FILLS:
        for view in (lambda x: x, lambda x: x.T if x.ndim == 2 else x, lambda x: x[..., ::2] if x.ndim else x):
            theirs, mine = view(torch.zeros(shape)), view(ours.zeros(shape))
            getattr(theirs, name)(*args, **words)
            METHODS[name](mine, *args, **words)
            agree(theirs, mine, (name, shape, args))
            assert same_states(torch), name


@pytest.mark.interop("torch")
@pytest.mark.parametrize("shape", [(5, 8), (8, 3), (40, 30)])
def test_init_gives_the_numbers_of_pytorch(torch: Any, shape: tuple[int, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in INITS:
            theirs = eval(f"m.{call}", {"m": torch.nn.init, "x": torch.zeros(shape)})
            agree(theirs, eval(f"m.{call}", {"m": init, "x": ours.zeros(shape)}), call)
            assert same_states(torch), call


@pytest.mark.interop("torch")
@pytest.mark.parametrize("shape", [(5, 8), (8, 3), (4, 3, 2)])
def test_orthogonal_matrices_agree_but_for_the_last_bits(torch: Any, shape: tuple[int, ...]) -> None:
    theirs, mine = torch.nn.init.orthogonal_(torch.zeros(shape), 2.0), init.orthogonal_(ours.zeros(shape), 2.0)
    np.testing.assert_allclose(theirs.numpy(), _arrays.raw(mine), rtol=0, atol=4e-6)
    assert same_states(torch)


REFUSED = [
    "t.rand(2, dtype=t.int64)",
    "t.randn(2, dtype=t.int64)",
    "t.bernoulli(t.tensor([1]))",
    "t.randint(5, 5, (2,))",
    "t.multinomial(t.ones(3), 4)",
    "t.multinomial(t.zeros(3), 1)",
    "t.multinomial(t.tensor([-1.0, 2]), 1)",
    "t.multinomial(t.ones(3), 0)",
    "t.multinomial(t.ones(3, dtype=t.int64), 1)",
    "t.poisson(t.tensor([-1.0]))",
    "t.normal(t.zeros(3), t.tensor([-1.0, 1, 1]))",
    "t.normal(t.zeros(3), t.ones(2))",
    "f('uniform_', 2, 1)",
    "f('normal_', 0, -1)",
    "f('bernoulli_', 1.5)",
    "f('exponential_', -1)",
    "f('geometric_', 0)",
    "f('cauchy_', 0, 0)",
    "f('log_normal_', 0, -1)",
    "f('random_', 5, 5)",
    "i.xavier_uniform_(t.ones(3))",
    "i.sparse_(t.ones(3), 0.1)",
    "i.orthogonal_(t.ones(3))",
    "i.calculate_gain('x')",
    "i.calculate_gain('leaky_relu', 'a')",
    "i.kaiming_normal_(t.ones(3, 3), mode='x')",
    "i.eye_(t.ones(3))",
    "i.dirac_(t.ones(3))",
]


@pytest.mark.interop("torch")
@pytest.mark.parametrize("call", REFUSED)
def test_errors_are_those_of_pytorch(torch: Any, call: str) -> None:
    expected = raised(call, {"t": torch, "i": torch.nn.init, "f": lambda name, *a: getattr(torch.ones(3), name)(*a)})
    found = raised(call, {"t": ours, "i": init, "f": lambda name, *a: METHODS[name](ours.ones(3), *a)})
    assert type(found) is type(expected)
    assert str(expected).split("  (Could")[0] == str(found)


def raised(call: str, names: dict[str, Any]) -> Exception:
    try:
        eval(call, names)
    except Exception as error:
        return error
    raise AssertionError(f"{call} raised nothing")


# -- without PyTorch ---------------------------------------------------------------------------------------------
def test_a_state_is_put_back_and_a_fork_leaves_none_behind() -> None:
    random.manual_seed(4)
    state = random.get_rng_state()
    first = FUNCTIONS["randn"](3).tolist()
    with random.fork_rng():
        FUNCTIONS["randn"](3)
        random.manual_seed(1)
    second = FUNCTIONS["randn"](3).tolist()
    random.set_rng_state(state)
    assert [FUNCTIONS["randn"](3).tolist(), FUNCTIONS["randn"](3).tolist()] == [first, second]
    assert random.initial_seed() == 4
    with pytest.raises(TypeError, match=r"must be a torch.ByteTensor"):
        random.set_rng_state(ours.ones(3))


def test_a_leaf_that_requires_a_gradient_is_filled_under_no_grad_only() -> None:
    x = ours.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        METHODS["normal_"](x)
    before = default_generator().state_bytes()
    init.normal_(x)
    assert x.requires_grad
    assert default_generator().state_bytes() != before
