"""What functions say of arguments that they do not take: types and texts are PyTorch's."""

import pytest

from tapegrad import torch

X = torch.ones(3, 4)

CASES = {
    "torch.where(X, X, X)": (RuntimeError, "where expected condition to be a boolean tensor, but got a tensor with dtype Float"),
    "torch.bincount(torch.tensor([-1]))": (RuntimeError, "bincount only supports 1-d non-negative integral inputs"),
    "torch.bincount(torch.ones(2, 2, dtype=torch.int64))": (RuntimeError, "bincount only supports 1-d non-negative integral inputs"),
    "X.unflatten(0, (2, 2))": (RuntimeError, r"unflatten: Provided sizes \[2, 2\] don't multiply up to the size of dim 0 \(3\)"),
    "torch.full((2,), 'a')": (TypeError, r"full\(\): argument 'fill_value' \(position 2\) must be Number, not str"),
    "X & X": (NotImplementedError, "\"bitwise_and_cpu\" not implemented for 'Float'"),
    "X << 1": (NotImplementedError, "\"lshift_cpu\" not implemented for 'Float'"),
    "~X": (TypeError, r"~ \(operator.invert\) is only implemented on integer and Boolean-type tensors"),
}


@pytest.mark.parametrize("call", CASES)
def test_a_function_says_what_it_does_not_take(call):
    error, text = CASES[call]
    with pytest.raises(error, match=text):
        eval(call)


def test_what_is_taken_is_taken_still():
    assert torch.where(torch.tensor([1, 0], dtype=torch.uint8), 2.0, 3.0).tolist() == [2.0, 3.0]
    assert torch.bincount(torch.tensor([], dtype=torch.int64)).tolist() == []
    assert X.unflatten(1, (2, -1)).shape == (3, 2, 2)
    assert (~torch.tensor([True])).tolist() == [False]
