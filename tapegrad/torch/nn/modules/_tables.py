"""Modules that are a function with its options: rows of a table, as `torch.nn` calls them.

`"ELU(alpha=1.0, inplace=False)": ("elu(input, alpha, inplace)", "alpha={alpha}...")`: the options become attributes, `forward`
computes the first text, and the second is what the module shows of itself.
"""

from __future__ import annotations

import re
from typing import Any

from tapegrad.torch.nn import functional as F
from tapegrad.torch.nn.modules.module import Module


def made(signature: str, forward: str, shown: str, doc: str, *, takes: str = "input", base: Any = Module) -> Any:
    """The class of one row."""
    name, _, rest = signature.partition("(")
    options = [p.strip().partition("=")[0] for p in re.sub(r"\([^()]*\)", "()", rest[:-1]).split(",") if p.strip()]
    options = [p for p in options if p != "*"]
    pattern = r"(?<![\w.'\"])(" + "|".join(options) + r")\b(?!\()(?!\s*=[^=])" if options else r"(?!)()"
    body = re.sub(pattern, r"self.\1", forward)
    text = re.sub(r"\{(\w+)", r"{self.\1", shown)
    lines = [
        f"class {name}(Base):",
        f"    {doc!r}",
        f"    def __init__(self, {rest[:-1]}):" if options else "    def __init__(self):",
        "        Base.__init__(self)",
        *(f"        self.{p} = {p}" for p in options),
        f"    def forward(self, {takes}):",
        f"        return F.{body}",
        "    def extra_repr(self):",
        f"        return f{text!r}",
    ]
    space: dict[str, Any] = {"Base": base, "F": F, "tail": tail}
    exec("\n".join(lines), space)
    found = space[name]
    found.__module__ = __name__
    return found


def tail(inplace: bool, comma: str = ", ") -> str:
    """What is shown of a module that writes into its input."""
    return f"{comma}inplace=True" if inplace else ""


def module_classes(rows: dict[str, tuple[str, str]], doc: str, **words: Any) -> dict[str, Any]:
    """The classes of a table."""
    return {
        s.partition("(")[0]: made(s, forward, shown, doc, **words) for s, (forward, shown) in rows.items()
    }
