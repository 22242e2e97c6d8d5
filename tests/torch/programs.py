"""Random programs of views, in-place ops and assignments, run in two namespaces side by side."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

WRITES = ("mul_", "add_", "sub_", "div_", "exp_", "sin_", "zero_", "fill_", "sigmoid_", "tanh_", "relu_", "sqrt_", "abs_", "pow_", "clamp_")
OPS = ("exp", "sin", "tanh", "sqrt", "sigmoid", "relu", "square", "neg", "abs")
VIEWS = {
    "first": lambda x: x[0],
    "tail": lambda x: x[1:],
    "turned": lambda x: x.transpose(0, x.dim() - 1),
    "flat": lambda x: x.reshape(-1),
    "narrow": lambda x: x.narrow(x.dim() - 1, 0, max(x.shape[-1] - 1, 0)),
    "unsqueezed": lambda x: x.unsqueeze(0),
    "selected": lambda x: x.select(x.dim() - 1, 0),
    "diagonal": lambda x: x.diagonal() if x.dim() >= 2 else x[:1],
    "expanded": lambda x: x.unsqueeze(0).expand(2, *x.shape),
    "squeezed": lambda x: x.squeeze(),
    "last": lambda x: x[..., -1],
    "chunk": lambda x: x.chunk(2)[0],
    "unbound": lambda x: x.unbind(0)[0],
}


class End(Exception):
    """The peer refuses what is right here: the rest of the program has nothing to compare with."""


class World:
    """One of the two: its namespace, and all tensors so far; the first three are leaves."""

    def __init__(self, torch: Any, leaves: list[Any]) -> None:
        self.torch = torch
        self.leaves = leaves
        self.tensors = list(leaves)


def write(x: Any, name: str) -> None:
    """An in-place op of one tensor and a constant."""
    given = {"mul_": (1.5,), "add_": (1.5,), "sub_": (1.5,), "div_": (1.5,), "fill_": (0.7,), "pow_": (2,), "clamp_": (0.1, 1.1)}
    getattr(x, name)(*given.get(name, ()))


def assign(w: World, i: int, j: int, form: str) -> None:
    """One of the ways to assign to parts of a tensor."""
    x, v = w.tensors[i], w.tensors[j]
    if x.dim() == 0:
        x[...] = 1.25
    elif form == "row":
        x[0] = v
    elif form == "rows":
        x[1:] = v[0] if v.dim() else v
    elif form == "column":
        x[..., 0] = 2.5
    elif form == "mask":
        x[x > 1] = 0.3
    else:
        x[w.torch.tensor([0, 1] if x.shape[0] > 1 else [0])] = v.sum()


def step(rng: random.Random, count: int) -> tuple[str, Any]:
    """What the program does next: its name, and a function of a world."""
    i, j = rng.randrange(count), rng.randrange(count)
    kind = rng.choice(["two", "one", "view", "view", "write", "write", "write2", "assign", "assign", "detach", "quiet", "copy", "clone"])
    if kind == "two":
        name = rng.choice(["mul", "add", "sub", "div"])
        return f"{name} {i} {j}", lambda w: w.tensors.append(getattr(w.tensors[i], name)(w.tensors[j]))
    if kind == "one":
        name = rng.choice(OPS)
        return f"{name} {i}", lambda w: w.tensors.append(getattr(w.tensors[i] * 0.1, name)())
    if kind == "view":
        name = rng.choice(list(VIEWS))
        return f"{name} {i}", lambda w: w.tensors.append(VIEWS[name](w.tensors[i]))
    if kind == "write":
        name = rng.choice(WRITES)
        return f"{name} {i}", lambda w: write(w.tensors[i], name)
    if kind == "write2":
        name = rng.choice(["mul_", "add_", "sub_", "div_"])
        return f"{name} {i} {j}", lambda w: getattr(w.tensors[i], name)(w.tensors[j])
    if kind == "assign":
        form = rng.choice(["row", "rows", "column", "mask", "places"])
        return f"assign {form} {i} {j}", lambda w: assign(w, i, j, form)
    rest = {
        "quiet": (f"quiet {i}", lambda w: quiet(w, i)),
        "copy": (f"copy_ {i} {j}", lambda w: w.tensors[i].copy_(w.tensors[j])),
    }
    return rest.get(kind) or (f"{kind} {i}", lambda w: w.tensors.append(getattr(w.tensors[i], kind)()))


def quiet(w: World, i: int) -> None:
    """A write that nobody records."""
    with w.torch.no_grad():
        w.tensors[i].mul_(0.9)


def both(worlds: list[World], name: str, run: Any) -> bool:
    """Run it in both; tell whether it ran, for what one refuses the other has to refuse as well."""
    found: list[Exception | None] = []
    for w in worlds:
        try:
            run(w)
            found.append(None)
        except RuntimeError as error:
            found.append(error)
        except (IndexError, TypeError, ValueError) as error:
            found.append(error)
    theirs, ours = found
    if theirs is not None and ours is None and any(text in str(theirs) for text in REFUSED_THERE_ALONE):
        raise End
    if theirs is None and ours is not None and "single memory location" in str(ours):
        raise End  # PyTorch lets index_put_ write to overlapping memory, in an order that it does not tell
    assert type(theirs) is type(ours), f"{name}: {theirs!r} there, {ours!r} here"
    return theirs is None


#: What PyTorch refuses though its result would be right, and is, here.
REFUSED_THERE_ALONE = (
    "modified by an inplace operation",  # of values that only its rules save
    "some elements of the input tensor",  # overlaps: the result is computed before it is written
    "doesn't match the broadcast shape",  # copy_ of a tensor with more axes of length 1
)


def compare(worlds: list[World]) -> None:
    """Values, flags and versions of all tensors."""
    for i, (a, b) in enumerate(zip(worlds[0].tensors, worlds[1].tensors, strict=True)):
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-12, err_msg=f"tensor {i}")
        assert _flags(a) == _flags(b), f"tensor {i}"
        assert a._version == b._version, f"tensor {i}"


def _flags(x: Any) -> Any:
    try:
        return x.requires_grad, x.is_leaf, x.grad_fn is None
    except RuntimeError as error:  # of a view that cannot follow a write to its base
        return str(error)


def gradients(w: World) -> None:
    """A sweep back from everything that the program has made."""
    made = [t.sum() * (n + 1) for n, t in enumerate(w.tensors[3:])]
    if made:
        sum(made).backward()


def run(seed: int, peer: Any, ours: Any, *, length: int = 12, leaf: Any = None) -> None:
    """One program: what it computes, and what it raises, are the same in both."""
    with np.errstate(all="ignore"):
        _run(seed, peer, ours, length, leaf)


def _run(seed: int, peer: Any, ours: Any, length: int, leaf: Any) -> None:
    rng, data = random.Random(seed), np.random.default_rng(seed)
    given = [data.uniform(0.5, 1.5, s) for s in ((3, 4), (3, 4), (4,))]
    worlds = []
    for torch, make in ((peer, None), (ours, leaf)):
        build = make or (lambda v, tracked, torch=torch: torch.tensor(v.copy(), requires_grad=tracked))
        worlds.append(World(torch, [build(v, k != 1) for k, v in enumerate(given)]))
    try:
        for _ in range(length):
            name, act = step(rng, len(worlds[0].tensors))
            if _overlapping(worlds, name):
                continue
            both(worlds, name, act)
            compare(worlds)
        if not both(worlds, "backward", gradients):
            return
    except End:
        return
    for a, b in zip(worlds[0].leaves, worlds[1].leaves, strict=True):
        if not a.is_leaf:
            continue
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None and np.isfinite(a.grad.numpy()).all():  # 0/0 is 0 here, NaN there
            np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), rtol=1e-9, atol=1e-12)


def _overlapping(worlds: list[World], name: str) -> bool:
    """Whether a tensor is written to from its own memory, in the order of which PyTorch's result depends."""
    words = name.split()
    if len(words) < 3 or not (words[0].endswith("_") or words[0] == "assign"):
        return False
    x, y = (worlds[1].tensors[int(k)] for k in words[-2:])
    return x is not y and bool(np.shares_memory(np.asarray(x.detach().array), np.asarray(y.detach().array)))
