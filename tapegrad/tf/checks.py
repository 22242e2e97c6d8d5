"""`tf.debugging` and the asserts: what they state is checked at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.later import on_values
from tapegrad.tf.operators import mismatch_in, pair, shape_text
from tapegrad.tf.tensor import Tensor


def _fail(message: Any, text: str) -> None:
    raise invalid(None, f"{f'{message}{chr(10)}' if message else ''}{text}")


@export("debugging.Assert", "Assert")
def Assert(condition: Any, data: Any, summarize: Any = None, name: str | None = None) -> None:
    """Raises InvalidArgumentError, showing the data, where the condition is false."""

    def test(c: Any) -> None:
        if not np.all(c):
            _fail(None, f"Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: {data}")

    on_values(test, convert(condition))


def _compared(name_: str, test: Any, words: str) -> None:
    def check(x: Any, y: Any, message: Any = None, summarize: Any = None, name: str | None = None) -> None:
        def compare(a: Any, b: Any) -> None:
            try:
                hit = np.asarray(test(a, b))
            except ValueError:
                raise invalid(None, f"Incompatible shapes: {shape_text(a)} vs. {shape_text(b)}") from None
            if not hit.all():
                _fail(message, f"Condition x {words} y did not hold.\n{_shown(a, b, hit, 3 if summarize is None else summarize)}")

        xs = pair(x, y)
        mismatch_in({"equal": "Equal", "none_equal": "NotEqual"}.get(name_, name_.title().replace("_", "")), list(xs))
        on_values(compare, *xs)

    check.__name__ = check.__qualname__ = f"assert_{name_}"
    check.__doc__ = f"Raises InvalidArgumentError unless x {words} y for all elements."
    export(f"debugging.assert_{name_}", *[f"assert_{name_}"] * (name_ in ("equal", "greater", "less")))(check)


def _shown(a: Any, b: Any, hit: Any, most: int) -> str:
    """Where a comparison failed and what stands there, and the first elements of both sides, as many as are asked for."""
    most = hit.size if most < 0 else most
    bad = np.argwhere(~hit)[:most]
    places = tuple(bad.T)
    sides = [("x", a, np.broadcast_to(a, hit.shape)), ("y", b, np.broadcast_to(b, hit.shape))]
    lines = []
    if hit.ndim:
        lines = [f"Indices of first {len(bad)} different values:", f"{bad}"]
        for name, _, whole in sides:
            lines += [f"Corresponding {name} values:", f"{np.asarray(whole[places])}"]
    for name, own, _ in sides:
        first = np.asarray(own).reshape(-1)[:most]
        lines += [f"First {first.size} elements of {name}:", f"{first}"]
    return "\n".join(lines)


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

    a = convert(x)
    on_values(compare, a, convert(y, a.array.dtype, prefer=not isinstance(y, core.Tensor)))


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
    found = {convert(t).dtype for t in tensors or () if t is not None} | ({as_dtype(dtype)} if dtype is not None else set())
    found = found or {as_dtype("float32")}
    if len(found) != 1 or not next(iter(found)).is_floating:
        raise ValueError(f"Expected floating point type, one for all; got {found}.")
    return next(iter(found))


@export("debugging.is_numeric_tensor")
def is_numeric_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of numbers."""
    return isinstance(tensor, core.Tensor) and as_dtype(tensor.array.dtype).is_numeric


@export("debugging.assert_proper_iterable")
def assert_proper_iterable(values: Any) -> None:
    """Raises TypeError for a tensor, a string, or what cannot be iterated."""
    if isinstance(values, core.Tensor | str | bytes | np.ndarray):
        raise TypeError(f"Expected argument 'values' to be a 'proper' iterable.  Found: {type(values)}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be iterable.  Found: {type(values)}")


def _growing(x: Any, test: Any) -> Tensor:
    raw = host(x)
    if raw.dtype.kind not in "iuf" and raw.dtype.name != "bfloat16":
        raise TypeError(f"Expected a tensor of numbers, got {convert(x).dtype!r}")
    flat = raw.reshape(-1)
    return fresh(np.bool_(np.all(test(flat[1:], flat[:-1]))))


@export("math.is_non_decreasing")
def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Whether no element, in the order of the flattened tensor, is less than the one before it."""
    return _growing(x, np.greater_equal)


@export("math.is_strictly_increasing")
def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Whether every element, in the order of the flattened tensor, is greater than the one before it."""
    return _growing(x, np.greater)
