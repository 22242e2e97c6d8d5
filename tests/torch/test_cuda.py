"""`cuda`: none on NumPy kernels, TensorFlow's GPUs on its own; here its second CPU stands for one, in another process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tapegrad import torch

PROGRAM = Path(__file__).with_name("cuda_programs.py")


@pytest.fixture(scope="module")
def found() -> dict:
    pytest.importorskip("tensorflow")
    done = subprocess.run([sys.executable, str(PROGRAM), "--stand-in"], capture_output=True, text=True, check=False, timeout=300)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


# -- on NumPy kernels --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.ones(2).cuda(),
        lambda: torch.ones(2, device="cuda"),
        lambda: torch.randn(2, device="cuda:1"),
        lambda: torch.nn.Linear(2, 2).to("cuda"),
        lambda: torch.nn.Linear(2, 2, device="cuda"),
        torch.cuda.current_device,
        lambda: torch.cuda.get_device_name(0),
        torch.cuda.synchronize,
        torch.cuda.Event,
        lambda: torch.set_default_device("cuda"),
    ],
)
def test_without_a_gpu_what_needs_one_is_refused_as_by_a_pytorch_without_cuda(call):
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        call()
    assert torch.get_default_device() == torch.device("cpu")


def test_without_a_gpu_questions_are_answered_so():
    assert (torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.memory_allocated()) == (False, 0, 0)
    assert not torch.accelerator.is_available()
    torch.cuda.manual_seed_all(3)
    torch.cuda.empty_cache()
    with torch.cuda.device(0):
        assert torch.ones(2).device == torch.device("cpu")
    with pytest.raises(TypeError, match=r"torch\.cuda\.FloatTensor not available"):
        torch.cuda.FloatTensor(2)
    with pytest.raises(TypeError, match=r"torch\.cuda\.FloatTensor not available"):
        torch.set_default_tensor_type("torch.cuda.FloatTensor")


def test_a_seed_of_a_gpu_that_is_not_there_leaves_the_numbers_of_the_cpu():
    torch.manual_seed(1)
    expected = torch.rand(3).tolist()
    torch.manual_seed(1)
    torch.cuda.manual_seed(2)
    assert torch.rand(3).tolist() == expected


# -- on TensorFlow's ---------------------------------------------------------------------------------------------
@pytest.mark.interop("tensorflow")
def test_where_tensorflow_sees_no_gpu_there_is_none(found):
    assert found["none"] == [False, "No CUDA GPUs are available: TensorFlow sees none"]


@pytest.mark.interop("tensorflow")
def test_makers_put_tensors_where_they_are_told_and_else_on_the_cpu(found):
    there, here = found["makers"]
    assert (set(there), len(there), set(here), len(here)) == ({"cuda:0"}, 18, {"cpu"}, 5)


@pytest.mark.interop("tensorflow")
def test_moving_is_recorded_and_leaves_what_is_there(found):
    where, g, h, same, other = found["moving"]
    assert (where, g, h, same) == (["cpu"] * 3, [0.75, 6.75], [3.0, 9.0], True)
    assert other == ["cpu", "cuda", "cpu", "torch.DoubleTensor", "torch.cuda.DoubleTensor"]


@pytest.mark.interop("tensorflow")
def test_contexts_and_defaults(found):
    assert found["where_default"] == [["cuda:0", "cuda:0"], ["cuda:0", "cuda"], ["cuda:0", "cuda:0"], ["cpu"]]


@pytest.mark.interop("tensorflow")
def test_tensors_on_two_devices_are_refused_as_by_pytorch(found):
    add, product, inside, conv, array, index = found["errors"]
    for text in (add, product, inside):
        assert text.startswith("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!")
    assert conv == "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same"
    assert array.startswith("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")
    assert "invalid device ordinal" in index


@pytest.mark.interop("tensorflow")
def test_a_number_of_the_cpu_meets_arrays_of_a_gpu_and_gets_its_gradient_back(found):
    assert found["numbers_of_the_cpu"] == [["cuda:0", "cuda:0", "cpu"], 2.0]


@pytest.mark.interop("tensorflow")
def test_ops_in_place_stay(found):
    assert found["in_place"] == [[[1.0, 0.5, 1.0], [0.25, 0.25, 0.25]], ["cuda:0", "cpu"], [2.0, 2.0]]


@pytest.mark.interop("tensorflow")
def test_modules_optimizers_and_checkpoints_are_there_with_the_numbers_of_the_cpu(found):
    assert found["training"] == [True, ["cuda:0"], ["cpu"], ["cuda:0", "cpu", "cuda:0"], ["cuda:0"]]


@pytest.mark.interop("tensorflow")
def test_answers(found):
    there, timed, short, kinds, text, missing = found["answers"]
    assert (there, timed) == ([True, 1, 0, True], True)
    assert short == ["torch.float16", "torch.float32"]
    assert kinds == [True, False, "torch.cuda.FloatTensor"]
    assert text == "tensor([1., 1.], device='cuda:0')"
    assert "TensorFlow does not tell" in missing


@pytest.mark.interop("tensorflow")
def test_distributions_stay_on_the_device_of_their_parameters(found):
    assert found["distributions"] == ["cuda:0"]
