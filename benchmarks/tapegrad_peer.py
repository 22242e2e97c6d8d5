"""tapegrad's own implementations of the workloads, one function each, named like the workload.

They serve every kernel set: tg_numpy runs them on NumPy arrays, tg_tf on TensorFlow tensors, tg_function and tg_xla
compile them. tg_torch is not here: it runs the workloads' `torch` implementations on `tapegrad.torch`.

A case that needs a name which tapegrad does not have is skipped, and the table says which name it is.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import tapegrad as tg
from benchmarks.harness.case import EAGER, Arrays, Case, Made, Step, Unavailable, Wrap, moved
from benchmarks.workloads import broadcasting as bc
from benchmarks.workloads import conv as lenet
from benchmarks.workloads import deep_chain as dc
from benchmarks.workloads import indexing as ix
from benchmarks.workloads import large_elementwise as le
from benchmarks.workloads import lstm as ls
from benchmarks.workloads import matmul as mm
from benchmarks.workloads import mlp as ml
from benchmarks.workloads import op_overhead as oo
from benchmarks.workloads import second_order as so
from benchmarks.workloads import transforms as tr

ROOT = Path(__file__).resolve().parents[1]
Tensor = Any
Loss = Callable[..., Tensor]


class Inputs:
    """The arrays of a case, and how they become tensors of the kernel set."""

    def __init__(self, arrays: Arrays, to_raw: Callable[[np.ndarray], Any]) -> None:
        self.arrays = arrays
        self._to_raw = to_raw

    def tensors(self, names: Sequence[str]) -> list[Tensor]:
        """Constants."""
        return [tg.asarray(self._to_raw(self.arrays[k])) for k in names]

    def variables(self, names: Sequence[str]) -> list[Tensor]:
        """Trainable parameters; copies, for a step changes them in place."""
        return [tg.Variable(self._to_raw(self.arrays[k].copy())) for k in names]

    def zeros_like(self, name: str) -> Tensor:
        """Zeros of the shape and type of an input."""
        return tg.asarray(self._to_raw(np.zeros_like(self.arrays[name])))


class Tapegrad:
    """tapegrad with the kernel set of this process, as the other families have their library."""

    def __init__(self, kernels: str, threads: int) -> None:
        self._to_raw: Callable[[np.ndarray], Any] = np.asarray
        if kernels == "tensorflow":
            tf = importlib.import_module("tensorflow")
            tf.config.threading.set_intra_op_parallelism_threads(threads)
            tf.config.threading.set_inter_op_parallelism_threads(threads)
            self._to_raw = tf.constant
        if tg.__spec__.origin is None:
            raise ModuleNotFoundError("only a folder of that name", name="tapegrad")
        version = getattr(tg, "__version__", "unknown")
        place = "this source tree" if Path(tg.__path__[0]).is_relative_to(ROOT) else "its environment"
        self.info = {"version": version, "threads": f"as {kernels}", "place": f"from {place}"}

    def implementation(self, peer: str, module: ModuleType, c: Case, data: Arrays) -> Made:
        """The step of one tapegrad peer for one case."""
        if peer == "tg_torch":
            return module.torch(importlib.import_module("tapegrad.torch"), c, data)
        wrap = EAGER
        if peer in ("tg_function", "tg_xla"):
            if module is dc:
                raise Unavailable("not tried: tracing 20,000 unrolled ops takes too long")
            if c.p.get("forward"):
                raise Unavailable("nothing is recorded in a compiled step")
            options = {"jit_compile": True} if peer == "tg_xla" else {}
            wrap = Wrap("xla" if options else "function", lambda f: tg.function(f, **options))
        return IMPLEMENTATIONS[module](c, Inputs(data, self._to_raw), wrap)


def lacks(error: Exception) -> str | None:
    """The reason to skip, where an error raised in benchmark code only says that tapegrad does not have a name."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("tapegrad"):
        return f"{error.name} is not importable"
    if not isinstance(error, AttributeError) or not _raised_here(error):
        return None
    module = re.match(r"module '(tapegrad[\w.]*)' has no attribute", str(error))
    if module is not None:
        return f"{module[1]} has no {error.name}"
    if error.obj is None or type(error.obj).__module__.partition(".")[0] != "tapegrad":
        return None
    return f"{type(error.obj).__name__} has no {error.name}"


def _raised_here(error: Exception) -> bool:
    """Whether benchmark code asked for the name, and not tapegrad itself, whose mistake it would be then."""
    asked_by, at = "", error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_name != "__getattr__":
            asked_by = at.tb_frame.f_code.co_filename
        at = at.tb_next
    return Path(asked_by).is_relative_to(Path(__file__).parent)


def to_numpy(t: Tensor) -> np.ndarray:
    """A copy of a tensor, or of a sparse gradient (indices, values, dense_shape) made dense."""
    if hasattr(t, "indices") and hasattr(t, "values") and hasattr(t, "dense_shape"):
        values = to_numpy(t.values)
        dense = np.zeros(tuple(int(n) for n in t.dense_shape), values.dtype)
        np.add.at(dense, to_numpy(t.indices), values)
        return dense
    if hasattr(t, "detach"):  # tapegrad.torch
        t = t.detach()
    return np.array(t.numpy() if hasattr(t, "numpy") else t)


