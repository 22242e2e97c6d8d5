"""Names that libraries around PyTorch ask for when they are imported, and that say what is so here."""

import io
import typing

import pytest

from tapegrad import torch
from tapegrad.torch import fx, hub, serialization
from tapegrad.torch._subclasses.fake_tensor import is_fake
from tapegrad.torch.fx.experimental.proxy_tensor import get_proxy_mode


def test_nobody_traces_and_all_tensors_have_values():
    assert get_proxy_mode() is None
    assert torch._C._get_tracing_state() is None
    assert not is_fake(torch.ones(1))
    assert not isinstance(torch.ones(3).shape[0], torch.SymInt)
    assert torch.ones(1, dtype=torch.complex64).dtype != torch.complex32


def test_whether_a_function_is_mapped_can_be_asked():
    seen = []

    def f(x):
        seen.append(torch._C._are_functorch_transforms_active())
        return x

    f(torch.ones(2))
    torch.vmap(f)(torch.ones(2))
    assert seen == [False, True]


def test_what_would_make_a_graph_of_a_function_is_refused():
    def f(x):
        return x + 1

    assert fx.wrap(f) is f
    with pytest.raises(AttributeError, match=r"tapegrad\.torch\.fx.*makes no graphs of them"):
        fx.symbolic_trace


def test_the_module_has_itself_as_an_attribute():
    assert torch.torch is torch


def test_types_and_patterns_are_there_for_annotations():
    assert str in typing.get_args(serialization.MAP_LOCATION)
    assert io.IOBase in typing.get_args(serialization.FileLike)
    assert hub.HASH_REGEX.search("resnet18-f37072fd.pth").group(1) == "f37072fd"


def test_a_divergence_is_declared_of_any_two_classes():
    class Of:
        """As Pyro's own base of all distributions."""

    class Mine(Of, torch.distributions.Normal):
        pass

    torch.distributions.register_kl(Of, torch.distributions.Gamma)(lambda p, q: torch.tensor(7.0))
    assert torch.distributions.kl_divergence(Mine(0.0, 1.0), torch.distributions.Gamma(1.0, 1.0)).item() == 7.0
    with pytest.raises(TypeError, match="Distribution subclasses"):
        torch.distributions.register_kl("Normal", Of)


def test_kernels_of_attention_are_chosen_for_a_while():
    cuda = torch.backends.cuda
    with pytest.warns(FutureWarning, match="sdpa_kernel"), cuda.sdp_kernel(enable_flash=False, enable_math=True):
        assert (cuda.flash_sdp_enabled(), cuda.math_sdp_enabled()) == (False, True)
    cuda.enable_mem_efficient_sdp(False)
    assert (cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled()) == (True, False)
    cuda.enable_mem_efficient_sdp(True)


def test_factors_of_several_dtypes_meet_where_nothing_is_summed():
    i, x = torch.arange(3), torch.tensor([0.5, 1.5])
    y = torch.einsum("i, j -> i j", i, x)
    assert y.dtype == torch.float32
    assert y.tolist() == [[0.0, 0.0], [0.5, 1.5], [1.0, 3.0]]
    with pytest.raises(RuntimeError, match="expected scalar type Long but found Float"):
        torch.einsum("i,i->", i, torch.ones(3))
