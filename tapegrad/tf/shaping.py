"""Making tensors, and changing their shape."""

from __future__ import annotations

import math
from builtins import range as builtin_range
from typing import Any

import numpy as np

from tapegrad.registry.places import has_values
from tapegrad.tf.convert import convert, fresh, host, identity, integer
from tapegrad.tf.dtypes import as_dtype, int32, numpy_dtype
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import shape_text
from tapegrad.tf.shapes import TensorShape, lengths
from tapegrad.tf.style import S, short
from tapegrad.tf.tensor import Tensor


@export("shape")
def shape(input: Any, out_type: Any = None, name: str | None = None) -> Tensor:
    """The lengths of the axes, as a tensor."""
    if hasattr(input, "_lengths"):
        return input._lengths(numpy_dtype(out_type or int32))
    return fresh(np.array(convert(input).array.shape, numpy_dtype(out_type or int32)))


@export("shape_n")
def shape_n(input: Any, out_type: Any = int32, name: str | None = None) -> list[Tensor]:
    """The shapes of several tensors."""
    return [shape(x, out_type) for x in input]


@export("size")
def size(input: Any, out_type: Any = None, name: str | None = None) -> Tensor:
    """The number of elements, as a tensor."""
    if hasattr(input, "_size"):
        return fresh(np.asarray(input._size(), numpy_dtype(out_type or int32))[()])
    return fresh(np.asarray(convert(input).array.size, numpy_dtype(out_type or int32))[()])


@export("rank")
def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of axes, as a tensor."""
    if hasattr(input, "_lengths"):
        return fresh(np.int32(input.shape.rank))
    return fresh(np.int32(convert(input).array.ndim))


@export("ensure_shape")
def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """The tensor itself, whose shape is checked."""
    x = convert(x)
    if not x.shape.is_compatible_with(shape):
        raise invalid(
            "EnsureShape", f"Shape of tensor {shape_text(x.array)} is not compatible with expected shape {TensorShape(shape)}."
        )
    return x


@export("reshape", "manip.reshape")
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same elements in another shape; one length may be -1."""
    x = tensor if type(tensor) is Tensor else convert(tensor)
    wanted = shape if type(shape) is tuple else lengths(shape)
    size = x.array.size
    fixed = 1
    for n in wanted:
        if type(n) is not int:
            return reshape(x, lengths(wanted))
        if n >= 0:
            fixed *= n
    free = wanted.count(-1)
    if free > 1:
        raise invalid("Reshape", "Only one input size may be -1, not both")
    if (not free and fixed != size) or (free and (size % fixed if fixed else size)):
        raise invalid(
            "Reshape", f"Input to reshape is a tensor with {size} values, but the requested shape {_product(wanted, fixed, free)}"
        )
    if free and not fixed:
        wanted = tuple(0 if n == -1 else n for n in wanted)
    return S.reshape(x, wanted)


def _product(wanted: Any, fixed: int, free: int) -> str:
    return f"requires a multiple of {fixed}" if free else f"has {fixed}"


@export("expand_dims")
def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:
    """The tensor with a new axis of length 1."""
    x = convert(input)
    if isinstance(axis, list | tuple) or hasattr(axis, "shape"):
        where = host(axis)
        if where.size != 1:
            raise invalid("ExpandDims", f"'dim' must be a tensor with a single value, got shape {shape_text(where)}")
        axis = where.reshape(())
    rank, axis = x.array.ndim, integer(axis)
    if not -rank - 1 <= axis <= rank:
        raise invalid("ExpandDims", f"Tried to expand dim index {axis} for tensor with {rank} dimensions.")
    return S.expand_dims(x, axis=axis)


@export("squeeze")
def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """The tensor without axes of length 1."""
    x = convert(input)
    shape = x.array.shape
    if axis is None or (isinstance(axis, list | tuple) and not axis):
        axes = tuple(i for i, n in enumerate(shape) if n == 1)
    else:
        axes = tuple(integer(a) for a in (axis if isinstance(axis, list | tuple) else [axis]))
    for a in axes:
        if not -len(shape) <= a < len(shape):
            raise invalid("Squeeze", f"Tried to squeeze dim index {a} for tensor with {len(shape)} dimensions.")
        if shape[a] != 1:
            raise invalid("Squeeze", f"Can not squeeze dim[{a % len(shape)}], expected a dimension of 1, got {shape[a]}")
    return S.squeeze(x, axes) if axes else identity(x)


@export("transpose")
def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str = "transpose") -> Tensor:
    """The axes in another order, reversed if no `perm` is given."""
    x = a if type(a) is Tensor else convert(a)
    rank = x.array.ndim
    if perm is None:
        axes = tuple(builtin_range(rank - 1, -1, -1))
        y = S.permute_dims(x, axes)
        return S.conj(y) if conjugate and y.array.dtype.kind == "c" else y
    if np.ndim(perm) != 1:
        raise invalid("Transpose", f"perm must be rank 1, got shape [{','.join(map(str, np.shape(perm)))}]")
    axes = lengths(perm)
    if sorted(p % rank if rank else p for p in axes) != list(builtin_range(rank)):
        raise invalid(
            "Transpose", f"transpose expects a vector of size {rank}. But input(1) is a vector of size {len(axes)}: {list(axes)}"
        )
    y = S.permute_dims(x, axes)
    return S.conj(y) if conjugate and y.array.dtype.kind == "c" else y


