"""Processes that a running program spawns: they run its text again, and find the same facades.

`multiprocessing` runs the parent's main module again in a process that it spawns.  It is told to run `spawned` there, which
runs the program's text after the aliases are there.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from tapegrad.registry.backends import default_backend, set_default_backend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: The environment variable that tells a spawned process of the program.
VARIABLE = "TAPEGRAD_PROGRAM"


@contextlib.contextmanager
def spawning(path: str, styles: Sequence[str], package: str | None) -> Iterator[None]:
    """Inside, processes that `multiprocessing` spawns run this program's text as it runs here."""
    from multiprocessing import spawn

    own: Any = spawn.get_preparation_data
    before = os.environ.get(VARIABLE)

    def prepared(name: str) -> dict[str, Any]:
        data: dict[str, Any] = own(name)
        data.pop("init_main_from_path", None)
        data["init_main_from_name"] = "tapegrad.migrate.spawned"
        os.environ[VARIABLE] = json.dumps([path, list(styles), package, default_backend()])
        return data

    spawn.get_preparation_data = prepared
    try:
        yield
    finally:
        spawn.get_preparation_data = own
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before


def run_again(members: dict[str, Any]) -> None:
    """Run the program's text among these members of a module, as `multiprocessing` would have run it."""
    from pathlib import Path

    from tapegrad.migrate.aliases import alias
    from tapegrad.migrate.imports import read

    path, styles, package, backend = json.loads(os.environ[VARIABLE])
    set_default_backend(backend)
    alias(styles)
    members.update(__file__=path, __package__=package, __spec__=None)
    exec(compile(read(Path(path)), path, "exec", dont_inherit=True), members)
