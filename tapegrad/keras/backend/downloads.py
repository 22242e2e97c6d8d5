"""Files that Keras downloads: data sets and weights.  Where there is no network, the error says what to do."""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any

from keras.src.backend import config
from keras.src.utils import file_utils

_DATASETS = ("boston_housing", "california_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist", "reuters")


def install() -> None:
    """Let Keras's own calls of `get_file` say what to do if they fail."""
    shipped = file_utils.get_file

    @functools.wraps(shipped)
    def get_file(fname: Any = None, origin: Any = None, *args: Any, **words: Any) -> Any:
        try:
            return shipped(fname, origin, *args, **words)
        except Exception as error:
            if str(error).startswith("URL fetch failure"):
                home = words.get("cache_dir") or config.keras_home()
                folder = os.path.join(home, words.get("cache_subdir", "datasets"))
                error.add_note(
                    f"{origin} could not be downloaded. Where there is no network: make the same call on a machine that has one, "
                    f"and copy the file that it leaves in the folder {os.path.join('~/.keras', words.get('cache_subdir', 'datasets'))} "
                    f"to {folder} (the environment variable KERAS_HOME moves it)"
                )
            raise

    file_utils.get_file = get_file
    for name in _DATASETS:
        vars(importlib.import_module(f"keras.src.datasets.{name}"))["get_file"] = get_file
