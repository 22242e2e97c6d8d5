"""`torch.utils.benchmark`: times of statements."""

import itertools

import pytest

from tapegrad.torch.utils import benchmark


def clock():
    """A clock that says one second more at each look."""
    seconds = itertools.count()
    return lambda: float(next(seconds))


def test_a_statement_is_timed_over_as_many_runs_as_asked_for():
    calls = []
    timer = benchmark.Timer("calls.append(x.sum())", "x = torch.ones(3)", timer=clock(), globals={"calls": calls})
    found = timer.timeit(4)
    assert len(calls) == 2 + 4  # two to warm up
    assert (found.raw_times, found.times, found.mean, found.median, found.iqr) == ([1.0], [0.25], 0.25, 0.25, 0.0)
    assert "250.00 ms\n  1 measurement, 4 runs per measurement, 1 thread" in repr(found)


def test_runs_go_on_until_they_have_taken_long_enough():
    seen = []
    timer = benchmark.Timer("pass", timer=clock(), label="nothing", sub_label="at all", description="a test")
    found = timer.blocked_autorange(lambda *run: seen.append(run), min_run_time=3.0)
    assert found.raw_times == [1.0, 1.0, 1.0]
    assert seen == [(1, 1.0)] * 3
    assert repr(found).split("\n")[1:] == [
        "nothing: at all", "a test", "  Median: 1.00 s", "  IQR:    0.00 s", "  3 measurements, 1 run per measurement, 1 thread",
    ]  # fmt: skip


def test_only_statements_of_python_are_timed():
    with pytest.raises(ValueError, match="only a `str` stmt"):
        benchmark.Timer(print)
    with pytest.raises(NotImplementedError, match=r"compiles no C\+\+"):
        benchmark.Timer("int i;", language="c++")
