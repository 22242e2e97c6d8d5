"""Names that say where something runs, what it is called, and what is shown of errors."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.tf.export import export
from tapegrad.tf.names import _state


@export("DeviceSpec")
class DeviceSpec:
    """A device by its parts: a job, a replica, a task, a kind and a number."""

    def __init__(
        self, job: Any = None, replica: Any = None, task: Any = None, device_type: Any = None, device_index: Any = None
    ) -> None:
        self.job, self.replica, self.task = job, replica, task
        self.device_type = None if device_type is None else str(device_type).upper()
        self.device_index = device_index

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """The parts of a name such as "/job:worker/task:0/device:GPU:1"."""
        found: dict[str, Any] = {}
        for part in filter(None, spec.split("/")):
            key, _, rest = part.partition(":")
            if key == "job":
                found["job"] = rest
            elif key in ("replica", "task"):
                found[key] = int(rest)
            elif key == "device" or key.upper() in ("CPU", "GPU"):
                kind, _, number = rest.partition(":") if key == "device" else (key, "", rest)
                found["device_type"] = None if kind == "*" else kind
                found["device_index"] = int(number) if number not in ("", "*") else None
            else:
                raise ValueError(f"Unknown attribute '{key}' is encountered while parsing the device spec: '{spec}'.")
        return cls(**found)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Another, of this name."""
        return type(self).from_string(spec)

    def to_string(self) -> str:
        """The name."""
        text = f"/job:{self.job}" if self.job is not None else ""
        text += "".join(f"/{k}:{v}" for k, v in (("replica", self.replica), ("task", self.task)) if v is not None)
        if self.device_type is not None:
            text += f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}"
        return text

    def replace(self, **words: Any) -> DeviceSpec:
        """Another, with other parts."""
        return type(self)(**{**vars(self), **words})

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Another, with the parts that `dev` says."""
        return self.replace(**{k: v for k, v in vars(dev).items() if v is not None})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"DeviceSpec({self.to_string()!r})"


@export("get_current_name_scope")
def get_current_name_scope() -> str:
    """The name scope that is open, or an empty text."""
    return _state.stack[-1].rstrip("/") if _state.stack else ""


@export("make_ndarray")
def make_ndarray(tensor: Any) -> Any:
    """The values of a tensor, as an array of NumPy's."""
    from tapegrad.tf.convert import host

    return np.array(host(tensor))


@export("CriticalSection")
class CriticalSection:
    """Functions that never run at once: `execute(f)` waits until no other runs."""

    def __init__(self, name: str | None = None, shared_name: Any = None, critical_section_def: Any = None, import_scope: Any = None):
        self.name = name or "critical_section"
        self._lock = threading.RLock()

    def execute(self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        """What the function gives."""
        if not callable(fn):
            raise ValueError("fn must be callable.")
        with self._lock:
            return fn()


# -- what is shown of errors ----------------------------------------------------------------------------------------
_filtering = [True]


@export("debugging.enable_traceback_filtering")
def enable_traceback_filtering() -> None:
    """Kept, and shown by `is_traceback_filtering_enabled`; tracebacks are whole either way."""
    _filtering[0] = True


@export("debugging.disable_traceback_filtering")
def disable_traceback_filtering() -> None:
    """Kept, and shown by `is_traceback_filtering_enabled`; tracebacks are whole either way."""
    _filtering[0] = False


@export("debugging.is_traceback_filtering_enabled")
def is_traceback_filtering_enabled() -> bool:
    """What was set last."""
    return _filtering[0]


@export("debugging.get_log_device_placement")
def get_log_device_placement() -> bool:
    """False: nothing is logged."""
    return False


# -- tests ------------------------------------------------------------------------------------------------------------
@export("test.is_built_with_xla", "test.is_cpu_target_available")
def is_built_with_xla(target: str = "x86_64") -> bool:
    """Whether TensorFlow's kernels are at hand, which XLA compiles."""
    import importlib.util

    return importlib.util.find_spec("tensorflow") is not None


@export("test.disable_with_predicate")
def disable_with_predicate(pred: Callable[[], bool], skip_message: str) -> Any:
    """A decorator of a test, which is skipped where the predicate holds."""

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def run(self: Any, *args: Any, **words: Any) -> Any:
            if pred():
                self.skipTest(skip_message)
            return test(self, *args, **words)

        return run

    return decorate
