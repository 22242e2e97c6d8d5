"""Fixtures of the facade's tests."""

import logging
from collections.abc import Iterator

import pytest

from tapegrad import tf
from tapegrad.registry.backends import making_on


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


@pytest.fixture(params=["numpy", pytest.param("tensorflow", marks=pytest.mark.interop("tensorflow"))])
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of the kernels that make new arrays, one after the other."""
    with making_on(request.param):
        yield request.param
