"""Pickles and copies: values and flags, never a graph."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
import tapegrad.tf
from tapegrad import torch
from tapegrad.errors import BatchedValueError, DetachedError

WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "the oldest pickle": lambda x: pickle.loads(pickle.dumps(x, protocol=0)),
    "deepcopy": copy.deepcopy,
}
BACKENDS = ["numpy", pytest.param("tensorflow", marks=pytest.mark.interop("tensorflow"))]
DTYPES = ["float32", "float64", "bfloat16", "complex64", "int8", "bool"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_copy_has_values_dtype_shape_and_backend(way: str, backend: str, dtype: str) -> None:
    for values in ([[1.5, 0.0, -2.0]], 1.5, np.zeros((0, 3))):
        x = tg.asarray(np.asarray(values).astype("complex64" if dtype.startswith("c") else "float32"), backend=backend)
        x = tg.astype(x, "int32") if dtype == "bool" else x
        x = tg.astype(x, dtype)
        y = WAYS[way](x)
        assert type(y) is tg.Tensor
        assert type(y.array) is type(x.array)
        assert (y.dtype, y.shape, y.tolist()) == (x.dtype, x.shape, x.tolist())
        assert not (backend == "numpy" and np.shares_memory(x.raw, y.raw))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_variable_is_copied_with_its_flags_and_watched_as_one(way: str, backend: str) -> None:
    w = tg.Variable(tg.asarray([1.5, -2.5], backend=backend), trainable=False, name="w")
    v = WAYS[way](w)
    assert (type(v), v.name, v.trainable, v.tolist()) == (tg.Variable, "w", False, [1.5, -2.5])
    assert type(v.array) is type(w.array)
    v.assign([0.0, 0.0])
    assert w.tolist() == [1.5, -2.5]
    u = WAYS[way](tg.Variable(tg.asarray([1.5, -2.5], backend=backend)))
    with tg.GradientTape() as tape:
        loss = tg.sum(u * u)
    assert tape.gradient(loss, u).tolist() == [3.0, -5.0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_recorded_tensor_is_refused(way: str, backend: str) -> None:
    x = tg.asarray([1.5, -2.5], backend=backend)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        for t in (x, y, {"deep": [y]}):
            with pytest.raises(
                DetachedError, match=r"copied without its derivative; write tapegrad.stop_gradient\(x\)"
            ):
                WAYS[way](t)
        assert WAYS[way](tg.stop_gradient(y)).tolist() == [2.25, 6.25]
        assert tape.gradient(tg.sum(copy.copy(y)), x).tolist() == [3.0, -5.0]


@pytest.mark.parametrize("way", WAYS)
def test_a_tensor_of_the_pytorch_style_keeps_requires_grad_and_leaves_its_graph(way: str) -> None:
    x = torch.tensor([1.5, -2.5], requires_grad=True)
    y = WAYS[way](x)
    assert (type(y), y.requires_grad, y.is_leaf, y.tolist()) == (torch.Tensor, True, True, [1.5, -2.5])
    if "pickle" in way:  # as in PyTorch, what was computed is a leaf in its new place
        z = WAYS[way](x * 2)
        assert (z.requires_grad, z.is_leaf, z.grad_fn, z.tolist()) == (True, True, None, [3.0, -5.0])
    else:
        with pytest.raises(RuntimeError, match=r"graph leaves|non-leaf"):
            WAYS[way](x * 2)


@pytest.mark.parametrize("way", WAYS)
def test_a_tensor_of_the_tensorflow_style_and_its_variable(way: str) -> None:
    x = WAYS[way](tapegrad.tf.constant([1.5, -2.5]))
    assert (type(x), x.numpy().tolist()) == (tapegrad.tf.Tensor, [1.5, -2.5])
    v = WAYS[way](tapegrad.tf.Variable([1.5, -2.5], name="v", trainable=False))
    assert (type(v), v.trainable, v.numpy().tolist()) == (tapegrad.tf.Variable, False, [1.5, -2.5])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.interop("tensorflow")
@pytest.mark.filterwarnings("ignore")
def test_a_symbolic_tensor_has_no_values_to_copy(way: str) -> None:
    @tg.function
    def f(x: tg.Tensor) -> tg.Tensor:
        with pytest.raises(
            TypeError, match=r"symbolic tensor of a tf.function that is being traced: it has no values yet"
        ):
            WAYS[way](x)
        return x + 1

    assert f(tg.asarray([1.5], backend="tensorflow")).tolist() == [2.5]


@pytest.mark.parametrize("way", WAYS)
def test_a_batched_tensor_is_refused(way: str) -> None:
    def f(x: tg.Tensor) -> tg.Tensor:
        with pytest.raises(BatchedValueError, match="a copy: inside vmap"):
            WAYS[way](x)
        return x

    tg.vmap(f)(tg.ones(3))


@pytest.mark.parametrize("way", WAYS)
def test_a_tape_is_refused(way: str) -> None:
    x = tg.asarray(1.5)
    for recorder in (tg.GradientTape(), tg.ForwardAccumulator(x, x)):
        with pytest.raises(TypeError, match=f"a {type(recorder).__name__} is not pickled or copied"):
            WAYS[way](recorder)
