"""A dense layer as one op: a product of matrices and a bias."""

from __future__ import annotations

from typing import Any

from tapegrad.errors import ShapeError
from tapegrad.ops.products import holds_nan, without_unheard
from tapegrad.registry import primitive
from tapegrad.registry.lengths import may_agree
from tapegrad.registry.op import OPS


def _drawn(draw: Any) -> Any:
    return draw.array(*draw.choice(("n", 3), (3,), (2, "n", 3))), draw.array(3, "m"), draw.array("m")


@primitive(laws=_drawn)
def linear(xp: Any, x: Any, weight: Any, bias: Any, /) -> Any:
    """x @ weight + bias, (..., n), (n, m), (m,) -> (..., m): in one op, whose sum needs no array of its own.

    Raises ShapeError where the shapes do not match.
    """
    if len(weight.shape) != 2 or not may_agree(bias.shape, weight.shape[1:]):
        raise ShapeError(
            f"linear(x, weight, bias): expected weight (n, m) and bias (m,), got {tuple(weight.shape)} and {tuple(bias.shape)}"
        )
    y = xp.matmul(x, weight)
    y += bias  # the product is nobody else's
    return y


def _rows(F: Any, x: Any) -> Any:
    """All but the last axis as one."""
    if len(x.shape) == 2:
        return x
    count = 1
    for k in x.shape[:-1]:
        count *= k
    return F.reshape(x, (count, x.shape[-1]))


def _seen(F: Any, product: Any, x: Any, g: Any) -> Any:
    """The cotangent of a weight, where rows of `x` may hold NaN whose values were not chosen."""
    x, g = _rows(F, x), _rows(F, g)
    c = product(x, g)
    return product(without_unheard(F, x, g), g) if holds_nan(c, x) else c


def _to_x(F: Any, g: Any, weight: Any) -> Any:
    return F.matmul_adjoint(g, weight) if len(g.shape) == 2 else F.matmul(g, F.matrix_adjoint(weight))


linear.pullback(
    x=_to_x,
    weight=lambda F, g, x: F.adjoint_matmul(_rows(F, x), _rows(F, g)),
    bias=lambda F, g: F.sum_to(g, g.shape[-1:]),
)
linear.guard(weight=lambda F, g, x: _seen(F, F.adjoint_matmul, x, g))
linear.pushforward(
    x=lambda F, t, weight: F.matmul(t, weight),
    weight=lambda F, t, x: F.matmul(x, t),
    bias=lambda F, t, x: F.broadcast_to(t, (*x.shape[:-1], t.shape[0])),
)


@linear.batch
def _linear_batch(F: Any, has: Any, x: Any, weight: Any, bias: Any) -> Any:
    rule = OPS["matmul"].batch_rule
    assert rule is not None
    batched = has[0] or has[1]
    y = rule(F, has[:2], x, weight) if batched else F.expand_dims(F.matmul(x, weight), axis=0)
    if has[2]:
        bias = F.reshape(bias, (bias.shape[0], *(1,) * (len(y.shape) - 2), bias.shape[1]))
    return y + bias


# -- with weights as rows ------------------------------------------------------------------------------------
def _drawn_rows(draw: Any) -> Any:
    return draw.array(*draw.choice(("n", 3), (3,), (2, "n", 3))), draw.array("m", 3), draw.array("m")


def _turned(F: Any, x: Any, weight: Any) -> Any:
    """x @ weight^T; a product of plain matrices needs no transpose of its own."""
    return F.matmul_adjoint(x, weight) if len(x.shape) == 2 else F.matmul(x, F.matrix_transpose(weight))


@primitive(real=True, laws=_drawn_rows, public=False)
def dense(xp: Any, x: Any, weight: Any, bias: Any, /) -> Any:
    """x @ weight^T + bias, (..., n), (m, n), (m,) -> (..., m): `linear` for weights that are kept as rows, whose gradient is too.

    Raises ShapeError where the shapes do not match.
    """
    if len(weight.shape) != 2 or not may_agree(bias.shape, weight.shape[:1]):
        raise ShapeError(
            f"dense(x, weight, bias): expected weight (m, n) and bias (m,), got {tuple(weight.shape)} and {tuple(bias.shape)}"
        )
    y = _turned(xp, x, weight)
    y += bias  # the product is nobody else's
    return y


dense.pullback(
    x=lambda F, g, weight: F.matmul(g, weight),
    weight=lambda F, g, x: F.adjoint_matmul(_rows(F, g), _rows(F, x)),
    bias=lambda F, g: F.sum_to(g, g.shape[-1:]),
)
dense.guard(weight=lambda F, g, x: _seen(F, lambda x, g: F.adjoint_matmul(g, x), x, g))
dense.pushforward(
    x=lambda F, t, weight: _turned(F, t, weight),
    weight=lambda F, t, x: _turned(F, x, t),
)


@dense.batch
def _dense_batch(F: Any, has: Any, x: Any, weight: Any, bias: Any) -> Any:
    return _linear_batch(F, has, x, F.matrix_transpose(weight), bias)
