"""Optimizers and schedules: PyTorch's trajectories for every option, their state and their errors."""

import copy
import math
import warnings
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
import tapegrad.torch as ours
from tests.torch.agreement import raw

OPTIMIZERS = [
    ("SGD",
    [{"lr": 0.05}, {"lr": 0.05, "momentum": 0.9}, {"lr": 0.05, "momentum": 0.9, "nesterov": True}, {"lr": 0.05, "weight_decay": 0.1},
             {"lr": 0.05, "momentum": 0.5, "dampening": 0.3, "weight_decay": 0.1}, {"lr": 0.001, "maximize": True, "momentum": 0.9}]),
    ("Adam", [{}, {"lr": 0.1}, {"lr": 0.1, "amsgrad": True}, {"lr": 0.1, "weight_decay": 0.1}, {"lr": 0.01, "maximize": True},
              {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3}, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}]),
    ("AdamW", [{}, {"lr": 0.1, "weight_decay": 0.2}, {"lr": 0.1, "amsgrad": True}]),
    ("NAdam",
    [{}, {"lr": 0.1, "weight_decay": 0.1}, {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}, {"momentum_decay": 0.1}]),
    ("RAdam",
    [{}, {"lr": 0.1, "weight_decay": 0.1}, {"lr": 0.1, "betas": (0.8, 0.9)},
    {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}]),
    ("Adamax", [{}, {"lr": 0.1, "weight_decay": 0.1}, {"maximize": True}]),
    ("RMSprop",
    [{}, {"lr": 0.05, "centered": True}, {"lr": 0.05, "momentum": 0.9},
    {"lr": 0.05, "alpha": 0.5, "weight_decay": 0.1, "centered": True, "momentum": 0.5}]),
    ("Adagrad",
    [{}, {"lr": 0.5, "lr_decay": 0.1}, {"lr": 0.5, "weight_decay": 0.1, "initial_accumulator_value": 0.5}, {"maximize": True}]),
    ("Adadelta", [{}, {"lr": 0.5, "rho": 0.5}, {"weight_decay": 0.1}]),
    ("Rprop", [{}, {"lr": 0.1, "etas": (0.3, 1.5)}, {"lr": 0.1, "step_sizes": (1e-2, 0.2)}]),
    ("Adafactor", [{}, {"lr": 0.5, "d": 2.0, "weight_decay": 0.1}, {"beta2_decay": -0.5, "eps": (1e-3, 1e-2), "maximize": True}]),
    ("ASGD", [{}, {"lr": 0.1, "lambd": 0.1, "t0": 3}, {"weight_decay": 0.1}]),
    ("LBFGS",
    [{}, {"lr": 0.1}, {"line_search_fn": "strong_wolfe"}, {"max_iter": 4, "history_size": 2},
    {"max_iter": 30, "line_search_fn": "strong_wolfe", "history_size": 3}]),
]  # fmt: skip
ALL = [(name, options) for name, cases in OPTIMIZERS for options in cases]


def problem(torch: Any, kind: Any) -> Any:
    """Two parameters, one of them 0-d, and a loss of theirs that is not convex."""
    rng = np.random.default_rng(4)
    w = torch.tensor(rng.standard_normal((3, 2)).astype(kind), requires_grad=True)
    c = torch.tensor(np.asarray(0.5, kind), requires_grad=True)
    a = torch.tensor(rng.standard_normal((4, 3)).astype(kind))

    def loss() -> Any:
        y = torch.tanh(a @ w) * c
        return ((y - 0.3) ** 2).mean() + 0.1 * (w**4).sum() + 0.05 * (c - 1) ** 2

    return [w, c], loss


def descend(torch: Any, name: str, options: dict[str, Any], kind: Any, steps: int = 20) -> tuple[Any, Any, list[Any]]:
    params, loss = problem(torch, kind)
    opt = getattr(torch.optim, name)(params, **options)

    def closure() -> Any:
        opt.zero_grad()
        found = loss()
        found.backward()
        return found

    path = []
    for _ in range(steps if name != "LBFGS" else 6):
        if name == "LBFGS":
            opt.step(closure)
        else:
            closure()
            opt.step()
        path.append([raw(p).copy() for p in params])
    return opt, params, path


