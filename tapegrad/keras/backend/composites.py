"""Sparse and ragged tensors of a facade in Keras: inputs of models, data for `fit`, what an embedding looks up.

They belong to a facade: as long as none is in use there are no such values.  Sparse ones come to `matmul`, and so to `Dense`,
as they are; ragged ones to `take` and `matmul` and to sums, means and extremes, where the facade reduces them.
"""

from __future__ import annotations

from typing import Any, final

import numpy

#: The facade whose sparse and ragged tensors these are.
_facade: list[Any] = [None]


def is_composite(x: Any) -> bool:
    """Whether it is a facade's value of several tensors, such as a sparse one: layers are given it as it is."""
    return hasattr(type(x), "_components")


def is_ragged(x: Any) -> bool:
    """Whether it is a facade's tensor of rows that differ in length."""
    return is_composite(x) and isinstance(x, _facade[0].RaggedTensor)


def kept(x: Any, sparse: Any, ragged: Any) -> Any:
    """A composite as it is, or the dense tensor of it, where `sparse` or `ragged` is False and it is of that kind."""
    tf = _facade[0]
    if sparse is not None and not sparse and isinstance(x, tf.SparseTensor):
        return tf.sparse.to_dense(x)
    if ragged is not None and not ragged and isinstance(x, tf.RaggedTensor):
        return x.to_tensor()
    return x


def dense(x: Any) -> Any:
    """The dense tensor of a composite; anything else as it is."""
    return kept(x, False, False) if is_composite(x) else x


def arrived(x: Any) -> Any:
    """A ragged tensor of TensorFlow, which layers of strings make where it is imported, as the facade's; anything else as it is."""
    tf, kind = _facade[0], type(x)
    if kind.__name__ != "RaggedTensor" or not kind.__module__.startswith("tensorflow.") or tf is None:
        return x
    return tf.RaggedTensor.from_nested_row_splits(x.flat_values.numpy(), [splits.numpy() for splits in x.nested_row_splits])


def ones(x: Any, sizes: tuple[int, ...]) -> Any:
    """What stands for a symbolic sparse or ragged tensor where a function is called to find out the shape of its result."""
    tf = _facade[0]
    whole = tf.ones(sizes, x.dtype)
    return tf.sparse.from_dense(whole) if x.sparse else tf.RaggedTensor.from_tensor(whole, ragged_rank=x.ragged_rank or 1)


def kind(x: Any) -> dict[str, bool]:
    """What a symbolic tensor is told about such a value."""
    tf = _facade[0]
    return {"sparse": isinstance(x, tf.SparseTensor), "ragged": isinstance(x, tf.RaggedTensor)}


def reduced(name: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """The `name` ("sum", "mean", "max", "min") of a ragged tensor, over what is there; of another one, as of the dense one."""
    tf = _facade[0]
    reduce = getattr(tf, f"reduce_{name}")
    return reduce(x if isinstance(x, tf.RaggedTensor) else dense(x), axis=axis, keepdims=keepdims)


def use(facade: Any, backend: Any) -> None:
    """Let Keras take this facade's sparse and ragged tensors where its TensorFlow backend takes TensorFlow's."""
    from keras.src import tree
    from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils

    _facade[0] = facade
    backend.SUPPORTS_SPARSE_TENSORS = backend.SUPPORTS_RAGGED_TENSORS = True
    kinds = (facade.SparseTensor, facade.RaggedTensor)
    sliced, convert = array_slicing.can_slice_array, array_slicing.convert_to_sliceable
    ragged, sparse = data_adapter_utils.is_tensorflow_ragged, data_adapter_utils.is_tensorflow_sparse

    def convert_to_sliceable(arrays: Any, target_backend: Any = None) -> Any:
        return tree.map_structure(lambda x: Rows(_in_floatx(x)) if isinstance(x, kinds) else convert(x, target_backend), arrays)

    vars(array_slicing).update(
        can_slice_array=lambda x: isinstance(x, kinds) or sliced(x), convert_to_sliceable=convert_to_sliceable
    )
    vars(data_adapter_utils).update(
        is_tensorflow_ragged=lambda x: isinstance(x, facade.RaggedTensor) or ragged(x),
        is_tensorflow_sparse=lambda x: isinstance(x, facade.SparseTensor) or sparse(x),
    )


def _in_floatx(x: Any) -> Any:
    from keras.src.backend import floatx, is_float_dtype

    return _facade[0].cast(x, floatx()) if is_float_dtype(x.dtype.name) else x


@final
class Rows:
    """The rows of a sparse or ragged tensor, of which Keras takes a batch at a time; a batch is a tensor of that kind."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = array.shape
        if not is_ragged(array):
            first = array.places[:, 0]
            self._order = numpy.argsort(first, kind="stable")
            self._first = first[self._order]

    def __getitem__(self, indices: Any) -> Any:
        tf, x = _facade[0], self.array
        rows = range(*indices.indices(self.shape[0])) if isinstance(indices, slice) else indices
        rows = numpy.asarray(rows, numpy.int64)
        if is_ragged(x):
            return tf.gather(x, rows)
        begin = numpy.searchsorted(self._first, rows, "left")
        counts = numpy.searchsorted(self._first, rows, "right") - begin
        within = numpy.arange(counts.sum()) - numpy.repeat(numpy.cumsum(counts) - counts, counts)
        taken = self._order[numpy.repeat(begin, counts) + within]
        places = x.places[taken]
        places[:, 0] = numpy.repeat(numpy.arange(len(rows)), counts)
        return tf.SparseTensor(places, tf.gather(x.values, taken), (len(rows), *x.lengths[1:]))

    @staticmethod
    def convert_to_numpy(x: Any) -> Any:
        """A batch as the model is given it: it stays what it is."""
        return x
