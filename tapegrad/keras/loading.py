"""How Keras comes to compute with tapegrad: its NumPy backend is loaded with other arrays in the place of NumPy's.

Keras chooses a backend by name, from a list that is written into it, when it is first imported.  Its NumPy backend is
the one without a framework behind it: functions of `np`, one module for each part.  An import hook loads each of those
modules as Keras ships it, puts `tapegrad.keras.backend.arrays` where it says `np`, and then what `tapegrad.keras.backend` has a
better version of: variables, convolutions, gradients, `fit`.  So what Keras adds to its backend works at once, or says by name
what tapegrad does not have; nothing of Keras is copied.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, final

from tapegrad.keras import look

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The backend's package in Keras, and which of its modules are loaded here.
PACKAGE = "keras.src.backend.numpy"
MODULES = ("core", "image", "linalg", "math", "nn", "numpy", "random", "rnn", "trainer")
#: The name by which Keras knows the backend.
NAME = "numpy"
#: First version of Keras whose NumPy backend is laid out as the hook expects, and first that nobody has tried.
OLDEST, UNTRIED = (3, 12), (4,)


def load() -> Any:
    """Keras on tapegrad: the module that `import keras` gives.

    Raises ImportError where Keras is not installed, or was imported with another backend.
    """
    present = sys.modules.get("keras")
    if present is not None:
        if not is_loaded():
            raise ImportError(
                f"tapegrad.keras: keras was imported before with the {_backend()!r} backend, and a process has one; import "
                "tapegrad.keras (or use tapegrad.tf.keras) before anything that imports keras, or run in another process"
            )
        return present
    _check_version()
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    before = os.environ.get("KERAS_BACKEND")
    os.environ["KERAS_BACKEND"] = NAME  # what Keras reads while it is imported; nobody else needs to see it
    hidden = "jax" not in sys.modules
    if hidden:
        sys.modules["jax"] = None  # type: ignore[assignment]  # one callback imports it for nothing: 5 of 8 seconds
    try:
        keras = importlib.import_module("keras")
        from tapegrad.keras.backend import downloads, optimizers

        optimizers.install()
        downloads.install()
        _refuse_exports()
        _set_dtypes()
        _set_shapes()
        _leave_tensorflow_alone()
    except BaseException:
        for name in [m for m in sys.modules if m == "keras" or m.startswith("keras.")]:  # so that it can be tried again
            del sys.modules[name]
        raise
    finally:
        sys.meta_path.remove(finder)
        if hidden:
            del sys.modules["jax"]
        if before is None:
            del os.environ["KERAS_BACKEND"]
        else:
            os.environ["KERAS_BACKEND"] = before
    return keras


def is_loaded() -> bool:
    """Whether this process has Keras on tapegrad."""
    return getattr(sys.modules.get(f"{PACKAGE}.core"), "__tapegrad__", False)


def _set_dtypes() -> None:
    """Let float64 and int64 stay what they are, as Keras does for TensorFlow alone: for others it narrows them, as JAX does."""
    import numpy
    from keras.src.backend.common import dtypes

    from tapegrad.keras.backend.core import DTYPES

    dtypes.PYTHON_DTYPES_MAP.update({dtype: name for name, dtype in DTYPES.items()})  # found sooner than NumPy names them
    dtypes.BIT64_TO_BIT32_DTYPE.update(int64="int64", float64="float64")
    dtypes.PYTHON_DTYPES_MAP.update({int: "int64", "int": "int64", numpy.dtype(object): "string"})  # strings are objects here


def _set_shapes() -> None:
    """Let Keras read shapes of which a length is open, in each place that has its function for it by name."""
    from tapegrad.keras.backend.core import standardize_shape

    for name in ("backend", "backend.common", "backend.common.variables", "models.sequential"):
        vars(importlib.import_module(f"keras.src.{name}"))["standardize_shape"] = standardize_shape


def _refuse_exports() -> None:
    """Let `model.export` say why it writes nothing, and what does."""
    archive = importlib.import_module("keras.src.backend.numpy.export").NumpyExportArchive

    def refuse(self: Any, *args: Any, **words: Any) -> None:
        raise NotImplementedError(
            "model.export: tapegrad has no graphs, and a SavedModel is one; write model.save('model.keras'), and load and "
            "export that with Keras on TensorFlow"
        )

    for name in ("track", "add_endpoint", "track_and_add_endpoint"):
        setattr(archive, name, refuse)


def _leave_tensorflow_alone() -> None:
    """Let those that only ask whether something is TensorFlow's, or set its seed, not import it for that (10 seconds)."""
    present = _Present()
    for name in ("legacy.saving.json_utils", "saving.serialization_lib"):
        vars(importlib.import_module(f"keras.src.{name}"))["tf"] = present
    vars(importlib.import_module("keras.src.utils.rng_utils"))["tf"] = _Seeded


