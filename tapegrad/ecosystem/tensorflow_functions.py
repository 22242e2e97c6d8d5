"""TensorFlow's functions on tensors: `tf.sin(x)` is `tapegrad.tf.sin(x)`, and records.

Every public function of TensorFlow that takes part in its dispatch by types is told, by `tf.experimental.dispatch_for_api`,
to hand a call with a tensor of tapegrad to the facade's function of the same name.  Results are plain tensors, or the
facade's if an argument was one of its.  What the facade lacks TensorFlow computes with the values, if nobody records them;
else an error names the nearest.  Tensors of TensorFlow's among the arguments stay what they are: the result is then
computed by its kernels, and a tape of its own that watches them goes on watching.

Functions of any number of arrays (`tf.einsum`, `tf.meshgrid`) have no such dispatch.  They go on to convert their arguments,
which a recorded tensor refuses; what TensorFlow asks then, of those who know better, is answered here too.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, List, NoReturn, Union, final  # noqa: UP035  TensorFlow reads typing's own

import numpy as np

from tapegrad.core.foreign import MET, STANDING, WATCHING
from tapegrad.core.recorder import EMPTY, state
from tapegrad.core.tensor import Tensor
from tapegrad.ecosystem.looks import dressed, each, leaves, look_of, nearest
from tapegrad.errors import ArgumentError, DetachedError
from tapegrad.ops.convert import asarray
from tapegrad.ops.exchange import is_recorded

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Modules of TensorFlow whose functions are told of tensors; "" is `tf` itself.
PLACES = (
    *(
        "",
        "math",
        "nn",
        "linalg",
        "signal",
        "image",
        "bitwise",
        "random",
        "sets",
        "debugging",
        "strings",
        "io",
        "sparse",
        "ragged",
    ),
    *("quantization", "audio", "random.experimental", "linalg.experimental"),
)
#: Parameters that are no arrays.
_WORDS = frozenset(
    [
        "name",
        "dtype",
        "out_type",
        "Tout",
        "keepdims",
        "validate_indices",
        "padding",
        "data_format",
        "method",
        "message",
        "seed",
    ]
)


def install() -> None:
    """Tell TensorFlow."""
    tf: Any = sys.modules["tensorflow"]
    if tf in _TOLD:
        return
    _TOLD.append(tf)
    MET.append(_met)
    # For classes that are no composites of TensorFlow's own tensors; the decorators leave them out without a word.
    importlib.import_module("tensorflow.python.util.dispatch").register_dispatchable_type(Tensor)
    array = Union[Tensor, tf.Tensor, tf.Variable, np.ndarray, np.generic, float, int]  # noqa: UP007
    for function, names in functions(tf):
        signatures = [
            {p.name: kind}
            for p in inspect.signature(function).parameters.values()
            if p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in _WORDS
            for kind in (Tensor, List[array])  # noqa: UP006
        ]
        call = _CALLS[function] = _Call(function, names)
        if signatures and hasattr(function, "_tf_type_based_dispatcher"):
            tf.experimental.dispatch_for_api(function, *signatures)(call.target())
    _late(tf).register()
    _keep_from_autograph()


def _met(kind: type) -> None:
    """Have the tapes know what TensorFlow computes of its tensors of this type."""
    STANDING[kind], WATCHING[kind] = _standing, _watch


def _standing(x: Any) -> Any:
    tapes = sys.modules.get("tapegrad.ecosystem.tensorflow_tapes")
    return x if tapes is None else tapes.standing(x)


def _watch(x: Any, recorder: Any) -> None:
    from tapegrad.ecosystem import tensorflow_tapes

    tensorflow_tapes.watch(x, recorder)


def _keep_from_autograph() -> None:
    """Have AutoGraph run tapegrad's functions as they are.

    It rewrites what a `tf.function` calls, all the way down (measured: 18 s for a step of ten ops, 0.13 without).  Its public
    `do_not_convert` is for one function at a time; of its list of packages that it leaves alone, NumPy among them, there is
    only the private one (2.21).
    """
    config: Any = importlib.import_module("tensorflow.python.autograph.core.config")
    config.CONVERSION_RULES = (config.DoNotConvert("tapegrad"), *config.CONVERSION_RULES)


_TOLD: list[Any] = []
_CALLS: dict[Any, _Call] = {}


def _late(tf: Any) -> Any:
    """What is asked when a function could not convert its arguments."""

    class Late(tf.__internal__.dispatch.GlobalOpDispatcher):  # type: ignore[misc]
        def handle(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            call = _CALLS.get(op)
            if call is None or not any(isinstance(x, Tensor) for x in leaves([args, kwargs])):
                return self.NOT_SUPPORTED
            found = call(*args, **kwargs)
            return self.NOT_SUPPORTED if found is NotImplemented else found

    return Late()


def tf_tensor(x: Tensor, dtype: Any, name: str | None) -> Any:
    """A tensor of TensorFlow's of the values, for its functions that know no others.

    While a tape records it that is refused: TensorFlow then asks the dispatch.  Arguments and results of a `tf.function`, for
    which there is none, are handed over to a tape of TensorFlow's beside ours.
    """
    raw, node = x.read()
    if is_recorded(node):
        if _goes_over(sys._getframe(1)) and (found := _handed_over(raw, node)) is not None:
            return found
        raise DetachedError(
            "a recorded tensor would become one of TensorFlow's, and lose its derivative; write tapegrad.stop_gradient(x) to "
            "hand over its values, or use the function of tapegrad or tapegrad.tf"
        )
    tf: Any = sys.modules["tensorflow"]
    return tf.convert_to_tensor(getattr(raw, "bare", raw), dtype, name=name)


def _goes_over(frame: Any) -> bool:
    """Whether TensorFlow converts an argument or a result of a `tf.function` (or of a branch or a loop inside of one).

    Nothing that it hands to a conversion tells that; among its own frames is then that of the spec that casts an argument, or
    of what traces functions.
    """
    tf: Any = sys.modules["tensorflow"]
    frame = frame.f_back  # that of a method of tensors
    while frame is not None and frame.f_globals.get("__name__", "").startswith("tensorflow."):
        code = frame.f_code
        if code.co_name == "cast" and isinstance(frame.f_locals.get("self"), tf.TypeSpec):
            return True
        if code.co_name == "convert" and code.co_filename.endswith("func_graph.py"):
            return True
        frame = frame.f_back
    return False


def tf_tracing_type(x: Tensor, context: Any) -> Any:
    """What `tf.function` asks of an argument: it takes a tensor as one of TensorFlow's, and is one op of the tapes."""
    tf: Any = sys.modules["tensorflow"]
    if state.active is not EMPTY:
        from tapegrad.ecosystem import tensorflow_tapes

        tensorflow_tapes.attend()
    raw = x.read()[0]
    return tf.TensorSpec(tuple(n if isinstance(n, int) else None for n in raw.shape), tf.as_dtype(raw.dtype))


