"""The peers: which process runs them, which function of a workload they run, and in what environment.

Every family is one child process that imports nothing but its own library (and NumPy), so that thread pools,
allocators and garbage collection do not mix. Peers of one family share it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """One way to run a workload."""

    name: str
    family: str
    kind: str  # limit | eager | compiled
    function: str = ""  # of the workload module; none for tapegrad, whose functions are in tapegrad_peer
    note: str = ""


PEERS = (
    Peer("numpy_hand", "numpy", "limit", "numpy_hand", "hand-written forward and backward, one kernel per op"),
    Peer("numpy_out", "numpy", "limit", "numpy_out", "the same with buffers reused through out="),
    Peer("torch", "torch", "eager", "torch"),
    Peer("tf_eager", "tf", "eager", "tf"),
    Peer("tf_function", "tf", "compiled", "tf"),
    Peer("tf_xla", "tf", "compiled", "tf"),
    Peer("jax_jit", "jax", "compiled", "jax"),
    Peer("jax_eager", "jax", "eager", "jax"),
    Peer("autograd", "autograd", "eager", "autograd", "HIPS autograd"),
    Peer("mygrad", "mygrad", "eager", "mygrad", "memory guarding off, its fastest setting"),
    Peer("tg_numpy", "tapegrad", "eager", note="tapegrad, NumPy kernels"),
    Peer("tg_torch", "tapegrad_torch", "eager", "torch", "the torch implementations on tapegrad.torch"),
    Peer("tg_tf", "tapegrad_tf", "eager", note="tapegrad, TensorFlow kernels, eager"),
    Peer("tg_function", "tapegrad_tf", "compiled", note="tapegrad step through tf.function"),
    Peer("tg_xla", "tapegrad_tf", "compiled", note="tapegrad step through XLA"),
)
BY_NAME = {p.name: p for p in PEERS}
FAMILIES = tuple(dict.fromkeys(p.family for p in PEERS))


@dataclass(frozen=True)
class Package:
    """What is installed and imported to have a library."""

    distribution: str
    module: str
    family: str  # whose interpreter imports it


IMPORTS = {
    "numpy": Package("numpy", "numpy", "numpy"),
    "torch": Package("torch", "torch", "torch"),
    "tensorflow": Package("tensorflow", "tensorflow", "tf"),
    "jax": Package("jax", "jax.numpy", "jax"),
    "autograd": Package("autograd", "autograd.numpy", "autograd"),
    "mygrad": Package("mygrad", "mygrad", "mygrad"),
    "tinygrad": Package("tinygrad", "tinygrad", "tinygrad"),
    "tapegrad": Package("tapegrad", "tapegrad", "tapegrad"),
}


def environment(threads: int) -> dict[str, str]:
    """The environment of a child process: thread counts are set before the libraries load."""
    env = dict(os.environ)
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed library comes with its bytecode, a source tree makes it once
    for key in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "PJRT_NPROC",
        "NPROC",
        "TF_NUM_INTRAOP_THREADS",
        "TF_NUM_INTEROP_THREADS",
    ):
        env[key] = str(threads)
    env["TF_CPP_MIN_LOG_LEVEL"] = "3"
    env["CUDA_VISIBLE_DEVICES"] = "-1"  # this harness measures CPUs
    env["JAX_PLATFORMS"] = "cpu"
    env.pop("JAX_ENABLE_X64", None)
    env.pop("PYTHONSAFEPATH", None)  # the children find this package in their working directory
    if threads == 1:
        env["XLA_FLAGS"] = (env.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false").strip()
    return env
