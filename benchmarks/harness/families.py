"""Inside a child process: loading its library, finding a workload's implementation, converting the outputs."""

from __future__ import annotations

import ctypes
import glob
import os
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from benchmarks.harness.case import EAGER, Arrays, Case, Post, Step, Unavailable, Wrap
from benchmarks.harness.peers import BY_NAME

if TYPE_CHECKING:
    import numpy as np

Loaded = tuple[Any, dict[str, Any]]


def _load_numpy(threads: int) -> Loaded:
    import numpy as np

    return np, {"version": np.__version__, "blas": _openblas(np), "threads": "1 (ufuncs); BLAS see blas"}


def _load_torch(threads: int) -> Loaded:
    import torch

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(threads)
    used = f"intra-op {torch.get_num_threads()}, inter-op {torch.get_num_interop_threads()}"
    return torch, {"version": torch.__version__, "threads": used}


def _load_tf(threads: int) -> Loaded:
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    config = tf.config.threading
    config.set_intra_op_parallelism_threads(threads)
    config.set_inter_op_parallelism_threads(threads)
    used = f"intra-op {config.get_intra_op_parallelism_threads()}, inter-op {config.get_inter_op_parallelism_threads()}"
    return tf, {"version": tf.__version__, "threads": used}


def _load_jax(threads: int) -> Loaded:
    import jax
    import jax.numpy

    return jax, {"version": jax.__version__, "threads": f"XLA CPU pool {os.environ.get('PJRT_NPROC')}"}


def _load_autograd(threads: int) -> Loaded:
    from importlib.metadata import version

    import autograd
    import autograd.numpy
    import autograd.scipy.special

    return autograd, {"version": version("autograd"), "threads": "as numpy"}


def _load_mygrad(threads: int) -> Loaded:
    import mygrad as mg

    mg.turn_memory_guarding_off()
    return mg, {"version": mg.__version__, "threads": "as numpy"}


def _load_tapegrad(threads: int) -> Loaded:
    from benchmarks import tapegrad_peer

    lib = tapegrad_peer.Tapegrad("numpy", threads)
    return lib, lib.info


def _load_tapegrad_tf(threads: int) -> Loaded:
    from benchmarks import tapegrad_peer

    lib = tapegrad_peer.Tapegrad("tensorflow", threads)
    return lib, lib.info


_LOADERS: dict[str, Callable[[int], Loaded]] = {
    "numpy": _load_numpy,
    "torch": _load_torch,
    "tf": _load_tf,
    "jax": _load_jax,
    "autograd": _load_autograd,
    "mygrad": _load_mygrad,
    "tapegrad": _load_tapegrad,
    "tapegrad_torch": _load_tapegrad,  # apart: where the facade is imported, its recorder is active beside every tape
    "tapegrad_tf": _load_tapegrad_tf,
}


def _wrap(peer: str, lib: Any) -> Wrap:
    """How a peer of TensorFlow or JAX compiles its step."""
    if peer == "tf_function":
        return Wrap("function", lambda f: lib.function(f, autograph=False))
    if peer == "tf_xla":
        return Wrap("xla", lambda f: lib.function(f, autograph=False, jit_compile=True))
    if peer == "jax_jit":
        return Wrap("jit", lib.jit)
    if peer == "jax_eager":
        return Wrap("eager", lambda f, **_: f)  # jit's options mean nothing here
    return EAGER


class Family:
    """A loaded library."""

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        try:
            self.lib, self.info = _LOADERS[name](threads)
        except ModuleNotFoundError as e:
            raise Unavailable(f"{e.name} is not importable") from None

    def implementation(self, peer: str, module: ModuleType, c: Case, data: Arrays) -> tuple[Step, Post | None]:
        """The step of one peer for one case, and what brings its outputs into the reference's layout."""
        for table in (getattr(module, "SKIP", {}), c.skip):
            if peer in table:
                raise Unavailable(table[peer])
        if peer == "jax_eager" and not getattr(module, "JAX_EAGER", False):
            raise Unavailable("")  # hundreds of microseconds an op: tiny sizes only
        if self.name.startswith("tapegrad"):
            made = self.lib.implementation(peer, module, c, data)
        else:
            make = getattr(module, BY_NAME[peer].function, None)
            if make is None:
                raise Unavailable("")
            if self.name == "numpy":
                made = make(c, data)
            elif self.name in ("tf", "jax"):
                made = make(self.lib, c, data, _wrap(peer, self.lib))
            else:
                made = make(self.lib, c, data)
        return made if isinstance(made, tuple) else (made, None)

    def to_numpy(self, t: Any) -> np.ndarray:
        """A copy of one output as an ndarray; sparse gradients become dense."""
        import numpy as np

        if isinstance(t, (np.ndarray, np.generic, float)):
            return np.array(t)
        if self.name.startswith("tapegrad"):
            from benchmarks import tapegrad_peer

            return tapegrad_peer.to_numpy(t)
        if self.name == "torch":
            t = t.detach()
            return np.array(t.to_dense() if t.is_sparse else t)
        if self.name == "mygrad":
            return np.array(t.data)
        if self.name == "tf" and isinstance(t, self.lib.IndexedSlices):
            t = self.lib.convert_to_tensor(t)
        return np.array(t)

    def lacks(self, error: Exception) -> str | None:
        """The reason to skip a case, where the error only says that tapegrad does not have a name yet."""
        if not self.name.startswith("tapegrad"):
            return None
        from benchmarks import tapegrad_peer

        return tapegrad_peer.lacks(error)


def _openblas(np: ModuleType) -> str:
    """NumPy's OpenBLAS: its kernel and thread count, where it ships inside the wheel."""
    libs = os.path.join(os.path.dirname(os.path.dirname(str(np.__file__))), "numpy.libs", "*openblas*")
    for file in glob.glob(libs):
        try:
            lib = ctypes.CDLL(file)
            core = lib.scipy_openblas_get_corename64_
            core.restype = ctypes.c_char_p
            return f"OpenBLAS {core().decode()}, {lib.scipy_openblas_get_num_threads64_()} threads"
        except (OSError, AttributeError):
            continue
    return "unknown"
