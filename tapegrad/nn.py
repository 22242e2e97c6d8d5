"""Functions of neural networks."""

from tapegrad.ops import nn as _ops
from tapegrad.ops import reductions as _reductions

relu = _ops.relu.entry
sigmoid = _ops.sigmoid.entry
softplus = _ops.softplus.entry
cross_entropy = _ops.cross_entropy.entry
one_hot = _ops.one_hot.entry
softmax = _reductions.softmax.entry
log_softmax = _reductions.log_softmax.entry
logsumexp = _reductions.logsumexp.entry

__all__ = ["cross_entropy", "log_softmax", "logsumexp", "one_hot", "relu", "sigmoid", "softmax", "softplus"]
