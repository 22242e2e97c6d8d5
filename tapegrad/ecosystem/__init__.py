"""What other packages are told of tapegrad's tensors, when they are imported: PyTorch, TensorFlow, einops."""
