"""Functions whose last node PyTorch knows by the name of the function, where here it is that of the last op."""

from __future__ import annotations

import functools
from typing import Any

from tapegrad.core.node import tick
from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch._node_names import tag
from tapegrad.torch._node_table import FUNCTIONS, NAMED_ALONE
from tapegrad.torch._refusals import FAILED, bound, refusal, shown_name
from tapegrad.torch._tensor import Tensor
from tapegrad.torch._views import is_of_base

_Call = tuple[tuple[Any, ...], dict[str, Any]]


def _argument(call: _Call, place: int, name: str, default: Any = None) -> Any:
    """An argument of a call, however it was given."""
    args, words = call
    return args[place] if place < len(args) else words.get(name, default)


def _cross_entropy(call: _Call) -> str:
    x, target = _argument(call, 0, "input"), _argument(call, 1, "target")
    if target.array.dtype.kind == "f":
        steps = "Neg0(Sum{}(Mul0(LogSoftmax0($0), $1)))"
        return {"none": steps.format(1), "sum": steps.format(0)}.get(call[1].get("reduction", "mean"), f"Div1({steps.format(0)})")
    if call[1].get("label_smoothing"):
        return "Add0(Mul1(NllLoss0(LogSoftmax0($0))), Mul1(Div0(Sum0(MaskedFill0(Neg0(Sum1(LogSoftmax0($0))))), None)))"
    return f"NllLoss{'2D' if x.array.ndim > 2 else ''}0(LogSoftmax0($0))"


def _scatter(call: _Call) -> str:
    src = _argument(call, 3, "src")
    if call[1].get("reduce") is not None:
        return "=torch::autograd::NotImplemented"
    return "Scatter0" if isinstance(src, Core) else "Scatter1"


def _pad(call: _Call) -> str:
    rank = len(_argument(call, 1, "pad", ())) // 2
    kind = {"constant": "ConstantPadNd0", "reflect": f"ReflectionPad{rank}D0", "replicate": f"ReplicationPad{rank}D0"}
    return kind.get(_argument(call, 2, "mode", "constant"), "=torch::autograd::CopySlices")


def _interpolate(call: _Call) -> str:
    rank, mode = _argument(call, 0, "input").array.ndim - 2, _argument(call, 3, "mode", "nearest")
    if mode == "area":
        return f"AdaptiveAvgPool{rank}D0"
    return f"Upsample{''.join(map(str.capitalize, mode.split('-')))}{rank}D0"


def _clamp(call: _Call) -> str:
    bounds = _argument(call, 1, "min"), _argument(call, 2, "max")
    return "Clamp0(*, *, *)" if any(isinstance(v, Core) for v in bounds) else "Clamp1"


#: Functions that are shown in different ways, by their arguments.
_BY_ARGUMENTS: dict[str, Any] = {
    "cross_entropy": _cross_entropy, "clamp": _clamp, "clip": _clamp, "scatter": _scatter, "pad": _pad, "interpolate": _interpolate,
    "upsample": _interpolate,
    "lerp": lambda call: "Lerp1" if isinstance(_argument(call, 2, "weight"), Core) else "Lerp0",
    "fill_": lambda call: "Fill3" if isinstance(_argument(call, 1, "value"), Core) else "Fill2",
    "diag": lambda call: "DiagEmbed0" if _argument(call, 0, "input").array.ndim == 1 else "=DiagonalBackward0_copy",
    "adaptive_avg_pool2d":
        lambda call: "Mean1" if _argument(call, 1, "output_size") in (1, (1, 1), [1, 1]) else "AdaptiveAvgPool2D0",
    "gumbel_softmax": lambda call: "Add0" if call[1].get("hard") else "Softmax0(Div0(Add0($0, None), None))",
}  # fmt: skip
#: What the same name means elsewhere.
NN = {"unfold": "Im2Col0", "diag": None, "norm": None}
#: Names of nodes that end by what was reduced.
_OF_LOSSES = {"mean": "Mean0({})", "sum": "Sum0({})", "none": "{}", "batchmean": "Div0(Sum0({}), None)"}


def _arguments(args: tuple[Any, ...], words: dict[str, Any], by_place: bool) -> tuple[Any, ...]:
    """The nodes of all arguments that could have a gradient, None for those that have not.

    `by_place`: an argument that is None has a place too.
    """
    found: list[Any] = []
    for x in (*args, *words.values()) if words else args:
        if x is None and by_place:
            found.append(None)
        elif isinstance(x, Core):
            if x.array.dtype.kind not in "biu":
                found.append(x.node)
        elif type(x) in (list, tuple):
            found += [v.node for v in x if isinstance(v, Core) and v.array.dtype.kind not in "biu"]
    return tuple(found)


def _choice(special: Any) -> Any:
    """What gives the pattern for a call: its arguments, and whether the result is a scalar."""
    if callable(special):
        return lambda args, words, scalar: special((args, words))
    if special.startswith("~"):
        inner = special[1:]
        return lambda args, words, scalar: _OF_LOSSES.get(words.get("reduction", "mean"), "{}").format(inner)
    if "?" in special:
        return lambda args, words, scalar: special.replace("?", "0" if scalar else "1")
    return None


def named(function: Any, name: str, pattern: Any, where: str = "") -> Any:
    """The function, with its node named as PyTorch names it, and the nodes between that and its arguments out of sight."""
    pairs = isinstance(pattern, str) and pattern.endswith("+")
    fixed = pattern.rstrip("+") if isinstance(pattern, str) else ""
    choice = _choice(pattern)
    in_place, by_place = name.endswith("_"), "$" in fixed
    alone = name in NAMED_ALONE
    shown = shown_name(name, where.removeprefix("tapegrad."))

    @functools.wraps(function)
    def wrapped(*args: Any, **words: Any) -> Any:
        before = _arguments(args, words, False) if in_place and not is_of_base(args[0] if args else None) else None
        start = tick()
        try:
            y = function(*args, **words)
        except FAILED:
            if (found := refusal(shown, bound(function, args, words))) is not None:
                raise found from None
            raise
        if alone and type(y) is Tensor and (y.node is None or y.node.op.name == name):
            return y
        for found in y if isinstance(y, tuple) else (y,):
            if isinstance(found, Tensor) and (found is not y or not pairs) and not (in_place and is_of_base(found)):
                node = found.node
                if node is not None and node.seq > start:
                    pattern = fixed if choice is None else choice(args, words, found.array.shape == ())
                    tag(node, pattern).shown = before or _arguments(args, words, by_place)
        return y

    wrapped.is_named = True  # type: ignore[attr-defined]
    return wrapped


def name_all(space: Any, others: Any = None) -> None:
    """Name the nodes of all functions in a namespace that PyTorch names otherwise."""
    for name, found in list((space if isinstance(space, dict) else vars(space)).items()):
        if not callable(found) or name[:1] == "_" or isinstance(found, type) or hasattr(found, "is_named"):
            continue
        plain = name.removesuffix("_")
        pattern = (others or {}).get(name, ...)
        if pattern is ...:
            pattern = _BY_ARGUMENTS.get(name) or FUNCTIONS.get(name) or _BY_ARGUMENTS.get(plain) or FUNCTIONS.get(plain)
        if pattern is None:
            continue
        made = named(found, name, pattern, space["__name__"] if isinstance(space, dict) else "")
        if isinstance(space, dict):
            made.__module__ = space["__name__"]  # where pickle finds it: the module that it was defined in has the plain one
            space[name] = made
        else:
            setattr(space, name, made)
