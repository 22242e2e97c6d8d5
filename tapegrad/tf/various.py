"""What is left: devices, configuration, what is known of tensors, derivatives by differences."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.registry.places import has_values
from tapegrad.tf import nest
from tapegrad.tf.convert import convert
from tapegrad.tf.export import export
from tapegrad.tf.tensor import Tensor


# -- devices and configuration -----------------------------------------------------------------------------
class PhysicalDevice(NamedTuple):
    """A device of this machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as a program sees it."""

    name: str
    device_type: str


@export("device")
class device:
    """A context of a device; NumPy's kernels run on the CPU whatever it says."""

    def __init__(self, device_name: Any) -> None:
        self._name = device_name

    def __enter__(self) -> device:
        return self

    def __exit__(self, *error: object) -> None:
        return None


@export("config.list_physical_devices", "config.experimental.list_physical_devices")
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The CPU: NumPy's kernels use no other device."""
    return [PhysicalDevice("/physical_device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


@export("config.list_logical_devices", "config.experimental.list_logical_devices")
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The CPU."""
    return [LogicalDevice("/device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


@export("config.get_visible_devices", "config.experimental.get_visible_devices")
def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The CPU."""
    return list_physical_devices(device_type)


@export("config.set_visible_devices", "config.experimental.set_visible_devices")
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Accepted: there is the CPU alone."""


@export("config.experimental.set_memory_growth")
def set_memory_growth(device: Any, enable: bool) -> None:
    """Accepted: memory is taken as it is needed."""


@export("config.experimental.get_memory_growth")
def get_memory_growth(device: Any) -> bool:
    """True."""
    return True


@export("config.experimental.get_memory_info")
def get_memory_info(device: Any) -> dict[str, int]:
    """Raises ValueError: nobody counts the memory of the CPU."""
    raise ValueError(f"get_memory_info({device!r}): no memory of this device is counted")


@export("config.set_logical_device_configuration", "config.experimental.set_virtual_device_configuration")
def set_logical_device_configuration(device: Any, logical_devices: Any) -> None:
    """Accepted: a device is not divided."""


@export("config.LogicalDeviceConfiguration", "config.experimental.VirtualDeviceConfiguration")
class LogicalDeviceConfiguration:
    """How a device would be divided."""

    def __init__(
        self, memory_limit: Any = None, experimental_priority: Any = None, experimental_device_ordinal: Any = None
    ) -> None:
        self.memory_limit = memory_limit


@export("config.get_logical_device_configuration", "config.experimental.get_virtual_device_configuration")
def get_logical_device_configuration(device: Any) -> None:
    """None: a device is not divided."""


@export("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Accepted."""


@export("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """True."""
    return True


@export("config.experimental.enable_op_determinism")
def enable_op_determinism() -> None:
    """Accepted: NumPy's kernels give the same numbers each time."""


@export("config.experimental.enable_tensor_float_32_execution")
def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Accepted: there is none."""


@export("config.optimizer.set_jit")
def set_jit(enabled: Any) -> None:
    """Accepted: nothing is compiled."""


@export("config.optimizer.set_experimental_options")
def set_experimental_options(options: Any) -> None:
    """Accepted: there is no graph to optimise."""


@export("config.threading.set_intra_op_parallelism_threads", "config.threading.set_inter_op_parallelism_threads")
def set_threads(num_threads: int) -> None:
    """Accepted: NumPy's libraries choose their threads by environment variables."""


@export("test.is_built_with_cuda", "test.is_gpu_available", "test.is_built_with_gpu_support", "test.is_built_with_rocm")
def no(*args: Any, **kwargs: Any) -> bool:
    """False: there are NumPy's kernels alone."""
    return False


@export("test.gpu_device_name")
def gpu_device_name() -> str:
    """Empty: there is no GPU."""
    return ""


@export("debugging.set_log_device_placement", "debugging.enable_check_numerics", "debugging.disable_check_numerics")
def accepted(*args: Any, **kwargs: Any) -> None:
    """Accepted, without effect."""


@export("get_static_value")
def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The values, if they are known: an array, or a scalar of NumPy's."""
    x = convert(tensor)
    return np.array(x.array)[()] if has_values(x.array) else None


@export("is_symbolic_tensor")
def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether it is a tensor whose values are not known, for a function is being traced."""
    return isinstance(tensor, core.Tensor) and not has_values(tensor.read()[0])


@export("timestamp")
def timestamp(name: str | None = None) -> Tensor:
    """Seconds since 1970."""
    return convert(np.float64(time.time()))


@export("experimental.dlpack.to_dlpack")
def to_dlpack(tf_tensor: Any) -> Any:
    """The values as a capsule that another library takes."""
    return convert(tf_tensor).__dlpack__()


class _Capsule:
    """A capsule by itself, in the clothes that `from_dlpack` of the array API wants."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **words: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the host


@export("experimental.dlpack.from_dlpack")
def from_dlpack(dlcapsule: Any) -> Tensor:
    """A tensor of the values in a capsule, or of what gives one."""
    return convert(np.from_dlpack(dlcapsule if hasattr(dlcapsule, "__dlpack__") else _Capsule(dlcapsule)))


@export("get_logger")
def get_logger() -> Any:
    """The logger to which warnings go."""
    import logging

    return logging.getLogger("tapegrad")


@export("sysconfig.get_build_info")
def get_build_info() -> dict[str, Any]:
    """What kernels there are."""
    return {"is_cuda_build": False, "is_rocm_build": False, "is_tensorrt_build": False}


@export("test.compute_gradient")
def compute_gradient(f: Any, x: Any, delta: float | None = None) -> Any:
    """The Jacobians of a function of several tensors, by tapes and by differences: two lists of matrices."""
    from tapegrad.tf.tape import GradientTape

    xs = [convert(v) for v in x]
    theory, numeric = [], []
    for k, v in enumerate(xs):
        with GradientTape() as tape:
            tape.watch(v)
            y = f(*xs)
        jac = tape.jacobian(y, v)
        size, count = int(y.array.size), int(v.array.size)
        theory.append(np.zeros((size, count)) if jac is None else np.reshape(jac.numpy(), (size, count)))
        step = delta or 1.0 / 1024
        found = np.zeros((size, count), y.array.dtype)
        for i in range(count):
            sides = []
            for sign in (1, -1):
                moved = np.array(v.array, copy=True).reshape(-1)
                moved[i] += sign * step
                args = [*xs[:k], convert(moved.reshape(v.array.shape)), *xs[k + 1 :]]
                sides.append(np.asarray(f(*args).numpy()).reshape(-1))
            found[:, i] = (sides[0] - sides[1]) / (2 * step)
        numeric.append(found)
    return theory, numeric


@export("nest.map_structure_up_to")
def map_structure_up_to(shallow_structure: Any, func: Any, *structures: Any) -> Any:
    """The function on what stands in the place of the leaves of a shallower structure."""

    def part(shallow: Any, *deep: Any) -> Any:
        if not nest.is_nested(shallow):
            return func(*deep)
        if isinstance(shallow, dict):
            return {k: part(v, *(d[k] for d in deep)) for k, v in shallow.items()}
        return type(shallow)([part(v, *(d[i] for d in deep)) for i, v in enumerate(shallow)])

    return part(shallow_structure, *structures)


