"""`autocast`: inside, matrix products, convolutions and their like are computed in a shorter dtype.

Nothing is asked of these ops while no autocast is in force: entering one swaps their code for one that casts first.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.registry.entry import _first_call
from tapegrad.registry.op import OPS
from tapegrad.torch._devices import device_of, gpus
from tapegrad.torch._dtypes import bfloat16, float16
from tapegrad.torch._dtypes import dtype as _dtype
from tapegrad.torch._elsewhere import lend
from tapegrad.torch._tensor import STYLE
from tapegrad.torch.amp._functions import Table, lengthened

#: The ops that are computed in the shorter dtype.
_SHORTER = (
    "matmul", "dense", "matmul_adjoint", "linear", "contract", "inner", "tensordot", "outer", "conv", "conv_transpose", "einsum_of",
    "vecdot", "lstm_layer",
)  # fmt: skip
_DOUBLE = np.dtype(np.float64)
_DEVICES = ("cpu", "cuda", "xpu", "mps", "hpu", "mtia", "xla", "ipu")


class _Local(threading.local):
    def __init__(self) -> None:
        self.on: dict[str, bool] = {}
        self.dtypes: dict[str, _dtype] = {}

    def dtype_of(self, kind: str) -> _dtype:
        return self.dtypes.get(kind, bfloat16 if kind == "cpu" else float16)


_LOCAL = lend(_Local())
_LOCK = threading.Lock()
_IN_FORCE = [0]


def _kind_of(args: tuple[Any, ...]) -> str:
    """The kind of the device that computes with these arguments."""
    return next((device_of(a.array).type for a in args if isinstance(a, Core)), "cpu")


def _casting(*args: Any, **params: Any) -> Any:
    return _cast_and_call(_plain, args, params)  # type: ignore[name-defined]  # noqa: F821  each has its own


def _cast_and_call(plain: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    kind = "cpu" if not _LOCAL.on.get("cuda") else _kind_of(args)
    if not _LOCAL.on.get(kind):
        return plain(*args, **params)
    short = _LOCAL.dtype_of(kind).numpy
    was, _LOCAL.on = _LOCAL.on, {}
    try:
        return plain(*(_short(a, short) for a in args), **{k: _short(v, short) for k, v in params.items()})
    finally:
        _LOCAL.on = was


def _call(key: str, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """A function of PyTorch's style, on arguments as autocast wants them."""
    row, treatment = _FUNCTIONS.rows[key]
    kind = "cpu" if not _LOCAL.on.get("cuda") else _kind_of(args)
    if not _LOCAL.on.get(kind) or words.get("out") is not None:
        return row.plain(*args, **words)
    if treatment == "short":
        short = _LOCAL.dtype_of(kind).numpy
        args, words = tuple(_short(a, short) for a in args), {k: _short(v, short) for k, v in words.items()}
    elif treatment == "full":
        args, words = tuple(map(lengthened, args)), {k: lengthened(v) for k, v in words.items()}
    was, _LOCAL.on = _LOCAL.on, {}
    try:
        return row.plain(*args, **words)
    finally:
        _LOCAL.on = was


_FUNCTIONS = Table(_call)


def _short(x: Any, short: Any) -> Any:
    if isinstance(x, list | tuple) and any(isinstance(v, Core) for v in x):
        return [_short(v, short) for v in x]
    if not isinstance(x, Core):
        return x
    have = x.array.dtype
    return STYLE.astype(x, short) if have.kind in "fV" and have not in (short, _DOUBLE) else x


def _swap(on: bool) -> None:
    """Put code that casts in the place of the ops' and functions' own, or theirs back."""
    _FUNCTIONS.swap(on)
    for name in _SHORTER:
        entry = vars(STYLE).get(name)
        op = OPS.get(name)
        if entry is None or op is None:
            continue
        env = entry.__globals__
        if on and "_plain" not in env:
            if env.get("_made") is entry and "OP" not in env:
                _first_call(op, entry, STYLE)
            plain = FunctionType(entry.__code__, env, name, entry.__defaults__)
            plain.__kwdefaults__ = entry.__kwdefaults__
            env["_plain"], env["_cast_and_call"] = plain, _cast_and_call
        if on:
            entry.__code__ = _casting.__code__
            entry.__defaults__ = entry.__kwdefaults__ = None
        elif "_plain" in env:
            plain = env["_plain"]
            entry.__code__ = plain.__code__
            entry.__defaults__, entry.__kwdefaults__ = plain.__defaults__, plain.__kwdefaults__


