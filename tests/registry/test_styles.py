"""Ops compiled for a facade's subclass of Tensor."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.core.recorder import Recorder, group
from tapegrad.core.tensor import Tensor
from tapegrad.core.watching import watch
from tapegrad.errors import DTypeError
from tapegrad.registry import call
from tapegrad.registry.op import OPS
from tapegrad.registry.source import entry_source
from tapegrad.registry.space import F
from tapegrad.registry.styles import Style


class Mine(Tensor):
    """A class whose dtype and constructor are not a Tensor's, so that using either of them is noticed."""

    __slots__ = ()

    def __init__(self, *args):
        raise AssertionError("an op called the constructor")

    @property
    def dtype(self):
        raise AssertionError("an op looked at the dtype of a styled tensor")


MET = []


def meet(op, raws, nodes):
    MET.append(op.name)
    if any(type(r) is complex for r in raws):
        raise DTypeError(f"{op.name}: this style refuses complex numbers")
    return tuple(raws), tuple(nodes)


STYLE = Style(Mine, meet)


@pytest.fixture
def x():
    MET.clear()
    return STYLE.adopt(tg.asarray(np.array([1.0, 2.0], np.float32)))


def test_every_op_compiles():
    for op in OPS.values():
        compile(entry_source(op, styled=True), op.name, "exec")


@pytest.mark.parametrize(
    "call",
    [
        lambda s, x: s.sin(x),
        lambda s, x: s.add(s.sin(x), x),
        lambda s, x: s.multiply(x, x),
        lambda s, x: s.multiply(2.0, x),
        lambda s, x: s.mean(s.softmax(x)),
        lambda s, x: s.concat([x, x]),
        lambda s, x: s.less(x, 1.5),
        lambda s, x: s.where(s.less(x, 1.5), x, s.square(x)),
        lambda s, x: s.sum(x),
        lambda s, x: s.slogdet(s.stack([x, x]))[0],
        lambda s, x: s.ones((2,)),
    ],
)
def test_results_are_of_the_class_and_gradients_as_without_it(x, call):
    plain = tg.asarray(x.array)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch([x, plain])
        y, z = call(STYLE, x), call(F, plain)
    assert type(y) is Mine
    assert type(z) is Tensor
    np.testing.assert_array_equal(y.array, z.array)
    if y.node is not None:
        np.testing.assert_array_equal(tape.gradient(y, x).raw, tape.gradient(z, plain).raw)


def test_several_outputs_keep_their_names(x):
    found = STYLE.slogdet(STYLE.eye(2))
    assert found._fields == ("sign", "logabsdet")
    assert all(type(y) is Mine for y in found)


def test_the_style_is_asked_for_anything_but_one_common_float(x):
    STYLE.add(x, x)
    STYLE.add(x, 1)
    STYLE.add(2.5, x)
    STYLE.sin(x)
    assert MET == []
    STYLE.add(x, np.array([1.0, 2.0]))
    STYLE.add(STYLE.adopt(tg.asarray([1, 2])), 1)
    STYLE.sin(STYLE.adopt(tg.asarray([1, 2])))
    assert MET == ["add", "add", "sin"]
    with pytest.raises(DTypeError, match="refuses complex"):
        STYLE.add(x, 1j)


def test_plain_ops_take_styled_tensors(x):
    assert type(tg.softmax(x)) is Tensor
    assert type(tg.sin(x)) is Tensor
    assert type(tg.concat([x, x])) is Tensor


def test_a_recorder_that_keeps_nothing_leaves_the_graph_to_its_tensors(x):
    recorder = Recorder(auto=False, keeping=False)
    owners = group(frozenset([recorder]))
    watch(x, frozenset([recorder]))
    with tg.GradientTape() as tape:
        pass
    assert x.node.owners is owners
    owners.keep(x.node)
    assert owners.nodes == []
    del tape


def test_a_style_unpacks_arguments_and_words_errors_in_its_own_way(x):
    def unpack(op, name, value, others):
        return (np.asarray(value, np.float32), None) if isinstance(value, list) else call.unpack(op, name, value, others)

    def failed(op, error, raws):
        return LookupError(f"{op.name} of {len(raws)}")

    style = Style(Mine, meet, unpack=unpack, failed=failed)
    np.testing.assert_array_equal(style.add(x, [1.0, 2.0]).array, [2, 4])
    with pytest.raises(LookupError, match="add of 2"):
        style.add(x, [1.0, 2.0, 3.0])
    with pytest.raises(LookupError, match="var of 0"):
        style.var(x, axis=5)
