"""Making tensors, and changing their shape."""

from __future__ import annotations

from builtins import range as builtin_range
from typing import Any

import numpy as np

from tapegrad.compiled.tracing import has_values
from tapegrad.core import tensor as core
from tapegrad.tf.convert import all_tensors, convert, fresh, host, identity, tensors_of
from tapegrad.tf.dtypes import int32, numpy_dtype
from tapegrad.tf.errors import InvalidArgumentError, invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import mismatch_in, shape_text
from tapegrad.tf.shapes import TensorShape, lengths
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


@export("shape")
def shape(input: Any, out_type: Any = None, name: str | None = None) -> Tensor:
    """The lengths of the axes, as a tensor."""
    return fresh(np.array(convert(input).array.shape, numpy_dtype(out_type or int32)))


@export("shape_n")
def shape_n(input: Any, out_type: Any = int32, name: str | None = None) -> list[Tensor]:
    """The shapes of several tensors."""
    return [shape(x, out_type) for x in input]


@export("size")
def size(input: Any, out_type: Any = None, name: str | None = None) -> Tensor:
    """The number of elements, as a tensor."""
    return fresh(np.asarray(convert(input).array.size, numpy_dtype(out_type or int32))[()])


@export("rank")
def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of axes, as a tensor."""
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
    rank, axis = x.array.ndim, int(np.asarray(axis).reshape(()))
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
        axes = tuple(int(a) for a in (axis if isinstance(axis, list | tuple) else [axis]))
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


@export("concat")
def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Tensors one after the other along an axis."""
    if isinstance(values, core.Tensor):
        return identity(values)
    if type(axis) is int and values and all_tensors(values):
        try:
            return S.concat(values, axis=axis)
        except InvalidArgumentError:  # what is wrong is said below
            pass
    xs = tensors_of(values)
    if not xs:
        raise invalid("ConcatV2", "expected at least one tensor")
    mismatch_in("ConcatV2", xs)
    axis, first = int(axis), xs[0].array
    if not -first.ndim <= axis < first.ndim:
        raise invalid(
            "ConcatV2", f"ConcatOp : Expected concatenating dimensions in the range [{-first.ndim}, {first.ndim}), but got {axis}"
        )
    for k, x in enumerate(xs[1:], 1):
        a, b = list(first.shape), list(x.array.shape)
        if len(a) != len(b):
            raise invalid(
                "ConcatV2",
                "ConcatOp : Ranks of all input tensors should match: "
                f"shape[0] = {shape_text(first)} vs. shape[{k}] = {shape_text(x.array)}",
            )
        if a[: axis % len(a)] + a[axis % len(a) + 1 :] != b[: axis % len(a)] + b[axis % len(a) + 1 :]:
            raise invalid(
                "ConcatV2",
                f"ConcatOp : Dimension {axis} in both shapes must be equal: shape[0] = {shape_text(first)} vs. "
                f"shape[{k}] = {shape_text(x.array)}",
            )
    return S.concat(xs, axis=axis)


@export("stack")
def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape side by side along a new axis."""
    if type(axis) is int and type(values) in (list, tuple) and values and all_tensors(values):
        try:
            return S.stack(values, axis=axis)
        except InvalidArgumentError:  # what is wrong is said below
            pass
    xs = tensors_of(values)
    if not xs:
        return fresh(np.zeros(0, np.float32))
    mismatch_in("Pack", xs)
    for k, x in enumerate(xs[1:], 1):
        if x.array.shape != xs[0].array.shape:
            raise invalid(
                "Pack",
                f"Shapes of all inputs must match: values[0].shape = {shape_text(xs[0].array)} != "
                f"values[{k}].shape = {shape_text(x.array)}",
            )
    rank = xs[0].array.ndim
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-rank - 1}, {rank + 1})")
    return S.stack(xs, axis=axis)


@export("parallel_stack")
def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """Tensors of one shape side by side along a new first axis."""
    return stack(values)


@export("unstack")
def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """The parts along an axis, each without it."""
    x = convert(value)
    n = x.array.shape[axis]
    if num is not None and num != n:
        raise invalid("Unpack", f"Input shape axis {axis} must equal {num}, got shape {shape_text(x.array)}")
    return list(S.unstack(x, axis=axis))


@export("split")
def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None, name: str = "split") -> list[Tensor]:
    """The tensor cut along an axis, into equal parts or parts of given lengths, of which one may be -1."""
    x = convert(value)
    axis = int(axis)
    n = x.array.shape[axis] if -x.array.ndim <= axis < x.array.ndim else None
    if n is None:
        raise invalid("Split", f"split_dim = {axis} is out of range for shape {shape_text(x.array)}")
    if np.ndim(num_or_size_splits) == 0:
        parts = int(num_or_size_splits)
        if parts < 1 or n % parts:
            raise invalid(
                "Split",
                "Number of ways to split should evenly divide the split dimension, but got "
                f"split_dim {axis} (size = {n}) and num_split {parts}",
            )
        return list(S.split(x, parts, axis=axis))
    sizes = [int(s) for s in np.asarray(num_or_size_splits)]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = n - sum(sizes) - 1
    if sum(sizes) != n or min(sizes) < 0:
        raise invalid(
            "SplitV",
            f"Determined shape must match input shape along split_dim exactly: the sizes add up to {sum(sizes)}, it has {n}",
        )
    return list(S.split(x, tuple(int(c) for c in np.cumsum(sizes)[:-1]), axis=axis))


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
    return S.repeat(convert(input), np.asarray(convert(repeats).array, np.int64)[()], axis=axis)


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
        raise invalid("BroadcastTo", f"Incompatible shapes: {shape_text(x.array)} vs. [{','.join(map(str, wanted))}]")
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
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise invalid("Pad", f"paddings must be a matrix with 2 columns: {shape_text(pairs)}")
    widths = [(int(a), int(b)) for a, b in pairs]
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
    if mode != "CONSTANT":
        return S.pad(x, widths, mode.lower())
    value = convert(constant_values, x.array.dtype, prefer=True)
    if value.node is None and has_values(value.array):
        number = host(value).item()
        return S.pad(x, widths, constant_values=number if x.array.dtype.kind != "V" else float(number))
    inside = tuple(slice(a, a + n) for n, (a, _) in zip(x.array.shape, widths, strict=True))
    return S.put(S.broadcast_to(value, tuple(n + a + b for n, (a, b) in zip(x.array.shape, widths, strict=True))), x, inside)


@export("reverse")
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements along axes in reverse order."""
    axes = lengths(axis)
    return S.flip(convert(tensor), axis=axes) if axes else identity(tensor)


@export("roll")
def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements along axes moved on, those that fall off the end at the beginning."""
    return S.roll(convert(input), lengths(shift), axis=lengths(axis))


@export("guarantee_const")
def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """The tensor itself."""
    return convert(input)


@export("bitcast")
def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """The same bytes read as another dtype."""
    raw = np.ascontiguousarray(convert(input).array)
    wanted = np.dtype(numpy_dtype(type))
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
    raw = host(indices)
    return fresh(np.asarray(np.unravel_index(raw, lengths(dims)), raw.dtype))


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
