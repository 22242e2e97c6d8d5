"""What is said of an argument that is no tensor where a function takes one, in PyTorch's words.

Nothing is looked at before a call has failed: then the arguments are, in their order, and the first that is no tensor is named.
"""

from __future__ import annotations

import functools
import inspect
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tapegrad.core.tensor import Tensor as Core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_NAMES_TENSORS = """
input other self A B LU LD tensor tensor1 tensor2 mat mat1 mat2 vec vec1 vec2 batch1 batch2 target weight bias mask index src
source x x1 x2 x3 y real imag abs angle indices boundaries sorted_sequence exponent the_template condition key query input1 input2
anchor positive negative running_mean running_var grid theta log_probs log_input var test_elements elements pivots LU_data
LU_pivots"""
#: Parameters that take a tensor.
TENSORS = frozenset(_NAMES_TENSORS.split())
#: Parameters that take a list of tensors.
SEQUENCES = frozenset(["tensors", "matrices"])
#: Functions that take numbers for tensors too.
_OF_NUMBERS = frozenset(["add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide", "where", "result_type", "isclose"])
_NAMES_OF_SEVERAL_FORMS = """
all any bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bucketize clamp clamp_max clamp_min clip copysign
cumulative_trapezoid dsplit eq fill float_power floor_divide fmod ge gradient greater greater_equal gt histogram hsplit index_fill isin
le lerp less less_equal linalg_matrix_norm linalg_matrix_rank linalg_norm linalg_pinv lt movedim moveaxis nanquantile narrow ne normal
not_equal pow quantile randint_like remainder repeat_interleave rsub scatter searchsorted special_xlog1py special_zeta std std_mean
tensor_split trapezoid trapz true_divide var var_mean vsplit where xlogy"""
#: Functions that PyTorch has in several forms: none fits, and all are listed.
_OF_SEVERAL_FORMS = frozenset(_NAMES_OF_SEVERAL_FORMS.split())
_NAMES_LOOKING_FIRST = """
argwhere bucketize cholesky_inverse float_power gcd histc histogram index_select isin lcm nonzero positive resolve_conj resolve_neg
searchsorted take"""
#: Functions that would take lists and arrays, as NumPy does: these look at their first argument before they begin.
LOOKING_FIRST = frozenset(_NAMES_LOOKING_FIRST.split())
_OF_NN = "nn.functional."
_PREFIXES = {"torch.linalg": "linalg_", "torch.fft": "fft_", "torch.special": "special_", "torch.nn.functional": _OF_NN}


class Given(NamedTuple):
    """An argument of a call: the parameter, where it stands, the value, and whether there is no call without it."""

    parameter: str
    position: int
    value: Any
    required: bool


def type_name(value: Any) -> str:
    """The type of an argument as it is written in errors."""
    kind = type(value)
    if isinstance(value, Core):
        return "Tensor"
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def shown_name(name: str, where: str) -> str:
    """The name of a function in its errors: those of some modules have the module's before theirs."""
    return _PREFIXES.get(where, "") + name


def refusal(name: str, given: Iterable[tuple[str, int, Any, bool]]) -> Exception | None:
    """The error for the first argument that is no tensor where one is taken; None if each is what it should be.

    It is asked for while an error is handled: a number, which many functions take for a tensor, is at fault if that found no
    attribute of it.
    """
    arguments = [Given(*g) for g in given]
    handled = sys.exception()
    at_fault = handled.obj if isinstance(handled, AttributeError) else None
    for g in arguments:
        found = _no_tensors(name, g) if g.parameter in SEQUENCES else _no_tensor(name, g, arguments, at_fault)
        if found is not None:
            return found
    if isinstance(handled, AttributeError) and handled.name == "__index__":
        return _no_integer(name, arguments, at_fault)
    return None


def _no_integer(name: str, given: list[Given], at_fault: Any) -> Exception | None:
    """The error for the argument, or the element of one, that was to be a whole number."""
    name = name.removeprefix(_OF_NN)
    for g in given:
        among = next((k for k, v in enumerate(g.value) if v is at_fault), None) if isinstance(g.value, list | tuple) else None
        if g.value is not at_fault and among is None:
            continue
        if name in _OF_SEVERAL_FORMS:
            return _of_no_form(name, given, f"an int as {g.parameter} (position {g.position})")
        where = f"{name}(): argument '{g.parameter}' (position {g.position})"
        if among is None:
            return TypeError(f"{where} must be int, not {type_name(at_fault)}")
        return TypeError(f"{where} must be tuple of ints, but found element of type {type_name(at_fault)} at pos {among}")
    return None


def _of_no_form(name: str, given: Iterable[Given], form: str) -> Exception:
    got = ", ".join(type_name(o.value) for o in given if o.required or o.value is not None)
    return TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n * a call with {form}")


def _no_tensors(name: str, g: Given) -> Exception | None:
    if not isinstance(g.value, list | tuple):
        if hasattr(g.value, "__next__"):
            return None
        text = f"argument '{g.parameter}' (position {g.position}) must be tuple of Tensors, not {type_name(g.value)}"
        return TypeError(f"{name.removeprefix(_OF_NN)}(): {text}")
    for k, item in enumerate(g.value):
        if not isinstance(item, Core):
            return TypeError(f"expected Tensor as element {k} in argument {g.position - 1}, but got {type_name(item)}")
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex | np.number | np.bool_)


