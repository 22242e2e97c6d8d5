"""Values, dtypes, gradients and errors of the facade's functions against TensorFlow's, by random calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tapegrad as tg
import tapegrad.tf as ours
from tapegrad.registry.backends import backend_of

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.interop("tensorflow"),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("kernels"),
]


@pytest.fixture(scope="module")
def theirs() -> Any:
    import tensorflow

    return tensorflow


def flat(tf: Any, y: Any) -> list[Any]:
    return [tf.convert_to_tensor(v) for v in tf.nest.flatten(y)]


def assert_on_default_kernels(xs: list[Any]) -> None:
    for x in xs:
        assert x.dtype == ours.string or backend_of(x.array) == tg.default_backend()


def run(tf: Any, f: Callable[..., Any], xs: list[Any], seed: int) -> tuple[list[Any], list[Any]]:
    """Outputs, and gradients of their sum with uneven weights for the floating arguments."""
    tensors = [tf.constant(x) for x in xs]
    if tf is ours:
        assert_on_default_kernels(tensors)
    with tf.GradientTape() as tape:
        tape.watch([t for t in tensors if t.dtype.is_floating])
        ys = flat(tf, f(tf, *tensors))
    if tf is ours:
        assert_on_default_kernels(ys)
    floating = [y for y in ys if y.dtype.is_floating]
    rng = np.random.default_rng(seed)
    seeds = [tf.constant(rng.normal(size=tuple(y.shape)).astype(y.dtype.as_numpy_dtype)) for y in floating]
    sources = [t for t in tensors if t.dtype.is_floating]
    gradients = tape.gradient(floating, sources, output_gradients=seeds) if floating and sources else []
    return [np.asarray(y.numpy()) for y in ys], [None if g is None else tf.convert_to_tensor(g).numpy() for g in gradients or []]


def compare(theirs: Any, f: Callable[..., Any], *xs: Any, rtol: float = 2e-4, atol: float = 2e-5) -> None:
    ys, gs = run(ours, f, list(xs), 5)
    wanted_ys, wanted_gs = run(theirs, f, list(xs), 5)
    assert len(ys) == len(wanted_ys)
    for y, w in zip(ys, wanted_ys, strict=True):
        assert y.dtype == w.dtype
        assert y.shape == w.shape
        if y.dtype.kind in "OS":
            assert np.array_equal(y, w)
        else:
            np.testing.assert_allclose(y, w, rtol=rtol, atol=atol)
    for g, w in zip(gs, wanted_gs, strict=True):
        assert (g is None) == (w is None)
        if g is not None:
            np.testing.assert_allclose(g, w, rtol=rtol, atol=10 * atol)


RNG = np.random.default_rng(0x7F)


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.normal(size=shape).astype(dtype)


def positive(*shape: int) -> Any:
    return RNG.uniform(0.3, 2.5, shape).astype(np.float32)


def inside(*shape: int) -> Any:
    return RNG.uniform(-0.9, 0.9, shape).astype(np.float32)


def integers(*shape: int, low: int = 0, high: int = 5, dtype: Any = np.int32) -> Any:
    return RNG.integers(low, high, shape).astype(dtype)


UNARY: dict[str, Any] = {
    **dict.fromkeys(
        ["abs", "cos", "cosh", "erf", "erfc", "exp", "expm1", "negative", "sigmoid", "sin", "sinh"],
        normal,
    ),
    **dict.fromkeys(
        ["softplus", "softsign", "square", "tanh", "tan"],
        normal,
    ),
    **dict.fromkeys(
        ["digamma", "lgamma", "log", "log1p", "reciprocal", "rsqrt", "sqrt", "acosh", "bessel_i0", "bessel_i1"], lambda *s: 1 + positive(*s)
    ),
    **dict.fromkeys(["acos", "asin", "atanh", "erfinv", "asinh", "atan", "log_sigmoid", "bessel_i0e", "bessel_i1e"], inside),
    **dict.fromkeys(["ceil", "floor", "rint", "round", "sign", "is_nan", "is_inf", "is_finite", "reciprocal_no_nan"], normal),
    **dict.fromkeys(["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_std", "reduce_variance"], normal),
    **dict.fromkeys(["reduce_logsumexp", "reduce_euclidean_norm", "cumsum", "cumprod", "cumulative_logsumexp", "argmax", "argmin"], normal),
    **dict.fromkeys(["softmax", "log_softmax", "l2_normalize", "count_nonzero", "zero_fraction"], normal),
}


@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_tensor(theirs: Any, name: str) -> None:
    def call(tf: Any, x: Any) -> Any:
        return getattr(tf.math, name)(x)

    compare(theirs, call, UNARY[name](3, 4))
    compare(theirs, call, UNARY[name](5))


@pytest.mark.parametrize(
    "name",
    [
        *("add", "subtract", "multiply", "divide", "maximum", "minimum", "atan2", "squared_difference", "floormod", "floordiv"),
        *("divide_no_nan", "multiply_no_nan", "xdivy", "xlogy", "xlog1py", "equal", "not_equal", "less", "greater_equal", "pow"),
    ],
)
def test_a_function_of_two_tensors(theirs: Any, name: str) -> None:
    def call(tf: Any, x: Any, y: Any) -> Any:
        return getattr(tf.math, name)(x, y)

    compare(theirs, call, positive(3, 4), positive(4))
    compare(theirs, call, positive(2, 1), positive(2, 3))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "floormod", "floordiv", "less", "equal"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_a_function_of_two_tensors_of_integers(theirs: Any, name: str, dtype: Any) -> None:
    compare(
        theirs, lambda tf, x, y: getattr(tf.math, name)(x, y), integers(3, 4, low=1, dtype=dtype), integers(4, low=1, dtype=dtype)
    )


MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, False]])
SPD = np.float32([[4.0, 0.5, -0.3], [0.5, 3.0, 0.2], [-0.3, 0.2, 3.5]])
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "reduce_sum_axes": (lambda tf, x: tf.reduce_sum(x, axis=[0, -1], keepdims=True), (normal(2, 3, 4),)),
    "reduce_mean_integers": (lambda tf, x: tf.reduce_mean(x, 0), (integers(3, 4, low=-9, high=9),)),
    "reduce_max_of_nothing": (lambda tf, x: tf.reduce_max(x, 0), (normal(0, 3),)),
    "reduce_any": (lambda tf, x: (tf.reduce_any(x, 1), tf.reduce_all(x)), (MASK,)),
    "cumsum": (lambda tf, x: tf.cumsum(x, axis=1, exclusive=True, reverse=True), (normal(2, 5),)),
    "cumprod": (lambda tf, x: tf.math.cumprod(x, axis=-1, exclusive=True), (normal(2, 5),)),
    "top_k": (lambda tf, x: tuple(tf.math.top_k(x, 2)), (normal(3, 5),)),
    "sort": (lambda tf, x: (tf.sort(x, direction="DESCENDING"), tf.argsort(x, axis=0)), (normal(3, 5),)),
    "matmul": (lambda tf, a, b: tf.matmul(a, b, transpose_a=True), (normal(2, 4, 3), normal(4, 2))),
    "matvec": (lambda tf, a, b: tf.linalg.matvec(a, b), (normal(3, 4), normal(4))),
    "tensordot": (lambda tf, a, b: tf.tensordot(a, b, [[1], [0]]), (normal(2, 3, 4), normal(3, 2))),
    "einsum": (lambda tf, a, b: tf.einsum("bij,bjk->bik", a, b), (normal(2, 3, 4), normal(2, 4, 2))),
    "norm": (
        lambda tf, x: (tf.norm(x, axis=1), tf.norm(x, 1), tf.norm(x, np.inf, axis=0), tf.norm(x, axis=[0, 1])),
        (normal(3, 4),),
    ),
    "cholesky": (lambda tf, x: tf.linalg.cholesky(x), (SPD,)),
    "inv_det": (lambda tf, x: (tf.linalg.inv(x), tf.linalg.det(x), tf.linalg.logdet(x), tf.linalg.slogdet(x)[1]), (SPD,)),
    "solve": (lambda tf, a, b: tf.linalg.solve(a, b, adjoint=True), (SPD, normal(3, 2))),
    "triangular_solve": (lambda tf, a, b: tf.linalg.triangular_solve(a, b, lower=False), (SPD, normal(3, 2))),
    "eigh": (lambda tf, a: tf.linalg.eigh(a)[0], (SPD,)),
    "svd": (lambda tf, a: tf.linalg.svd(a, compute_uv=False), (normal(4, 3),)),
    "lstsq": (lambda tf, a, b: tf.linalg.lstsq(a, b, l2_regularizer=0.1, fast=True), (normal(5, 3), normal(5, 2))),
    "diag": (lambda tf, x: (tf.linalg.diag(x, k=-1), tf.linalg.tensor_diag(x)), (normal(3),)),
    "diag_part": (lambda tf, x: (tf.linalg.diag_part(x), tf.linalg.trace(x), tf.linalg.band_part(x, 1, 1)), (normal(2, 4, 4),)),
    "set_diag": (lambda tf, x, d: tf.linalg.set_diag(x, d), (normal(3, 4), normal(3))),
    "reshape": (lambda tf, x: tf.reshape(x, [-1, 2]), (normal(3, 4),)),
    "transpose": (lambda tf, x: tf.transpose(x, [2, 0, 1]), (normal(2, 3, 4),)),
    "concat": (lambda tf, x, y: tf.concat([x, y], axis=-1), (normal(2, 3), normal(2, 1))),
    "stack": (lambda tf, x, y: tf.stack([x, y], axis=1), (normal(2, 3), normal(2, 3))),
    "unstack": (lambda tf, x: tf.unstack(x, axis=1), (normal(2, 3),)),
    "split": (lambda tf, x: tf.split(x, [1, -1, 2], axis=1), (normal(2, 6),)),
    "tile": (lambda tf, x: tf.tile(x, [2, 3]), (normal(2, 2),)),
    "repeat": (lambda tf, x: (tf.repeat(x, 2, axis=1), tf.repeat(x, [1, 2], axis=0), tf.repeat(x, 3)), (normal(2, 2),)),
    "pad": (
        lambda tf, x: (tf.pad(x, [[1, 0], [2, 1]], "REFLECT"), tf.pad(x, [[1, 0], [2, 1]], constant_values=1.5)),
        (normal(3, 4),),
    ),
    "roll": (lambda tf, x: (tf.roll(x, 2, 1), tf.roll(x, [1, -1], [0, 1]), tf.reverse(x, [1])), (normal(3, 4),)),
    "meshgrid": (lambda tf, x, y: tf.meshgrid(x, y), (normal(3), normal(4))),
    "expand_squeeze": (lambda tf, x: (tf.expand_dims(x, -2), tf.squeeze(x[None])), (normal(3, 4),)),
    "broadcast_to": (lambda tf, x: tf.broadcast_to(x, [2, 3, 4]), (normal(3, 1),)),
    "space_to_depth": (lambda tf, x: (tf.nn.space_to_depth(x, 2), tf.nn.depth_to_space(x, 2)), (normal(1, 4, 4, 4),)),
    "linspace": (lambda tf, a, b: tf.linspace(a, b, 5), (normal(2), normal(2))),
    "ranges": (lambda tf: (tf.range(5), tf.range(1, 7, 2), tf.range(0.0, 1.0, 0.25), tf.linspace(0.0, 1.0, 3)), ()),
    "gather": (lambda tf, x: (tf.gather(x, [2, 0, 2]), tf.gather(x, [[1], [0]], axis=1)), (normal(3, 4),)),
    "gather_batch": (
        lambda tf, x, i: (tf.gather(x, i, batch_dims=1), tf.gather(x, i, axis=2, batch_dims=1)),
        (normal(2, 3, 4), integers(2, 2, high=3)),
    ),
    "gather_nd": (lambda tf, x, i: tf.gather_nd(x, i), (normal(3, 4), integers(5, 2, high=3))),
    "gather_nd_batch": (lambda tf, x, i: tf.gather_nd(x, i, batch_dims=1), (normal(3, 4, 2), integers(3, 2, 1, high=4))),
    "scatter_nd": (lambda tf, u, i: tf.scatter_nd(i, u, [4, 2]), (normal(3, 2), integers(3, 1, high=4))),
    "scatter_add": (lambda tf, x, u, i: tf.tensor_scatter_nd_add(x, i, u), (normal(4, 2), normal(3, 2), integers(3, 1, high=4))),
    "scatter_update": (lambda tf, x, u: tf.tensor_scatter_nd_update(x, [[0], [2]], u), (normal(4, 2), normal(2, 2))),
    "scatter_max": (lambda tf, x, u: tf.tensor_scatter_nd_max(x, [[0], [2], [0]], u), (normal(4, 2), normal(3, 2))),
    "where": (lambda tf, c, x, y: (tf.where(c, x, y), tf.where(c)), (MASK, normal(3, 4), normal(4))),
    "boolean_mask": (lambda tf, c, x: (tf.boolean_mask(x, c), x[c], tf.boolean_mask(x, c[0], axis=1)), (MASK, normal(3, 4))),
    "slices": (lambda tf, x: (x[1:, ::-2], x[..., None, 0], tf.slice(x, [1, 0], [2, 3]), x[-1]), (normal(3, 4),)),
    "one_hot": (lambda tf, i: (tf.one_hot(i, 4), tf.one_hot(i, 3, axis=0, on_value=2.0, off_value=-1.0)), (integers(2, 3),)),
    "sequence_mask": (lambda tf, i: tf.sequence_mask(i, dtype=tf.float32), (integers(4),)),
    "unique": (lambda tf, i: tuple(tf.unique_with_counts(i)), (integers(9),)),
    "bincount": (lambda tf, i: (tf.math.bincount(i, minlength=7), tf.math.confusion_matrix(i, i[::-1], 5)), (integers(9),)),
    "searchsorted": (lambda tf, x: tf.searchsorted(tf.sort(x), x[:, :2], side="right"), (normal(3, 4),)),
    **{
        f"segment_{k}": (lambda tf, x, k=k: getattr(tf.math, f"segment_{k}")(x, [0, 0, 1, 3]), (normal(4, 2),))
        for k in ("sum", "mean", "max", "min", "prod")
    },
    **{
        f"unsorted_segment_{k}": (
            lambda tf, x, k=k: getattr(tf.math, f"unsorted_segment_{k}")(x, [2, 0, 2, 1], 4),
            (normal(4, 2),),
        )
        for k in ("sum", "mean", "prod", "sqrt_n")
    },
    "dynamic": (
        lambda tf, x: (*tf.dynamic_partition(x, [0, 1, 0], 2), tf.dynamic_stitch([[0, 2], [1]], [x[:2], x[2:]])),
        (normal(3, 2),),
    ),
    "clip": (
        lambda tf, x: (tf.clip_by_value(x, -0.5, 0.7), tf.clip_by_norm(x, 1.0, axes=[1]), *tf.clip_by_global_norm([x], 0.5)),
        (normal(3, 4),),
    ),
    "activations": (
        lambda tf, x: [getattr(tf.nn, n)(x) for n in ("relu", "relu6", "elu", "selu", "leaky_relu", "gelu", "silu", "crelu")],
        (3 * normal(3, 4),),
    ),
    "gelu_tanh": (lambda tf, x: tf.nn.gelu(x, approximate=True), (normal(3, 4),)),
    "cross_entropy": (
        lambda tf, x, z: tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(z), x),
        (normal(3, 4), normal(3, 4)),
    ),
    "sparse_cross_entropy": (lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits([1, 0, 3], x), (normal(3, 4),)),
    "sigmoid_cross_entropy": (
        lambda tf, x, z: tf.nn.sigmoid_cross_entropy_with_logits(tf.sigmoid(z), x),
        (normal(3, 4), normal(3, 4)),
    ),
    "weighted": (lambda tf, x: tf.nn.weighted_cross_entropy_with_logits(tf.ones_like(x), x, 2.0), (normal(3, 4),)),
    "moments": (lambda tf, x: tf.nn.moments(x, [0, 1]), (normal(3, 4, 2),)),
    "batch_normalization": (
        lambda tf, x, m, v, o, s: tf.nn.batch_normalization(x, m, tf.exp(v), o, s, 1e-3),
        (normal(3, 4), normal(4), normal(4), normal(4), normal(4)),
    ),
    "lrn": (lambda tf, x: tf.nn.local_response_normalization(x, depth_radius=1, beta=0.75), (normal(1, 2, 2, 5),)),
    "poisson": (lambda tf, x, z: tf.nn.log_poisson_loss(z, x, True), (normal(3), 1 + positive(3))),
    "bias_add": (lambda tf, x, b: tf.nn.bias_add(x, b), (normal(2, 3), normal(3))),
    "conv2d": (lambda tf, x, w: tf.nn.conv2d(x, w, [1, 2, 1, 1], "SAME"), (normal(2, 5, 6, 2), normal(3, 2, 2, 3))),
    "conv2d_explicit": (
        lambda tf, x, w: tf.nn.conv2d(x, w, 1, [[0, 0], [1, 0], [0, 2], [0, 0]]),
        (normal(2, 5, 6, 2), normal(3, 2, 2, 3)),
    ),
    "conv1d": (lambda tf, x, w: tf.nn.conv1d(x, w, 2, "VALID"), (normal(2, 7, 2), normal(3, 2, 3))),
    "conv3d": (lambda tf, x, w: tf.nn.conv3d(x, w, [1, 1, 1, 1, 1], "SAME"), (normal(1, 3, 3, 3, 2), normal(2, 2, 2, 2, 1))),
    "conv2d_transpose": (
        lambda tf, x, w: tf.nn.conv2d_transpose(x, w, [1, 4, 6, 2], 2, "SAME"),
        (normal(1, 2, 3, 3), normal(3, 3, 2, 3)),
    ),
    "depthwise": (lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID"), (normal(1, 4, 4, 2), normal(2, 2, 2, 3))),
    "separable": (
        lambda tf, x, w, p: tf.nn.separable_conv2d(x, w, p, [1, 1, 1, 1], "SAME"),
        (normal(1, 4, 4, 2), normal(2, 2, 2, 2), normal(1, 1, 4, 3)),
    ),
    "pools": (
        lambda tf, x: (tf.nn.max_pool2d(x, 2, 2, "SAME"), tf.nn.avg_pool2d(x, 3, 2, "SAME"), tf.nn.avg_pool(x, 2, 1, "VALID")),
        (normal(2, 5, 5, 2),),
    ),
    "signal": (lambda tf, x: tf.abs(tf.signal.rfft2d(x, [4, 6])), (normal(3, 5),)),
    "image_resize": (
        lambda tf, x: [tf.image.resize(x, [7, 3], m) for m in ("bilinear", "nearest", "lanczos3", "gaussian")],
        (positive(1, 5, 6, 2),),
    ),
    "image_resize_area": (lambda tf, x: tf.image.resize(tf.stop_gradient(x), [3, 4], "area"), (positive(1, 5, 6, 2),)),
    "image_resize_antialias": (lambda tf, x: tf.image.resize(x, [3, 2], antialias=True), (positive(1, 5, 6, 2),)),
    "image_colours": (
        lambda tf, x: (
            tf.image.rgb_to_grayscale(x),
            tf.image.adjust_contrast(tf.stop_gradient(x), 1.5),
            tf.image.adjust_brightness(x, 0.2),
            tf.image.rgb_to_hsv(x),
        ),
        (RNG.uniform(0.1, 0.9, (4, 5, 3)).astype(np.float32),),
    ),
    "image_hue": (
        lambda tf, x: [f(tf.stop_gradient(x), 0.4) for f in (tf.image.adjust_hue, tf.image.adjust_saturation)],
        (RNG.uniform(0.1, 0.9, (4, 5, 3)),),
    ),
    "image_uint8": (
        lambda tf, x: (tf.image.convert_image_dtype(x, tf.float32), tf.image.rgb_to_grayscale(x), tf.image.flip_up_down(x)),
        (integers(4, 5, 3, high=255, dtype=np.uint8),),
    ),
    "image_crops": (
        lambda tf, x: (
            tf.image.central_crop(x, 0.5),
            tf.image.resize_with_crop_or_pad(x, 3, 9),
            tf.image.rot90(x),
            tf.image.sobel_edges(x[None]),
        ),
        (normal(6, 5, 1),),
    ),
    "image_standard": (lambda tf, x: (tf.image.per_image_standardization(x), tf.image.total_variation(x)), (normal(6, 5, 1),)),
    "casts": (lambda tf, x: (tf.cast(x, tf.int32), tf.cast(x, tf.float64), tf.saturate_cast(300 * x, tf.uint8)), (normal(3, 4),)),
    "strings": (
        lambda tf: (
            tf.strings.upper(["ab", "c"]),
            tf.strings.as_string([1, 2]),
            tf.strings.substr("abcd", 1, 2),
            tf.strings.length(["a", ""]),
        ),
        (),
    ),
    "while": (lambda tf, x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x]), (normal(3),)),
    "scan": (lambda tf, x: tf.scan(lambda a, b: a * 0.5 + b, x), (normal(4, 2),)),
    "map_fn": (lambda tf, x: tf.map_fn(lambda r: tf.reduce_sum(r) ** 2, x), (normal(4, 2),)),
    "foldr": (lambda tf, x: tf.foldr(lambda a, b: a * b, x, initializer=tf.ones([2])), (normal(4, 2),)),
    "vectorized_map": (
        lambda tf, x: tf.vectorized_map(lambda r: tf.linalg.matvec(tf.ones([2, 3]), tf.sin(r)), x),
        (normal(4, 3),),
    ),
    "tensor_array": (lambda tf, x: tf.TensorArray(tf.float32, 2).write(0, x).write(1, x * x).stack(), (normal(3),)),
}


def test_bicubic_resizing_agrees_up_to_the_table_in_which_tensorflow_looks_its_weights_up(theirs: Any) -> None:
    compare(theirs, lambda tf, x: tf.image.resize(x, [7, 3], "bicubic"), positive(1, 5, 6, 2), atol=2e-3)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_values_dtypes_and_gradients_of_tensorflow(theirs: Any, name: str) -> None:
    f, xs = CALLS[name]
    compare(theirs, f, *xs)


ERRORS: dict[str, Callable[[Any], Any]] = {
    "dtypes": lambda tf: tf.ones([2]) + tf.ones([2], tf.float64),
    "dtypes_of_matmul": lambda tf: tf.ones([2, 2]) @ tf.ones([2, 2], tf.float64),
    "a_float_for_an_integer": lambda tf: tf.multiply(tf.constant([1]), 1.5),
    "shapes": lambda tf: tf.ones([2]) * tf.ones([3]),
    "matrices": lambda tf: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])),
    "sine_of_integers": lambda tf: tf.sin(tf.constant([1])),
    "none": lambda tf: tf.ones([2]) + None,
    "mixed_lists": lambda tf: tf.constant([True, 2]),
    "ragged_lists": lambda tf: tf.constant([[1], [1, 2]]),
    "gather_beyond": lambda tf: tf.gather(tf.ones([2]), [5]),
    "index_beyond": lambda tf: tf.ones([2])[5],
    "reshape": lambda tf: tf.reshape(tf.ones([6]), [4, -1]),
    "truth": lambda tf: bool(tf.ones([2])),
    "hash": lambda tf: hash(tf.ones([2])),
    "iteration": lambda tf: list(tf.constant(1.0)),
    "length": lambda tf: len(tf.constant(1.0)),
    "assign_shape": lambda tf: tf.Variable([1.0]).assign([1.0, 2.0]),
    "division_by_zero": lambda tf: tf.constant([1]) // 0,
    "missing_attribute": lambda tf: tf.ones([2]).sum(),
    "stack_of_shapes": lambda tf: tf.stack([tf.ones([2]), tf.ones([3])]),
    "split": lambda tf: tf.split(tf.ones([5]), 2),
    "expand": lambda tf: tf.expand_dims(tf.ones([2]), 5),
    "one_hot_of_floats": lambda tf: tf.one_hot(tf.constant([1.0]), 3),
    "watch_an_array": lambda tf: tf.GradientTape().watch(np.ones(2)),
    "reset_outside": lambda tf: tf.GradientTape().reset(),
    "label_beyond": lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits([7], tf.ones([1, 3])),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_of_the_class_that_tensorflow_raises(theirs: Any, name: str) -> None:
    with pytest.raises(Exception) as wanted:  # noqa: PT011  any: the class is what is compared
        ERRORS[name](theirs)
    with pytest.raises(Exception) as found:  # noqa: PT011
        ERRORS[name](ours)
    class_of = wanted.type.__name__
    assert class_of in [c.__name__ for c in found.type.__mro__], f"{found.value!r}, where TensorFlow raises {wanted.value!r}"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_numbers_of_a_seed_are_those_of_tensorflow(theirs: Any, dtype: str) -> None:
    def draw(tf: Any) -> list[Any]:
        tf.random.set_seed(11)
        g = tf.random.Generator.from_seed(3)
        return [
            tf.random.normal([5], 1.0, 2.0, dtype=dtype),
            tf.random.uniform([2, 3], -1, 4, dtype=dtype),
            tf.random.truncated_normal([301], dtype=dtype),
            tf.random.normal([3], seed=4, dtype=dtype),
            tf.random.normal([3], seed=4, dtype=dtype),
            tf.random.uniform([4], 0, 1000, dtype=tf.int64),
            tf.cast(tf.random.shuffle(tf.range(20)), tf.float32),
            tf.random.stateless_normal([4], [1, 2], dtype=dtype),
            tf.random.stateless_uniform([3], [5, 6], maxval=9, dtype=tf.int32),
            tf.random.stateless_truncated_normal([50], [5, 6], dtype=dtype),
            g.normal([3], dtype=dtype),
            g.uniform([3], dtype=dtype),
            g.split(2)[1].normal([2], dtype=dtype),
            tf.image.random_crop(tf.reshape(tf.range(64.0), [8, 8, 1]), [3, 3, 1]),
            tf.nn.dropout(tf.ones([20]), 0.4),
        ]

    for x, y in zip(draw(ours), draw(theirs), strict=True):
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "value", [1.0, [1, 2], [[1.5, 2.25]], True, "text", ["a", "b"], 2**40, [0.1, 1e-8, 1e8], np.arange(12.0)]
)
def test_the_text_of_tensors_is_that_of_tensorflow(theirs: Any, value: Any, capfd: pytest.CaptureFixture[str]) -> None:
    texts = []
    for tf in (ours, theirs):
        x = tf.constant(value)
        capfd.readouterr()
        tf.print(x, "and", x.shape)
        texts.append((repr(x), str(x), repr(tf.Variable(value, name="v")), capfd.readouterr().err))
    assert texts[0] == texts[1]
