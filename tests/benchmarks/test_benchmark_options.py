from __future__ import annotations

import re
import sys

import pytest

from benchmarks.options import parse
from benchmarks.workloads import ORDER


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--only", "nothing"], r"--only: expected names among .*; got 'nothing'"),
        (["--only", ""], r"--only: expected names among .*; got ''"),
        (["--peers", "torch,torhc"], r"--peers: expected names among .*; got 'torhc'"),
        (["--without", "numpy"], r"--without: expected names among .*; got 'numpy'"),
        (["--peers", "torch", "--without", "torch"], "at least one peer"),
        (["--threads", "0"], "--threads: expected N >= 1, got 0"),
        (["--threads", "two"], "invalid int value: 'two'"),
        (["--seconds", "-1"], "--seconds: expected a finite S > 0, got -1.0"),
        (["--seconds", "nan"], "--seconds: expected a finite S > 0, got nan"),
        (["--python", "torch"], "--python: expected FAMILY=EXE .*; got 'torch'"),
        (["--python", "pytorch=python"], "--python: expected FAMILY=EXE .*; got 'pytorch=python'"),
        (["--python", "torch=no-such-interpreter"], "executable file, got 'no-such-interpreter'"),
        (["--json", "no-such-folder/out.json"], "--json: expected a file in a folder that exists"),
        (["--check", "--only", "memory"], "nothing to compare"),
        (["--fast"], "unrecognized arguments: --fast"),
    ],
)
def test_bad_arguments_end_with_code_2_and_a_message(argv, message, capsys):
    with pytest.raises(SystemExit) as caught:
        parse(argv)
    assert caught.value.code == 2
    assert re.search(message, capsys.readouterr().err)


def test_without_arguments_everything_runs():
    o = parse([])
    assert o.workloads == ORDER
    assert o.wants("memory")
    assert o.wants("imports")
    assert "torch" in o.families


def test_only_keeps_the_order_in_which_workloads_run():
    assert parse(["--only", "lstm,op_overhead,imports"]).workloads == ("op_overhead", "lstm")


def test_numpy_is_always_among_the_families_for_the_reference():
    assert parse(["--peers", "mygrad"]).families == ("numpy", "mygrad")


def test_peers_are_those_chosen_less_those_left_out():
    assert [p.name for p in parse(["--peers", "torch,mygrad,numpy_hand", "--without", "mygrad"]).peers] == [
        "numpy_hand",
        "torch",
    ]


def test_an_interpreter_for_tapegrad_serves_both_kernel_sets_and_the_facade():
    assert dict(parse(["--python", f"tapegrad={sys.executable}"]).pythons) == {
        "tapegrad": sys.executable,
        "tapegrad_tf": sys.executable,
        "tapegrad_torch": sys.executable,
    }


def test_quick_has_a_shorter_time_limit_unless_one_is_given():
    assert parse(["--quick"]).seconds < parse([]).seconds
    assert parse(["--quick", "--seconds", "99.5"]).seconds == 99.5
