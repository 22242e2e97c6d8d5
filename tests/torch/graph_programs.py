"""Random programs that look at the graph while they write into views: hooks, kept gradients, edges, gradients asked for on the way."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .programs import OPS, VIEWS, WRITES, End, write

SEVERAL = {
    "unbind": lambda x: x.unbind(0),
    "split": lambda x: x.split(1, 0),
    "chunk": lambda x: x.chunk(2, x.dim() - 1),
    "sections": lambda x: x.split([1, x.shape[0] - 1]),
    "tensor_split": lambda x: x.tensor_split(2),
}


class World:
    """One of the two: its namespace, all tensors so far, what its hooks have heard, and what it has kept of its graph."""

    def __init__(self, torch: Any, leaves: list[Any]) -> None:
        self.torch = torch
        self.tensors = list(leaves)
        self.leaves = leaves
        self.heard: list[Any] = []
        self.edges: list[Any] = []
        self.on_piece = False
        self.functions = functions(torch)

    def hear(self, name: str, g: Any) -> None:
        """Note what a hook was called with."""
        self.heard.append((name, None if g is None else g.detach().numpy().copy()))


def functions(torch: Any) -> dict[str, Any]:
    """Functions of a user: one that writes into its input, one that gives a view of it, one that gives it as it is."""

    class Double(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g

    class Part(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.shape = x.shape
            return x[:1]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3 * g.expand(ctx.shape)

    class Same(torch.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 5 * g

    return {"Double": Double, "Part": Part, "Same": Same}


def _hook(w: World, i: int, name: str, factor: float | None) -> None:
    def hook(g: Any) -> Any:
        if g is None:  # of a piece that nobody has used, where one step gives all
            return None
        w.hear(name, g)
        return None if factor is None else g * factor

    if _is_piece(w.tensors[i]):
        if w.on_piece:
            return  # those on several are called in the order of their registration there, in the order of the pieces here
        w.on_piece = True
    w.tensors[i].register_hook(hook)


def _is_piece(x: Any) -> bool:
    node = x.grad_fn
    return node is not None and ("Split" in node.name() or "Unbind" in node.name())


def _node_hook(w: World, i: int, name: str, before: bool) -> None:
    node = w.tensors[i].grad_fn
    if node is None or "Accumulate" in node.name() or _is_piece(w.tensors[i]):
        return  # one step gives all pieces there
    if before:
        node.register_prehook(lambda gs: w.hear(name, gs[0]))
    else:
        node.register_hook(lambda _, gs: w.hear(name, gs[0]))


def _into(w: World, i: int, j: int, name: str) -> None:
    if w.tensors[i].shape == w.tensors[j].shape:  # otherwise PyTorch gives the tensor another shape on the memory that it has
        getattr(w.torch, name)(w.tensors[j], 1.5, out=w.tensors[i])


def _quietly(w: World, run: Any) -> None:
    with w.torch.no_grad():
        run(w)


def _ask(w: World, i: int, j: int) -> None:
    """Gradients on the way, without an end to the graph."""
    y = w.tensors[i]
    found = w.torch.autograd.grad(y.sum(), [w.tensors[j], *w.edges], retain_graph=True, allow_unused=True)
    for g in found:
        w.hear("asked", g)


#: What a program can do, as often as it is named.
KINDS = (
    *("two", "one", "view", "view", "view", "write", "write", "write2", "assign", "several", "quiet", "data", "clone", "detach"),
    *("function", "hook", "hook", "hook", "hook", "retain", "retain", "node", "edge", "ask", "out", "copy"),
)


def _one_of_several(rng: random.Random, kind: str, i: int, j: int) -> tuple[str, Any] | None:
    """A step of a kind that has several forms."""
    forms: dict[str, Any] = {
        "two": (["mul", "add", "sub"], lambda op: lambda w: w.tensors.append(getattr(w.tensors[i], op)(w.tensors[j]))),
        "one": (OPS, lambda op: lambda w: w.tensors.append(getattr(w.tensors[i] * 0.1, op)())),
        "view": (list(VIEWS), lambda op: lambda w: w.tensors.append(VIEWS[op](w.tensors[i]))),
        "write": (WRITES, lambda op: lambda w: write(w.tensors[i], op)),
        "write2": (["mul_", "add_", "sub_"], lambda op: lambda w: getattr(w.tensors[i], op)(w.tensors[j])),
        "several": (list(SEVERAL), lambda op: lambda w: w.tensors.extend(SEVERAL[op](w.tensors[i])[:2])),
        "function": (["Double", "Double", "Part", "Same"], lambda op: lambda w: w.tensors.append(w.functions[op].apply(w.tensors[i]))),
        "out": (["mul", "add"], lambda op: lambda w: _into(w, i, j, op)),
    }
    if kind not in forms:
        return None
    names, made = forms[kind]
    op = rng.choice(names)
    return f"{op}{'_into_' if kind == 'out' else ''} {i}" + (f" {j}" if kind in ("two", "write2", "out") else ""), made(op)


def step(rng: random.Random, count: int, number: int) -> tuple[str, Any]:
    """What the program does next: its name, and a function of a world."""
    i, j = rng.randrange(count), rng.randrange(count)
    kind = rng.choice(KINDS)
    factor = rng.choice([None, None, 2.0])
    made = _one_of_several(rng, kind, i, j)
    if made is not None:
        return made
    label = f"{kind}{number}"
    rest: dict[str, Any] = {
        "assign": lambda w: w.tensors[i].__setitem__(0, 2.5 if factor else w.tensors[j][0]),
        "copy": lambda w: w.tensors[i].copy_(w.tensors[j]),
        "quiet": lambda w: _quietly(w, lambda w: w.tensors[i].mul_(0.9)),
        "data": lambda w: w.tensors[i].data.mul_(1.1),
        "clone": lambda w: w.tensors.append(w.tensors[i].clone()),
        "detach": lambda w: w.tensors.append(w.tensors[i].detach()),
        "hook": lambda w: _hook(w, i, label, factor),
        "retain": lambda w: w.tensors[i].retain_grad(),
        "node": lambda w: _node_hook(w, i, label, factor is None),
        "edge": lambda w: w.edges.append(w.torch.autograd.graph.get_gradient_edge(w.tensors[i])),
        "ask": lambda w: _ask(w, i, j),
    }
    return ("copy_" if kind == "copy" else "assign_" if kind == "assign" else kind) + f" {i} {j}", rest[kind]


#: What PyTorch refuses though its result would be right, and is, here.
REFUSED_THERE_ALONE = (
    "modified by an inplace operation",  # of values that only its rules save
    "some elements of the input tensor",  # overlaps: the result is computed before it is written
    "doesn't match the broadcast shape",  # copy_ of a tensor with more axes of length 1
)


def both(worlds: list[World], name: str, run: Any) -> bool:
    """Run it in both; tell whether it ran, for what one refuses the other has to refuse as well, in the same words."""
    found: list[Exception | None] = []
    for w in worlds:
        try:
            run(w)
            found.append(None)
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            found.append(error)
    theirs, ours = found
    if theirs is not None and ours is None and any(text in str(theirs) for text in REFUSED_THERE_ALONE):
        raise End
    if "single memory location" in f"{theirs}{ours}":
        raise End  # PyTorch refuses some such writes late, or writes in an order that it does not tell
    assert type(theirs) is type(ours), f"{name}: {theirs!r} there, {ours!r} here"
    if theirs is not None and "modified inplace" not in f"{theirs}{ours}":  # of several reasons not to write there, one is told
        assert str(theirs)[:60] == str(ours)[:60], f"{name}: {theirs!s} there, {ours!s} here"
    if ": ask" in name and "modified by an inplace operation" in str(theirs):
        raise End  # PyTorch notices a write when it comes to the value: hooks may have been called before
    return theirs is None


def _seen(x: Any) -> Any:
    try:
        node = x.grad_fn
        return x.requires_grad, x.is_leaf, x.retains_grad, None if node is None else node.name(), x.output_nr
    except RuntimeError as error:  # of a view that cannot follow a write to its base
        return str(error)


def compare(worlds: list[World]) -> None:
    """Values, versions, and what there is to see of the graph."""
    for i, (a, b) in enumerate(zip(worlds[0].tensors, worlds[1].tensors, strict=True)):
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-12, err_msg=f"tensor {i}")
        assert a._version == b._version, f"tensor {i}: version {a._version} there, {b._version} here"
        theirs, ours = _seen(a), _seen(b)
        assert theirs == ours, f"tensor {i}: {theirs} there, {ours} here"
    compare_heard(worlds)


def compare_heard(worlds: list[World]) -> None:
    """The calls of hooks, in their order."""
    there, here = (w.heard for w in worlds)
    assert [n for n, _ in there] == [n for n, _ in here], f"{[n for n, _ in there]} there, {[n for n, _ in here]} here"
    for (name, a), (_, b) in zip(there, here, strict=True):
        assert (a is None) == (b is None), name
        if a is not None and np.isfinite(a).all():
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12, err_msg=name)


def _sweep(w: World) -> None:
    made = [t.sum() * (n + 1) for n, t in enumerate(w.tensors[3:]) if t.requires_grad]
    if made:
        sum(made).backward()


def run(seed: int, peer: Any, ours: Any, *, length: int = 14) -> int:
    """One program: all that it computes, calls and raises is the same in both.  The number of steps that both have taken."""
    with np.errstate(all="ignore"):
        return _run(seed, peer, ours, length)


def _run(seed: int, peer: Any, ours: Any, length: int) -> int:
    rng, data = random.Random(seed), np.random.default_rng(seed)
    given = [data.uniform(0.5, 1.5, s) for s in ((3, 4), (3, 4), (4,))]
    worlds = [World(t, [t.tensor(v.copy(), requires_grad=k != 1) for k, v in enumerate(given)]) for t in (peer, ours)]
    done = 0
    try:
        for number in range(length):
            count = len(worlds[0].tensors)
            name, act = step(rng, count, number)
            if _overlapping(worlds, name):
                continue
            done += both(worlds, f"{number}: {name}", act)
            compare(worlds)
        if not both(worlds, "backward", _sweep):
            return done  # PyTorch notices a write when it comes to the value: hooks may have been called before
    except End:
        return done
    compare_heard(worlds)
    for i, (a, b) in enumerate(zip(worlds[0].tensors, worlds[1].tensors, strict=True)):
        theirs, mine = (_grad(t) for t in (a, b))
        assert (theirs is None) == (mine is None), f"gradient of {i}: {theirs} there, {mine} here"
        if theirs is not None and np.isfinite(theirs).all():
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12, err_msg=f"gradient of {i}")
    return done


def _grad(x: Any) -> Any:
    try:
        kept = x.is_leaf or x.retains_grad
    except RuntimeError:
        return None
    return x.grad.numpy() if kept and x.grad is not None else None


def _overlapping(worlds: list[World], name: str) -> bool:
    """Whether a tensor is written to from its own memory, in the order of which PyTorch's result depends."""
    words = name.split()
    if len(words) < 3 or not words[0].endswith("_"):
        return False
    x, y = (worlds[1].tensors[int(k)] for k in words[-2:])
    return x is not y and bool(np.shares_memory(np.asarray(x.detach().array), np.asarray(y.detach().array)))
