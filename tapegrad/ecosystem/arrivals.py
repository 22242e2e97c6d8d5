"""What is done once another package is there: at once if it is imported already, else right after its import.

Nothing is imported for it.  A package that is never imported costs a look into a dictionary at each import of others.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

#: Packages that are waited for, and the module of this one whose `install()` is called then.
_WAITING: dict[str, str] = {}


def when_imported(package: str, module: str) -> None:
    """Call `tapegrad.ecosystem.<module>.install()` once a package has been imported."""
    if package in sys.modules:
        _install(package, module)
        return
    _WAITING[package] = module
    if _WATCH not in sys.meta_path:
        sys.meta_path.insert(0, _WATCH)


def _install(package: str, module: str) -> None:
    try:
        importlib.import_module(f"tapegrad.ecosystem.{module}").install()
    except Exception as error:  # another version of it must not make its import fail
        warnings.warn(
            f"tapegrad cannot make its tensors known to this version of {package} ({type(error).__name__}: {error}); its "
            "functions refuse recorded tensors, or do not know tensors at all",
            RuntimeWarning,
            stacklevel=2,
        )


@final
class _Watch:
    """A finder that finds nothing by itself: it lets the others find, and hears of the end of the import."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in _WAITING:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
                return spec
        return None


@final
class _Loader:
    """The loader of a package that is waited for: it hands the module back to its own loader, and reports."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def create_module(self, spec: ModuleSpec) -> Any:
        return self.own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.own
        if module.__spec__ is not None:
            module.__spec__.loader = self.own
        self.own.exec_module(module)
        name = module.__name__
        waiting = _WAITING.pop(name, None)
        if not _WAITING and _WATCH in sys.meta_path:
            sys.meta_path.remove(_WATCH)
        if waiting is not None:
            _install(name, waiting)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


_WATCH: Any = _Watch()
