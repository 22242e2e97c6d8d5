from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.harness.case import Case
from benchmarks.harness.checking import Checker, compare
from benchmarks.harness.client import Gone, Refused
from benchmarks.harness.peers import BY_NAME

CASE = Case("a case", rtol=1e-3)
REFERENCE = [np.array(0.37), np.array([1.9, -2.6])]


class FakeClient:
    """A child whose answers to `prepare` are written down: outputs, or an exception to raise."""

    def __init__(self, answers, digest=7):
        self.answers, self.digest = answers, digest

    def call(self, name, *args, timeout=None):
        if name == "reference":
            return {"outputs": REFERENCE}
        answer = self.answers[args[-1]]
        if isinstance(answer, Exception):
            raise answer
        return {"outputs": answer, "first_s": 0.1, "estimate_s": 0.1, "digest": self.digest}


class FakeChildren:
    def __init__(self, clients):
        self.clients, self.families, self.dead = clients, tuple(clients), {}

    def get(self, family):
        return self.clients[family]

    need = get


def prepared(clients, *peers, left_out=lambda peer, workload, c: ""):
    checker = Checker(FakeChildren(clients), [BY_NAME[p] for p in peers], 1.0, 1, left_out)
    return checker.prepare("a workload", CASE)


def test_error_is_relative_to_the_largest_entry_of_an_output():
    error, why = compare([np.array([1000.0, 0.5])], [np.array([1000.0, 0.0])], 1e-3)
    assert error == pytest.approx(5e-4)
    assert why == ""


def test_the_worst_output_decides():
    error, why = compare([np.array(0.37), np.array([1.9, -2.5])], REFERENCE, 1e-3)
    assert error == pytest.approx(0.1 / 2.6)
    assert why == "wrong: error 3.8e-02 over rtol 1e-03"


@pytest.mark.parametrize(
    ("outputs", "why"),
    [
        ([np.array(0.37)], "1 outputs, expected 2"),
        ([np.array([0.37]), REFERENCE[1]], r"output 0 has shape (1,), expected ()"),
        ([REFERENCE[0], np.array([1.9, np.nan])], "output 1 is not finite"),
    ],
)
def test_outputs_that_cannot_be_compared_are_infinitely_wrong(outputs, why):
    assert compare(outputs, REFERENCE, 1e-3) == (math.inf, why)


def test_empty_outputs_agree():
    assert compare([np.ones((0, 3))], [np.ones((0, 3))], 1e-3) == (0.0, "")


def test_a_right_peer_is_ready_and_a_wrong_one_is_not_timed():
    wrong = [REFERENCE[0], REFERENCE[1] * 1.01]
    p = prepared(
        {"numpy": FakeClient({"numpy_hand": REFERENCE}), "torch": FakeClient({"torch": wrong})}, "numpy_hand", "torch"
    )
    assert list(p.ready) == ["numpy_hand"]
    assert p.skipped["torch"].startswith("FAILED wrong: error 1.0e-02")


def test_a_missing_implementation_is_skipped_and_an_error_is_a_failure():
    answers = {"tf_eager": Refused("unavailable", "no scan"), "tf_xla": Refused("error", "ValueError: no")}
    p = prepared({"numpy": FakeClient({}), "tf": FakeClient(answers)}, "tf_eager", "tf_xla")
    assert p.skipped == {"tf_eager": "no scan", "tf_xla": "FAILED ValueError: no"}


def test_a_peer_left_out_is_not_asked():
    p = prepared({"numpy": FakeClient({})}, "numpy_hand", left_out=lambda peer, workload, c: f"no {peer}")
    assert p.skipped == {"numpy_hand": "no numpy_hand"}


def test_the_others_of_a_family_are_prepared_again_after_its_child_died():
    answers = {"tf_eager": REFERENCE, "tf_function": Gone("no answer within 1 s"), "tf_xla": REFERENCE}
    p = prepared({"numpy": FakeClient({}), "tf": FakeClient(answers)}, "tf_eager", "tf_function", "tf_xla")
    assert list(p.ready) == ["tf_eager", "tf_xla"]
    assert p.skipped == {"tf_function": "FAILED no answer within 1 s"}


def test_peers_must_get_the_same_inputs():
    clients = {"numpy": FakeClient({"numpy_hand": REFERENCE}), "torch": FakeClient({"torch": REFERENCE}, digest=8)}
    with pytest.raises(RuntimeError, match="peers got different inputs"):
        prepared(clients, "numpy_hand", "torch")
