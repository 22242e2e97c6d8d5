"""A recurrent layer as one op: all its times are one record, with the derivative of the whole sequence.

What a step takes lies in one array, one thing after the other: so one sweep back through the times gives the cotangents of all.
"""

from __future__ import annotations

import math
from typing import Any

from tapegrad.registry import composite, primitive


def _packed(draw: Any) -> Any:
    shape = (draw.choice(1, 3), draw.size("n", least=1), draw.choice(1, 2))
    return draw.array(sum(map(math.prod, _shapes(shape)))), {"shape": shape}


def _shapes(shape: tuple[int, int, int]) -> tuple[tuple[int, ...], ...]:
    """Of what goes into the gates, of h and of c before the first time, and of the weights for h."""
    times, n, size = shape
    return (times, n, 4 * size), (n, size), (n, size), (4 * size, size)


def _parts(F: Any, x: Any, shape: tuple[int, int, int]) -> list[Any]:
    first, found = 0, []
    for part in _shapes(shape):
        last = first + math.prod(part)
        found.append(F.reshape(F.getitem(x, (Ellipsis, slice(first, last))), (*x.shape[:-1], *part)))
        first = last
    return found


def _at(F: Any, x: Any, t: int, rank: int) -> Any:
    """`x` at one place of the axis before its last `rank` ones."""
    return F.getitem(x, (Ellipsis, t, *(slice(None),) * rank))


def _one_gate(F: Any, z: Any, k: int, size: int) -> Any:
    return F.getitem(z, (Ellipsis, slice(k * size, (k + 1) * size)))


@primitive(real=True, laws=_packed, outputs=("h", "c", "gates"), public=False)
def lstm(xp: Any, x: Any, /, *, shape: tuple[int, int, int]) -> tuple[Any, Any, Any]:
    """h and c of long short-term memory at each time, (t, n, m), and its gates i, f, o, g, (t, 4, n, m).

    * `x`: one after the other what goes into the gates i, f, g, o, (t, n, 4m), h and c before the first time, (n, m), and the
      weights for h, (4m, m).
    * `shape`: (t, n, m).

    S. Hochreiter, J. Schmidhuber, "Long short-term memory", 1997, with the forget gate of F. Gers et al., 2000.
    """
    times, _, size = shape
    inputs, h, c, w = _parts(xp, x, shape)
    w = xp.matrix_transpose(w)
    hs, cs, gates = [], [], []
    for t in range(times):
        z = _at(xp, inputs, t, 2) + xp.matmul(h, w)
        i, f, o = (xp.sigmoid(_one_gate(xp, z, k, size)) for k in (0, 1, 3))
        g = xp.tanh(_one_gate(xp, z, 2, size))
        c = f * c + i * g
        h = o * xp.tanh(c)
        hs.append(h)
        cs.append(c)
        gates.append(xp.stack([i, f, o, g], axis=-3))
    return xp.stack(hs, axis=-3), xp.stack(cs, axis=-3), xp.stack(gates, axis=-4)


@lstm.batch
def _lstm_batch(F: Any, has: Any, x: Any, *, shape: tuple[int, int, int]) -> Any:
    return lstm.body(F, x, shape=shape)


def _lstm_pullback(F: Any, g: Any, x: Any, y: Any, shape: Any) -> Any:
    return F.lstm_cotangent(x, *y, *g, shape=shape)


lstm.pullback(x=_lstm_pullback)


def _cotangent_laws(draw: Any) -> Any:
    x, words = _packed(draw)
    times, n, size = words["shape"]
    many, gates = (times, n, size), (times, 4, n, size)
    return x, *(draw.filled(s) for s in (many, many, gates, many, many, gates)), words


@composite(real=True, laws=_cotangent_laws, public=False)
def lstm_cotangent(
    F: Any, x: Any, h: Any, c: Any, gates: Any, gh: Any, gc: Any, gg: Any, /, *, shape: tuple[int, int, int]
) -> Any:
    """The cotangent of what `lstm` takes, from what it gave, `h`, `c` and `gates`, and the cotangents of these."""
    times, n, size = shape
    _, h0, c0, w = _parts(F, x, shape)
    dh, dc = F.zeros_like(h0), F.zeros_like(c0)
    sums: list[Any] = []
    for t in range(times - 1, -1, -1):
        i, f, o, g = (_at(F, _at(F, gates, t, 3), k, 2) for k in range(4))
        di, df, do, dg = (_at(F, _at(F, gg, t, 3), k, 2) for k in range(4))
        top, before = F.tanh(_at(F, c, t, 2)), _at(F, c, t - 1, 2) if t else c0
        dh = dh + _at(F, gh, t, 2)
        dc = dc + _at(F, gc, t, 2) + dh * o * (1 - top * top)
        parts = [(di + dc * g) * i * (1 - i), (df + dc * before) * f * (1 - f), (dg + dc * i) * (1 - g * g), (do + dh * top) * o * (1 - o)]
        sums.append(F.concat(parts, axis=-1))
        dh, dc = F.matmul(sums[-1], w), dc * f
    sums.reverse()
    to_inputs = F.stack(sums, axis=-3)
    lead = x.shape[:-1]
    hs = F.concat([F.reshape(h0, (*lead, 1, n, size)), h], axis=-3)
    before_all = F.getitem(hs, (Ellipsis, slice(0, times), slice(None), slice(None)))
    rows = F.reshape(to_inputs, (*lead, times * n, 4 * size))
    to_w = F.matmul(F.matrix_transpose(rows), F.reshape(before_all, (*lead, times * n, size)))
    return F.concat([F.reshape(part, (*lead, -1)) for part in (to_inputs, dh, dc, to_w)], axis=-1)


def _layer_laws(draw: Any) -> Any:
    _, words = _packed(draw)
    return tuple(draw.filled(part) for part in _shapes(words["shape"]))


@composite(real=True, laws=_layer_laws, public=False)
def lstm_layer(F: Any, inputs: Any, h: Any, c: Any, weight: Any, /) -> tuple[Any, Any]:
    """h and c at each time, (t, n, m), of long short-term memory.

    * `inputs`: what goes into the gates i, f, g, o without the products with h, (t, n, 4m), biases and all.
    * `h`, `c`: before the first time, (n, m).
    * `weight`: for h, (4m, m), in the order of the gates.
    """
    times, n, width = inputs.shape
    x = F.concat([F.reshape(part, (-1,)) for part in (inputs, h, c, weight)], axis=0)
    hs, cs, _ = F.lstm(x, shape=(times, n, width // 4))
    return hs, cs
