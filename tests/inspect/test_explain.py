"""`tape.explain`: why a gradient is None, or by which way it comes."""

import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.core.recorder import NOTING
from tapegrad.errors import ArgumentError, SpentError

HERE = re.escape(Path(__file__).name)


def test_a_path_is_named() -> None:
    x = tg.asarray([1.0, 2.0])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.sum(tg.exp(x) * 2.0)
    assert tape.explain(y, x) == "a gradient, through 3 ops: source -> exp -> multiply -> sum -> target"
    assert tape.gradient(y, x) is not None
    with pytest.raises(SpentError, match=r"ask before tape\.gradient, or use GradientTape\(persistent=True\)"):
        tape.explain(y, x)


def test_a_long_path_is_shortened() -> None:
    x = tg.asarray(1.0)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(10_000):
            y = tg.sin(y)
    assert tape.explain(y, x) == "a gradient, through 10000 ops: source -> sin -> sin -> sin -> ... -> sin -> sin -> sin -> target"


def test_the_source_itself_and_what_lies_between() -> None:
    x = tg.asarray(1.0)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tg.sin(x)
        z = tg.cos(y)
    assert tape.explain(x, x) == "a gradient: the target is the source itself"
    assert "through 1 op: source -> cos -> target" in tape.explain(z, y)
    assert tape.explain(y, z).startswith("None: the source was watched after the target") is True


@pytest.mark.parametrize(
    ("source", "words", "said"),
    [
        (tg.asarray([1.0]), {}, "never watched by this tape; call tape.watch"),
        (tg.asarray([1]), {}, "the source has dtype int64"),
        (tg.Variable([1.0], trainable=False), {}, "a Variable with trainable=False"),
        (tg.Variable([1.0]), {"watch_accessed_variables": False}, "watch_accessed_variables=False"),
        (tg.Variable([1.0]), {}, "was not read while the tape was recording"),
    ],
)
def test_a_source_that_is_not_watched(source: Any, words: dict[str, Any], said: str) -> None:
    w = tg.asarray([2.0])
    with tg.GradientTape(**words) as tape:
        tape.watch(w)
        y = w * w
        if words or not getattr(source, "trainable", True):
            y = y * source
    found = tape.explain(y, source)
    assert found.startswith("None: ")
    assert said in found
    assert tape.gradient(y, source) is None


def test_a_target_outside_the_tape() -> None:
    x = tg.asarray([1.0])
    with tg.GradientTape() as tape:
        tape.watch(x)
        kept = x * 2.0
    late = x * 2.0
    assert "the target was not recorded" in tape.explain(late, x)
    assert "the target has dtype int64" in tape.explain(tg.argmax(kept), x)
    with tg.GradientTape() as other:
        other.watch(x)
        theirs = x * 3.0
    assert "only another tape has recorded the target" in tape.explain(theirs, x)


def test_no_way_from_the_source_to_the_target() -> None:
    a, b = tg.Variable([1.0], name="a"), tg.Variable([2.0], name="b")
    with tg.GradientTape() as tape:
        lost = tg.exp(a)
        y = b * b
    found = tape.explain(y, a)
    assert "does not depend on the source, but on b" in found
    assert "of the source were computed: exp, and none of that leads to the target" in found
    assert "traced=True" in found
    assert lost.shape == (1,)


def test_a_source_watched_too_late() -> None:
    x = tg.asarray([1.0])
    w = tg.asarray([3.0])
    with tg.GradientTape() as tape:
        tape.watch(w)
        y = x * w
        tape.watch(x)
    assert "watched after the target had been computed" in tape.explain(y, x)


CUTS: dict[str, Callable[[Any], Any]] = {
    "stop_gradient": tg.stop_gradient,
    "convert": lambda x: tg.astype(tg.astype(x, tg.int32), tg.float32),
    "greater": lambda x: tg.astype(x > 0, tg.float32),
    "floor": tg.floor,
    r"x\.numpy\(\)": lambda x: tg.asarray(x.numpy() * 2),
    r"float\(x\)": lambda x: tg.asarray([float(x[0])]),
    r"x\.item\(\)": lambda x: tg.asarray([x.item()]),
}


@pytest.mark.parametrize("name", CUTS)
def test_a_traced_tape_names_the_place_of_a_cut(name: str) -> None:
    x, w = tg.asarray([1.5]), tg.Variable([2.0])
    with tg.GradientTape(traced=True) as tape:
        tape.watch(x)
        y = CUTS[name](tg.sin(x)) * w
    assert re.search(rf"Cut off by: {name} at .*{HERE}:\d+", tape.explain(y, x))
    assert tape.explain(y, w).startswith("a gradient")


