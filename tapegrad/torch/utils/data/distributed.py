"""The sampler for several processes, under the name of its module in PyTorch."""

from tapegrad.torch.utils.data.sampler import DistributedSampler

__all__ = ["DistributedSampler"]
