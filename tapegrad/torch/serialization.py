"""`torch.save` and `torch.load`: files that PyTorch reads, and PyTorch's own, without running what a file may ask for."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

from tapegrad.torch import _arrays
from tapegrad.torch._checkpoint import modules, reading, writing
from tapegrad.torch._missing import refusing

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

DEFAULT_PROTOCOL = 2
#: The types that `map_location` takes, for annotations.
FileLike = str | os.PathLike[str] | io.IOBase
MAP_LOCATION = Callable[[Any, str], Any] | str | dict[str, str] | None


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a path or a binary file: tensors, parameters and containers of them, as PyTorch writes them.

    Raises NotImplementedError for the format of before 2020.
    """
    if not _use_new_zipfile_serialization:
        raise NotImplementedError("save(f): the format of before 2020 is read but not written; leave out the argument")
    if isinstance(f, str | os.PathLike):
        path = os.fspath(f)
        name = os.path.basename(path).rpartition(".")[0] or os.path.basename(path)
        data = io.BytesIO()  # first, so that an object that can't be pickled leaves the old file alone
        writing.write_zip(obj, data, name or "archive", pickle_protocol)
        if (parent := os.path.dirname(path)) and not os.path.isdir(parent):
            raise RuntimeError(f"Parent directory {parent} does not exist.")
        with open(path, "wb") as file:
            file.write(data.getbuffer())
    elif hasattr(f, "write"):
        data = io.BytesIO()
        writing.write_zip(obj, data, "archive", pickle_protocol)
        f.write(data.getvalue())
    else:
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, got {f!r}"
        )


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """The object in a file of `save`, here or in PyTorch.

    A file makes tensors, containers and numbers, and objects of the classes that `add_safe_globals` allows; with
    `weights_only=False` modules, optimizers and schedules too, of classes that are already imported, and nothing else.
    Everything is read to the CPU and, by `map_location`, moved from there.

    Raises pickle.UnpicklingError for what a file may not name.
    """
    encoding = pickle_load_args.pop("encoding", "utf-8")
    if pickle_load_args:
        raise TypeError(f"load(): unknown arguments {', '.join(pickle_load_args)}")
    if mmap and not isinstance(f, str | os.PathLike):
        raise ValueError("f must be a file path in order to use the mmap argument")

    def located(location: str) -> None:
        if location.startswith(("cuda", "mps", "xpu")) and map_location is None and not _available(location):
            raise RuntimeError(
                f"Attempting to deserialize object on a {location.partition(':')[0].upper()} device but "
                f"torch.{location.partition(':')[0]}.is_available() is False. If you are running on a CPU-only machine, "
                "please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
            )

    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            found = reading.read(file, located, encoding, whole=weights_only is False)
    elif hasattr(f, "read"):
        seekable = f if hasattr(f, "seek") and hasattr(f, "tell") else io.BytesIO(f.read())
        found = reading.read(seekable, located, encoding, whole=weights_only is False)
    else:
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'read' attribute, got {f!r}"
        )
    return _moved(found, map_location)


def _available(location: str) -> bool:
    cuda = getattr(_arrays.facade(), "cuda", None)
    return location.startswith("cuda") and cuda is not None and bool(cuda.is_available())


def _moved(found: Any, map_location: Any) -> Any:
    """The object with its tensors on another device, where that is not the CPU."""
    if isinstance(map_location, dict):
        map_location = next(iter(map_location.values()), None)
    if map_location is None or callable(map_location) or str(map_location).startswith("cpu"):
        return found
    return _to(found, map_location, {})


def _to(x: Any, device: Any, moved: dict[int, Any]) -> Any:
    if id(x) in moved:
        return moved[id(x)]
    if _arrays.is_tensor(x):
        moved[id(x)] = made = x.to(device)
        return made
    if isinstance(x, tuple) and type(x) is tuple:
        return tuple(_to(y, device, moved) for y in x)
    if isinstance(x, dict | list):
        moved[id(x)] = x
        for key, value in list(x.items() if isinstance(x, dict) else enumerate(x)):
            x[key] = _to(value, device, moved)
    return x


# -- classes that a file may name besides ------------------------------------------------------------------
def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow files to name these classes or functions, each given as itself or with the name that files use."""
    for given in safe_globals:
        found, names = (given[0], [given[1]]) if isinstance(given, tuple) else (given, modules.file_names(given))
        if not callable(found):
            raise TypeError(f"add_safe_globals(safe_globals): expected classes or functions, got {found!r}")
        reading.ALLOWED.update(dict.fromkeys(names, found))


def get_safe_globals() -> list[Any]:
    """The classes and functions that were allowed."""
    return list(dict.fromkeys(reading.ALLOWED.values()))


def clear_safe_globals() -> None:
    """Allow nothing besides what always is."""
    reading.ALLOWED.clear()


class safe_globals:
    """Allows classes for a while: `with safe_globals([Net]): ...`."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals
        self._before: dict[str, Any] = {}

    def __enter__(self) -> None:
        self._before = dict(reading.ALLOWED)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *_: object) -> None:
        reading.ALLOWED.clear()
        reading.ALLOWED.update(self._before)


__getattr__ = refusing(globals())
