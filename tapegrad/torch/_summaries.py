"""The values that `SummaryWriter` writes, as TensorBoard reads them: numbers, histograms, pictures, text, hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tapegrad.events import png
from tapegrad.events.file import value
from tapegrad.events.wire import STRING, doubles, field, single, tensor_bytes
from tapegrad.torch import _arrays

_FLOAT, _DOUBLE = 1, 2
#: What kinds of hyperparameters are called.
_TEXT, _TRUTH, _NUMBER = 1, 2, 3
_SUCCESS = 1


def array(x: Any) -> np.ndarray[Any, Any]:
    """The values of a tensor, an array, a number or lists of numbers."""
    if _arrays.is_tensor(x):
        x = _arrays.raw(x)
    elif isinstance(x, list | tuple):
        x = [_arrays.raw(e) if _arrays.is_tensor(e) else e for e in x]
    found = np.asarray(x)
    if found.dtype.kind == "V":  # bfloat16
        found = found.astype(np.float32)
    if found.dtype.kind not in "biuf":
        raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")
    return found


# -- numbers and text -----------------------------------------------------------------------------------------
def scalar(tag: str, x: Any, *, new_style: bool = False, double_precision: bool = False) -> bytes:
    """One number."""
    found = array(x)
    if found.size != 1:
        raise AssertionError(
            f"Tensor should contain one element (0 dimensions). Was given size: {found.size} and shape: {found.shape}."
        )
    number = float(found.reshape(()))
    if not new_style:
        return value(tag, single(2, number))
    dtype, kind = (np.float64, _DOUBLE) if double_precision else (np.float32, _FLOAT)
    return value(tag, field(8, tensor_bytes(dtype(number), kind)), plugin="scalars")


def text(tag: str, x: str) -> bytes:
    """Text, which TensorBoard reads as Markdown."""
    raw = np.empty(1, object)
    raw[0] = x.encode()
    return value(f"{tag}/text_summary", field(8, tensor_bytes(raw, STRING)), plugin="text")


# -- histograms -----------------------------------------------------------------------------------------------
@cache
def default_edges() -> np.ndarray[Any, Any]:
    """Edges that grow by a tenth from 1e-12 to 1e20, in both directions from zero."""
    grown = [1e-12]
    while grown[-1] * 1.1 < 1e20:
        grown.append(grown[-1] * 1.1)
    return np.array([*(-x for x in reversed(grown)), 0.0, *grown])


def histogram(tag: str, values: Any, bins: Any, max_bins: int | None = None) -> bytes:
    """How often values fall between edges; those at both ends where there are none are left out."""
    flat = array(values).reshape(-1).astype(np.float64)
    if not flat.size:
        raise ValueError("The input has no element.")
    counts, edges = np.histogram(flat, bins=default_edges() if isinstance(bins, str) and bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        every = len(counts) // max_bins
        counts = np.add.reduceat(counts, np.arange(0, len(counts), every))
        edges = np.append(edges[:-1:every], edges[-1])
    used = np.flatnonzero(counts)
    if not used.size:
        raise ValueError(f"add_histogram: no value of {tag!r} lies within the bins")
    first, last = int(used[0]), int(used[-1])
    # A bucket is known by its upper edge, so that the lower edge of the first one needs an empty bucket before it.
    counts = np.concatenate([[0], counts[first : last + 1]])
    return raw_histogram(
        tag, (flat.min(), flat.max(), flat.size, flat.sum(), flat.dot(flat)), edges[first : last + 2], counts
    )


def raw_histogram(tag: str, numbers: Sequence[Any], edges: Any, counts: Any) -> bytes:
    """A histogram whose minimum, maximum, number, sum, sum of squares, upper edges and counts are given."""
    content = b"".join(field(i, float(x)) for i, x in enumerate(numbers, 1))
    return value(tag, field(5, content + doubles(6, edges) + doubles(7, counts)))


# -- pictures -------------------------------------------------------------------------------------------------
def image(tag: str, x: Any, layout: str) -> bytes:
    """A picture, or several as one; `layout` names the axes."""
    raw = array(x)
    pixels = _rows_columns_channels(raw, layout)
    scale = 1 if raw.dtype == np.uint8 else 255
    pixels = np.clip(pixels.astype(np.float32) * scale, 0, 255).astype(np.uint8)
    height, width, channels = pixels.shape
    content = field(1, height) + field(2, width) + field(3, channels) + field(4, png.encode(pixels))
    return value(tag, field(4, content))


def _rows_columns_channels(x: np.ndarray[Any, Any], layout: str) -> np.ndarray[Any, Any]:
    letters = layout.upper()
    if len(set(letters)) != len(letters):
        raise AssertionError(f"You can not use the same dimension shorthand twice. input_format: {layout}")
    if len(letters) != x.ndim:
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {x.shape}, input_format: {layout}"
        )
    if "N" in letters:
        return _grid(x.transpose([letters.find(c) for c in "NCHW"]))
    if "C" not in letters:
        x, letters = x[..., None], f"{letters}C"
    pixels = x.transpose([letters.find(c) for c in "HWC"])
    return np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels


def _grid(x: np.ndarray[Any, Any], columns: int = 8) -> np.ndarray[Any, Any]:
    """Pictures (n, channels, height, width) side by side, at most 8 in a row."""
    if x.ndim != 4 or x.shape[1] not in (1, 3):
        raise AssertionError(f"add_images: expected pictures of 1 or 3 channels, got shape {x.shape} in the order NCHW")
    n, _, height, width = x.shape
    columns = min(n, columns)
    rows = -(-n // columns)
    found = np.zeros((rows * height, columns * width, 3), x.dtype)
    for i, picture in enumerate(x):
        down, right = divmod(i, columns)
        found[down * height : (down + 1) * height, right * width : (right + 1) * width] = picture.transpose(1, 2, 0)
    return found


def drawn(figure: Any) -> np.ndarray[Any, Any]:
    """The pixels of a figure of Matplotlib, (channels, height, width)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1)


