"""What names of NumPy, PyTorch, TensorFlow and JAX are called here, for those who write one from habit."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Names of others, and what is written here instead, below `tapegrad`.
NAMES = {
    "array": "asarray",
    "tensor": "asarray",
    "as_tensor": "asarray",
    "from_numpy": "asarray",
    "convert_to_tensor": "asarray",
    "cast": "astype",
    "cat": "concat",
    "concatenate": "concat",
    "hstack": "concat(..., axis=1)",
    "vstack": "concat(..., axis=0)",
    "transpose": "permute_dims",
    "permute": "permute_dims",
    "swapaxes": "permute_dims",
    "mm": "matmul",
    "bmm": "matmul",
    "dot": "vecdot",
    "clamp": "clip",
    "clip_by_value": "clip",
    "mul": "multiply",
    "sub": "subtract",
    "div": "divide",
    "true_divide": "divide",
    "neg": "negative",
    "power": "pow",
    "arctan2": "atan2",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "absolute": "abs",
    "cumsum": "cumulative_sum",
    "cumprod": "cumulative_prod",
    "amax": "max",
    "amin": "min",
    "unsqueeze": "expand_dims",
    "gather": "take_along_axis",
    "norm": "linalg.vector_norm",
    "detach": "stop_gradient",
    "rand": "random.Generator(seed).uniform",
    "randn": "random.Generator(seed).normal",
    "seed": "random.Generator(seed)",
    "manual_seed": "random.Generator(seed)",
    "jit": "function",
    "compile": "function",
    "custom_vjp": "custom_gradient",
    "recompute_grad": "checkpoint",
    "jacrev": "jacobian",
    "jacfwd": "jacobian",
    "set_backend": "set_default_backend",
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "range": "arange",
    "fill": "full",
    "identity": "eye",
    "diag": "linalg.diagonal",
    "logdet": "linalg.slogdet",
    "unique": "unique_values",
    "trapz": "trapezoid",
    "cumtrapz": "cumulative_trapezoid",
    "Parameter": "Variable",
    "Function": "custom_gradient",
    "Tape": "GradientTape",
    "map": "vmap",
    "map_fn": "vmap",
    "vectorized_map": "vmap",
    "gradient": "grad",
    "gradients": "grad",
    "elementwise_grad": "grad",
    "hessian_vector_product": "hvp",
    "remat": "checkpoint",
    "index_add": "put_add",
    "linalg.norm": "linalg.vector_norm",
    "linalg.expm": "linalg.matrix_exp",
    "linalg.logdet": "linalg.slogdet",
    "linalg.inverse": "linalg.inv",
    "linalg.pinverse": "linalg.pinv",
    "linalg.triangular_solve": "linalg.solve_triangular",
    "linalg.diag": "linalg.diagonal",
    "linalg.diag_part": "linalg.diagonal",
    "special.lgamma": "special.gammaln",
    "special.norm_cdf": "special.ndtr",
    "special.norm_ppf": "special.ndtri",
    "nn.mse": "nn.mse_loss",
    "nn.mae": "nn.l1_loss",
    "nn.swish": "nn.silu",
    "nn.log_sigmoid": "nn.logsigmoid",
    "nn.attention": "nn.scaled_dot_product_attention",
    "nn.upsample": "nn.interpolate",
    "fft.fft2": "fft.fftn",
    "fft.ifft2": "fft.ifftn",
    "fft.rfft2": "fft.rfftn",
    "fft.irfft2": "fft.irfftn",
    "random.rand": "random.uniform",
    "random.random": "random.uniform",
    "random.randn": "random.normal",
    "random.standard_normal": "random.normal",
    "random.randint": "random.integers",
    "random.randperm": "random.permutation",
    "random.shuffle": "random.permutation",
    "random.manual_seed": "random.seed",
    "random.set_seed": "random.seed",
    **dict.fromkeys(("random.default_rng", "random.RandomState", "random.PRNGKey", "random.key"), "random.Generator(seed)"),
    **{f"reduce_{name}": name for name in ("sum", "mean", "max", "min", "prod", "any", "all", "std", "logsumexp")},
    "reduce_variance": "var",
}

_STEP = "a step is written out, `w.assign_sub(rate * gradient)`, as in the README"
_LOOP = "write Python's own loop or `if`: what it does is recorded, step by step"
_LAYERS = "layers and models are in tapegrad.torch.nn and tapegrad.keras; here a model is a function of its parameters"
_TEST = "numpy.testing.assert_allclose(x, y) and numpy.allclose(x, y) take tensors"
_KEPT = "numpy.savez(file, w=w.numpy()) keeps values, and pickle takes tensors and variables"

#: What to do where there is no one name to write instead.
ADVICE = {
    **dict.fromkeys(
        ("optim", "optimizers", "optimizer", "optimisers", "SGD", "Adam"),
        f"{_STEP}; tapegrad.torch.optim and tapegrad.tf.optimizers have optimizers",
    ),
    **dict.fromkeys(
        ("Module", "layers", "Linear", "Dense", "Sequential", "Model", "nn.Module", "nn.Linear", "nn.Sequential", "nn.layers"), _LAYERS
    ),
    **dict.fromkeys(
        ("nn.lstm", "nn.gru", "nn.rnn", "nn.LSTM", "nn.GRU", "nn.RNN"),
        "a recurrent layer is a Python loop over its steps; tapegrad.torch.nn has LSTM, GRU and RNN",
    ),
    **dict.fromkeys(
        ("nn.multi_head_attention", "nn.MultiheadAttention"),
        "tapegrad.nn.scaled_dot_product_attention attends, over any leading axes; tapegrad.torch.nn has MultiheadAttention",
    ),
    "nn.functional": "the functions are in tapegrad.nn itself",
    **dict.fromkeys(("scan", "lax", "while_loop", "fori_loop", "cond"), _LOOP),
    **dict.fromkeys(("tree_map", "tree_util", "nest"), "optree.tree_map, which tapegrad uses too, maps over structures of tensors"),
    **dict.fromkeys(("save", "load", "savez"), _KEPT),
    **dict.fromkeys(("allclose", "isclose", "array_equal", "assert_allclose", "test"), _TEST),
    **dict.fromkeys(("check_grads", "gradcheck", "check_gradients"), "write tapegrad.testing.check(f, x), after `import tapegrad.testing`"),
    **dict.fromkeys(
        ("enable_grad", "set_grad_enabled", "inference_mode"),
        "only tapes record, inside their contexts, and tapegrad.no_grad() keeps them from it",
    ),
    **dict.fromkeys(
        ("backward", "autograd"),
        "record under `with tapegrad.GradientTape() as tape:`, and write `tape.gradient(y, x)`; or tapegrad.grad(f)(x)",
    ),
    "stop_recording": "it is a method, `with tape.stop_recording():`; for all tapes at once write tapegrad.no_grad()",
    "UnconnectedGradients": 'write unconnected_gradients="zero", or "none"',
    "explain": "it is a method, tape.explain(target, source), asked before tape.gradient",
    "distributions": "tapegrad.torch.distributions has them",
    "einops": "einops itself takes tensors",
    "signal": "tapegrad.convolve, tapegrad.correlate and tapegrad.fft are here",
    "scatter": "tapegrad.put_add(values, index=index, shape=shape) adds values up at indices",
    "segment_sum": "tapegrad.put_add(values, index=ids, shape=(count, ...)) adds values up at indices",
    "rsqrt": "write 1 / tapegrad.sqrt(x)",
    "cbrt": "numpy.cbrt(x) takes tensors, and is recorded",
    "shape": "write x.shape",
    "size": "write x.size",
    "rank": "write x.ndim",
    "is_tensor": "write isinstance(x, tapegrad.Tensor)",
    "py_function": "write Python's own functions: what they do with tensors is recorded",
    "set_default_dtype": "what is made of Python's floats is float32; give a dtype, or a NumPy array, which keeps its own",
    "cuda": 'with TensorFlow installed, x.to_device("GPU:0") or `with tapegrad.device("GPU:0"):`',
    **dict.fromkeys(("np", "numpy"), "NumPy's own functions take tensors, and are recorded"),
    "random.choice": "draw positions by tapegrad.random.integers or permutation, and index with them",
    **dict.fromkeys(
        ("random.split", "random.fold_in"), "a Generator moves on by itself; for another one write tapegrad.random.Generator(seed)"
    ),
}

#: Where a name is looked for that is not in the module that was asked.
_OTHERS = ("", "nn", "linalg", "special", "fft")


def absent(module: str) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module: the error for a name that is not there, with what to write instead."""

    def __getattr__(name: str) -> NoReturn:
        raise missing(module, name)

    return __getattr__


def missing(module: str, name: str) -> AttributeError:
    """The error for a name that a module of tapegrad does not have."""
    text = f"module {module!r} has no attribute {name!r}"
    hint = instead(name, module.partition(".")[2])
    # Python's own guess would come after ours, from what it finds on `obj`; it fills that in where neither is given.
    return AttributeError(f"{text}{hint}", name=name) if hint else AttributeError(text, name=name, obj=sys.modules[module])


@functools.cache  # programs ask by `hasattr` in their loops
def instead(name: str, part: str = "") -> str:
    """What an error says after naming a name that is not in a part of tapegrad: what to write here, the nearest; or nothing."""
    if name.startswith("_"):
        return ""
    asked = f"{part}.{name}" if part else name
    if found := NAMES.get(asked):
        return f"; here it is tapegrad.{found}"
    if advice := ADVICE.get(asked):
        return f"; {advice}"
    if not part and name in ("torch", "tf", "testing", "keras", "inspect"):
        return f"; write `import tapegrad.{name}`"
    for other in _OTHERS:
        if other != part and name in _public(other):
            return f"; here it is tapegrad.{other}.{name}" if other else f"; here it is tapegrad.{name}"
    if _takes_tensors(name, part):
        return f"; numpy.{asked}(x) takes tensors"
    from difflib import get_close_matches

    near = get_close_matches(name, _public(part), 1, 0.8)
    return f"; did you mean tapegrad.{part}{'.' if part else ''}{near[0]}?" if near else ""


def _public(part: str) -> Iterable[str]:
    names: list[str] = importlib.import_module(f"tapegrad.{part}" if part else "tapegrad").__all__
    return [n for n in names if not n.startswith("_")]


def _takes_tensors(name: str, part: str) -> bool:
    """Whether it is a function of NumPy's that asks its arguments what to do: tensors record it, or say what to write."""
    import numpy as np

    space: Any = np if not part else getattr(np, part, None)
    function = getattr(space, name, None)
    return isinstance(function, np.ufunc | type(np.sum))
