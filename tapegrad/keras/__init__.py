"""Keras on tapegrad: `from tapegrad.keras import load; keras = load()`, with layers, optimisers, `fit` and the rest."""

from tapegrad.keras.loading import is_loaded, load

__all__ = ["is_loaded", "load"]
