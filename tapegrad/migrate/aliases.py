"""Imports of a framework that give a facade: `import torch.nn.functional as F` finds `tapegrad.torch.nn.functional`."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.abc
import importlib.machinery
import pkgutil
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tapegrad.registry.space import NUMPY, default_space

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

#: The top-level names that scripts of each style import, and where they are found.
STYLES: dict[str, dict[str, str]] = {
    "torch": {"torch": "tapegrad.torch", "functorch": "tapegrad.torch.functorch"},
    "tf": {"tensorflow": "tapegrad.tf"},
}
#: Packages that stay what they are once a facade has set them up: Keras, whose backend tapegrad becomes.
SET_UP = {"keras": "tapegrad.tf.keras"}


class _Loader(importlib.abc.Loader):
    """Gives a module that exists already, and leaves it as it is."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__  # the import system has put the alias's there
        module.__spec__ = self._spec
        if spec is not None:
            _register_hidden(spec.name, module)


def _register_hidden(alias: str, package: ModuleType) -> None:
    """Let modules of a package whose name there is something else's (`gradcheck` is a function) be found, not imported.

    An import would put the module in the place of what has the name.
    """
    prefix = f"{package.__package__ or package.__name__}."
    for name, module in list(sys.modules.items()):
        last = name.removeprefix(prefix)
        if name.startswith(prefix) and "." not in last and vars(package).get(last, module) is not module:
            sys.modules[f"{alias}.{last}"] = module


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, places: dict[str, str]) -> None:
        self._places = places

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top, _, rest = fullname.partition(".")
        if path is not None and fullname.startswith(_INSIDE) and fullname.rpartition(".")[0] in sys.modules:
            return None
        place = self._places.get(top)
        if place is None:
            return None
        module = _find(f"{place}.{rest}" if rest else place)
        if module is None:
            raise ModuleNotFoundError(_missing(fullname, f"{place}.{rest}"), name=fullname)
        return importlib.machinery.ModuleSpec(fullname, _Loader(module), is_package=hasattr(module, "__path__"))


def _find(name: str) -> ModuleType | None:
    """A module by its name, or by the attributes that lead to it: a facade may show a module of another package."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # something that the module itself needs
    parent, _, last = name.rpartition(".")
    if not parent:
        return None
    above = _find(parent)
    found: Any = getattr(above, last, None) if above is not None else None
    return found if isinstance(found, ModuleType) else None


def _missing(alias: str, place: str) -> str:
    """What is said of a module that is not there: what the facade says of the name, or the nearest module."""
    parent, _, last = place.rpartition(".")
    above = _find(parent)
    try:
        getattr(above, last)
    except AttributeError as error:
        if above is not None and parent.count(".") == 1:
            return f"{alias} is not there: {error}"
    names = [m.name for m in pkgutil.iter_modules(getattr(above, "__path__", []))]
    names += [n for n, v in vars(above).items() if isinstance(v, ModuleType)] if above is not None else []
    near = difflib.get_close_matches(last, [n for n in names if not n.startswith("_")], 1, 0.7)
    hint = f"; the nearest is {alias.rpartition('.')[0]}.{near[0]}" if near else ""
    return f"{parent} has no module {last!r}, which {alias} asks for{hint}"


#: Insides of a framework, which go on importing each other while its kernels compute.
_INSIDE = ("tensorflow.python.", "tensorflow.core.", "tensorflow.compiler.")


def _modules_of(places: dict[str, str]) -> dict[str, ModuleType]:
    """The modules that are imported by these top-level names, without a framework's insides."""
    return {
        n: m for n, m in sys.modules.items() if n.partition(".")[0] in places and not f"{n}.".startswith(_INSIDE)
    }


def _call_by_name(places: dict[str, str]) -> Callable[[], None]:
    """Let `torch.__name__` be what programs know; the value is what ends that.

    Libraries choose by it what they do, and Pyro refuses any other. Modules below keep their names: nobody asks for them.
    """
    if "torch" not in places:
        return lambda: None
    facade = sys.modules[places["torch"]]
    name, facade.__name__ = facade.__name__, "torch"

    def undo() -> None:
        facade.__name__ = name

    return undo


@contextlib.contextmanager
def aliased(styles: Iterable[str]) -> Iterator[None]:
    """Inside, imports of these styles' frameworks give tapegrad's facades; outside, all is as it was."""
    undo = alias(styles)
    try:
        yield
    finally:
        undo()


def alias(styles: Iterable[str]) -> Callable[[], None]:
    """From now on, imports of these styles' frameworks give tapegrad's facades; the value is what ends that."""
    places = {top: place for style in styles for top, place in STYLES[style].items()}
    for place in places.values():
        if place.count(".") == 1:
            importlib.import_module(place)
    if default_space() is not NUMPY:  # what needs the real one is imported while it has its name
        for name in ("tapegrad.compiled.graph", "tapegrad.tf.compiling"):
            importlib.import_module(name)
    hidden = _modules_of(places)
    for name in hidden:
        del sys.modules[name]
    finder = _Finder(places)
    sys.meta_path.insert(0, finder)
    call_as_before = _call_by_name(places)

    def undo() -> None:
        call_as_before()
        sys.meta_path.remove(finder)
        for name in _modules_of(places):
            del sys.modules[name]
        sys.modules.update(hidden)

    return undo
