"""Profiles: their events one by one, and as files."""

import json

import pytest

from tapegrad import torch


@pytest.mark.parametrize("profile", [torch.profiler.profile, torch.autograd.profiler.profile])
def test_events_are_there_one_by_one_and_in_the_file_of_a_trace(profile, tmp_path):
    x = torch.ones(3, 3, requires_grad=True)
    with profile() as prof, torch.profiler.record_function("step"):
        torch.mm(x, x).relu().sum().backward()
    names = [event.name for event in prof.events()]
    assert names[0] == "step"
    assert names.index("aten::mm") < names.index("aten::relu") < names.index("aten::sum")
    assert "ReluBackward0" in names
    assert all(event.cpu_time_total >= event.self_cpu_time_total >= 0 for event in prof.events())
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    assert [event["name"] for event in events] == names
    assert {event["ph"] for event in events} == {"X"}
    assert events[0]["cat"] == "user_annotation"
