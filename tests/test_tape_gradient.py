"""What `gradient` takes and gives."""

from collections import OrderedDict, deque, namedtuple
from typing import Any

import numpy as np
import optree
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DTypeError, ShapeError

Pair = namedtuple("Pair", "first second")  # a plain one, as users write it


@pytest.fixture
def recorded() -> tuple[tg.GradientTape, tg.Tensor, tg.Tensor, tg.Tensor]:
    a, b = tg.asarray(2.0), tg.asarray(5.0)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        y = a * a + 3 * b
    return tape, y, a, b


def numbers(structure: Any) -> Any:
    return optree.tree_map(float, structure)


# -- structures of sources ---------------------------------------------------------------------------------
def test_the_result_has_the_structure_of_the_sources(recorded: Any) -> None:
    tape, y, a, b = recorded
    for sources, expected in [
        (a, 4.0),
        ([a], [4.0]),
        ((a, b), (4.0, 3.0)),
        ({"w": a, "b": b}, {"w": 4.0, "b": 3.0}),
        ([a, {"deep": (b, [a])}], [4.0, {"deep": (3.0, [4.0])}]),
        (Pair(b, a), Pair(3.0, 4.0)),
        (OrderedDict(z=a, y=b), OrderedDict(z=4.0, y=3.0)),
        (deque([a, b]), deque([4.0, 3.0])),
    ]:
        found = tape.gradient(y, sources)
        assert type(found) is (tg.Tensor if sources is a else type(sources))
        assert numbers(found) == expected


def test_an_empty_structure_of_sources_gives_it_back(recorded: Any) -> None:
    tape, y, *_ = recorded
    assert tape.gradient(y, []) == []
    assert tape.gradient(y, {}) == {}
    assert tape.gradient(y, ()) == ()


def test_no_targets_give_none(recorded: Any) -> None:
    tape, _, a, b = recorded
    assert tape.gradient([], a) is None
    assert tape.gradient({}, [a, b]) == [None, None]


def test_none_among_the_sources_stays_none(recorded: Any) -> None:
    tape, y, a, b = recorded
    found = tape.gradient(y, [a, None, {"b": b, "bias": None}], unconnected_gradients="zero")
    assert found[1] is None
    assert found[2]["bias"] is None
    assert float(found[2]["b"]) == 3


def test_registered_classes_are_structures(recorded: Any) -> None:
    class Layer:
        def __init__(self, w: Any, b: Any) -> None:
            self.w, self.b = w, b

    optree.register_pytree_node(
        Layer, lambda x: ((x.w, x.b), None, None), lambda _, children: Layer(*children), namespace="tapegrad"
    )
    try:
        tape, y, a, b = recorded
        found = tape.gradient(y, {"layer": Layer(a, b)})["layer"]
        assert type(found) is Layer
        assert (float(found.w), float(found.b)) == (4, 3)
    finally:
        optree.unregister_pytree_node(Layer, namespace="tapegrad")


def test_the_same_tensor_may_be_a_source_twice(recorded: Any) -> None:
    tape, y, a, _ = recorded
    first, second = tape.gradient(y, [a, a])
    assert float(first) == float(second) == 4
    assert first is not second


def test_plain_numbers_and_arrays_are_refused(recorded: Any) -> None:
    tape, y, a, _ = recorded
    for sources in (2.0, np.ones(3), [a, 2.0], "w"):
        with pytest.raises(ArgumentError, match=r"sources\): expected Tensors or Variables, got (float|ndarray|str)"):
            tape.gradient(y, sources)
    for target in (2.0, np.ones(3), [y, 1], "loss"):
        with pytest.raises(ArgumentError, match=r"gradient\(target, ...\): expected Tensors, got"):
            tape.gradient(target, a)
    with pytest.raises(ArgumentError, match="got None"):
        tape.gradient(None, a)


# -- sources and targets of all kinds ----------------------------------------------------------------------
def test_an_intermediate_can_be_a_source_beside_what_it_came_from() -> None:
    x = tg.asarray(2.0)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = x * x
        k = h * h
        y = k * x + h
    gx, gh, gk = tape.gradient(y, [x, h, k])
    assert float(gk) == 2
    assert float(gh) == 2 * 2 * 4 + 1
    assert float(gx) == 5 * 16 + 4
    assert [float(g) for g in tape.gradient(y, [k, x])] == [2, 84]


