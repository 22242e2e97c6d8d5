"""What is planted: a function, its right derivative, and what is wrong in the other one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tapegrad.testing.words import array

Function = Callable[..., Any]


@dataclass(frozen=True)
class Plant:
    """`right` and `wrong` are keyword arguments of `check`; `wrong_f` where the fault lies in the function itself."""

    name: str
    kind: str
    f: Function
    words: dict[str, Any]
    right: dict[str, Any]
    wrong: dict[str, Any]
    wrong_f: Function | None = None
    example: Callable[[], tuple[Any, ...]] | None = None
    make: Callable[[], tuple[Function, dict[str, Any]]] | None = None
    tags: frozenset[str] = field(default_factory=frozenset)

    def correct(self) -> tuple[Function, dict[str, Any]]:
        """The function and how its derivative is given, right."""
        return self.f, {**self.words, **self.right}

    def faulty(self) -> tuple[Function, dict[str, Any]]:
        """The same, wrong; made anew each time where it has state."""
        if self.make is not None:
            f, wrong = self.make()
            return f, {**self.words, **wrong}
        return self.wrong_f or self.f, {**self.words, **self.wrong}


class Bed(list[Plant]):
    """A list of plants, with a short way to add one."""

    def add(
        self,
        name: str,
        kind: str,
        f: Function,
        vjp: Function,
        wrong: Function | None = None,
        *,
        words: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        extra = {k: more.pop(k) for k in ("jvp", "second") if k in more}
        bad = {k.removeprefix("wrong_"): more.pop(k) for k in ("wrong_jvp", "wrong_second") if k in more}
        right = {"vjp": vjp, **extra}
        self.append(
            Plant(
                name,
                kind,
                f,
                words or {},
                right,
                {**right, **({"vjp": wrong} if wrong is not None else {}), **bad},
                **more,
            )
        )


def unbroadcast(g: Any, x: Any) -> Any:
    """The sum over what was broadcast."""
    extra = np.ndim(g) - np.ndim(x)
    g = np.sum(g, axis=tuple(range(extra))) if extra else g
    axes = tuple(i for i, n in enumerate(np.shape(x)) if n == 1 and g.shape[i] != 1)
    return np.sum(g, axis=axes, keepdims=True) if axes else g


BN = ("b", "n")
POSITIVE = array("b", "n", lo=0.0)
