"""What tensors and variables look like to those who use Keras: plain ones of tapegrad, or those of a facade.

Inside, the backend computes with plain tensors, whatever it is given.  Keras reaches it through its package, and finds
there each function in a dress that hands its result over in the look which is asked for.
"""

from __future__ import annotations

import functools
import inspect
import types
from typing import TYPE_CHECKING, Any

import numpy

from tapegrad.core.tensor import Tensor, linked
from tapegrad.keras.backend.composites import dense
from tapegrad.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable

    Adopt = Callable[[Any], Any]
    Make = Callable[..., Variable]
    Order = Callable[[int], Any]

#: What makes a result of plain ops one of a facade's; None to leave it as it is.
_adopt: list[Adopt | None] = [None]
#: What makes a variable of a value, its flag `trainable` and its name.
_make: list[Make] = [Variable]

#: The class of tensors of that look.
_kind: list[type] = [Tensor]

#: The dtypes that there is one object of, by Keras's names.
_DTYPES = {name: numpy.dtype(name) for name in ("bool", "int32", "int64", "uint8", "float16", "float32", "float64")}

#: How the shape of a variable is shown.
_shape: list[Callable[[Any], Any]] = [lambda sizes: sizes]

#: What the order of samples in an epoch is for a seed of the facade's, and what starts its random numbers anew.
_order: list[Order] = [lambda count: None]
_seed: list[Callable[[int], None]] = [lambda seed: None]

#: Functions of the backend that give no tensor, or only what another function gave.
_NOTHING_TO_SHOW = frozenset(
    [
        *("compute_output_spec", "cond", "convert_to_numpy", "cudnn_ok", "custom_gradient", "device_scope", "draw_seed"),
        *("is_tensor", "make_default_seed", "random_seed_dtype", "remat", "shape", "standardize_dtype", "vectorize"),
    ]
)
#: Functions of the backend that call functions of their users with tensors.
_CALLING = frozenset(
    ["associative_scan", "fori_loop", "gru", "lstm", "map", "rnn", "scan", "switch", "vectorized_map", "while_loop"]
)
_CONVERTING = frozenset(["cast", "convert_to_tensor"])
#: Those that know sparse and ragged tensors; the others compute with the dense one.
_OF_COMPOSITES = frozenset(["amax", "amin", "cast", "convert_to_tensor", "matmul", "max", "mean", "min", "sum", "take"])
#: The modules that Keras sees as attributes of the backend.
_SEEN = ("core", "image", "linalg", "math", "nn", "numpy", "random")


def use(
    kind: type, adopt: Adopt, make: Make, shape: Callable[[Any], Any], order: Order, seed: Callable[[int], None]
) -> None:
    """From now on, results are what `adopt` makes of them, and variables what `make` makes, with shapes as `shape` shows them.

    `kind` is the class of what `adopt` makes.
    `order(count)` is the order of samples in an epoch, or None; `seed(n)` starts the facade's random numbers anew.
    """
    _kind[0], _adopt[0], _make[0], _shape[0], _order[0], _seed[0] = kind, adopt, make, shape, order, seed


def shape(sizes: Any) -> Any:
    """The shape of a variable in the look that is asked for."""
    return _shape[0](sizes)


def order(count: int) -> Any:
    """The order of the samples in an epoch, where the look has a say in it: else None."""
    return _order[0](count)


def has_slices() -> bool:
    """Whether the gradient of rows that are picked is shown as these rows: in a facade's look, as TensorFlow does."""
    return _adopt[0] is not None


def start(seed: int) -> None:
    """Start the facade's random numbers anew, if there is one."""
    _seed[0](seed)


def shown(x: Any) -> Any:
    """A tensor, or a tuple or list of them, in the look that is asked for."""
    adopt = _adopt[0]
    return x if adopt is None else adopt(x)


def variable(value: Any, *, trainable: bool, name: str) -> Variable:
    """A variable in the look that is asked for."""
    return _make[0](value, trainable=trainable, name=name)


def dress(package: types.ModuleType) -> None:
    """Give the backend's package, as Keras sees it, functions that show their results."""
    names = vars(package)
    for part in _SEEN:
        module = names[part]
        seen = types.ModuleType(module.__name__, module.__doc__)
        vars(seen).update({k: _dressed(k, v) for k, v in vars(module).items()})
        names[part] = seen
    names.update({k: _dressed(k, v) for k, v in names.items() if k not in _SEEN})


def _converting(function: Any) -> Any:
    """`convert_to_tensor` and `cast`, of which most calls are given what they would give: that tensor itself is the result."""
    asked = _dressed("", function)

    @functools.wraps(asked)
    def run(x: Any, dtype: Any = None, *args: Any, **words: Any) -> Any:
        kind: Any = type(x)
        if kind is _kind[0] and (dtype is None or (type(dtype) is str and _DTYPES.get(dtype) is x.array.dtype)):
            return x
        return asked(x, dtype, *args, **words)

    run.__dict__["__signature__"] = inspect.signature(asked)
    return run


def _dressed(name: str, value: Any) -> Any:
    if name in _CONVERTING and isinstance(value, types.FunctionType):
        return _converting(value)
    if not isinstance(value, types.FunctionType) or name.startswith("_") or name in _NOTHING_TO_SHOW:
        return value
    adopted = _adopt
    calls = name in _CALLING
    bared = plain if name in _OF_COMPOSITES or name == "" else _densely

    @functools.wraps(value)
    def run(*args: Any, **words: Any) -> Any:
        adopt = adopted[0]
        if adopt is None:
            return value(*args, **words)
        args = tuple([x if type(x) is Tensor else bared(x) for x in args])
        words = {k: bared(x) for k, x in words.items()}
        if calls:
            args = tuple(map(_shown_to, args))
            words = {k: _shown_to(x) for k, x in words.items()}
        y = value(*args, **words)
        return adopt(y) if type(y) is Tensor or isinstance(y, tuple | list) else y

    signature = inspect.signature(value)
    run.__dict__["__signature__"] = signature.replace(  # as Keras compares it with that of its own function
        parameters=[p.replace(annotation=p.empty) for p in signature.parameters.values()],
        return_annotation=signature.empty,
    )
    return run


#: What is plain already, by its type.
_PLAIN = frozenset([Tensor, int, float, bool, str, type(None), types.FunctionType])


def plain(x: Any) -> Any:
    """An argument as the backend computes with it: a tensor or variable of a facade as a plain tensor, its dtype as NumPy's."""
    kind = type(x)
    if kind in _PLAIN:
        return x
    if kind is list or kind is tuple:
        return kind([plain(v) for v in x])
    if isinstance(x, Tensor):
        return linked(*x.read())
    return x.as_numpy_dtype if hasattr(x, "as_numpy_dtype") else x


def _densely(x: Any) -> Any:
    """The same for a function that knows no sparse and no ragged tensors: their dense ones."""
    kind = type(x)
    if kind is list or kind is tuple:
        return kind([_densely(v) for v in x])
    return plain(dense(x))


def _shown_to(x: Any) -> Any:
    """A function that the backend calls, so that it sees tensors in the look that is asked for; anything else as it is."""
    if not callable(x) or isinstance(x, Tensor | type):
        return x

    @functools.wraps(x)
    def run(*args: Any, **words: Any) -> Any:
        return plain(x(*map(shown, args), **words))

    return run
