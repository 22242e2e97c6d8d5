"""Datasets, samplers and loaders, as in `torch.utils.data`."""

from tapegrad.torch._absent import part
from tapegrad.torch._missing import refusing
from tapegrad.torch.utils.data._collate import default_collate, default_convert
from tapegrad.torch.utils.data._workers import WorkerInfo, generate_state, get_worker_info
from tapegrad.torch.utils.data.dataloader import DataLoader
from tapegrad.torch.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from tapegrad.torch.utils.data.sampler import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

#: Where scripts import the functions for batches of their own from.
_utils = part(__name__, "_utils", "The parts of `torch.utils.data`.")
_utils.collate = part(
    _utils.__name__, "collate", "From items to batches.", default_collate=default_collate, default_convert=default_convert
)
_utils.worker = part(
    _utils.__name__, "worker", "What a worker knows of itself.",
    WorkerInfo=WorkerInfo, get_worker_info=get_worker_info, _generate_state=generate_state,
)  # fmt: skip

__getattr__ = refusing(globals())

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
