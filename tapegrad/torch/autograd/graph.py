"""`torch.autograd.graph`: nodes, hooks on several gradients at once, and hooks on what is saved."""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from tapegrad.torch import _packing, _watching
from tapegrad.torch._graph import EdgeShape, GradientEdge, Node, accumulate_of, grad_fn, output_nr
from tapegrad.torch._missing import refusing
from tapegrad.torch._recorder import is_leaf_node, own
from tapegrad.torch._watching import Handle


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Where the gradient of a tensor arrives."""
    node = own(tensor.node)
    if node is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    raw = tensor.array
    shape = EdgeShape(type(raw), raw.shape, raw.dtype)
    return GradientEdge(accumulate_of(tensor) if is_leaf_node(node) else grad_fn(tensor), output_nr(tensor), shape)


class saved_tensors_hooks:
    """Inside, `pack_hook` is called with each tensor that the graph saves, and `unpack_hook` with what it gave when it is needed."""

    def __init__(self, pack_hook: Any, unpack_hook: Any) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if _packing.LOCAL.disabled is not None:
            raise RuntimeError(_packing.LOCAL.disabled)
        _packing.enter(self.pack_hook, self.unpack_hook)

    def __exit__(self, *_: object) -> None:
        _packing.leave()


class save_on_cpu(saved_tensors_hooks):
    """Inside, what is saved is moved to the CPU, and back when it is needed; here it is there already, and is copied."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: (t.device, t.clone()), lambda packed: packed[1])


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, `saved_tensors_hooks` raises this message."""
    before = _packing.LOCAL.disabled
    if _packing.active() is not None:
        raise RuntimeError(error_message)
    _packing.LOCAL.disabled = error_message
    try:
        yield
    finally:
        _packing.LOCAL.disabled = before


class _Handles:
    """Takes several hooks away at once."""

    def __init__(self, handles: Sequence[Handle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take the hooks away."""
        for h in self.handles:
            h.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Any], fn: Any, *, mode: str = "all") -> Any:
    """Call `fn` with the gradients of all tensors once they are there, None for those without; or, with `mode="any"`, with the first."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    if mode == "any":
        lock = threading.Lock()
        done: set[Any] = set()

        def first(g: Any) -> None:
            with lock:
                sweep = _watching.sweep_number()
                if sweep in done:
                    return
                done.add(sweep)
            fn(g)

        return _Handles([_watching.register_hook(t, first) for t in tensors if t.requires_grad])
    for i, t in enumerate(tensors):
        if not t.requires_grad:
            raise AssertionError(
                f"Expected gradient function to be set: tensor {i} of those given to register_multi_grad_hook requires no gradient; "
                "leave it out"
            )
    together = _Together(fn, tensors)
    return _Handles([_watching.register_hook(t, functools.partial(together, i)) for i, t in enumerate(tensors)])


class _Together:
    """Calls a function with the gradients of several tensors once all are there that a sweep will bring."""

    def __init__(self, fn: Any, tensors: tuple[Any, ...]) -> None:
        self._fn = fn
        self._nodes = [weakref.ref(own(t.node)) for t in tensors]
        self._lock = threading.Lock()
        #: By the number of the sweep: the gradients so far, and the numbers of those that are to come.
        self._got: dict[int, tuple[list[Any], set[int]]] = {}

    def __call__(self, i: int, g: Any) -> None:
        sweep = _watching.sweep_number()
        with self._lock:
            new = sweep not in self._got
            if new:
                self._got.clear()
                self._got[sweep] = [None] * len(self._nodes), self._to_come(i)
            gradients, to_come = self._got[sweep]
            gradients[i] = g
            to_come.discard(i)
            if not to_come:
                del self._got[sweep]
        if not to_come:
            self._fn(gradients)
        elif new:
            _watching.at_end(lambda: self._at_end(sweep))

    def _to_come(self, i: int) -> set[int]:
        """The numbers of the tensors whose nodes take part in the sweep that has come to this one."""
        marks = [getattr(ref(), "mark", None) for ref in self._nodes]
        return {-1} if marks[i] is None else {k for k, mark in enumerate(marks) if mark is marks[i]}

    def _at_end(self, sweep: int) -> None:
        """A step has sent nothing to one of them."""
        with self._lock:
            found = self._got.pop(sweep, None)
        if found is not None:
            self._fn(found[0])




def increment_version(tensor: Any) -> None:
    """Count a write to the memory of a tensor that was made by other means."""
    from tapegrad.torch._storage import wrote
    from tapegrad.torch._views import store_of

    for t in tensor if isinstance(tensor, tuple | list) else (tensor,):
        wrote(store_of(t), t.array)


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Inside, what is saved is a copy, so it may be written to afterwards."""
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        yield


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """There are no streams here; nothing to warn of."""


__getattr__ = refusing(globals())

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
