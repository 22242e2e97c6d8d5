"""How an op is declared, and what is made of the declaration.

An op is a function of a kernel namespace and arrays.  Its arrays come first; what follows a ``/`` (or a ``*``)
is a parameter.  A second statement gives the derivative, keyed by argument name::

    @elementwise
    def tanh(xp, x):
        \"\"\"Hyperbolic tangent of each element.\"\"\"
        return xp.tanh(x)
    tanh.partials(x=lambda F, y: 1 - y * y)

    @linear(laws=lambda draw: (draw.array("n", 6), {"shape": (-1, 3)}))
    def reshape(xp, x, /, shape): ...
    reshape.adjoint(x=lambda F, g, x: F.reshape(g, x.shape))

A rule names what it needs: `F` (the namespace it computes in), `g` (the cotangent) or `t` (the tangent), `y` (the
output), arguments, parameters.  What it names is what is saved, and no more.
"""

from tapegrad.registry.declare import composite, constant, elementwise, linear, multilinear, primitive
from tapegrad.registry.op import Op, Spec, no_derivative, not_implemented

__all__ = [
    "Op",
    "Spec",
    "composite",
    "constant",
    "elementwise",
    "linear",
    "multilinear",
    "no_derivative",
    "not_implemented",
    "primitive",
]