def _gradients(loss: Loss, args: Sequence[Tensor], wrap: Wrap, extra: Sequence[Tensor] = ()) -> Step:
    """A step that returns the value of `loss(*args, *extra)` and its gradients with respect to args."""
    n = len(args)

    def run(*a: Tensor) -> list[Tensor]:
        sources = list(a[:n])
        with tg.GradientTape() as tape:
            tape.watch(sources)
            value = loss(*a)
        return [value, *tape.gradient(value, sources)]

    f = wrap(run)
    return lambda: f(*args, *extra)


def _training(loss: Loss, params: Sequence[Tensor], batch: Sequence[Tensor], lr: float, wrap: Wrap) -> Step:
    """A step of gradient descent on the variables that `loss(*batch)` reads."""

    def run(*batch: Tensor) -> Tensor:
        with tg.GradientTape() as tape:
            value = loss(*batch)
        for p, g in zip(params, tape.gradient(value, params), strict=True):
            p.assign_sub(lr * g)
        return value

    f = wrap(run)
    return lambda: [f(*batch), *params]


def op_overhead(c: Case, x: Inputs, wrap: Wrap) -> Made:
    """The chain of small ops, or only its recorded forward pass."""
    args = x.tensors("xw")

    def forward() -> list[Tensor]:
        with tg.GradientTape() as tape:
            tape.watch(args)
            return [tg.sum(oo.chain(*args))]

    return forward if c.p.get("forward") else _gradients(lambda x, w: tg.sum(oo.chain(x, w)), args, wrap)


def mlp(c: Case, x: Inputs, wrap: Wrap) -> Made:
    """The training step of the dense net."""
    params = x.variables(ml.NAMES)
    W0, b0, W1, b1, W2, b2 = params

    def loss(X: Tensor, y: Tensor) -> Tensor:
        h = tg.nn.relu(tg.nn.linear(X, W0, b0))
        h = tg.nn.relu(tg.nn.linear(h, W1, b1))
        return tg.nn.cross_entropy(tg.nn.linear(h, W2, b2), y)

    return _training(loss, params, x.tensors("Xy"), ml.LR, wrap), moved(x.arrays, ml.NAMES)


def lstm(c: Case, x: Inputs, wrap: Wrap) -> Made:
    """The unrolled cell."""
    if wrap.mode == "xla":
        raise Unavailable("needs a scan (unrolled, XLA compiles for too long)")

    def loss(*a: Tensor) -> Tensor:
        Wx, Wh, b, h, X, cell = a
        for t in range(ls.STEPS):
            z = tg.matmul(X[t], Wx) + tg.nn.linear(h, Wh, b)
            h, cell = ls.lstm_cell(tg.split(z, 4, axis=1), h, cell, tg.nn.sigmoid, tg.tanh)
        return tg.sum(h * h)

    zero = x.zeros_like("h0")
    return _gradients(loss, x.tensors(ls.NAMES), wrap, [*x.tensors("X"), zero])


def deep_chain(c: Case, x: Inputs, wrap: Wrap) -> Made:
    """The long chain of scalar ops."""
    return _gradients(lambda x, a, b: dc.chain(x, a, b, c.p["n"]), x.tensors("xab"), wrap)


def large_elementwise(c: Case, x: Inputs, wrap: Wrap) -> Made:
    """Ten ops on large arrays."""
    return _gradients(lambda x, w: tg.mean(le.ten(x, w, tg.nn.relu)), x.tensors("xw"), wrap)


def matmul(c: Case, x: Inputs, wrap: Wrap) -> Made:
    """The chain of matrix products."""

    def loss(*a: Tensor) -> Tensor:
        y, *weights, r = a
        for w in weights:
            y = tg.matmul(y, w)
        return tg.sum(y * r)

    return _gradients(loss, x.tensors(mm.NAMES), wrap, x.tensors("r"))


def second_order(c: Case, x: Inputs, wrap: Wrap) -> Made:
    """Hessian-vector product, Hessian and Jacobian, on tapes."""
    if c.p["kind"] == "hvp":
        f = wrap(_hvp)
        args = x.tensors([*so.NAMES, *so.DIRECTION, "X", "y"])
    elif c.p["kind"] == "hessian":
        f = wrap(_hessian)
        args = x.tensors("x")
    else:
        f = wrap(_jacobian)
        args = x.tensors("ABx")
    return lambda: f(*args)


def _hvp(*a: Tensor) -> list[Tensor]:
    """Gradient of <gradient, vs>."""
    params, vs, (X, y) = list(a[:6]), a[6:12], a[12:]
    W0, b0, W1, b1, W2, b2 = params
    with tg.GradientTape() as outer:
        outer.watch(params)
        with tg.GradientTape() as inner:
            inner.watch(params)
            h = tg.tanh(tg.nn.linear(X, W0, b0))
            h = tg.tanh(tg.nn.linear(h, W1, b1))
            loss = tg.nn.cross_entropy(tg.nn.linear(h, W2, b2), y)
        grads = inner.gradient(loss, params)
        dot = sum(tg.sum(g * v) for g, v in zip(grads, vs, strict=True))
    return [loss, *outer.gradient(dot, params)]


