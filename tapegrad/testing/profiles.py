"""How hard a check looks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, final

from tapegrad.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping


@final
@dataclass(frozen=True)
class Profile:
    """How many inputs, how many swept points; whether seeds are the same on each run."""

    name: str
    inputs: int
    swept: int
    order: int
    #: property -> on how many inputs it is looked at; those that are not here, on all of them.
    most: Mapping[str, int]
    fixed_seed: bool = False


_CHEAP = ("constants", "subsets", "accumulate", "broadcast", "rows", "permuted", "batch")
#: Of these an input costs as much as a whole check: a compilation, a thousand calls, a third order.
_DEAR = ("third", "compiled", "kernels", "threads", "growth")


def _most(cheap: int, dear: Mapping[str, int] | None = None) -> Mapping[str, int]:
    return MappingProxyType({**dict.fromkeys(_CHEAP, cheap), **dict.fromkeys(_DEAR, 0), **(dear or {})})


_THOROUGH = {"third": 20, "compiled": 3, "kernels": 20, "threads": 2, "growth": 1}
#: On how many inputs a property is looked at that is asked for by its name, at least.
ASKED = {**dict.fromkeys((*_CHEAP, *_DEAR), 4), "threads": 2, "growth": 1}

PROFILES = {
    p.name: p
    for p in (
        Profile("fast", 12, 5_000, 2, _most(2)),
        Profile("default", 40, 20_000, 2, _most(4)),
        Profile("ci", 40, 20_000, 2, _most(4), fixed_seed=True),
        Profile("thorough", 400, 200_000, 3, _most(40, _THOROUGH)),
    )
}


def profile_named(name: str | None) -> Profile:
    """A profile; where nobody says, that of TAPEGRAD_GRADCHECK_PROFILE, else ci where CI is set, else default.

    >>> profile_named("fast").inputs
    12
    """
    chosen = name or os.environ.get("TAPEGRAD_GRADCHECK_PROFILE") or ("ci" if os.environ.get("CI") else "default")
    if chosen not in PROFILES:
        raise ArgumentError(f"profile={chosen!r}: expected one of {', '.join(PROFILES)}")
    return PROFILES[chosen]
