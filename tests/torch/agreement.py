"""The same call under PyTorch and under tapegrad: values, dtypes, shapes, derivatives, and errors."""

import warnings
from typing import Any

import numpy as np

#: What calls are made of, by name: arrays from a seed.
SHAPES = {
    "x": (3, 4), "y": (3, 4), "p": (3, 4), "v": (4,), "w": (4,), "a": (4, 4), "b": (2, 3, 4), "c": (2, 4, 5), "s": (), "spd": (3, 3),
    "img": (2, 4, 6, 6), "seq": (2, 4, 7), "vol": (1, 2, 4, 4, 4), "logits": (5, 3),
}  # fmt: skip


def arrays(seed: int, dtype: Any = np.float64) -> dict[str, Any]:
    """All arrays of a seed; `p` is in (0, 1), `spd` is positive definite."""
    rng = np.random.default_rng(seed)
    found = {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}
    found["p"] = rng.uniform(0.05, 0.95, (3, 4))
    found["spd"] = found["spd"] @ found["spd"].T + 2 * np.eye(3)
    made = {name: np.asarray(value, dtype) for name, value in found.items()}
    made["i"] = rng.integers(0, 3, (3, 4))
    made["j"] = rng.integers(-5, 6, (3, 4))
    made["k"] = rng.integers(0, 3, (5,))
    made["m"] = rng.standard_normal((3, 4)) > 0
    made["z"] = rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4))
    return made


def run(torch: Any, call: str, given: dict[str, Any], *, tracked: bool) -> tuple[Any, Any]:
    """What a call gives, and the derivatives of a weighted sum of it for all that it is made of."""
    names = {n: torch.tensor(v) for n, v in given.items() if n in compile(call, "", "eval").co_names}
    if tracked:
        for t in names.values():
            if t.is_floating_point() or t.is_complex():
                t.requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = eval(call, {"torch": torch, "F": torch.nn.functional, "t": torch}, names)
        if not tracked:
            return out, None
        total = None
        for i, y in enumerate(flat(torch, out)):
            if isinstance(y, torch.Tensor) and y.requires_grad:
                weights = np.cos(np.arange(y.numel(), dtype=np.float64) + i).reshape(tuple(y.shape))
                part = (y.abs() if y.is_complex() else y).double() * torch.tensor(weights)
                total = part.sum() if total is None else total + part.sum()
        if total is None:
            return out, {}
        total.backward()
    return out, {n: t.grad for n, t in names.items() if t.requires_grad}


def flat(torch: Any, x: Any) -> list[Any]:
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, (list, tuple)):
        return [z for y in x for z in flat(torch, y)]
    return [x]


def raw(x: Any) -> Any:
    return np.asarray(x.detach().resolve_conj().numpy()) if hasattr(x, "detach") else x


def agree(mine: Any, theirs: Any, ours: Any, torch: Any, rtol: float = 1e-7, atol: float = 1e-9) -> None:
    """Two results of the same kind, dtypes, shapes and values."""
    a, b = flat(ours, mine), flat(torch, theirs)
    assert len(a) == len(b)
    for p, q in zip(a, b, strict=True):
        if not isinstance(q, torch.Tensor):
            assert type(p) is type(q) or isinstance(q, (torch.Size, torch.dtype)), (type(p), type(q))
            assert str(p) == str(q) or p == q, (p, q)
            continue
        assert isinstance(p, ours.Tensor), type(p)
        assert str(p.dtype) == str(q.dtype), (p.dtype, q.dtype)
        assert tuple(p.shape) == tuple(q.shape), (p.shape, q.shape)
        assert p.requires_grad == q.requires_grad, "requires_grad"
        single = q.dtype in (torch.float32, torch.complex64, torch.float16, torch.bfloat16)
        half = q.dtype == torch.bfloat16
        bounds = {"rtol": 3e-5, "atol": 1e-5} if single else {"rtol": rtol, "atol": atol}
        np.testing.assert_allclose(raw(p.float() if half else p), raw(q.float() if half else q), **bounds)


def compare(
    ours: Any, torch: Any, call: str, given: dict[str, Any], *, tracked: bool = True, **tolerance: float
) -> None:
    """Fail unless both give the same, or raise errors of the same class."""
    try:
        theirs, their_grads = run(torch, call, given, tracked=tracked)
    except Exception as error:
        wanted = error
    else:
        mine, my_grads = run(ours, call, given, tracked=tracked)
        agree(mine, theirs, ours, torch, **tolerance)
        if tracked:
            assert my_grads.keys() == their_grads.keys()
            for name, g in their_grads.items():
                mine_g = my_grads[name]
                if g is None or mine_g is None:
                    other = mine_g if g is None else g
                    assert other is None or not raw(other).any(), f"one gradient for {name} is None"
                    continue
                if raw(g).dtype != np.float64 and raw(g).dtype != np.complex128:
                    tolerance = {"rtol": 1e-4, "atol": 1e-5}
                wanted_to = {"rtol": 1e-6, "atol": 1e-8, **tolerance}
                np.testing.assert_allclose(raw(mine_g), raw(g), err_msg=f"gradient for {name}", **wanted_to)
        return
    try:
        found, _ = run(ours, call, given, tracked=tracked)
    except Exception as error:
        raised: Any = error
    else:
        raise AssertionError(f"gave {found!r}, expected {type(wanted).__name__}: {wanted}")
    kinds = (type(wanted), *[k for k in (RuntimeError, ValueError, TypeError, IndexError) if isinstance(wanted, k)])
    assert isinstance(raised, kinds), f"{type(raised).__name__}: {raised}, expected {type(wanted).__name__}: {wanted}"
