"""One program, run as `python script.py` or `python -m module` would run it, with its framework's imports aliased."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import traceback
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from tapegrad.errors import TapegradError
from tapegrad.migrate.aliases import SET_UP, STYLES, aliased
from tapegrad.migrate.imports import ScriptError, imported, read, styles_of_program
from tapegrad.migrate.spawning import spawning

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def run_script(path: Path, arguments: Sequence[str] = (), *, style: str | None = None, backend: str | None = None) -> int:
    """Run a script as the main program, its framework's imports resolved to tapegrad; the value is the exit code.

    * `path`: a file, or a folder with a `__main__.py`.
    * `style`: "torch" or "tf"; None finds it from what the script imports, and the files beside it that it imports (both,
      if it imports both).
    * `backend`: "numpy" or "tensorflow", the kernels that new arrays use; None leaves that as it is.

    A traceback shows the script's own frames and those below, as if nothing stood around it.  Raises ScriptError for a
    script that can't be read or imports neither framework.
    """
    file = path / "__main__.py" if path.is_dir() and (path / "__main__.py").is_file() else path
    source = read(file)
    main = ModuleType("__main__")
    main.__file__ = os.path.abspath(file)
    if file is not path:
        main.__package__ = ""
    folder = path if file is not path else file.parent
    return _run(file, source, main, lambda: _code_of(file, source), str(path), arguments, folder.resolve(), style, backend)


def run_module(name: str, arguments: Sequence[str] = (), *, style: str | None = None, backend: str | None = None) -> int:
    """The same for a module that is found by its name, as `python -m` finds it; of a package, its `__main__`."""
    root = Path.cwd()
    file = _file_of(name, root)
    source = read(file)
    main = ModuleType("__main__")
    where = name if file.name != "__main__.py" or name.endswith("__main__") else f"{name}.__main__"
    main.__package__ = where.rpartition(".")[0]

    def code() -> Any:
        spec = importlib.util.find_spec(where)
        if spec is None or spec.loader is None:
            raise ScriptError(f"no module named {where!r}")
        main.__spec__, main.__loader__, main.__file__ = spec, spec.loader, spec.origin
        return _code_of(file, source)

    return _run(file, source, main, code, str(file), arguments, root, style, backend)


def _file_of(name: str, root: Path) -> Path:
    """The file of a module, found without importing what it lies in."""
    top, *rest = name.split(".")
    if (root / top).is_dir() or (root / f"{top}.py").is_file():
        places = [root / top]
    else:
        spec = importlib.util.find_spec(top)
        if spec is None or spec.origin is None:
            raise ScriptError(f"no module named {top!r} in {root} or among the installed packages")
        origin = Path(spec.origin)
        places = [origin.parent if origin.name == "__init__.py" else origin.with_suffix("")]
    place = places[0].joinpath(*rest)
    for file in (place.with_name(f"{place.name}.py"), place / "__main__.py"):
        if file.is_file():
            return file
    raise ScriptError(f"no module named {name!r}, or a package without a __main__.py that could be run: {place} is looked for")


def _code_of(file: Path, source: str) -> Any:
    return compile(source, str(file), "exec", dont_inherit=True)


def _run(
    file: Path, source: str, main: ModuleType, code: Callable[[], Any], program: str, arguments: Sequence[str], root: Path,
    style: str | None, backend: str | None,
) -> int:  # fmt: skip
    try:
        _code_of(file, source)
    except SyntaxError as error:
        raise ScriptError(f"{file}, line {error.lineno}: {error.msg}") from error
    styles = (style,) if style else styles_of_program(file, source, root)
    if not styles:
        known = ", ".join([*(top for places in STYLES.values() for top in places), *SET_UP])
        raise ScriptError(f"{file} imports none of {known}, nor do its own files; say --style, or run it with python itself")
    if backend is not None:
        import tapegrad as tg

        tg.set_default_backend(backend)
    tops = imported(file, source, root)
    for name, facade in SET_UP.items():
        if name in tops:
            importlib.import_module(facade)
    saved = sys.modules.get("__main__"), sys.argv, list(sys.path)
    sys.modules["__main__"] = main
    sys.argv = [program, *arguments]
    sys.path[0:1] = [str(root)]
    try:
        with aliased(styles), spawning(os.path.abspath(file), styles, main.__package__):
            return _executed(code, main)
    finally:
        previous, sys.argv, sys.path[:] = saved
        if previous is not None:
            sys.modules["__main__"] = previous


def _executed(code: Callable[[], Any], main: ModuleType) -> int:
    try:
        exec(code(), vars(main))
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except ScriptError:
        raise
    except Exception as error:
        trace = error.__traceback__
        traceback.print_exception(type(error), error, _below(trace))
        if isinstance(error, AttributeError | ImportError | TapegradError):
            print(f"(run by tapegrad in place of the framework that the script imports{_hint(error)})", file=sys.stderr)
        return 1
    return 0


def _hint(error: Exception) -> str:
    """What a facade has to say of a name that it lacks, where the error itself does not say it."""
    if isinstance(error, ImportError):
        found = re.match(r"cannot import name '(\w+)' from '([\w.]+)'", str(error))
        module = sys.modules.get(found[2]) if found else None
        if found is None or module is None or not (module.__package__ or "").startswith("tapegrad."):
            return ""
        try:
            getattr(module, found[1])
        except AttributeError as said:
            return f"; {said}" if "facade" in str(said) else _nearest(module, found[1], found[2])
        return ""
    if not isinstance(error, AttributeError) or "facade" in str(error) or error.obj is None:
        return ""
    lacking = error.obj if isinstance(error.obj, type | ModuleType) else type(error.obj)
    name = lacking.__package__ or lacking.__name__ if isinstance(lacking, ModuleType) else lacking.__module__
    return _nearest(lacking, error.name or "", lacking.__name__) if name.startswith(("tapegrad.", "keras.")) else ""


def _nearest(lacking: Any, name: str, where: str) -> str:
    """That a module or a class lacks a name, and which one of its own is nearest."""
    near = get_close_matches(name, [n for n in dir(lacking) if not n.startswith("_")], 1, 0.7)
    where = where.removeprefix("tapegrad.").removeprefix("keras._tf_keras.")
    return f", whose facade lacks it: {where}.{name}" + (f"; did you mean {where}.{near[0]}?" if near else "")


def _below(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of this module."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace
