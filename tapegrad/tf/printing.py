"""`tf.print`: values as TensorFlow prints them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf import nest
from tapegrad.tf.convert import convert
from tapegrad.tf.export import export
from tapegrad.tf.later import on_values
from tapegrad.tf.shapes import TensorShape


@export("print")
def print_(*inputs: Any, **kwargs: Any) -> None:
    """Print values as TensorFlow does: no commas, and only the first and last `summarize` elements of each axis."""
    stream = kwargs.pop("output_stream", None)
    summarize = kwargs.pop("summarize", 3)
    sep, end = kwargs.pop("sep", " "), kwargs.pop("end", "\n")
    kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    xs = [convert(x) for x in nest.flatten(list(inputs)) if isinstance(x, core.Tensor)]

    def write(*values: Any) -> None:
        left = iter(values)
        shown = nest.map_structure(lambda x: formatted(next(left), summarize) if isinstance(x, core.Tensor) else x, list(inputs))
        _write(sep.join(_printed(x, summarize) for x in shown) + end, stream)

    on_values(write, *xs)


def _write(text: str, stream: Any) -> None:
    if isinstance(stream, str) and stream.startswith("file://"):
        with open(stream.removeprefix("file://"), "a", encoding="utf-8") as f:
            f.write(text)
        return
    out = sys.stderr if stream is None else stream
    if isinstance(out, str):
        out = {"stdout": sys.stdout, "stderr": sys.stderr}[out]
    out.write(text)


def _printed(x: Any, summarize: int | None) -> str:
    if isinstance(x, core.Tensor) or hasattr(type(x), "__tapegrad_tensor__"):
        return formatted(convert(x).numpy(), summarize)
    if isinstance(x, np.ndarray):
        return formatted(x, summarize)
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k!r}: {_printed(v, summarize)}" for k, v in x.items()) + "}"
    if isinstance(x, TensorShape):
        return repr(x)
    if isinstance(x, list | tuple):
        inner = ", ".join(_printed(v, summarize) for v in x)
        return f"[{inner}]" if isinstance(x, list) else f"({inner})"
    return str(x)


def formatted(x: Any, summarize: int | None) -> str:
    """An array as TensorFlow prints it."""
    if not getattr(x, "shape", ()):
        return _number(x)
    return _block(x, summarize, 1)


def _number(v: Any) -> str:
    if isinstance(v, bool | np.bool_):
        return "1" if v else "0"
    if isinstance(v, bytes):
        return '"' + v.decode(errors="replace") + '"'
    if isinstance(v, float | np.floating) or (getattr(v, "dtype", None) is not None and v.dtype.kind == "V"):
        return _general(v)
    if isinstance(v, complex | np.complexfloating):
        return f"({_general(v.real)},{_general(v.imag)})"
    return str(v)


def _general(v: Any) -> str:
    if np.isnan(v):
        return "nan"
    if np.isinf(v):
        return "inf" if v > 0 else "-inf"
    single = getattr(v, "dtype", None) == np.float32
    text = f"{float(v):.{6 if single else 15}g}"
    if (np.float32(text) if single else float(text)) == v:
        return text
    return f"{float(v):.{9 if single else 17}g}"


def _block(x: Any, summarize: int | None, depth: int) -> str:
    n = len(x)
    every = summarize is None or summarize < 0 or n <= 2 * summarize
    show = _number if x.ndim == 1 else lambda row: _block(row, summarize, depth + 1)
    if every:
        parts = [show(v) for v in x]
    else:
        assert summarize is not None
        parts = [show(v) for v in x[:summarize]] + ["..."] + [show(v) for v in x[n - summarize :]]
    return "[" + (" " if x.ndim == 1 else "\n" + " " * depth).join(parts) + "]"
