"""Classes that programs derive from `torch.Tensor`, objects that answer functions themselves, and modes that see every call.

Each runs in a process of its own: the first such class puts the functions behind a look at their arguments.
"""

import subprocess
import sys
import textwrap

import pytest

START = """
import numpy as np
from tapegrad import torch

class Point(torch.Tensor):
    pass

x = torch.arange(4.0)
p = x.as_subclass(Point)

class Noted(torch.Tensor):
    called = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Noted.called.append((func.__name__, [t.__name__ for t in types]))
        return super().__torch_function__(func, types, args, kwargs or {})
"""

PROGRAMS = {
    "what is computed of a class has the class": """
        kinds = [p + 1, 1 - p, torch.sin(p), torch.cat([x, p]), p.view(2, 2), p[1:], p.clone(), p.max(0).values, p.view(2, 2).T]
        assert {type(k) for k in [*kinds, *p.split(2), *p]} == {Point}
        written = torch.zeros(4)
        assert type(torch.add(p, 1, out=written)) is Point and type(written) is torch.Tensor and written.tolist() == [1.0, 2.0, 3.0, 4.0]
        assert type(x + 1) is torch.Tensor and type(p.tolist()) is list and type(p.numpy()) is np.ndarray
    """,
    "a class that is never asked gives plain tensors, and keeps what its instances have": """
        class Place(torch.Tensor):
            __torch_function__ = torch._C._disabled_torch_function_impl

            def __new__(cls, data, name):
                made = torch.Tensor._make_subclass(cls, data, True)
                made.name_of_place = name
                return made

        class Weight(Place, torch.nn.Parameter):
            pass

        w = Weight(torch.tensor([1.0, 2.0]), "here")
        assert type(w) is Weight and w.name_of_place == "here" and isinstance(w, torch.nn.Parameter)
        assert not isinstance(torch.nn.Parameter(torch.ones(1)), Weight)
        kinds = [w + 1, w.detach(), w.detach().clone(), torch.sin(w), w[0], w.data, torch.stack([w, w])]
        assert {type(k) for k in kinds} == {torch.Tensor}
        layer = torch.nn.Module()
        layer.w = w
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
        (w * w).sum().backward()
        optimizer.step()
        assert w.tolist() == [0.0, 0.0] and type(w) is Weight and w.name_of_place == "here"
    """,
    "gradients pass to the tensor that it shows": """
        a = torch.ones(3, requires_grad=True)
        q = a.as_subclass(Point)
        (q * q).sum().backward()
        assert a.grad.tolist() == [2.0] * 3 and type(a.grad) is torch.Tensor
        leaf = torch.ones(2).as_subclass(Point).requires_grad_()
        (3 * leaf).sum().backward()
        assert leaf.grad.tolist() == [3.0] * 2
    """,
    "it shares memory, and stays of its class when it is written to": """
        base = torch.zeros(3)
        q = base.as_subclass(Point)
        row = q[:2]
        base.add_(1)
        assert isinstance(row, Point) and row.tolist() == [1.0, 1.0] and type(row) is Point
        q.mul_(5)
        assert base.tolist() == [5.0] * 3
        shared = q.numpy()
        shared[0] = 7
        assert isinstance(q, Point) and (q + 0).tolist() == [7.0, 5.0, 5.0]
    """,
    "a function is told by its name with the classes that are asked": """
        n = x.as_subclass(Noted)
        n + x, torch.mean(n), torch.stack([x, n]), n[0], n.add_(1), torch.nn.functional.relu(n)
        assert [name for name, _ in Noted.called] == ["add", "mean", "stack", "__getitem__", "add_", "relu"]
        assert all(types == ["Noted"] for _, types in Noted.called)
    """,
    "classes that are not related refuse each other": """
        try:
            x.as_subclass(Noted) + p
        except TypeError as error:
            assert "Multiple dispatch failed" in str(error) and "NotImplemented" in str(error)
        else:
            raise AssertionError
    """,
    "objects that are no tensors answer, once the module is imported": """
        import tapegrad.torch.overrides as overrides
        table = {}
        class Scalar:
            def __init__(self, value): self.value = value
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return table[func](*args) if func in table else NotImplemented
        table[torch.mean] = lambda s: s.value
        table[torch.add] = lambda a, b: ("sum", type(a).__name__, type(b).__name__)
        assert torch.mean(Scalar(3)) == 3 and torch.add(x, Scalar(1)) == ("sum", "Tensor", "Scalar")
        assert overrides.has_torch_function((Scalar(1),)) and overrides.is_tensor_like(Scalar(1)) and not torch.is_tensor(Scalar(1))
        def mine(a, b=0):
            if overrides.has_torch_function((a, b)):
                return overrides.handle_torch_function(mine, (a, b), a)
            return a
        table[mine] = lambda s: "mine"
        assert mine(4) == 4
        assert mine(Scalar(2)) == "mine"
    """,
    "a mode sees every call and may answer": """
        from tapegrad.torch.overrides import TorchFunctionMode
        class Mode(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return "no" if func.__name__ == "sin" else func(*args, **(kwargs or {}))
        with Mode():
            assert torch.sin(x) == "no" and torch.cos(x)[0].item() == 1.0
        assert torch.sin(x).tolist()[0] == 0.0
    """,
    "a class may have slots": """
        class Slotted(torch.Tensor):
            __slots__ = ("note",)
        s = torch.zeros(3).as_subclass(Slotted)
        s.note = "kept"
        base = torch.ones(2, 2)
        row = base[0].as_subclass(Slotted)
        base.mul_(3)
        assert s.note == "kept" and type(s + 1) is Slotted and row.tolist() == [3.0, 3.0] and isinstance(row, Slotted)
    """,
    "it is made, copied, pickled and printed as one": """
        import copy, pickle
        q = Point([1.0, 2.0])
        assert type(q) is Point and q.tolist() == [1.0, 2.0] and repr(q) == "Point([1., 2.])"
        q.tag = "kept"
        assert type(copy.deepcopy(q)) is Point and copy.deepcopy(q).tag == "kept"
        made = torch.Tensor._make_subclass(Point, x, True)
        assert type(made) is Point and made.requires_grad and made.is_leaf and made.data_ptr() == x.data_ptr()
        with torch._C.DisableTorchFunctionSubclass():
            assert type(p + 1) is torch.Tensor
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_with_classes_of_its_own(name):
    run = subprocess.run([sys.executable, "-c", START + textwrap.dedent(PROGRAMS[name])], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