def _no_tensor(name: str, g: Given, all_given: list[Given], at_fault: Any) -> Exception | None:
    if g.parameter not in TENSORS or isinstance(g.value, Core) or hasattr(type(g.value), "__torch_function__"):
        return None
    if (g.value is None and not g.required) or (_is_number(g.value) and g.position > 1 and g.value is not at_fault):
        return None
    return error_for(name, g, all_given)


def error_for(name: str, g: Given, all_given: Iterable[Given]) -> Exception:
    """The error for this argument."""
    sought = _SOUGHT.get(name)
    name = name.removeprefix(_OF_NN)
    if sought is not None and (g.position == 1 or sought == "size") and not hasattr(g.value, sought):
        return AttributeError(f"{type(g.value).__name__!r} object has no attribute {sought!r}", name=sought, obj=g.value)
    if name in _OF_SEVERAL_FORMS:
        return _of_no_form(name, all_given, f"a Tensor as {g.parameter} (position {g.position})")
    return TypeError(f"{name}(): argument '{g.parameter}' (position {g.position}) must be Tensor, not {type_name(g.value)}")


#: The attribute that functions which PyTorch has written in Python look for first.
_LOOKED_FOR = {
    "size": """adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d batch_norm binary_cross_entropy
        binary_cross_entropy_with_logits gaussian_nll_loss huber_loss instance_norm l1_loss max_unpool1d max_unpool2d max_unpool3d
        mse_loss smooth_l1_loss""",
    "dim": """dropout1d dropout2d dropout3d fractional_max_pool2d fractional_max_pool3d glu group_norm interpolate local_response_norm
        margin_ranking_loss multi_head_attention_forward upsample upsample_bilinear upsample_nearest softmin""",
    "softmax": "softmax", "log_softmax": "log_softmax",
    "pow": "lp_pool1d lp_pool2d", "is_cuda": "max_pool3d", "norm": "normalize", "abs": "softsign", "sigmoid": "sigmoid",
    "tanh": "tanh tanhshrink", "ndim": "triplet_margin_with_distance_loss", "is_floating_point": "affine_grid",
}  # fmt: skip
_SOUGHT = {_OF_NN + name: sought for sought, names in _LOOKED_FOR.items() for name in names.split()}
_SOUGHT |= {"norm": "layout", "split": "split", "unravel_index": "is_complex", "stft": "dim", "tensordot": "dim"}


def refused_by_caller(value: Any, level: int = 2) -> Exception | None:
    """The error for a value that is no tensor, if a program gave it to a function of this style that takes a tensor there.

    Ops take arrays and numbers, which is how the facade uses them; a function of PyTorch's does not.
    """
    frame: Any = sys._getframe(level)
    found, number = None, _is_number(value)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("tapegrad."):
        code = frame.f_code
        if code.co_filename.startswith("<tapegrad.torch: "):
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            method = names[:1] == ("self",)
            for i, parameter in enumerate(names):
                if frame.f_locals.get(parameter) is value and parameter in TENSORS and not (number and code.co_name in _OF_NUMBERS):
                    given = [Given(p, k + 1 - method, frame.f_locals.get(p), True) for k, p in enumerate(names[: code.co_argcount])]
                    name = shown_name(code.co_name, str(frame.f_globals["__name__"]).removeprefix("tapegrad."))
                    found = error_for(name, Given(parameter, i + 1 - method, value, True), given)
                    break
        frame = frame.f_back
    return found


def bound(function: Callable[..., Any], args: tuple[Any, ...], words: dict[str, Any]) -> Iterator[Given]:
    """The arguments of a call of a function that is written out."""
    signature = inspect.signature(function)
    try:
        found = signature.bind(*args, **words).arguments
    except TypeError:
        return
    for i, (parameter, value) in enumerate(found.items()):
        name = "input" if parameter in ("x", "self") and not i else parameter
        yield Given(name, i + 1, value, signature.parameters[parameter].default is inspect.Parameter.empty)


def refusing(function: Any, name: str) -> Any:
    """The function, with what it says of arguments that are no tensors."""

    @functools.wraps(function)
    def wrapped(*args: Any, **words: Any) -> Any:
        try:
            return function(*args, **words)
        except FAILED:
            if found := refusal(name, bound(function, args, words)):
                raise found from None
            raise

    return wrapped


#: What the first use of something that is no tensor may raise.
FAILED = (AttributeError, TypeError, ValueError, RuntimeError, IndexError, NotImplementedError)


#: What is called too often for a call more, and what takes numbers; those that make sparse tensors take lists.
_BY_THEMSELVES = frozenset(["linear", "softmax", "log_softmax", "dropout", "result_type"])


def refuse_all(space: dict[str, Any]) -> None:
    """Let the functions of a module that are written out say what those of the tables say."""
    where = str(space["__name__"])
    for name, found in list(space.items()):
        ours = isinstance(found, FunctionType) and found.__module__.startswith("tapegrad.torch") and name[:1] != "_"
        if not ours or hasattr(found, "is_named") or found.__code__.co_name in ("_stub", "wrapped"):
            continue
        if name in _BY_THEMSELVES or name.startswith("sparse"):
            continue
        first = next(iter(inspect.signature(found).parameters), "")
        if first in TENSORS or first in SEQUENCES:
            made = refusing(found, shown_name(name, where.removeprefix("tapegrad.")))
            made.__module__ = where  # where pickle finds it
            space[name] = made
