"""What a program imports, read from its text: which frameworks it is written for, in its own files and those beside it."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

from tapegrad.errors import ArgumentError
from tapegrad.migrate.aliases import SET_UP, STYLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ScriptError(ArgumentError):
    """The script can't be run: it isn't there, is no Python, or imports no framework that is known."""


#: Files that are looked into: the program of a person has fewer.
_MOST = 1000


def read(path: Path) -> str:
    """The text of a Python file, in the encoding that it declares."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ScriptError(f"{path}: {error.strerror}") from error
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return io.TextIOWrapper(io.BytesIO(data), encoding).read()


def style_of(source: str) -> tuple[str, ...]:
    """The styles whose frameworks a script imports, at its top or anywhere inside; Keras by itself is TensorFlow's style."""
    return _styles({name.partition(".")[0] for name, level in _imports(ast.parse(source)) if not level})


def _styles(tops: set[str]) -> tuple[str, ...]:
    return tuple(
        style
        for style, places in STYLES.items()
        if not tops.isdisjoint(places) or any(k in tops and v.startswith(f"tapegrad.{style}.") for k, v in SET_UP.items())
    )


def imported(path: Path, source: str, root: Path) -> set[str]:
    """The top-level names that a program imports: its first file, and all that this imports from files below `root`."""
    found: set[str] = set()
    seen = {path.resolve()}
    todo = [(path, source)]
    while todo:
        here, text = todo.pop()
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue  # it says so when it is imported
        for name, level in _imports(tree):
            base = root
            if level:
                base = here.parents[min(level, len(here.parents)) - 1]
            files = [f for f in _files(base, name) if f.resolve() not in seen]
            if not level:
                found.add(name.partition(".")[0])
            for file in files[: _MOST - len(seen)]:
                seen.add(file.resolve())
                try:
                    todo.append((file, read(file)))
                except (ScriptError, SyntaxError, UnicodeDecodeError):
                    continue
    return found


def _imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Each name that is imported, with the dots in front of it: of `from a import b` both `a` and `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module:
                yield node.module, node.level
            start = f"{node.module}." if node.module else ""
            yield from ((start + alias.name, node.level) for alias in node.names)


def _files(base: Path, name: str) -> Iterable[Path]:
    """The files of a module and of the packages that it lies in."""
    place = base
    for part in name.split("."):
        place = place / part
        for file in (place.with_name(f"{part}.py"), place / "__init__.py"):
            if part != "*" and file.is_file():
                yield file


def styles_of_program(path: Path, source: str, root: Path) -> tuple[str, ...]:
    """The styles whose frameworks a program of several files imports."""
    return _styles(imported(path, source, root))
