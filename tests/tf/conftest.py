"""Fixtures of the facade's tests."""

import logging
from collections.abc import Iterator

import pytest

from tapegrad import tf


@pytest.fixture(autouse=True)
def no_seed_stays() -> Iterator[None]:
    """A test that sets the seed leaves the next ones without."""
    yield

    tf.random.set_seed(None)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What is logged to the facade's logger."""
    caplog.set_level(logging.WARNING, logger="tapegrad")
    return caplog
