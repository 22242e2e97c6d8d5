"""Small expressions, evaluated with TensorFlow and with the facade: values, dtypes, shapes, texts and kinds of errors agree."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad.tf as ours

pytestmark = [pytest.mark.interop("tensorflow"), pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("kernels")]


def read() -> dict[str, tuple[str, list[str]]]:
    """Each group of `expressions.txt`: what is set up before (the lines that begin with >), and the expressions."""
    found: dict[str, tuple[str, list[str]]] = {}
    for part in (Path(__file__).parent / "expressions.txt").read_text("utf-8").split("\n\n"):
        head, *lines = part.strip().splitlines()
        setup = "\n".join(line[2:] for line in lines if line.startswith("> "))
        found[head.strip("[]")] = setup, [line for line in lines if not line.startswith("> ")]
    return found


GROUPS = read()


@pytest.fixture(scope="module")
def theirs() -> Any:
    import tensorflow

    return tensorflow


def shown(tf: Any, x: Any) -> Any:
    """What a result is, in words and arrays that can be compared."""
    if isinstance(x, tf.IndexedSlices | tf.SparseTensor | tf.RaggedTensor):
        parts = (x.flat_values, *x.nested_row_splits) if isinstance(x, tf.RaggedTensor) else (x.indices, x.values, x.dense_shape)
        return (type(x).__name__, *(shown(tf, part) for part in parts))
    if isinstance(x, tf.Variable):
        return ("variable", shown(tf, x.numpy()))
    if isinstance(x, tf.TensorShape | tf.DType | tf.TensorSpec):
        return repr(x)
    if isinstance(x, tf.Tensor):
        return ("tensor", shown(tf, x.numpy()))
    if isinstance(x, np.ndarray | np.generic):
        a = np.asarray(x)
        return a.dtype.name, a.astype(np.complex128) if a.dtype.kind in "fcV" else a
    if isinstance(x, dict):
        return {k: shown(tf, v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [shown(tf, v) for v in x]
    return x if x is None or isinstance(x, bool | int | float | str | bytes) else type(x).__name__


def evaluated(tf: Any, setup: str, expressions: list[str]) -> list[Any]:
    """The result of each expression, or the error that it raises."""
    names = {"tf": tf, "np": np, "operator": operator}
    tf.random.set_seed(1234)
    exec(setup, names)
    found = []
    for text in expressions:
        try:
            found.append(shown(tf, eval(text, names)))
        except Exception as error:
            found.append(error)
    return found


def agree(a: Any, b: Any) -> bool:
    if isinstance(b, Exception):
        return isinstance(a, Exception) and type(b).__name__ in {c.__name__ for c in type(a).__mro__}
    if isinstance(b, np.ndarray):
        if not isinstance(a, np.ndarray) or a.shape != b.shape or a.dtype != b.dtype:
            return False
        return bool(np.allclose(a, b, 2e-3, 2e-4, equal_nan=True)) if b.dtype.kind == "c" else bool(np.array_equal(a, b))
    if isinstance(b, dict):
        return isinstance(a, dict) and a.keys() == b.keys() and all(agree(a[k], b[k]) for k in b)
    if isinstance(b, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(agree, a, b))
    if isinstance(b, float):
        return isinstance(a, float) and bool(np.isclose(a, b))
    return bool(a == b)


@pytest.mark.parametrize("group", GROUPS)
def test_expressions_are_what_they_are_in_tensorflow(theirs: Any, group: str) -> None:
    setup, expressions = GROUPS[group]
    wanted, got = evaluated(theirs, setup, expressions), evaluated(ours, setup, expressions)
    apart = [f"{e}\n  TensorFlow {w!r}\n  here       {g!r}" for e, w, g in zip(expressions, wanted, got, strict=True) if not agree(g, w)]
    assert not apart, "\n".join(apart)
