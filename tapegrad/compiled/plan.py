"""The results of a trace: which of them are tensors of the graph, and how they are put together again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np
import optree
import tensorflow as tf

from tapegrad.compiled.arguments import Apart, is_input
from tapegrad.core.tensor import Tensor, tensor
from tapegrad.kernels.tensorflow_array import TFArray, wrapped
from tapegrad.kernels.tensorflow_lengths import is_static, shape_tensor
from tapegrad.sparse import SparseRows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.variable import Variable


@final
class Plan:
    """How the results of one trace are put together."""

    def __init__(self, found: Any, assigned: Iterable[Variable]) -> None:
        leaves, self._definition = optree.tree_flatten(found, none_is_leaf=True, namespace="tapegrad")
        self._leaves = [None if is_input(x) else x for x in leaves]
        self._places = [i for i, x in enumerate(leaves) if is_input(x)]
        self.results = [leaves[i] for i in self._places]
        self.assigned = list(assigned)
        self._sparse: dict[int, Any] = {}  # among the results, sparse rows and their shape, None if that is a result too

    def bare(self) -> list[Any]:
        """The results as tensors of the graph, which are kept here no longer."""
        found: list[Any] = []
        for i, x in enumerate(self.results):
            if type(x) is SparseRows:
                self._sparse[i] = x.shape if is_static(x.shape) else None
                found += rows_of(x)
            else:
                found.append(bare_of(x))
        self._count, self.results = len(self.results), []
        return found

    def tensors(self, bare: list[Any]) -> list[Tensor]:
        """The results of a call, each as a tensor."""
        if not self._sparse:
            return [tensor(wrapped(b)) for b in bare]
        given = iter(bare)
        return [
            tensor(wrapped(next(given))) if i not in self._sparse else together(given, self._sparse[i]) for i in range(self._count)
        ]

    def rebuild(self, values: list[Any]) -> Any:
        """The structure, with these in the places of tensors."""
        leaves = list(self._leaves)
        for i, x in zip(self._places, values, strict=True):
            leaves[i] = x
        return self._definition.unflatten(leaves)


def rows_of(x: SparseRows) -> list[Any]:
    """Sparse rows as tensors of a graph: values, indices, and the shape, if only the running graph knows it."""
    found = [bare_of(x.values), bare_of(x.indices)]
    return found if is_static(x.shape) else [*found, shape_tensor(x.shape)]


def together(given: Any, shape: Any) -> SparseRows:
    """The next of these tensors as sparse rows."""
    values, indices = tensor(wrapped(next(given))), tensor(wrapped(next(given)))
    return Apart(tuple(map(int, np.asarray(next(given)))) if shape is None else shape).together(values, indices)


def tensors_of(found: Any) -> list[Any]:
    """The tensors among results, in the order of `Plan`."""
    leaves = optree.tree_leaves(found, none_is_leaf=True, namespace="tapegrad")
    return [x if isinstance(x, Tensor) else tensor(wrapped(bare_of(x))) for x in leaves if is_input(x)]


def bare_of(x: Any) -> Any:
    """A tensor of TensorFlow's."""
    array = x.read()[0] if isinstance(x, Tensor) else x
    return array.bare if isinstance(array, TFArray) else tf.convert_to_tensor(array)
