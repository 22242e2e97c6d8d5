"""Poolings of windows that can't be laid, of empty images, and into no windows: PyTorch's errors and shapes."""

from typing import Any

import pytest

import tapegrad.torch as T

real: Any = pytest.importorskip("torch")

REFUSED = {
    "stride of zero": "F.max_pool2d(t.ones(1, 1, 4, 4), 2, stride=0)",
    "window of zero": "F.avg_pool2d(t.ones(1, 1, 4, 4), 0)",
    "window that doesn't fit": "F.max_pool2d(t.ones(1, 1, 4, 4), 5)",
    "spread window that doesn't fit": "F.max_pool2d(t.ones(1, 1, 4, 4), 3, dilation=2)",
    "mean of a window that doesn't fit": "F.avg_pool3d(t.ones(1, 1, 2, 2, 2), 3)",
    "too much padding": "F.max_pool2d(t.ones(1, 1, 4, 4), 2, padding=2)",
    "too much padding of a spread window": "F.max_pool1d(t.ones(1, 1, 6), 3, 1, 2, 2)",
    "too few windows": "F.max_pool2d(t.ones(1, 1, 4, 4), (2, 2, 2))",
    "no channels": "F.avg_pool2d(t.ones(2, 0, 4, 4), 2)",
    "no pixels": "F.max_pool2d(t.ones(2, 1, 0, 4), 2)",
    "no pixels, adaptive": "F.adaptive_max_pool2d(t.ones(2, 1, 0, 4), 2)",
    "integers": "F.adaptive_avg_pool2d(t.ones(1, 1, 4, 4, dtype=t.int64), 2)",
    "integers along a line": "F.adaptive_max_pool1d(t.ones(1, 1, 4, dtype=t.int32), 2)",
    "convolution that stays where it is": "F.conv2d(t.ones(1, 1, 4, 4), t.ones(1, 1, 2, 2), stride=-1)",
    "convolution of less than the image": "F.conv1d(t.ones(1, 1, 4), t.ones(1, 1, 2), padding=-1)",
    "convolution that is not spread": "F.conv3d(t.ones(1, 1, 4, 4, 4), t.ones(1, 1, 2, 2, 2), dilation=0)",
    "convolution in groups of unequal size": "F.conv2d(t.ones(1, 2, 4, 4), t.ones(3, 1, 2, 2), groups=2)",
    "convolution with too many biases": "F.conv2d(t.ones(1, 1, 4, 4), t.ones(2, 1, 2, 2), t.ones(3))",
    "wrong places": "F.max_unpool2d(t.ones(1, 1, 2, 2), t.zeros(1, 1, 2, 3, dtype=t.int64), 2)",
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_can_not_be_pooled_is_refused_as_in_pytorch(name: str) -> None:
    for torch in (real, T):
        with pytest.raises(RuntimeError):
            eval(REFUSED[name], {"t": torch, "F": torch.nn.functional})


@pytest.mark.parametrize("size", [(2, 3), (1, 1, 2, 3), (5, 5)])
def test_sizes_that_no_pooling_could_have_had_are_refused(size: Any) -> None:
    for torch in (real, T):
        y, index = torch.nn.functional.max_pool2d(torch.arange(16.0).reshape(1, 1, 4, 4), 2, return_indices=True)
        if size == (5, 5):
            assert torch.nn.functional.max_unpool2d(y, index, 2, output_size=size).shape == (1, 1, 5, 5)
        else:
            with pytest.raises(ValueError, match="must be between 2 and 6"):
                torch.nn.functional.max_unpool2d(y, index, 2, output_size=size)


@pytest.mark.parametrize("name", ["adaptive_avg_pool2d", "adaptive_max_pool2d"])
def test_no_windows_are_no_values(name: str) -> None:
    x = T.ones(2, 3, 4, 5, requires_grad=True)
    y = getattr(T.nn.functional, name)(x, (0, 2))
    assert y.shape == (2, 3, 0, 2)
    y.sum().backward()
    assert not x.grad.any()


@pytest.mark.parametrize("layer", ["MaxPool2d(2)", "AvgPool2d(2)", "AdaptiveAvgPool2d(3)", "AdaptiveMaxPool2d((None, 2))"])
def test_an_empty_batch_stays_empty(layer: str) -> None:
    shapes = [tuple(eval(f"t.nn.{layer}", {"t": t})(t.ones(0, 3, 4, 4)).shape) for t in (real, T)]
    assert shapes[0] == shapes[1]


def test_an_empty_batch_is_put_back_to_nothing() -> None:
    y, index = T.nn.functional.max_pool1d(T.ones(0, 3, 4), 2, return_indices=True)
    assert T.nn.functional.max_unpool1d(y, index, 2).shape == (0, 3, 4)