@pytest.mark.interop("torch")
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "options"), ALL)
def test_trajectories_as_pytorch(name: str, options: dict[str, Any], kind: Any) -> None:
    torch = pytest.importorskip("torch")
    mine, _, my_path = descend(ours, name, options, kind)
    theirs, _, their_path = descend(torch, name, options, kind)
    tolerance = {"rtol": 1e-6, "atol": 1e-8} if kind is np.float64 else {"rtol": 2e-3, "atol": 2e-4}
    for a, b in zip(my_path, their_path, strict=True):
        for p, q in zip(a, b, strict=True):
            np.testing.assert_allclose(p, q, **tolerance)
    assert repr(mine) == repr(theirs)
    if name == "LBFGS":
        return
    a, b = mine.state_dict(), theirs.state_dict()
    assert a["param_groups"] == b["param_groups"]
    assert a["state"].keys() == b["state"].keys()
    for i, state in b["state"].items():
        assert a["state"][i].keys() == state.keys()
        for key, value in state.items():
            other = a["state"][i][key]
            assert tuple(other.shape) == tuple(value.shape), key
            assert str(other.dtype) == str(value.dtype), key
            np.testing.assert_allclose(raw(other), raw(value), **tolerance, err_msg=key)


@pytest.mark.parametrize(("name", "options"), ALL)
def test_a_loaded_state_goes_on_as_before(name: str, options: dict[str, Any]) -> None:
    opt, params, _ = descend(ours, name, options, np.float64, 3)
    twins, _loss = problem(ours, np.float64)
    with ours.no_grad():
        for p, q in zip(twins, params, strict=True):
            p.copy_(q)
    other = getattr(ours.optim, name)(twins, **options)
    other.load_state_dict(copy.deepcopy(opt.state_dict()))
    both = []
    for o, ps in ((opt, params), (other, twins)):
        w, c = ps

        def closure(w: Any = w, c: Any = c, o: Any = o) -> Any:
            o.zero_grad()
            found = (w.sin() * c).sum() + (w**2).sum() + c**2
            found.backward()
            return found

        o.step(closure)
        both.append([raw(p) for p in ps])
    for p, q in zip(*both, strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-7)  # PyTorch too loads a float32 state as float64


def test_a_step_counts_as_one_change_and_is_seen_in_views() -> None:
    w = ours.ones(3, requires_grad=True)
    view = w.detach()
    opt = ours.optim.SGD([w], lr=1.0)
    w.grad = ours.ones(3)
    before = w._version
    opt.step()
    assert w._version == before + 1
    assert view.tolist() == [0.0, 0.0, 0.0]
    y = (w * w).sum()
    opt.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_hooks_and_closures() -> None:
    log: list[str] = []
    w = ours.ones(2, requires_grad=True)
    opt = ours.optim.SGD([w], lr=0.1)
    opt.register_step_pre_hook(lambda o, a, k: log.append("pre"))
    handle = opt.register_step_post_hook(lambda o, a, k: log.append("post"))

    def closure() -> Any:
        loss = (w * w).sum()
        loss.backward()
        return loss

    assert opt.step(closure).item() == 2.0
    handle.remove()
    opt.step()
    assert log == ["pre", "post", "pre"]
    opt.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0.0, 0.0]
    opt.zero_grad()
    assert w.grad is None


