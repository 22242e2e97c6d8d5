"""What is around tensors and modules: `data`, `hooks`, `checkpoint`."""
