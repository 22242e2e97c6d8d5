"""`torch.nn.grad`, states of wrapped modules, what waits for its shape, statistics of nothing."""

import numpy as np
import pytest

import tapegrad.torch as T

real = pytest.importorskip("torch")


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("what", ["input", "weight"])
def test_gradients_of_convolutions_are_pytorchs(n: int, what: str) -> None:
    rng = np.random.default_rng(n)
    x, w = rng.normal(size=(2, 4, *(6,) * n)).astype(np.float32), rng.normal(size=(6, 2, *(3,) * n)).astype(np.float32)
    found = []
    for torch in (real, T):
        options = {"stride": 2, "padding": 1, "groups": 2}
        a, b = torch.tensor(x), torch.tensor(w)
        out = getattr(torch.nn.functional, f"conv{n}d")(a, b, **options)
        f = getattr(torch.nn.grad, f"conv{n}d_{what}")
        given = (x.shape, b) if what == "input" else (a, w.shape)
        found.append(f(*given, torch.ones_like(out), **options).numpy())
    assert np.allclose(*found, rtol=1e-4, atol=1e-5)


def test_the_prefix_of_a_wrapped_module_is_taken_off() -> None:
    module = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.BatchNorm1d(2))
    state = T.nn.DataParallel(module).state_dict()
    T.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == list(module.state_dict())
    assert set(state._metadata) == {"", "0", "1"}
    module.load_state_dict(state)


@pytest.mark.filterwarnings("ignore:.*is deprecated in favor of:FutureWarning")
def test_what_waits_for_its_shape_is_given_one() -> None:
    for torch in (real, T):
        weight, mean = torch.nn.UninitializedParameter(), torch.nn.UninitializedBuffer()
        weight.materialize((2, 3))
        mean.materialize((4,), dtype=torch.float64)
        assert (tuple(weight.shape), tuple(mean.shape), mean.dtype) == ((2, 3), (4,), torch.float64)
        assert isinstance(weight, torch.nn.Parameter)
        assert not isinstance(weight, torch.nn.UninitializedParameter)
        assert not isinstance(mean, torch.nn.UninitializedBuffer)
        for norm in (torch.nn.utils.weight_norm, torch.nn.utils.spectral_norm):
            with pytest.raises(ValueError, match="uninitialized"):
                norm(torch.nn.LazyLinear(3))


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_an_empty_batch_moves_no_running_mean() -> None:
    norm = T.nn.BatchNorm1d(3)
    norm(T.ones(0, 3)).sum().backward()
    assert norm.running_mean.tolist() == [0.0] * 3
    assert norm.running_var.tolist() == [1.0] * 3
    assert norm.weight.grad.tolist() == [0.0] * 3