def test_a_source_below_which_nothing_is_asked_for_stops_there() -> None:
    x = tg.asarray(2.0)
    with tg.GradientTape() as tape:
        tape.watch(x)
        h = x * x
        y = h * 3
    assert float(tape.gradient(y, h)) == 3


def test_a_source_newer_than_the_target_is_unconnected() -> None:
    x = tg.asarray(2.0)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * 3
    assert tape.gradient(y, z) is None
    assert [g is None for g in tape.gradient(y, [z, x])] == [True, False]


def test_the_gradient_of_a_tensor_for_itself_is_one_whether_watched_or_not() -> None:
    x, v, other = tg.asarray([1.5, 2.5]), tg.Variable(3.5), tg.asarray(4.5)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tg.sum(x**3) + v
    assert tape.gradient(x, x).tolist() == [1, 1]
    assert float(tape.gradient(v, v)) == 1
    assert float(tape.gradient(other, other)) == 1
    assert float(tape.gradient(y, y)) == 1
    assert float(tape.gradient([y, v, y, v], v)) == 4
    assert [g is None for g in tape.gradient(other, [x, other])] == [True, False]
    assert float(tape.gradient(other, other, output_gradients=5.5)) == 5.5


def test_targets_are_summed() -> None:
    x = tg.asarray([1.0, 2.0])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = 10 * x
    assert tape.gradient(y, x).tolist() == [2, 4]
    assert tape.gradient([y, z], x).tolist() == [12, 14]
    assert tape.gradient({"a": y, "b": (z, z), "c": None}, x).tolist() == [22, 24]


def test_a_target_that_is_also_an_intermediate_of_another_counts_twice() -> None:
    x = tg.asarray(2.0)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert float(tape.gradient([z, y], x)) == 32 + 4


def test_an_integer_source_has_no_gradient() -> None:
    n = tg.Variable([3, 4])
    with tg.GradientTape() as tape:
        y = tg.sum(tg.astype(n, tg.float32) * 2.5)
    assert tape.gradient(y, n) is None
    assert tape.watched_variables() == ()


def test_a_size_0_target_gives_zeros() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x[:0] * 2
    assert tape.gradient(y, x).tolist() == [0, 0]


def test_stop_gradient_cuts_above_and_below() -> None:
    x = tg.asarray([1.0, 2.0])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        frozen = tg.stop_gradient(x * x)
        y = frozen * x
    assert tape.gradient(frozen, x) is None
    assert tape.gradient(y, x).tolist() == [1, 4]
    assert tape.gradient(y, frozen) is None
    with tg.GradientTape() as tape:
        frozen = tg.stop_gradient(x * x)
        tape.watch(frozen)
        y = frozen * x
    assert tape.gradient(y, frozen).tolist() == [1, 2]


# -- unconnected_gradients ---------------------------------------------------------------------------------
def test_unconnected_sources_are_none_or_zeros_of_their_own_kind() -> None:
    x, v = tg.asarray(1.5), tg.Variable(np.ones((2, 3)))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2
    assert tape.gradient(y, v) is None
    zeros = tape.gradient(y, v, unconnected_gradients="zero")
    assert (zeros.shape, zeros.dtype) == ((2, 3), tg.float64)
    assert not zeros.numpy().any()


def test_an_unknown_mode_for_unconnected_sources_is_refused(recorded: Any) -> None:
    tape, y, a, _ = recorded
    for ask in (tape.gradient, tape.jacobian):
        with pytest.raises(ValueError, match="unconnected_gradients is 'none' or 'zero', got 'nonsense'"):
            ask(y, a, unconnected_gradients="nonsense")


# -- output_gradients --------------------------------------------------------------------------------------
def test_output_gradients_are_multiplied_with_the_jacobian() -> None:
    x = tg.asarray([1.0, 2.0])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * x, 3 * x
    weights = tg.asarray([10.0, 100.0])
    assert tape.gradient(y, x, output_gradients=weights).tolist() == [20, 400]
    assert tape.gradient([y, z], x, output_gradients=[weights, None]).tolist() == [23, 403]
    assert tape.gradient({"a": y, "b": z}, x, output_gradients={"b": weights, "a": None}).tolist() == [32, 304]
    assert tape.gradient(y, x, output_gradients=np.asarray([1, 2])).tolist() == [2, 8]


def test_output_gradients_take_the_dtype_of_the_target() -> None:
    x = tg.asarray(np.asarray([1.0, 2.0]))
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    g = tape.gradient(y, x, output_gradients=tg.asarray([0.5, 1.5]))
    assert g.dtype == tg.float64
    assert g.tolist() == [1, 6]