@pytest.mark.interop("torch")
@pytest.mark.parametrize(
    "text",
    [
        "o.SGD([], lr=0.1)", "o.SGD(w, lr=0.1)", "o.SGD([w * 2], lr=0.1)", "o.SGD([1.0], lr=0.1)", "o.SGD([w], lr=-1)",
        "o.Adam([w], betas=(1.0, 0.9))",
        "o.Adam([w], eps=-1)", "o.SGD([w], nesterov=True)", "o.RMSprop([w], alpha=-1)",
        "o.SGD({w}, lr=0.1) if False else o.SGD([{'params': {w}}], lr=0.1)",
        "o.SGD([{'params': [w]}, {'params': [w]}], lr=0.1)", "o.Adadelta([w], rho=2)", "o.Rprop([w], etas=(2, 3))",
        "o.Adam([w]).load_state_dict({'state': {}, 'param_groups': []})", "o.SGD([w], lr=0.1).add_param_group([1])",
        "o.lr_scheduler.StepLR(3, 1)", "o.lr_scheduler.OneCycleLR(o.SGD([w], lr=0.1), 0.1)",
        "o.lr_scheduler.LambdaLR(o.SGD([w], lr=0.1), 3)",
        "o.lr_scheduler.ReduceLROnPlateau(o.SGD([w], lr=0.1), factor=2)",
        "o.lr_scheduler.CosineAnnealingWarmRestarts(o.SGD([w], lr=0.1), 0)",
    ],
)  # fmt: skip
def test_errors_as_pytorch(text: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for module in (torch, ours):
        names = {"o": module.optim, "w": module.ones(2, requires_grad=True)}
        with pytest.raises(Exception) as error:  # noqa: PT011
            eval(text, names)
        found.append(error.value)
    theirs, mine = found
    assert type(mine) is type(theirs)
    assert str(mine).split()[:6] == str(theirs).split()[:6]


SCHEDULES = [
    "s.StepLR(o, 3, 0.5)", "s.MultiStepLR(o, [2, 5, 5], 0.5)", "s.ExponentialLR(o, 0.9)", "s.CosineAnnealingLR(o, 5, 0.01)",
    "s.CosineAnnealingLR(o, 7)",
    "s.CosineAnnealingWarmRestarts(o, 3)", "s.CosineAnnealingWarmRestarts(o, 2, 2, 0.01)", "s.LambdaLR(o, lambda e: 0.9**e)",
    "s.LambdaLR(o, [lambda e: 1 / (1 + e), lambda e: e])", "s.MultiplicativeLR(o, lambda e: 0.8)", "s.LinearLR(o)",
    "s.LinearLR(o, 0.5, 0.1, 4)",
    "s.ConstantLR(o, 0.5, 3)", "s.PolynomialLR(o, 6, 2.0)", "s.OneCycleLR(o, 0.5, total_steps=12)",
    "s.OneCycleLR(o, [0.5, 1.0], epochs=3, steps_per_epoch=5)",
    "s.OneCycleLR(o, 0.5, 15, three_phase=True, anneal_strategy='linear')", "s.CyclicLR(o, 0.01, 0.1, 3)",
    "s.CyclicLR(o, 0.01, 0.1, 2, 4, mode='triangular2')",
    "s.CyclicLR(o, 0.01, 0.1, 3, mode='exp_range', gamma=0.9)",
    "s.CyclicLR(o, 0.01, 0.1, 3, scale_fn=lambda x: 0.5, scale_mode='iterations')",
    "s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [3])",
    "s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 4), s.CosineAnnealingLR(o, 6), s.StepLR(o, 2)], [4, 9])",
    "s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)])",
]  # fmt: skip


def rates(torch: Any, text: str, steps: int = 12) -> tuple[list[Any], Any]:
    w, c = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    kind = torch.optim.Adam if "OneCycle" in text and "[" in text else torch.optim.SGD
    opt = kind([{"params": [w]}, {"params": [c], "lr": 0.3}], lr=0.1)
    if kind is torch.optim.SGD:
        for group in opt.param_groups:
            group["momentum"] = 0.9
    s = eval(text, {"s": torch.optim.lr_scheduler, "o": opt})
    found = []
    for _ in range(steps):
        opt.step()
        found.append([(g["lr"], g.get("momentum"), g.get("betas")) for g in opt.param_groups])
        s.step()
        assert s.get_last_lr() == [g["lr"] for g in opt.param_groups]
    return found, s


@pytest.mark.interop("torch")
@pytest.mark.parametrize("text", SCHEDULES)
def test_schedules_as_pytorch(text: str) -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, my_schedule = rates(ours, text)
        theirs, their_schedule = rates(torch, text)
    for a, b in zip(mine, theirs, strict=True):
        for (lr, m, betas), (other, n, others) in zip(a, b, strict=True):
            assert math.isclose(lr, other, rel_tol=1e-12, abs_tol=1e-15)
            assert (m is None) == (n is None)
            assert (m is None or math.isclose(m, n, rel_tol=1e-12))
            assert betas is None or np.allclose(betas, others)
    theirs_state = {k for k in their_schedule.state_dict() if k not in ("_get_lr_called_within_step", "_is_initial")}
    assert theirs_state - set(my_schedule.state_dict()) <= {"_anneal_func_type"}


@pytest.mark.interop("torch")
@pytest.mark.parametrize(
    "options", [{}, {"patience": 1, "cooldown": 2}, {"mode": "max", "threshold_mode": "abs", "patience": 0, "min_lr": 0.02}]
)
def test_a_plateau_is_seen_as_in_pytorch(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    metrics = [1.0, 0.9, 0.91, 0.92, 0.9, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.7, 0.8, 0.9, 0.9, 0.9, 0.9, 0.9]
    found = []
    for module in (ours, torch):
        opt = module.optim.SGD([module.ones(1, requires_grad=True)], lr=0.1)
        s = module.optim.lr_scheduler.ReduceLROnPlateau(opt, **options)
        row = []
        for m in metrics:
            s.step(m)
            row.append(opt.param_groups[0]["lr"])
        found.append(row)
    assert found[0] == found[1]


def test_the_order_of_steps_is_warned_about() -> None:
    opt = ours.optim.SGD([ours.ones(1, requires_grad=True)], lr=0.1)
    s = ours.optim.lr_scheduler.StepLR(opt, 2)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        s.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        s.get_lr()


def test_a_schedule_goes_on_from_its_state() -> None:
    def made() -> Any:
        opt = ours.optim.SGD([ours.ones(1, requires_grad=True)], lr=0.1)
        return opt, ours.optim.lr_scheduler.CosineAnnealingLR(opt, 10)

    (a, s), (b, t) = made(), made()
    for _ in range(4):
        a.step(), s.step()
    b.load_state_dict(a.state_dict())
    t.load_state_dict(s.state_dict())
    a.step(), s.step(), b.step(), t.step()
    assert a.param_groups[0]["lr"] == b.param_groups[0]["lr"]


@pytest.mark.parametrize("name", ["Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta", "ASGD", "Rprop"])
def test_a_state_of_old_with_plain_counts_of_steps_is_taken_over(name: str) -> None:
    params, loss = problem(ours, np.float32)
    made = [getattr(ours.optim, name)(params) for _ in range(2)]
    loss().backward()
    made[0].step()
    state = copy.deepcopy(made[0].state_dict())
    for own in state["state"].values():
        own["step"] = float(own["step"])
    made[1].load_state_dict(state)
    made[1].step()
    assert all(float(own["step"]) == 2 for own in made[1].state.values())


@pytest.mark.parametrize("made", [tg.Variable, tg.asarray])
def test_parameters_of_another_style_are_refused_with_the_way_out(made: Any) -> None:
    with pytest.raises(TypeError, match=r"one of the params is tapegrad\..*; write torch.nn.Parameter\(torch.as_tensor\(p\)\)"):
        ours.optim.SGD([made([1.5])], lr=0.1)
    with pytest.raises(TypeError, match=r"should be an iterable of Tensors or dicts, but got tapegrad\."):
        ours.optim.SGD(made([1.5]), lr=0.1)