def _enter(on: dict[str, bool]) -> None:
    with _LOCK:
        had, has = any(_LOCAL.on.values()), any(on.values())
        _LOCAL.on = on
        if has and not had:
            _IN_FORCE[0] += 1
            if _IN_FORCE[0] == 1:
                _swap(True)
        elif had and not has:
            _IN_FORCE[0] -= 1
            if not _IN_FORCE[0]:
                _swap(False)


class autocast:
    """A context, or a decorator, inside which products are computed in `dtype`."""

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in _DEVICES:
            from tapegrad.torch._devices import device

            device(device_type)  # refuses what is no device at all
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        if device_type == "cuda" and enabled and not gpus():
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", UserWarning, stacklevel=2)
            enabled = False
        self.device = device_type
        self.fast_dtype = _LOCAL.dtype_of(device_type) if dtype is None else dtype
        if enabled and device_type == "cpu" and self.fast_dtype not in (bfloat16, float16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports dtype of "
                "torch.bfloat16, torch.float16 currently.",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before: list[tuple[dict[str, bool], dict[str, _dtype]]] = []

    def __enter__(self) -> autocast:
        self._before.append((_LOCAL.on, dict(_LOCAL.dtypes)))
        _LOCAL.dtypes[self.device] = self.fast_dtype
        _enter({**_LOCAL.on, self.device: self._enabled})
        return self

    def __exit__(self, *_: object) -> None:
        on, dtypes = self._before.pop()
        _LOCAL.dtypes = dtypes
        _enter(on)

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(*args: Any, **words: Any) -> Any:
            with self:
                return function(*args, **words)

        return wrapped


def is_autocast_available(device_type: str) -> bool:
    """Whether there is an autocast for this kind of device."""
    return device_type in _DEVICES


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether an autocast is in force on this thread."""
    return bool(_LOCAL.on.get(device_type))


def is_autocast_cpu_enabled() -> bool:
    """The old name of `is_autocast_enabled("cpu")`."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """The old name of `set_autocast_enabled("cpu", enabled)`."""
    set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """The old name of `set_autocast_dtype("cpu", dtype)`."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """The old name of `set_autocast_dtype("cuda", dtype)`."""
    set_autocast_dtype("cuda", dtype)


def clear_autocast_cache() -> None:
    """Nothing is cached here."""


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Nothing is cached here."""


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast on this thread."""
    kind, on = ("cuda", device_type) if enabled is None else (device_type, enabled)
    _enter({**_LOCAL.on, kind: bool(on)})


def get_autocast_dtype(device_type: str) -> _dtype:
    """The shorter dtype for this kind of device."""
    return _LOCAL.dtype_of(device_type)


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the shorter dtype for this kind of device."""
    _LOCAL.dtypes[device_type] = dtype


def get_autocast_gpu_dtype() -> _dtype:
    """The shorter dtype for GPUs."""
    return _LOCAL.dtype_of("cuda")


def get_autocast_cpu_dtype() -> _dtype:
    """The shorter dtype for CPUs."""
    return _LOCAL.dtype_of("cpu")


def is_autocast_cache_enabled() -> bool:
    """Nothing is cached here."""
    return True


def snapshot() -> Any:
    """What is in force on this thread, for `restored`."""
    return dict(_LOCAL.on), dict(_LOCAL.dtypes)


@contextlib.contextmanager
def restored(state: Any) -> Iterator[None]:
    """Inside, what was in force when the snapshot was taken."""
    before = snapshot()
    _LOCAL.dtypes = dict(state[1])
    _enter(dict(state[0]))
    try:
        yield
    finally:
        _LOCAL.dtypes = before[1]
        _enter(before[0])


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """For the `forward` of a Function: it runs with the autocast that is in force, or without and on cast inputs."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def wrapped(*args: Any, **words: Any) -> Any:
        args[0]._dtype = _LOCAL.dtype_of(device_type)
        if cast_inputs is None:
            args[0]._fwd_used_autocast = is_autocast_enabled(device_type)
            return fwd(*args, **words)
        args[0]._fwd_used_autocast = False
        if not is_autocast_enabled(device_type):
            return fwd(*args, **words)
        with autocast(device_type, enabled=False):
            return fwd(*(_short(a, cast_inputs.numpy) for a in args), **words)

    return wrapped


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """For the `backward` of a Function: it runs with the autocast of its `forward`."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def wrapped(*args: Any, **words: Any) -> Any:
        with autocast(device_type, dtype=args[0]._dtype, enabled=args[0]._fwd_used_autocast):
            return bwd(*args, **words)

    return wrapped
