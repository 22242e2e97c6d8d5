"""What losses, cells and folds refuse as PyTorch does, where they would compute something else."""

import pytest

import tapegrad.torch as T

real = pytest.importorskip("torch")

REFUSED = {
    "state of another batch": "t.nn.RNNCell(4, 5)(t.ones(3, 4), t.ones(1, 5))",
    "state of another width": "t.nn.GRUCell(4, 5)(t.ones(3, 4), t.ones(3, 1))",
    "memory of another batch": "t.nn.LSTMCell(4, 5)(t.ones(3, 4), (t.ones(3, 5), t.ones(1, 5)))",
    "no steps": "t.nn.LSTM(4, 5)(t.ones(0, 3, 4))",
    "lengths that are no integers": "F.ctc_loss(p, t.ones(2, 3, dtype=t.int64), t.tensor([5.0, 5.0]), t.tensor([3, 2]))",
    "targets longer than they are": "F.ctc_loss(p, t.ones(2, 3, dtype=t.int64), [5, 5], [4, 2])",
    "more steps than there are": "F.ctc_loss(p, t.ones(2, 3, dtype=t.int64), [6, 5], [3, 2])",
    "lengths of another batch": "F.ctc_loss(p, t.ones(2, 3, dtype=t.int64), [5], [3, 2])",
    "a blank that is no label": "F.ctc_loss(p, t.ones(2, 3, dtype=t.int64), [5, 5], [3, 2], blank=4)",
    "several targets": "F.cosine_embedding_loss(t.ones(2, 3), t.ones(2, 3), t.ones(2, 2))",
    "vectors for a batch": "F.cosine_embedding_loss(t.ones(3), t.ones(3), t.ones(3))",
    "a batch for one target": "F.cosine_embedding_loss(t.ones(2, 3), t.ones(2, 3), t.tensor(1))",
    "pairs of different widths": "F.cosine_embedding_loss(t.ones(2, 3), t.ones(2, 5), t.ones(2))",
    "channels that are no windows": "F.fold(t.ones(1, 5, 9), (4, 5), (2, 3))",
    "windows that are not there": "F.fold(t.ones(1, 12, 12), (4, 5), (2, 2), dilation=8)",
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_does_not_fit_is_refused_in_pytorchs_class(name: str) -> None:
    for torch in (real, T):
        space = {"t": torch, "F": torch.nn.functional, "p": torch.zeros(5, 2, 4).log_softmax(2)}
        with pytest.raises(RuntimeError):
            eval(REFUSED[name], space)


TWO_DTYPES = [
    "t.nn.Linear(3, 4)(t.ones(2, 3, dtype=t.float64))",
    "t.nn.Linear(3, 4)(t.ones(2, 2, 3, dtype=t.float64))",
    "F.linear(t.ones(2, 3), t.ones(4, 3), t.ones(4, dtype=t.float64))",
    "t.nn.Linear(3, 4, bias=False)(t.ones(2, 3, dtype=t.float64))",
    "t.ones(2, 3) @ t.ones(3, 2, dtype=t.float64)",
    "t.ones(2, 2, 3, dtype=t.float64) @ t.ones(2, 3, 2)",
]


@pytest.mark.parametrize("code", TWO_DTYPES)
def test_factors_of_two_dtypes_are_refused_in_pytorchs_words(code: str) -> None:
    said = []
    for torch in (real, T):
        with pytest.raises(RuntimeError) as refused:
            eval(code, {"t": torch, "F": torch.nn.functional})
        said.append(str(refused.value))
    assert said[1] == said[0]


IMAGES = {
    "another batch": "F.grid_sample(t.ones(1, 1, 2, 2), t.ones(2, 1, 1, 2), align_corners=False)",
    "no pixels": "F.grid_sample(t.ones(1, 1, 0, 2), t.ones(1, 1, 1, 2), align_corners=False)",
    "too few axes": "F.pixel_shuffle(t.ones(4, 4), 2)",
    "factor of zero": "F.pixel_shuffle(t.ones(4, 2, 2), 0)",
    "height that is no multiple": "F.pixel_unshuffle(t.ones(1, 3, 4), 2)",
    "width that is no multiple": "F.pixel_unshuffle(t.ones(1, 4, 3), 2)",
}


@pytest.mark.parametrize("name", list(IMAGES))
def test_images_that_do_not_fit_are_refused_in_pytorchs_class(name: str) -> None:
    for torch in (real, T):
        with pytest.raises(RuntimeError):
            eval(IMAGES[name], {"t": torch, "F": torch.nn.functional})


def test_a_size_that_is_no_integer_is_refused() -> None:
    for torch in (real, T):
        with pytest.raises(TypeError):  # the words are those of bilinear modes there
            torch.nn.functional.interpolate(torch.ones(1, 1, 4), size=2.0)


def test_a_loaded_state_is_kept_by_nothing() -> None:
    import gc

    module = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.Linear(2, 2))
    state = module.state_dict()
    gc.collect()
    gc.disable()
    try:
        module.load_state_dict(state)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_state_that_waits_for_its_shapes_is_kept_and_refused_by_a_module_that_has_them() -> None:
    waiting = T.nn.LazyLinear(3)
    state = waiting.state_dict()
    assert isinstance(state["weight"], T.nn.UninitializedParameter)
    T.nn.LazyLinear(3).load_state_dict(state)
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        T.nn.Linear(2, 3).load_state_dict(state)


def test_a_conversion_that_changes_nothing_leaves_parameters_and_gradients_alone() -> None:
    module = T.nn.Linear(2, 2)
    module.weight.grad = gradient = T.ones(2, 2)
    memory = module.weight.data_ptr()
    assert module.to(T.float32) is module
    assert (module.weight.grad is gradient, module.weight.data_ptr() == memory) == (True, True)
    assert T.nn.modules.utils._pair(3) == (3, 3)
    assert len(T.nn.LSTM(2, 3, num_layers=2)._flat_weights) == 8