def handed(x: Tensor) -> Any:
    """A tensor of TensorFlow's for a tensor; if tapes record that, they go on with what TensorFlow computes of it."""
    raw, node = x.read()
    return tf_tensor(x, None, None) if not is_recorded(node) else _handed_over(raw, node)


def _handed_over(raw: Any, node: Any) -> Any:
    """A tensor of TensorFlow's, of which what is computed is recorded; None where no tape does that."""
    from tapegrad.ecosystem import tensorflow_tapes

    known = node.owners.recorders & state.active.recorders
    return tensorflow_tapes.exported(raw, node) if all(map(tensorflow_tapes.is_tape, known)) else None


def functions(tf: Any) -> Iterator[tuple[Any, list[str]]]:
    """The functions of TensorFlow that dispatch, and the names of each."""
    found: dict[Any, list[str]] = {}
    for place in PLACES:
        module = tf
        for part in filter(None, place.split(".")):
            module = getattr(module, part)
        for name, x in vars(module).items():  # not by getattr, which would import what is imported when it is asked for
            if not name.startswith("_") and isinstance(x, FunctionType) and hasattr(x, "_tf_fallback_dispatchers"):
                found.setdefault(x, []).append(f"{place}.{name}".strip("."))
    yield from found.items()


@final
class _Call:
    """What TensorFlow calls in the place of one of its functions."""

    def __init__(self, function: Any, names: list[str]) -> None:
        self.function = function
        self.names = names

    def target(self) -> Any:
        """This as a function, for TensorFlow looks at its parameters."""

        def target(*args: Any, **words: Any) -> Any:
            return self(*args, **words)

        target.__name__ = target.__qualname__ = self.names[0]
        return target

    def __call__(self, *args: Any, **words: Any) -> Any:
        found = self.ours()
        look = look_of([args, words])
        if found is None:
            if any(isinstance(x, Tensor) and is_recorded(x.read()[1]) for x in leaves([args, words])):
                return self.theirs(args, words)
            return NotImplemented
        tf: Any = sys.modules["tensorflow"]

        def known(x: Any) -> Any:
            if isinstance(x, tf.Tensor | tf.Variable):
                return asarray(x)
            if isinstance(x, tf.DType):
                return x.name
            return x.as_list() if isinstance(x, tf.TensorShape) else x

        return dressed(found(*each(known, args), **each(known, words)), look)

    def ours(self) -> Any:
        """The facade's function, or None."""
        facade = importlib.import_module("tapegrad.tf")
        for name in self.names:
            found: Any = facade
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is not None:
                return found
        return None

    def theirs(self, args: Any, words: Any) -> Any:
        """What TensorFlow's own function gives for recorded tensors, recorded by a tape of its beside ours."""

        def handed(x: Any) -> Any:
            if not isinstance(x, Tensor):
                return x
            raw, node = x.read()
            if not is_recorded(node):
                return tf_tensor(x, None, None)
            found = _handed_over(raw, node)
            return self.refuse() if found is None else found

        return self.function(*each(handed, args), **each(handed, words))

    def refuse(self) -> NoReturn:
        """Raise the error for a function that the facade lacks."""
        from tapegrad.tf.export import EXPORTS

        near = nearest(self.names[0], [n for n in EXPORTS if not n.startswith("compat.")])
        hint = f"; the nearest that it has is tf.{near}" if near else ""
        raise ArgumentError(
            f"tf.{self.names[0]} would lose the derivative of a recorded tensor, and tapegrad.tf has no function of that "
            f"name{hint}. Write tapegrad.stop_gradient(x) to compute with the values alone, which cuts the derivative"
        )
