"""The generator of the PyTorch style: a Mersenne Twister (MT19937) that gives the words PyTorch's CPU generator gives.

Its core is NumPy's own MT19937, seeded in the way of 2002 (Matsumoto and Nishimura's `init_genrand`); both libraries
then step through the same 32-bit words.  What a generator adds is its seed, the second value of the last pair of normal
numbers, which the next scalar draw uses up, and PyTorch's layout of a saved state.  How words become numbers is said in
`_uniform`, `_normal` and `_variates`.

>>> import tapegrad.torch._generator as g
>>> [int(word) for word in g.Generator().manual_seed(7).words(2)]
[327741615, 976413892]
"""

from __future__ import annotations

import itertools
import math
import operator
import os
import struct
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from tapegrad.dtypes import float64

__all__ = ["Generator", "default_generator", "of"]

#: The seed of a generator that nobody has seeded.
DEFAULT_SEED = 67280421310721

# PyTorch's saved state: seed, words left, seeded, place of the next word; 624 words of 8 bytes each; three doubles of which
# the second is the cached normal number and one flag for it; a cached float32 number and its flag, unused on CPU.
_HEAD = struct.Struct("<QiiQ")
_TAIL = struct.Struct("<dddi4xf?3x")
_WORDS = 624
STATE_SIZE = _HEAD.size + 8 * _WORDS + _TAIL.size

#: Half of what is drawn ahead at first.
_LEAST_AHEAD = 512
_MASK53 = (1 << 53) - 1


@final
class Generator:
    """A source of random numbers with a state of its own; the same seed gives PyTorch's numbers."""

    __slots__ = ("__weakref__", "_fresh", "_seed", "_source", "device", "spare")

    def __init__(self, device: Any = "cpu") -> None:
        from tapegrad.torch._devices import check_device
        from tapegrad.torch._devices import device as named

        check_device(device)
        self.device = named(device)  # its numbers are the CPU's wherever they go
        self._source = np.random.MT19937(0)
        self.manual_seed(DEFAULT_SEED)

    # -- seeds and states --------------------------------------------------------------------------------
    def manual_seed(self, seed: int) -> Generator:
        """Start anew from a seed in -2**63 ... 2**64 - 1, of which the words depend on the lower 32 bits."""
        seed = int(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError(
                f"manual_seed(seed): expected -2**63 <= seed < 2**64, got {seed}; Overflow when unpacking long long"
            )
        self._seed = seed % (1 << 64)
        np.random.RandomState(self._source).seed(self._seed & 0xFFFFFFFF)  # 2 us; a new MT19937 takes 80, and a copied state too
        self._fresh = True
        self.spare: float | None = None
        return self

    def seed(self) -> int:
        """Start anew from a seed of the operating system's, and return it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that it started from."""
        return self._seed

    def get_state(self) -> Any:
        """The state as a ByteTensor, in PyTorch's layout."""
        from tapegrad.torch import _arrays

        return _arrays.made(np.frombuffer(self.state_bytes(), np.uint8).copy())

    def set_state(self, new_state: Any) -> Generator:
        """Take over a state that `get_state`, here or in PyTorch, has given."""
        from tapegrad.torch import _arrays

        raw = _arrays.raw(new_state)
        if raw.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.set_state_bytes(raw.tobytes())
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        other = Generator()
        other.set_state_bytes(self.state_bytes())
        return other

    def state_bytes(self) -> bytes:
        """The state in PyTorch's layout."""
        state: Any = self._source.state["state"]
        words, at = state["key"], int(state["pos"])
        head = _HEAD.pack(self._seed, 1 if at == _WORDS else _WORDS + 1 - at, 1, 0 if self._fresh else at)
        spare = (0.0, 0) if self.spare is None else (self.spare, 1)
        return head + np.asarray(words).astype("<u8").tobytes() + _TAIL.pack(0.0, *spare[:1], 0.0, spare[1], 0.0, False)

    def set_state_bytes(self, data: bytes) -> None:
        """Take over a state in PyTorch's layout."""
        if len(data) != STATE_SIZE:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_SIZE} but found the input RNG state size to be {len(data)}"
            )
        self._seed, left, _, after = _HEAD.unpack_from(data)
        self._fresh = left == 1 and after == 0
        words = np.frombuffer(data, "<u8", _WORDS, _HEAD.size).astype(np.uint32)
        place = _WORDS if left == 1 else after
        self._source.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": place}}
        _, spare, _, has_spare, _, _ = _TAIL.unpack_from(data, _HEAD.size + 8 * _WORDS)
        self.spare = spare if has_spare else None

    def mark(self) -> Any:
        """Where the words stand, for `back_to`."""
        return self._source.state, self._fresh

    def back_to(self, mark: Any, skipped: int) -> None:
        """Go back to a mark, and from there over some words."""
        self._source.state, self._fresh = mark
        if skipped:
            self.words(skipped)

    # -- words -------------------------------------------------------------------------------------------
    def words(self, n: int) -> np.ndarray[Any, Any]:
        """The next `n` words of 32 bits, as numbers of uint64."""
        if n:
            self._fresh = False
        return self._source.random_raw(n)  # 0.5 µs for a few; `RandomState.randint` takes 12

    def long_words(self, n: int) -> np.ndarray[Any, Any]:
        """The next `n` words of 64 bits, each of two of 32, the upper one first."""
        halves = self.words(2 * n)
        return (halves[0::2] << np.uint64(32)) | halves[1::2]

    def doubles(self, n: int) -> np.ndarray[Any, Any]:
        """The next `n` numbers of float64 in [0, 1): 53 bits of a long word each."""
        return (self.long_words(n) & np.uint64(_MASK53)).astype(float64) * 2.0**-53

    def double(self) -> float:
        """The next number of float64 in [0, 1), for algorithms that decide draw by draw."""
        return float(self.doubles(1)[0])

    def normal(self) -> float:
        """The next normal number, by the polar form of Box and Muller (1958), which makes two at a time."""
        return self.normals(1)[0]

    def normals(self, n: int) -> list[float]:
        """The next `n` normal numbers."""
        found = [] if self.spare is None or not n else [self.spare]
        pairs = (n - len(found) + 1) // 2
        even = iter(self.doubles(2 * pairs).tolist())
        for turn, tail in zip(even, even, strict=True):
            found.extend(_pair(turn, tail))
        if n:
            self.spare = found.pop() if len(found) > n else None
        return found


