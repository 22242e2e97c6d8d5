"""PyTorch's file formats: archives of tensors, and the older sequence of pickles."""
