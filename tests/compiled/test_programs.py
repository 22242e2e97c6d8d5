"""What programs compile gives what the same programs give that are written in TensorFlow, plain and through XLA."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytestmark = [pytest.mark.interop("tensorflow"), pytest.mark.filterwarnings("ignore")]
pytest.importorskip("tensorflow")

from tests.compiled.programs import (  # noqa: E402  they import TensorFlow
    arrays,
    control,
    derivatives,
    models,
    same_text,
    steps_with_derivatives,
    surroundings,
    training,
)

PROGRAMS: dict[str, Callable[[bool], Any]] = {
    name: f
    for module in (training, models, derivatives, steps_with_derivatives, control, surroundings, same_text)
    for name, f in inspect.getmembers(module, inspect.isfunction)
    if f.__module__ == module.__name__ and name[0] != "_" and f is not same_text.both
}
#: What XLA can't compile: it knows no lengths that depend on values, and its gathers take no index for wrong.
NOT_BY_XLA = {"masks", "runtime_error"}


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "xla"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_in_tensorflow(name: str, jit: bool) -> None:
    if jit and name in NOT_BY_XLA:
        pytest.skip("XLA does not compile it")
    ours, theirs = map(arrays, PROGRAMS[name](jit))
    assert ours
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-2 if name.startswith("trained_in") else 2e-3, atol=1e-5)
