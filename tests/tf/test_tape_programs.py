"""Programs around tapes, with written derivatives, and small scripts find in the facade what they find in TensorFlow."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

import tapegrad.tf as ours
from tests.tf import (
    derivative_programs,
    drawing_programs,
    function_programs,
    script_programs,
    tape_programs,
    tutorial_programs,
)
from tests.tf.test_expressions import agree, shown

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.interop("tensorflow"), pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("kernels")]
PROGRAMS = [
    *tape_programs.PROGRAMS,
    *derivative_programs.PROGRAMS,
    *drawing_programs.PROGRAMS,
    *function_programs.PROGRAMS,
    *script_programs.PROGRAMS,
    *tutorial_programs.PROGRAMS,
]


def found(tf: Any, program: Callable[[Any], Any]) -> list[Any]:
    """What a program yields; what it yields to be called is called there and then, and may raise."""
    results = []
    tf.random.set_seed(7)
    for x in program(tf):
        try:
            results.append(shown(tf, x() if type(x).__name__ in ("function", "method") else x))
        except Exception as error:
            results.append(error)
    return results


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_program_finds_what_it_finds_in_tensorflow(program: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:
    import tensorflow

    caplog.set_level(logging.ERROR)
    wanted, got = found(tensorflow, program), found(ours, program)
    assert len(wanted) == len(got)
    for k, (w, g) in enumerate(zip(wanted, got, strict=True)):
        assert agree(g, w), f"result {k}: TensorFlow {w!r}, here {g!r}"
