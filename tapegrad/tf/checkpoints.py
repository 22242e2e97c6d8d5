"""Checkpoints of the variables that objects hold: what is saved of them, and how it comes back."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tapegrad.tf.checkpoint_files import CheckpointReader, read_state, save, write_state
from tapegrad.tf.module import Module
from tapegrad.tf.random_generator import Generator
from tapegrad.tf.variable import Variable

_ATTRIBUTE = "/.ATTRIBUTES/VARIABLE_VALUE"


# -- what is saved -----------------------------------------------------------------------------------------
def _is_variable(x: Any) -> bool:
    return isinstance(x, Variable) or (hasattr(type(x), "__tapegrad_tensor__") and hasattr(x, "assign"))


def _is_iteration(x: Any) -> bool:
    """Whether it is an iteration over a dataset, of which the place is saved."""
    return hasattr(type(x), "_go_to")


class _Place:
    """The place of an iteration, to save and restore as a variable is."""

    def __init__(self, iteration: Any) -> None:
        self._iteration = iteration

    def numpy(self) -> Any:
        return np.int64(self._iteration._place())

    def assign(self, value: Any) -> None:
        self._iteration._go_to(int(value))


def _children(x: Any) -> list[tuple[str, Any]]:
    """What an object holds, by names that stay the same from run to run."""
    if isinstance(x, Checkpoint):
        return [*sorted(x._objects.items()), ("save_counter", x.save_counter)]
    if isinstance(x, Mapping):
        return [(str(k), v) for k, v in sorted(x.items(), key=lambda kv: str(kv[0]))]
    if isinstance(x, list | tuple):
        return [(str(k), v) for k, v in enumerate(x)]
    if hasattr(x, "variables") and not hasattr(x, "_flatten"):  # a layer, a model or an optimiser of Keras
        found = x.variables
        return [(f"variables/{k}", v) for k, v in enumerate(found() if callable(found) else found)]
    if hasattr(x, "__dict__") and not isinstance(x, type):
        return [(k, v) for k, v in sorted(vars(x).items()) if not k.startswith("__")]
    return []


def walk(
    x: Any, path: str = "", seen: dict[int, str] | None = None, also: dict[str, str] | None = None
) -> Iterator[tuple[str, Any]]:
    """The variables of an object, each once, by their paths; `also` is told where else a path leads to what was met already."""
    seen = {} if seen is None else seen
    if id(x) in seen and also is not None and path != seen[id(x)]:
        also[path] = seen[id(x)]
    if (
        id(x) in seen
        or isinstance(x, str | bytes | int | float | np.ndarray)
        or x is None
        or callable(getattr(x, "__code__", None))
    ):
        return
    seen[id(x)] = path
    if _is_variable(x):
        yield path, x
        return
    if _is_iteration(x):
        yield path, _Place(x)
        return
    for name, child in _children(x):
        leads = isinstance(child, list | tuple | Mapping | Checkpoint | Generator) or hasattr(child, "variables")
        if leads or _is_variable(child) or _is_iteration(child):
            yield from walk(child, f"{path}/{name}" if path else name, seen, also)


def _first_path(name: str, also: dict[str, str]) -> str:
    """The path under which a value was saved, of one of those that led to it."""
    for _ in range(len(also) + 1):
        beyond = next((p for p in also if p and (name == p or name.startswith(p + "/"))), None)
        if beyond is None:
            return name
        name = f"{also[beyond]}{name[len(beyond) :]}".lstrip("/")
    return name


# -- objects ------------------------------------------------------------------------------------------------
class Status:
    """What became of the values of a checkpoint."""

    def __init__(self, unused: list[str], unset: list[str]) -> None:
        self._unused, self._unset = unused, unset

    def assert_consumed(self) -> Status:
        """Raises AssertionError unless each value found its variable, and each variable its value."""
        if self._unused or self._unset:
            raise AssertionError(f"Unresolved values in checkpoint: {self._unused}; variables without a value: {self._unset}")
        return self

    def assert_existing_objects_matched(self) -> Status:
        """Raises AssertionError unless each variable found its value."""
        if self._unset:
            raise AssertionError(f"Variables without a value in the checkpoint: {self._unset}")
        return self

    def assert_nontrivial_match(self) -> Status:
        """The same status."""
        return self

    def expect_partial(self) -> Status:
        """The same status: nothing is reported."""
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Accepted: it is done."""

    def run_restore_ops(self, session: Any = None) -> None:
        """Accepted: it is done."""


