"""L-BFGS: a step along the gradient, bent by what the last steps told of the curvature."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tapegrad.registry.space import space_of_type
from tapegrad.torch.optim._memory import opened, replaced, zeros
from tapegrad.torch.optim.optimizer import Optimizer, checked

if TYPE_CHECKING:
    from collections.abc import Callable

    Evaluate = Callable[[float], tuple[float, Any]]


def _dot(a: Any, b: Any) -> float:
    """The sum of products, a number that decides how the search goes on."""
    return float(space_of_type(type(a)).inner(a, b))


def _largest(a: Any) -> float:
    """The largest absolute value."""
    return float(space_of_type(type(a)).max(abs(a)))


class LBFGS(Optimizer):
    """The limited-memory method of Broyden, Fletcher, Goldfarb and Shanno, for one group of parameters.

    `step` calls its closure several times.  J. Nocedal, "Updating quasi-Newton matrices with limited storage", 1980; the line
    search: J. Nocedal, S. Wright, "Numerical optimization", 2006, algorithms 3.5 and 3.6.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        checked(lr=("learning rate", lr, lr >= 0))
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    # -- parameters as one vector ------------------------------------------------------------------------------
    def _gradient(self) -> Any:
        parts = []
        for p in self._params:
            if p.grad is None:
                parts.append(opened(zeros(p)).reshape(-1))
            else:
                grad = p.grad.to_dense() if p.grad.is_sparse else p.grad
                parts.append(opened(grad).reshape(-1))
        return space_of_type(type(parts[0])).concat(parts)

    def _vector(self) -> list[Any]:
        return [opened(p).copy() for p in self._params]

    def _move(self, start: list[Any] | None, t: float, d: Any) -> None:
        """Put the parameters at `start`, or where they are, plus t times a direction."""
        at = 0
        for i, p in enumerate(self._params):
            a = opened(p)
            n = math.prod(a.shape)
            step = (t * d[at : at + n]).reshape(a.shape)
            at += n
            if start is not None:
                a *= 0
                a += start[i]
            a += step
            replaced(p, a)

    # -- the step ----------------------------------------------------------------------------------------------
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Change the parameters; `closure` computes the loss and its gradients anew, and is called several times."""
        from tapegrad.torch._modes import enable_grad

        group = self.param_groups[0]
        search = group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")

        def evaluate() -> tuple[Any, float, Any]:
            with enable_grad():
                found = closure()
            return found, float(found), self._gradient()

        state = self.state[self._params[0]]
        memory = _Memory(state, group["history_size"])
        first, loss, g = evaluate()
        calls = 1
        state["func_evals"] = state.get("func_evals", 0) + 1
        state.setdefault("n_iter", 0)
        if _largest(g) <= group["tolerance_grad"]:
            return first
        lr, small = float(group["lr"]), group["tolerance_change"]
        t = float(state.get("t", lr))
        done = 0
        while done < group["max_iter"]:
            done += 1
            state["n_iter"] += 1
            fresh = state["n_iter"] == 1
            d = memory.direction(g, t, fresh)
            before, memory.g = loss, g.copy()
            t = min(1.0, 1.0 / float(space_of_type(type(g)).sum(abs(g)))) * lr if fresh else lr
            slope = _dot(g, d)
            if slope > -small:
                break
            more = 0
            if search is not None:
                start = self._vector()

                def along(step: float, start: Any = start, d: Any = d) -> tuple[float, Any]:
                    self._move(start, step, d)
                    _, found, grad = evaluate()
                    self._move(start, 0.0, d)
                    return found, grad

                loss, g, t, more = _strong_wolfe(along, t, d, loss, g, slope, small, group["max_eval"] - calls)
                self._move(None, t, d)
            else:
                self._move(None, t, d)
                if done != group["max_iter"]:
                    _, loss, g = evaluate()
                    more = 1
            calls += more
            state["func_evals"] += more
            stop = (
                done == group["max_iter"]
                or calls >= group["max_eval"]
                or _largest(g) <= group["tolerance_grad"]
                or _largest(d * t) <= small
                or abs(loss - before) < small
            )
            if stop:
                break
        memory.keep(t, before)
        return first


class _Memory:
    """The last steps and the changes of the gradient along them; kept in the optimizer's state as tensors."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.state = state
        self.size = size
        self.changes = [opened(v) for v in state.get("old_dirs", ())]
        self.steps = [opened(v) for v in state.get("old_stps", ())]
        self.inverse = [float(v) for v in state.get("ro", ())]
        self.scale = float(state.get("H_diag", 1))
        self.d: Any = opened(state["d"]) if "d" in state else None
        self.g = opened(state["prev_flat_grad"]) if "prev_flat_grad" in state else None

    def direction(self, g: Any, t: float, fresh: bool) -> Any:
        """Minus the gradient, times the inverse Hessian as far as it is known (Nocedal and Wright, algorithm 7.4)."""
        if fresh:
            self.changes, self.steps, self.inverse, self.scale = [], [], [], 1.0
            self.d = -g
            return self.d
        y, s = g - self.g, self.d * t
        ys = _dot(y, s)
        if ys > 1e-10:
            if len(self.changes) == self.size:
                for kept in (self.changes, self.steps, self.inverse):
                    kept.pop(0)
            self.changes.append(y)
            self.steps.append(s)
            self.inverse.append(1.0 / ys)
            self.scale = ys / _dot(y, y)
        q = -g
        weights = []
        for y, s, rho in zip(reversed(self.changes), reversed(self.steps), reversed(self.inverse), strict=True):
            a = _dot(s, q) * rho
            weights.append(a)
            q -= a * y
        r = q * self.scale
        for y, s, rho, a in zip(self.changes, self.steps, self.inverse, reversed(weights), strict=True):
            r += (a - _dot(y, r) * rho) * s
        self.d = r
        return r

    def keep(self, t: float, loss: float) -> None:
        from tapegrad.torch._tensor import wrap

        self.state.update(
            d=wrap(self.d),
            t=t,
            old_dirs=[wrap(v) for v in self.changes],
            old_stps=[wrap(v) for v in self.steps],
            ro=list(self.inverse),
            H_diag=self.scale,
            prev_flat_grad=wrap(self.g),
            prev_loss=loss,
        )


