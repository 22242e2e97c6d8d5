"""`tf.saved_model`: the variables of an object saved and put back; functions are not saved, for there are no graphs."""

from __future__ import annotations

import os
from typing import Any

from tapegrad.tf.checkpoint_files import CheckpointReader
from tapegrad.tf.checkpoint_files import save as _write
from tapegrad.tf.checkpoints import walk
from tapegrad.tf.export import missing

# Names of files, tags and keys, which scripts compare and pass on.
ASSETS_DIRECTORY, DEBUG_DIRECTORY, VARIABLES_DIRECTORY, VARIABLES_FILENAME = "assets", "debug", "variables", "variables"
ASSETS_KEY, DEBUG_INFO_FILENAME_PB = "saved_model_assets", "saved_model_debug_info.pb"
SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT, SAVED_MODEL_SCHEMA_VERSION = "saved_model.pb", "saved_model.pbtxt", 1
SERVING, TRAINING, GPU, TPU, DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serve", "train", "gpu", "tpu", "serving_default"
CLASSIFY_INPUTS = PREDICT_INPUTS = REGRESS_INPUTS = "inputs"
PREDICT_OUTPUTS = REGRESS_OUTPUTS = "outputs"
CLASSIFY_OUTPUT_CLASSES, CLASSIFY_OUTPUT_SCORES = "classes", "scores"
CLASSIFY_METHOD_NAME, PREDICT_METHOD_NAME, REGRESS_METHOD_NAME = (
    f"tensorflow/serving/{what}" for what in ("classify", "predict", "regress")
)


def save(obj: Any, export_dir: Any, signatures: Any = None, options: Any = None) -> None:
    """Save the variables of an object.

    Raises ValueError where there is none.  The program of its functions is not saved: `load` gives the values alone.
    """
    values = {name: v.numpy() for name, v in walk(obj)}
    if not values:
        raise ValueError(f"tf.saved_model.save: expected an object with variables, got {obj!r}")
    _write(os.path.join(os.fspath(export_dir), "variables", "variables"), values)


class SaveOptions:
    """Options of `save`, by TensorFlow's words; none has an effect on values."""

    def __init__(
        self,
        namespace_whitelist: Any = None,
        save_debug_info: bool = False,
        function_aliases: Any = None,
        experimental_debug_stripper: bool = False,
        experimental_io_device: Any = None,
        experimental_variable_policy: Any = None,
        experimental_custom_gradients: bool = True,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
        experimental_sharding_callback: Any = None,
        extra_tags: Any = None,
    ) -> None:
        self.__dict__.update((k, v) for k, v in locals().items() if k != "self")


class LoadOptions:
    """Options of `load`, by TensorFlow's words; none has an effect on values."""

    def __init__(
        self,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: Any = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy: Any = None,
        experimental_load_function_aliases: bool = False,
    ) -> None:
        self.__dict__.update((k, v) for k, v in locals().items() if k != "self")


class Loaded:
    """The values of a saved object."""

    def __init__(self, values: dict[str, Any]) -> None:
        from tapegrad.tf.variable import Variable

        self._named = {name: Variable(value, name=name) for name, value in values.items()}
        self.variables = list(self._named.values())
        self.trainable_variables = self.variables
        self.signatures: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"what tapegrad saved holds values and no functions, so there is no {name!r}; build the object again and call "
            "loaded.restore_into(object)",
            name=name,
            obj=self,
        )

    def restore_into(self, obj: Any) -> None:
        """Give the variables of an object of the same kind their values."""
        for name, v in walk(obj):
            if name in self._named:
                v.assign(self._named[name].numpy())

    def __call__(self, *args: Any, **words: Any) -> Any:
        raise NotImplementedError(
            "a model that tapegrad saved holds values and no functions; build the model again and call loaded.restore_into(model)"
        )


def load(export_dir: Any, tags: Any = None, options: Any = None) -> Loaded:
    """The values of a saved object, as variables; its functions are not there (see `Loaded.restore_into`)."""
    return Loaded(CheckpointReader(os.path.join(os.fspath(export_dir), "variables", "variables")).values())


def contains_saved_model(export_dir: Any) -> bool:
    """Whether there is a saved object."""
    return os.path.exists(os.path.join(os.fspath(export_dir), "variables", "variables.index"))


def __getattr__(name: str) -> Any:
    raise AttributeError(missing(__name__, name, globals()), name=name)
