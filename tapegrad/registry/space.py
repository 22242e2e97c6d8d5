"""Namespaces: what `F` and `xp` are, chosen by the type of the raw values."""

from __future__ import annotations

import _thread
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.errors import ArgumentError
from tapegrad.registry import checks
from tapegrad.registry.op import Op, follow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def offer(space: Any, op: Op, function: Callable[..., Any]) -> None:
    """Put an op's function into a namespace; a user's op also under its bare name, if that is free."""
    setattr(space, op.key, function)
    if op.key != op.name and (not hasattr(space, op.name) or getattr(space, op.name) in _OFFERED):
        setattr(space, op.name, function)
        _OFFERED.add(function)


#: Functions of users' ops that stand under their bare names: the latest declaration of a name counts.
_OFFERED: set[Any] = set()


class Space:
    """The ops on raw values of one kernel set: a kernel where the set has one, else the op's own body.

    A kernel `<op>_quickly` is asked before the body: it gives the value where it can tell that it has a quicker way, else None.

    Where kernel sets meet in one call, the one of higher rank computes.  The functions are plain attributes: a
    `__getattr__` here would keep Python from specialising `F.name` (measured: 60 ns more each).
    """

    def __init__(
        self, name: str, rank: int, kernels: Any, *, around: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None
    ) -> None:
        self.space_name = name
        self.rank = rank
        self.kernels = kernels
        #: What stands around every function of arrays that is computed here, kernels apart, if anything does.
        self._around = around
        #: The same, with scatters put off: the engine adds them in place into buffers of its own.
        self.deferring: Any = self
        for key, kernel in vars(kernels).items():
            if not key.startswith("_") and callable(kernel):
                setattr(self, key, kernel)
        follow(self.learn)

    def learn(self, op: Op) -> None:
        """Take in an op as it is declared."""
        kernel = getattr(self.kernels, op.key, None)
        if kernel is None:
            body: Callable[..., Any] = partial(checks.body, op, self) if checks.is_foreign(op) else partial(op.body, self)
            quickly = getattr(self.kernels, f"{op.key}_quickly", None)
            if quickly is not None:
                body = _first(quickly, body)
            offer(self, op, body if self._around is None else self._around(body))
        elif op.key not in vars(self):  # of a module that is imported when it is asked for
            setattr(self, op.key, kernel)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def __repr__(self) -> str:
        return f"<{self.space_name} kernels>"


def _first(quickly: Callable[..., Any], body: Callable[..., Any]) -> Callable[..., Any]:
    """What computes by a kernel that may decline, and else by the op's body."""

    def compute(*args: Any, **params: Any) -> Any:
        y = quickly(*args, **params)
        return body(*args, **params) if y is None else y

    return compute


def keeping(space: Space, op: Op) -> Callable[..., Any]:
    """What computes an op on raw values together with what it keeps: gives all of it in a tuple."""
    return getattr(space.kernels, f"{op.key}_keeping", None) or partial(_one_by_one, space, op)


def _one_by_one(space: Space, op: Op, *args: Any, **params: Any) -> tuple[Any, ...]:
    def value(op: Op) -> Any:
        return getattr(space, op.key)(*args, **{p.name: params[p.name] for p in op.params if p.name in params})

    return tuple(map(value, (op, *op.kept.values())))


@final
class Ops:
    """The ops on Tensors: a rule that runs in it is recorded."""

    def __init__(self) -> None:
        follow(self.learn)

    def learn(self, op: Op) -> None:
        offer(self, op, op.entry)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def __repr__(self) -> str:
        return "<recorded ops>"


F = Ops()


def _numpy_space() -> Space:
    from tapegrad.kernels import numpy as kernels
    from tapegrad.kernels import numpy_scatter as scatter

    space = Space("NumPy", 0, kernels)
    space.deferring = Space("NumPy", 0, kernels)
    space.deferring.put_add = scatter.put_add_later
    space.deferring.take_add = scatter.take_add_later
    space.deferring.rows_add = scatter.rows_add_later
    return space


NUMPY = _numpy_space()
#: Types of numbers that are weak: Python's, which NumPy computes with directly, and what a kernel set adds.
SCALARS: set[type] = {int, float, complex, bool}
#: Of what a kernel set adds: which of Python's it stands for, and what makes an array of it.
STANDING_NUMBERS: dict[type, tuple[Any, Callable[[Any], Any]]] = {}
BUILTIN = frozenset([np.ndarray, *SCALARS, *(t for t in np.sctypeDict.values())])
#: Types of arrays with NumPy's shape, dtype and operators: `ndarray`, and what kernel sets put around other arrays.
ARRAYS: set[type] = {np.ndarray}
SPACES: dict[type, Space] = dict.fromkeys([*BUILTIN, type(None)], NUMPY)
#: Called with a type that is in no table yet; gives its space or None.
FINDERS: list[Callable[[type], Space | None]] = []
#: What a kernel set puts around an array of another library before it computes, by its type.
ADOPTERS: dict[type, Callable[[Any], Any]] = {}
#: What tells the error of tapegrad that stands for one of a kernel set, by its type.
ERRORS: dict[type, Callable[[Exception], Callable[[str], Exception]]] = {}
#: The space that makes new arrays, once it has been asked for: `tapegrad.registry.backends`.
DEFAULT: list[Space] = []


#: What knows of this thread whether TensorFlow computes at once (`is_eager`), or builds a graph; nothing while it is not there.
BUILDING: list[Any] = []


class _Here(_thread._local):
    space: Space | None = None


#: The space that makes this thread's new arrays, where it has one of its own: `tapegrad.registry.places`.
HERE = _Here()


def space_of_type(kind: type) -> Space:
    """The space for a type of raw array."""
    try:
        return SPACES[kind]
    except KeyError:
        pass
    if issubclass(kind, np.ndarray | np.generic):
        found: Space | None = NUMPY
    else:
        found = next((s for f in FINDERS if (s := f(kind)) is not None), None)
    if found is None:
        raise ArgumentError(f"{kind.__module__}.{kind.__qualname__} is no array that tapegrad has kernels for")
    SPACES[kind] = found
    return found


def adopted(value: Any) -> Any:
    """A raw array of an array of another library that some kernel set takes; anything else as it is."""
    adopt = ADOPTERS.get(type(value))
    return value if adopt is None else adopt(value)


def space_of(raws: Iterable[Any]) -> Space:
    """The space in which these raw values meet; that of new arrays, if there are none."""
    if not raws:
        return default_space()
    best = NUMPY
    for raw in raws:
        kind = type(raw)
        found = SPACES.get(kind) or space_of_type(kind)
        if found.rank > best.rank:
            best = found
    return best


def default_space() -> Space:
    """The kernels that make new arrays."""
    if HERE.space is not None:
        return HERE.space
    if not DEFAULT:
        from tapegrad.registry.backends import set_default_backend

        set_default_backend(None)
    return DEFAULT[0]
