"""The names that 95 of 100 plain scripts with a GradientTape use, by a count of public ones: each is there."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tapegrad import tf

#: Where Keras 3, which both have, differs from what scripts of its predecessor write.
GONE = ["Metric.reset_states"]  # Keras 3 calls it reset_state; TensorFlow 2.21 has it no more


def missing(*words: str) -> list[str]:
    program = str(Path(__file__).parent / "find_names.py")
    result = subprocess.run([sys.executable, "-W", "error", program, *words], capture_output=True, text=True, check=True)
    return result.stdout.split()


def test_the_names_that_scripts_use_are_there():
    assert missing() == []


def test_the_names_of_keras_that_scripts_use_are_there():
    if find_spec("keras") is None:
        pytest.skip("not installed: keras")
    assert missing("keras") == GONE


def test_a_name_that_is_missing_says_so_and_names_a_near_one():
    with pytest.raises(AttributeError, match=r"no tf\.reduce_men; did you mean tf\.reduce_mean"):
        tf.reduce_men
    with pytest.raises(AttributeError, match=r"no tf\.math\.lgo; did you mean tf\.math\.log"):
        tf.math.lgo
