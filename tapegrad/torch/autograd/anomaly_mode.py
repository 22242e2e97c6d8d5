"""Anomaly detection: the forward call behind a backward error, and gradients that become NaN."""

from __future__ import annotations

import traceback
import warnings
import weakref
from typing import Any

import numpy as np

from tapegrad.core.backward import Hooked
from tapegrad.core.node import Node, parents
from tapegrad.core.tensor import Tensor as Core
from tapegrad.kernels.batched import Batched
from tapegrad.kernels.numpy_scatter import Rows, Scatter
from tapegrad.torch import _packing, _watching
from tapegrad.torch._graph import _all_parents
from tapegrad.torch._node_names import name_of
from tapegrad.torch._tensor import beside


class _State:
    on = False
    check_nan = True


STATE = _State()
#: Where nodes were made, while the mode was on.
_STACKS: weakref.WeakKeyDictionary[Node, str] = weakref.WeakKeyDictionary()
_HIDDEN = ("/tapegrad/", "<tapegrad")


def _remember(node: Node) -> None:
    frames = [f for f in traceback.extract_stack()[:-1] if not any(h in f.filename for h in _HIDDEN)]
    _STACKS[node] = "".join(traceback.format_list(frames))


def stack_of(node: Node) -> list[str]:
    """The lines of where a node was made, if the mode was on."""
    return _STACKS.get(node, "").splitlines(keepends=True)


def _step(node: Node, g: Any, pull: Any) -> None:
    ps = [p for p in dict.fromkeys(parents(node)) if p is not None and p.mark is node.mark]
    held = [p.grad for p in ps]
    if STATE.check_nan and _hides_nan(node, g, ps):
        tell(node)
        raise RuntimeError(f"Function '{name_of(node)}' returned nan values in its 0th output.")
    try:
        pull(node, g)
    except Exception:
        tell(node)
        raise
    if STATE.check_nan:
        for p, before in zip(ps, held, strict=True):
            if _is_nan(p.grad) and not _is_nan(before):
                tell(node)
                order = list(_all_parents(node))
                i = order.index(p) if p in order else 0
                raise RuntimeError(f"Function '{name_of(node)}' returned nan values in its {i}th output.")


def _hides_nan(node: Node, g: Any, ps: list[Node]) -> bool:
    """Whether a slope is infinite, or none at all, where the cotangent is zero: rules take the product for zero."""
    op: Any = node.op.op if type(node.op) is Hooked else node.op
    if type(g) in _NOT_PLAIN or getattr(getattr(op, "op", None), "kind", "") != "elementwise":
        return False
    host = np.asarray(g)
    zeros = host == 0
    if not zeros.any():
        return False
    held = [(p.grad, getattr(p, "own", False)) for p in ps]
    try:
        for p in ps:
            p.grad = None
        op.pull(node, beside(np.where(zeros, 1, host).astype(g.dtype)[()], g))
        return any(p.grad is not None and not np.isfinite(np.asarray(p.grad)).all() for p in ps)
    finally:
        for p, (grad, own) in zip(ps, held, strict=True):
            p.grad, p.own = grad, own


def _is_nan(g: Any) -> bool:
    if g is None:
        return False
    if type(g) is list:
        return any(map(_is_nan, g))
    raw = g.read()[0] if isinstance(g, Core) else g
    return type(raw) not in _NOT_PLAIN and raw.dtype.kind in "fc" and bool(np.isnan(np.asarray(raw)).any())


#: Cotangents that are not looked into: of a recorded sweep, of several outputs, of a batch, of some rows.
_NOT_PLAIN = frozenset([Core, list, Batched, Rows, Scatter])


def tell(node: Node) -> None:
    """Warn of an error in the derivative of a step, with where the step was taken."""
    stack = _STACKS.get(node)
    if stack is None:
        text = (
            f"Error detected in {name_of(node)}. No forward pass information available. Enable detect anomaly during forward pass "
            "for more information."
        )
    else:
        text = f"Error detected in {name_of(node)}. Traceback of forward call that caused the error:\n{stack}"
    warnings.warn(text, UserWarning, stacklevel=2)


def _switch(on: bool, check_nan: bool) -> None:
    if on != STATE.on:
        _packing.on_nodes(_remember, on)
    STATE.on, STATE.check_nan = on, check_nan
    _watching.STEP[0] = _step if on else None


class set_detect_anomaly:
    """Switch the mode on or off: at once, and until a context made of this call is left."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = STATE.on, STATE.check_nan
        if mode and not STATE.on:
            _announce()
        _switch(mode, check_nan)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        _switch(*self._before)


class detect_anomaly:
    """Inside, nodes remember where they were made, and a gradient that becomes NaN is an error."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        _announce()

    def __enter__(self) -> None:
        self._before = STATE.on, STATE.check_nan
        _switch(True, self.check_nan)

    def __exit__(self, *_: object) -> None:
        _switch(*self._before)


def _announce() -> None:
    warnings.warn(
        "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
        UserWarning,
        stacklevel=3,
    )


def is_anomaly_enabled() -> bool:
    """Whether the mode is on."""
    return STATE.on


def is_anomaly_check_nan_enabled() -> bool:
    """Whether NaN is looked for."""
    return STATE.check_nan
