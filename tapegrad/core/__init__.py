"""Tensors, nodes, recorders and the engine: what knows of tapes, and of no op and no kernel by name."""
