"""Hypothesis profiles, a guard against leaked state, and markers that skip with a reason."""

import functools
import gc
import inspect
import os
import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, seed, settings
from hypothesis.database import InMemoryExampleDatabase

from tapegrad.core.recorder import state
from tapegrad.ops import load_all
from tapegrad.registry.op import OPS

load_all()  # tests of all ops are parametrised by what is declared

# Deadlines are off everywhere: the first call of an op compiles its entry point, and test machines are shared.
settings.register_profile("dev", deadline=None)
settings.register_profile("thorough", deadline=None, max_examples=1000)
# The `ci` profile draws the same in each run by a seed for each test (below). Hypothesis' own `derandomize` has no database,
# and looks for one in a chain of settings that grows with each case of a parametrised test: past some 950 it overflows the
# stack (met with 6.170).
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=25,
    database=InMemoryExampleDatabase(),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))
if settings.get_current_profile_name() == "ci":  # gradient checks that are given no seed draw the same in each run, too
    os.environ.setdefault("TAPEGRAD_GRADCHECK_PROFILE", "ci")
# Read where XLA is first used. What it makes of a program runs once or twice here, and to improve it took a quarter of the time.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")


@pytest.fixture(autouse=True)
def nothing_records_between_tests() -> Iterator[None]:
    """Fail the test that leaves a tape recording, and stop it, so that the next test starts clean."""
    yield
    rest = type(state).active  # that of a thread that has entered nothing; the PyTorch style always records
    left, state.active = state.active, rest
    assert left is rest, "this test left a tape recording"


@pytest.fixture(autouse=True)
def ops_of_a_test_end_with_it() -> Iterator[None]:
    """Take the ops that a test has declared out of the registry, where tests of all ops would meet them."""
    before = dict(OPS)
    yield
    if len(OPS) != len(before):
        OPS.clear()
        OPS.update(before)


#: A test that skips itself without a framework, or a file that does: is indented, or not.
_SKIPS_ITSELF = re.compile(r'^( *)(?:[\w: ]+ = |return )?pytest\.importorskip\("(tensorflow|torch|jax|keras)"', re.MULTILINE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What skips itself without a framework is a comparison: it counts as `interop`, and so runs where the frameworks are."""
    for item in items:
        found = _frameworks_of(item.path)
        if found is None or not isinstance(item, pytest.Function):
            continue
        names = {name for indent, name in found if not indent}
        names |= _skipped_by(inspect.unwrap(item.function))
        for name in names:
            item.add_marker(pytest.mark.interop(name))


@functools.cache
def _frameworks_of(path: Path) -> list[tuple[str, str]] | None:
    return _SKIPS_ITSELF.findall(path.read_text(encoding="utf-8")) or None


@functools.cache  # of all cases of a parametrised test: to cut a source out of its file takes milliseconds
def _skipped_by(function: Callable[..., object]) -> set[str]:
    return {name for _, name in _SKIPS_ITSELF.findall(inspect.getsource(function))}


def pytest_collection_finish() -> None:
    """Leave thousands of tests, and the modules that they are from, out of every collection of garbage from now on."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what compares with a framework that is not here; under TAPEGRAD_REQUIRE_INTEROP, fail instead.

    In the `ci` profile each property gets a seed of its own name.
    """
    if settings.get_current_profile_name() == "ci" and is_hypothesis_test(function := getattr(item, "obj", None)):
        seed(item.nodeid)(getattr(function, "__func__", function))
    for marker in item.iter_markers("interop"):
        missing = [module for module in marker.args if not is_installed(module)]
        if missing:
            reason = f"not installed: {', '.join(missing)}"
            (pytest.fail if os.environ.get("TAPEGRAD_REQUIRE_INTEROP") else pytest.skip)(reason)


def is_installed(module: str) -> bool:
    """Whether a module can be imported; a folder of tests that has its name, such as tests/torch, is none."""
    spec = find_spec(module)
    return spec is not None and spec.origin is not None
