"""The workloads, in the order in which they are run."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

ORDER = (
    "op_overhead",
    "mlp",
    "modules",
    "lstm",
    "recurrent",
    "deep_chain",
    "large_elementwise",
    "matmul",
    "second_order",
    "transforms",
    "conv",
    "broadcasting",
    "indexing",
    "mutation",
)
# Their first case has a memory table, for which the module names a small size (MEMORY) as warm-up.
MEASURED_FOR_MEMORY = ("deep_chain", "large_elementwise")


def load(name: str) -> ModuleType:
    """The workload of that name; its contents are described in `benchmarks.harness.case`."""
    return import_module(f"benchmarks.workloads.{name}")
