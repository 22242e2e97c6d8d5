"""The properties of a right derivative, each a function of a trial.

>>> from tapegrad.testing.properties import PROPERTIES
>>> list(PROPERTIES)[:3]
['shape', 'finite', 'numeric']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapegrad.testing.properties.agreement import accumulate, compiled, constants, kernels, subsets
from tapegrad.testing.properties.conduct import layout, pure, repeat, shape
from tapegrad.testing.properties.derivative import finite, forward, linear, numeric, second, third
from tapegrad.testing.properties.endurance import growth, threads
from tapegrad.testing.properties.precision import precision
from tapegrad.testing.properties.sharing import shared
from tapegrad.testing.properties.structure import batch, broadcast, permuted, rows

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
    "pure": (pure, "something is overwritten that is not the function's to change"),
    "linear": (linear, "the vjp is not linear in its cotangent"),
    "forward": (forward, "forward and reverse mode disagree"),
    "second": (second, "the derivative of the vjp is wrong"),
    "layout": (layout, "the gradient depends on the layout of memory"),
    "precision": (precision, "the gradient in lower precision is wrong"),
    "repeat": (repeat, "the gradient depends on what was called before"),
    "third": (third, "the derivative of the vjp of the vjp is wrong"),
    "constants": (constants, "what is not differentiated has a gradient, or another value"),
    "subsets": (subsets, "the gradient for some arguments alone is another one"),
    "accumulate": (accumulate, "gradients do not add up"),
    "broadcast": (broadcast, "the gradient of what is broadcast is not the sum of those of its copies"),
    "rows": (rows, "the gradient of a row depends on the other rows"),
    "permuted": (permuted, "the gradient does not follow an order that the value follows"),
    "batch": (batch, "in a batch the gradient is another one"),
    "compiled": (compiled, "compiled, the gradient is another one"),
    "kernels": (kernels, "on other kernels the gradient is another one"),
    "threads": (threads, "the gradient is another one while other threads compute theirs"),
    "growth": (growth, "each call leaves memory in use"),
    "shared": (shared, "the gradient is another one where two arguments are the same array"),
}
#: Names that `only` and `skip` know besides: what is not a property of a trial.
OTHERS = {
    "raises": "the vjp raises where the function has a value",
    "kink": "at a kink, the gradient is none of those nearby",
    "swept": "the gradient is not the derivative",
}
