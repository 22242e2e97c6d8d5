"""Hooks of modules: at registration, of the older backward kind, in pickles, and around outputs that are not tensors."""

import copy
import gc
import pickle
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import tapegrad.torch as T

real: Any = pytest.importorskip("torch")


def _named(*_: Any) -> None:
    pass


def _both(check: Any) -> list[Any]:
    return [check(real), check(T)]


@pytest.mark.parametrize("kind", ["parameter", "buffer", "module"])
def test_registration_hooks_see_what_modules_register_and_may_replace_it(kind: str) -> None:
    def check(torch: Any) -> Any:
        seen, module = [], torch.nn.modules.module
        instead = {
            "parameter": lambda: torch.nn.Parameter(torch.full((2,), 7.0)),
            "buffer": lambda: torch.full((2,), 7.0),
            "module": torch.nn.Tanh,
        }[kind]

        def hook(owner: Any, name: str, value: Any) -> Any:
            seen.append((type(owner).__name__, name, isinstance(value, torch.nn.Parameter)))
            return instead()

        handle = getattr(module, f"register_module_{kind}_registration_hook")(hook)
        try:
            made = torch.nn.Module()
            if kind == "parameter":
                made.a = torch.nn.Parameter(torch.zeros(2))
                made.register_parameter("b", torch.nn.Parameter(torch.zeros(2)))
            elif kind == "buffer":
                made.register_buffer("a", torch.zeros(2))
                made.a = torch.ones(2)
            else:
                made.a = torch.nn.ReLU()
                made.add_module("b", torch.nn.ReLU())
        finally:
            handle.remove()
        plain = torch.nn.Module()
        plain.a = torch.nn.ReLU()
        return seen, repr(made.a).replace("Parameter containing:\n", ""), repr(plain)

    theirs, ours = _both(check)
    assert ours == theirs


def test_an_older_backward_hook_sees_the_gradients_of_the_last_node() -> None:
    def check(torch: Any) -> Any:
        seen = []

        class Twice(torch.nn.Module):  # type: ignore[misc, name-defined]
            def forward(self, x: Any) -> Any:
                return (2 * x) * x

        module = Twice()
        module.register_backward_hook(lambda m, gi, go: seen.append([g.tolist() for g in (*gi, *go)]))
        x = torch.tensor([1.0, 3.0], requires_grad=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module(x).sum().backward()
        return seen, x.grad.tolist(), [str(w.message) for w in caught if w.category is FutureWarning]

    theirs, ours = _both(check)
    assert ours == theirs
    assert "multiple autograd Nodes" in ours[2][0]


@pytest.mark.filterwarnings("ignore:Using a non-full backward hook")
@pytest.mark.parametrize(("given", "count"), [((), 0), (("extra",), 2)])
def test_an_older_backward_hook_that_gives_too_few_or_too_many_is_refused(given: Any, count: int) -> None:
    module = T.nn.Sigmoid()
    module.register_backward_hook(lambda m, gi, go: (*gi, T.zeros(2)) if given else gi[:-1])
    x = T.randn(3, requires_grad=True)
    y = module(x).sum()
    with pytest.raises(RuntimeError, match=f"got {count}, but expected 1"):
        y.backward()


def test_both_kinds_of_global_backward_hooks_at_once_are_refused() -> None:
    with (
        T.nn.modules.module.register_module_full_backward_hook(_named),
        pytest.raises(RuntimeError, match="Cannot use both regular"),
    ):
        T.nn.modules.module.register_module_backward_hook(_named)


def test_outputs_and_inputs_that_are_no_tensors_have_no_gradient_in_full_hooks() -> None:
    def check(torch: Any) -> Any:
        seen = []

        class Mixed(torch.nn.Module):  # type: ignore[misc, name-defined]
            def forward(self, word: Any, x: Any) -> Any:
                return x.clone(), word

        module = Mixed()
        module.register_full_backward_hook(lambda m, gi, go: seen.append(([g is None for g in gi], [g is None for g in go])))
        x = torch.tensor([0.5, 2.0], requires_grad=True)
        module(True, x)[0].sum().backward()
        return seen, x.grad.tolist()

    theirs, ours = _both(check)
    assert ours == theirs


def test_a_full_hook_warns_of_an_output_that_it_does_not_look_into() -> None:
    class Named(T.nn.Module):
        def forward(self, x: Any) -> Any:
            return {"y": x * 2}

    module, called = Named(), []
    module.register_full_backward_hook(lambda *_: called.append(1))
    x = T.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple of Tensors"):
        y = module(x)["y"]
    y.sum().backward()
    assert called == []
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_hook_before_loading_is_pickled_copied_and_keeps_no_module_alive() -> None:
    module = T.nn.Linear(2, 2)
    module.register_load_state_dict_pre_hook(_named)
    again = pickle.loads(pickle.dumps(module))
    assert np.array_equal(again.weight.detach().numpy(), module.weight.detach().numpy())
    seen: list[Any] = []
    module.register_load_state_dict_pre_hook(lambda m, *_: seen.append(m))
    twin = copy.deepcopy(module)
    twin.load_state_dict(module.state_dict())
    assert seen == [twin]
    seen.clear()
    where = weakref.ref(module)
    gc.disable()
    try:
        del module
        assert where() is None
    finally:
        gc.enable()


def test_a_hook_after_the_state_was_made_must_give_nothing() -> None:
    module = T.nn.Linear(2, 2)
    module.register_state_dict_post_hook(lambda m, state, prefix, meta: state)
    with pytest.raises(RuntimeError, match="must return None"):
        module.state_dict()
