"""Inputs, in the order in which they find most: the user's own, a fixed pass over edges, then random ones."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.draw import hermitian_part
from tapegrad.testing.recipes import MIXED, RECIPES, TAME, as_complex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tapegrad.testing.words import Word

    Generator = np.random.Generator

#: Shapes where no word names any: one array, two, three or more.
ONE = (
    (2, 3),
    (4,),
    (),
    (3, 3),
    (1,),
    (0,),
    (37,),
    (3, 1),
    (2, 0),
    (2, 3, 2),
    (1, 4),
    (5,),
    (2, 2),
    (0, 3),
    (1, 1),
    (2, 1, 3),
)
TWO = (
    *(((3, 4), (3, 4)), ((2, 3), (3,)), ((4,), ()), ((3, 1), (1, 4)), ((), (2, 3)), ((0,), (1,)), ((37,), (37,))),
    *(((), ()), ((2, 3, 2), (3, 1)), ((1,), (5,)), ((2, 2), (2, 2)), ((2, 3), (2, 1)), ((3,), (2, 3)), ((1, 4), (4,))),
    *(((2, 0), (2, 1)), ((5,), (5,))),
)
MORE = ("same", "same", "last 0-d", "ones", "first 0-d", "empty", "long", "0-d", "ranks", "same", "ones", "ranks")

#: What the fast profile sees: (recipe, size of the first named dimension, of the next ones).
EDGES = (
    *(("usual", 3, 4), ("ties", 4, 5), ("zeros", 2, 3), ("one zero", 3, 3), ("from code", 5, 7), ("usual", 1, 1)),
    *(
        ("positive", 0, 3),
        ("scales", 4, 3),
        ("descending", 2, 37),
        ("equal", 3, 2),
        ("ends", 40, 6),
        ("negative", 0, 2),
    ),
)
#: And what the others see then.
MORE_EDGES = (
    *(
        ("usual", 3, 0),
        ("tiny", 3, 2),
        ("ties", 2, 2),
        ("rows", 5, 3),
        ("large", 2, 4),
        ("usual", 1, 5),
        ("usual", 6, 1),
    ),
    *(("equal", 1, 4), ("zeros", 4, 4), ("from code", 4, 4), ("from code", 33, 2), ("usual", 0, 0), ("usual", 7, 8)),
)
RANDOM = (
    ("usual",) * 7
    + ("ties",) * 2
    + ("from code",) * 3
    + ("scales", "tiny", "large", "rows", "one zero", "ends", "negative")
)
_LONG = 16  # an axis that is longer is there for faults of size
_MOST_OF_HALF = 6e4  # float16 ends at 65504
_SIZES = (1, 2, 2, 3, 3, 4, 4, 5, 6, 8, 2, 3)


@final
class Point:
    """One input: its leaves, what they were made by, a seed for directions, and the cotangents if they are given."""

    __slots__ = ("gs", "label", "seed", "sizes", "tame", "xs")

    def __init__(
        self,
        xs: list[Any],
        label: str,
        seed: int,
        *,
        tame: bool,
        gs: list[Any] | None = None,
        sizes: dict[str, int] | None = None,
    ) -> None:
        self.xs = xs
        self.label = label
        self.seed = seed
        self.tame = tame
        self.gs = gs
        self.sizes = sizes or {}

    def __repr__(self) -> str:
        return f"<{self.label} {self.sizes or [np.shape(x) for x in self.xs]}>"


@final
class Source:
    """Where inputs come from: words, domains, numbers from the code, a generator of its own."""

    def __init__(
        self, words: Sequence[Word], rng: Generator, *, mined: Sequence[float] = (), sizes: Sequence[int] = ()
    ) -> None:
        self.words = list(words)
        self.rng = rng
        self.mined = mined
        self.extra_sizes = list(sizes)
        self.names = list(dict.fromkeys(d for w in words for d in (*(w.dims or ()), w.bound) if isinstance(d, str)))
        self.domains = [(w.lo, w.hi) for w in words]
        self.free = [i for i, w in enumerate(words) if w.dims is None and w.kind == "array"]
        #: How many different sizes are drawn; 0 for any number.
        self.most_sizes = 0
        self._seen: list[tuple[dict[str, int], int]] = []

    # -- specifications ----------------------------------------------------------------------------
    def points(self, most: int) -> Iterator[Point]:
        """Inputs without end in principle; the first are the edges."""
        yield from self._examples()
        plan = [*EDGES, *(MORE_EDGES if most > len(EDGES) else ())]
        for k, (recipe, first, then) in enumerate(plan):
            yield self.point(recipe, self._edge_sizes(k, first, then), k)
        for n in self.extra_sizes if most > len(EDGES) else self.extra_sizes[-1:]:
            yield self.point("usual", dict.fromkeys(self.names, 2) | dict.fromkeys(self.names[-1:], n), 0, long=n)
            if len(self.names) > 1:
                yield self.point("usual", dict.fromkeys(self.names, 2) | dict.fromkeys(self.names[:1], n), 0, long=n)
        while True:
            recipe = RANDOM[int(self.rng.integers(len(RANDOM)))]
            yield self.point(recipe, self._random_sizes(), int(self.rng.integers(1000)))

    def _edge_sizes(self, k: int, first: int, then: int) -> dict[str, int]:
        names = (
            self.names[k % len(self.names) :] + self.names[: k % len(self.names)]
            if self.names and k > 4
            else self.names
        )
        made = {}
        for i, name in enumerate(names):
            made[name] = first if i == 0 else then if i == 1 else (2, 3, 1, 4)[(i + k) % 4]
        if math.prod(made.values()) > 400:
            made = {name: min(n, 5) if i > 1 else min(n, 40) for i, (name, n) in enumerate(made.items())}
        return made

    def _random_sizes(self) -> dict[str, int]:
        made = {name: _SIZES[int(self.rng.integers(len(_SIZES)))] for name in self.names}
        if self.names and self.rng.random() < 0.08:
            made[self.names[int(self.rng.integers(len(self.names)))]] = int(self.rng.integers(0, 2)) or 35
        return made

    def _examples(self) -> Iterator[Point]:
        if any(w.base is not None and w.active for w in self.words):
            point = self.point("usual", dict.fromkeys(self.names, 3), 0)
            point.xs = [
                w.base.copy() if w.base is not None and w.active else x
                for w, x in zip(self.words, point.xs, strict=True)
            ]
            point.label = "the example"
            yield point

    # -- values --------------------------------------------------------------------------------------
    def point(self, recipe: str, sizes: dict[str, int], k: int, *, long: int = 0) -> Point:
        """An input of these sizes, by this recipe; at times only one argument follows the recipe, the others are usual."""
        if self.most_sizes and not long:
            sizes, k = self._one_of_few(sizes, k)
        shapes = self._free_shapes(k, long)
        rng = self.rng
        drawn = [i for i, w in enumerate(self.words) if w.active]
        only = (
            int(rng.choice(drawn))
            if len(drawn) > 1 and recipe in ("from code", "ends", "scales", "large") and k % 3
            else None
        )
        xs = []
        for i, w in enumerate(self.words):
            shape = shapes[i] if i in shapes else w.shape(sizes)
            xs.append(self._leaf(i, w, shape, recipe if only in (None, i) else "usual", sizes))
        seed = int(rng.integers(2**31))
        if any(max(np.shape(x), default=0) > _LONG for x in xs):
            seed -= seed % 6  # long axes are for faults of size: all elements take part, in directions and cotangents
        return Point(xs, recipe, seed, tame=recipe in TAME, sizes=sizes)

    def _one_of_few(self, sizes: dict[str, int], k: int) -> tuple[dict[str, int], int]:
        """These sizes while there are few of them, then one of those before; long ones always, for faults of size."""
        asked = (sizes, k % (len(ONE) if self.free else 1))
        if asked in self._seen:
            return asked
        if len(self._seen) < self.most_sizes or max(sizes.values(), default=0) > _LONG:
            self._seen.append(asked)
            return asked
        return self._seen[int(self.rng.integers(len(self._seen)))]

    def _leaf(self, i: int, w: Word, shape: tuple[int, ...], recipe: str, sizes: dict[str, int]) -> Any:
        rng = self.rng
        if w.kind == "fixed":
            return w.base.copy() if isinstance(w.base, np.ndarray) else w.base
        if w.kind == "indices":
            return _indices(rng, sizes[w.bound] if isinstance(w.bound, str) else w.bound, shape, recipe)
        if w.kind == "psd":
            return _psd(rng, shape, w.dtype, recipe)
        if w.kind == "strategy":
            return np.asarray(w.pool[int(rng.integers(len(w.pool)))])
        kind = np.dtype(w.dtype).kind
        if kind in "iub":
            return (
                (rng.random(shape) < 0.5)
                if kind == "b"
                else rng.integers(0 if kind == "u" else -3, 5, shape).astype(w.dtype)
            )
        return self._floats(i, w, shape, recipe)

    def _floats(self, i: int, w: Word, shape: tuple[int, ...], recipe: str) -> Any:
        lo, hi = self.domains[i]
        if w.base is not None and w.base.size and recipe == "usual" and shape == w.base.shape:
            return np.asarray(w.base * (1 + 0.3 * self.rng.uniform(-1, 1, shape))).astype(w.dtype)
        x = np.asarray(RECIPES[recipe](self.rng, shape, lo, hi, self.mined), float)
        if np.dtype(w.dtype).kind == "c":
            parts = x, np.asarray(RECIPES[recipe](self.rng, shape, lo, hi, self.mined), float)
            x = as_complex(self.rng, *parts, mixed=recipe in MIXED and lo == -math.inf and hi == math.inf)
            if recipe == "one zero":
                x = np.where(parts[0] == 0, 0, x)
        if np.dtype(w.dtype).char == "e":
            x = np.clip(x, -_MOST_OF_HALF, _MOST_OF_HALF)
        return np.asarray(x).astype(w.dtype, copy=False)

    def _free_shapes(self, k: int, long: int) -> dict[int, tuple[int, ...]]:
        if not self.free:
            return {}
        n = len(self.free)
        if n == 1:
            shapes: Any = (ONE[k % len(ONE)],)
        elif n == 2:
            shapes = TWO[k % len(TWO)]
        else:
            shapes = _several(MORE[k % len(MORE)], n)
        if long:
            shapes = tuple((long,) for _ in self.free)
        return dict(zip(self.free, shapes, strict=True))


def _several(kind: str, n: int) -> list[tuple[int, ...]]:
    base: tuple[int, ...] = {"empty": (0,), "long": (37,), "0-d": (), "ranks": (2, 3, 2)}.get(kind, (3, 4))
    shapes = [base] * n
    if kind == "last 0-d":
        shapes[-1] = ()
    elif kind == "first 0-d":
        shapes[0] = ()
    elif kind == "ones":
        shapes = [tuple(1 if (i + j) % 3 == 0 else d for j, d in enumerate(base)) for i in range(n)]
    elif kind == "ranks":
        shapes = [base[i % 3 :] for i in range(n)]
    return shapes


def _indices(rng: Generator, n: int, shape: tuple[int, ...], recipe: str) -> Any:
    if n == 0:  # nothing can be picked from nothing
        return np.zeros([0 if d == max(shape, default=0) else d for d in shape], np.int64)
    return np.zeros(shape, np.int64) if recipe in ("equal", "zeros") else rng.integers(0, n, shape)


def _psd(rng: Generator, shape: tuple[int, ...], dtype: Any, recipe: str) -> Any:
    a = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.uniform(-1, 1, shape)
    if recipe in ("equal", "zeros"):
        a = a * 0
    x = a @ np.conj(np.swapaxes(a, -1, -2)) + (0.5 + rng.random()) * np.eye(shape[-1])
    return np.asarray(hermitian_part(x)).astype(dtype)


DOMAINS = (
    (-math.inf, math.inf),
    (0.0, math.inf),
    (-1.0, 1.0),
    (0.0, 1.0),
    (1.0, math.inf),
    (-math.inf, 0.0),
)


def find_domains(source: Source, finite: Any) -> bool:
    """Give each argument whose domain nobody told the widest one on which the function is finite; False if none is found."""
    open_ = [
        i
        for i, w in enumerate(source.words)
        if w.active and w.kind == "array" and w.lo == -math.inf and w.hi == math.inf
    ]
    sizes = dict.fromkeys(source.names, 3)
    start = list(source.domains)
    ways = itertools.product(DOMAINS, repeat=len(open_)) if len(open_) <= 2 else ((d,) * len(open_) for d in DOMAINS)
    for chosen in sorted(ways, key=lambda way: sum(DOMAINS.index(d) > 0 for d in way)):
        for i, d in zip(open_, chosen, strict=True):
            source.domains[i] = d
        if all(finite(source.point("usual", sizes, 0).xs) for _ in range(4)):
            return True
    source.domains = start
    return False
