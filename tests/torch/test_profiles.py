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


def test_shapes_are_recorded_where_they_are_asked_for(tmp_path):
    x, w = torch.ones(4, 5, requires_grad=True), torch.ones(5, 3)
    with torch.autograd.profiler.profile(record_shapes=True) as p, torch.autograd.profiler.record_function("mine"):
        torch.add(x @ w, 1).relu().sum()
        torch.cat([x, x])
        x @ x.t()
    shapes = {e.name: e.input_shapes for e in reversed(p.function_events)}
    assert shapes["aten::matmul"] == [[4, 5], [5, 3]]
    assert shapes["aten::add"][:2] == [[4, 3], []]
    assert shapes["aten::relu"] == [[4, 3]]
    assert shapes["aten::cat"][0] == [[4, 5], [4, 5]]
    assert shapes["mine"] == []
    grouped = p.key_averages(group_by_input_shape=True)
    assert [e.input_shapes for e in grouped if e.key == "aten::matmul"] == [[[4, 5], [5, 3]], [[4, 5], [5, 4]]]
    assert "Input Shapes" in grouped.table()
    assert "Input Shapes" not in p.key_averages().table()
    assert [e.count for e in p.key_averages() if e.key == "aten::matmul"] == [2]
    path = tmp_path / "trace.json"
    p.export_chrome_trace(str(path))
    found = {e["name"]: e["args"] for e in json.loads(path.read_text())["traceEvents"]}
    assert found["aten::relu"]["Input Dims"] == [[4, 3]]
    with torch.autograd.profiler.profile() as plain:
        x.relu()
    assert [e.input_shapes for e in plain.function_events] == [[]]
    (event,) = plain.function_events
    assert event.time_range.elapsed_us() == event.cpu_time_total
    assert event.cpu_time_total_str.endswith("s")
