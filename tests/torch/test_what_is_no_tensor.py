"""Functions that are given what is no tensor refuse it as PyTorch does, and name the argument."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad import torch

F = torch.nn.functional
x = torch.ones(2, 3)
square = torch.ones(3, 3)


def _words(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (torch.relu, r"relu\(\): argument 'input' \(position 1\) must be Tensor, not "),
        (torch.sum, r"sum\(\): argument 'input' \(position 1\)"),
        (lambda a: torch.argmax(a, dim=1), r"argmax\(\): argument 'input' \(position 1\)"),
        (lambda a: torch.cumsum(a, 0), r"cumsum\(\): argument 'input' \(position 1\)"),
        (lambda a: torch.mm(x, a), r"mm\(\): argument 'mat2' \(position 2\)"),
        (lambda a: torch.mm(x, mat2=a), r"mm\(\): argument 'mat2' \(position 2\)"),
        (x.mm, r"mm\(\): argument 'mat2' \(position 1\)"),
        (lambda a: torch.gather(x, 0, a), r"gather\(\): argument 'index' \(position 3\)"),
        (lambda a: torch.fmax(x, a), r"fmax\(\): argument 'other' \(position 2\)"),
        (lambda a: torch.reshape(a, (6,)), r"reshape\(\): argument 'input' \(position 1\)"),
        (torch.argwhere, r"argwhere\(\): argument 'input' \(position 1\)"),
        (torch.zeros_like, r"zeros_like\(\): argument 'input' \(position 1\)"),
        (lambda a: torch.equal(x, a), r"equal\(\): argument 'other' \(position 2\)"),
        (torch.clone, r"clone\(\): argument 'input' \(position 1\)"),
        (torch.linalg.inv, r"linalg_inv\(\): argument 'A' \(position 1\)"),
        (torch.fft.fft, r"fft_fft\(\): argument 'input' \(position 1\)"),
        (torch.special.i0, r"special_i0\(\): argument 'input' \(position 1\)"),
        (lambda a: F.conv1d(a, x), r"conv1d\(\): argument 'input' \(position 1\)"),
        (lambda a: F.linear(a, square), r"linear\(\): argument 'input' \(position 1\)"),
        (lambda a: F.linear(square, a), r"linear\(\): argument 'weight' \(position 2\)"),
        (torch.mean, r"mean\(\): argument 'input' \(position 1\)"),
    ],
)
@pytest.mark.parametrize(
    "given", [np.ones((2, 3), np.float32), None, {"x": x}, [1.0, 2.0], "ab"], ids=["array", "None", "dict", "list", "text"]
)
def test_an_argument_that_is_no_tensor_is_named(call: Callable[[Any], Any], said: str, given: Any) -> None:
    with pytest.raises(TypeError, match=said) as found:
        call(given)
    assert str(found.value).endswith(f"must be Tensor, not {_words(given)}")


@pytest.mark.parametrize("function", [torch.sqrt, torch.exp, torch.isnan, torch.tanh, torch.sum, torch.mean, torch.linalg.det])
@pytest.mark.parametrize("given", [2, 2.5, True, np.float64(2), np.ones((2, 2))])
def test_functions_of_one_tensor_take_no_numbers_and_no_arrays(function: Any, given: Any) -> None:
    with pytest.raises(TypeError, match=rf"argument '(input|A)' \(position 1\) must be Tensor, not {_words(given)}$"):
        function(given)


def test_an_array_in_a_method_is_refused_where_an_operator_takes_it() -> None:
    array = np.ones((2, 3), np.float32)
    for call in (x.add, x.clone().add_, x.mul, x.maximum):
        with pytest.raises(TypeError, match=r"argument 'other' \(position 1\) must be Tensor, not numpy\.ndarray$"):
            call(array)
    assert (x + array).tolist() == (array + x).tolist() == [[2.0] * 3] * 2
    assert torch.add(1, x).tolist() == (1 + x).tolist()
    assert torch.mul(2, 3).item() == 6


@pytest.mark.parametrize("function", [torch.stack, torch.cat, torch.hstack, torch.block_diag, torch.meshgrid, torch.atleast_1d])
@pytest.mark.parametrize("given", [np.ones((2, 3), np.float32), None, [1.0], 3], ids=["array", "None", "list", "number"])
def test_an_element_that_is_no_tensor_is_named(function: Any, given: Any) -> None:
    takes_many = function.__name__ in ("block_diag", "meshgrid", "atleast_1d")
    with pytest.raises(TypeError, match=r"^expected Tensor as element 1 in argument 0, but got ") as found:
        function(x, given) if takes_many else function([x, given])
    assert str(found.value).endswith(_words(given))


def test_what_is_no_sequence_of_tensors_is_named() -> None:
    for given in (None, 3):
        with pytest.raises(TypeError, match=r"^stack\(\): argument 'tensors' \(position 1\) must be tuple of Tensors, not "):
            torch.stack(given)


@pytest.mark.parametrize(
    ("call", "sought"),
    [
        (lambda a: F.mse_loss(a, x), "size"),
        (lambda a: F.binary_cross_entropy(a, x), "size"),
        (lambda a: F.softmax(a, 0), "softmax"),
        (F.normalize, "norm"),
        (torch.norm, "layout"),
    ],
)
@pytest.mark.parametrize("given", [None, [1.0, 2.0]], ids=["None", "list"])
def test_functions_that_pytorch_has_in_python_say_what_they_looked_for(call: Callable[[Any], Any], sought: str, given: Any) -> None:
    with pytest.raises(AttributeError, match=f"'{_words(given)}' object has no attribute '{sought}'"):
        call(given)


@pytest.mark.parametrize(
    ("call", "got"),
    [
        (lambda: torch.std([1.0, 2.0]), "std() received an invalid combination of arguments - got (list"),
        (lambda: torch.eq(None, x), "eq() received an invalid combination of arguments - got (NoneType, Tensor)"),
        (lambda: torch.all([True]), "all() received an invalid combination of arguments - got (list"),
    ],
)
def test_functions_of_several_forms_say_what_they_got(call: Callable[[], Any], got: str) -> None:
    with pytest.raises(TypeError) as found:
        call()
    assert str(found.value).startswith(got)


def test_other_errors_stay_what_they_are() -> None:
    class Odd:
        @property
        def array(self) -> Any:
            return self.nothing  # type: ignore[attr-defined]

    with pytest.raises(TypeError, match=r"sum\(\): argument 'input' \(position 1\) must be Tensor, not "):
        torch.sum(Odd())
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        torch.sum(x).missing
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        torch.mm(x, x)
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.sum(x, 5)


@pytest.mark.parametrize("value", [2.5, "a", {}, None, [1.5]])
@pytest.mark.parametrize(
    "call",
    [
        lambda t, x, v: t.cumsum(x, v), lambda t, x, v: x.topk(1, v),
        lambda t, x, v: x.cummax(v), lambda t, x, v: t.cumprod(x, v), lambda t, x, v: x.kthvalue(1, v),
        lambda t, x, v: t.logcumsumexp(x, v),
    ],
)  # fmt: skip
def test_an_axis_that_is_no_whole_number_is_refused_in_pytorchs_words(call, value):
    real = pytest.importorskip("torch")
    said = []
    for t in (real, torch):
        with pytest.raises(TypeError) as caught:
            call(t, t.ones(2, 3), value)
        said.append(str(caught.value).splitlines()[0])
    assert said[1].partition(" - got")[0] == said[0].partition(" - got")[0]
