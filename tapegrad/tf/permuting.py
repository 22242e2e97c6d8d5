"""Orders that a seed decides: `tf.random.experimental.index_shuffle` and `stateless_shuffle`, both in TensorFlow's order."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad import philox
from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.random_functions import order
from tapegrad.tf.random_stateless import state_of
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor

#: The sequence z3 of the cipher, as far as a key schedule of 64 bits goes.
_Z = 0x7369F885192C0EF5
_FIRST_KEY = 498247692  # what stands before the two numbers of a seed
_ROUNDS = 4


def _rounds(key: list[int], width: int) -> list[int]:
    """The keys of each round of Simon, for words of `width` bits and three words of key."""
    mask = (1 << width) - 1

    def rotated(x: int, by: int) -> int:
        return (x >> by | x << (width - by)) & mask

    keys = [k & mask for k in key]
    for i in range(3, _ROUNDS):
        mixed = rotated(keys[i - 1], 3) ^ rotated(keys[i - 1], 4)
        keys.append((0xFFFFFFFC & mask) ^ (_Z >> (i - 3) & 1) ^ keys[i - 3] ^ mixed)
    return keys


def permuted(index: int, key: list[int], most: int) -> int:
    """The place of an index in an order of 0..most: a block cipher, taken again until it leads back among them.

    R. Beaulieu and others, "The Simon and Speck families of lightweight block ciphers", 2013, of four rounds; J. Black, P. Rogaway,
    "Ciphers with arbitrary finite domains", 2002.
    """
    if most == 0:
        return 0
    bits = (most - 1).bit_length()
    width = max(bits + bits % 2, 16) // 2
    mask = (1 << width) - 1
    keys = _rounds(key, width)

    def mixed(x: int) -> int:
        one, two, eight = ((x << by | x >> (width - by)) & mask for by in (1, 2, 8 % width))
        return (one & eight) ^ two

    while True:
        left, right = index >> width & mask, index & mask
        for k in keys:
            left, right = right, left ^ mixed(right) ^ k
        index = left << width | right
        if index <= most:
            return index


def index_shuffle(index: Any, seed: Any, max_index: Any) -> Tensor:
    """Where an index (or each of several) stands in a random order of 0..max_index, which is not made: the seed decides it."""
    at, most, numbers = convert(index), host(convert(max_index)), host(seed)
    if at.array.dtype.kind not in "iu" or numbers.dtype.kind not in "iu":
        raise invalid("RandomIndexShuffle", f"expected integers, got {at.dtype.name} and a seed of {numbers.dtype}")
    if numbers.shape[-1:] != (2,) or numbers.ndim > 2:
        raise invalid("RandomIndexShuffle", f"Seed must be a vector of size [2] or a matrix (n, 2), got {list(numbers.shape)}")
    indices, lasts, first, second = np.broadcast_arrays(host(at), most, numbers[..., 0], numbers[..., 1])
    if indices.size and indices.min() < 0:
        raise invalid("RandomIndexShuffle", f"index must be >= 0, got {indices.min()}")
    if indices.size and lasts.min() < 0:
        raise invalid("RandomIndexShuffle", f"max_index must be >= 0, got {lasts.min()}")
    if (indices > lasts).any():
        k = int((indices > lasts).argmax())
        raise invalid("RandomIndexShuffle", f"max_index must be >= index, but {lasts.flat[k]} < {indices.flat[k]}")
    rows = zip(*(x.ravel().tolist() for x in (indices, lasts, first, second)), strict=True)
    found = [permuted(k, [_FIRST_KEY, a & 0xFFFFFFFF, b & 0xFFFFFFFF], n) for k, n, a, b in rows]
    return fresh(np.array(found, at.array.dtype).reshape(indices.shape)[()])


def stateless_shuffle(value: Any, seed: Any, alg: Any = "auto_select", name: str | None = None) -> Tensor:
    """The rows in an order that a seed of two numbers decides."""
    x = convert(value)
    if not x.array.ndim:
        return x
    n = x.array.shape[0]
    return S.take(x, fresh(order(n, philox.bits(*state_of(seed, alg), n))), axis=0)
