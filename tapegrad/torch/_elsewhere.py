"""Backward passes inside backward passes, to any depth: Python's stack is one thread's, so after some of them another thread goes on.

The thread that waits lends what it knows (which recorders are active, the modes that are in force) to the one that goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tapegrad.core.marks import sweep_for, thread_number
from tapegrad.core.recorder import state

#: A backward pass inside this many others on a thread runs on another: each takes 15 to 30 of Python's 1,000 frames.
LEVELS = 12
#: What belongs to a thread, and goes with a backward pass that moves to another: places where modules keep the modes in force.
LENT: list[threading.local] = []


def lend(place: Any) -> Any:
    """Count a module's state of the thread among what goes with a backward pass."""
    LENT.append(place)
    return place


def on_another_thread(call: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, on a thread of its own that knows what this one does; an error of it is raised here."""
    known = [(place, dict(vars(place))) for place in (state, *LENT)]
    waits = thread_number()
    found: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        sweep_for(waits)
        for place, values in known:
            vars(place).update(values)
        try:
            found.append(call(*args))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="tapegrad backward")
    thread.start()
    thread.join()
    if failed:
        raise failed.pop()
    return found[0]
