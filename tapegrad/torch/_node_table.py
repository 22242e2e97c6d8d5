"""What PyTorch's graph shows for each op and function, in one table.

`Exp0` stands for a node `ExpBackward0` with the op's arguments for parents; `=CopySlices` for a name as it is.  Where PyTorch computes
a function in several steps, and tapegrad in one, the steps between are shown too: `NllLoss0(LogSoftmax0(*))`.  A `*` is the next
argument, `$1` that with this number from 0, `**` are all that are left; a star without an argument is an edge to nothing.
"""

from __future__ import annotations

#: By the name of an op of tapegrad's, where it is not the op's own.
OPS = {
    "multiply": "Mul0", "subtract": "Sub0", "divide": "Div0", "negative": "Neg0", "square": "Mul0($0, $0)",
    "at_least": "Clamp0", "at_most": "Clamp0",
    "reshape": "View0", "permute_dims": "Permute0", "matrix_transpose": "Transpose0", "expand_dims": "Unsqueeze0",
    "broadcast_to": "Expand0", "astype": "ToCopy0", "cast": "ToCopy0", "concat": "Cat0", "cumulative_sum": "Cumsum0",
    "cumulative_prod": "Cumprod0", "take_along_axis": "Gather0", "take": "IndexSelect0",
    "conv": "Convolution0(*, *, *)", "expit": "Sigmoid0", "norm2": "LinalgVectorNorm0", "power_norm": "LinalgVectorNorm0",
    "contract": "Bmm0", "log1p": "Log1P0", "mul_zero": "Mul0", "matmul_adjoint": "Mm0($0, T0($1))", "adjoint_matmul": "Mm0",
    "put": "=torch::autograd::CopySlices", "ieee_sqrt": "Sqrt0", "logsigmoid": "LogSigmoid0", "prelu": "PreluKernel0",
    "gammaln": "Lgamma0", "relu6": "Hardtanh0", "softsign": "Div0($0, Add0(Abs0($0), None))",
    "tanhshrink": "Sub0($0, Tanh0($0))", "sign": "Sign0",
    "det": "LinalgDet0", "slogdet": "LinalgSlogdet0", "inv": "LinalgInvEx0", "solve": "LinalgSolveEx0", "cholesky": "LinalgCholeskyEx0",
    "eigh": "LinalgEigh0", "eigvalsh": "LinalgEigh0", "svd": "LinalgSvd0", "svdvals": "LinalgSvd0", "qr": "LinalgQr0",
    "pinv": "LinalgPinv0", "matrix_exp": "LinalgMatrixExp0", "eig": "LinalgEig0", "eigvals": "LinalgEig0",
    "solve_triangular": "LinalgSolveTriangular0", "inner": "View0(Dot0(*, *))",
    "real": "Select0(ViewAsReal0(*))", "imag": "Select0(ViewAsReal0(*))",
    "entr": "SpecialEntr0", "ndtri": "SpecialNdtri0", "log_ndtr": "SpecialLogNdtr0", "erfcx": "SpecialErfcx0",
    "ndtr": "Mul1(Add1(Erf0(Mul0(*, None))))", "xlog1py": "SpecialXlog1Py0", "i1": "SpecialI10", "i0e": "SpecialI0E0", "i1e": "SpecialI1E0",
    "dft": "FftC2C0", "inverse_dft": "FftC2C0", "real_dft": "FftR2C0", "inverse_real_dft": "FftC2R0", "copysign": "Copysign0",
    "cross_entropy": "NllLoss0(LogSoftmax0($0))",
}  # fmt: skip

#: Functions that are one op of their name, which the table of ops has as PyTorch shows it, wherever they need no other.
NAMED_ALONE = frozenset(["cross_entropy"])

#: By how an argument is written: reflected operators of a number and a tensor.
REFLECTED = {"subtract": "Rsub1($1)", "divide": "Mul0(Reciprocal0($1), None)", "pow": "Pow2($1)"}