@export("linalg.matrix_transpose")
def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The last two axes exchanged."""
    x = convert(a)
    if x.array.ndim < 2:
        raise ValueError(f"Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = {x} with shape: {x.shape}")
    y = S.matrix_transpose(x)
    return S.conj(y) if conjugate and y.array.dtype.kind == "c" else y


@export("linalg.adjoint")
def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The last two axes exchanged, and complex numbers conjugated."""
    return matrix_transpose(matrix, conjugate=True)


@export("tile")
def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """The tensor side by side with itself, as often along each axis as `multiples` says."""
    x = convert(input)
    counts = lengths(multiples)
    if len(counts) != x.array.ndim:
        raise invalid("Tile", f"Expected multiples argument to be a vector of length {x.array.ndim} but got length {len(counts)}")
    return S.tile(x, counts)


@export("repeat")
def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Each element repeated along an axis (of the flattened tensor if None)."""
    counts = np.asarray(convert(repeats).array)
    if counts.dtype.kind not in "iu":
        raise TypeError(
            f"Argument `tensor` (name: repeats) must be of type integer. Received `tensor` = {repeats!r} of dtype: {counts.dtype}"
        )
    return S.repeat(convert(input), counts.astype(np.int64)[()], axis=axis)


@export("broadcast_to")
def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """The tensor repeated along axes of length 1 and new ones, to a shape."""
    x = convert(input)
    wanted = lengths(shape)
    try:
        fits = np.broadcast_shapes(x.array.shape, wanted) == wanted
    except ValueError:
        fits = False
    if not fits:
        target = f"[{','.join(map(str, wanted))}]"
        raise invalid(
            "BroadcastTo",
            f"Unable to broadcast tensor of shape {shape_text(x.array)} to tensor of shape {target}: "
            f"Incompatible shapes: {shape_text(x.array)} vs. {target}",
        )
    return S.broadcast_to(x, wanted)


@export("broadcast_static_shape")
def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape that two shapes broadcast to."""
    return TensorShape(np.broadcast_shapes(tuple(shape_x), tuple(shape_y)))


@export("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape that two shapes broadcast to, as a tensor."""
    return fresh(np.asarray(np.broadcast_shapes(lengths(shape_x), lengths(shape_y)), np.int32))


@export("pad")
def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: str | None = None) -> Tensor:
    """The tensor with elements put around it: a value, or its own mirrored with (SYMMETRIC) or without its border."""
    x = convert(tensor)
    pairs = host(paddings)
    if pairs.dtype.kind not in "iu" and pairs.size:
        raise invalid("Pad", f"Value for attr 'Tpaddings' of {short(pairs.dtype)} is not in the list of allowed values: int32, int64")
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise invalid("Pad", f"paddings must be a matrix with 2 columns: {shape_text(pairs)}")
    widths = [(int(a), int(b)) for a, b in pairs]
    if pairs.size and pairs.min() < 0:
        raise invalid("Pad", f"Paddings must be non-negative: {pairs.tolist()}")
    mode = mode.upper()
    if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
        raise ValueError(
            f"Value of argument `mode` expected to be one of 'CONSTANT', 'REFLECT' or 'SYMMETRIC'. Received `mode` = {mode}"
        )
    if len(widths) != x.array.ndim:
        raise invalid("Pad", f"The first dimension of paddings must be the rank of inputs[{len(widths)},2] {shape_text(x.array)}")
    for n, (a, b) in zip(x.array.shape, widths, strict=True):
        most = n - 1 if mode == "REFLECT" else n
        if mode != "CONSTANT" and max(a, b) > most:
            raise invalid(
                "MirrorPad",
                f"paddings must be no greater than the dimension size{' - 1' if mode == 'REFLECT' else ''}: {a}, {b} greater than {most}",
            )
    if not widths:
        return identity(x)
    if x.array.dtype.kind == "O":
        return fresh(_padded_text(x.array, widths, mode, constant_values))
    if mode != "CONSTANT":
        return S.pad(x, widths, mode.lower())
    value = convert(constant_values, x.array.dtype, prefer=True)
    if value.node is None and has_values(value.array):
        number = host(value).item()
        return S.pad(x, widths, constant_values=number if x.array.dtype.kind != "V" else float(number))
    inside = tuple(slice(a, a + n) for n, (a, _) in zip(x.array.shape, widths, strict=True))
    return S.put(S.broadcast_to(value, tuple(n + a + b for n, (a, b) in zip(x.array.shape, widths, strict=True))), x, inside)


