"""Philox 4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), and numbers made of its bits.

Counters and keys are laid out, and bits become floats, as TensorFlow's kernels do it: so equal seeds give equal numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)


def blocks(counter: int, key: int, count: int, step: int = 1) -> np.ndarray[Any, Any]:
    """`count` blocks of four uint32, for the counters `counter`, `counter + step`, ...: (count, 4)."""
    return blocks_at(counter, key, np.arange(count, dtype=np.uint64) * np.uint64(step))


def blocks_at(counter: int, key: int, places: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A block of four uint32 for each of the counters `counter + places`: (len(places), 4)."""
    low, high = np.uint64(counter & (2**64 - 1)), np.uint64(counter >> 64 & (2**64 - 1))
    first = low + places  # wraps
    second = high + (first < low)
    c0, c1, c2, c3 = first & _LOW, first >> _SHIFT, second & _LOW, second >> _SHIFT
    k0, k1 = key & 0xFFFFFFFF, (key >> 32) & 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = c0 * _M0, c2 * _M1
        c0, c1, c2, c3 = (p1 >> _SHIFT) ^ c1 ^ np.uint64(k0), p1 & _LOW, (p0 >> _SHIFT) ^ c3 ^ np.uint64(k1), p0 & _LOW
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)


def scrambled(seed: Any) -> tuple[int, int]:
    """Counter and key for the two numbers of a stateless seed."""
    a, b = (int(s) & (2**64 - 1) for s in seed)
    mix = [int(x) for x in blocks(a | b << 64, 0x3EC8F720 | 0x02461E29 << 32, 1)[0]]
    return (mix[2] | mix[3] << 32) << 64, mix[0] | mix[1] << 32


