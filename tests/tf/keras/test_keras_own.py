"""Keras's own tests pass on tapegrad, but for those that are listed with reasons; `tests.tf.keras.run` runs all of them."""

import pytest

from tests.tf.keras.run import compare

pytestmark = [pytest.mark.interop("keras"), pytest.mark.slow]


@pytest.mark.parametrize("group", ["optimizers", "losses", "metrics", "layers-others"])
def test_what_fails_is_expected(group):
    assert compare(group, "", quiet=True) == []
