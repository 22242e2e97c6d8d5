"""`tf.debugging` and the asserts: what they state is checked at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf.convert import convert
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.later import on_values
from tapegrad.tf.operators import pair
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.tensor import Tensor


def _fail(message: Any, text: str) -> None:
    raise invalid(None, f"{message + ' ' if message else ''}{text}")


@export("debugging.Assert", "Assert")
def Assert(condition: Any, data: Any, summarize: Any = None, name: str | None = None) -> None:
    """Raises InvalidArgumentError, showing the data, where the condition is false."""

    def test(c: Any) -> None:
        if not np.all(c):
            _fail(None, f"Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: {data}")

    on_values(test, convert(condition))


def _compared(name: str, test: Any, words: str) -> None:
    def check(x: Any, y: Any, message: Any = None, summarize: Any = None, name: str | None = None) -> None:
        def compare(a: Any, b: Any) -> None:
            if not np.all(test(a, b)):
                _fail(message, f"Condition x {words} y did not hold.\nx: {a}\ny: {b}")

        on_values(compare, *pair(x, y))

    check.__name__ = check.__qualname__ = f"assert_{name}"
    check.__doc__ = f"Raises InvalidArgumentError unless x {words} y for all elements."
    export(f"debugging.assert_{name}", *[f"assert_{name}"] * (name in ("equal", "greater", "less")))(check)


for _name, _test, _words in (
    ("equal", np.equal, "=="),
    ("none_equal", np.not_equal, "!="),
    ("less", np.less, "<"),
    ("less_equal", np.less_equal, "<="),
    ("greater", np.greater, ">"),
    ("greater_equal", np.greater_equal, ">="),
):
    _compared(_name, _test, _words)


def _signed(name: str, test: Any, words: str) -> None:
    def check(x: Any, message: Any = None, summarize: Any = None, name: str | None = None) -> None:
        def compare(a: Any) -> None:
            if not np.all(test(a)):
                _fail(message, f"Condition x {words} 0 did not hold element-wise:\nx: {a}")

        on_values(compare, convert(x))

    check.__name__ = check.__qualname__ = f"assert_{name}"
    check.__doc__ = f"Raises InvalidArgumentError unless x {words} 0 for all elements."
    export(f"debugging.assert_{name}")(check)


for _name, _sign, _words in (
    ("positive", lambda a: a > 0, ">"),
    ("negative", lambda a: a < 0, "<"),
    ("non_negative", lambda a: a >= 0, ">="),
    ("non_positive", lambda a: a <= 0, "<="),
):
    _signed(_name, _sign, _words)


@export("debugging.assert_near")
def assert_near(
    x: Any, y: Any, rtol: Any = None, atol: Any = None, message: Any = None, summarize: Any = None, name: str | None = None
) -> None:
    """Raises InvalidArgumentError unless |x - y| <= atol + rtol |y| for all elements."""

    def compare(a: Any, b: Any) -> None:
        eps = 10 * np.finfo(a.dtype).eps
        if not np.all(np.abs(a - b) <= (eps if atol is None else atol) + (eps if rtol is None else rtol) * np.abs(b)):
            _fail(message, f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}\nx: {a}\ny: {b}")

    on_values(compare, *pair(x, y))


@export("debugging.check_numerics")
def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """The tensor itself; raises InvalidArgumentError where it holds NaN or infinity."""
    x = convert(tensor)

    def test(raw: Any) -> None:
        kinds = [k for k, hit in (("NaN", np.isnan(raw).any()), ("Inf", np.isinf(raw).any())) if hit]
        if kinds:
            raise invalid(None, f"{message} : Tensor had {' and '.join(kinds)} values")

    on_values(test, x)
    return x


@export("debugging.assert_all_finite")
def assert_all_finite(x: Any, message: str, name: str | None = None) -> Tensor:
    """The tensor itself; raises InvalidArgumentError where it holds NaN or infinity."""
    return check_numerics(x, message)


@export("debugging.assert_rank", "assert_rank")
def assert_rank(x: Any, rank: Any, message: Any = None, name: str | None = None) -> None:
    """Raises ValueError unless the tensor has that many axes."""
    x = convert(x)
    if x.array.ndim != int(rank):
        raise ValueError(f"{message or ''} Tensor must have rank {int(rank)}.  Received rank {x.array.ndim}, shape {x.shape}")


@export("debugging.assert_rank_at_least")
def assert_rank_at_least(x: Any, rank: Any, message: Any = None, name: str | None = None) -> None:
    """Raises ValueError unless the tensor has at least that many axes."""
    x = convert(x)
    if x.array.ndim < int(rank):
        raise ValueError(f"{message or ''} Tensor must have rank at least {int(rank)}.  Received rank {x.array.ndim}")


@export("debugging.assert_rank_in")
def assert_rank_in(x: Any, ranks: Any, message: Any = None, name: str | None = None) -> None:
    """Raises ValueError unless the number of axes is one of these."""
    x = convert(x)
    if x.array.ndim not in [int(r) for r in ranks]:
        raise ValueError(f"{message or ''} Tensor must have rank in {list(ranks)}.  Received rank {x.array.ndim}")


@export("debugging.assert_type")
def assert_type(tensor: Any, tf_type: Any, message: Any = None, name: str | None = None) -> None:
    """Raises TypeError unless the tensor has this dtype."""
    x = convert(tensor)
    if x.dtype != as_dtype(tf_type):
        raise TypeError(f"{message or ''} tensor must be of type {as_dtype(tf_type)!r}; got {x.dtype!r}")


@export("debugging.assert_integer")
def assert_integer(x: Any, message: Any = None, name: str | None = None) -> None:
    """Raises TypeError unless the tensor holds integers."""
    x = convert(x)
    if not x.dtype.is_integer:
        raise TypeError(f'{message or ""} Expected "x" to be of type integer; got {x.dtype!r}')


@export("debugging.assert_same_float_dtype")
def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> Any:
    """The one floating dtype of all tensors; raises ValueError where there are several."""
    found = {convert(t).dtype for t in tensors or ()} | ({as_dtype(dtype)} if dtype is not None else set())
    if len(found) != 1 or not next(iter(found)).is_floating:
        raise ValueError(f"Expected floating point type, one for all; got {found}.")
    return next(iter(found))


@export("debugging.assert_scalar")
def assert_scalar(tensor: Any, message: Any = None, name: str | None = None) -> Tensor:
    """The tensor itself; raises ValueError unless it has no axes."""
    x = convert(tensor)
    if x.array.ndim:
        raise ValueError(f"{message or ''}Expected scalar shape, saw shape: {x.shape}.")
    return x


@export("debugging.assert_shapes")
def assert_shapes(shapes: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None) -> None:
    """Raises ValueError unless tensors have shapes in which the same letter means the same length."""
    known: dict[Any, int] = {}
    for x, wanted in shapes.items() if isinstance(shapes, dict) else shapes:
        actual = tuple(convert(x.deref() if hasattr(x, "deref") else x).array.shape)
        symbols = tuple(wanted) if isinstance(wanted, list | tuple | TensorShape | str) else (wanted,)
        if len(symbols) != len(actual):
            raise ValueError(f"{message or ''} expected rank {len(symbols)} for {symbols}, got shape {actual}")
        for symbol, n in zip(symbols, actual, strict=True):
            expected = symbol if isinstance(symbol, int) else known.setdefault(symbol, n) if symbol not in (None, ".") else n
            if expected != n:
                raise ValueError(f"{message or ''} Tensor dimension {symbol!r} must have size {expected}. Received size {n}")


@export("debugging.is_numeric_tensor")
def is_numeric_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of numbers."""
    return isinstance(tensor, core.Tensor) and as_dtype(tensor.array.dtype).is_numeric


@export("debugging.assert_proper_iterable")
def assert_proper_iterable(values: Any) -> None:
    """Raises TypeError for a tensor, a string, or what cannot be iterated."""
    if isinstance(values, core.Tensor | str | bytes | np.ndarray) or not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be a 'proper' iterable.  Found: {type(values)}")