@final
class _Present:
    """TensorFlow, if it is imported already."""

    @property
    def available(self) -> bool:
        spec = getattr(sys.modules.get("tensorflow"), "__spec__", None)
        return getattr(spec, "name", "") == "tensorflow"  # and not a facade in its place, which may have its `__name__`

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["tensorflow"], name)


@final
class _Seeded:
    """What `keras.utils.set_random_seed` takes for TensorFlow: whoever draws random numbers here."""

    available = True

    @final
    class random:
        @staticmethod
        def set_seed(seed: int) -> None:
            from tapegrad.random import seed as start

            start(seed)
            look.start(seed)
            if _Present().available:
                sys.modules["tensorflow"].random.set_seed(seed)


def use_framework(facade: ModuleType) -> None:
    """Give Keras's utilities that need TensorFlow (datasets of images, of time series) a facade, unless it is imported."""
    modules = importlib.import_module("keras.src.utils.module_utils")
    present = _Present()

    @final
    class Framework(modules.LazyModule):  # type: ignore[misc, name-defined]
        @property
        def module(self) -> Any:
            return sys.modules["tensorflow"] if present.available else facade

        @module.setter
        def module(self, value: Any) -> None:
            """It is found anew each time."""

        @property
        def available(self) -> bool:
            return True

    modules.tensorflow.__class__ = Framework
    sys.meta_path.insert(0, _InPlace())
    for public in ("keras", "keras._tf_keras.keras"):
        for part in ("backend", "config"):
            vars(importlib.import_module(f"{public}.{part}"))["backend"] = _named
    of_data = importlib.import_module("keras.src.layers.preprocessing.data_layer")
    inside = importlib.import_module("keras.src.backend")
    vars(of_data)["keras"] = _With(vars(of_data)["keras"], backend=inside)  # whose generators are told apart by its name
    for name in ("text_vectorization", "string_lookup", "integer_lookup", "hashed_crossing"):
        vars(importlib.import_module(f"keras.src.layers.preprocessing.{name}"))["backend"] = _With(inside, backend=_named)
    sets: Any = importlib.import_module("keras.src.utils.dataset_utils")
    known = sets.is_tf_dataset
    sets.is_tf_dataset = lambda x: isinstance(x, facade.data.Dataset) or known(x)
    numbers: Any = importlib.import_module("keras.src.utils.numerical_utils")
    encoded = numbers.encode_categorical_inputs

    def encode(
        inputs: Any, output_mode: Any, depth: Any, dtype: Any, sparse: bool = False, count_weights: Any = None, **words: Any
    ) -> Any:
        if isinstance(inputs, facade.RaggedTensor):  # what is filled up is no class, and does not count
            inputs, words["backend_module"] = inputs.to_tensor(default_value=-1), sys.modules[PACKAGE]
        whole = encoded(inputs, output_mode, depth, dtype, count_weights=count_weights, **words)
        return facade.sparse.from_dense(whole) if sparse else whole

    numbers.encode_categorical_inputs = encode
    from tapegrad.keras.backend import boards, composites

    composites.use(facade, inside)
    boards.install(facade, lambda: present.available)
    old = importlib.import_module("keras._tf_keras.keras.backend")
    vars(old)["softmax"] = importlib.import_module("keras.activations").softmax  # which asks first if a tensor takes attributes
    vars(importlib.import_module("keras.src.legacy.backend"))["tf"] = _Old(modules.tensorflow)


