"""Modules, optimizers and schedules that are written and read whole, not as states."""

import io
import pickle
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as T
from tapegrad.torch import serialization


def written(t: Any, obj: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    t.save(obj, file, **options)
    file.seek(0)
    return file


def test_a_whole_module_is_read_where_its_classes_are_allowed(tmp_path):
    net = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.Dropout(0.5))
    T.save(net, tmp_path / "net.pt")
    with pytest.raises(pickle.UnpicklingError, match="Sequential"):
        T.load(tmp_path / "net.pt")
    kinds = [T.nn.modules.container.Sequential, T.nn.modules.linear.Linear, T.nn.modules.dropout.Dropout]
    with serialization.safe_globals(kinds):
        assert serialization.get_safe_globals() == kinds
        back = T.load(tmp_path / "net.pt").eval()
    x = T.ones(1, 2)
    assert back(x).tolist() == net.eval()(x).tolist()
    assert serialization.get_safe_globals() == []


@pytest.mark.interop("torch")
def test_a_whole_module_of_pytorchs_is_read_where_its_classes_are_allowed(tmp_path):
    import torch as peer

    net = peer.nn.Sequential(peer.nn.Linear(2, 3), peer.nn.Tanh())
    peer.save(net, tmp_path / "net.pt")
    with serialization.safe_globals([T.nn.Sequential, T.nn.Linear, T.nn.Tanh]):
        back = T.load(tmp_path / "net.pt")
    np.testing.assert_allclose(back(T.ones(1, 2)).detach().numpy(), net(peer.ones(1, 2)).detach().numpy(), rtol=1e-6)


def trained(t: Any) -> tuple[Any, Any, Any]:
    model = t.nn.Linear(2, 1)
    optimizer = t.optim.Adam(model.parameters(), lr=0.5)
    schedule = t.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    model(t.ones(1, 2)).sum().backward()
    optimizer.step()
    schedule.step()
    return model, optimizer, schedule


def check_whole(file: io.BytesIO) -> None:
    model, optimizer, schedule = T.load(file, weights_only=False)
    assert schedule.optimizer is optimizer
    assert optimizer.param_groups[0]["params"][0] is model.weight
    assert schedule.get_last_lr() == [0.25]
    before = model.weight.detach().clone()
    model(T.ones(1, 2)).sum().backward()
    optimizer.step()
    schedule.step()
    assert (model.weight != before).all()
    assert optimizer.param_groups[0]["lr"] == 0.125
    assert optimizer.state[model.weight]["step"] == 2


def test_optimizers_and_schedules_are_read_whole_where_that_was_asked_for() -> None:
    file = written(T, trained(T))
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        T.load(file)
    file.seek(0)
    check_whole(file)


@pytest.mark.interop("torch")
def test_optimizers_and_schedules_of_pytorchs_are_read_whole() -> None:
    import torch

    check_whole(written(torch, trained(torch)))
