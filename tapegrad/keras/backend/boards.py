"""The callback TensorBoard on a facade's writers of summaries, where TensorFlow is not imported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from keras.src.callbacks import tensorboard

if TYPE_CHECKING:
    from collections.abc import Callable


def install(facade: Any, replaced: Callable[[], bool]) -> None:
    """Let the callback write with the facade, unless `replaced` says that TensorFlow is there."""
    imported: Any = vars(tensorboard.TensorBoard)["summary"]
    shipped = tensorboard.keras_model_summary

    def summary(self: Any) -> Any:
        return imported.fget(self) if replaced() else facade.summary

    def keras_model_summary(name: str, data: Any, step: Any = None) -> Any:
        """Write a model's configuration, of which TensorBoard draws its layers."""
        if replaced():
            return shipped(name, data, step)
        about = SimpleNamespace(plugin_data=SimpleNamespace(plugin_name="graph_keras_model", content=b"1"))
        return facade.summary.write(name, data.to_json(), step=step, metadata=about)

    tensorboard.TensorBoard.summary = property(summary)
    vars(tensorboard)["keras_model_summary"] = keras_model_summary
