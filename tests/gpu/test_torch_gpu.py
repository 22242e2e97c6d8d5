"""`cuda` of the PyTorch style on a GPU: `pytest -m gpu`.  Skipped, with the reason, where TensorFlow sees none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

tf = pytest.importorskip("tensorflow")
PROGRAM = Path(__file__).parents[1] / "torch" / "cuda_programs.py"


def test_what_is_true_of_a_stand_in_is_true_of_a_gpu():
    if not tf.config.list_logical_devices("GPU"):
        pytest.skip("TensorFlow sees no GPU on this machine")
    made, stood_in = (
        json.loads(subprocess.run([sys.executable, str(PROGRAM), *flags], capture_output=True, text=True, check=True).stdout)
        for flags in ((), ("--stand-in",))
    )
    for name in ("makers", "moving", "where_default", "numbers_of_the_cpu", "in_place", "training", "distributions"):
        assert made[name] == stood_in[name], name