def _hessian(x: Tensor) -> list[Tensor]:
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            value = so.rosenbrock(x, tg.sum)
        (g,) = inner.gradient(value, [x])
    return [value, outer.jacobian(g, x)]


def transforms(c: Case, x: Inputs, wrap: Wrap) -> Made:
    """The Hessian in each mode, and the gradient of each example."""
    if c.p["mode"]:
        args = x.tensors("xABc")

        def value(x: Tensor, A: Tensor, B: Tensor, w: Tensor) -> Tensor:
            return tg.sum(w * tg.tanh(B @ tg.tanh(A @ x)))

        f = wrap(tg.hessian(value, mode=c.p["mode"]))
        return lambda: [f(*args)]
    ps, (X, y) = x.tensors(tr.NAMES), x.tensors("Xy")

    def loss(ps: list[Tensor], x: Tensor, y: Tensor) -> Tensor:
        W0, b0, W1, b1 = ps
        return tg.nn.cross_entropy(tg.nn.linear(tg.tanh(tg.nn.linear(x, W0, b0)), W1, b1), y)

    each = wrap(tg.vmap(tg.grad(loss), in_axes=(None, 0, 0)))
    return lambda: list(each(ps, X, y))


def _jacobian(A: Tensor, B: Tensor, x: Tensor) -> list[Tensor]:
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.tanh(tg.matmul(B, tg.tanh(tg.matmul(A, x))))
    return [y, tape.jacobian(y, x)]


def conv(c: Case, x: Inputs, wrap: Wrap) -> Made:
    """The training step of LeNet-5; images NHWC and kernels HWIO, as the reference has them."""
    params = x.variables(lenet.NAMES)
    K0, k0, K1, k1, W0, b0, W1, b1, W2, b2 = params

    def loss(X: Tensor, y: Tensor) -> Tensor:
        h = tg.nn.max_pool2d(tg.nn.relu(tg.nn.conv2d(X, K0, padding=2) + k0), 2)
        h = tg.nn.max_pool2d(tg.nn.relu(tg.nn.conv2d(h, K1) + k1), 2)
        h = tg.nn.relu(tg.matmul(tg.reshape(h, (lenet.B, 400)), W0) + b0)
        h = tg.nn.relu(tg.matmul(h, W1) + b1)
        return tg.nn.cross_entropy(tg.matmul(h, W2) + b2, y)

    return _training(loss, params, x.tensors("Xy"), lenet.LR, wrap), moved(x.arrays, lenet.NAMES)


def broadcasting(c: Case, x: Inputs, wrap: Wrap) -> Made:
    """Batch norm from primitives, logsumexp, and softmax attention."""
    kind = c.p["kind"]

    def loss(*a: Tensor) -> Tensor:
        *args, r = a
        if kind == "batchnorm":
            y = bc.batch_norm(*args, lambda t, axis: tg.mean(t, axis=axis), tg.sqrt)
        elif kind == "logsumexp":
            y = tg.logsumexp(args[0], axis=1)
        else:
            q, k, v = args
            y = tg.matmul(tg.softmax(tg.matmul(q, tg.matrix_transpose(k)) * 0.125, axis=2), v)
        return tg.sum(y * r)

    return _gradients(loss, x.tensors(bc.ARGS[kind]), wrap, x.tensors("r"))


def indexing(c: Case, x: Inputs, wrap: Wrap) -> Made:
    """Gathered rows with a dense or a sparse gradient, and a loop over columns."""
    if c.p["kind"] == "slices":
        if wrap.mode != "eager":
            raise Unavailable("needs a scan (1,000 unrolled steps compile for too long)")

        def sliced(x: Tensor, w: Tensor, zero: Tensor) -> Tensor:
            h = zero
            for t in range(ix.STEPS):
                h = h * w + x[:, t]
            return tg.sum(h * h)

        zero = x.zeros_like("w")
        return _gradients(sliced, x.tensors("xw"), wrap, [zero])

    sparse = c.p["kind"] == "sparse"

    def gathered(table: Tensor, ids: Tensor) -> Tensor:
        e = tg.nn.embedding(table, ids, sparse=True) if sparse else tg.take(table, ids, axis=0)
        return tg.sum(e * e) * 0.5

    return _gradients(gathered, x.tensors(["table"]), wrap, x.tensors(["ids"]))


IMPLEMENTATIONS: dict[ModuleType, Callable[[Case, Inputs, Wrap], Made]] = {
    oo: op_overhead,
    ml: mlp,
    ls: lstm,
    dc: deep_chain,
    le: large_elementwise,
    mm: matmul,
    so: second_order,
    tr: transforms,
    lenet: conv,
    bc: broadcasting,
    ix: indexing,
}