_POOLED = {
    f"{kind}_pool{n}d": f"{kind.capitalize()}Pool{n}D{with_}0"
    for kind, with_ in (("max", "WithIndices"), ("avg", ""))
    for n in (2, 3)
}
_OF_AXIS = dict.fromkeys(["mean", "median", "nanmedian"])

#: By the name of a function of PyTorch's, where its last op would be called otherwise.  `?` is 0 where all is reduced and 1 where an
#: axis is named; `+` marks what gives values and places; after `~` stands what a loss is before its reduction.
FUNCTIONS = {
    **{name: f"{name.capitalize()}?" for name in _OF_AXIS},
    **{name: f"{name.capitalize()}0+" for name in ("max", "min", "mode", "kthvalue", "cummax", "cummin", "sort", "topk")},
    "msort": "Sort0", "aminmax": "Aminmax0", "amax": "Amax0", "amin": "Amin0", "std_mean": "StdMean0", "var_mean": "VarMean0",
    "var": "Var0", "std": "Std0", "logsumexp": "Logsumexp0", "nansum": "Nansum0", "logcumsumexp": "Logcumsumexp0", "dist": "Dist0",
    "prod": "Prod?", "norm": "LinalgVectorNorm0", "vector_norm": "LinalgVectorNorm0", "trace": "Trace0", "renorm": "Renorm0",
    "square": "Pow0", "pow": "Pow0", "float_power": "Pow0(ToCopy0(*))", "exp2": "Exp20", "rsqrt": "Rsqrt0",
    "floor": "Floor0", "ceil": "Ceil0",
    "round": "Round0", "trunc": "Trunc0", "fix": "Trunc0", "frac": "Frac0", "sgn": "Sgn0", "nan_to_num": "NanToNum0",
    "deg2rad": "Deg2Rad0", "rad2deg": "Rad2Deg0", "fmod": "Fmod0", "remainder": "Remainder0", "fmax": "Fmax0", "fmin": "Fmin0",
    "clamp": "Clamp1", "clip": "Clamp1", "clamp_min": "ClampMin0", "clamp_max": "ClampMax0", "rsub": "Rsub1", "ldexp": "Ldexp0(*, *)",
    "t_": "T1", "transpose_": "Transpose1", "unsqueeze_": "Unsqueeze1", "squeeze_": "Squeeze3",
    "angle": "Angle0", "complex": "Complex0", "polar": "Polar0", "view_as_real": "ViewAsReal0", "view_as_complex": "ViewAsComplex0",
    "lerp": "Lerp0", "addcmul": "Addcmul0", "addcdiv": "Addcdiv0", "masked_fill": "MaskedFill0", "clone": "Clone0",
    "copy_": "=torch::autograd::CopyBackwards", "zero_": "Zero0", "fill_": "Fill2",
    "uniform_": "Uniform0", "normal_": "Normal0", "bernoulli": "Bernoulli0",
    "exponential_": "Exponential0", "random_": "Random0",
    "bmm": "Bmm0", "addmm": "Addmm0", "baddbmm": "Baddbmm0", "addmv": "Addmv0", "addbmm": "Addbmm0", "addr": "Addr0", "vdot": "Vdot0",
    "kron": "UnsafeView0(Mul0)", "cross": "LinalgCross0", "cdist": "Cdist0", "cholesky_solve": "CholeskySolve0",
    "triangular_solve": "TriangularSolve0", "logdet": "Where0(None, LinalgSlogdet0(*))", "lstsq": "LinalgLstsq0",
    "einsum": "View0(Permute0(View0(Bmm0)))", "multi_dot": "View0(Mm0)", "chain_matmul": "View0(Mm0)",
    "roll": "Roll0", "repeat": "Repeat0", "tile": "Repeat0", "rot90": "Rot900", "unfold": "Unfold0", "diag_embed": "DiagEmbed0",
    "diagonal": "Diagonal0", "as_strided": "AsStrided0", "repeat_interleave": "View0(Clone0(Expand0(Unsqueeze0)))",
    "gather": "Gather0", "take": "Take0", "scatter_add": "ScatterAdd0", "scatter_reduce": "ScatterReduce0", "index_add": "IndexAdd0",
    "index_copy": "IndexCopy0", "index_fill": "IndexFill0", "index_put": "IndexPut0", "put": "Put0", "masked_scatter": "MaskedScatter0",
    "masked_select": "MaskedSelect0", "select_scatter": "SelectScatter0", "slice_scatter": "SliceScatter0",
    "diagonal_scatter": "DiagonalScatter0", "block_diag": "BlockDiag0",
    "mse_loss": "MseLoss0", "nll_loss": "NllLoss0", "binary_cross_entropy": "BinaryCrossEntropy0", "smooth_l1_loss": "SmoothL1Loss0",
    "binary_cross_entropy_with_logits": "BinaryCrossEntropyWithLogits0", "huber_loss": "HuberLoss0", "l1_loss": "~Abs0(Sub0)",
    "kl_div": "~Sub0", "gaussian_nll_loss": "~Mul0(Add0)", "poisson_nll_loss": "~Sub0(Exp0($0), Mul0($1, $0))",
    "hinge_embedding_loss": "~Add0(Where0, Where0)", "margin_ranking_loss": "~ClampMin0(Add0)",
    "triplet_margin_loss": "~ClampMin0(Sub0)", "cosine_embedding_loss": "~Add0(Where0, Where0)", "ctc_loss": "~Div0(CtcLoss0(*), None)",
    "multi_margin_loss": "MultiMarginLoss0", "multilabel_margin_loss": "MultilabelMarginLoss0", "soft_margin_loss": "SoftMarginLoss0($0)",
    "multilabel_soft_margin_loss": "~Div0(Sum1(Neg0), None)",
    "gelu": "Gelu0", "softplus": "Softplus0", "glu": "Glu0", "mish": "Mish0", "selu": "Elu0", "rrelu": "RreluWithNoise0",
    "normalize": "Div0($0, Expand0(ClampMin0(LinalgVectorNorm0($0))))",
    "layer_norm": "NativeLayerNorm0(*, *, *)", "batch_norm": "NativeBatchNorm0($0, $3, $4)", "group_norm": "NativeGroupNorm0(*, *, *)",
    "instance_norm": "View0(NativeBatchNorm0(View0($0), $3, $4))", "embedding": "Embedding0", "embedding_bag": "EmbeddingBag0(*, *)",
    "bilinear": "View0(Trilinear0)", "pairwise_distance": "Norm1(Add1(Sub0))", "pdist": "Pdist0",
    **_POOLED,
    "max_pool1d": "Squeeze1(MaxPool2DWithIndices0(Unsqueeze0(*)))", "avg_pool1d": "Squeeze1(AvgPool2D0(Unsqueeze0(*)))",
    "adaptive_avg_pool1d": "Squeeze1(AdaptiveAvgPool2D0(Unsqueeze0(*)))", "adaptive_avg_pool2d": "AdaptiveAvgPool2D0",
    "adaptive_avg_pool3d": "AdaptiveAvgPool3D0", "adaptive_max_pool1d": "Squeeze1(AdaptiveMaxPool2D0(Unsqueeze0(*)))",
    "adaptive_max_pool2d": "AdaptiveMaxPool2D0", "adaptive_max_pool3d": "AdaptiveMaxPool3D0",
    "max_unpool2d": "MaxUnpool2D0", "max_unpool3d": "MaxUnpool3D0", "fold": "Col2Im0", "pixel_shuffle": "PixelShuffle0",
    "pixel_unshuffle": "PixelUnshuffle0", "channel_shuffle": "ChannelShuffle0", "affine_grid": "AffineGridGenerator0",
    "grid_sample": "GridSampler2D0",
    **{f"conv{t}{n}d": "Convolution0(*, *, *)" for t in ("", "_transpose") for n in (1, 2, 3)},
}  # fmt: skip
