"""Files of checkpoints: a list of names and shapes, and an archive of NumPy's.

`path-1.index` is JSON, `path-1.data-00000-of-00001` a `.npz`; a file `checkpoint` in the directory names the latest.  The
names of the files are TensorFlow's, so scripts find them; the contents are not, and its checkpoints are refused.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

import numpy as np

from tapegrad.tf.errors import DataLossError, NotFoundError

_FORMAT = "tapegrad checkpoint 1"


def save(path: str, values: dict[str, Any], also: dict[str, str] | None = None) -> str:
    """Write values under their names, and which other paths lead to what stands under a path."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    names = sorted(values)
    data = f"{path}.data-00000-of-00001"
    with open(data + ".tmp", "wb") as f:
        np.savez(f, allow_pickle=False, **{str(k): _storable(values[name]) for k, name in enumerate(names)})
    os.replace(data + ".tmp", data)
    listed = [[name, list(np.shape(values[name])), str(np.asarray(values[name]).dtype)] for name in names]
    with open(f"{path}.index.tmp", "w", encoding="utf-8") as f:
        json.dump({"format": _FORMAT, "variables": listed, "also": also or {}}, f)
    os.replace(f"{path}.index.tmp", f"{path}.index")
    return path


def _storable(value: Any) -> np.ndarray[Any, Any]:
    raw = np.asarray(value)
    if raw.dtype.kind == "V":
        return raw.view(np.uint16)
    return raw.astype("S") if raw.dtype.kind == "O" else raw


class CheckpointReader:
    """Reads the values of a checkpoint."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            with open(f"{path}.index", encoding="utf-8") as f:
                index = json.load(f)
        except FileNotFoundError:
            raise NotFoundError(None, None, f"Unsuccessful: Failed to find any matching files for {path}") from None
        except ValueError as error:  # TensorFlow's own index is no text
            raise DataLossError(
                None, None, f"{path}.index is no checkpoint of tapegrad's; those of TensorFlow are not read"
            ) from error
        if index.get("format") != _FORMAT:
            raise DataLossError(None, None, f"{path}.index is no checkpoint of tapegrad's")
        #: Other paths that led to what stands under a path.
        self.also: dict[str, str] = index.get("also", {})
        self._places = {name: (str(k), tuple(shape), dtype) for k, (name, shape, dtype) in enumerate(index["variables"])}

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shapes by name."""
        return {name: list(shape) for name, (_, shape, _) in self._places.items()}

    def get_variable_to_dtype_map(self) -> dict[str, Any]:
        """The dtypes by name."""
        from tapegrad.tf.dtypes import as_dtype

        return {name: as_dtype("string" if dtype == "object" else dtype) for name, (_, _, dtype) in self._places.items()}

    def has_tensor(self, name: str) -> bool:
        """Whether there is a value of that name."""
        return name in self._places

    def get_tensor(self, name: str) -> Any:
        """The value of that name."""
        if name not in self._places:
            raise NotFoundError(None, None, f"Key {name} not found in checkpoint")
        return self.values([name])[name]

    def values(self, names: Any = None) -> dict[str, Any]:
        """The values of these names, or of all."""
        with np.load(f"{self._path}.data-00000-of-00001", allow_pickle=False) as archive:
            found = {}
            for name in self._places if names is None else names:
                key, shape, dtype = self._places[name]
                raw = archive[key]
                if dtype == "bfloat16":
                    import ml_dtypes

                    raw = raw.view(ml_dtypes.bfloat16)
                found[name] = raw.astype(object).reshape(shape) if dtype == "object" else raw
            return found


def write_state(directory: str, paths: list[str]) -> None:
    """Write which checkpoints there are, the latest last."""
    names = [os.path.relpath(p, directory) for p in paths]
    lines = [f'model_checkpoint_path: "{names[-1]}"'] if names else []
    lines += [f'all_model_checkpoint_paths: "{n}"' for n in names]
    with open(os.path.join(directory, "checkpoint"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def read_state(directory: str) -> list[str]:
    """The checkpoints that a directory's file names, the latest last."""
    try:
        with open(os.path.join(directory, "checkpoint"), encoding="utf-8") as f:
            text = f.read()
    except FileNotFoundError:
        return []
    return [os.path.join(directory, name) for name in re.findall(r'^all_model_checkpoint_paths: "(.*)"$', text, re.M)]


def latest_checkpoint(checkpoint_dir: Any, latest_filename: Any = None) -> str | None:
    """The latest checkpoint in a directory; None if there is none."""
    found = read_state(os.fspath(checkpoint_dir))
    return found[-1] if found and os.path.exists(found[-1] + ".index") else None
