"""`tf.function` on TensorFlow's kernels: `tapegrad.function`, with tensors of the facade inside and outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import tensorflow

from tapegrad.compiled import Function, function
from tapegrad.core.tensor import Tensor
from tapegrad.errors import TapegradError
from tapegrad.kernels.tensorflow_promotion import asarray
from tapegrad.tf import errors, nest
from tapegrad.tf.function import result_of
from tapegrad.tf.slices import IndexedSlices
from tapegrad.tf.sparse_tensor import SparseTensor
from tapegrad.tf.specs import TensorSpec
from tapegrad.tf.style import S

_register: Any = optree.register_pytree_node  # typed for collections, which slices are not
_register(
    IndexedSlices,
    lambda s: ((s.values, s.indices, s.dense_shape), None),
    lambda _, parts: IndexedSlices(*parts),
    namespace="tapegrad",
)
_register(
    SparseTensor,
    lambda x: ((x.indices, x.values), x.lengths),
    lambda shape, parts: SparseTensor(parts[0], parts[1], np.asarray(shape, np.int64)),
    namespace="tapegrad",
)


def compiled(python_function: Any, signature: Any, words: dict[str, Any]) -> Function[Any, Any]:
    """The compiled form of a function, with the words of `tf.function`."""

    def body(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = nest.map_structure(S.adopt, (args, kwargs))
        return nest.map_structure(result_of, python_function(*args, **kwargs))

    body.__name__ = getattr(python_function, "__name__", "function")
    body.__qualname__ = getattr(python_function, "__qualname__", body.__name__)
    return function(body, jit_compile=bool(words["jit_compile"]), shapes=_shapes(signature))


def _shapes(signature: Any) -> Any:
    """The shapes of a signature, if it says all of them."""
    if signature is None:
        return None
    specs = [s for s in nest.flatten(signature) if isinstance(s, TensorSpec)]
    return None if any(s.shape.rank is None for s in specs) else [tuple(s.shape) for s in specs]


def on_values(f: Any, raws: list[Any]) -> None:
    """Call `f` with the values of arrays in each call of the function that is being traced."""
    tensorflow.numpy_function(f, [asarray(r).bare for r in raws], [])


def called(run: Function[Any, Any], args: Any, kwargs: Any) -> Any:
    """What a compiled function gives, as the facade shows it."""
    try:
        found = run(*args, **kwargs)
    except (tensorflow.errors.OpError, TapegradError) as error:
        cause = error.__cause__ if isinstance(error, TapegradError) else error
        if not isinstance(cause, tensorflow.errors.OpError):
            raise
        kind = getattr(errors, type(cause).__name__, errors.OpError)
        raise kind(None, None, cause.message) from error
    return S.adopt(found) if type(found) is Tensor else nest.map_structure(_handed_over, found)


def _handed_over(x: Any) -> Any:
    """A result as the facade shows it."""
    return result_of(x) if isinstance(x, str | bytes) else S.adopt(x)
