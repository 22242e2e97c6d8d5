"""An iteration over a dataset, which a checkpoint saves as the number of elements that it has given."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tapegrad.tf.data.elements import placed
from tapegrad.tf.errors import OutOfRangeError

if TYPE_CHECKING:
    from tapegrad.tf.data.dataset import Dataset


class OwnedIterator:
    """An iteration over a dataset."""

    def __init__(self, dataset: Dataset, rows: Iterator[Any] | None = None) -> None:
        self._rows = map(placed, dataset._make_iterator() if rows is None else rows)
        self._dataset = dataset
        self._given = 0

    @property
    def element_spec(self) -> Any:
        """Shapes and dtypes of the elements."""
        return self._dataset._spec

    def __iter__(self) -> OwnedIterator:
        return self

    def __next__(self) -> Any:
        found = next(self._rows)
        self._given += 1
        return found

    def get_next(self) -> Any:
        """The next element; raises OutOfRangeError at the end."""
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError(None, None, "End of sequence [Op:IteratorGetNext]") from None

    next = get_next

    def get_next_as_optional(self) -> Any:
        """The next element as an optional, which is empty at the end."""
        from tapegrad.tf.data.resampling import next_or_none

        return next_or_none(self)

    # -- what a checkpoint saves and gives back ----------------------------------------------------------------
    def _place(self) -> int:
        return self._given

    def _go_to(self, given: int) -> None:
        """Begin anew, and pass over this many elements."""
        rows = self._dataset._make_iterator()
        next(itertools.islice(rows, given, given), None)
        self._rows, self._given = map(placed, rows), given
