"""The 64-bit numbers by which TensorFlow puts texts into buckets: a fingerprint (FarmHash), and SipHash with a key."""

from __future__ import annotations

import struct

_ALL = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _long(data: bytes, at: int) -> int:
    found: int = struct.unpack_from("<Q", data, at)[0]
    return found


def _turned(x: int, by: int) -> int:
    x &= _ALL
    return (x >> by) | (x << (64 - by) & _ALL)


def _folded(x: int) -> int:
    x &= _ALL
    return x ^ (x >> 47)


def _joined(u: int, v: int, factor: int) -> int:
    """Two words as one."""
    a = _folded(((u ^ v) & _ALL) * factor)
    return _folded(((v & _ALL) ^ a) * factor) * factor & _ALL


def _short(data: bytes) -> int:
    n = len(data)
    factor = _K2 + 2 * n
    if n >= 8:
        a, b = _long(data, 0) + _K2, _long(data, n - 8)
        return _joined(_turned(b, 37) * factor + a & _ALL, (_turned(a, 25) + b) * factor & _ALL, factor)
    if n >= 4:
        first, last = struct.unpack_from("<I", data, 0)[0], struct.unpack_from("<I", data, n - 4)[0]
        return _joined(n + (first << 3), last, factor)
    if n:
        y, z = data[0] + (data[n >> 1] << 8), n + (data[-1] << 2)
        return _folded(y * _K2 & _ALL ^ z * _K0 & _ALL) * _K2 & _ALL
    return _K2


def _ends(data: bytes, first: int) -> tuple[int, int, int, int, int]:
    """What the two words at the start and the two at the end give; `first` multiplies the first."""
    n = len(data)
    factor = _K2 + 2 * n
    a, b = _long(data, 0) * first & _ALL, _long(data, 8)
    c, d = _long(data, n - 8) * factor & _ALL, _long(data, n - 16) * _K2 & _ALL
    return factor, a, c, _turned(a + b, 43) + _turned(c, 30) + d, a + _turned(b + _K2, 18) + c


def _medium(data: bytes) -> int:
    n = len(data)
    if n <= 32:
        factor, _, _, y, z = _ends(data, _K1)
        return _joined(y & _ALL, z & _ALL, factor)
    factor, a, _, y, z = _ends(data, _K2)
    z = _joined(y & _ALL, z & _ALL, factor)
    e, f = _long(data, 16) * factor & _ALL, _long(data, 24)
    g, h = (y + _long(data, n - 32)) * factor & _ALL, (z + _long(data, n - 24)) * factor & _ALL
    return _joined(_turned(e + f, 43) + _turned(g, 30) + h & _ALL, e + _turned(f + a, 18) + g & _ALL, factor)


def _four(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """Four words, mixed into two."""
    w, x, y, z = struct.unpack_from("<4Q", data, at)
    a = a + w & _ALL
    b = _turned(b + a + z, 21)
    c = a
    a = a + x + y & _ALL
    return a + z & _ALL, b + _turned(a, 44) + c & _ALL


def fingerprint(data: bytes) -> int:
    """The fingerprint of bytes, the same everywhere and for all time.

    >>> fingerprint(b"a word") % 1000
    788
    """
    n = len(data)
    if n <= 64:
        return _short(data) if n <= 16 else _medium(data)
    x, y = 81, 81 * _K1 + 113 & _ALL
    z = _folded(y * _K2 + 113) * _K2 & _ALL
    v, w = (0, 0), (0, 0)
    x = x * _K2 + _long(data, 0) & _ALL
    for at in (*range(0, (n - 1) // 64 * 64, 64), n - 64):
        last, factor, nine = at == n - 64, _K1, 1
        if last:
            factor, nine = _K1 + ((z & 0xFF) << 1), 9
            w = w[0] + (n - 1 & 63), w[1]
            v = v[0] + w[0], v[1]
            w = w[0] + v[0], w[1]
        x = _turned(x + y + v[0] + _long(data, at + 8), 37) * factor & _ALL
        y = _turned(y + v[1] + _long(data, at + 48), 42) * factor & _ALL
        x ^= w[1] * nine & _ALL
        y = y + v[0] * nine + _long(data, at + 40) & _ALL
        z = _turned(z + w[0], 33) * factor & _ALL
        v = _four(data, at, v[1] * factor & _ALL, x + w[0])
        w = _four(data, at + 32, z + w[1] & _ALL, y + _long(data, at + 16) & _ALL)
        z, x = x, z
    return _joined(_joined(v[0], w[0], factor) + _folded(y) * _K0 + z & _ALL, _joined(v[1], w[1], factor) + x & _ALL, factor)


def keyed(data: bytes, key: tuple[int, int]) -> int:
    """SipHash-2-4 of a text: without the two numbers of the key, nobody finds texts that fall together.

    J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", 2012, section 2.
    """
    words = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
    state = [word ^ key[i % 2] & _ALL for i, word in enumerate(words)]
    whole = len(data) // 8 * 8
    last = data[whole:].ljust(7, b"\0") + bytes([len(data) & 255])
    for word in (*struct.unpack(f"<{whole // 8}Q", data[:whole]), *struct.unpack("<Q", last)):
        state[3] ^= word
        _mixed(state, 2)
        state[0] ^= word
    state[2] ^= 255
    _mixed(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _mixed(state: list[int], rounds: int) -> None:
    a, b, c, d = state
    for _ in range(rounds):
        a, c = (a + b) & _ALL, (c + d) & _ALL
        b, d = _left(b, 13) ^ a, _left(d, 16) ^ c
        a = _left(a, 32)
        c, a = (c + b) & _ALL, (a + d) & _ALL
        b, d = _left(b, 17) ^ c, _left(d, 21) ^ a
        c = _left(c, 32)
    state[:] = a, b, c, d


def _left(x: int, by: int) -> int:
    return (x << by) & _ALL | x >> (64 - by)
