"""`gradcheck` and `gradgradcheck`: derivatives compared with differences of values."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch._backward import grad
from tapegrad.torch._recorder import own
from tapegrad.torch._tensor import Tensor, beside, wrap
from tapegrad.torch._views import laid_out


class GradcheckError(RuntimeError):
    """What a check found to be wrong."""


def _listed(x: Any) -> tuple[Any, ...]:
    return (x,) if isinstance(x, Core) else tuple(x)


def _raw(t: Any) -> Any:
    return np.asarray(t.detach().read()[0]) if hasattr(t, "detach") else np.asarray(t.read()[0])


def _outputs(func: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(y for y in _listed(func(*inputs)) if isinstance(y, Core))


def _checked_inputs(inputs: tuple[Any, ...]) -> list[int]:
    """The inputs to differentiate by."""
    index = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not index:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for i in index:
        x = inputs[i]
        if x.array.dtype not in (np.float64, np.complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely fail if "
                "all the inputs are not of double precision floating point or complex. ",
                UserWarning,
                stacklevel=3,
            )
        raw = laid_out(x)
        if raw.size and any(s == 0 and n > 1 for s, n in zip(raw.strides, raw.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to "
                "compute the numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck."
            )
    return index


def _let_be(x: Any, values: Any) -> None:
    """Write values into a tensor's memory, which will have its old ones again before a graph looks."""
    raw = x.array
    if type(raw) is np.ndarray and raw.flags.writeable:
        np.copyto(raw, values)
    else:
        x.array = beside(values[()], raw)


# -- differences -------------------------------------------------------------------------------------
def _numeric(func: Any, inputs: tuple[Any, ...], index: list[int], count: int, eps: float) -> list[list[Any]]:
    """For each input and output the Jacobian, (input elements, output elements), of real directions and imaginary ones."""

    def values(x: Any, changed: Any) -> list[Any]:
        _let_be(x, changed)  # itself, for the function may know it by other ways than as an argument
        return [np.array(_raw(y)).reshape(-1) for y in _outputs(func, inputs)]

    found: list[list[Any]] = []
    for k in index:
        x = np.array(_raw(inputs[k]))
        steps = [eps, 1j * eps] if x.dtype.kind == "c" else [eps]
        columns: list[list[list[Any]]] = [[[] for _ in range(count)] for _ in steps]
        try:
            for place in np.ndindex(x.shape):
                for s, step in enumerate(steps):
                    up, down = np.array(x), np.array(x)
                    up[place] += step
                    down[place] -= step
                    for o, (a, b) in enumerate(zip(values(inputs[k], up), values(inputs[k], down), strict=True)):
                        columns[s][o].append((a - b) / (2 * eps))
        finally:
            _let_be(inputs[k], x)
        found.append(
            [[np.array(c[o]) if c[o] else np.zeros((0, 0)) for c in columns] for o in range(count)]
        )
    return found


def _analytic(ys: tuple[Any, ...], xs: list[Any], o: int) -> list[Any]:
    """For each input the rows that cotangents of one output give: (output elements, input elements), real ones and imaginary."""
    y = ys[o]
    size = int(np.prod(y.array.shape))
    kinds = [1, 1j] if y.array.dtype.kind == "c" else [1]
    rows: list[list[list[Any]]] = [[[] for _ in kinds] for _ in xs]
    for j in range(size):
        for s, unit in enumerate(kinds):
            seed = np.zeros(size, y.array.dtype)
            seed[j] = unit
            gs = grad(y, xs, wrap(seed.reshape(y.array.shape)[()]), True, False, allow_unused=True)
            for i, (g, x) in enumerate(zip(gs, xs, strict=True)):
                if g is not None and g.array.shape != x.array.shape:
                    raise GradcheckError("backward produced a gradient of another size than its input's")
                rows[i][s].append(np.zeros(x.array.shape, x.array.dtype).reshape(-1) if g is None else _raw(g).reshape(-1))
    return [[np.array(r) if r else np.zeros((0, int(np.prod(x.array.shape)))) for r in row] for row, x in zip(rows, xs, strict=True)]


def _real_parts(numeric: list[Any], rows: list[Any]) -> list[tuple[Any, Any]]:
    """Pairs of real matrices (input elements, output elements) that have to agree."""
    pairs = []
    for s, down in enumerate(rows):  # a cotangent of 1, or of i: the change of the real part of the output, or the imaginary
        for t, up in enumerate(numeric):  # along 1, or along i
            seen = up.real if s == 0 else up.imag
            told = down.real.T if t == 0 else down.imag.T
            pairs.append((seen, told))
    return pairs


def _close(a: Any, b: Any, rtol: float, atol: float) -> bool:
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def _mismatch(i: int, o: int, a: Any, b: Any, what: str = "") -> GradcheckError:
    return GradcheckError(
        f"Jacobian{what} mismatch for output {o} with respect to input {i},\nnumerical:{wrap(a)!r}\nanalytical:{wrap(b)!r}\n"
    )


# -- the checks --------------------------------------------------------------------------------------
def _check(
    func: Any, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float, wanted: dict[str, bool]
) -> None:
    index = _checked_inputs(inputs)
    xs = [inputs[i] for i in index]
    ys = _outputs(func, inputs)
    for y in ys:
        if y.array.dtype.kind not in "fcV":
            raise ValueError("gradcheck expects a function of floating point or complex outputs")
    numeric = _numeric(func, inputs, index, len(ys), eps)
    if wanted["backward"]:
        _check_backward(func, inputs, index, xs, ys, numeric, atol, rtol, nondet_tol)
    if wanted["forward"]:
        _check_forward(func, inputs, index, numeric, atol, rtol)
    if wanted["batched"]:
        _check_batched(ys, xs)
    if wanted["undefined"]:
        _check_undefined(func, inputs, index)


