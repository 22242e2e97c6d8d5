"""One script, run as `python script.py` would run it, with its framework's imports aliased."""

from __future__ import annotations

import ast
import importlib
import io
import sys
import tokenize
import traceback
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from tapegrad.errors import ArgumentError, TapegradError
from tapegrad.migrate.aliases import SET_UP, STYLES, aliased

if TYPE_CHECKING:
    from collections.abc import Sequence


class ScriptError(ArgumentError):
    """The script can't be run: it isn't there, is no Python, or imports no framework that is known."""


def style_of(source: str) -> tuple[str, ...]:
    """The styles whose frameworks a script imports, at its top or anywhere inside; Keras by itself is TensorFlow's style."""
    tops = _imported(source)
    return tuple(
        style
        for style, places in STYLES.items()
        if not tops.isdisjoint(places) or any(k in tops and v.startswith(f"tapegrad.{style}.") for k, v in SET_UP.items())
    )


def _imported(source: str) -> set[str]:
    tops = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            tops |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            tops.add(node.module.partition(".")[0])
    return tops


def read(path: Path) -> str:
    """The text of a Python file, in the encoding that it declares."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ScriptError(f"{path}: {error.strerror}") from error
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return io.TextIOWrapper(io.BytesIO(data), encoding).read()


def run_script(path: Path, arguments: Sequence[str] = (), *, style: str | None = None, backend: str | None = None) -> int:
    """Run a script as the main program, its framework's imports resolved to tapegrad; the value is the exit code.

    * `style`: "torch" or "tf"; None finds it from the script's imports (both, if it imports both).
    * `backend`: "numpy" or "tensorflow", the kernels that new arrays use; None leaves that as it is.

    A traceback shows the script's own frames and those below, as if nothing stood around it.  Raises ScriptError for a
    script that can't be read or imports neither framework.
    """
    source = read(path)
    try:
        code = compile(source, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        raise ScriptError(f"{path}, line {error.lineno}: {error.msg}") from error
    styles = (style,) if style else style_of(source)
    if not styles:
        known = ", ".join([*(top for places in STYLES.values() for top in places), *SET_UP])
        raise ScriptError(f"{path} imports none of {known}; say --style, or run it with python itself")
    if backend is not None:
        import tapegrad as tg

        tg.set_default_backend(backend)
    for name, facade in SET_UP.items():
        if name in _imported(source):
            importlib.import_module(facade)
    main = ModuleType("__main__")
    main.__file__ = str(path)
    saved = sys.modules.get("__main__"), sys.argv, list(sys.path)
    sys.modules["__main__"] = main
    sys.argv = [str(path), *arguments]
    sys.path[0:1] = [str(path.resolve().parent)]
    try:
        with aliased(styles):
            return _executed(code, main)
    finally:
        previous, sys.argv, sys.path[:] = saved
        if previous is not None:
            sys.modules["__main__"] = previous


def _executed(code: Any, main: ModuleType) -> int:
    try:
        exec(code, vars(main))
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except Exception as error:
        trace = error.__traceback__
        traceback.print_exception(type(error), error, _below(trace))
        if isinstance(error, AttributeError | ModuleNotFoundError | TapegradError):
            print("(run by tapegrad in place of the framework that the script imports)", file=sys.stderr)
        return 1
    return 0


def _below(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of this module."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace
