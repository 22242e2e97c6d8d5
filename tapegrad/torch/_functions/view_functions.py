"""Views, as functions and under their other names, and the copies that stand in their place."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._functions import join  # noqa: F401  whose `split` and `unfold` are methods
from tapegrad.torch._functions._build import FUNCTIONS, METHODS, define
from tapegrad.torch._functions.create import lengths
from tapegrad.torch._layout import VIEWS
from tapegrad.torch._reshaping import in_shape

_VIEW_FUNCTIONS = {
    "reshape": "input, shape", "permute": "input, dims", "transpose": "input, dim0, dim1", "t": "input",
    "movedim": "input, source, destination", "unsqueeze": "input, dim", "squeeze": "input, dim=None",
    "flatten": "input, start_dim=0, end_dim=-1", "unflatten": "input, dim, sizes", "ravel": "input",
    "select": "input, dim, index", "narrow": "input, dim, start, length", "unbind": "input, dim=0",
    "split": "tensor, split_size_or_sections, dim=0", "chunk": "input, chunks, dim=0",
    "tensor_split": "input, indices_or_sections, dim=0", "diagonal": "input, offset=0, dim1=0, dim2=1",
    "as_strided": "input, size, stride, storage_offset=None",
}  # fmt: skip


_OTHER_NAMES = {"swapaxes": "transpose", "swapdims": "transpose", "moveaxis": "movedim"}
for _name, _parameters in _VIEW_FUNCTIONS.items():
    _args = ", ".join(p.strip().partition("=")[0] for p in _parameters.split(","))
    define({f"{_name}({_parameters})": f"view({_args})"}, {"view": VIEWS[_name]}, methods=False, out=False)
for _name, _other in _OTHER_NAMES.items():
    FUNCTIONS[_name] = FUNCTIONS[_other]
    METHODS[_name] = VIEWS[_other]
for _name in ("unsqueeze", "squeeze", "transpose", "t", "as_strided"):
    METHODS[f"{_name}_"] = in_shape(VIEWS[_name], VIEWS["as_strided"])
METHODS["swapaxes_"] = METHODS["swapdims_"] = METHODS["transpose_"]
METHODS["broadcast_to"] = lambda self, *shape, size=None: VIEWS["expand"](self, *lengths(shape if size is None else (size,)))
METHODS["swapaxes"] = lambda self, axis0, axis1: VIEWS["transpose"](self, axis0, axis1)
METHODS["split_with_sizes"] = lambda self, split_sizes, dim=0: VIEWS["split"](self, split_sizes, dim)


# -- copies in the place of views --------------------------------------------------------------------------------
def _apart(view: Any) -> Any:
    """What a view shows, as tensors of their own."""

    def copied(*args: Any, **words: Any) -> Any:
        found = view(*args, **words)
        return tuple(y.clone() for y in found) if isinstance(found, tuple) else found.clone()

    return copied


_COPIES = {
    **{name: name for name in ("diagonal", "permute", "transpose", "t", "squeeze", "unsqueeze", "select", "as_strided", "unbind", "split")},
    "view": "view", "expand": "expand", "unfold": "unfold", "split_with_sizes": "split_with_sizes",
}  # fmt: skip
_COPY_PARAMETERS = {
    **_VIEW_FUNCTIONS, "view": "input, size", "expand": "input, size", "unfold": "input, dimension, size, step",
    "split_with_sizes": "input, split_sizes, dim=0", "split": "input, split_size, dim=0",
}  # fmt: skip
for _name, _view in _COPIES.items():
    _parameters = _COPY_PARAMETERS[_name]
    _args = ", ".join(p.strip().partition("=")[0] for p in _parameters.split(","))
    _copied = {"copied": _apart(VIEWS[_view] if _view in VIEWS else METHODS[_view])}
    define({f"{_name}_copy({_parameters})": f"copied({_args})"}, _copied, methods=False)
for _name in ("split", "split_with_sizes", "chunk"):  # pieces that may be written to, each without the others
    _view = VIEWS["split" if _name == "split_with_sizes" else _name]

    def _pieces_apart(self: Any, size: Any, dim: int = 0, view: Any = _view) -> Any:
        return tuple(y.clone() for y in view(self, size, dim))

    METHODS[f"unsafe_{_name}"] = FUNCTIONS[f"unsafe_{_name}"] = _pieces_apart
METHODS["narrow_copy"] = FUNCTIONS["narrow_copy"] = _apart(VIEWS["narrow"])
FUNCTIONS["detach_copy"] = lambda input: input.detach().clone()
FUNCTIONS["alias_copy"] = lambda input: input.clone()
