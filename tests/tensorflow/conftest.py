"""Tests of the TensorFlow kernels: skipped, with a reason, where TensorFlow is missing."""

from collections.abc import Iterator

import pytest

from tapegrad.registry import space as spaces


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/tensorflow" in str(item.path):
            item.add_marker(pytest.mark.interop("tensorflow"))


@pytest.fixture(autouse=True)
def what_makes_new_arrays_stays() -> Iterator[None]:
    before = spaces.DEFAULT[:]
    yield
    spaces.DEFAULT[:] = before
