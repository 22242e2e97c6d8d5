"""Optimizers."""

from tapegrad.torch._missing import refusing
from tapegrad.torch.optim import lr_scheduler, optimizer
from tapegrad.torch.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from tapegrad.torch.optim.adaptive import Adadelta, Adagrad, RMSprop, SparseAdam
from tapegrad.torch.optim.lbfgs import LBFGS
from tapegrad.torch.optim.optimizer import Optimizer
from tapegrad.torch.optim.sgd import ASGD, SGD, Rprop

__getattr__ = refusing(globals())

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "optimizer",
]
