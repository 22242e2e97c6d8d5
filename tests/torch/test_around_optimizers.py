"""What libraries of optimizers do: one around another that calls no `__init__`, and factors of matrices that are no numbers any more."""

from typing import Any

import pytest

from tapegrad import torch


class _Around(torch.optim.Optimizer):  # type: ignore[misc]
    def __init__(self, inner: Any) -> None:  # without the base's
        self.inner = inner
        self.param_groups = inner.param_groups

    def step(self, closure: Any = None) -> Any:
        return self.inner.step(closure)


def test_an_optimizer_around_another_steps_without_its_bases_init() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    around = _Around(torch.optim.SGD([x], lr=0.25))
    seen: list[Any] = []
    around.inner.register_step_post_hook(lambda *_: seen.append(1))
    (x * x).sum().backward()
    around.step()
    assert x.item() == 1.0
    assert seen == [1]
    with pytest.raises(TypeError):
        around.register_step_pre_hook(lambda *_: None)


@pytest.mark.parametrize("f", [torch.svd, torch.linalg.svd, torch.linalg.svdvals])
def test_factors_of_what_is_not_finite_are_refused_in_pytorchs_words(f: Any) -> None:
    words = r"linalg\.svd: The algorithm failed to converge because the input matrix contained non-finite values\."
    with pytest.raises(torch.linalg.LinAlgError, match=words):
        f(torch.full((2, 2), float("nan")))
    stack = torch.eye(2).repeat(3, 1, 1)
    stack[1, 0, 0] = float("nan")
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\): The algorithm failed to converge"):
        f(stack)
