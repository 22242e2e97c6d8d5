"""The same functions on raw arrays, one module for each array library; they know nothing of tapes."""
