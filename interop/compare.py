"""What two runs of one script have printed: the same text around the same numbers?"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*(?:[eE][-+]?\d+)?|\.\d+|\d+(?:[eE][-+]?\d+)?|nan|inf)(?![\w])")


class Outcome(NamedTuple):
    """How far two outputs agree; `reason` says where they first differ."""

    numbers: bool
    gradients: bool | None  # None: the script prints none
    largest: float  # the largest relative difference of two numbers
    reason: str


def compared(expected: str, found: str, tolerance: float) -> Outcome:
    """Compare line by line; lines that speak of a gradient count apart."""
    a, b = expected.splitlines(), found.splitlines()
    if not a:
        return Outcome(False, None, math.inf, "the script printed nothing")
    reason = "" if len(a) == len(b) else f"{len(b)} lines, expected {len(a)}"
    numbers, gradients, largest = not reason, None, 0.0
    for i, (x, y) in enumerate(zip(a, b, strict=False), 1):
        off = difference(x, y)
        largest = max(largest, off)
        same = off <= tolerance
        if not same and not reason:
            reason = f"line {i}: expected {x!r}, got {y!r}"
        if "grad" in x.lower():
            gradients = same and gradients is not False
        else:
            numbers = numbers and same
    return Outcome(numbers, gradients, largest, reason)


def difference(expected: str, found: str) -> float:
    """The largest difference of numbers in two lines, relative to the number or to 1e-3; inf if their words differ.

    Spaces do not count: an array that is printed puts as many of them as its longest number needs.
    """
    if "".join(_NUMBER.sub("#", expected).split()) != "".join(_NUMBER.sub("#", found).split()):
        return math.inf
    largest = 0.0
    for x, y in zip(map(float, _NUMBER.findall(expected)), map(float, _NUMBER.findall(found)), strict=True):
        if x == y or (math.isnan(x) and math.isnan(y)):
            continue
        if not (math.isfinite(x) and math.isfinite(y)):
            return math.inf
        largest = max(largest, abs(x - y) / max(abs(x), 1e-3))
    return largest