def bits(counter: int, key: int, count: int) -> np.ndarray[Any, Any]:
    """`count` uint32."""
    return blocks(counter, key, -(-count // 4)).reshape(-1)[:count]


def stream(key: int, high: int, first: int = 0) -> Iterator[int]:
    """The uint32 of a stream without end, one by one from a block on: the key and the upper half of the counter tell which."""
    at, size = first + (high << 64), 16
    while True:
        yield from bits(at, key, 4 * size).tolist()
        at += size
        size = min(4 * size, 4096)


def bits64(counter: int, key: int, count: int) -> np.ndarray[Any, Any]:
    """`count` uint64, each of two uint32, the first of them low."""
    pairs = blocks(counter, key, -(-count // 2)).reshape(-1, 2).astype(np.uint64)[:count]
    return pairs[:, 0] | pairs[:, 1] << _SHIFT


def unit32(x: Any) -> Any:
    """[0, 1), from the 23 low bits."""
    return ((x & np.uint32(0x7FFFFF)) | np.uint32(127 << 23)).view(np.float32) - np.float32(1)


def unit64(low: Any, high: Any) -> Any:
    """[0, 1), from 20 and 32 bits."""
    mantissa = (low.astype(np.uint64) & np.uint64(0xFFFFF)) << _SHIFT | high.astype(np.uint64)
    return (mantissa | np.uint64(1023) << np.uint64(52)).view(np.float64) - 1.0


def uniform(counter: int, key: int, count: int, dtype: Any) -> np.ndarray[Any, Any]:
    """Numbers of [0, 1)."""
    if dtype == np.float64:
        pairs = blocks(counter, key, -(-count // 2)).reshape(-1, 2)[:count]
        return unit64(pairs[:, 0], pairs[:, 1])
    found = bits(counter, key, count)
    if dtype == np.float32:
        return unit32(found)
    if dtype == np.float16:
        half = found.astype(np.uint16)
        return ((half & np.uint16(0x3FF)) | np.uint16(15 << 10)).view(np.float16) - np.float16(1)
    brain = (found.astype(np.uint16) & np.uint16(0x7F)) | np.uint16(127 << 7)  # bfloat16
    return (brain.view(dtype).astype(np.float32) - np.float32(1)).astype(dtype)


def _pairs32(x0: Any, x1: Any) -> Any:
    """Two normal numbers from two uint32, by Box and Muller."""
    u = np.maximum(unit32(x0), np.float32(1e-7))
    angle = np.float32(2 * np.pi) * unit32(x1)
    size = np.sqrt(np.float32(-2) * np.log(u))
    return np.stack([np.sin(angle) * size, np.cos(angle) * size], axis=-1)


def _pairs64(x: Any) -> Any:
    """Two normal numbers from four uint32."""
    u: Any = np.maximum(unit64(x[..., 0], x[..., 1]), 1e-7)
    angle = 2 * np.pi * unit64(x[..., 2], x[..., 3])
    size = np.sqrt(-2 * np.log(u))
    return np.stack([np.sin(angle) * size, np.cos(angle) * size], axis=-1)


def normal(counter: int, key: int, count: int, dtype: Any) -> np.ndarray[Any, Any]:
    """Numbers of the normal distribution."""
    if dtype == np.float64:
        return _pairs64(blocks(counter, key, -(-count // 2))).reshape(-1)[:count]
    x = blocks(counter, key, -(-count // 4))
    return _pairs32(x[:, ::2], x[:, 1::2]).reshape(-1)[:count].astype(dtype, copy=False)


def truncated_normal(counter: int, key: int, count: int, dtype: Any) -> np.ndarray[Any, Any]:
    """Numbers of the normal distribution, drawn again where they are not within (-2, 2)."""
    wide = dtype == np.float64
    size = 2 if wide else 4  # numbers of one group, which has counters of its own
    stride = size * 256 // 4
    groups = -(-count // size)
    found = np.zeros((groups, size), np.float64 if wide else np.float32)
    filled = np.zeros(groups, np.int64)
    left = np.arange(groups)  # groups that need more
    for turn in range(stride):
        x = blocks_at(counter + turn, key, left.astype(np.uint64) * np.uint64(stride))
        drawn = _pairs64(x) if wide else _pairs32(x[:, ::2], x[:, 1::2]).reshape(len(left), 4)
        if turn == 0:
            found[...] = drawn  # right for groups of which none is refused
            left = np.flatnonzero((np.abs(drawn) >= 2).any(axis=1))
            drawn = drawn[left]
        for k in range(drawn.shape[1]):
            good = (np.abs(drawn[:, k]) < 2) & (filled[left] < size)
            rows = left[good]
            found[rows, filled[rows]] = drawn[good, k]
            filled[rows] += 1
        left = left[filled[left] < size]
        if not len(left):
            break
    return found.reshape(-1)[:count].astype(dtype, copy=False)


def integers(counter: int, key: int, count: int, low: int, high: int, dtype: Any) -> np.ndarray[Any, Any]:
    """Integers of [low, high)."""
    span = high - low
    if np.dtype(dtype).itemsize == 8:
        wide = bits64(counter, key, count) % np.uint64(span)
        return (wide + np.uint64(low & (2**64 - 1))).view(np.int64).astype(dtype)
    drawn = bits(counter, key, count) % np.uint32(span)
    return (drawn + np.uint32(low & 0xFFFFFFFF)).view(np.int32).astype(dtype)


def categorical(logits: Any, uniform: Any) -> np.ndarray[Any, Any]:
    """Classes by the inverse of the cumulative distribution that logits have, (n, classes), (n, m) -> (n, m).

    Logits that are not finite have the probability 0.
    """
    x = np.asarray(logits, np.float64)
    finite = np.isfinite(x)
    top = np.max(x, axis=1, keepdims=True, where=finite, initial=np.finfo(np.float32).min)
    sums = np.cumsum(np.where(finite, np.exp(np.where(finite, x - top, 0)), 0), axis=1)
    drawn = uniform * sums[:, -1:]
    found = np.zeros(drawn.shape, np.int64)
    for i, (row, d) in enumerate(zip(sums, drawn, strict=True)):
        found[i] = np.searchsorted(row, d, side="right")
    return found
