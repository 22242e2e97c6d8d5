"""What losses, cells and folds refuse as PyTorch does, where they would compute something else."""

import pytest
import torch as real

import tapegrad.torch as T

REFUSED = {
    "state of another batch": "t.nn.RNNCell(4, 5)(t.ones(3, 4), t.ones(1, 5))",
    "state of another width": "t.nn.GRUCell(4, 5)(t.ones(3, 4), t.ones(3, 1))",
    "memory of another batch": "t.nn.LSTMCell(4, 5)(t.ones(3, 4), (t.ones(3, 5), t.ones(1, 5)))",
    "no steps": "t.nn.LSTM(4, 5)(t.ones(0, 3, 4))",
    "lengths that are no integers": "F.ctc_loss(p, t.ones(2, 3, dtype=t.int64), t.tensor([5.0, 5.0]), t.tensor([3, 2]))",
    "targets longer than they are": "F.ctc_loss(p, t.ones(2, 3, dtype=t.int64), [5, 5], [4, 2])",
    "more steps than there are": "F.ctc_loss(p, t.ones(2, 3, dtype=t.int64), [6, 5], [3, 2])",
    "lengths of another batch": "F.ctc_loss(p, t.ones(2, 3, dtype=t.int64), [5], [3, 2])",
    "a blank that is no label": "F.ctc_loss(p, t.ones(2, 3, dtype=t.int64), [5, 5], [3, 2], blank=4)",
    "several targets": "F.cosine_embedding_loss(t.ones(2, 3), t.ones(2, 3), t.ones(2, 2))",
    "vectors for a batch": "F.cosine_embedding_loss(t.ones(3), t.ones(3), t.ones(3))",
    "a batch for one target": "F.cosine_embedding_loss(t.ones(2, 3), t.ones(2, 3), t.tensor(1))",
    "pairs of different widths": "F.cosine_embedding_loss(t.ones(2, 3), t.ones(2, 5), t.ones(2))",
    "channels that are no windows": "F.fold(t.ones(1, 5, 9), (4, 5), (2, 3))",
    "windows that are not there": "F.fold(t.ones(1, 12, 12), (4, 5), (2, 2), dilation=8)",
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_does_not_fit_is_refused_in_pytorchs_class(name: str) -> None:
    for torch in (real, T):
        space = {"t": torch, "F": torch.nn.functional, "p": torch.zeros(5, 2, 4).log_softmax(2)}
        with pytest.raises(RuntimeError):
            eval(REFUSED[name], space)