def test_output_gradients_that_do_not_fit_are_refused() -> None:
    x = tg.asarray([1.0, 2.0])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tg.exp(x)
    with pytest.raises(ShapeError, match=r"expected the target's shape \(2,\), got \(3,\)"):
        tape.gradient(y, x, output_gradients=tg.asarray([1.0, 2.0, 3.0]))
    with pytest.raises(ShapeError, match="expected one for each of 2 targets, got 1"):
        tape.gradient([y, y], x, output_gradients=[y])
    with pytest.raises(DTypeError, match="expected the target's dtype float32, got complex64"):
        tape.gradient(y, x, output_gradients=tg.asarray([1j, 2.0]))
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.exp([1, 2]), rtol=1e-6)


# -- nothing that anybody holds is written to --------------------------------------------------------------
def test_output_gradients_and_gradients_are_not_changed_by_later_sweeps() -> None:
    x = tg.asarray(np.linspace(0.5, 1.5, 6).reshape(2, 3))
    seed = np.full((2, 3), 2.5)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x + x + x[:, :] + tg.reshape(x, (2, 3))
    first = tape.gradient(y, x, output_gradients=seed)
    kept = first.numpy().copy()
    for _ in range(3):
        tape.gradient(y, x, output_gradients=first)
    assert (first.numpy() == kept).all()
    assert (seed == 2.5).all()


def test_a_gradient_that_is_written_to_changes_no_other() -> None:
    a, b = tg.asarray([1.0, 2.0]), tg.asarray([3.0, 4.0])
    seed = tg.asarray([0.5, 1.5])
    for record in (False, True):
        with tg.GradientTape(persistent=True) as outer, tg.GradientTape(persistent=True) as tape:
            tape.watch([a, b])
            if record:
                outer.watch([a, b, seed])
            y = a + b
            with tape.stop_recording():
                ga, gb, again = tape.gradient(y, [a, b, a], output_gradients=seed)
        ga += 1
        gb *= 10
        assert again.tolist() == [0.5, 1.5]
        assert gb.tolist() == [5, 15]
        assert ga.tolist() == [1.5, 2.5]
        assert seed.tolist() == [0.5, 1.5]


def test_gradients_of_overlapping_slices_and_gathers_add_up() -> None:
    x = np.random.default_rng(0).normal(size=(7, 5))
    pieces = [np.s_[1:4], np.s_[:, 2], np.s_[2:6, 1:], np.s_[3], np.s_[::-2], np.s_[[0, 0, 3]], np.s_[..., [1, 1]], np.s_[6, 4]]
    t = tg.asarray(x)
    expected = np.zeros_like(x)
    with tg.GradientTape() as tape:
        tape.watch(t)
        total = tg.sum(t * t)
        for k, piece in enumerate(pieces):
            total = total + (k + 1) * tg.sum(t[piece])
            np.add.at(expected, piece, k + 1)
    np.testing.assert_allclose(tape.gradient(total, t).numpy(), expected + 2 * x, rtol=1e-12)


def test_a_slice_and_the_whole_share_no_buffer() -> None:
    x = tg.asarray(np.ones(4))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = x * 1.5
        y = h[:2], h, h[1:]
    seed = tg.asarray(np.full(4, 10.0))
    gh, gx = tape.gradient(y, [h, x], output_gradients=[None, seed, None])
    assert gh.tolist() == [11, 12, 11, 11]
    assert gx.tolist() == [16.5, 18, 16.5, 16.5]
    assert seed.tolist() == [10] * 4


def test_asking_for_the_gradient_of_a_tensor_for_itself_does_not_watch_it() -> None:
    x = tg.asarray(1.5)
    with tg.GradientTape(persistent=True) as tape:
        assert float(tape.gradient([x, x], x)) == 2
        y = x * x
    assert tape.gradient(y, x) is None
    assert x.node is None


def test_output_gradients_of_other_keys_are_refused() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        target = {"a": 2 * x, "b": 3 * x}
    with pytest.raises(ShapeError, match=r"expected the target's keys \['a', 'b'\], got \['a', 'c'\]"):
        tape.gradient(target, x, output_gradients={"a": tg.ones(2), "c": tg.ones(2)})
    assert tape.gradient(target, x, output_gradients={"b": tg.ones(2), "a": tg.zeros(2)}).tolist() == [3, 3]
