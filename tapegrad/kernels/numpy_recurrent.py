"""Recurrent layers on NumPy arrays: one loop over the times, in memory that is there already.

What can be computed for all times at once is taken out of the loop: a step then costs a product of matrices and some ten calls,
where the same step in ops makes thirty records.  Gates lie as (t, 4, n, m): those of one time and kind side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Where the gates i, f, o, g stand among the rows of the weights, which are those of i, f, g, o.
_PLACES = (0, 1, 3, 2)


def _parts(x: Any, shape: tuple[int, int, int]) -> tuple[Any, Any, Any, Any]:
    """What goes into the gates, h and c before the first time, and the weights for h."""
    times, n, size = shape
    a, b = 4 * times * n * size, n * size
    first, last = a + b, a + 2 * b
    return x[:a].reshape(times, n, 4 * size), x[a:first].reshape(n, size), x[first:last].reshape(n, size), x[last:].reshape(4 * size, size)


def lstm(x: Any, *, shape: tuple[int, int, int]) -> tuple[Any, Any, Any]:
    """h and c at each time, and the gates i, f, o, g."""
    times, n, size = shape
    inputs, h, c, weights = _parts(x, shape)
    gates = np.empty((times, 4, n, size), x.dtype)
    w = np.empty((4, size, size), x.dtype)
    for k, place in enumerate(_PLACES):  # 1 / (1 + exp(-z)) for three of them: the signs are changed once for all times
        sign = -1 if k < 3 else 1
        rows = slice(place * size, (place + 1) * size)
        np.multiply(inputs[:, :, rows], sign, gates[:, k])  # `negative` of NumPy 2.4 is wrong for steps of four numbers
        np.multiply(weights[rows], sign, w[k])
    w = np.ascontiguousarray(w.reshape(4 * size, size).T)  # a small product takes twice as long with a turned one
    one = np.ones((), x.dtype)
    hs, cs = np.empty((2, times, n, size), x.dtype)
    product = np.empty((n, 4 * size), x.dtype)
    by_gate = product.reshape(n, 4, size).transpose(1, 0, 2)
    room = np.empty((n, size), x.dtype)
    with np.errstate(over="ignore"):  # of exp, where a gate is 0
        columns = (hs, cs, gates, gates[:, :3], *(gates[:, k] for k in range(4)))
        for h_next, c_next, z, openings, i, f, o, g in zip(*columns, strict=True):
            np.dot(h, w, product)
            np.add(z, by_gate, z)
            np.exp(openings, openings)
            np.add(openings, one, openings)
            np.reciprocal(openings, openings)
            np.tanh(g, g)
            np.multiply(f, c, c_next)
            np.multiply(i, g, room)
            np.add(c_next, room, c_next)
            np.tanh(c_next, room)
            np.multiply(o, room, h_next)
            h, c = h_next, c_next
    return hs, cs, gates


def lstm_cotangent(x: Any, h: Any, c: Any, gates: Any, gh: Any, gc: Any, gg: Any, *, shape: tuple[int, int, int]) -> Any:
    """The cotangent of `x`, from those of h, c and the gates."""
    times, n, size = shape
    _, h0, c0, weights = _parts(x, shape)
    found = np.empty(x.shape, np.result_type(x.dtype, gh.dtype))
    to_inputs, to_h, to_c, to_w = _parts(found, shape)
    from_c, from_h, through, forget = _slopes(c, c0, gates)
    more = iter(_of_gates(gates, gg)[::-1]) if gg.any() else None
    with_c = iter(gc[::-1]) if gc.any() else None
    dh, dc = np.zeros((2, n, size), found.dtype)
    room = np.empty_like(dh)
    by_gate = to_inputs.reshape(times, n, 4, size).transpose(0, 2, 1, 3)
    back = slice(None, None, -1)  # an array gives its parts faster than they are picked from it
    columns = (to_inputs, by_gate[:, :3], by_gate[:, 3], from_c, from_h, through, forget, gh)
    for z, of_c, of_h, slope_c, slope_h, onto_c, f, g in zip(*(x[back] for x in columns), strict=True):
        np.add(dh, g, dh)
        np.multiply(dh, onto_c, room)
        np.add(dc, room, dc)
        if with_c is not None:
            np.add(dc, next(with_c), dc)
        np.multiply(slope_c, dc, of_c)
        np.multiply(slope_h, dh, of_h)
        if more is not None:
            extra = next(more)
            np.add(of_c, extra[:3], of_c)
            np.add(of_h, extra[3], of_h)
        np.dot(z, weights, dh)
        np.multiply(dc, f, dc)
    to_h[...] = dh
    to_c[...] = dc
    np.dot(to_inputs[1:].reshape(-1, 4 * size).T, h[:-1].reshape(-1, size), to_w)
    to_w += np.dot(to_inputs[0].T, h0)
    return found


def _slopes(c: Any, c0: Any, gates: Any) -> tuple[Any, Any, Any, Any]:
    """At all times, what the cotangent of c is multiplied with for the sums before i, f and g; that of h, for o and for c; f."""
    i, f, o, g = (gates[:, k] for k in range(4))
    top = np.tanh(c)
    from_c = np.empty((len(c), 3, *c0.shape), gates.dtype)
    to_i, to_f, to_g = (from_c[:, k] for k in range(3))
    np.subtract(1, i, to_i)
    to_i *= i
    to_i *= g
    np.subtract(1, f, to_f)
    to_f *= f
    to_f[1:] *= c[:-1]
    to_f[0] *= c0
    np.multiply(g, g, to_g)
    np.subtract(1, to_g, to_g)
    to_g *= i
    from_h = 1 - o
    from_h *= o
    from_h *= top
    top *= top
    np.subtract(1, top, top)
    top *= o
    return from_c, from_h, top, f


def _of_gates(gates: Any, gg: Any) -> Any:
    """What cotangents of the gates themselves give to the sums before i, f, g and o."""
    open_ = gates[:, :3]
    i_f_o, g = gg[:, :3] * open_ * (1 - open_), gg[:, 3:] * (1 - gates[:, 3:] ** 2)
    return np.concatenate([i_f_o[:, :2], g, i_f_o[:, 2:]], axis=1)
