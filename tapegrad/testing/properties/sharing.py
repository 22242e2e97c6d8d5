"""Arguments that are one array: ``f(x, x)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tapegrad.testing.outcome import HOLDS, SILENT, Failure
from tapegrad.testing.trial import filled

if TYPE_CHECKING:
    from tapegrad.testing.outcome import Outcome
    from tapegrad.testing.trial import Trial


def shared(t: Trial) -> Outcome:
    """The gradients of ``f(x, x)`` are those of ``f(x, copy of x)``."""
    active = t.system.active
    if len(active) < 2 or t.point.seed % 4 or not t.point.tame or "writes" not in t.system.shows:
        return SILENT
    first, second = active[:2]
    x = t.kept[first]
    if t.kept[second].shape != x.shape or t.kept[second].dtype != x.dtype or not x.size:
        return SILENT
    if t.settings.domains[first] != t.settings.domains[second]:
        return SILENT
    both, apart = list(t.kept), list(t.kept)
    both[first] = both[second] = x.copy()
    apart[first], apart[second] = x.copy(), x.copy()
    with np.errstate(all="ignore"):
        try:
            expected = filled(t.system.run(apart)[1]([g.copy() for g in t.gs]), t.active)
        except t.system.refusals:
            return SILENT
        found = filled(t.system.run(both)[1]([g.copy() for g in t.gs]), t.active)
    for a, b in zip(found, expected, strict=True):
        if a.shape != b.shape or not np.array_equal(a, b, equal_nan=True):
            return Failure("shared", "the gradient is another one where two arguments are the same array")
    return HOLDS
