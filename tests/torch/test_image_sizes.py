"""Images of another size, and images read at the places of a grid, next to PyTorch's."""

from typing import Any

import numpy as np
import pytest

import tapegrad.torch as ours
from tapegrad.ops.resampling import KERNELS, weights
from tests.torch.agreement import arrays, compare

torch: Any = pytest.importorskip("torch")

SIZES = ["size=(4, 3)", "size=(5, 9)", "scale_factor=(0.4, 0.7)", "scale_factor=1.7", "scale_factor=0.4, recompute_scale_factor=True"]
CALLS = [
    *(f"F.interpolate(img, {size}, mode={mode!r}, antialias=True)" for size in SIZES for mode in ("bilinear", "bicubic", "lanczos")),
    "F.interpolate(img, 4, mode='bilinear', align_corners=True, antialias=True)",
    "F.interpolate(img, (1, 3), mode='bicubic', align_corners=True, antialias=True)",
    "F.interpolate(img, 4, mode='lanczos')", "F.interpolate(img, 4, mode='lanczos', align_corners=True, antialias=True)",
    "F.interpolate(img, 4, antialias=True)", "F.interpolate(seq, 4, mode='linear', antialias=True)",
    "F.interpolate(img, 0, mode='bilinear')",
    "F.interpolate((img[:, :1] * 40 + 120).byte(), (9, 9), mode='nearest')",
    *(
        f"F.grid_sample(img, b.reshape(2, 2, 3, 2) * 0.7, {mode!r}, {padding!r}, align_corners={corners})"
        for mode in ("bilinear", "nearest", "bicubic") for padding in ("zeros", "border", "reflection") for corners in (False, True)
    ),
    "F.grid_sample(vol, t.ones(1, 1, 1, 1, 3).double(), 'bicubic', align_corners=False)",
    *(f"F.grid_sample(vol, (t.arange(12.0).reshape(1, 1, 2, 2, 3).double() - 5) / 6, {mode!r}, {padding!r}, align_corners=False)"
      for mode in ("bilinear", "nearest") for padding in ("zeros", "border")),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_values_and_derivatives_are_PyTorchs(call: str) -> None:
    compare(ours, torch, call, arrays(3))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("antialias", [False, True])
def test_the_weights_of_a_pixel_add_up_to_one(kernel: str, antialias: bool) -> None:
    for n, out in ((9, 4), (4, 9), (5, 5), (3, 1)):
        found = weights(n, out, kernel, antialias=antialias)
        assert found.shape == (out, n)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


def test_every_pixel_counts_where_an_image_is_made_smaller_by_wider_kernels() -> None:
    assert weights(16, 2, "bilinear", antialias=True).sum(axis=0).min() > 0
    assert weights(16, 2, "bilinear", antialias=False).sum(axis=0).min() == 0


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_bytes_are_rounded_and_stay_within_bytes(mode: str, antialias: bool) -> None:
    x = np.random.default_rng(0).choice([0, 30, 255], (2, 1, 9, 7)).astype(np.uint8)
    mine, theirs = (
        t.nn.functional.interpolate(t.tensor(x), (5, 12), mode=mode, antialias=antialias) for t in (ours, torch)
    )
    assert mine.dtype == ours.uint8
    # PyTorch computes with whole weights, which may round the other way.
    assert np.abs(mine.numpy().astype(int) - theirs.numpy().astype(int)).max() <= 1


@pytest.mark.parametrize("call", [
    "F.interpolate(img, scale_factor=2)", "F.interpolate(img, (12, 6))", "F.interpolate(img, (6, 18))", "F.interpolate(img, (9, 3))",
    "F.interpolate(seq, 21)", "F.interpolate(vol, scale_factor=(2, 1, 3))", "F.interpolate(img, scale_factor=2.1)",
])  # fmt: skip
def test_nearest_pixels_and_their_derivatives_are_PyTorchs(call: str) -> None:
    compare(ours, torch, call, arrays(3))
