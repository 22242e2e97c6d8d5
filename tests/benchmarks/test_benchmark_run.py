from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*argv):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *argv], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_check_in_child_processes_passes_and_writes_its_result(tmp_path):
    p = run("--check", "--only", "op_overhead", "--peers", "numpy_hand", "--json", str(tmp_path / "out.json"))
    assert p.returncode == 0, p.stdout + p.stderr
    assert p.stdout.count("ok     numpy_hand") == 3
    cases = json.loads((tmp_path / "out.json").read_text())["cases"]
    assert [c["case"] for c in cases] == ["8x8", "scalar", "8x8 forward only, recorded"]
    assert all(c["results"]["numpy_hand"]["error"] < 1e-5 for c in cases)


def test_bad_arguments_end_the_command_with_code_2_before_anything_runs():
    p = run("--only", "nothing")
    assert p.returncode == 2
    assert p.stdout == ""
    assert "got 'nothing'" in p.stderr
