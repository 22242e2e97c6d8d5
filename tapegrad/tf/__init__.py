"""TensorFlow 2's eager mode, by its names: ``import tapegrad.tf as tf``."""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from typing import Any as _Any

from tapegrad.ops import load_all as _load_all
from tapegrad.silence import silence as _silence

_silence()
_load_all()  # every op has a name here

from tapegrad.tf import (  # noqa: E402
    alignments,
    audio,
    blocks,
    checks,
    clipping,
    concrete,
    control,
    counting,
    crossing,
    decoding,
    diagonals,
    elementwise,
    errors,
    fourier,
    framing,
    function,
    gathering,
    gradients,
    graph_gradients,
    initializers,
    isotonic,
    joining,
    legacy,
    lookup,
    lookup_mutable,
    making,
    matrix_functions,
    module,
    morphology,
    nest,
    nn_functions,
    nn_losses,
    nn_pooling,
    nn_windows,
    numpy_style,
    ordering,
    over_rows,
    printing,
    products,
    python_functions,
    queues,
    ragged_ops,
    ragged_tensor,
    random_functions,
    random_generator,
    random_stateless,
    raw,
    reducing,
    segments,
    seldom,
    sets_of_rows,
    settings,
    shape_checks,
    shaping,
    sparse_math,
    sparse_ops,
    sparse_tensor,
    specs,
    tensor_array,
    tridiagonal,
    various,
)
from tapegrad.tf import dtypes as _dtypes  # noqa: E402
from tapegrad.tf.conversions import TensorLike  # noqa: E402
from tapegrad.tf.convert import cast, constant, convert_to_tensor, identity, is_tensor, saturate_cast  # noqa: E402
from tapegrad.tf.dtypes import DType, as_dtype  # noqa: E402
from tapegrad.tf.export import EXPORTS as _EXPORTS  # noqa: E402
from tapegrad.tf.export import missing as _missing  # noqa: E402
from tapegrad.tf.export import place as _place  # noqa: E402
from tapegrad.tf.export import speak as _speak  # noqa: E402
from tapegrad.tf.names import name_scope  # noqa: E402
from tapegrad.tf.ragged_dispatch import dispatch as _dispatch  # noqa: E402
from tapegrad.tf.shapes import Dimension, TensorShape  # noqa: E402
from tapegrad.tf.slices import IndexedSlices  # noqa: E402
from tapegrad.tf.tape import ForwardAccumulator, GradientTape, UnconnectedGradients  # noqa: E402
from tapegrad.tf.tensor import Tensor  # noqa: E402
from tapegrad.tf.variable import Variable, VariableAggregation, VariableSynchronization  # noqa: E402

newaxis = None
__version__ = "2.21.0"
#: What is a name of TensorFlow's here, and not a module of the facade.
_EXPORTS.update(
    {
        **{d.name: d for d in _dtypes.ALL},
        **{f"dtypes.{d.name}": d for d in _dtypes.ALL},
        **{"half": _dtypes.half, "double": _dtypes.double, "dtypes.DType": DType, "dtypes.as_dtype": as_dtype},
        **{"dtypes.cast": cast, "dtypes.saturate_cast": saturate_cast},
        **{"autodiff.GradientTape": GradientTape, "autodiff.ForwardAccumulator": ForwardAccumulator},
        **{f"nest.{name}": getattr(nest, name) for name in nest.__all__},
        **{f"version.{k}": v for k, v in {"VERSION": __version__, "GIT_VERSION": "tapegrad", "COMPILER_VERSION": "none"}.items()},
        **{"random.Algorithm": random_generator.Algorithm, "compat.v1.Dimension": Dimension, "compat.v1.name_scope": name_scope},
        **{f"types.experimental.{name}": function.Function for name in ("GenericFunction", "PolymorphicFunction")},
        **{"types.experimental.ConcreteFunction": concrete.ConcreteFunction, "types.experimental.TensorLike": TensorLike},
    }
)
for _name, _x in list(globals().items()):
    if isinstance(_x, type(_sys)) and _x.__name__.startswith("tapegrad.tf.") and _name != "errors":
        del globals()[_name]  # a module of the facade: `tf.function` is TensorFlow's
_dispatch()
_EXPORTS["compat.v2"] = _sys.modules[__name__]  # `import tensorflow.compat.v2 as tf`
_place(globals(), __name__)
_speak(errors)

#: Modules that are imported when they are first asked for.
_LAZY = {
    name: f"tapegrad.tf.{name}"
    for name in ("data", "distribute", "image", "io", "keras", "saved_model", "strings", "summary", "train")
}
#: Parts of these modules that stand under `tf` too.
_ELSEWHERE = {**dict.fromkeys(("initializers", "losses", "metrics", "optimizers"), "keras"), "as_string": "strings"}


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        found = globals()[name] = _importlib.import_module(_LAZY[name])
        return found
    if name in _ELSEWHERE:
        found = globals()[name] = getattr(__getattr__(_ELSEWHERE[name]), name)
        return found
    raise AttributeError(_missing(__name__, name, __dir__()), name=name, obj=_sys.modules[__name__])


def __dir__() -> list[str]:
    """What is there, with what is imported when it is first asked for."""
    return sorted({k for k in globals() if not k.startswith("_")} | set(_LAZY) | set(_ELSEWHERE) | {"__version__"})
