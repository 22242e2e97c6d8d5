"""Small things that scripts meet, as PyTorch 2.13 has them."""

import pytest

from tapegrad import torch
from tapegrad.torch.autograd import Variable, gradcheck
from tapegrad.torch.nn import functional as F


def test_threshold_is_written_in_place():
    x = torch.tensor([-1.0, 2.0])
    assert F.threshold(x, 0.0, 9.0, True) is x
    assert x.tolist() == [9.0, 2.0]
    assert F.threshold_(x, 5.0, -1.0).tolist() == [9.0, -1.0]


def test_numpy_is_given_the_memory_of_a_parameter_inside_no_grad():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert x.numpy().tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        x.numpy()


def test_one_place_of_a_vector_is_picked_and_written_by_a_number():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    y = x.gather(0, torch.tensor(1))
    assert y.shape == ()
    y.backward()
    assert x.grad.tolist() == [0.0, 1.0]
    assert x.scatter(0, torch.tensor(1), torch.tensor(5.0)).tolist() == [-1.0, 5.0]


def test_another_shape_is_another_version():
    x = torch.rand(2)
    x.resize_(1, 2)
    assert x._version == 1
    x.resize_(1, 2)
    assert x._version == 1


def test_integers_are_no_data_of_what_requires_a_gradient():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="must be floating point or complex"):
        x.data = torch.ones(2, dtype=torch.long)


def test_a_check_that_does_not_raise_raises_what_the_function_raises():
    def wrong(x):
        y = x.clone()
        y.register_hook(lambda g: 2 * g)
        return y

    def failing(x):
        raise RuntimeError("not a matter of gradients")

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert not gradcheck(wrong, (x,), raise_exception=False)
    with pytest.raises(RuntimeError, match="not a matter of gradients"):
        gradcheck(failing, (x,), raise_exception=False)


def test_a_callback_is_called_when_the_sweep_is_over():
    x = torch.ones(2, requires_grad=True)
    seen = []
    y = x * 2
    y.register_hook(lambda g: Variable._execution_engine.queue_callback(lambda: seen.append(x.grad.tolist())))
    y.sum().backward()
    assert seen == [[2.0, 2.0]]
    with pytest.raises(RuntimeError, match="during backward pass"):
        Variable._execution_engine.queue_callback(print)


def test_parts_of_complex_numbers_are_written():
    z = torch.tensor([1 + 2j, 3 - 1j])
    z.real = 0
    z.imag = torch.tensor([5.0, 6.0])
    assert z.tolist() == [5j, 6j]


def test_tolerances_may_be_tensors():
    x = torch.ones(3)
    assert torch.isclose(x, x + 0.5, torch.tensor(0), torch.tensor(0.6)).all()
    assert not torch.allclose(x, x + 0.5, torch.tensor(0.1))


def test_what_is_asked_of_the_build_and_of_switches():
    assert "NumPy" in torch.__config__.show()
    assert "get_num_threads" in torch.__config__.parallel_info()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        assert torch.is_deterministic_algorithms_warn_only_enabled()
    finally:
        torch.use_deterministic_algorithms(False)
    assert not torch.is_deterministic_algorithms_warn_only_enabled()


def test_nothing_has_no_address():
    assert torch.empty(0).data_ptr() == torch.ones(3)[:0].data_ptr() == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: torch.zeros(3, 2).index_add(0, torch.tensor([0, 1]), torch.ones(2)), "source tensor shape must match"),
        (lambda: torch.zeros(3, 2).index_add(0, torch.tensor([0, 1]), torch.ones(3, 2)), "Number of indices .2. should be equal"),
        (lambda: torch.isclose(torch.ones(2), torch.ones(2), rtol=-0.4), "rtol must be greater than or equal to zero, but got -0.4"),
        (lambda: torch.ones(2).mean(dtype=torch.int64), "Optional dtype must be either a floating point or complex dtype. Got: Long"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


def test_a_median_of_all_elements_shares_its_derivative_among_those_that_tie():
    x = torch.tensor([[1.0, 0.1], [0.1, 0.1]], requires_grad=True)
    for median in (torch.median, torch.nanmedian):
        (found,) = torch.autograd.grad(median(x), x)
        assert found.tolist() == torch.tensor([[0.0, 1 / 3], [1 / 3, 1 / 3]]).tolist()
    y = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    assert torch.autograd.grad(y.median(), y)[0].tolist() == [0.0, 0.0, 1.0]
