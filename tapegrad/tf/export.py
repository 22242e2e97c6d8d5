"""Where names stand: `@export("math.log", "log")` puts a function under `tf.math` and `tf`; simple ones come from tables."""

from __future__ import annotations

import difflib
import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from tapegrad.tf.errors import NotDenseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
_OPERATORS = """
    LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorBlockLowerTriangular LinearOperatorCirculant
    LinearOperatorCirculant2D LinearOperatorCirculant3D LinearOperatorComposition LinearOperatorDiag LinearOperatorFullMatrix
    LinearOperatorHouseholder LinearOperatorIdentity LinearOperatorInversion LinearOperatorKronecker LinearOperatorLowRankUpdate
    LinearOperatorLowerTriangular LinearOperatorPermutation LinearOperatorScaledIdentity LinearOperatorToeplitz
    LinearOperatorTridiag LinearOperatorZeros
"""
#: What few programs ask for, by the modules that have it.
_SELDOM = {
    "candidates": """
        nn.all_candidate_sampler nn.compute_accidental_hits nn.fixed_unigram_candidate_sampler nn.learned_unigram_candidate_sampler
        random.all_candidate_sampler random.fixed_unigram_candidate_sampler random.learned_unigram_candidate_sampler
        random.log_uniform_candidate_sampler random.uniform_candidate_sampler
    """,
    "permuting": "random.experimental.index_shuffle random.experimental.stateless_shuffle",
    "quasirandom": "math.sobol_sample",
    "sampled_losses": "nn.nce_loss nn.sampled_softmax_loss",
}
#: Every exported object by its dotted names.
EXPORTS: dict[str, Any] = {}
#: Names that are imported when they are first asked for, with the modules that have them.
LATER = {
    "tapegrad.tf.compat.v1.keras": "tapegrad.tf",
    "tapegrad.tf.test.TestCase": "tapegrad.tf.testing",
    "tapegrad.tf.test.main": "tapegrad.tf.testing",
    **{f"tapegrad.tf.linalg.{name}": "tapegrad.tf.linear_operators" for name in _OPERATORS.split()},
    **{f"tapegrad.tf.{name}": f"tapegrad.tf.{module}" for module, names in _SELDOM.items() for name in names.split()},
}


def export(*names: str) -> Callable[[T], T]:
    """Put a function or class under these names of the facade."""

    def decorate(x: T) -> T:
        for name in names:
            EXPORTS[name] = x
        return x

    return decorate


def table(text: str, *, pointwise: bool = False, **scope: Any) -> None:
    """Make and export functions: a line for each, ``names | signature | expression``, all on plain text.

    The first name is the function's own.  The expression is evaluated in `scope`, with the arguments of the signature.
    A `pointwise` function is one of each value, and takes ragged tensors too: what it costs to try is nothing.
    """
    scope |= {"__name__": "tapegrad.tf", "NotDenseError": NotDenseError, "by_values": _by_values}
    for line in text.strip().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        names, signature, expression = (part.strip() for part in line.split("|"))
        first, *others = names.split()
        name = first.rpartition(".")[2]
        body = f"return {expression}"
        if pointwise:
            given = ", ".join(a.partition("=")[0] for a in signature.split(", "))
            body = f"try:\n        {body}\n    except NotDenseError:\n        pass\n    return by_values({name}, {given})"
        exec(f"def {name}({signature}):\n    {body}", scope)  # the text is a table of this package
        made = scope[name]
        made.__doc__ = f"TensorFlow's `tf.{first}`, on tapegrad's ops: {expression.replace('S.', 'tapegrad.')}."
        export(first, *others)(made)


def _by_values(f: Any, *args: Any) -> Any:
    from tapegrad.tf.ragged_pointwise import by_values  # which needs what stands in tables

    return by_values(f, *args)


class Namespace(ModuleType):
    """A part of the facade such as `tf.math`; a name that it lacks says so, and which one is near."""

    __path__ = []  # noqa: RUF012  it stays empty: for `import tensorflow.compat.v1 as tf`

    def __getattr__(self, name: str) -> Any:
        module = LATER.get(f"{self.__name__}.{name}")
        if module is None:
            raise AttributeError(missing(self.__name__, name, vars(self)), name=name, obj=self)
        found = getattr(importlib.import_module(module), name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        later = (name.removeprefix(self.__name__ + ".") for name in LATER if name.startswith(self.__name__ + "."))
        return sorted({*vars(self), *(name for name in later if "." not in name)})


def missing(where: str, name: str, there: Iterable[str]) -> str:
    """What is said of a name that is not there."""
    text = _TOLD.get((where, name))
    if text is None:
        text = _TOLD[where, name] = _told(where, name, there)
    return text


#: What was said of names that are not there: programs ask for them by `hasattr`, some in their loops.
_TOLD: dict[tuple[str, str], str] = {}


def _told(where: str, name: str, there: Iterable[str]) -> str:
    from tapegrad.tf.tensorflow1 import hint as of_tensorflow1

    place = "tf" + where.removeprefix("tapegrad.tf")
    old = of_tensorflow1(f"{place}.{name}".removeprefix("tf.").removeprefix("compat.v1."))
    if old:
        return f"tapegrad's TensorFlow-style facade has no {place}.{name}, {old}"
    near = difflib.get_close_matches(name, [k for k in there if not k.startswith("_")], 1, 0.65)
    hint = f"; did you mean {place}.{near[0]}?" if near else ""
    return f"tapegrad's TensorFlow-style facade has no {place}.{name}{hint}"


def place(top: dict[str, Any], root: str) -> None:
    """Put all that was exported where it belongs: into a module's names, and into namespaces below it."""
    spaces: dict[str, ModuleType] = {}
    for dotted, x in EXPORTS.items():
        *path, name = dotted.split(".")
        names, full = top, root
        for part in path:
            full = f"{full}.{part}"
            space = names.get(part)
            if space is None:
                space = names[part] = sys.modules.setdefault(full, Namespace(full, f"`tf.{full.removeprefix(root + '.')}`."))
            names = vars(space)
            spaces[full] = space
        names[name] = x
    for space in spaces.values():
        speak(space)


def speak(module: ModuleType) -> None:
    """Let a module that is a part of the facade say what a namespace says of a name that it lacks."""
    if isinstance(module, Namespace) or "__getattr__" in vars(module):
        return

    def refuse(name: str) -> Any:
        raise AttributeError(missing(module.__name__, name, vars(module)), name=name, obj=module)

    vars(module)["__getattr__"] = refuse
