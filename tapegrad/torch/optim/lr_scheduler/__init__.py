"""Schedules of learning rates."""

from tapegrad.torch._missing import refusing
from tapegrad.torch.optim.lr_scheduler.composed import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from tapegrad.torch.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from tapegrad.torch.optim.lr_scheduler.scheduler import EPOCH_DEPRECATION_WARNING, LRScheduler, _LRScheduler
from tapegrad.torch.optim.lr_scheduler.simple import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__getattr__ = refusing(globals())

__all__ = [
    "EPOCH_DEPRECATION_WARNING",
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "_LRScheduler",
]
