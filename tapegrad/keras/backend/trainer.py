"""`fit` and its kin: the steps that Keras leaves to a backend, with a GradientTape around the forward pass."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
from keras.src import callbacks as callbacks_module
from keras.src import optimizers as optimizers_module
from keras.src import tree
from keras.src.backend import config
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import pythonify_logs

import tapegrad as tg
from tapegrad.keras import logits, look
from tapegrad.keras.backend.core import convert_to_numpy, convert_to_tensor, is_tensor
from tapegrad.keras.backend.datasets import adapted
from tapegrad.keras.backend.datasets import epochs as batches_of

__all__ = ["install"]


def install(names: dict[str, Any]) -> None:
    """Put a trainer that trains in the place of the one that Keras ships."""
    names["NumpyTrainer"] = _extended(names["NumpyTrainer"])


def _batch_size(x: Any) -> int:
    return next(v for v in tree.flatten(x) if v is not None).shape[0]


def _tensors(data: Any) -> Any:
    """Arrays of a batch as tensors; strings and None as they are."""

    def one(v: Any) -> Any:
        return look.shown(convert_to_tensor(v)) if isinstance(v, numpy.ndarray) and v.dtype.kind in "biufc" else v

    return tree.map_structure(one, data)


def _as_compiled(step: Any, model: Any) -> Any:
    """A step of a model in which losses see what they would see where Keras compiles it, as it does unless told not to."""

    def run(batches: Any) -> Any:
        if model.run_eagerly:
            return step(batches)
        with logits.compiled_step():
            return step(batches)

    return run


def _extended(shipped: type) -> type:
    """The trainer of Keras's NumPy backend, which evaluates and predicts, as one that trains."""

    class Trainer(shipped):  # type: ignore[misc]
        """A model's training, evaluation and prediction on tapegrad."""

        def __init__(self) -> None:
            super().__init__()
            self.train_function: Any = None
            self.test_function: Any = None

        # -- one batch -----------------------------------------------------------------------------------
        def _forward(self, data: Any, *, training: bool) -> tuple[Any, ...]:
            x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
            y_pred = self(x, training=training) if self._call_has_training_arg else self(x)
            loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=training)
            self._loss_tracker.update_state(tg.stop_gradient(loss), sample_weight=_batch_size(x))
            return loss, x, y, y_pred, sample_weight

        def train_step(self, data: Any) -> Any:
            """Loss, gradients and update for one batch; scripts override it."""
            with tg.GradientTape() as tape:
                loss, x, y, y_pred, sample_weight = self._forward(data, training=True)
                if self.optimizer is not None:
                    loss = self.optimizer.scale_loss(loss)
            weights = self.trainable_weights
            if weights:
                self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            else:
                warnings.warn("The model does not have any trainable weights.", stacklevel=2)
            return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

        def test_step(self, data: Any) -> Any:
            """Loss and metrics for one batch; scripts override it."""
            _, x, y, y_pred, sample_weight = self._forward(data, training=False)
            return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

        def make_train_function(self, force: bool = False) -> Any:
            """What runs a step, or as many as `steps_per_execution`."""
            if self.train_function is None or force:

                def run(batches: Any) -> Any:
                    logs: Any = {}
                    for data in batches:
                        logs = self.train_step(_tensors(data))
                    return logs

                self.train_function = _as_compiled(run, self)
            return self.train_function

        def make_test_function(self, force: bool = False) -> Any:
            """What evaluates a batch, or as many as `steps_per_execution`."""
            made = self.test_function is None or force
            super().make_test_function(force)
            if made:
                self.test_function = _as_compiled(self.test_function, self)
            return self.test_function

        def _symbolic_build(self, data_batch: Any) -> None:
            super()._symbolic_build(_tensors(data_batch))

        # -- many ----------------------------------------------------------------------------------------
        @traceback_utils.filter_traceback  # type: ignore[untyped-decorator]
        def fit(
            self,
            x: Any = None,
            y: Any = None,
            batch_size: int | None = None,
            epochs: int = 1,
            verbose: Any = "auto",
            callbacks: Any = None,
            validation_split: float = 0.0,
            validation_data: Any = None,
            shuffle: bool = True,
            class_weight: Any = None,
            sample_weight: Any = None,
            initial_epoch: int = 0,
            steps_per_epoch: int | None = None,
            validation_steps: int | None = None,
            validation_batch_size: int | None = None,
            validation_freq: Any = 1,
        ) -> Any:
            """Train for a number of epochs; the history of losses and metrics."""
            self._assert_compile_called("fit")
            limit = config.max_epochs()
            if limit and limit < epochs:
                warnings.warn(f"Limiting epochs to {limit}", stacklevel=2)
                epochs = limit
            if validation_split and validation_data is None:
                (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                    (x, y, sample_weight), validation_split=validation_split
                )
            iterator = batches_of(
                x=adapted(x, y, sample_weight, class_weight),
                y=y,
                sample_weight=sample_weight,
                batch_size=batch_size,
                steps_per_epoch=steps_per_epoch,
                shuffle=shuffle,
                class_weight=class_weight,
                steps_per_execution=self.steps_per_execution,
            )
            if not isinstance(callbacks, callbacks_module.CallbackList):
                callbacks = callbacks_module.CallbackList(
                    callbacks,
                    add_history=True,
                    add_progbar=verbose != 0,
                    verbose=verbose,
                    epochs=epochs,
                    steps=iterator.num_batches,
                    model=self,
                )
            validation = {
                "batch_size": validation_batch_size or batch_size,
                "steps": validation_steps,
                "callbacks": callbacks,
            }
            self.stop_training = False
            self.make_train_function()
            callbacks.on_train_begin()
            logs: dict[str, Any] = {}
            for epoch in range(self._initial_epoch or initial_epoch, epochs):
                logs = self._epoch(epoch, iterator, callbacks)
                if validation_data is not None and self._should_eval(epoch, validation_freq):
                    logs.update(self._validate(validation_data, validation))
                callbacks.on_epoch_end(epoch, logs)
                if self.stop_training:
                    break
            if isinstance(self.optimizer, optimizers_module.Optimizer) and epochs > 0:
                self.optimizer.finalize_variable_values(self.trainable_weights)
            self._eval_epoch_iterator = None
            callbacks.on_train_end(logs=logs)
            return self.history

        def _epoch(self, epoch: int, iterator: Any, callbacks: Any) -> dict[str, Any]:
            self.reset_metrics()
            callbacks.on_epoch_begin(epoch)
            logs: Any = {}
            for begin, end, batches in iterator:
                callbacks.on_train_batch_begin(begin)
                logs = self.train_function(batches)
                callbacks.on_train_batch_end(end, logs)
                if self.stop_training:
                    break
            return dict(pythonify_logs(self._get_metrics_result_or_logs(logs)))

        def _validate(self, data: Any, how: dict[str, Any]) -> dict[str, Any]:
            x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
            iterator: Any = getattr(self, "_eval_epoch_iterator", None)
            if iterator is None:
                self._eval_epoch_iterator = iterator = batches_of(
                    x=adapted(x, y, sample_weight),
                    y=y,
                    sample_weight=sample_weight,
                    batch_size=how["batch_size"],
                    steps_per_execution=self.steps_per_execution,
                    steps_per_epoch=how["steps"],
                    shuffle=False,
                )
            iterator.reset()  # with `validation_steps`, each validation sees the same batches
            found = self.evaluate(
                x=x, y=y, sample_weight=sample_weight, **how, return_dict=True, _use_cached_eval_dataset=True
            )
            return {f"val_{name}": value for name, value in found.items()}

        def evaluate(self, x: Any = None, y: Any = None, *args: Any, **words: Any) -> Any:
            """The loss and metrics over all batches."""
            self._assert_compile_called("evaluate")
            return super().evaluate(adapted(x, y, words.get("sample_weight")), y, *args, **words)

        def predict(self, x: Any, *args: Any, **words: Any) -> Any:
            """The model's outputs for all batches, as NumPy arrays."""
            return tree.map_structure(
                lambda y: convert_to_numpy(y) if is_tensor(y) else y, super().predict(adapted(x), *args, **words)
            )

        # -- one batch, from outside ---------------------------------------------------------------------
        def train_on_batch(
            self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, return_dict: bool = False
        ) -> Any:
            """One step on a batch; its loss and metrics."""
            self._assert_compile_called("train_on_batch")
            if class_weight is not None:
                if sample_weight is not None:
                    raise ValueError(
                        "Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                        f"Received: sample_weight={sample_weight}, class_weight={class_weight}"
                    )
                sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
            self.reset_metrics()
            logs = pythonify_logs(self.make_train_function()([(x, y, sample_weight)]))
            return logs if return_dict else self._flatten_metrics_in_order(logs)

        def test_on_batch(self, *args: Any, **words: Any) -> Any:
            """The loss and metrics of a batch."""
            self.reset_metrics()
            return super().test_on_batch(*args, **words)

    return Trainer
