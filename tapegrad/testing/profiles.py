"""How hard a check looks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import final

from tapegrad.errors import ArgumentError


@final
@dataclass(frozen=True)
class Profile:
    """How many inputs, how many swept points; whether seeds are the same on each run."""

    name: str
    inputs: int
    swept: int
    order: int
    fixed_seed: bool = False


PROFILES = {
    p.name: p
    for p in (
        Profile("fast", 12, 5_000, 2),
        Profile("default", 40, 20_000, 2),
        Profile("ci", 40, 20_000, 2, fixed_seed=True),
        Profile("thorough", 400, 200_000, 3),
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
