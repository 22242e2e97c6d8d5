"""Pruning: PyTorch's masks for every method, one on top of another, and what a pruned module is."""

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as T

real: Any = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.prune")  # loads it

METHODS = {
    "identity": lambda prune, m: prune.identity(m, "weight"),
    "l1": lambda prune, m: prune.l1_unstructured(m, "weight", amount=0.3),
    "l1 by number": lambda prune, m: prune.l1_unstructured(m, "bias", amount=2),
    "random": lambda prune, m: prune.random_unstructured(m, "weight", amount=0.45),
    "random channels": lambda prune, m: prune.random_structured(m, "weight", amount=2, dim=0),
    "channels by norm": lambda prune, m: prune.ln_structured(m, "weight", amount=0.4, n=2, dim=1),
    "channels by largest": lambda prune, m: prune.ln_structured(m, "weight", amount=1, n=float("inf"), dim=-1),
    "l1 twice": lambda prune, m: [prune.l1_unstructured(m, "weight", amount=0.3) for _ in range(2)],
    "channels, then entries": lambda prune, m: [
        prune.ln_structured(m, "weight", amount=1, n=1, dim=0), prune.l1_unstructured(m, "weight", amount=0.5)
    ],
    "entries, then channels": lambda prune, m: [
        prune.l1_unstructured(m, "weight", amount=0.5), prune.ln_structured(m, "weight", amount=1, n=2, dim=1)
    ],
    "all at once": lambda prune, m: prune.global_unstructured([(m, "weight"), (m, "bias")], prune.L1Unstructured, amount=0.4),
    "all at once, after one": lambda prune, m: [
        prune.l1_unstructured(m, "weight", amount=0.2),
        prune.global_unstructured([(m, "weight"), (m, "bias")], prune.L1Unstructured, amount=4),
    ],
}  # fmt: skip


def pruned(torch: Any, method: Any) -> Any:
    torch.manual_seed(11)
    module = torch.nn.Linear(4, 5)
    method(torch.nn.utils.prune, module)
    return module


@pytest.mark.parametrize("name", list(METHODS))
def test_masks_outputs_and_gradients_are_pytorchs(name: str) -> None:
    seen = []
    for torch in (real, T):
        module = pruned(torch, METHODS[name])
        y = module(torch.tensor(np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)))
        y.pow(2).sum().backward()
        state = {k: v.numpy() for k, v in module.state_dict().items()}
        seen.append(({**state, "y": y.detach().numpy()}, {k: p.grad.numpy() for k, p in module.named_parameters()}))
    for theirs, ours in zip(*seen, strict=True):
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            assert np.allclose(ours[key], value, rtol=1e-5, atol=1e-6), key


def test_removal_leaves_a_parameter_with_its_zeros() -> None:
    module = pruned(T, METHODS["l1"])
    y = module(T.ones(1, 4)).tolist()
    assert T.nn.utils.prune.is_pruned(module)
    T.nn.utils.prune.remove(module, "weight")
    assert [n for n, _ in module.named_parameters()] == ["bias", "weight"]
    assert not list(module.buffers())
    assert int((module.weight == 0).sum()) == 6
    assert module(T.ones(1, 4)).tolist() == y
    assert not T.nn.utils.prune.is_pruned(module)
    with pytest.raises(ValueError, match="has to be pruned before"):
        T.nn.utils.prune.remove(module, "weight")


def test_scores_say_what_goes_in_the_place_of_values() -> None:
    module = T.nn.Linear(3, 2)
    scores = T.tensor([[6.0, 1.0, 5.0], [2.0, 4.0, 3.0]])
    T.nn.utils.prune.l1_unstructured(module, "weight", amount=2, importance_scores=scores)
    assert module.weight_mask.tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    with pytest.raises(AssertionError, match="same shape"):
        T.nn.utils.prune.L1Unstructured(1).prune(T.ones(2), importance_scores=T.ones(3))


def test_a_pruned_module_is_pickled() -> None:
    module = pruned(T, METHODS["l1 twice"])
    x = T.ones(1, 4)
    again = pickle.loads(pickle.dumps(module))
    assert again(x).tolist() == module(x).tolist()
    assert T.nn.utils.prune.is_pruned(again)


def test_a_mask_that_fails_leaves_the_module_as_it_was() -> None:
    module = T.nn.Linear(3, 2)
    with pytest.raises(ValueError, match="should be smaller than the number of parameters to prune=6"):
        T.nn.utils.prune.l1_unstructured(module, "weight", amount=7)
    assert [n for n, _ in module.named_parameters()] == ["bias", "weight"]
    assert not list(module.buffers())
    assert module(T.ones(1, 3)).shape == (1, 2)


@pytest.mark.parametrize(
    ("amount", "error", "words"),
    [("half", TypeError, "Must be int or float"), (1.5, ValueError, r"float in the range \[0, 1\]"), (-1, ValueError, "non-negative")],
)
def test_amounts_that_make_no_sense_are_refused(amount: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        T.nn.utils.prune.L1Unstructured(amount)


def test_a_tensor_with_a_history_is_pickled_as_a_leaf_that_requires_a_gradient() -> None:
    for torch in (real, T):
        x = torch.ones(2, requires_grad=True) * 3
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = pickle.loads(pickle.dumps(x))
        assert (again.tolist(), again.requires_grad, again.is_leaf) == ([3.0, 3.0], True, True)


def test_a_tensor_with_a_history_is_not_sent_to_another_process() -> None:
    from multiprocessing.reduction import ForkingPickler

    import tapegrad.torch.multiprocessing  # noqa: F401

    with pytest.raises(RuntimeError, match="refusing to serialize non-leaf tensor"):
        ForkingPickler.dumps(T.ones(2, requires_grad=True) * 3)
    assert pickle.loads(ForkingPickler.dumps(T.ones(2, requires_grad=True))).requires_grad
