"""Programs of a few lines, whose `result` is to be the same under PyTorch and under tapegrad."""
