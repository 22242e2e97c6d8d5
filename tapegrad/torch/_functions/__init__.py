"""The functions of `torch` and the methods of its tensors, most of them rows of tables: a signature, and what it computes."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._functions import (
    convert,
    copying,
    create,
    files,
    filled,
    histograms,
    index,
    join,
    linear,
    ordering,
    overloads,
    pointwise,
    random,
    random_fill,
    reduce,
    sampled,
    scatter,
    softmax,
    spectra,
    storages,
    view_functions,
    whole_numbers,
    windows,
)
from tapegrad.torch._functions._build import FUNCTIONS, METHODS
from tapegrad.torch._tensor import Tensor

TABLES = (
    *(pointwise, reduce, ordering, create, filled, windows, join, view_functions, index, histograms, scatter, linear),
    *(overloads, sampled, softmax, spectra, convert, copying, random, random_fill, files, storages, whole_numbers),
)


def install() -> dict[str, Any]:
    """Give the tensors' class its methods, but for those that it has; the functions by name."""
    own = vars(Tensor)
    for name, member in METHODS.items():
        if name not in own:
            setattr(Tensor, name, member)
    return FUNCTIONS


#: Methods that write in place, and that PyTorch has as functions too.
_IN_PLACE = """abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_ atan_ atanh_ ceil_
clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ detach_ erf_ erfc_ exp_ exp2_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_
ldexp_ log_ log10_ log1p_ log2_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ resize_as_ round_ rsqrt_ sigmoid_ sin_
sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_"""


def add_in_place(cls: Any, space: dict[str, Any]) -> None:
    """Give the namespace the methods in place that it has as functions."""
    for name in _IN_PLACE.split():
        if name not in space and hasattr(cls, name):
            space[name] = getattr(cls, name)
