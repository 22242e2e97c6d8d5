"""Datasets written to a directory: a file with the structure of the elements, an archive of NumPy's for each of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.tf import nest
from tapegrad.tf.convert import convert, host
from tapegrad.tf.data import elements
from tapegrad.tf.errors import NotFoundError

if TYPE_CHECKING:
    from tapegrad.tf.data.dataset import Dataset

_INDEX = "dataset.json"


def _shape_of(element: Any) -> Any:
    """The structure of an element as JSON holds it: numbers where the tensors stand, in their order."""
    places = iter(range(len(nest.flatten(element))))

    def described(x: Any) -> Any:
        if isinstance(x, dict):
            return {"dict": [[k, described(x[k])] for k in sorted(x)]}
        if isinstance(x, tuple | list):
            return {"tuple": [described(v) for v in x]}
        if not hasattr(x, "dtype") or not hasattr(x, "shape") or hasattr(x, "row_splits") or hasattr(x, "dense_shape"):
            raise TypeError(f"a dataset is saved whose elements are tensors, tuples and dictionaries of them; got {type(x).__name__}")
        return next(places)

    return described(element)


def _element(shape: Any, arrays: list[Any]) -> Any:
    if isinstance(shape, int):
        return convert(arrays[shape])
    if "dict" in shape:
        return {k: _element(v, arrays) for k, v in shape["dict"]}
    return tuple(_element(v, arrays) for v in shape["tuple"])


def save(dataset: Dataset, path: Any, compression: Any = None) -> None:
    """Write each element to a file of its own, and then how many there are."""
    path = os.fspath(path)
    os.makedirs(path, exist_ok=True)
    shape, count = None, 0
    write = np.savez_compressed if compression == "GZIP" else np.savez
    for e in dataset:
        if shape is None:
            shape = _shape_of(e)
        arrays = [host(x) for x in nest.flatten(e)]
        stored = {str(k): a.astype("S") if a.dtype.kind == "O" else a for k, a in enumerate(arrays)}
        write(os.path.join(path, f"{count:08d}.npz"), allow_pickle=False, **stored)
        count += 1
    with open(os.path.join(path, _INDEX), "w", encoding="utf-8") as f:
        json.dump({"count": count, "shape": shape}, f)


def load(path: Any, element_spec: Any = None) -> Dataset:
    """The elements that `save` has written; raises NotFoundError where it has written none."""
    from tapegrad.tf.data.dataset import Dataset

    path = os.fspath(path)
    try:
        with open(os.path.join(path, _INDEX), encoding="utf-8") as f:
            index = json.load(f)
    except FileNotFoundError:
        raise NotFoundError(None, None, f"{path} is no saved dataset: there is no {_INDEX} in it") from None

    def run() -> Iterator[Any]:
        for k in range(index["count"]):
            with np.load(os.path.join(path, f"{k:08d}.npz"), allow_pickle=False) as archive:
                arrays = [archive[name] for name in sorted(archive.files, key=int)]
            yield _element(index["shape"], [a.astype(object) if a.dtype.kind == "S" else a for a in arrays])

    known = element_spec
    if known is None and index["count"]:
        known = elements.spec(next(run()))
    return Dataset(run, known, index["count"])


def snapshot(dataset: Dataset, path: Any) -> Dataset:
    """What is read from a directory if it was written there, and else written there whole before the first element is given."""
    from tapegrad.tf.data.dataset import Dataset

    def run() -> Iterator[Any]:
        if not os.path.exists(os.path.join(os.fspath(path), _INDEX)):
            save(dataset, path)
        yield from load(path)._make_iterator()

    return Dataset(run, dataset._kept_spec, dataset._cardinality)
