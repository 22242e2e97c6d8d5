"""TorchScript's names around functions and modules that stay as they are."""

import pytest

from tapegrad import torch
from tapegrad.torch import jit, nn


def test_a_compiled_function_is_the_function_and_is_differentiated():
    @jit.script
    def gelu(x):
        if jit.is_scripting() or jit.is_tracing():
            return x
        return 0.5 * x * (1 + torch.erf(x / 2**0.5))

    x = torch.tensor([0.5, -1.5], requires_grad=True)
    gelu(x).sum().backward()
    expected = torch.autograd.functional.vjp(nn.functional.gelu, x.detach(), torch.ones(2))[1]
    assert torch.allclose(x.grad, expected)
    assert jit.script(gelu) is gelu


def test_a_module_with_the_decorators_of_compilation_trains():
    class Net(jit.ScriptModule):
        __constants__ = ("width",)
        width: jit.Final[int]

        def __init__(self):
            super().__init__()
            self.width = jit.Attribute(3, int).value
            self.layer = nn.Linear(2, self.width)

        @jit.script_method
        def forward(self, x):
            return self.scale(self.layer(x))

        @jit.export
        def scale(self, x):
            return jit.annotate(torch.Tensor, x * 2)

        @jit.ignore
        def name(self):
            return "net"

        @jit.ignore(drop=True)
        def other(self):
            return "other"

        @jit.unused
        def third(self):
            return "third"

    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    assert net.layer.bias.grad.tolist() == [2.0] * 3
    assert (net.name(), net.other(), net.third()) == ("net", "other", "third")
    assert isinstance(net, jit.ScriptModule)
    assert not isinstance(jit.script(net.layer), jit.ScriptModule)
    assert jit.trace(net, torch.ones(1, 2)) is net


def test_freezing_asks_for_evaluation_mode():
    net = nn.Linear(2, 1)
    with pytest.raises(RuntimeError, match="eval mode"):
        jit.freeze(net)
    assert jit.freeze(net.eval()) is net


def test_the_type_of_a_list_of_something_is_that_of_a_list():
    assert jit.isinstance([1], list[int])
    assert jit.isinstance({}, (list[int], dict[str, int]))
    assert not jit.isinstance((1,), list[int])


@pytest.mark.parametrize("name", ["save", "load"])
def test_files_of_compiled_programs_are_refused(name):
    with pytest.raises(RuntimeError, match=rf"torch\.jit\.{name}: .*state_dict"):
        getattr(jit, name)("file.pt")


def test_the_old_name_of_vmap_lets_absent_outputs_pass():
    from tapegrad.torch._vmap_internals import _vmap

    x = torch.arange(6.0).reshape(3, 2)
    assert _vmap(lambda row: row.sum())(x).tolist() == [1.0, 5.0, 9.0]
    total, nothing = _vmap(lambda row: (row.sum(), None), allow_none_pass_through=True)(x)
    assert total.tolist() == [1.0, 5.0, 9.0]
    assert nothing is None
    assert _vmap(lambda row: row * 2, allow_none_pass_through=True)(x).tolist() == (x * 2).tolist()


def test_a_program_that_exports_at_its_end_runs_until_then():
    import tapegrad.torch.onnx

    assert not torch.onnx.is_in_onnx_export()
    with pytest.raises(RuntimeError, match=r"torch\.onnx\.export: .*state_dict"):
        tapegrad.torch.onnx.export(nn.Linear(1, 1), torch.ones(1, 1), "net.onnx")
