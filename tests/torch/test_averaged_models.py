"""Averages of weights, the schedule that goes with them, and Muon: PyTorch's numbers and errors."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as T

real: Any = pytest.importorskip("torch")

AVERAGES: dict[str, Any] = {
    "plain": lambda s: {},
    "plain, one by one": lambda s: {"avg_fn": s.get_swa_avg_fn()},
    "running": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.9)},
    "running, one by one": lambda s: {"avg_fn": s.get_ema_avg_fn(0.7)},
    "with buffers": lambda s: {"use_buffers": True, "multi_avg_fn": s.get_ema_multi_avg_fn(0.8)},
    "a rule of one's own": lambda s: {"avg_fn": lambda mean, value, n: 0.5 * (mean + value) + n},
}


@pytest.mark.parametrize("name", list(AVERAGES))
def test_averages_of_a_training_are_pytorchs(name: str) -> None:
    x = np.random.default_rng(2).normal(size=(4, 6, 3)).astype(np.float32)
    seen = []
    for torch in (real, T):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
        mean = torch.optim.swa_utils.AveragedModel(model, **AVERAGES[name](torch.optim.swa_utils))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for batch in x:
            opt.zero_grad()
            model(torch.tensor(batch)).pow(2).sum().backward()
            opt.step()
            mean.update_parameters(model)
        torch.optim.swa_utils.update_bn([torch.tensor(b) for b in x], mean)
        assert mean.training
        seen.append({k: v.numpy() for k, v in mean.state_dict().items()})
    theirs, ours = seen
    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        assert np.allclose(ours[key], value, rtol=1e-4, atol=1e-5), key


@pytest.mark.parametrize("options", [{}, {"anneal_strategy": "linear", "anneal_epochs": 3}, {"anneal_epochs": 0}])
def test_the_schedule_goes_to_its_rate_as_in_pytorch(options: dict[str, Any]) -> None:
    seen = []
    for torch in (real, T):
        opt = torch.optim.SGD([{"params": [torch.zeros(1, requires_grad=True)], "lr": r} for r in (0.5, 0.1)])
        schedule = torch.optim.swa_utils.SWALR(opt, [0.05, 0.02], **options)
        rates = []
        for i in range(8):
            opt.step()
            schedule.step()
            rates.append(schedule.get_last_lr())
            if i == 3:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    again = torch.optim.swa_utils.SWALR(opt, [0.05, 0.02])
                again.load_state_dict(pickle.loads(pickle.dumps(schedule.state_dict())))
                schedule = again
        seen.append(rates)
    assert np.allclose(seen[0], seen[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"anneal_strategy": "exp"}, "'cos' or 'linear'"), ({"anneal_epochs": -1}, "equal or greater than 0"),
     ({"swa_lr": [1, 2]}, "same length")],
)
def test_schedules_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    opt = T.optim.SGD([T.zeros(1, requires_grad=True)], lr=0.1)
    with pytest.raises(ValueError, match=words):
        T.optim.swa_utils.SWALR(opt, **{"swa_lr": 0.1, **options})
    with pytest.raises(ValueError, match=r"in \[0,1\] range"):
        T.optim.swa_utils.get_ema_avg_fn(1.5)


@pytest.mark.parametrize(
    "options", [{}, {"nesterov": False, "momentum": 0.5}, {"adjust_lr_fn": "match_rms_adamw", "lr": 0.02, "weight_decay": 0.0}]
)
@pytest.mark.parametrize("shape", [(3, 5), (6, 2)])
def test_muon_is_pytorchs(options: dict[str, Any], shape: tuple[int, int]) -> None:
    start = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    seen = []
    for torch in (real, T):
        p = torch.tensor(start, requires_grad=True)
        opt = torch.optim.Muon([p], **{"lr": 0.05, **options})
        for _ in range(6):
            opt.zero_grad()
            (p**4).sum().backward()
            opt.step()
        seen.append(p.detach().numpy())
    # Bfloat16 inside: what a step does agrees to some of its eight bits (measured: to 6 %).
    moved = np.abs(seen[0] - start).max()
    assert moved > 0.02
    assert np.abs(seen[0] - seen[1]).max() < 0.1 * moved


def test_muon_takes_matrices_alone() -> None:
    with pytest.raises(ValueError, match="only supports 2D parameters"):
        T.optim.Muon([T.zeros(3, requires_grad=True)])


def test_each_optimizer_has_pytorchs_module() -> None:
    from tapegrad.torch.optim.adamw import AdamW
    from tapegrad.torch.optim.sparse_adam import SparseAdam

    assert (AdamW, SparseAdam) == (T.optim.AdamW, T.optim.SparseAdam)


def test_a_step_put_in_the_place_of_the_optimizers_own_is_warned_of() -> None:
    opt = T.optim.SGD([T.zeros(1, requires_grad=True)], lr=0.1)
    schedule = T.optim.lr_scheduler.ExponentialLR(opt, 0.9)
    opt.step = lambda *_: None  # type: ignore[method-assign]
    with pytest.warns(UserWarning, match="has been overridden"):
        schedule.step()
