"""`tf.raw_ops`: the ops of TensorFlow that have the mathematics of a public function, by their keywords."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from tapegrad.tf.convert import cast, identity
from tapegrad.tf.export import EXPORTS

#: The names of the functions that these ops are, where they are not simply the op's own in small letters; by what they take.
_TABLE = """
x | Abs Acos Acosh Asin Asinh Atan Atanh Cos Cosh Exp Sin Sinh Sqrt Square Tan Tanh Sign Round Floor Expm1:math.expm1 Ceil:math.ceil
x | Log:math.log Log1p:math.log1p Digamma:math.digamma Lgamma:math.lgamma Erf:math.erf Erfc:math.erfc Erfinv:math.erfinv
x | Reciprocal:math.reciprocal Inv:math.reciprocal Rsqrt:math.rsqrt Rint:math.rint Sigmoid Neg:negative Ndtri:math.ndtri
x | IsFinite:math.is_finite IsInf:math.is_inf IsNan:math.is_nan LogicalNot:logical_not OnesLike:ones_like ZerosLike:zeros_like
x | BesselI0:math.bessel_i0 BesselI0e:math.bessel_i0e BesselI1:math.bessel_i1 BesselI1e:math.bessel_i1e Invert:bitwise.invert
x | BesselJ0:math.special.bessel_j0 BesselJ1:math.special.bessel_j1 BesselK0:math.special.bessel_k0 Spence:math.special.spence
x | BesselK0e:math.special.bessel_k0e BesselK1:math.special.bessel_k1 BesselK1e:math.special.bessel_k1e Dawsn:math.special.dawsn
x | BesselY0:math.special.bessel_y0 BesselY1:math.special.bessel_y1 Expint:math.special.expint
x | FresnelCos:math.special.fresnel_cos FresnelSin:math.special.fresnel_sin InvertPermutation:math.invert_permutation
x, y | Add AddV2:add Sub:subtract Mul:multiply Div:divide RealDiv:realdiv FloorDiv:math.floordiv FloorMod:math.floormod Maximum Minimum Pow
x, y | Less LessEqual:less_equal Greater GreaterEqual:greater_equal LogicalAnd:logical_and LogicalOr:logical_or
x, y | SquaredDifference:math.squared_difference Xdivy:math.xdivy Xlogy:math.xlogy Xlog1py:math.xlog1py Mod:math.floormod
x, y | DivNoNan:math.divide_no_nan MulNoNan:math.multiply_no_nan TruncateDiv:truncatediv TruncateMod:truncatemod
x, y | BitwiseAnd:bitwise.bitwise_and BitwiseOr:bitwise.bitwise_or BitwiseXor:bitwise.bitwise_xor
x, y | LeftShift:bitwise.left_shift RightShift:bitwise.right_shift
x, y, incompatible_shape_error=True | Equal NotEqual:not_equal
y, x | Atan2:math.atan2
a, x | Igamma:math.igamma Igammac:math.igammac Polygamma:math.polygamma
x, q | Zeta:math.zeta
a, b, x | Betainc:math.betainc
a, b | Cross:linalg.cross
input, axis, keep_dims=False | Sum:reduce_sum Mean:reduce_mean Prod:reduce_prod Max:reduce_max Min:reduce_min All:reduce_all Any:reduce_any
input, axis, keep_dims=False | EuclideanNorm:math.reduce_euclidean_norm
x, axis, exclusive=False, reverse=False | Cumsum:cumsum Cumprod:math.cumprod CumulativeLogsumexp:math.cumulative_logsumexp
features | Softplus:math.softplus Relu:nn.relu Relu6:nn.relu6 Elu:nn.elu Selu:nn.selu Softsign:nn.softsign
features, alpha=0.2 | LeakyRelu:nn.leaky_relu
logits | Softmax:nn.softmax LogSoftmax:nn.log_softmax
t | L2Loss:nn.l2_loss
input | Rank IdentityN:identity_n StopGradient:stop_gradient Conj:math.conj Cholesky:linalg.cholesky DiagPart:linalg.tensor_diag_part
input | MatrixDeterminant:linalg.det LogMatrixDeterminant:linalg.slogdet MatrixSquareRoot:linalg.sqrtm MatrixLogarithm:linalg.logm
input | FFT:signal.fft IFFT:signal.ifft FFT2D:signal.fft2d IFFT2D:signal.ifft2d FFT3D:signal.fft3d IFFT3D:signal.ifft3d
input, adjoint=False | MatrixInverse:linalg.inv
matrix, rhs, adjoint=False | MatrixSolve:linalg.solve
matrix, rhs, lower=True, adjoint=False | MatrixTriangularSolve:linalg.triangular_solve
input, full_matrices=False | Qr:linalg.qr
input, num_lower, num_upper | MatrixBandPart:linalg.band_part
diagonal | MatrixDiag:linalg.diag Diag:linalg.tensor_diag
inputs | AddN:add_n
input, multiples | Tile
input, shape | BroadcastTo:broadcast_to EnsureShape:ensure_shape
tensor, shape | Reshape
dims, value | Fill
x, perm | Transpose
input, axis | ExpandDims:expand_dims
input, axis=None | Squeeze
input, begin, size | Slice
tensor, axis | ReverseV2:reverse
input, paddings | Pad
input, shift, axis | Roll
start, limit, delta | Range
start, stop, num | LinSpace:linspace
params, indices, validate_indices=True | Gather
params, indices, bad_indices_policy="" | GatherNd:gather_nd
indices, updates, shape, bad_indices_policy="" | ScatterNd:scatter_nd
tensor, indices, updates, bad_indices_policy="" | TensorScatterUpdate:tensor_scatter_nd_update TensorScatterAdd:tensor_scatter_nd_add
tensor, indices, updates, bad_indices_policy="" | TensorScatterSub:tensor_scatter_nd_sub TensorScatterMax:tensor_scatter_nd_max
tensor, indices, updates, bad_indices_policy="" | TensorScatterMin:tensor_scatter_nd_min
indices, depth, on_value, off_value, axis=-1 | OneHot:one_hot
condition | Where:where
condition, x, y | Select:where
condition, t, e | SelectV2:where
t, clip_value_min, clip_value_max | ClipByValue:clip_by_value
data, segment_ids | SegmentSum:math.segment_sum SegmentMean:math.segment_mean SegmentProd:math.segment_prod
data, segment_ids | SegmentMax:math.segment_max SegmentMin:math.segment_min
data, segment_ids, num_segments | UnsortedSegmentSum:math.unsorted_segment_sum UnsortedSegmentProd:math.unsorted_segment_prod
data, segment_ids, num_segments | UnsortedSegmentMax:math.unsorted_segment_max UnsortedSegmentMin:math.unsorted_segment_min
data, partitions, num_partitions | DynamicPartition:dynamic_partition
indices, data | DynamicStitch:dynamic_stitch
input, k, sorted=True, index_type='int32' | TopKV2:math.top_k
indices, dims | UnravelIndex:unravel_index
tensor, message | CheckNumerics:debugging.check_numerics
input, block_size, data_format="NHWC" | DepthToSpace:nn.depth_to_space SpaceToDepth:nn.space_to_depth
input, block_shape, paddings | SpaceToBatchND:space_to_batch
input, block_shape, crops | BatchToSpaceND:batch_to_space
"""
#: Ops whose function takes its arguments otherwise: what they take, and the function as a call of the public ones (`E`).
_WRITTEN: dict[str, tuple[str, Any]] = {
    "ArgMax": ("input, dimension, output_type='int64'", lambda E, v: E("argmax")(v["input"], v["dimension"], v["output_type"])),
    "ArgMin": ("input, dimension, output_type='int64'", lambda E, v: E("argmin")(v["input"], v["dimension"], v["output_type"])),
    "Angle": ("input, Tout='float32'", lambda E, v: cast(E("math.angle")(v["input"]), v["Tout"])),
    "Real": ("input, Tout='float32'", lambda E, v: cast(E("math.real")(v["input"]), v["Tout"])),
    "Imag": ("input, Tout='float32'", lambda E, v: cast(E("math.imag")(v["input"]), v["Tout"])),
    "ComplexAbs": ("x, Tout='float32'", lambda E, v: cast(E("abs")(v["x"]), v["Tout"])),
    "Complex": ("real, imag, Tout='complex64'", lambda E, v: cast(E("dtypes.complex")(v["real"], v["imag"]), v["Tout"])),
    "Cast": ("x, DstT, Truncate=False", lambda E, v: cast(v["x"], v["DstT"])),
    "Bitcast": ("input, type", lambda E, v: E("bitcast")(v["input"], v["type"])),
    "BiasAdd": ("value, bias, data_format='NHWC'", lambda E, v: E("nn.bias_add")(v["value"], v["bias"], v["data_format"])),
    "MatMul": (
        "a, b, transpose_a=False, transpose_b=False, grad_a=False, grad_b=False",
        lambda E, v: E("linalg.matmul")(v["a"], v["b"], v["transpose_a"], v["transpose_b"]),
    ),
    **{
        name: (
            "x, y, adj_x=False, adj_y=False, grad_x=False, grad_y=False",
            lambda E, v: E("linalg.matmul")(v["x"], v["y"], adjoint_a=v["adj_x"], adjoint_b=v["adj_y"]),
        )
        for name in ("BatchMatMul", "BatchMatMulV2")
    },
    "Einsum": ("inputs, equation", lambda E, v: E("einsum")(v["equation"], *v["inputs"])),
    "ConcatV2": ("values, axis", lambda E, v: E("concat")(v["values"], v["axis"])),
    "Concat": ("concat_dim, values", lambda E, v: E("concat")(v["values"], v["concat_dim"])),
    "Pack": ("values, axis=0", lambda E, v: E("stack")(v["values"], v["axis"])),
    "Unpack": ("value, num, axis=0", lambda E, v: E("unstack")(v["value"], v["num"], v["axis"])),
    "Split": ("axis, value, num_split", lambda E, v: E("split")(v["value"], v["num_split"], v["axis"])),
    "SplitV": ("value, size_splits, axis, num_split", lambda E, v: E("split")(v["value"], v["size_splits"], v["axis"])),
    "GatherV2": (
        "params, indices, axis, batch_dims=0",
        lambda E, v: E("gather")(v["params"], v["indices"], axis=v["axis"], batch_dims=v["batch_dims"]),
    ),
    "PadV2": ("input, paddings, constant_values", lambda E, v: E("pad")(v["input"], v["paddings"], constant_values=v["constant_values"])),
    "MirrorPad": ("input, paddings, mode", lambda E, v: E("pad")(v["input"], v["paddings"], v["mode"])),
    "Shape": ("input, out_type='int32'", lambda E, v: E("shape")(v["input"], v["out_type"])),
    "Size": ("input, out_type='int32'", lambda E, v: E("size")(v["input"], v["out_type"])),
    "Svd": (
        "input, compute_uv=True, full_matrices=False",
        lambda E, v: E("linalg.svd")(v["input"], v["full_matrices"], v["compute_uv"]),
    ),
    "SelfAdjointEigV2": (
        "input, compute_v=True",
        lambda E, v: E("linalg.eigh")(v["input"]) if v["compute_v"] else (E("linalg.eigvalsh")(v["input"]), None),
    ),
    "Unique": ("x, out_idx='int32'", lambda E, v: E("unique")(v["x"], v["out_idx"])),
    "UniqueWithCounts": ("x, out_idx='int32'", lambda E, v: E("unique_with_counts")(v["x"], v["out_idx"])),
    "Conv2D": (
        "input, filter, strides, padding, use_cudnn_on_gpu=True, explicit_paddings=(), data_format='NHWC', dilations=(1, 1, 1, 1)",
        lambda E, v: E("nn.conv2d")(
            v["input"], v["filter"], v["strides"], _padding(v), v["data_format"], list(v["dilations"])
        ),
    ),
    "MaxPool": (
        "input, ksize, strides, padding, explicit_paddings=(), data_format='NHWC'",
        lambda E, v: E("nn.max_pool2d")(v["input"], v["ksize"], v["strides"], _padding(v), v["data_format"]),
    ),
    "AvgPool": (
        "value, ksize, strides, padding, data_format='NHWC'",
        lambda E, v: E("nn.avg_pool2d")(v["value"], v["ksize"], v["strides"], v["padding"], v["data_format"]),
    ),
    "SoftmaxCrossEntropyWithLogits": ("features, labels", lambda E, v: _with_slope(E("nn.softmax_cross_entropy_with_logits"), v)),
    "SparseSoftmaxCrossEntropyWithLogits": (
        "features, labels",
        lambda E, v: _with_slope(E("nn.sparse_softmax_cross_entropy_with_logits"), v),
    ),
    "Identity": ("input", lambda E, v: identity(v["input"])),
    "NoOp": ("", lambda E, v: None),
}


def _padding(v: dict[str, Any]) -> Any:
    """The padding of a window: a word, or a list of pairs from the flat list that the op takes."""
    if v["padding"] != "EXPLICIT":
        return v["padding"]
    flat = list(v["explicit_paddings"])
    return [flat[k : k + 2] for k in range(0, len(flat), 2)]


def _with_slope(loss: Any, v: dict[str, Any]) -> Any:
    """A loss for each row, and its derivative by the features."""
    from tapegrad.tf.tape import GradientTape

    features = identity(v["features"])
    with GradientTape() as tape:
        tape.watch(features)
        y = loss(v["labels"], features)
    return loss(v["labels"], v["features"]), tape.gradient(y, features)


def _function(name: str) -> Any:
    found = EXPORTS.get(name)
    if found is None:
        raise LookupError(f"tf.raw_ops stands on tf.{name}, which is not there")
    return found


def _op(name: str, takes: str, run: Any) -> Any:
    words = [w.strip() for w in _split(takes)]
    parameters = [
        inspect.Parameter(
            w.partition("=")[0],
            inspect.Parameter.KEYWORD_ONLY,
            default=_value(w.partition("=")[2]) if "=" in w else inspect.Parameter.empty,
        )
        for w in [*words, "name=None"]
        if w
    ]
    signature = inspect.Signature(parameters)

    def op(*args: Any, **given: Any) -> Any:
        if args:
            keys = list(signature.parameters)
            raise TypeError(f"{name} only takes keyword args (possible keys: {keys}). Please pass these args as kwargs instead.")
        bound = signature.bind(**given)
        bound.apply_defaults()
        values = dict(bound.arguments)
        values.pop("name")
        return run(values)

    op.__name__ = op.__qualname__ = name
    op.__doc__ = f"TensorFlow's op {name}, by keywords."
    op.__signature__ = signature  # type: ignore[attr-defined]
    return op


def _split(takes: str) -> list[str]:
    """Words, of which one may have commas inside of brackets."""
    found, depth = [""], 0
    for c in takes:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            found.append("")
        else:
            found[-1] += c
    return found


def _value(text: str) -> Any:
    return ast.literal_eval(text)


#: What an op takes besides what its function does: it changes nothing.
_IDLE = ("incompatible_shape_error", "validate_indices", "bad_indices_policy", "index_type")


def _by_order(target: str) -> Any:
    return lambda v: _function(target)(*[x for k, x in v.items() if k not in _IDLE])


def _place() -> None:
    for line in _TABLE.strip().splitlines():
        takes, names = line.split("|")
        for entry in names.split():
            name, _, target = entry.partition(":")
            EXPORTS[f"raw_ops.{name}"] = _op(name, takes.strip(), _by_order(target or name.lower()))
    for name, (takes, run) in _WRITTEN.items():
        EXPORTS[f"raw_ops.{name}"] = _op(name, takes, lambda v, run=run: run(_function, v))


_place()
