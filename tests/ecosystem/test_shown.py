"""What tensors look like in print."""

from __future__ import annotations

import pytest

import tapegrad as tg
from tapegrad import torch


def test_values_and_dtype() -> None:
    assert repr(tg.asarray([[1.5, -2.0]])) == "Tensor([[ 1.5, -2. ]], dtype=float32)"
    assert repr(tg.asarray(True)) == "Tensor(True, dtype=bool)"


def test_by_whom_it_is_recorded() -> None:
    x = tg.asarray(1.5)
    t = tg.asarray(1.0)
    with tg.GradientTape() as outer, tg.GradientTape() as inner, tg.ForwardAccumulator(x, t):
        assert repr(x) == "Tensor(1.5, dtype=float32, recorded by a forward accumulator)"
        outer.watch(x)
        assert repr(x) == "Tensor(1.5, dtype=float32, recorded by a tape and a forward accumulator)"
        inner.watch(x)
        assert repr(x * x) == "Tensor(2.25, dtype=float32, recorded by 2 tapes and a forward accumulator)"
    assert repr(x) == "Tensor(1.5, dtype=float32)"


def test_a_tape_that_is_paused_records_nothing() -> None:
    x = tg.asarray(1.5)
    with tg.GradientTape() as tape:
        tape.watch(x)
        assert repr(x) == "Tensor(1.5, dtype=float32, recorded by a tape)"
        with tape.stop_recording():
            assert repr(x) == "Tensor(1.5, dtype=float32)"


def test_what_requires_grad_in_the_pytorch_style() -> None:
    x = torch.tensor(1.5, requires_grad=True)
    assert repr(tg.exp(x * 0)) == "Tensor(1., dtype=float32, requires_grad)"
    with torch.no_grad():
        assert "requires_grad" not in repr(tg.exp(x))
    with tg.GradientTape() as tape:
        tape.watch(x)
        assert repr(tg.exp(x * 0)) == "Tensor(1., dtype=float32, recorded by a tape, requires_grad)"


def test_a_variable() -> None:
    w = tg.Variable(1.5, name="w")
    assert repr(w) == "Variable('w', 1.5, dtype=float32)"


@pytest.mark.interop("tensorflow")
@pytest.mark.filterwarnings("ignore")
def test_the_backend_where_it_is_not_numpys() -> None:
    x = tg.asarray([1.5, -2.0], backend="tensorflow")
    assert repr(x) == "Tensor([ 1.5, -2. ], dtype=float32, backend='tensorflow')"
    assert repr(tg.Variable(x)) == "Variable([ 1.5, -2. ], dtype=float32, backend='tensorflow')"
    with tg.GradientTape() as tape:
        tape.watch(x)
        assert repr(x) == "Tensor([ 1.5, -2. ], dtype=float32, backend='tensorflow', recorded by a tape)"


@pytest.mark.interop("tensorflow")
@pytest.mark.filterwarnings("ignore")
def test_symbolic_tensors_show_shape_and_dtype() -> None:
    import tensorflow as tf

    seen = []

    def f(x: object) -> object:
        y = tg.asarray(x) * 2
        seen.append(repr(y))
        return y.raw

    for shape in ((2, 3), (None, 3), None):
        tf.function(f, input_signature=[tf.TensorSpec(shape, tf.float32)]).get_concrete_function()
    assert seen == [
        f"Tensor(symbolic, shape={shape}, dtype=float32, backend='tensorflow')"
        for shape in ("(2, 3)", "(None, 3)", "<unknown>")
    ]


def test_batched_tensors_show_how_many_items_of_which_shape() -> None:
    seen = []
    tg.vmap(lambda x: (seen.append(repr(x)), x)[1])(tg.ones((3, 2)))
    assert seen == ["Tensor(3 items (2,), dtype=float32)"]