def test_switched_off_recording_is_a_cut() -> None:
    x, w = tg.asarray([1.5]), tg.Variable([2.0])
    with tg.GradientTape(traced=True) as tape:
        tape.watch(x)
        with tg.no_grad():
            h = tg.sin(x)
        with tape.stop_recording():
            k = tg.cos(x)
        y = h * k * w
    found = tape.explain(y, x)
    assert re.search(rf"no_grad at .*{HERE}:\d+; tape.stop_recording\(\) at .*{HERE}:\d+", found)


def test_cuts_of_other_values_are_not_named() -> None:
    x, w = tg.asarray([1.5]), tg.Variable([2.0])
    with tg.GradientTape(traced=True) as tape:
        tape.watch(x)
        tg.stop_gradient(tg.sin(w))
        y = w * w
    assert "Cut off" not in tape.explain(y, x)


def test_nothing_is_noted_after_the_tape_is_left_in_any_way() -> None:
    x = tg.asarray([1.5])
    with pytest.raises(ArgumentError), tg.GradientTape(traced=True) as tape:
        tape.watch("x")
    assert NOTING == []
    tape = tg.GradientTape(traced=True)
    tape.__enter__()
    assert len(NOTING) == 1
    del tape
    assert NOTING == []
    with tg.GradientTape(traced=True) as tape:
        tape.watch(x)
        tape.reset()
        tape.watch(x)
        y = tg.stop_gradient(x) + tg.asarray([1.0])
        assert len(NOTING) == 1
    assert NOTING == []
    assert "Cut off by: stop_gradient" in tape.explain(y, x)


def test_arguments_that_are_no_tensors_are_refused() -> None:
    with tg.GradientTape() as tape:
        pass
    with pytest.raises(ArgumentError, match=r"explain\(target"):
        tape.explain(1.0, tg.asarray(1.0))
    with pytest.raises(ArgumentError, match=r"explain\(source"):
        tape.explain(tg.asarray(1.0), np.ones(2))


def _spent(
    use: Callable[[tg.Tensor, tg.Variable], Any], *, traced: bool = False, watch: bool = True, take: str = "gradient"
) -> str:
    """What a tape says of a source after its derivative was None."""
    x, w = tg.asarray([1.5, -0.5]), tg.Variable([2.0, 1.0])
    with tg.GradientTape(traced=traced) as tape:
        if watch:
            tape.watch(x)
        y = use(x, w)
    assert getattr(tape, take)(y, x) is None
    return tape.explain(y, x)


@pytest.mark.parametrize("take", ["gradient", "jacobian", "batch_jacobian"])
def test_a_spent_tape_knows_why_it_gave_none(take: str) -> None:
    assert "never watched by this tape; call tape.watch" in _spent(lambda x, w: w * x, watch=False, take=take)
    assert "though both were recorded" in _spent(lambda x, w: (tg.sin(x), w * w)[1], take=take)
    assert "the target was not recorded" in _spent(lambda x, w: tg.floor(x), take=take)


def test_a_spent_tape_that_notes_cuts_names_the_place() -> None:
    assert re.search(rf"Cut off by: floor at .*{HERE}:\d+", _spent(lambda x, w: w * tg.floor(x), traced=True))


def test_a_spent_tape_tells_of_targets_without_a_gradient() -> None:
    x, w = tg.asarray([1.5]), tg.Variable([2.0])
    with tg.GradientTape() as tape:
        tape.watch(x)
        kinds = [tg.argmax(x * w), None]
    assert tape.gradient(kinds, [x, None, w]) == [None, None, None]
    assert "the target has dtype int64" in tape.explain(kinds[0], w)


def test_a_spent_tape_tells_only_of_what_it_was_asked() -> None:
    x, w, other = tg.asarray([1.5]), tg.Variable([2.0]), tg.Variable([0.5])
    with tg.GradientTape() as tape:
        y = w * x
        z = tg.sin(y)
    assert tape.gradient(y, [x, w])[0] is None
    assert "never watched" in tape.explain(y, x)
    for target, source in ((y, w), (y, other), (z, x)):
        with pytest.raises(SpentError, match="knows no more than why that was None"):
            tape.explain(target, source)
    with tape:
        y = w * other
    assert tape.explain(y, w).startswith("a gradient")


def test_what_a_spent_tape_tells_keeps_nothing_alive() -> None:
    x, w = tg.asarray([1.5]), tg.Variable([2.0])
    with tg.GradientTape() as tape:
        y = w * 2.0
    assert tape.gradient(y, x) is None
    alive = [weakref.ref(x), weakref.ref(y)]
    del x, y
    assert [r() for r in alive] == [None, None]
