"""Parametrized tensors: what is refused, orthogonal weights, states of the older weight norm, copies."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as T

real: Any = pytest.importorskip("torch")

parametrize = T.nn.utils.parametrize


class _Given(T.nn.Module):
    """A parametrization of these two functions."""

    def __init__(self, forward: Any, right_inverse: Any = None) -> None:
        super().__init__()
        self.__dict__["forward"] = forward
        if right_inverse is not None:
            self.__dict__["right_inverse"] = right_inverse


@pytest.mark.parametrize(
    ("forward", "right_inverse", "words"),
    [
        (lambda x: 2, None, "must return a tensor. Got int"),
        (lambda x: x.bool(), None, "may not change the dtype"),
        (lambda x: x[:-1], None, "may not change the shape"),
        (lambda x: x, lambda w: None, "a Tensor or a Sequence of tensors"),
        (lambda x, y: x, lambda w: (None, w), "element 0 of the sequence with type NoneType"),
        (lambda x: x.float(), lambda w: w.bool(), "outputs one tensor, it may not change the dtype"),
        (lambda x, y: (x + y).bool(), lambda w: (w, w), "may not change the dtype"),
    ],
)
def test_parametrizations_that_change_what_a_tensor_is_are_refused(forward: Any, right_inverse: Any, words: str) -> None:
    module = T.nn.Linear(3, 4)
    with pytest.raises(ValueError, match=words):
        parametrize.register_parametrization(module, "weight", _Given(forward, right_inverse))
    assert not parametrize.is_parametrized(module)
    assert isinstance(module.weight, T.nn.Parameter)


def test_a_second_parametrization_is_checked_too_unless_it_is_said_to_be_unsafe() -> None:
    module = T.nn.Linear(3, 4)
    parametrize.register_parametrization(module, "weight", _Given(lambda x: 2 * x))
    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(module, "weight", _Given(lambda x: x[:-1]))
    assert len(module.parametrizations.weight) == 1
    parametrize.register_parametrization(module, "weight", _Given(lambda x: x[:-1]), unsafe=True)
    assert module.weight.shape == (3, 3)


def test_an_assignment_of_another_shape_is_refused() -> None:
    module = T.nn.Linear(3, 4)
    parametrize.register_parametrization(module, "weight", _Given(lambda x: 2 * x, lambda w: w / 2))
    module.weight = T.ones(4, 3)
    assert module.parametrizations.weight.original.tolist() == [[0.5] * 3] * 4
    with pytest.raises(ValueError, match="has shape"):
        module.weight = T.ones(3, 3)


def test_a_parameter_is_the_same_object_after_its_parametrization_was_removed() -> None:
    module = T.nn.Linear(3, 4)
    kept = module.weight
    parametrize.register_parametrization(module, "weight", _Given(lambda x: 2 * x))
    doubled = module.weight.tolist()
    parametrize.remove_parametrizations(module, "weight")
    assert module.weight is kept
    assert kept.tolist() == doubled


def test_a_parametrized_module_is_copied_with_a_class_of_its_own_and_not_pickled() -> None:
    module = T.nn.utils.parametrizations.weight_norm(T.nn.Linear(3, 4))
    twin = copy.deepcopy(module)
    parametrize.remove_parametrizations(twin, "weight")
    assert not parametrize.is_parametrized(twin)
    assert parametrize.is_parametrized(module)
    assert np.allclose(twin.weight.detach().numpy(), module.weight.detach().numpy())
    with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
        pickle.dumps(module)


def test_a_state_of_the_older_weight_norm_is_loaded() -> None:
    older = T.nn.utils.weight_norm(T.nn.Linear(4, 5))
    newer = T.nn.utils.parametrizations.weight_norm(T.nn.Linear(4, 5))
    newer.load_state_dict(older.state_dict())
    x = T.randn(3, 4)
    assert np.allclose(older(x).detach().numpy(), newer(x).detach().numpy(), rtol=1e-6)


def test_parametrizations_go_from_one_module_to_another() -> None:
    source, target = T.nn.Linear(3, 4), T.nn.Linear(3, 4)
    parametrize.register_parametrization(source, "weight", _Given(lambda x: 2 * x))
    parametrize.transfer_parametrizations_and_params(source, target)
    assert target.weight.tolist() == source.weight.tolist()
    assert target.parametrizations.weight.original is not source.parametrizations.weight.original


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("by", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("trivialization", [True, False])
def test_orthogonal_weights_are_orthogonal_and_begin_where_pytorchs_do(shape: Any, by: Any, trivialization: bool) -> None:
    seen = []
    for torch in (real, T):
        torch.manual_seed(1)
        module = torch.nn.Linear(*shape[::-1])
        torch.nn.utils.parametrizations.orthogonal(module, "weight", by, use_trivialization=trivialization)
        start = module.weight.detach().numpy().copy()
        module(torch.tensor(np.linspace(-1, 1, 2 * shape[1], dtype=np.float32).reshape(2, -1))).pow(2).sum().backward()
        opt = torch.optim.SGD(module.parameters(), lr=0.1)
        opt.step()
        seen.append([start, module.weight.detach().numpy()])
    for w in seen[1]:
        gram = w.T @ w if shape[0] >= shape[1] else w @ w.T
        assert np.allclose(gram, np.eye(len(gram)), atol=1e-5)
    for theirs, ours in zip(*seen, strict=True):
        assert np.allclose(theirs, ours, atol=1e-4)


def test_orthogonal_weights_take_assignments_where_their_map_has_an_inverse() -> None:
    turned = T.tensor([[0.0, 1.0], [-1.0, 0.0]])
    module = T.nn.utils.parametrizations.orthogonal(T.nn.Linear(2, 2))
    module.weight = turned
    assert np.allclose(module.weight.detach().numpy(), turned.numpy(), atol=1e-6)
    module = T.nn.utils.parametrizations.orthogonal(T.nn.Linear(2, 2), orthogonal_map="cayley", use_trivialization=False)
    with pytest.raises(NotImplementedError, match="not possible to assign"):
        module.weight = turned
    with pytest.raises(ValueError, match="has to be one of"):
        T.nn.utils.parametrizations.orthogonal(T.nn.Linear(2, 2), orthogonal_map="qr")


def test_packed_sequences_change_their_dtype_and_refuse_to_be_empty() -> None:
    packed = T.nn.utils.rnn.pack_sequence([T.tensor([1, 2]), T.tensor([3])])
    assert packed.to("cpu") is packed
    assert packed.long() is packed
    for name in ("half", "int", "short", "char", "byte"):
        assert getattr(packed, name)().data.dtype == getattr(T.zeros(1), name)().dtype
    with pytest.raises(RuntimeError, match="Cannot pack empty"):
        T.nn.utils.rnn.pack_padded_sequence(T.zeros(0, 0), [])
    with pytest.raises(RuntimeError, match="Expected iterable"):
        T.nn.utils.rnn.pad_sequence(5)


def test_a_table_of_integers_does_not_learn() -> None:
    table = T.nn.Embedding.from_pretrained(T.tensor([[1, 2], [3, 4]]))
    assert table(T.tensor([1, 0])).tolist() == [[3, 4], [1, 2]]
    bags = T.nn.EmbeddingBag.from_pretrained(T.ones(2, 3), mode="sum")
    assert not bags.weight.requires_grad


@pytest.mark.parametrize(("name", "axes"), [("dropout2d", 2), ("dropout2d", 5), ("dropout3d", 3), ("dropout3d", 6)])
def test_dropout_of_channels_warns_of_an_unusual_number_of_axes(name: str, axes: int) -> None:
    with pytest.warns(UserWarning, match=f"Received a {axes}-D input to {name}"):
        getattr(T.nn.functional, name)(T.ones((2,) * axes))