def _named() -> str:
    """The backend's name to scripts, which ask for it to choose their own way: that of the framework in whose style it is."""
    return "tensorflow"


@final
class _With:
    """A module, with other values of some names, for one of Keras's modules that asks for the backend's name."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@final
class _Old:
    """TensorFlow to `tf.keras.backend`, which asks in `tf.compat.v1` also for what has never changed."""

    def __init__(self, framework: Any, *spaces: Any) -> None:
        self._framework, self._spaces = framework, spaces or (framework,)

    @property
    def compat(self) -> Any:
        return self

    @property
    def v1(self) -> Any:
        return _Old(self._framework, self._framework.compat.v1, self._framework)

    def __getattr__(self, name: str) -> Any:
        for space in self._spaces[:-1]:
            if hasattr(space, name):
                return getattr(space, name)
        return getattr(self._spaces[-1], name)


@final
class _InPlace(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds this backend where layers of strings ask for Keras's TensorFlow backend, as long as TensorFlow is not imported."""

    NAME = "keras.src.backend.tensorflow"

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not f"{fullname}.".startswith(f"{self.NAME}.") or _Present().available:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname == self.NAME)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """A module of its own: the import system writes its name into it."""
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Give it what the backend's has, as Keras sees it."""
        backend = sys.modules[PACKAGE]
        part = module.__name__[len(self.NAME) + 1 :]
        shown = getattr(backend, part) if part else backend
        vars(module).update({name: value for name, value in vars(shown).items() if not name.startswith("__")})


def _backend() -> str:
    config = sys.modules.get("keras.src.backend.config")
    return config.backend() if config is not None else "unknown"


def _check_version() -> None:
    from importlib.metadata import PackageNotFoundError, version

    oldest = ".".join(map(str, OLDEST))
    try:
        found = version("keras")
    except PackageNotFoundError:
        raise ImportError(
            f"tapegrad.keras needs Keras: pip install 'tapegrad[keras]', or keras>={oldest}; it needs no TensorFlow"
        ) from None
    if not OLDEST <= tuple(int(part) for part in found.split(".")[:2]) < UNTRIED:
        raise ImportError(f"tapegrad.keras works with Keras {oldest} or newer, below {UNTRIED[0]}, and {found} is installed")


@final
class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of Keras's NumPy backend, and no others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        if fullname != PACKAGE and (package != PACKAGE or name not in MODULES):
            return None
        shipped = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if shipped is None or shipped.origin is None:
            return None
        return importlib.util.spec_from_file_location(
            fullname,
            shipped.origin,
            loader=(_Package if fullname == PACKAGE else _Module)(fullname, shipped.origin),
            submodule_search_locations=shipped.submodule_search_locations,
        )


@final
class _Package(importlib.machinery.SourceFileLoader):
    """Loads the backend's package, whose functions then show their results in the look that is asked for."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        look.dress(module)


@final
class _Module(importlib.machinery.SourceFileLoader):
    """Loads a module of the backend with tapegrad's arrays as its `np`, and tapegrad's versions of its functions."""

    def get_code(self, fullname: str) -> Any:
        tree = ast.parse(self.get_data(self.path), self.path)
        tree.body = [statement for statement in tree.body if not _imports_jax(statement)]
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        from tapegrad.keras.backend.arrays import np

        super().exec_module(module)
        names = vars(module)
        names["np"] = np
        names["__tapegrad__"] = True
        name = module.__name__.rpartition(".")[2]
        ours = importlib.import_module(f"tapegrad.keras.backend.{name}")
        ours.install(names)


def _imports_jax(statement: ast.stmt) -> bool:
    """Whether it brings JAX, with which the shipped backend computes convolutions; every function that needs it is ours."""
    if isinstance(statement, ast.Import):
        return any(alias.name.split(".")[0] == "jax" for alias in statement.names)
    module = statement.module or "" if isinstance(statement, ast.ImportFrom) else ""
    return module.split(".")[0] == "jax" or module.startswith("keras.src.backend.jax")
