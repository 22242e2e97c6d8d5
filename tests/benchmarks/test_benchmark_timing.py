from __future__ import annotations

import pytest

from benchmarks.harness.client import Gone, Refused
from benchmarks.harness.ratios import pairwise, summarise
from benchmarks.harness.timing import Pace, Turns, plan, take_turns

PACE = Pace(chunk=0.01, min_rounds=3, max_rounds=60)


def chunks(*nets, cores=1.0):
    return [{"net_s": n, "wall_s": 2 * n, "cpu_s": cores * n} for n in nets]


class FakeClient:
    def __init__(self, log, answer):
        self.log, self.answer = log, answer

    def call(self, name, peer, inner, warm):
        self.log.append(peer)
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"net_s": inner * 0.25, "wall_s": 0.5, "cpu_s": 0.25}


class FakeChildren:
    def __init__(self, answers):
        self.log = []
        self.answers = answers

    def need(self, family):
        return FakeClient(self.log, self.answers.get(family))

    def own_seconds(self):
        return 0.0


def test_ratio_is_the_median_of_the_ratios_within_a_round():
    # A busy second round slows both; the ratio of the medians would be 2.5.
    assert pairwise([1.5, 30.0, 3.0], [1.0, 20.0, 1.2]) == pytest.approx(1.5)


def test_rounds_that_a_slow_peer_missed_do_not_count():
    assert pairwise([5.0, 6.0], [2.5, 2.0, 0.001, 0.001]) == pytest.approx(2.5)
    assert pairwise([2.5, 2.0, 0.001, 0.001], [5.0, 6.0]) == pytest.approx((0.5 + 1 / 3) / 2)


def test_summary_of_a_peer():
    r = summarise({"torch": chunks(2.0, 4.0, 8.0), "tg_numpy": chunks(1.0, 3.0, 2.0, cores=1.5)})["tg_numpy"]
    assert r["median_s"] == 2.0
    assert r["best_s"] == 1.0
    assert r["x_torch"] == pytest.approx(0.5)
    assert r["best_x_torch"] == pytest.approx(0.5)
    assert r["wall_median_s"] == 4.0
    assert r["cores"] == pytest.approx(1.5)
    assert r["rounds"] == 3
    assert "x_numpy_hand" not in r


def test_summary_of_a_single_round_has_no_spread():
    assert summarise({"mygrad": chunks(0.7)})["mygrad"]["iqr"] == 0.0


def test_a_chunk_holds_as_many_steps_as_fit_its_length():
    turns = plan({"torch": {"estimate_s": 0.0015}}, 1.0, PACE)
    assert turns["torch"].inner == 7
    assert turns["torch"].warm == 1


def test_a_slow_step_is_not_warmed_up_and_gets_fewer_rounds_but_enough():
    turns = plan({"torch": {"estimate_s": 1e-4}, "tf_eager": {"estimate_s": 1.7}}, 4.0, PACE)
    assert turns["tf_eager"] == Turns(inner=1, warm=0, rounds=PACE.min_rounds)
    assert turns["torch"].rounds == PACE.max_rounds


def test_nobody_is_planned_where_nobody_is_ready():
    assert plan({}, 1.0, PACE) == {}
    assert take_turns(FakeChildren({}), {}, 1.0, PACE).rounds == {}


def test_peers_take_turns_and_a_slow_one_takes_part_in_the_first_rounds():
    children = FakeChildren({})
    timed = take_turns(children, {"torch": Turns(2, 1, 3), "mygrad": Turns(1, 0, 1)}, 60.0, PACE)
    assert children.log == ["torch", "mygrad", "torch", "torch"]
    assert [c["net_s"] for c in timed.rounds["torch"]] == [0.5, 0.5, 0.5]
    assert len(timed.rounds["mygrad"]) == 1


def test_after_the_budget_only_the_least_number_of_rounds_is_run():
    timed = take_turns(FakeChildren({}), {"torch": Turns(1, 0, 50)}, 0.0, PACE)
    assert len(timed.rounds["torch"]) == PACE.min_rounds


def test_a_child_that_dies_takes_its_whole_family_out_and_nobody_else():
    turns = {"torch": Turns(1, 0, 2), "tf_eager": Turns(1, 0, 2), "tf_xla": Turns(1, 0, 2)}
    children = FakeChildren({"tf": Gone("the process died")})
    timed = take_turns(children, turns, 60.0, PACE)
    assert children.log == ["torch", "tf_eager", "torch"]
    assert list(timed.rounds) == ["torch"]
    assert timed.failed == {"tf_eager": "the process died", "tf_xla": "the process died"}


def test_a_step_that_fails_takes_its_peer_out():
    timed = take_turns(
        FakeChildren({"jax": Refused("error", "ValueError: no")}), {"jax_jit": Turns(1, 0, 9)}, 60.0, PACE
    )
    assert timed.rounds == {}
    assert timed.failed == {"jax_jit": "ValueError: no"}