# -- the line search -------------------------------------------------------------------------------------------
class _Point:
    """A step length with the loss, its gradient, and its slope along the direction."""

    __slots__ = ("f", "g", "slope", "t")

    def __init__(self, t: float, f: float, g: Any, slope: float) -> None:
        self.t, self.f, self.g, self.slope = t, f, g, slope


def _cubic_minimum(a: _Point, b: _Point, low: float | None = None, high: float | None = None) -> float:
    """Where the cubic through two values with their slopes is least, within bounds (Nocedal and Wright, equation 3.59)."""
    if low is None or high is None:
        low, high = min(a.t, b.t), max(a.t, b.t)
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    if a.t <= b.t:
        at = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        at = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(at, low), high)


def _strong_wolfe(
    along: Evaluate, t: float, d: Any, f: float, g: Any, slope: float, small: float, most: int = 25
) -> tuple[float, Any, float, int]:
    """A step length of sufficient decrease and small slope; with loss, gradient there, and how many evaluations."""
    start = _Point(0.0, f, g.copy(), slope)

    def at(step: float) -> _Point:
        found, grad = along(step)
        return _Point(step, found, grad, _dot(grad, d))

    point, before = at(t), start
    turns = 0
    pair = [start, point]
    while turns < most:
        if point.f > f + _C1 * point.t * slope or (turns > 1 and point.f >= before.f):
            pair = [before, point]
            break
        if abs(point.slope) <= -_C2 * slope:
            return point.f, point.g, point.t, turns + 1
        if point.slope >= 0:
            pair = [before, point]
            break
        step = _cubic_minimum(before, point, point.t + 0.01 * (point.t - before.t), point.t * 10)
        before, point = point, at(step)
        turns += 1
        pair = [start, point]
    best, turns = _zoomed(at, pair, start, _largest(d), small, turns, most)
    return best.f, best.g, best.t, turns + 1


_C1, _C2 = 1e-4, 0.9


def _zoomed(
    at: Callable[[float], _Point], pair: list[_Point], start: _Point, width: float, small: float, turns: int, most: int
) -> tuple[_Point, int]:
    """The best point of an interval that is made smaller until it holds one of both conditions."""
    stuck = done = False
    low, high = (0, 1) if pair[0].f <= pair[1].f else (1, 0)
    while not done and turns < most:
        near, far = min(pair[0].t, pair[1].t), max(pair[0].t, pair[1].t)
        if (far - near) * width < small:
            break
        step = _cubic_minimum(pair[0], pair[1])
        margin = 0.1 * (far - near)
        close = min(far - step, step - near) < margin  # to an end: twice is no progress
        if close and (stuck or step >= far or step <= near):
            step = far - margin if abs(step - far) < abs(step - near) else near + margin
            close = False
        stuck = close
        point = at(step)
        turns += 1
        if point.f > start.f + _C1 * point.t * start.slope or point.f >= pair[low].f:
            pair[high] = point
            low, high = (0, 1) if pair[0].f <= pair[1].f else (1, 0)
            continue
        if abs(point.slope) <= -_C2 * start.slope:
            done = True
        elif point.slope * (pair[high].t - pair[low].t) >= 0:
            pair[high] = pair[low]
        pair[low] = point
    return pair[low], turns
