"""What a module says of a name that it lacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn


def refuse(module: str, name: str, known: Iterable[str]) -> NoReturn:
    """Raise the AttributeError for a name that this facade does not have; it names the nearest that it has."""
    import difflib
    import sys

    near = difflib.get_close_matches(name, [k for k in known if not k.startswith("_")], n=1)
    hint = f"; did you mean {module}.{near[0]}?" if near and not name.startswith("__") else ""
    raise AttributeError(
        f"module 'tapegrad.{module}' has no attribute {name!r}: tapegrad's facade lacks it{hint}",
        name=name,
        obj=sys.modules.get(f"tapegrad.{module}"),
    )
