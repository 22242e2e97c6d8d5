"""Derivatives of depthwise convolutions as functions of their own: adjoint to the convolution in each argument."""

from __future__ import annotations

import numpy as np
import pytest

from tapegrad import tf


@pytest.mark.parametrize(("padding", "dilation"), [("SAME", 1), ("VALID", 1), ("VALID", 2)])
def test_they_are_adjoint_to_the_convolution(padding: str, dilation: int) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 7, 6, 3)), rng.standard_normal((3, 2, 3, 2))
    strides, dilations = [1, 1, 1, 1], [1, dilation, dilation, 1]
    y = tf.nn.depthwise_conv2d(x, w, strides, padding, dilations=[dilation, dilation]).numpy()
    g = rng.standard_normal(y.shape)
    for_x = tf.nn.depthwise_conv2d_backprop_input(x.shape, w, g, strides, padding, dilations=dilations).numpy()
    for_w = tf.nn.depthwise_conv2d_backprop_filter(x, w.shape, g, strides, padding, dilations=dilations).numpy()
    assert (for_x.shape, for_w.shape) == (x.shape, w.shape)
    np.testing.assert_allclose([np.vdot(x, for_x), np.vdot(w, for_w)], np.vdot(y, g), rtol=1e-10)
