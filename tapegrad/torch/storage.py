"""`torch.storage`: the memory of tensors as an object."""

from tapegrad.torch._functions.storages import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
