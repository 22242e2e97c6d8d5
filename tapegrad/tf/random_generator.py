"""`tf.random.Generator`: a stream of numbers with a state of its own, counter and key of Philox, as TensorFlow's."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from tapegrad import philox
from tapegrad.random import drawn_by
from tapegrad.tf.convert import fresh, host
from tapegrad.tf.dtypes import as_dtype, float32, int32, uint64
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.random_functions import _floating, _moved, spread
from tapegrad.tf.shapes import lengths
from tapegrad.tf.tensor import Tensor, made
from tapegrad.tf.variable import Variable

_WORD = 2**64 - 1


class Algorithm(Enum):
    """The algorithms of TensorFlow; here there is Philox."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def _checked(alg: Any) -> int:
    if alg in (None, "philox", "auto_select", 1, 3) or getattr(alg, "value", None) in (1, 3):
        return 1
    raise ValueError(f"alg={alg!r}: tapegrad has the algorithm 'philox'")


def _signed(x: int) -> int:
    x &= _WORD
    return x - 2**64 if x >= 2**63 else x


@export("random.Generator", "random.experimental.Generator")
class Generator:
    """A stream of random numbers; made by `from_seed`, `from_state`, `from_key_counter` or `from_non_deterministic_state`."""

    def __init__(self, copy_from: Any = None, state: Any = None, alg: Any = None) -> None:
        self._alg = _checked(alg)
        if copy_from is not None:
            state = copy_from.state
        elif state is None:
            raise ValueError(
                "Generator(copy_from, state, alg): one of copy_from and state is needed; write Generator.from_seed(1)"
            )
        raw = host(state)
        if raw.shape != (3,):
            raise ValueError(f"a state of Philox has shape (3,), got {raw.shape}")
        self._state = Variable(raw.astype(np.int64), trainable=False, dtype=np.int64, name="StateVar")

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """The stream of a seed: an integer, or up to three."""
        raw = host(seed)
        words = [int(w) for w in np.atleast_1d(raw)]
        words = [*words, 0, 0] if raw.ndim == 0 else [0] * (3 - len(words)) + words
        return cls(state=np.asarray([_signed(w) for w in words[:3]], np.int64), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """A stream that the operating system chooses."""
        return cls(state=np.random.default_rng().integers(-(2**63), 2**63 - 1, size=3), alg=alg)

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> Generator:
        """The stream that goes on from a state: low and high word of the counter, and the key."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> Generator:
        """The stream of a key that goes on from a counter of two words."""
        return cls(state=[*np.asarray(counter).tolist(), int(key)], alg=alg)

    @property
    def state(self) -> Variable:
        """The state, as a variable."""
        return self._state

    @property
    def algorithm(self) -> int:
        """1, for Philox."""
        return self._alg

    @property
    def key(self) -> Tensor:
        """The key."""
        return fresh(np.int64(host(self._state)[2]))

    def _words(self) -> tuple[int, int]:
        low, high, key = (int(w) & _WORD for w in host(self._state).tolist())
        return low | high << 64, key

    def skip(self, delta: Any) -> Tensor:
        """Go on as if that many numbers had been drawn; gives the counter and the key from before."""
        before = made(self._state.array)
        counter, key = self._words()
        counter = (counter + int(delta) * 256) & (2**128 - 1)
        self._state.assign(np.asarray([_signed(counter), _signed(counter >> 64), _signed(key)], np.int64))
        return before

    def reset(self, state: Any) -> None:
        """Go on from a state."""
        self._state.assign(host(state).astype(np.int64))

    def reset_from_seed(self, seed: Any) -> None:
        """Go on as the stream of a seed begins."""
        self._state.assign(Generator.from_seed(seed).state.array)

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Go on from a key and a counter."""
        self._state.assign(Generator.from_key_counter(key, counter, None).state.array)

    def _draw(self, draw: Any, shape: Any, dtype: np.dtype[Any]) -> Any:
        size = lengths(shape)
        count = int(np.prod(size, dtype=int))

        def numbers() -> Any:
            counter, key = self._words()
            self.skip(count)
            found = draw(counter, key, count).reshape(size).astype(dtype, copy=False)
            return found if size else found[()]

        return drawn_by("tf.random.Generator", numbers, size, dtype)

    def normal(self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None) -> Tensor:
        """Numbers of a normal distribution."""
        wanted = _floating(dtype)
        return _moved(self._draw(lambda c, k, n: philox.normal(c, k, n, wanted), shape, wanted), mean, stddev, wanted)

    def truncated_normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
    ) -> Tensor:
        """Numbers of a normal distribution, drawn again where they are more than two standard deviations away."""
        wanted = _floating(dtype)
        return _moved(self._draw(lambda c, k, n: philox.truncated_normal(c, k, n, wanted), shape, wanted), mean, stddev, wanted)

    def uniform(self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, name: str | None = None) -> Tensor:
        """Numbers evenly spread over [minval, maxval)."""
        wanted = as_dtype(dtype)
        if wanted.is_integer:
            if maxval is None:
                raise ValueError(f"Must specify maxval for integer dtype {wanted!r}")
            low, high = int(minval), int(maxval)
            if low >= high:
                raise invalid(None, f"Need minval < maxval, got {low} >= {high}")
            return made(self._draw(lambda c, k, n: philox.integers(c, k, n, low, high, wanted.numpy), shape, wanted.numpy))
        raw = self._draw(lambda c, k, n: philox.uniform(c, k, n, _floating(dtype)), shape, wanted.numpy)
        return spread(raw, minval, 1 if maxval is None else maxval, wanted.numpy)

    def uniform_full_int(self, shape: Any, dtype: Any = uint64, name: str | None = None) -> Tensor:
        """Integers evenly spread over all of a dtype."""
        wanted = as_dtype(dtype)
        return made(self._draw(philox.bits64 if wanted.size == 8 else philox.bits, shape, wanted.numpy))

    def binomial(self, shape: Any, counts: Any, probs: Any, dtype: Any = int32, name: str | None = None) -> Tensor:
        """Numbers of binomial distributions; they repeat for a seed, but are not TensorFlow's."""
        n, p = (host(v) for v in (counts, probs))
        counter, key = self._words()
        self.skip(int(np.prod(lengths(shape), dtype=int)))
        g = np.random.default_rng([counter & _WORD, counter >> 64, key])
        return fresh(g.binomial(n.astype(np.int64), p, size=lengths(shape)).astype(as_dtype(dtype).numpy))

    def make_seeds(self, count: int = 1) -> Tensor:
        """Seeds for stateless functions, (2, count)."""
        keys = host(self.uniform_full_int([count])).view(np.int64)
        return fresh(np.stack([keys, np.zeros_like(keys)]))

    def split(self, count: int = 1) -> list[Generator]:
        """Streams that are independent of this one and each other."""
        return [Generator(state=np.asarray([0, 0, key])) for key in host(self.make_seeds(count))[0]]


@export("random.create_rng_state")
def create_rng_state(seed: Any, alg: Any) -> Tensor:
    """The state with which the stream of a seed begins."""
    return Generator.from_seed(seed, alg).state.value()
