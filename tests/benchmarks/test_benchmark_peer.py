from __future__ import annotations

import numpy as np
import pytest

import tapegrad
from benchmarks import tapegrad_peer, workloads
from benchmarks.tapegrad_peer import IMPLEMENTATIONS, Inputs, lacks

INPUTS = Inputs({"x": np.array([0.3, 1.7])}, np.asarray)


def test_every_workload_has_an_implementation_in_tapegrad():
    modules = [workloads.load(name) for name in workloads.ORDER]
    assert list(IMPLEMENTATIONS) == [m for m in modules if "tg_numpy" not in getattr(m, "SKIP", {})]


def test_a_name_that_tapegrad_does_not_have_is_a_reason_to_skip(monkeypatch):
    monkeypatch.delattr(tapegrad, "asarray", raising=False)
    with pytest.raises(AttributeError) as caught:
        INPUTS.tensors("x")
    assert lacks(caught.value) == "tapegrad has no asarray"


def test_a_module_that_does_not_exist_is_a_reason_to_skip():
    assert lacks(ModuleNotFoundError(name="tapegrad.torch")) == "tapegrad.torch is not importable"


def test_a_name_that_tapegrad_itself_misses_is_a_failure(monkeypatch):
    monkeypatch.setattr(tapegrad, "asarray", lambda x: tapegrad.no_such_name, raising=False)
    with pytest.raises(AttributeError) as caught:
        INPUTS.tensors("x")
    assert lacks(caught.value) is None


def test_any_other_error_is_a_failure():
    assert lacks(ValueError("no")) is None


def test_sparse_gradients_become_dense():
    class Sparse:
        indices, values, dense_shape = np.array([2, 0, 2]), np.array([[1.5], [0.25], [2.5]]), (4, 1)

    assert tapegrad_peer.to_numpy(Sparse()).tolist() == [[0.25], [0.0], [4.0], [0.0]]
