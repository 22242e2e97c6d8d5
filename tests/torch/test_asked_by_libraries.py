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


def test_a_map_may_be_a_module():
    class Scaled(torch.distributions.transforms.Transform, torch.nn.Module):
        domain = codomain = torch.distributions.constraints.real

        def __init__(self):
            super().__init__(cache_size=1)
            self.scale = torch.nn.Parameter(torch.tensor(2.5))

        def _call(self, x):
            return self.scale * x

        def _inverse(self, y):
            return y / self.scale

        def log_abs_det_jacobian(self, x, y):
            return self.scale.abs().log().expand(x.shape)

        def __hash__(self):
            return torch.nn.Module.__hash__(self)

    scaled = Scaled()
    flow = torch.distributions.TransformedDistribution(torch.distributions.Normal(0.0, 1.0), [scaled])
    flow.log_prob(torch.tensor(3.0)).backward()
    assert scaled.scale.grad.item() == pytest.approx(-1 / 2.5 + 3.0**2 / 2.5**3)
    assert scaled.with_cache(0).scale is scaled.scale
    assert scaled.event_dim == 0
    with pytest.raises(ValueError, match=r"codomain\.event_dim"):
        torch.distributions.transforms.ReshapeTransform((4,), (2, 2)).event_dim


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("Beta", (2.0, 3.0)), ("Gumbel", (0.5, 2.0)), ("Pareto", (1.5, 3.0)), ("Weibull", (1.5, 2.0)), ("Kumaraswamy", (2.0, 3.0)),
     ("Chi2", (3.0,)), ("StudentT", (3.0,)), ("Normal", (0.5, 2.0)), ("OneHotCategorical", (torch.tensor([0.25, 0.75]),)),
     ("Multinomial", (4, torch.tensor([0.25, 0.75]))), ("Wishart", (3.0, torch.eye(2)))],
)  # fmt: skip
def test_what_is_derived_from_a_distribution_stays_what_it_is_when_it_is_expanded(name, arguments):
    base = getattr(torch.distributions, name)

    class Derived(base):
        pass

    arguments = [torch.tensor(a) if isinstance(a, float) else a for a in arguments]
    one = Derived(*arguments, validate_args=True)
    many = one.expand((3,))
    assert type(many) is Derived
    assert many.batch_shape == (3,)
    assert many._validate_args
    value = one.sample()
    assert torch.allclose(many.log_prob(value), one.log_prob(value).expand(3))
    given = object.__new__(Derived)
    assert one.expand((2,), _instance=given) is given
    assert given.batch_shape == (2,)


def test_an_expanded_independent_keeps_its_class():
    class Derived(torch.distributions.Independent):
        pass

    many = Derived(torch.distributions.Normal(torch.zeros(2), 1.0), 1).expand((5,))
    assert (type(many), many.batch_shape, many.event_shape) == (Derived, (5,), (2,))


def test_a_class_with_an_init_of_its_own_is_to_say_how_it_expands():
    class Derived(torch.distributions.Normal):
        def __init__(self):
            super().__init__(0.0, 1.0)

    one = Derived()
    with pytest.raises(NotImplementedError, match=r"must also define a custom \.expand\(\) method"):
        one._get_checked_instance(torch.distributions.Normal)
    plain = torch.distributions.Normal(0.0, 1.0)
    assert type(plain._get_checked_instance(torch.distributions.Normal)) is torch.distributions.Normal
    assert plain._get_checked_instance(torch.distributions.Normal, one) is one


def test_a_tensor_of_several_processes_can_be_asked_for_and_not_made():
    from tapegrad.torch.distributed.tensor import DTensor

    assert not isinstance(torch.ones(1), DTensor)
    with pytest.raises(RuntimeError, match="one process"):
        DTensor.from_local(torch.ones(1))


def test_older_places_of_mixed_precision():
    from tapegrad.torch.cuda import amp

    assert amp.grad_scaler.GradScaler is amp.GradScaler
    assert amp.autocast_mode.autocast is amp.autocast


def test_one_tensor_under_two_names_is_told_by_its_number():
    x = torch.ones(2)
    assert x._cdata == x.zero_()._cdata != x.clone()._cdata


def test_a_condition_of_one_element_is_asserted():
    torch._assert_async(torch.tensor(True))
    with pytest.raises(RuntimeError, match="single nonzero value, but got zero"):
        torch._assert_async(torch.tensor(False))
    with pytest.raises(RuntimeError, match="not finite"):
        torch._assert_async(torch.isfinite(torch.tensor(float("nan"))), "not finite")
