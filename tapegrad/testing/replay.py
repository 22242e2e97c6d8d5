"""Seeds of checks that failed: kept in Hypothesis' database, and tried first until they pass."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapegrad.testing.report import Result


class Kept:
    """The seeds under one key; none where Hypothesis is not installed, or keeps nothing (its `ci` profile)."""

    def __init__(self, key: str) -> None:
        self.key = f"tapegrad.gradcheck {key}".encode()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        store = _database()
        for value in sorted(store.fetch(self.key)) if store is not None else ():
            seed, _, profile = value.decode(errors="replace").partition(" ")
            if seed.isdecimal() and profile:
                yield int(seed), profile

    def add(self, seed: int, profile: str) -> None:
        """Keep a seed that failed."""
        store = _database()
        if store is not None:
            store.save(self.key, f"{seed} {profile}".encode())

    def drop(self, seed: int, profile: str) -> None:
        """Forget a seed that passes."""
        store = _database()
        if store is not None:
            store.delete(self.key, f"{seed} {profile}".encode())


def _database() -> Any:
    if find_spec("hypothesis") is None:
        return None
    from hypothesis import settings

    return settings().database


def replayed(key: str, run: Callable[..., Result]) -> Result:
    """The result of a check whose seed is its own to choose: first of the seeds that failed before, then of a new one.

    `run` takes `seed` and `profile`, or neither.
    """
    kept = Kept(key)
    for seed, profile in list(kept):
        result = run(seed=seed, profile=profile)
        if not result.ok:
            result.lines.append(("kept", "this seed failed before, and is tried first until it passes"))
            return result
        kept.drop(seed, profile)
    result = run()
    if not result.ok:
        kept.add(result.seed, result.profile)
    return result