class _Waiting:
    """Values of a checkpoint for what a module has no attribute for yet: they are given when it gets one."""

    def __init__(self, values: dict[str, Any], start: str, unused: list[str]) -> None:
        self._values, self._start, self._unused = values, start, unused

    def met(self, name: str, x: Any) -> None:
        """An attribute was set: its variables get their values, and its modules wait for theirs."""
        for path, v in walk(x, f"{self._start}{name}"):
            key = path + _ATTRIBUTE
            if key in self._values:
                v.assign(self._values.pop(key))
                self._unused.remove(key)
        if isinstance(x, Module):
            _await(x, self._values, f"{self._start}{name}/", self._unused)


def _await(module: Module, values: dict[str, Any], start: str, unused: list[str]) -> None:
    """Let a module, and those in its attributes, wait for the values whose names begin so."""
    if any(key.startswith(start) for key in values):
        module._waiting = _Waiting(values, start, unused)
        for name, x in list(vars(module).items()):
            if isinstance(x, Module) and x.__dict__.get("_waiting") is None:
                _await(x, values, f"{start}{name}/", unused)


def _when_built(x: Any, waiting: dict[int, Any]) -> None:
    """Give the variables of a Keras model, layer or optimizer their values as soon as it has made them.

    A layer makes them at its first call, by `_maybe_build`, and an optimizer at its first step, by `build`; what stands in
    the instance goes before what stands in its class.
    """
    name = "_maybe_build" if hasattr(x, "_maybe_build") else "build"
    original = getattr(type(x), name)

    def build(*args: Any, **words: Any) -> Any:
        found = original(x, *args, **words)
        variables = list(x.variables)
        for k in [k for k in waiting if k < len(variables)]:
            variables[k].assign(waiting.pop(k))
        if not waiting:
            x.__dict__.pop(name, None)
        return found

    x.__dict__[name] = build


class Checkpoint:
    """Objects whose variables are saved and restored together, by the names of their attributes."""

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            if not (hasattr(value, "__dict__") or isinstance(value, list | tuple | Mapping) or _is_variable(value)):
                raise ValueError(
                    f"`Checkpoint` was expecting {name} to be a trackable object (an object derived from `Trackable`), got {value!r}"
                )
        self.__dict__["_objects"] = dict(kwargs)
        self.__dict__["_root"] = root
        self.__dict__["_counter"] = None

    def __getattr__(self, name: str) -> Any:
        objects = self.__dict__.get("_objects", {})
        if name in objects:
            return objects[name]
        raise AttributeError(f"this Checkpoint has no {name!r}; it holds {', '.join(objects)}")

    def __setattr__(self, name: str, value: Any) -> None:
        self._objects[name] = value

    @property
    def save_counter(self) -> Variable:
        """How often it was saved."""
        if self.__dict__["_counter"] is None:
            self.__dict__["_counter"] = Variable(np.int64(0), trainable=False, name="save_counter")
        return self.__dict__["_counter"]

    def _variables(self, also: dict[str, str] | None = None) -> dict[str, Any]:
        found = dict(walk(self, also=also))
        if self.__dict__["_root"] is not None:
            found.update(walk(self.__dict__["_root"], "", {id(v): name for name, v in found.items()}, also))
        return found

    def write(self, file_prefix: Any, options: Any = None) -> str:
        """Save to files that begin with this name."""
        also: dict[str, str] = {}
        values = {name + _ATTRIBUTE: v.numpy() for name, v in self._variables(also).items()}
        return save(os.fspath(file_prefix), values, also)

    def save(self, file_prefix: Any, options: Any = None) -> str:
        """Save to files that begin with this name and a number that counts."""
        count = int(self.save_counter.assign_add(np.int64(1)))
        path = self.write(f"{os.fspath(file_prefix)}-{count}")
        directory = os.path.dirname(path) or "."
        write_state(directory, [p for p in read_state(directory) if p != path] + [path])
        return path

    def read(self, save_path: Any, options: Any = None) -> Status:
        """Restore from files that `write` made."""
        return self.restore(save_path, options)

    def restore(self, save_path: Any, options: Any = None) -> Status:
        """Give variables the values that they had when they were saved; nothing for None."""
        if save_path is None:
            return Status([], sorted(self._variables()))
        reader = CheckpointReader(os.fspath(save_path))
        values = reader.values()
        self._build(values)
        here = {name: (v, _first_path(name, reader.also) + _ATTRIBUTE) for name, v in self._variables().items()}
        unset = [name for name, (_, key) in here.items() if key not in values]
        taken = {key for _, key in here.values()}
        for v, key in here.values():
            if key in values:
                v.assign(values[key])
        values = {key: value for key, value in values.items() if key not in taken}
        unused = sorted(values)
        self._restore_later(values, unused)
        return Status(unused, unset)

    def _restore_later(self, values: dict[str, Any], unused: list[str]) -> None:
        """Keep values for variables that modules, models and optimizers have not made yet, until they make them."""
        roots = [("", self.__dict__["_root"])] if self.__dict__["_root"] is not None else []
        for name, x in [*roots, *self._objects.items()]:
            if isinstance(x, Module):
                _await(x, values, f"{name}/" if name else "", unused)
            start = f"{name}/variables/" if name else "variables/"
            waiting = {
                int(key[len(start) : -len(_ATTRIBUTE)]): key
                for key in values
                if key.startswith(start) and key[len(start) : -len(_ATTRIBUTE)].isdigit()
            }
            if waiting and not getattr(x, "built", True):
                _when_built(x, {k: values[key] for k, key in waiting.items()})

    def _build(self, values: dict[str, Any]) -> None:
        """Let an optimiser make its variables, where the checkpoint has values for them and it has not met a model yet."""
        for name, x in self._objects.items():
            known = sum(1 for key in values if key.startswith(f"{name}/variables/"))
            if hasattr(x, "apply_gradients") and hasattr(x, "build") and not getattr(x, "built", True):
                for other in self._objects.values():
                    weights = getattr(other, "trainable_variables", None)
                    if other is not x and weights and known > len(x.variables):
                        x.build(list(weights))
                        break


