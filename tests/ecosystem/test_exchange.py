"""Values into other libraries and back: DLPack, NumPy's arrays, and what is read-only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import DetachedError

X = np.arange(6.0).reshape(2, 3)


def test_numpy_shares_memory_that_it_may_not_write_to() -> None:
    x = tg.asarray(X)
    for shared in (np.from_dlpack(x), np.asarray(x), x.numpy()):
        assert np.shares_memory(shared, X)
        assert not shared.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            shared[0] = 2.5
        assert memoryview(shared).readonly
    assert np.from_dlpack(x, copy=True).flags.writeable


@pytest.mark.interop("torch")
def test_pytorch_which_does_not_know_read_only_memory_gets_a_copy() -> None:
    import torch

    x = tg.asarray(X)
    for take in (torch.from_dlpack, torch.as_tensor, torch.asarray, torch.utils.dlpack.from_dlpack):
        t = take(x)
        assert t.dtype is torch.float64
        t.zero_()  # no saved value of a tape changes
        np.testing.assert_array_equal(x.numpy(), np.arange(6.0).reshape(2, 3))
    assert np.shares_memory(torch.from_dlpack(x, copy=False).numpy(), X)  # the user's own word


@pytest.mark.interop("torch")
def test_tensors_of_pytorch_come_in_without_a_copy() -> None:
    import torch

    t = torch.arange(6.0)
    for x in (tg.from_dlpack(t), tg.asarray(t)):
        assert np.shares_memory(x.raw, t.numpy())
    assert tg.from_dlpack(torch.tensor(2.5)).item() == 2.5
    assert not np.shares_memory(tg.from_dlpack(t, copy=True).raw, t.numpy())


@pytest.mark.interop("jax")
@pytest.mark.filterwarnings("ignore")
def test_jax_both_ways() -> None:
    import jax
    import jax.numpy as jnp

    x = tg.asarray(X.astype(np.float32))
    for j in (jnp.from_dlpack(x), jnp.asarray(np.asarray(x)), jax.dlpack.from_dlpack(x)):
        np.testing.assert_array_equal(np.asarray(j), X)
    back = tg.from_dlpack(jnp.arange(3.0))
    assert back.tolist() == [0.0, 1.0, 2.0]
    assert tg.asarray(jnp.arange(3.0)).dtype == tg.float32


@pytest.mark.interop("tensorflow")
@pytest.mark.filterwarnings("ignore")
def test_tensorflow_both_ways() -> None:
    import tensorflow as tf

    x = tg.asarray(X)
    t = tf.experimental.dlpack.from_dlpack(x.__dlpack__())
    np.testing.assert_array_equal(t.numpy(), X)
    assert tg.from_dlpack(tf.constant(X)).tolist() == X.tolist()
    assert tg.asarray(tf.constant(X)).raw is not None
    y = tg.asarray(X, backend="tensorflow")
    np.testing.assert_array_equal(np.from_dlpack(y), X)
    assert not np.from_dlpack(y).flags.writeable
    np.testing.assert_array_equal(np.asarray(y), X)


@pytest.mark.parametrize("backend", ["numpy", pytest.param("tensorflow", marks=pytest.mark.interop("tensorflow"))])
def test_a_recorded_tensor_does_not_leave(backend: str) -> None:
    x = tg.asarray(X, backend=backend)
    with tg.GradientTape() as tape:
        tape.watch(x)
        for leave in (np.from_dlpack, np.asarray, memoryview_of):
            with pytest.raises(DetachedError, match=r"without its derivative|lose its derivative"):
                leave(x)
    assert np.from_dlpack(x).shape == (2, 3)


def memoryview_of(x: Any) -> memoryview:
    return memoryview(np.asarray(x))