# -- hyperparameters ------------------------------------------------------------------------------------------
def hyperparameters(
    given: dict[str, Any], metrics: dict[str, Any], domains: dict[str, list[Any]] | None
) -> list[bytes]:
    """What was tried, with which measures of success: how the experiment, the start and the end of a session are told."""
    if not isinstance(given, dict):
        raise TypeError("parameter: hparam_dict should be a dictionary, nothing logged.")
    if not isinstance(metrics, dict):
        raise TypeError("parameter: metric_dict should be a dictionary, nothing logged.")
    domains = domains or {}
    for name, options in domains.items():
        if (
            name not in given
            or not isinstance(options, list)
            or not all(isinstance(d, type(given[name])) for d in options)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
            )
    infos = start = b""
    for name, found in given.items():
        if found is None:
            continue
        kind, content = _hyperparameter(found)
        options = domains.get(name) or ([True, False] if kind == _TRUTH else [])
        discrete = field(5, b"".join(field(1, _hyperparameter(d)[1]) for d in options)) if options else b""
        infos += field(4, field(1, name) + field(4, kind) + discrete)
        start += field(1, field(1, name) + field(2, content))
    told = b"".join(field(5, field(1, field(2, name))) for name in metrics)
    return [
        value(f"_hparams_/{name}", b"", plugin="hparams", data=field(1, 0) + field(number, content))
        for name, number, content in (
            ("experiment", 2, infos + told),
            ("session_start_info", 3, start),
            ("session_end_info", 4, field(1, _SUCCESS)),
        )
    ]


def _hyperparameter(x: Any) -> tuple[int, bytes]:
    """The kind of a hyperparameter, and its value."""
    if isinstance(x, bool | np.bool_):
        return _TRUTH, field(4, int(x))
    if isinstance(x, str):
        return _TEXT, field(3, x)
    if isinstance(x, int | float | np.number) or (_arrays.is_tensor(x) and array(x).size == 1):
        return _NUMBER, field(2, float(array(x).reshape(())))
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
