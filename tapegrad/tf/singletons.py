"""Which variables a `tf.function` may make: those of its first call, which it keeps."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapegrad.tf.variable import Variable

_ONCE = (
    "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only created once "
    "or created outside tf.function."
)


class Making(threading.local):
    """What the outermost function that runs in this thread may make, and has made."""

    #: The variables of its first call; None where any may be made, for no function runs.
    made: list[weakref.ref[Variable]] | None = None
    #: Whether it was called before, and may make none.
    closed = False

    def begin(self, *, first: bool) -> None:
        """The outermost function is called, for the first time or again."""
        self.made, self.closed = [], not first

    def end(self) -> None:
        """It has come to its end, or failed."""
        self.made, self.closed = None, False

    def met(self, variable: Variable) -> None:
        """A variable is made; raises ValueError where the running function may not."""
        if self.closed:
            raise ValueError(_ONCE)
        if self.made is not None:
            self.made.append(weakref.ref(variable))

    def check(self) -> None:
        """Raise ValueError where the first call has made variables and kept none: the next one would make them again."""
        if self.made and all(v() is None for v in self.made):
            raise ValueError(_ONCE)


MAKING = Making()
