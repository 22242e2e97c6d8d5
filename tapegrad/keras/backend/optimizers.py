"""Keras's optimisers on tapegrad: variables of tapegrad's beside Keras's, and `minimize`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

import tapegrad as tg
from tapegrad.core.tensor import Tensor
from tapegrad.keras import look

if TYPE_CHECKING:
    from collections.abc import Callable


def install() -> None:
    """Give Keras's base class of optimisers its methods for this backend."""
    from keras.src.optimizers import base_optimizer, optimizer

    from tapegrad.keras.backend.optimizer_steps import stepped

    base = base_optimizer.BaseOptimizer
    made: Any = optimizer.BackendOptimizer

    def apply(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        """One step: gradients, and the variables that they are of, Keras's own or tapegrad's."""
        if trainable_variables is not None:
            trainable_variables = [_known(self, v) for v in trainable_variables]
        if look.has_slices() and self.loss_scale_factor is None and not self.gradient_accumulation_steps:
            return base.apply(self, [_rows(g) for g in grads], trainable_variables)
        return base.apply(self, [_dense(g) for g in grads], trainable_variables)

    def update(self: Any, grads: Any, variables: Any, learning_rate: Any) -> None:
        if not stepped(self, grads, variables, learning_rate):
            base._backend_update_step(self, [_dense(g) for g in grads], variables, learning_rate)

    def clip(self: Any, grads: Any) -> Any:
        """The gradients within bounds; of one of some rows, these rows, which may be several times the same."""
        if not any(type(g) is tg.SparseRows for g in grads):
            return base._clip_gradients(self, grads)
        bare = base._clip_gradients(self, [g.values if type(g) is tg.SparseRows else g for g in grads])
        found = [
            tg.SparseRows(g.indices, b, g.shape) if type(g) is tg.SparseRows else b for g, b in zip(grads, bare, strict=True)
        ]
        return [_dense(g) for g in found] if self.global_clipnorm else found

    def build(self: Any, variables: Any) -> Any:
        return base.build(self, [_known(self, v) for v in variables])

    def minimize(self: Any, loss: Any, var_list: Any, tape: Any = None) -> Any:
        """One step that makes a loss smaller: a function that computes it, or its value with the tape that recorded it."""
        if callable(loss) and not isinstance(loss, Tensor):
            with tg.GradientTape() as recorded:
                value = loss()
        elif tape is None:
            raise ValueError(f"`tape` is required when a `Tensor` loss is passed. Received: loss={loss}, tape=None.")
        else:
            value, recorded = loss, tape
        variables = var_list() if callable(var_list) else var_list
        return self.apply_gradients(zip(recorded.gradient(value, variables), variables, strict=True))

    methods: dict[str, Callable[..., Any]] = {
        "_backend_update_step": update,
        "_clip_gradients": clip,
        "apply": apply,
        "build": build,
        "minimize": minimize,
        "_var_key": lambda self, variable: id(getattr(variable, "_value", variable)),
    }
    for name, method in methods.items():
        setattr(made, name, method)


def _known(optimizer: Any, variable: Any) -> Any:
    """A variable of Keras's; one of tapegrad's in the guise of Keras's that the optimiser keeps for it."""
    if not isinstance(variable, tg.Variable):
        return variable
    from keras.src import backend

    guises = vars(optimizer).setdefault("_tapegrad_variables", {})
    found = guises.get(id(variable))
    if found is None:
        name = (variable.name or "variable").replace("/", "_").replace(":", "_")
        found = guises[id(variable)] = backend.Variable(variable, trainable=variable.trainable, name=name)
        found._value = variable  # shared, not copied
    return found


def _rows(gradient: Any) -> Any:
    """A gradient of some rows as that, where it is one of NumPy's arrays; any other as one of the whole."""
    if type(gradient) is tg.SparseRows or isinstance(gradient, Tensor | None):
        return gradient
    if hasattr(gradient, "dense_shape") and gradient.dense_shape is not None and len(gradient.indices.shape) == 1:
        values = gradient.values.array
        if isinstance(values, numpy.ndarray):
            return tg.SparseRows(gradient.indices.array, values, map(int, gradient.dense_shape.array))
    return _dense(gradient)


def _dense(gradient: Any) -> Any:
    if isinstance(gradient, tg.SparseRows):
        return gradient.to_dense()
    if not isinstance(gradient, Tensor) and hasattr(gradient, "__tf_tensor__"):  # a facade's slices
        return gradient.__tf_tensor__()
    return gradient
