"""What belongs to which argument: the user's words, bound to the parameters of the function."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, final

from tapegrad.errors import ArgumentError
from tapegrad.testing.words import Fixed, Word, array, word_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@final
class Binding:
    """The arguments of a function as a flat list of leaves.

    * `words`: a `Word` for each leaf that is drawn, in order; `free`: whether the user has named no shape at all.
    * `names`: what a report calls each leaf.
    """

    __slots__ = ("_arity", "_fixed", "_keys", "_plain", "_rebuild", "free", "names", "words")

    def __init__(self, given: Mapping[str | int, Any], *, free: bool, called: Sequence[str] = ()) -> None:
        self.free = free
        self.words: list[Word] = []
        self.names: list[str] = []
        self._fixed: dict[int, Any] = {}
        self._keys: list[str | int] = list(given)
        self._rebuild: list[Any] = []
        self._arity: list[int] = []
        for key, value in given.items():
            label = key if isinstance(key, str) else called[key] if key < len(called) else f"argument {key + 1}"
            leaves, rebuild = _parts(value)
            self._rebuild.append(rebuild)
            self._arity.append(len(leaves))
            for leaf, name in zip(leaves, _named(value, label), strict=True):
                word = word_for(leaf, label)
                self.names.append(name)
                if isinstance(word, Fixed):
                    self._fixed[len(self.names) - 1] = word.value
                    word = Word(kind="fixed", base=word.value, fixed=True)
                self.words.append(word)
        #: Positional arguments only, each a leaf of its own: the usual case, and the quick one.
        self._plain = all(n == 1 for n in self._arity) and all(isinstance(k, int) for k in self._keys)

    @property
    def keys(self) -> list[str | int]:
        """Position or name of each argument."""
        return self._keys

    @property
    def active(self) -> list[int]:
        """Which leaves are differentiated."""
        return [i for i, w in enumerate(self.words) if w.active]

    def arguments(self, leaves: list[Any]) -> list[Any]:
        """The arguments that these leaves make up, in order."""
        if self._plain:
            return leaves
        made, at = [], 0
        for n, rebuild in zip(self._arity, self._rebuild, strict=True):
            made.append(rebuild(leaves[at : at + n]))
            at += n
        return made

    def caller(self, f: Callable[..., Any]) -> Callable[[list[Any]], Any]:
        """The function, of leaves."""
        if self._plain:
            return lambda leaves: f(*leaves)
        keys = self._keys

        def call(leaves: list[Any]) -> Any:
            args, kwargs = [], {}
            for key, value in zip(keys, self.arguments(leaves), strict=True):
                if isinstance(key, int):
                    args.append(value)
                else:
                    kwargs[key] = value
            return f(*args, **kwargs)

        return call


def _parts(value: Any) -> tuple[list[Any], Any]:
    """The leaves of an argument.  A tuple of names and lengths is one word, a list or dict a structure of words."""
    if isinstance(value, Word | Fixed):
        return [value], _only
    if isinstance(value, tuple) and all(isinstance(d, str | int) for d in value):
        return [value], _only
    if isinstance(value, list | dict) or (isinstance(value, tuple) and value):
        if isinstance(value, list) and value and all(isinstance(v, float | int) for v in value):
            return [value], _only
        return _nested(value)
    return [value], _only


def _named(value: Any, label: str) -> list[str]:
    """What the leaves of an argument are called: ``p['w']``, ``xs[0]``."""
    if _parts(value)[1] is _only:
        return [label]
    items = _sorted(value) if isinstance(value, dict) else list(enumerate(value))
    return [name for key, part in items for name in _named(part, f"{label}[{key!r}]")]


def _nested(value: Any) -> tuple[list[Any], Any]:
    items = _sorted(value) if isinstance(value, dict) else list(enumerate(value))
    parts = [_parts(v) for _, v in items]
    kind = type(value)

    def rebuild(leaves: list[Any]) -> Any:
        made, at = [], 0
        for part, again in parts:
            made.append(again(leaves[at : at + len(part)]))
            at += len(part)
        if isinstance(value, dict):
            return dict(zip((k for k, _ in items), made, strict=True))
        return kind(*made) if hasattr(kind, "_fields") else kind(made)

    return [leaf for part, _ in parts for leaf in part], rebuild


def _sorted(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """The items in the order in which `optree` takes them, so that gradients match."""
    try:
        return sorted(value.items(), key=lambda item: item[0])
    except TypeError:
        return list(value.items())


def _only(leaves: list[Any]) -> Any:
    return leaves[0]


def bind(
    f: Callable[..., Any], examples: Sequence[Any], words: Mapping[str, Any], name: str, before: int = 0
) -> Binding:
    """Examples by position and words by name, for the parameters of `f`; `before` of them are not the user's to give."""
    params = _parameters(f)[before:] if _parameters(f) is not None else None  # type: ignore[index]
    if params is None or [p.kind for p in params[:1]] == [inspect.Parameter.VAR_POSITIONAL]:
        # It does not tell its parameters: what is given by name is passed by position.
        called = [f"x{i + 1}" for i in range(len(examples))] + list(words)
        loose: dict[str | int, Any] = dict(enumerate([*examples, *words.values()] or [array()]))
        return Binding(loose, free=not called, called=called or ["x"])
    positional = [p for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in params)
    if len(examples) > len(positional) and not variadic:
        raise ArgumentError(
            f"{name} takes {len(positional)} positional arguments, and {len(examples)} examples are given"
        )
    given: dict[str | int, Any] = dict(enumerate(examples))
    called = [p.name for p in positional]
    keywords = {p.name for p in params if p.kind is p.KEYWORD_ONLY}
    if not any(p.kind is p.VAR_KEYWORD for p in params):
        for word in words:
            if word not in keywords and word not in called:
                raise ArgumentError(_unknown(name, word, [*called, *sorted(keywords)]))
    left = dict(words)
    free = not examples and not words
    for i, p in enumerate(positional):
        if i < len(examples):
            if p.name in left:
                raise ArgumentError(f"{name}: {p.name} is given twice, as an example and as a word")
            continue
        if p.name in left:
            given[i] = left.pop(p.name)
        elif p.default is p.empty:
            if not free:
                raise ArgumentError(
                    f"{name}: nothing says what {p.name} looks like; add {p.name}=('n',), or an example"
                )
            given[i] = array()
        elif any(q.name in left for q in positional[i + 1 :]):
            given[i] = Fixed(p.default)
    given.update(left)
    ordered = dict(
        sorted(given.items(), key=lambda kv: (isinstance(kv[0], str), kv[0] if isinstance(kv[0], int) else 0))
    )
    return Binding(ordered, free=free, called=called)


def _unknown(name: str, word: str, known: Sequence[str]) -> str:
    """What is said of a word that is no parameter: it may be one of the check's own, written otherwise."""
    from tapegrad.testing.checking import session_of

    near = get_close_matches(word, inspect.signature(session_of).parameters, 1)
    meant = f"; for the check itself, did you mean {near[0]}=?" if near and near[0] != word else ""
    return f"{name} has no parameter {word!r}; its parameters are {', '.join(known) or 'none'}{meant}"


def parameter_names(f: Any) -> list[str]:
    """The names of a function's parameters, as far as it tells them."""
    return [p.name for p in _parameters(f) or []]


def _parameters(f: Any) -> list[inspect.Parameter] | None:
    f = getattr(f, "fun", f)  # of a primitive of autograd
    try:
        return list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        pass
    if hasattr(f, "nin") and hasattr(f, "nout"):  # a ufunc
        return [inspect.Parameter(f"x{i + 1}", inspect.Parameter.POSITIONAL_ONLY) for i in range(f.nin)]
    return None
