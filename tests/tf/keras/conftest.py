"""Keras on tapegrad, loaded once: a process has one Keras."""

import sys

import pytest

import tapegrad.keras


@pytest.fixture(scope="session")
def keras():
    if "keras" in sys.modules and not tapegrad.keras.is_loaded():
        pytest.skip("this process has imported Keras with another backend")
    loaded = tapegrad.keras.load()
    loaded.utils.set_random_seed(1)
    return loaded
