import tapegrad as tg
from tapegrad import torch
from tapegrad.torch.utils.checkpoint import checkpoint


def test_a_checkpoint_gives_what_is_no_tensor_as_it_is():
    calls = []

    def f(x, name):
        calls.append(name)
        return {"y": x.sin(), "name": name, "parts": (None, 3, [x * 2])}

    x = torch.tensor([0.5, 1.0], requires_grad=True)
    found = checkpoint(f, x, "first", use_reentrant=False)
    assert found["name"] == "first"
    assert found["parts"][:2] == (None, 3)
    (found["y"] * found["parts"][2][0]).sum().backward()
    assert torch.allclose(x.grad, (x.cos() * 2 * x + 2 * x.sin()).detach())
    assert calls == ["first", "first"]


def test_saved_tensors_are_shown_as_hooks_unpack_them():
    x = torch.tensor([1.5], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: ("packed", t), lambda packed: packed[1]):
        y = x.exp()
        z = x.sin()
    assert y.grad_fn._saved_result.tolist() == y.tolist()
    assert z.grad_fn._saved_self.tolist() == [1.5]


def test_a_node_of_what_has_no_name_is_shown_by_the_first_word() -> None:
    x = torch.ones(2, requires_grad=True)
    nameless = torch.as_tensor(tg.checkpoint(lambda x: x * 2)(x))
    assert "grad_fn=<CheckpointBackward0>" in repr(nameless)
    assert repr(checkpoint(lambda x: x * 2, x, use_reentrant=False).grad_fn).startswith("<MulBackward0 object")
