"""Where the wrong points of a sweep lie: in words, and as inputs of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing.inputs import Point

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tapegrad.testing.elements import Layout
    from tapegrad.testing.sweep import Swept


def single(swept: Swept, layout: Layout, seed: int) -> list[Point]:
    """Wrong points as inputs of their own: the largest discrepancies first."""
    points = []
    for _, at, errors, columns in swept.wrong:
        order = np.argsort(-np.abs(errors))[:3]
        for j in order:
            xs = layout.full([np.array([c[at[j]]]) for c in columns])
            points.append(Point(xs, "swept", seed, tame=True))
    return points


def region(swept: Swept, layout: Layout, names: Sequence[str]) -> str:
    """Where the wrong points lie, in words."""
    told = []
    for k, count in swept.count.items():
        at, right, columns = next(
            (at, right, columns)
            for (leaf, at, _, columns), right in zip(swept.wrong, swept.right, strict=True)
            if leaf == k
        )
        n = columns[0].size
        of = f"for {names[layout.leaves[k]]}, " if len(layout.leaves) > 1 else ""
        if count > 0.7 * n:
            told.append(f"{of}nearly all of {n:,} points are wrong")
        else:
            about = "about " if count > at.size else ""
            told.append(f"{of}{about}{count:,} of {n:,} points are wrong{_where(at, right, layout, columns, names)}")
    return "; ".join(told)


def _where(at: Any, right: Any, layout: Layout, columns: Sequence[Any], names: Sequence[str]) -> str:
    for i, x in zip(layout.leaves, columns, strict=True):
        for name, part in _parts(x, names[i]):
            found = _within(part[at], part[right], name)
            if found:
                return found
    return ""


def _parts(x: Any, name: str) -> Iterator[tuple[str, Any]]:
    if x.dtype.kind != "c":
        yield name, x
        yield f"abs({name})", np.abs(x)
        return
    yield f"abs({name})", np.abs(x)
    yield f"{name}.real", x.real
    yield f"{name}.imag", x.imag
    yield f"abs({name}.real)", np.abs(x.real)
    yield f"abs({name}.imag)", np.abs(x.imag)


def _within(wrong: Any, rest: Any, name: str) -> str:
    low, high = float(wrong.min()), float(wrong.max())
    if not rest.size:
        return ", all of them"
    if wrong.size < 3:
        return f", at {name} = {low:.6g}"
    inside = ((rest >= low) & (rest <= high)).sum()
    if inside > 0.3 * wrong.size:  # what lies inside and is right is not much: a flat part, say
        return ""
    if high >= np.quantile(np.concatenate([rest, wrong]), 0.999):
        return f", all with {name} >= {low:.4g}"
    if low <= np.quantile(np.concatenate([rest, wrong]), 0.001):
        return f", all with {name} <= {high:.4g}"
    return f", all with {low:.4g} <= {name} <= {high:.4g}"
