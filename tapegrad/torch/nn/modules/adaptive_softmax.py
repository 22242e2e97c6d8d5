"""A softmax over many classes, of which the rare ones are computed only where they are needed."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from tapegrad.torch.nn import functional as F
from tapegrad.torch.nn.modules.container import ModuleList, Sequential
from tapegrad.torch.nn.modules.linear import Linear
from tapegrad.torch.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Frequent classes in a head beside one entry for each cluster of rarer ones, whose own layers are narrower.

    Classes are ordered from frequent to rare; `cutoffs` are where clusters begin, and each cluster's layer is `div_value` times
    narrower than the one before.

    E. Grave, A. Joulin, M. Cissé, D. Grangier, H. Jégou, "Efficient softmax approximation for GPUs", 2017.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        given = list(cutoffs)
        if not given:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        ordered = given == sorted(set(given)) and all(int(c) == c for c in given)
        if not ordered or min(given) <= 0 or max(given) > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                f"between 1 and n_classes-1; got {given} of {n_classes} classes"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*given, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        where = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            narrow = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(Linear(in_features, narrow, bias=False, **where), Linear(narrow, size, bias=False, **where))
            )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster.children():
                layer.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> Any:
        single = target_.dim() == 0
        if not single and target_.dim() != 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if not single and input_.shape[0] != target_.shape[0]:
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension. "
                f"Got input {tuple(input_.shape)} and target {tuple(target_.shape)}"
            )
        if input_.dim() != (1 if single else 2):
            raise RuntimeError(f"{'1D' if single else '2D'} input tensor expected, got input {tuple(input_.shape)}")
        x, labels = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        if labels.numel() and (int(labels.min()) < 0 or int(labels.max()) >= self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{int(labels.min())}, {int(labels.max())}] were found. "
            )
        output = self._of_targets(x, labels)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _of_targets(self, x: Any, labels: Any) -> Any:
        """The log-probability of each sample's own class."""
        head = F.log_softmax(self.head(x), dim=1)
        in_head = labels < self.shortlist_size
        first = labels.where(in_head, self.shortlist_size - 1 + self._cluster_of(labels))
        output = head.gather(1, first.unsqueeze(1)).squeeze(1)
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((labels >= low) & (labels < high)).nonzero().squeeze(1)
            if rows.numel():
                within = F.log_softmax(self.tail[i](x.index_select(0, rows)), dim=1)
                own = within.gather(1, (labels.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
                output = output.index_add(0, rows, own)
        return output

    def _cluster_of(self, labels: Any) -> Any:
        """The number of a class's cluster, from 1; 0 in the head."""
        found = (labels >= self.cutoffs[0]).long()
        for cutoff in self.cutoffs[1:-1]:
            found = found + (labels >= cutoff).long()
        return found

    def log_prob(self, input: Any) -> Any:
        """The log-probabilities of all classes."""
        from tapegrad.torch import cat

        head = F.log_softmax(self.head(input), dim=1)
        pieces = [head[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            entry = head[:, self.shortlist_size + i].unsqueeze(1)
            pieces.append(F.log_softmax(self.tail[i](input), dim=1) + entry)
        return cat(pieces, dim=1)

    def predict(self, input: Any) -> Any:
        """The most probable class of each sample; rare clusters are computed only for samples that lead there."""
        head = self.head(input)
        output = head.argmax(dim=1)
        in_tail = output >= self.shortlist_size
        if not bool(in_tail.any()):
            return output
        if bool(in_tail.all()):
            return self.log_prob(input).argmax(dim=1)
        rows = in_tail.nonzero().squeeze(1)
        return output.index_copy(0, rows, self.log_prob(input.index_select(0, rows)).argmax(dim=1))