def _check_backward(
    func: Any, inputs: Any, index: list[int], xs: list[Any], ys: Any, numeric: Any, atol: float, rtol: float, nondet_tol: float
) -> None:
    for o, y in enumerate(ys):
        if own(y.node) is None:
            for k, i in enumerate(index):
                if any(np.abs(m).max(initial=0) > atol for m in numeric[k][o]):
                    raise GradcheckError(f"Numerical gradient for function expected to be zero: output {o}, input {i}")
            continue
        rows = _analytic(ys, xs, o)
        again = _analytic(_outputs(func, inputs), xs, o)
        for k, i in enumerate(index):
            for a, b in zip(rows[k], again[k], strict=True):
                if a.size and np.abs(a - b).max() > nondet_tol:
                    raise GradcheckError(
                        f"Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                        f"different values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism "
                        f"was {nondet_tol}."
                    )
            for a, b in _real_parts(numeric[k][o], rows[k]):
                if not _close(b, a, rtol, atol):
                    raise _mismatch(i, o, a, b)


def _check_forward(func: Any, inputs: Any, index: list[int], numeric: Any, atol: float, rtol: float) -> None:
    from tapegrad.torch.autograd import forward_ad as fwd

    for k, i in enumerate(index):
        x = inputs[i]
        size = int(np.prod(x.array.shape))
        units = [1, 1j] if x.array.dtype.kind == "c" else [1]
        for s, unit in enumerate(units):
            for j in range(size):
                t = np.zeros(size, x.array.dtype)
                t[j] = unit
                with fwd.dual_level():
                    dual = fwd.make_dual(x.detach(), wrap(t.reshape(x.array.shape)[()]))
                    given = tuple(dual if n == i else v for n, v in enumerate(inputs))
                    found = [fwd.unpack_dual(y).tangent for y in _outputs(func, given)]
                for o, tangent in enumerate(found):
                    want = numeric[k][o][s][j]
                    have = np.zeros_like(want) if tangent is None else _raw(tangent).reshape(-1)
                    if not _close(have, want, rtol, atol):
                        raise _mismatch(i, o, want, have, " computed with forward mode")


def _check_batched(ys: Any, xs: list[Any]) -> None:
    rng = np.random.default_rng(0)
    for o, y in enumerate(ys):
        if own(y.node) is None:
            continue
        seeds = [rng.standard_normal(y.array.shape).astype(y.array.dtype) for _ in range(2)]
        both = grad(y, xs, wrap(np.stack(seeds)), True, False, allow_unused=True, is_grads_batched=True)
        for n, seed in enumerate(seeds):
            each = grad(y, xs, wrap(seed), True, False, allow_unused=True)
            for i, (a, b) in enumerate(zip(both, each, strict=True)):
                if (a is None) != (b is None) or (a is not None and not np.allclose(_raw(a)[n], _raw(b))):
                    raise GradcheckError(f"For output {o} and input {i}: batched gradients differ from those taken one by one")


def _check_undefined(func: Any, inputs: Any, index: list[int]) -> None:
    """A backward that is given no gradient for one of its outputs has to take that for zero."""
    ys = [y for y in _outputs(func, inputs) if own(y.node) is not None]
    if len(ys) < 2:
        return
    xs = [inputs[i] for i in index]
    for y in ys:
        gs = grad(y, xs, wrap(np.zeros(y.array.shape, y.array.dtype)), True, False, allow_unused=True)
        for g in gs:
            if g is not None and np.nan_to_num(_raw(g)).any():
                raise GradcheckError("Expected all input grads to be undefined or zero when all output grads are undefined or zero.")


def gradcheck(
    func: Any,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of a function agree with differences of its values; what does not is raised, or tells False."""
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    wanted = {
        "backward": check_backward_ad,
        "forward": check_forward_ad,
        "batched": check_batched_grad and check_backward_ad,
        "undefined": check_undefined_grad and check_backward_ad,
    }
    try:
        _check(func, _listed(inputs), eps, atol, rtol, nondet_tol, wanted)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Any,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` of the gradients of a function."""
    given = _listed(inputs)
    if grad_outputs is None:
        ys = [y for y in _outputs(func, given) if own(y.node) is not None]
        rng = np.random.default_rng(0)
        seeds: tuple[Any, ...] = tuple(
            wrap(np.asarray(rng.standard_normal(y.array.shape)).astype(y.array.dtype)).requires_grad_() for y in ys
        )
    else:
        seeds = _listed(grad_outputs)
    count = len(seeds)

    def slopes(*args: Any) -> Any:
        xs = args[:-count]
        xs = tuple(x.detach().requires_grad_() if isinstance(x, Tensor) and x.requires_grad and own(x.node) is None else x for x in xs)
        ys = [y for y in _outputs(func, xs) if own(y.node) is not None]
        tracked = [x for x in xs if isinstance(x, Tensor) and x.requires_grad]
        found = grad(ys, tracked, args[-count:], True, True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        slopes,
        (*given, *seeds),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )


def get_numerical_jacobian(fn: Any, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0) -> list[Any]:
    """The Jacobian of the first output for each input, by differences."""
    given = _listed(inputs)
    index = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]
    return [wrap(m[0][0]) for m in _numeric(fn, given, index, 1, eps)]


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
