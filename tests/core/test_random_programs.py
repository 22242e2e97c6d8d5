"""Random programs under random tapes, against a reverse mode of forty lines on plain arrays."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, note
from hypothesis import strategies as st

import tapegrad as tg

SIZE = 4


# -- the reference ---------------------------------------------------------------------------------------------
class Step(NamedTuple):
    """One operation: the numbers of its arguments among the values so far, and what it does with them."""

    op: str
    args: tuple[int, ...]
    more: Any = None


VALUES: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "slice": lambda a, *, more: a[more],
    "sum": lambda a: a.sum(),
    "matvec": lambda a, *, more: more @ a,
    "concat": lambda a, b: np.concatenate([np.atleast_1d(a), np.atleast_1d(b)])[:SIZE],
}
TENSORS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "slice": lambda a, *, more: a[more],
    "sum": tg.sum,
    "matvec": lambda a, *, more: tg.matmul(tg.asarray(more), a),
    "concat": lambda a, b: tg.concat([tg.reshape(a, (-1,)), tg.reshape(b, (-1,))])[:SIZE],
}


def unbroadcast(g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if not shape:
        return g.sum()
    return g.sum(axis=0, keepdims=True) if shape == (1,) and g.shape != (1,) else np.broadcast_to(g, shape)


def cotangents(step: Step, g: Any, args: list[Any]) -> list[Any]:
    if step.op in ("add", "mul"):
        a, b = args
        parts = (g, g) if step.op == "add" else (g * b, g * a)
        return [unbroadcast(np.asarray(p), np.shape(x)) for p, x in zip(parts, args, strict=True)]
    (a, *rest) = args
    if step.op == "slice":
        out = np.zeros(np.shape(a))
        np.add.at(out, step.more, g)
        return [out]
    if step.op == "sum":
        return [np.full(np.shape(a), g)]
    if step.op == "matvec":
        return [step.more.T @ g]
    if step.op == "concat":
        n = np.size(a)
        first, second = np.zeros(n), np.zeros(np.size(rest[0]))
        first[:] = np.pad(g, (0, SIZE))[:n]
        tail = g[n:]
        second[: len(tail)] = tail
        return [first.reshape(np.shape(a)), second.reshape(np.shape(rest[0]))]
    return [g]


Knowledge = tuple[bool, ...]  # of a step: which of its arguments the tape knew then; empty if it was not recorded


def reference(
    values: list[Any],
    steps: list[Step | None],
    known: list[bool],
    used: list[Knowledge],
    targets: list[int],
    sources: list[int],
) -> list[Any]:
    """Gradients by the book.  `known`: which values the tape has watched or derived."""
    grads: list[Any] = [None] * len(values)

    def add(i: int, g: Any) -> None:
        grads[i] = g if grads[i] is None else grads[i] + g

    for t in targets:
        if known[t] or t in sources:
            add(t, np.ones(np.shape(values[t])))
    for i in range(len(values) - 1, -1, -1):
        step = steps[i]
        if grads[i] is None or step is None or not used[i]:
            continue
        parts = cotangents(step, grads[i], [values[a] for a in step.args])
        for a, g, then in zip(step.args, parts, used[i], strict=True):
            if then:
                add(a, g)
    return [grads[s] for s in sources]


# -- programs --------------------------------------------------------------------------------------------------
@st.composite
def programs(draw: st.DrawFn) -> tuple[list[np.ndarray], list[Step]]:
    """Some vectors to start with, and steps that compute vectors, shorter vectors and numbers from them."""
    numbers = st.integers(-2, 2).map(float)
    inputs = [np.asarray(draw(st.lists(numbers, min_size=SIZE, max_size=SIZE))) for _ in range(draw(st.integers(1, 3)))]
    shapes = [x.shape for x in inputs]
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 12))):
        a = draw(st.integers(0, len(shapes) - 1))
        b = draw(st.integers(0, len(shapes) - 1))
        fits = shapes[a] == shapes[b] or min(shapes[a], shapes[b]) in ((), (1,))
        choices = ["sum", "concat"]
        choices += ["add", "mul", "mul"] if fits else []
        choices += ["slice", "slice", "slice"] if shapes[a] else []
        choices += ["matvec"] if shapes[a] == (SIZE,) else []
        op = draw(st.sampled_from(choices))
        if op == "slice":
            n = shapes[a][0]
            more: Any = draw(
                st.slices(n)
                | st.integers(-n, n - 1)
                | st.lists(st.integers(-n, n - 1), min_size=1, max_size=SIZE).map(lambda i: np.asarray(i, np.int64))
                if n
                else st.slices(0)
            )
            step = Step(op, (a,), more)
        elif op == "matvec":
            step = Step(op, (a,), np.arange(SIZE * SIZE).reshape(SIZE, SIZE) % 3 - 1.0)
        else:
            step = Step(op, (a,) if op == "sum" else (a, b))
        shape = np.shape(apply(VALUES, step, [np.zeros(s) for s in shapes]))
        steps.append(step)
        shapes.append(shape)
    return inputs, steps


def apply(table: dict[str, Any], step: Step, values: list[Any]) -> Any:
    args = [values[a] for a in step.args]
    return table[step.op](*args) if step.more is None else table[step.op](*args, more=step.more)


@st.composite
def questions(draw: st.DrawFn, count: int) -> tuple[list[int], list[int]]:
    targets = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3))
    sources = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=4))
    return targets, sources


def compare(found: list[Any], expected: list[Any]) -> None:
    for f, e in zip(found, expected, strict=True):
        assert (f is None) == (e is None), (found, expected)
        if f is not None:
            np.testing.assert_allclose(f.numpy(), e, rtol=1e-9, atol=1e-9)


# -- the properties --------------------------------------------------------------------------------------------
@given(program=programs(), data=st.data())
def test_one_tape_agrees_with_the_reference(program: tuple[list[np.ndarray], list[Step]], data: st.DataObject) -> None:
    inputs, steps = program
    values = [tg.asarray(x) for x in inputs]
    watched = data.draw(st.lists(st.booleans(), min_size=len(inputs), max_size=len(inputs)), label="watched")
    known, used = list(watched), [()] * len(inputs)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch([v for v, w in zip(values, watched, strict=True) if w])
        for step in steps:
            values.append(apply(TENSORS, step, values))
            used.append(tuple(known[a] for a in step.args))
            known.append(any(used[-1]))
    raw = [v.numpy() for v in values]
    history: list[Step | None] = [*[None] * len(inputs), *steps]
    for _ in range(3):
        targets, sources = data.draw(questions(len(values)), label="targets, sources")
        found = tape.gradient([values[t] for t in targets], [values[s] for s in sources])
        compare(found, reference(raw, history, known, used, targets, sources))


@given(program=programs(), data=st.data())
def test_tapes_in_any_nesting_agree_with_the_reference(
    program: tuple[list[np.ndarray], list[Step]], data: st.DataObject
) -> None:
    inputs, steps = program
    values = [tg.asarray(x) for x in inputs]
    tapes: list[tg.GradientTape] = []
    entered: list[bool] = []
    paused: list[Any] = []
    known: list[list[bool]] = []
    used: list[list[Knowledge]] = []
    history: list[Step | None] = [None] * len(inputs)

    def recording(k: int) -> bool:
        return entered[k] and paused[k] is None

    with ExitStack() as stack:
        for step in steps:
            for event in data.draw(st.lists(st.sampled_from(EVENTS), max_size=3), label="events"):
                k = data.draw(st.integers(0, max(0, len(tapes) - 1)), label="tape")
                if event == "new" and len(tapes) < 4:
                    tapes.append(stack.enter_context(tg.GradientTape(persistent=True)))
                    entered.append(True)
                    paused.append(None)
                    known.append([False] * len(values))
                    used.append([()] * len(values))
                elif not tapes:
                    continue
                elif event == "watch":
                    some = data.draw(st.sets(st.integers(0, len(values) - 1), max_size=3), label="watched")
                    tapes[k].watch([values[i] for i in some])
                    for i in some:
                        known[k][i] = True
                elif event == "leave" and entered[k] and paused[k] is None:
                    tapes[k].__exit__(None, None, None)
                    entered[k] = False
                elif event == "enter" and not entered[k]:
                    tapes[k].__enter__()
                    entered[k] = True
                elif event == "pause" and recording(k):
                    paused[k] = tapes[k].stop_recording()
                    paused[k].__enter__()
                elif event == "resume" and paused[k] is not None:
                    paused[k].__exit__(None, None, None)
                    paused[k] = None
                elif event == "gradient":
                    ask(data, tapes[k], values, history, known[k], used[k])
            values.append(apply(TENSORS, step, values))
            history.append(step)
            for k in range(len(tapes)):
                used[k].append(tuple(recording(k) and known[k][a] for a in step.args))
                known[k].append(any(used[k][-1]))
        for p in paused:
            if p is not None:
                p.__exit__(None, None, None)
    for k, tape in enumerate(tapes):
        note(f"tape {k}")
        ask(data, tape, values, history, known[k], used[k])


EVENTS = ["new", "new", "watch", "watch", "leave", "enter", "pause", "resume", "gradient"]


def ask(
    data: st.DataObject,
    tape: tg.GradientTape,
    values: list[Any],
    history: list[Step | None],
    known: list[bool],
    used: list[Knowledge],
) -> None:
    targets, sources = data.draw(questions(len(values)), label="targets, sources")
    found = tape.gradient([values[t] for t in targets], [values[s] for s in sources])
    compare(found, reference([v.numpy() for v in values], history, known, used, targets, sources))


@given(program=programs(), data=st.data())
def test_second_derivatives_agree_with_differences_of_the_reference(
    program: tuple[list[np.ndarray], list[Step]], data: st.DataObject
) -> None:
    inputs, steps = program

    def slope(xs: list[np.ndarray]) -> np.ndarray:
        values: list[Any] = list(xs)
        for step in steps:
            values.append(apply(VALUES, step, values))
        n = len(values)
        history: list[Step | None] = [*[None] * len(xs), *steps]
        (g,) = reference(values, history, [True] * n, [(True, True)[: len(s.args) if s else 0] for s in history], [n - 1], [0])
        return np.zeros(SIZE) if g is None else np.asarray(g)

    x = [tg.asarray(v) for v in inputs]
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            values = list(x)
            for step in steps:
                values.append(apply(TENSORS, step, values))
        g = inner.gradient(values[-1], x[0], unconnected_gradients="zero")
    second = outer.gradient(g, x[0], unconnected_gradients="zero").numpy()
    h = 1e-4
    for k in range(SIZE):
        moved = [[v + s * h * (np.arange(SIZE) == k) if i == 0 else v for i, v in enumerate(inputs)] for s in (1, -1)]
        numeric = (slope(moved[0]).sum() - slope(moved[1]).sum()) / (2 * h)
        scale = 1 + np.abs(slope(inputs)).max() + np.abs(second).max()
        assert abs(numeric - second[k]) < 1e-5 * scale


@given(program=programs(), data=st.data())
def test_forward_mode_agrees_with_reverse_mode(program: tuple[list[np.ndarray], list[Step]], data: st.DataObject) -> None:
    inputs, steps = program
    x = [tg.asarray(v) for v in inputs]
    t = [np.asarray(data.draw(st.lists(st.integers(-2, 2).map(float), min_size=SIZE, max_size=SIZE))) for _ in x]
    with tg.GradientTape() as tape, tg.ForwardAccumulator(x, [tg.asarray(v) for v in t]) as acc:
        tape.watch(x)
        values = list(x)
        for step in steps:
            values.append(apply(TENSORS, step, values))
    y = values[-1]
    forward = acc.jvp(y, unconnected_gradients="zero").numpy()
    backward = tape.gradient(y, x, unconnected_gradients="zero")
    total = sum(float((g.numpy() * v).sum()) for g, v in zip(backward, t, strict=True))
    np.testing.assert_allclose(forward.sum(), total, rtol=1e-9, atol=1e-9)
