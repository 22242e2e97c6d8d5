"""Variables inside a `tf.function` of the user's own: read anew in each call, as TensorFlow's are."""

from __future__ import annotations

import weakref
from typing import Any, NoReturn

import tensorflow as tf

from tapegrad.errors import SymbolicValueError
from tapegrad.kernels.tensorflow_array import TFArray, wrapped
from tapegrad.kernels.tensorflow_calls import TF_OF
from tapegrad.kernels.tensorflow_graphs import function_graph
from tapegrad.variable import TRACED, Variable

#: By graph, what stands for variables there, by identity; the variable is kept as long as the graph.
_PLACES: weakref.WeakKeyDictionary[Any, dict[int, tuple[Variable, TFArray]]] = weakref.WeakKeyDictionary()


def placed(variable: Variable) -> Any:
    """What stands for a variable in the graph that is being built; its array where that knows nothing of later calls."""
    graph, array = function_graph(), variable.array
    if not hasattr(graph, "capture_call_time_value"):
        return array
    places = _PLACES.setdefault(graph, {})
    if id(variable) not in places:
        spec = tf.TensorSpec(array.shape, TF_OF[array.dtype])
        found = graph.capture_call_time_value(lambda: TRACED.handed(variable), spec, key=object())
        places[id(variable)] = (variable, wrapped(found))
    return places[id(variable)][1]


def refuse(label: str) -> NoReturn:
    """Raise SymbolicValueError for a variable that would be assigned what has no value yet."""
    raise SymbolicValueError(
        f"{label}: a tf.function of TensorFlow's is being traced, and assigns no variable of tapegrad in its calls; compile the "
        "step by tapegrad.function, or return the new value and assign it outside"
    )
