"""The version, in the one place where everything reads it."""

__version__ = "0.1.0"
