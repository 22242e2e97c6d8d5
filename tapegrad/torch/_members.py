"""What every tensor can do: its members are put together here, with those that are a matter of autograd or of memory."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from tapegrad.core.recorder import group
from tapegrad.kernels.batched import Batched
from tapegrad.torch import _graph, _indexing, _layout, _operators, _shapes, _values, _watching
from tapegrad.torch._construct import track
from tapegrad.torch._devices import device_of
from tapegrad.torch._dispatching import as_subclass, make_subclass
from tapegrad.torch._dtypes import SCALAR_TYPES, numpy_of
from tapegrad.torch._inference import refuse_inference
from tapegrad.torch._recorder import IMPLICIT, is_leaf_node, own
from tapegrad.torch._stale import Stale, is_barred
from tapegrad.torch._storage import Storage
from tapegrad.torch._tensor import STYLE, Tensor, another, auto_of, settle_class, wrap
from tapegrad.torch._views import alias, give_memory, node_before, store_of, take, view_of
from tapegrad.torch.autograd import _of_tensor


# -- autograd ----------------------------------------------------------------------------------------
def _requires_grad(self: Any) -> bool:
    node = node_before(self) if isinstance(self, Stale) and is_barred(self) else self.node
    if node is not None:
        return own(node) is not None
    info = view_of(self)  # taken where nothing was recorded, of a tensor that requires one
    return info is not None and (not info.cut or info.is_barred) and own(info.base.node) is not None


def _set_requires_grad(self: Any, value: bool) -> None:
    if value:
        refuse_inference(self)
        track(self)
        return
    node = own(self.node)
    if node is None:
        return
    if not is_leaf_node(node):
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that "
            "doesn't require differentiation use var_no_grad = var.detach()."
        )
    self.node = _without(self.node)


def _without(node: Any) -> Any:
    """The node of a watched value as all others know it but the implicit recorder."""
    from tapegrad.core.node import WATCH, make_node

    while node is not None and node.owners.recorders <= {IMPLICIT}:
        node = node.p
    if node is None or IMPLICIT not in node.owners.recorders:
        return node
    return make_node(WATCH, None, None, None, None, group(node.owners.recorders - {IMPLICIT}))


def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
    """Let autograd follow what is computed from this tensor from now on, or not."""
    _set_requires_grad(self, requires_grad)
    return self


def _is_leaf(self: Any) -> bool:
    node = own(self.node)
    return node is None or is_leaf_node(node)


def _get_grad(self: Any) -> Any:
    auto = getattr(self, "_auto", None)
    found = None if auto is None else auto.grad
    if found is None and not (auto is not None and auto.retains) and not _is_leaf(self):
        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be populated "
            "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() "
            "on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead.",
            UserWarning,
            stacklevel=2,
        )
    return found


def _lower(x: Any) -> str:
    return SCALAR_TYPES[x.dtype].lower()


def _set_grad(self: Any, value: Any) -> None:
    if value is None:
        auto = getattr(self, "_auto", None)
        if auto is not None:
            auto.grad = None
        return
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is self:
        raise RuntimeError("can't assign Variable as its own grad")
    if value.array.dtype != self.array.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{_lower(value)}' to a tensor with grad_dtype "
            f"'{SCALAR_TYPES[self.dtype]}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype)."
        )
    if value.array.shape != self.array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.array.shape)}' to a tensor of size '{list(self.array.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size"
        )
    auto_of(self).grad = value


def _del_grad(self: Any) -> None:
    _set_grad(self, None)


def _set_part(name: str) -> Any:
    def write(self: Any, value: Any) -> None:
        part = getattr(self, name)
        part.copy_(value) if isinstance(value, Tensor) else part.fill_(value)

    return write


def detach(self: Any) -> Any:
    """The same memory as a constant."""
    return alias(self)


def detach_(self: Any) -> Any:
    """Forget the history of this tensor, in place."""
    info = view_of(self)
    if info is not None and not info.cut:
        raise RuntimeError("Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                           "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                           "detach_() cannot be called on these gradients.")  # fmt: skip
    self.node = None
    return self


def _get_data(self: Any) -> Any:
    if self.is_sparse:
        return self.detach()
    return alias(self, apart=True)


def _set_data(self: Any, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if value.array.dtype.kind not in "fcV" and _requires_grad(self):
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    if type(value.array) is Batched and type(self.array) is not Batched:
        raise RuntimeError("mutating directly with `.data` under vmap transform is not allowed: the tensor would outlive the batch.")
    give_memory(value)
    self.array = value.array
    self.like = None
    theirs = store_of(value)
    theirs.shared = True
    store_of(self).shared = True


def _get_version(self: Any) -> int:
    if self._is_inference:
        raise RuntimeError("Inference tensors do not track version counter.")
    store: Storage | None = getattr(self, "_store", None)
    return 0 if store is None else store.version


def clone(self: Any, *, memory_format: Any = None) -> Any:
    """A copy that is part of the graph."""
    y = STYLE.astype(self, self.array.dtype)
    raw = y.array
    if type(raw) is np.ndarray and not raw.flags.c_contiguous:
        keeps = (memory_format is None or str(memory_format) == "torch.preserve_format") and 0 not in self.array.strides
        y.array = raw.copy(order="K" if keeps else "C")
    elif raw is self.array or (type(raw) is np.ndarray and raw.base is not None):
        y.array = another(raw)
    return y


def _base(self: Any) -> Any:
    info = view_of(self)
    return None if info is None or info.cut else info.base


def _matrix_transpose(self: Any, name: str = "tensor.mT") -> Any:
    n = len(self.array.shape)
    if n == 1:
        raise RuntimeError(f"{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return _shapes.transpose(self, -2, -1) if n else self


def _adjoint(self: Any, name: str = "tensor.adjoint()") -> Any:
    y = _matrix_transpose(self, name)
    return STYLE.conj(y) if y.array.dtype.kind == "c" else y


def _all_axes(self: Any) -> Any:
    return _shapes.permute(self, tuple(range(len(self.array.shape)))[::-1])


def _conjugate_transpose(self: Any) -> Any:
    n = len(self.array.shape)
    if n not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {n}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if n > 2 else "")
        )
    return _adjoint(self)


def _real(self: Any) -> Any:
    if self.array.dtype.kind != "c":
        return self
    return take(self, STYLE.real, lambda parent, new: _of_parts(new, STYLE.imag(parent)))


def _imag(self: Any) -> Any:
    if self.array.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return take(self, STYLE.imag, lambda parent, new: _of_parts(STYLE.real(parent), new))


def _of_parts(real: Any, imag: Any) -> Any:
    from tapegrad.torch._functions._build import FUNCTIONS

    return FUNCTIONS["complex"](real, imag)


def astype(self: Any, dtype: Any) -> Any:
    """The values in another dtype, recorded; the tensor itself if it has that dtype."""
    want = numpy_of(dtype)
    return self if self.array.dtype == want else STYLE.astype(self, want)


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    if not _is_leaf(self):
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you were "
            "attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    raw = self.array
    made = wrap(raw.copy() if isinstance(raw, np.ndarray) else raw)
    memo[id(self)] = made
    auto = getattr(self, "_auto", None)
    if auto is not None:
        mine = auto_of(made)
        mine.flags = dict(auto.flags)
        mine.grad = None if auto.grad is None else copy.deepcopy(auto.grad, memo)
    settle_class(made)
    if self.__dict__:
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return track(made) if _requires_grad(self) else made


def _rebuilt(raw: Any, requires_grad: bool, flags: dict[str, Any], more: dict[str, Any]) -> Any:
    made = wrap(raw)
    if flags:
        auto_of(made).flags = flags
        settle_class(made)
    made.__dict__.update(more)
    return track(made) if requires_grad else made


def _reduced(self: Any) -> Any:
    raw = np.asarray(self.read()[0])
    auto = getattr(self, "_auto", None)
    flags = {} if auto is None else dict(auto.flags)
    return _rebuilt, (raw[()] if not raw.ndim else raw, _requires_grad(self), flags, dict(self.__dict__))


def install() -> None:
    """Give the class its members."""
    members: dict[str, Any] = {
        **_operators.operators(),
        **_values.MEMBERS,
        **_layout.VIEWS,
        "__neg__": STYLE.negative,
        "__pos__": lambda self: self,
        "__abs__": STYLE.abs,
        "__invert__": STYLE.bitwise_invert,
        "__getitem__": _indexing.getitem,
        "__setitem__": _indexing.setitem,
        "__delitem__": _indexing.delitem,
        "__contains__": _operators.contains,
        "__hash__": object.__hash__,
        "__deepcopy__": _deepcopy,
        "__reduce_ex__": lambda self, _: _reduced(self),
        "requires_grad": property(_requires_grad, _set_requires_grad),
        "requires_grad_": requires_grad_,
        "is_leaf": property(_is_leaf),
        "grad": property(_get_grad, _set_grad, _del_grad),
        "detach": detach,
        "detach_": detach_,
        "data": property(_get_data, _set_data),
        "_version": property(_get_version),
        "_base": property(_base),
        "_is_view": lambda self: _base(self) is not None,
        "clone": clone,
        "device": property(lambda self: device_of(self.array)),
        "T": property(_all_axes),
        "mT": property(_matrix_transpose),
        "H": property(_conjugate_transpose),
        "mH": property(lambda self: _adjoint(self, "tensor.mH")),
        "adjoint": lambda self: _adjoint(self),
        "real": property(_real, _set_part("real")),
        "imag": property(_imag, _set_part("imag")),
        "ndim": property(lambda self: len(self.array.shape)),
        "is_complex": lambda self: self.array.dtype.kind == "c",
        "is_floating_point": lambda self: self.array.dtype.kind in "fV",
        "is_cuda": property(lambda self: device_of(self.array).type == "cuda"),
        "is_sparse": property(lambda self: False),
        "is_inference": lambda self: self._is_inference,
        "resolve_conj": lambda self: self,
        "is_conj": lambda self: False,  # what is conjugated, or negated, has its own values here
        "is_neg": lambda self: False,
        "resolve_neg": lambda self: self,
        "as_subclass": as_subclass,
        "_make_subclass": staticmethod(make_subclass),
        "backward": _of_tensor,
        "grad_fn": property(_graph.grad_fn),
        "output_nr": property(_graph.output_nr),
        "register_hook": _watching.register_hook,
        "register_post_accumulate_grad_hook": _watching.register_post_accumulate_grad_hook,
        "retain_grad": _watching.retain_grad,
        "retains_grad": property(lambda self: getattr(self, "_auto", None) is not None and self._auto.retains),
    }
    for name, member in members.items():
        setattr(Tensor, name, member)


install()
