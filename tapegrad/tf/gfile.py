"""`tf.io.gfile`: files by their names, as Python opens, lists and moves them."""

from __future__ import annotations

import glob as _glob
import os
import shutil
from typing import Any

from tapegrad.tf.export import Namespace
from tapegrad.tf.texts import name_of


class GFile:
    """A file, as Python opens it."""

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._file = open(name_of(name), mode, encoding=None if "b" in mode else "utf-8")  # noqa: SIM115  closed by close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __iter__(self) -> Any:
        return iter(self._file)

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def size(self) -> int:
        """The bytes of the file."""
        return os.fstat(self._file.fileno()).st_size


def _glob_all(pattern: Any) -> list[str]:
    patterns = pattern if isinstance(pattern, list | tuple) else [pattern]
    return sorted(f for p in patterns for f in _glob.glob(name_of(p)))


def _copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    if not overwrite and os.path.exists(name_of(dst)):
        from tapegrad.tf.errors import AlreadyExistsError

        raise AlreadyExistsError(None, None, f"file already exists: {name_of(dst)}")
    shutil.copy(name_of(src), name_of(dst))


gfile = Namespace("tapegrad.tf.io.gfile", "`tf.io.gfile`.")
vars(gfile).update(
    GFile=GFile,
    exists=lambda path: os.path.exists(name_of(path)),
    isdir=lambda path: os.path.isdir(name_of(path)),
    listdir=lambda path: os.listdir(name_of(path)),
    makedirs=lambda path: os.makedirs(name_of(path), exist_ok=True),
    mkdir=lambda path: os.makedirs(name_of(path), exist_ok=True),
    remove=lambda path: os.remove(name_of(path)),
    rmtree=lambda path: shutil.rmtree(name_of(path)),
    rename=lambda src, dst, overwrite=False: shutil.move(name_of(src), name_of(dst)),
    copy=_copy,
    glob=_glob_all,
    join=lambda path, *paths: os.path.join(name_of(path), *map(name_of, paths)),
    walk=lambda top, topdown=True, onerror=None: os.walk(name_of(top), topdown, onerror),
    stat=lambda path: os.stat(name_of(path)),
)
