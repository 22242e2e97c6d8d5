"""TensorFlow imported without Keras.

`import tensorflow` ends by importing Keras, for what it registers, and goes on where that fails.  Keras then has TensorFlow
as its backend for good.  Here that step is left out: Keras is imported, and its backend chosen, by whoever first needs it
(`tapegrad.tf.keras` among them), and programs that do not need it start sooner.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType


@contextlib.contextmanager
def without_keras() -> Iterator[None]:
    """Let an import of Keras fail inside, if it has not been imported yet.  It can still be looked for."""
    if "keras" in sys.modules or "tensorflow" in sys.modules:
        yield
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@final
class _Finder(importlib.abc.MetaPathFinder):
    """Finds Keras where it is, and does not load it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "keras":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = _Refusing()
        return spec


@final
class _Refusing(importlib.abc.Loader):
    def exec_module(self, module: ModuleType) -> Any:
        raise ImportError("tapegrad imports TensorFlow without Keras")
