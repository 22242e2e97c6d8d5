"""Selective checkpoints: a policy says which results are kept, and not computed again.

Functions are seen by their names, as PyTorch's operators: `x @ w` of matrices is `aten.mm.default`, a linear layer
`aten.addmm.default`.
"""

from __future__ import annotations

import enum
from typing import Any

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch import ops
from tapegrad.torch._tensor import Tensor
from tapegrad.torch.ops import OpOverload, OpOverloadPacket
from tapegrad.torch.overrides import TorchFunctionMode
from tapegrad.torch.utils._recomputed import CURRENT, Frame, _Run


class CheckpointPolicy(enum.Enum):
    """What is to become of a result: kept, or computed again; `PREFER_*` may be decided otherwise by what compiles, `MUST_*` not."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEPT = frozenset(p for p in CheckpointPolicy if "RECOMPUTE" not in p.name)


class SelectiveCheckpointContext:
    """What a policy is told: whether the function runs for the first time."""

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


def _operator(function: Any, args: Any, words: Any) -> OpOverload:
    """PyTorch's operator behind a function of its Python interface."""
    name = getattr(function, "__name__", "").strip("_") or "unknown"
    if getattr(function, "__name__", "").endswith("_") and not getattr(function, "__name__", "").startswith("__"):
        name += "_"
    tensors = [a for a in (*args, *words.values()) if isinstance(a, Core)]
    ranks = [t.ndim for t in tensors]
    if name in ("matmul", "rmatmul") and len(ranks) == 2:
        name = {(2, 2): "mm", (2, 1): "mv", (1, 1): "dot", (1, 2): "mv"}.get((ranks[0], ranks[1]), "bmm")
    elif name == "linear":
        name = "addmm" if len(tensors) == 3 else "mm"
    elif name in ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"):
        name = "convolution"
    elif name in ("softmax", "log_softmax"):
        name = f"_{name}"
    elif name == "scaled_dot_product_attention":
        name = "_scaled_dot_product_flash_attention_for_cpu"
    packet: OpOverloadPacket = getattr(ops.aten, name)
    two = name in ("add", "sub", "mul", "div", "pow", "eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum") and len(args) == 2
    if two:
        form: OpOverload = packet.Tensor if len(tensors) == 2 else packet.Scalar
        return form
    found: OpOverload = packet.default
    return found


class _Seen:
    """A kept result, and where each tensor that its op saved came from."""

    def __init__(self, result: Any) -> None:
        self.result = result
        self.saved: list[tuple[str, Any]] = []


class _Keeping(TorchFunctionMode):
    """The first run: what the policy wants is kept."""

    def __init__(self, policy: Any, kept: list[_Seen]) -> None:
        self.policy = policy
        self.kept = kept

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        words = kwargs or {}
        policy = self.policy(SelectiveCheckpointContext(is_recompute=False), _operator(func, args, words), *args, **words)
        frame = CURRENT.stack[-1] if CURRENT.stack else None
        if not _is_kept(policy) or not isinstance(frame, Frame):
            return func(*args, **words)
        start = len(frame.marks)
        packed: list[Any] = []
        frame.listeners.append(packed)
        try:
            found = func(*args, **words)
        finally:
            frame.listeners.pop()
        given = [a for a in (*args, *words.values()) if isinstance(a, Core)]
        seen = _Seen(found)
        if not isinstance(found, Tensor) or any(_is_view(found, a) for a in given):  # nothing of its own to keep
            self.kept.append(_Seen(None))
            return found
        for t in packed:
            place = next((i for i, a in enumerate(given) if a.array is t.array), None)
            same = t.array is found.array
            seen.saved.append(("result", None) if same else ("other", t.detach()) if place is None else ("argument", place))
        assert len(packed) == len(frame.marks) - start
        seen.result = (found.detach(), found.requires_grad, found._version)
        self.kept.append(seen)
        return found


class _Using(TorchFunctionMode):
    """The function again: what was kept is not computed."""

    def __init__(self, policy: Any, kept: list[_Seen], mutable: bool) -> None:
        self.policy = policy
        self.kept = kept
        self.mutable = mutable
        self.next = 0

    def __enter__(self) -> TorchFunctionMode:
        self.next = 0
        return super().__enter__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        words = kwargs or {}
        policy = self.policy(SelectiveCheckpointContext(is_recompute=True), _operator(func, args, words), *args, **words)
        run = CURRENT.stack[-1] if CURRENT.stack else None
        if not _is_kept(policy) or not isinstance(run, _Run):
            return func(*args, **words)
        if self.next >= len(self.kept):
            raise RuntimeError(f"{_operator(func, args, words)} encountered during backward, but not found in storage: the policy, or the "
                               "function, does not do the same in the backward pass")  # fmt: skip
        seen = self.kept[self.next]
        self.next += 1
        if seen.result is None:
            return func(*args, **words)
        value, tracked, version = seen.result
        if value._version != version and not self.mutable:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated: write out of place, or pass "
                               "allow_cache_entry_mutation=True")  # fmt: skip
        given = [a for a in (*args, *words.values()) if isinstance(a, Core)]
        for source, what in seen.saved:
            run.pack(value if source == "result" else given[what] if source == "argument" else what)
        return value.detach().requires_grad_(tracked)


def _is_kept(policy: Any) -> bool:
    if isinstance(policy, bool):
        return policy
    return policy in _KEPT


def _is_view(found: Any, given: Any) -> bool:
    return found is given or found.data_ptr() == given.data_ptr()


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """The contexts for `checkpoint(..., context_fn=)` that keep what a policy, or a list of operators, says.

    The policy is called as `policy(ctx, op, *args, **kwargs)`, in both passes, and gives a `CheckpointPolicy`.
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                hint = " Please pass an op overload, as torch.ops.aten.mm.default" if isinstance(op, OpOverloadPacket) else ""
                raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}.{hint}")

        def policy(ctx: Any, op: Any, *args: Any, **words: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in policy_fn_or_list else CheckpointPolicy.PREFER_RECOMPUTE

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: list[_Seen] = []
    return _Keeping(policy, kept), _Using(policy, kept, allow_cache_entry_mutation)
