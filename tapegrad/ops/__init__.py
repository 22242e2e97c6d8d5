"""Every differentiable op, declared once: its value, its derivative, where it is defined, how it is tested.

To add one, write a function of a kernel namespace and arrays, and give the derivative in a second statement
(`tapegrad.registry` says how); tests, documentation, forward mode and batching come from the declaration::

    @elementwise(domain=(-3, 3))
    def softsign(xp, x, /):
        \"\"\"x / (1 + abs(x)) for each element.\"\"\"
        return x / (1 + xp.abs(x))
    softsign.partials(x=lambda F, x: 1 / (1 + F.abs(x)) ** 2)
"""

from tapegrad.ops import (
    creation,
    determinants,
    einsum,
    elementwise,
    factorisations,
    fft,
    indexing,
    matrix_functions,
    nn,
    norms,
    products,
    reductions,
    sets,
    shape,
    solvers,
    sorting,
    special,
    steps,
)

__all__ = [
    "creation",
    "determinants",
    "einsum",
    "elementwise",
    "factorisations",
    "fft",
    "indexing",
    "matrix_functions",
    "nn",
    "norms",
    "products",
    "reductions",
    "sets",
    "shape",
    "solvers",
    "sorting",
    "special",
    "steps",
]
