"""`tf.train`: checkpoints, examples, moving averages."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tapegrad.tf.checkpoint_files import CheckpointReader, latest_checkpoint, read_state
from tapegrad.tf.checkpoints import Checkpoint, CheckpointManager
from tapegrad.tf.examples import BytesList, Example, Feature, Features, FloatList, Int64List
from tapegrad.tf.export import missing
from tapegrad.tf.style import S
from tapegrad.tf.variable import Variable

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "Features",
    "FloatList",
    "Int64List",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """A reader of a checkpoint, or of the latest in a directory."""
    path = os.fspath(ckpt_dir_or_file)
    found = latest_checkpoint(path) if os.path.isdir(path) else path
    if found is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
    return CheckpointReader(found)


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Names and shapes in a checkpoint."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """A value of a checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


def checkpoints_iterator(*args: Any, **words: Any) -> Any:
    """Raises NotImplementedError."""
    raise NotImplementedError("tf.train.checkpoints_iterator: ask tf.train.latest_checkpoint now and then")


class CheckpointState:
    """Which checkpoints a directory has."""

    def __init__(self, paths: list[str]) -> None:
        self.all_model_checkpoint_paths = paths
        self.model_checkpoint_path = paths[-1] if paths else ""


def get_checkpoint_state(checkpoint_dir: Any, latest_filename: Any = None) -> CheckpointState | None:
    """Which checkpoints a directory has; None if it has none."""
    found = read_state(os.fspath(checkpoint_dir))
    return CheckpointState(found) if found else None


class ExponentialMovingAverage:
    """Averages of variables in which older values count less and less."""

    def __init__(
        self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"
    ) -> None:
        self._decay, self._updates, self._zero, self._name = decay, num_updates, zero_debias, name
        self._averages: dict[Any, Variable] = {}
        self._count = 0

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    def apply(self, var_list: Any = None) -> None:
        """Take in the present values."""
        decay = float(self._decay)
        if self._updates is not None:
            n = float(self._updates)
            decay = min(decay, (1 + n) / (10 + n))
        self._count += 1
        for v in var_list or []:
            key = v.ref()
            average = self._averages.get(key)
            if average is None:
                average = self._averages[key] = Variable(np.zeros_like(v.array) if self._zero else v.array, trainable=False)
                if not self._zero:
                    continue
            average.assign_sub(S.multiply(1 - decay, S.subtract(average, v)))

    def average(self, var: Any) -> Any:
        """The average of a variable."""
        found = self._averages.get(var.ref())
        if found is None or not self._zero:
            return found
        return S.divide(found, 1 - float(self._decay) ** self._count)


def __getattr__(name: str) -> Any:
    raise AttributeError(missing(__name__, name, globals()), name=name)
