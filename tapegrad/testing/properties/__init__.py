"""The properties of a right derivative, each a function of a trial.

>>> from tapegrad.testing.properties import PROPERTIES
>>> list(PROPERTIES)[:3]
['shape', 'finite', 'numeric']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapegrad.testing.properties.conduct import layout, pure, repeat, shape
from tapegrad.testing.properties.derivative import finite, forward, linear, numeric, second
from tapegrad.testing.properties.precision import precision
from tapegrad.testing.properties.sharing import shared

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.testing.outcome import Outcome
    from tapegrad.testing.trial import Trial

    Property = Callable[[Trial], Outcome]

#: In the order in which they are looked at; the sentence is what a report begins with.
PROPERTIES: dict[str, tuple[Property, str]] = {
    "shape": (shape, "a gradient has another shape or dtype than its argument"),
    "finite": (finite, "the gradient is not finite where the function is"),
    "numeric": (numeric, "the gradient is not the derivative"),
    "linear": (linear, "the vjp is not linear in its cotangent"),
    "forward": (forward, "forward and reverse mode disagree"),
    "second": (second, "the derivative of the vjp is wrong"),
    "layout": (layout, "the gradient depends on the layout of memory"),
    "precision": (precision, "the gradient in lower precision is wrong"),
    "pure": (pure, "something is overwritten that is not the function's to change"),
    "repeat": (repeat, "the gradient depends on what was called before"),
    "shared": (shared, "the gradient is another one where two arguments are the same array"),
}
#: Names that `only` and `skip` know besides: what is not a property of a trial.
OTHERS = {
    "raises": "the vjp raises where the function has a value",
    "kink": "at a kink, the gradient is none of those nearby",
    "swept": "the gradient is not the derivative",
}
