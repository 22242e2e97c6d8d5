"""What `repr` and `print` show of a tensor."""

from __future__ import annotations

import math
import sys
import textwrap
from typing import Any

import numpy as np

from tapegrad.core.recorder import state
from tapegrad.kernels.batched import Batched
from tapegrad.torch._devices import default_device, device_of
from tapegrad.torch._dtypes import DEFAULT, dtype_of
from tapegrad.torch._recorder import is_leaf_node, own
from tapegrad.torch._stale import Stale, is_barred
from tapegrad.torch._tensor import wrap

#: As set by `set_printoptions`.
OPTIONS: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are shown."""
    if profile is not None:
        OPTIONS.update(_PROFILES[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    OPTIONS.update({k: v for k, v in given.items() if v is not None})
    OPTIONS["sci_mode"] = sci_mode


class _Format:
    """How the numbers of one tensor are written, all to one width."""

    def __init__(self, values: Any) -> None:
        self.integral = values.dtype.kind in "biu"
        self.bools = values.dtype.kind == "b"
        self.whole = self.scientific = False
        self.width = 1
        flat = np.asarray(values).reshape(-1)
        if self.integral:
            self.width = max((len(str(v)) for v in flat.tolist()), default=1)
            return
        flat = flat.astype(np.float64)
        shown = flat[np.isfinite(flat) & (flat != 0)]
        self.whole = bool((shown == np.ceil(shown)).all())
        if shown.size:
            low, high = float(np.abs(shown).min()), float(np.abs(shown).max())
            self.scientific = high / low > 1000.0 or high > 1.0e8 or (low < 1.0e-4 and not self.whole)
        if OPTIONS["sci_mode"] is not None:
            self.scientific = OPTIONS["sci_mode"]
        self.width = max((len(self.bare(v)) for v in shown.tolist()), default=1)

    def bare(self, v: Any) -> str:
        if self.integral:
            return str(v)
        if not math.isfinite(v):
            return str(float(v))
        if self.scientific:
            return f"{v:.{OPTIONS['precision']}e}"
        if self.whole:
            return f"{v:.0f}."
        return f"{v:.{OPTIONS['precision']}f}"

    def __call__(self, v: Any) -> str:
        return self.bare(v).rjust(self.width)


class _Pair:
    """The same for complex numbers."""

    def __init__(self, values: Any) -> None:
        self.real, self.imag = _Format(values.real), _Format(np.abs(values.imag))
        self.width = self.real.width + self.imag.width + 2

    def __call__(self, v: Any) -> str:
        sign = "-" if math.copysign(1.0, v.imag) < 0 else "+"
        return f"{self.real(v.real)}{sign}{self.imag.bare(abs(v.imag))}j".rjust(self.width)


def _lines(values: Any, indent: int, form: Any, cut: bool) -> str:
    edge = OPTIONS["edgeitems"]
    if values.ndim == 0:
        return str(form(values[()].item()))
    if values.ndim == 1:
        per = max(1, math.floor((OPTIONS["linewidth"] - indent) / (form.width + 2)))
        if cut and values.shape[0] > 2 * edge:
            data = [form(v) for v in values[:edge].tolist()] + [" ..."] + [form(v) for v in values[-edge:].tolist()]
        else:
            data = [form(v) for v in values.tolist()]
        rows = [", ".join(data[i : i + per]) for i in range(0, len(data), per)]
        return "[" + (",\n" + " " * (indent + 1)).join(rows) + "]"
    if cut and values.shape[0] > 2 * edge:
        parts = [_lines(v, indent + 1, form, cut) for v in values[:edge]] + ["..."]
        parts += [_lines(v, indent + 1, form, cut) for v in values[-edge:]]
    else:
        parts = [_lines(v, indent + 1, form, cut) for v in values]
    return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _edges(values: Any) -> Any:
    """What is shown of an array that is too long to be shown whole."""
    edge = OPTIONS["edgeitems"]
    for axis, n in enumerate(values.shape):
        if n > 2 * edge:
            values = np.take(values, [*range(edge), *range(n - edge, n)], axis)
    return values


def text(x: Any) -> str:
    """A tensor as PyTorch shows it."""
    barred = isinstance(x, Stale) and is_barred(x)
    raw, node = (x.array, None) if barred else x.read()
    if type(raw) is Batched:
        return _of_batch(raw)
    values = np.asarray(getattr(raw, "bare", raw))
    shown = values.astype(np.float32) if values.dtype.kind == "V" else values
    where = device_of(raw)
    auto = getattr(x, "_auto", None)
    mine = None if auto is None else auto.flags.get("class")
    head = "tensor(" if mine is None else f"{mine.__name__}("
    end = [] if where == default_device() else [f"device='{where}'"]
    kind = dtype_of(values.dtype)
    if not values.size:
        body = "[]"
        if values.ndim != 1:
            end.append(f"size={tuple(values.shape)}")
    else:
        cut = values.size > OPTIONS["threshold"]
        seen = _edges(shown) if cut else shown
        form = _Pair(seen) if values.dtype.kind == "c" else _Format(seen)
        body = _lines(shown, len(head), form, cut)
    usual = {DEFAULT[0], dtype_of(np.dtype(np.bool_)), dtype_of(np.dtype(np.int64)), DEFAULT[0].to_complex()}
    if kind not in usual or (not values.size and kind is not DEFAULT[0]):
        end.append(f"dtype={kind}")
    own_node = own(node)
    if barred:
        end.append("grad_fn=<Invalid>")
    elif own_node is not None:
        end.append("requires_grad=True" if is_leaf_node(own_node) else f"grad_fn=<{_name(x)}>")
    duals = sys.modules.get("tapegrad.torch.autograd.forward_ad")
    tangent = None if duals is None else duals.tangent_of(x)
    if tangent is not None:
        end.append(f"tangent={tangent}")
    whole = f"{head}{body}"
    last = len(whole) - whole.rfind("\n") + 1
    for part in end:
        new = last + len(part) + 2 > OPTIONS["linewidth"]
        whole += (",\n" + " " * len(head) if new else ", ") + part
        last = len(head) + len(part) if new else last + len(part) + 2
    whole += ")"
    return f"Parameter containing:\n{whole}" if auto is not None and auto.flags.get("parameter") else whole


def _of_batch(raw: Any) -> str:
    """The values of all items, inside `vmap`, along the first axis."""
    inner = textwrap.indent(text(wrap(raw.value)), "    ")
    number = 1 + sum(level < raw.level for level in state.levels)
    return f"BatchedTensor(lvl={number}, bdim=0, value=\n{inner}\n)"


def _name(x: Any) -> str:
    found: str = x.grad_fn.name().rsplit("::", 1)[-1]
    return found
