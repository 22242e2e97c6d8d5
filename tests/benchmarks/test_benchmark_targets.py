from __future__ import annotations

import pytest

from benchmarks import workloads
from benchmarks.targets import TARGETS, Target, judge, target_table


def result(**parts):
    return {"cases": [], "memory": [], "imports": [], **parts}


def case(results, skipped=None):
    return {"workload": "mlp", "case": "batch 16", "results": results, "skipped": skipped or {}}


TIME = Target("mlp", "batch 16", 0.95)
BYTES = Target("deep_chain", "20,000 ops", 450, "bytes per op")


@pytest.mark.parametrize("target", [t for t in TARGETS if t.subject != "import"], ids=lambda t: f"{t.subject}-{t.case}")
def test_every_target_is_a_case_that_exists(target):
    assert target.case in [c.id for c in workloads.load(target.subject).CASES]


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (result(cases=[case({"tg_numpy": {"x_torch": 0.93}})]), "ok"),
        (result(cases=[case({"tg_numpy": {"x_torch": 0.97}})]), "BEHIND"),
        (result(cases=[case({"tg_numpy": {}})]), "no torch"),
        (result(cases=[case({}, {"tg_numpy": "FAILED wrong"})]), "FAILED"),
        (result(cases=[case({}, {"tg_numpy": "tapegrad has no Variable"})]), "not available"),
        (result(), "not run"),
    ],
)
def test_a_time_is_judged_as_a_multiple_of_torch(found, verdict):
    (row,) = judge(found, [TIME])
    assert row["verdict"] == verdict


@pytest.mark.parametrize(
    ("nets", "verdict"),
    [
        ({"tg_tf": [0.4, 0.6, 9.0], "tf_eager": [1.0, 2.0]}, "ok"),
        ({"tg_tf": [0.6, 0.6], "tf_eager": [1.0, 1.0]}, "BEHIND"),
        ({"tg_tf": [0.4]}, "no tf_eager"),
        ({"tf_eager": [0.4]}, "not run"),
    ],
)
def test_a_time_on_tensorflow_is_judged_beside_tensorflows_own(nets, verdict):
    found = result(cases=[case({peer: {"nets_s": net} for peer, net in nets.items()})])
    (row,) = judge(found, [Target("mlp", "batch 16", 0.5, "x tf eager")])
    assert row["verdict"] == verdict


@pytest.mark.parametrize(("growth", "verdict"), [(8.9e6, "ok"), (9.1e6, "BEHIND")])
def test_memory_is_judged_per_op(growth, verdict):
    memory = [
        {"workload": "deep_chain", "peer": p, "growth_b": g, "ops": 20_000}
        for p, g in (("torch", 1e9), ("tg_numpy", growth))
    ]
    (row,) = judge(result(memory=memory), [BYTES])
    assert row["verdict"] == verdict
    assert row["measured"] == pytest.approx(growth / 20_000)


def test_an_import_is_judged_as_a_multiple_of_numpy():
    imports = [{"package": "numpy"}, {"package": "tapegrad", "x_numpy": 1.4, "rss_x_numpy": 1.2}]
    targets = [Target("import", "tapegrad", 1.3, "cpu x numpy"), Target("import", "tapegrad", 1.3, "rss x numpy")]
    assert [row["verdict"] for row in judge(result(imports=imports), targets)] == ["BEHIND", "ok"]


def test_the_table_shows_goal_measured_verdict_and_stage():
    rows = judge(
        result(cases=[case({"tg_numpy": {"x_torch": 0.97}})]), [TIME, Target("conv", "batch 32", 1.2, later=True)]
    )
    *_, first, second = target_table(rows).splitlines()
    assert first.split() == ["mlp:", "batch", "16", "x", "torch", "0.95", "0.97", "BEHIND"]
    assert second.endswith("not run  (later stage)")