def _padded_text(raw: Any, widths: list[tuple[int, int]], mode: str, value: Any) -> Any:
    if mode != "CONSTANT":
        return np.pad(raw, widths, mode.lower())  # type: ignore[call-overload]
    found = np.full(tuple(n + a + b for n, (a, b) in zip(raw.shape, widths, strict=True)), b"", object)
    if isinstance(value, str | bytes) or hasattr(value, "dtype"):
        found[...] = convert(value).array
    found[tuple(slice(a, a + n) for n, (a, _) in zip(raw.shape, widths, strict=True))] = raw
    return found


@export("reverse")
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements along axes in reverse order."""
    x, axes = convert(tensor), lengths(axis)
    if isinstance(axis, int):
        raise invalid("ReverseV2", f"'dims' must be 1-dimensional, not 0: write axis=[{axis}]")
    _in_range("ReverseV2", axes, x)
    if len({a % x.array.ndim for a in axes}) < len(axes):
        raise invalid("ReverseV2", f"axis {_twice(axes, x.array.ndim)} specified more than once.")
    return S.flip(x, axis=axes) if axes else identity(tensor)


def _in_range(name: str, axes: tuple[int, ...], x: Tensor) -> None:
    rank = x.array.ndim
    for a in axes:
        if not -rank <= a < rank:
            raise invalid(name, f"axis {a} is out of valid range [-{rank}, {rank - 1}]: dim {a} is out of range")


def _twice(axes: tuple[int, ...], rank: int) -> int:
    seen = [a % rank for a in axes]
    return next(a for k, a in enumerate(seen) if a in seen[:k])


@export("roll")
def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements along axes moved on, those that fall off the end at the beginning."""
    x, steps, axes = convert(input), lengths(shift), lengths(axis)
    if not x.array.ndim:
        raise invalid("Roll", "input must be 1-D or higher")
    if len(steps) != len(axes):
        raise invalid("Roll", f"shift and axis must have the same size: {len(steps)} and {len(axes)}")
    _in_range("Roll", axes, x)
    return S.roll(x, steps, axis=axes)


@export("guarantee_const")
def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """The tensor itself."""
    return convert(input)


@export("bitcast")
def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """The same bytes read as another dtype."""
    raw = np.ascontiguousarray(convert(input).array)
    wanted = np.dtype(numpy_dtype(type))
    times = wanted.itemsize // raw.dtype.itemsize
    if times > 1 and (not raw.ndim or raw.shape[-1] != times):
        raise invalid(
            "Bitcast",
            f"Cannot bitcast from {as_dtype(raw.dtype).name} to {as_dtype(wanted).name}: expected a last axis of length {times}, "
            f"got shape {shape_text(raw)}",
        )
    if not raw.size:
        size = raw.shape[:-1] if times > 1 else raw.shape if times else (*raw.shape, raw.dtype.itemsize // wanted.itemsize)
        return fresh(np.zeros(size, wanted))
    if wanted.itemsize == raw.dtype.itemsize:
        return fresh(raw.view(wanted).reshape(raw.shape))
    if wanted.itemsize < raw.dtype.itemsize:
        return fresh(raw[..., None].view(wanted))
    return fresh(raw.view(wanted)[..., 0])


@export("identity_n")
def identity_n(input: Any, name: str | None = None) -> list[Tensor]:
    """The same values, each as a tensor of its own."""
    return [identity(x) for x in input]


@export("unravel_index")
def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """Indices of a flattened array as tuples of coordinates, a row for each axis."""
    raw, sizes = host(indices), lengths(dims)
    if 0 in sizes:
        raise invalid("UnravelIndex", f"dims cannot contain a dim of zero: {list(sizes)}")
    if math.prod(sizes) > np.iinfo(raw.dtype).max:
        raise invalid("UnravelIndex", f"Input dims product is causing integer overflow: {list(sizes)} for {raw.dtype.name}")
    if raw.size and (raw.min() < 0 or raw.max() >= math.prod(sizes)):
        raise invalid("UnravelIndex", f"index is out of bound as with dims: {list(sizes)}")
    return fresh(np.asarray(np.unravel_index(raw, sizes), raw.dtype))


@export("space_to_depth", "nn.space_to_depth")
def space_to_depth(input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """Blocks of pixels as channels."""
    _nhwc(data_format)
    x = convert(input)
    n, h, w, c = x.array.shape
    y = S.reshape(x, (n, h // block_size, block_size, w // block_size, block_size, c))
    return S.reshape(S.permute_dims(y, (0, 1, 3, 2, 4, 5)), (n, h // block_size, w // block_size, block_size**2 * c))


@export("nn.depth_to_space")
def depth_to_space(input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """Channels as blocks of pixels."""
    _nhwc(data_format)
    x = convert(input)
    n, h, w, c = x.array.shape
    y = S.reshape(x, (n, h, w, block_size, block_size, c // block_size**2))
    return S.reshape(S.permute_dims(y, (0, 1, 3, 2, 4, 5)), (n, h * block_size, w * block_size, c // block_size**2))


def _nhwc(data_format: str) -> None:
    if data_format != "NHWC":
        raise NotImplementedError(f"data_format={data_format!r}: tapegrad's kernels take NHWC")
