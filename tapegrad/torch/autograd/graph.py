"""`torch.autograd.graph`: nodes, hooks on several gradients at once, and hooks on what is saved."""

from __future__ import annotations

import contextlib
import threading
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
    lock = threading.Lock()
    if mode == "any":
        done: set[Any] = set()

        def first(g: Any) -> None:
            with lock:
                sweep = _watching.sweep_number()
                if sweep in done:
                    return
                done.add(sweep)
            fn(g)

        return _Handles([_watching.register_hook(t, first) for t in tensors if t.requires_grad])
    got: dict[int, list[Any]] = {}

    def arrived(i: int) -> Any:
        def hook(g: Any) -> None:
            with lock:
                sweep = _watching.sweep_number()
                new = sweep not in got
                if new:
                    got.clear()
                    got[sweep] = [None] * len(tensors)
                got[sweep][i] = g
            if new:
                _watching.at_end(lambda: fn(got.pop(sweep)))

        return hook

    return _Handles([_watching.register_hook(t, arrived(i)) for i, t in enumerate(tensors) if t.requires_grad])




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
