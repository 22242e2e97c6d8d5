"""Functions that are given what is no tensor refuse it as PyTorch does, and name the argument."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad import torch

F = torch.nn.functional
x = torch.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (torch.relu, r"relu\(\): argument 'input' \(position 1\) must be Tensor, not "),
        (torch.sum, r"sum\(\): argument 'input' \(position 1\)"),
        (lambda a: torch.argmax(a, dim=1), r"argmax\(\): argument 'input' \(position 1\)"),
        (lambda a: torch.mm(x, a), r"mm\(\): argument 'mat2' \(position 2\)"),
        (lambda a: torch.mm(x, mat2=a), r"mm\(\): argument 'mat2' \(position 2\)"),
        (lambda a: torch.stack([x, a]), r"stack\(\): expected Tensor as element 1 in argument 0, but got "),
        (lambda a: torch.reshape(a, (6,)), r"reshape\(\): argument 'input' \(position 1\)"),
        (lambda a: F.mse_loss(x, a), r"mse_loss\(\): argument 'target' \(position 2\)"),
        (lambda a: F.mse_loss(a, x), r"mse_loss\(\): argument 'input' \(position 1\)"),
        (lambda a: F.conv1d(a, x), r"conv1d\(\): argument 'input' \(position 1\)"),
        (torch.mean, r"mean\(\): argument 'input' \(position 1\)"),
    ],
)
@pytest.mark.parametrize("given", [np.ones((2, 3), np.float32), None, {"x": x}], ids=["array", "None", "dict"])
def test_an_argument_that_is_no_tensor_is_named(call: Callable[[Any], Any], said: str, given: Any) -> None:
    with pytest.raises(TypeError, match=said) as found:
        call(given)
    kind = type(given)
    assert str(found.value).endswith(kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}")


def test_an_attribute_that_is_missing_elsewhere_stays_that_error() -> None:
    class Odd:
        @property
        def array(self) -> Any:
            return self.nothing  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="nothing"):
        torch.sum(Odd())
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        torch.sum(x).missing
