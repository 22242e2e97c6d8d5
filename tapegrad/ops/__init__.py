"""Every differentiable op, declared once: its value, its derivative, where it is defined, how it is tested.

To add one, write a function of a kernel namespace and arrays, and give the derivative in a second statement
(`tapegrad.registry` says how); tests, documentation, forward mode and batching come from the declaration::

    @elementwise(domain=(-3, 3), real=True)
    def softsign(xp, x, /):
        \"\"\"x / (1 + abs(x)) for each element.\"\"\"
        return x / (1 + xp.abs(x))
    softsign.partials(x=lambda F, x: 1 / (1 + F.abs(x)) ** 2)
"""

import importlib

from tapegrad.ops import (
    arithmetic,
    creation,
    einsum,
    functions,
    indexing,
    parts,
    products,
    reductions,
    repeating,
    running,
    shape,
    softmax,
    sorting,
    steps,
)

__all__ = [
    "arithmetic",
    "creation",
    "einsum",
    "functions",
    "indexing",
    "load_all",
    "parts",
    "products",
    "reductions",
    "repeating",
    "running",
    "shape",
    "softmax",
    "sorting",
    "steps",
]

#: Families that are declared when they are first used, by the module of that name: their import takes as long as all of
#: the above.
_FAMILIES = (
    *("bessel", "determinants", "entropies", "factorisations", "fft", "incomplete", "matrix_functions", "nn", "norms", "picking"),
    *("polynomials", "samples", "sets", "signals", "solvers", "special", "statistics"),
)


def load_all() -> None:
    """Declare every op, for those who go through the whole registry: laws, documentation, stubs."""
    for family in _FAMILIES:
        importlib.import_module(f"tapegrad.ops.{family}")
