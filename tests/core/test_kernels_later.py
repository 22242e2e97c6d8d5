"""Kernels of modules that are imported when they are first asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tapegrad.kernels import numpy as kernels
from tapegrad.registry.space import NUMPY


@pytest.mark.parametrize("name", kernels._MODULES)
def test_is_the_kernel_of_an_op(name: str) -> None:
    module = sys.modules.get(f"tapegrad.kernels.{kernels._MODULES[name]}")
    assert module is not None, "declaring an op did not import its kernel"
    assert getattr(NUMPY, name) is getattr(module, name)
    assert getattr(NUMPY.deferring, name) is getattr(module, name)


def test_a_name_that_is_none() -> None:
    with pytest.raises(AttributeError, match="no attribute 'window_median'"):
        _ = kernels.window_median


def test_a_fresh_process_imports_them_as_they_are_used() -> None:
    program = (
        "import sys, tapegrad as tg\n"
        "there = lambda n: f'tapegrad.kernels.{n}' in sys.modules\n"
        "print(there('numpy_conv'), there('numpy_pool'), there('numpy_special'))\n"
        "x = tg.ones((1, 4, 4, 1))\n"
        "print(tg.nn.max_pool2d(tg.nn.conv2d(x, tg.ones((1, 1, 1, 1))), 2).shape, tg.special.erf(x).shape)\n"
        "print(there('numpy_conv'), there('numpy_pool'), there('numpy_special'))\n"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split("\n")
    assert out[:3] == ["False False False", "(1, 2, 2, 1) (1, 4, 4, 1)", "True True True"]
