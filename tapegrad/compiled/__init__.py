"""Compiling functions of tapegrad ops, through TensorFlow's graphs and XLA."""

from tapegrad.compiled.function import Function, function

__all__ = ["Function", "function"]
