"""Optimizers."""

import sys

from tapegrad.torch._absent import part
from tapegrad.torch._missing import refusing
from tapegrad.torch.optim import lr_scheduler, optimizer, swa_utils
from tapegrad.torch.optim.adafactor import Adafactor
from tapegrad.torch.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from tapegrad.torch.optim.adaptive import Adadelta, Adagrad, RMSprop, SparseAdam
from tapegrad.torch.optim.lbfgs import LBFGS
from tapegrad.torch.optim.muon import Muon
from tapegrad.torch.optim.optimizer import Optimizer
from tapegrad.torch.optim.sgd import ASGD, SGD, Rprop

#: PyTorch has a module for each optimizer: `from torch.optim.adamw import AdamW`.
for _optimizer in (ASGD, Adadelta, Adagrad, Adamax, AdamW, NAdam, RAdam, RMSprop, Rprop):
    _name = _optimizer.__name__.lower()
    setattr(sys.modules[__name__], _name, part(__name__, _name, _optimizer.__doc__ or "", **{_optimizer.__name__: _optimizer}))
sparse_adam = part(__name__, "sparse_adam", SparseAdam.__doc__ or "", SparseAdam=SparseAdam)

__getattr__ = refusing(globals())

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "optimizer",
    "swa_utils",
]