class CheckpointManager:
    """Saves a checkpoint again and again in a directory, and keeps the latest few."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Any = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError("Expected a positive integer or `None` for `max_to_keep`")
        self._checkpoint = checkpoint
        self._directory = os.fspath(directory)
        self._most = max_to_keep
        self._every = keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._step, self._interval, self._last = step_counter, checkpoint_interval, last_checkpoint_step
        self._init = init_fn
        self._paths = [p for p in read_state(self._directory) if os.path.exists(p + ".index")]
        self._kept = time.time()

    @property
    def directory(self) -> str:
        """Where checkpoints are."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """What is saved."""
        return self._checkpoint

    @property
    def checkpoints(self) -> list[str]:
        """The checkpoints that are kept, the latest last."""
        return list(self._paths)

    @property
    def latest_checkpoint(self) -> str | None:
        """The latest checkpoint."""
        return self._paths[-1] if self._paths else None

    @property
    def checkpoint_interval(self) -> int | None:
        """How many steps lie between checkpoints, at least."""
        return self._interval

    def save(self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None) -> str | None:
        """Save, and delete what is more than is to be kept."""
        if self._interval is not None and check_interval and self._step is not None:
            step = int(self._step)
            if self._last is not None and step < self._last + self._interval:
                return None
            self._last = step
        if checkpoint_number is None:
            checkpoint_number = int(self._checkpoint.save_counter.assign_add(np.int64(1)))
        else:
            self._checkpoint.save_counter.assign_add(np.int64(1))
        path = self._checkpoint.write(f"{self._prefix}-{int(checkpoint_number)}")
        self._paths = [p for p in self._paths if p != path] + [path]
        while self._most is not None and len(self._paths) > self._most:
            self._drop(self._paths.pop(0))
        write_state(self._directory, self._paths)
        return path

    def _drop(self, path: str) -> None:
        if self._every is not None and time.time() - self._kept >= 3600 * self._every:
            self._kept = time.time()
            return
        for suffix in (".index", ".data-00000-of-00001"):
            if os.path.exists(path + suffix):
                os.remove(path + suffix)

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint; without one, call the function that was given for that."""
        if self.latest_checkpoint is not None:
            self._checkpoint.restore(self.latest_checkpoint)
            return self.latest_checkpoint
        if self._init is not None:
            self._init()
        return None

    def sync(self) -> None:
        """Accepted: everything is written at once."""
