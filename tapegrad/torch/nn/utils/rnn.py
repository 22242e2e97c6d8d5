"""Sequences of different lengths in one batch: padded to one length, or packed without padding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tapegrad.torch._missing import refusing
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Fields(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(_Fields):
    """Steps of several sequences, time first: those of all sequences that have a first step, a second one, and so on."""

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> Any:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Any) -> Any:
        return type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def _with_data(self, data: Any) -> Any:
        return self if data is self.data else self._with(data)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """The same with its data converted; itself, where there is nothing to convert."""
        return self._with_data(self.data.to(*args, **kwargs))

    def cpu(self) -> Any:
        """The same on the CPU."""
        return self._with_data(self.data.cpu())

    def cuda(self, *args: Any, **kwargs: Any) -> Any:
        """The same on a GPU."""
        return self._with_data(self.data.cuda(*args, **kwargs))

    def double(self) -> Any:
        """The same in float64."""
        return self._with_data(self.data.double())

    def float(self) -> Any:
        """The same in float32."""
        return self._with_data(self.data.float())

    def half(self) -> Any:
        """The same in float16."""
        return self._with_data(self.data.half())

    def long(self) -> Any:
        """The same in int64."""
        return self._with_data(self.data.long())

    def int(self) -> Any:
        """The same in int32."""
        return self._with_data(self.data.int())

    def short(self) -> Any:
        """The same in int16."""
        return self._with_data(self.data.short())

    def char(self) -> Any:
        """The same in int8."""
        return self._with_data(self.data.char())

    def byte(self) -> Any:
        """The same in uint8."""
        return self._with_data(self.data.byte())

    def pin_memory(self) -> Any:
        """The same: memory is never pinned."""
        return self

    def is_pinned(self) -> bool:
        """False: memory is never pinned."""
        return False

    @property
    def is_cuda(self) -> bool:
        """Whether the data are on a GPU."""
        return bool(self.data.is_cuda)


def invert_permutation(permutation: Any) -> Any:
    """The permutation that undoes this one."""
    return None if permutation is None else wrap(np.argsort(np.asarray(permutation.array)))


def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> Any:
    """Padded sequences, (T, N, ...), packed; they are sorted by length unless they have to be so already."""
    lengths = np.asarray(lengths.array if isinstance(lengths, Tensor) else lengths).astype(np.int64)
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    order = None
    if not enforce_sorted:
        places = np.argsort(-lengths, kind="stable")
        lengths = lengths[places]
        order = wrap(places)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    t, n = input.array.shape[:2]
    if lengths.size != n:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.size} (batch_size={n})")
    if lengths.min() <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if (np.diff(lengths) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` "
            "to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
        )
    sizes = (lengths[None, :] > np.arange(lengths.max())[:, None]).sum(axis=1)
    if len(sizes) > t:
        raise RuntimeError(f"Expected sequence length to be at most {t}, but got {len(sizes)}")
    steps = np.repeat(np.arange(len(sizes)), sizes)
    which = np.concatenate([np.arange(k) for k in sizes])
    return PackedSequence(S.getitem(input, (steps, which)), wrap(sizes.astype(np.int64)), order, None)


def pad_packed_sequence(
    sequence: Any, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> Any:
    """A packed batch, padded, and the lengths of its sequences."""
    sizes = np.asarray(sequence.batch_sizes.array)
    t, n = len(sizes), int(sizes[0])
    whole = t
    if total_length is not None:
        if total_length < t:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {t}"
            )
        whole = total_length
    steps = np.repeat(np.arange(t), sizes)
    which = np.concatenate([np.arange(k) for k in sizes])
    data = sequence.data
    blank = wrap(np.full((whole, n, *data.array.shape[1:]), padding_value, data.array.dtype))
    y = S.put(blank, data, (steps, which))
    lengths = wrap((sizes[:, None] > np.arange(n)).sum(axis=0).astype(np.int64))
    if sequence.unsorted_indices is not None:
        y = y.index_select(1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices)
    return (y.transpose(0, 1) if batch_first else y), lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Sequences, each (T_i, ...), in one tensor of the longest one's length."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    found = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    if not found:
        raise RuntimeError("received an empty list of sequences")
    longest = max(s.array.shape[0] for s in found)
    rows = []
    for s in found:
        gap = longest - s.array.shape[0]
        widths = ((gap, 0) if padding_side == "left" else (0, gap), *((0, 0),) * (len(s.array.shape) - 1))
        rows.append(S.pad(s, widths, constant_values=padding_value) if gap else s)
    return S.stack(rows, axis=0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences of a padded batch."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [rows[i][: int(n)] for i, n in enumerate(lengths)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> Any:
    """Sequences, each (T_i, ...), packed."""
    lengths = [s.array.shape[0] for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: Any) -> list[Any]:
    """The sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__getattr__ = refusing(globals())
