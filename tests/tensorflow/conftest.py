"""Tests of the TensorFlow kernels: skipped, with a reason, where TensorFlow is missing; and what they draw."""

from collections.abc import Callable, Iterator
from zlib import crc32

import pytest
from hypothesis import settings

from tapegrad.registry import space as spaces
from tapegrad.registry.op import Op
from tapegrad.testing import Draw

Drawing = Callable[[Op, str], Iterator[Draw]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/tensorflow" in str(item.path):
            item.add_marker(pytest.mark.interop("tensorflow"))


@pytest.fixture(autouse=True)
def what_makes_new_arrays_stays() -> Iterator[None]:
    before = spaces.DEFAULT[:]
    yield
    spaces.DEFAULT[:] = before


@pytest.fixture
def drawing() -> Drawing:
    """Draws of arguments for an op and a test, the same in each run; their number is that of the profile, 1 in `ci`.

    Plain draws: an eager op of TensorFlow takes ten times as long as NumPy's, so that few are affordable.  Hypothesis' own
    work for each of some 5,000 pairs of an op and a law took longer than the laws themselves, and the first of its examples,
    often the only one, is the simplest there is, in which all arrays are empty.
    """
    return _draws


def _draws(op: Op, what: str) -> Iterator[Draw]:
    for k in range(-(-settings().max_examples // 25)):
        seed = crc32(f"{op.name}, {what}, {k}".encode())
        yield Draw(seed, complex=bool(seed & 1) and not op.real and op.kind != "constant")