def _pair(turn: float, tail: float) -> tuple[float, float]:
    """Two normal numbers from two even ones."""
    radius, angle = math.sqrt(-2 * math.log1p(-tail)), 2 * math.pi * turn
    return radius * math.cos(angle), radius * math.sin(angle)


@final
class Ahead:
    """What a generator gives number by number, drawn many at a time; `close` takes back what was not used.

    A number takes 0.1 us so, where the generator takes 3.
    """

    __slots__ = ("_before", "_count", "_generator", "_left", "double")

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._count = _LEAST_AHEAD
        #: The next number of float64 in [0, 1): no method of Python's, whose call would take as long again.
        self.double: Callable[[], float] = itertools.chain.from_iterable(self._blocks()).__next__

    def _blocks(self) -> Iterator[Iterator[float]]:
        while True:
            self._count = min(2 * self._count, 1 << 15)
            self._before = self._generator.mark()
            self._left = iter(self._generator.doubles(self._count).tolist())
            yield self._left

    def normal(self) -> float:
        """The next normal number, of pairs as the generator has them."""
        source = self._generator
        if source.spare is not None:
            found, source.spare = source.spare, None
            return found
        found, source.spare = _pair(self.double(), self.double())
        return found

    def close(self) -> None:
        """Let the generator stand after the last number that was used."""
        if self._count > _LEAST_AHEAD:  # else none was
            used = self._count - operator.length_hint(self._left)
            self._generator.back_to(self._before, 2 * used)


_default: list[Generator] = []


def default_generator() -> Generator:
    """The generator that is drawn from where none is given."""
    if not _default:
        _default.append(Generator())
    return _default[0]


def of(generator: Generator | None) -> Generator:
    """The generator to draw from: the one given, or the default one."""
    if generator is None:
        return default_generator()
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator
