"""What functions of NumPy, PyTorch and TensorFlow are called here, for those who write a name from habit."""

from __future__ import annotations

from collections.abc import Iterable

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
    "erf": "special.erf",
    "logsigmoid": "nn.logsigmoid",
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
    **{f"reduce_{name}": name for name in ("sum", "mean", "max", "min", "prod", "any", "all", "std", "logsumexp")},
    "reduce_variance": "var",
    **{
        name: f"nn.{name}"
        for name in (
            "relu",
            "sigmoid",
            "gelu",
            "silu",
            "elu",
            "selu",
            "softplus",
            "cross_entropy",
            "one_hot",
            "dropout",
        )
    },
}


def instead(name: str, there: Iterable[str]) -> str:
    """What an error says after naming a name that is not there: what it is called here, or the nearest; or nothing."""
    if found := NAMES.get(name):
        return f"; here it is tapegrad.{found}"
    if name in ("torch", "tf", "testing", "keras"):
        return f"; write `import tapegrad.{name}`"
    from difflib import get_close_matches

    near = [] if name.startswith("_") else get_close_matches(name, [k for k in there if not k.startswith("_")], 1, 0.75)
    return f"; did you mean tapegrad.{near[0]}?" if near else ""
