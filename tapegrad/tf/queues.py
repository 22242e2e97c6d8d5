"""`tf.queue`: queues of elements between threads."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import as_dtype, numpy_dtype
from tapegrad.tf.errors import CancelledError, OutOfRangeError
from tapegrad.tf.export import export
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.tensor import Tensor


@export("queue.QueueBase")
class QueueBase:
    """A queue of elements, each of some tensors; it waits while it is full, or empty, until it is closed."""

    def __init__(self, capacity: Any, dtypes: Any, shapes: Any, names: Any, name: str) -> None:
        self.dtypes = [as_dtype(d) for d in (dtypes if isinstance(dtypes, list | tuple) else [dtypes])]
        given = [shapes] if shapes is not None and not _is_listed(shapes, len(self.dtypes)) else shapes
        self.shapes = [TensorShape(s) for s in given] if given is not None else [TensorShape(None)] * len(self.dtypes)
        if len(self.shapes) != len(self.dtypes):
            raise ValueError(f"Queue shapes must have the same length as dtypes, got {len(self.shapes)} and {len(self.dtypes)}")
        self.names = [names] if isinstance(names, str) else names
        self.name = name
        self._capacity = int(capacity) if int(capacity) > 0 else 2**31 - 1
        self._closed = False
        self._there = threading.Condition()

    # -- where elements are kept: a kind of its own may keep them otherwise --------------------------------
    _rows: Any

    def _put(self, row: list[Any]) -> None:
        self._rows.append(row)

    def _take(self) -> list[Any]:
        found: list[Any] = self._rows.popleft()
        return found

    def _enough(self) -> int:
        return 1

    # -- use -----------------------------------------------------------------------------------------------
    def enqueue(self, vals: Any, name: str | None = None) -> None:
        """Put an element at the end; waits while the queue is full."""
        row = self._row(vals)
        with self._there:
            self._there.wait_for(lambda: self._closed or len(self._rows) < self._capacity)
            if self._closed:
                raise CancelledError(None, None, f"{self.name} is closed.")
            self._put(row)
            self._there.notify_all()

    def enqueue_many(self, vals: Any, name: str | None = None) -> None:
        """Put elements at the end: the rows of each tensor."""
        parts = [convert(v) for v in self._listed(vals)]
        for k in range(int(parts[0].shape[0])):
            self.enqueue([p[k] for p in parts] if len(parts) > 1 else parts[0][k])

    def dequeue(self, name: str | None = None) -> Any:
        """The first element; waits while there is none, and raises OutOfRangeError if there will be none."""
        return self._given(self._next())

    def _next(self) -> list[Any]:
        with self._there:
            self._there.wait_for(lambda: self._closed or len(self._rows) >= self._enough())
            if not self._rows:
                raise OutOfRangeError(None, None, f"{self.name} is closed and has insufficient elements (requested 1, current size 0)")
            row = self._take()
            self._there.notify_all()
            return row

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """The first elements, as one tensor of rows for each part."""
        return self._given(self._stacked([self._next() for _ in range(int(n))]))

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """The first elements, or as many as there are in a queue that is closed."""
        with self._there:
            count = min(int(n), len(self._rows)) if self._closed else int(n)
        return self.dequeue_many(count)

    def _stacked(self, rows: list[list[Any]]) -> list[Any]:
        return [fresh(np.stack([host(v) for v in column])) for column in zip(*rows, strict=True)]

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are."""
        with self._there:
            return fresh(np.asarray(len(self._rows), np.int32))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> None:
        """Let nobody put anything any more; what is there can be taken."""
        with self._there:
            self._closed = True
            self._there.notify_all()

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether it was closed."""
        return fresh(np.asarray(self._closed))

    # -- elements --------------------------------------------------------------------------------------------
    def _listed(self, vals: Any) -> list[Any]:
        if isinstance(vals, dict):
            if not self.names or sorted(self.names) != sorted(vals):
                given = f"Dictionary: {sorted(vals)}, Queue: {self.names}"
                raise ValueError(f"Keys in dictionary to enqueue do not match names of Queue.  {given}")
            return [vals[k] for k in self.names]
        if self.names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        many = len(self.dtypes) > 1 or (isinstance(vals, list | tuple) and len(vals) == 1)
        return list(vals) if many and isinstance(vals, list | tuple) else [vals]

    def _row(self, vals: Any) -> list[Any]:
        given = self._listed(vals)
        if len(given) != len(self.dtypes):
            raise ValueError(f"Queue {self.name} takes {len(self.dtypes)} tensors, got {len(given)}")
        row = [convert(v, numpy_dtype(d)) for v, d in zip(given, self.dtypes, strict=True)]
        for v, shape in zip(row, self.shapes, strict=True):
            v.shape.assert_is_compatible_with(shape)
        return row

    def _given(self, row: list[Any]) -> Any:
        if self.names:
            return dict(zip(self.names, row, strict=True))
        return row[0] if len(row) == 1 else row


def _is_listed(shapes: Any, count: int) -> bool:
    """Whether it is a list of a shape for each tensor, and no shape itself."""
    return isinstance(shapes, list | tuple) and len(shapes) == count and all(not isinstance(s, int) for s in shapes)


@export("queue.FIFOQueue")
class FIFOQueue(QueueBase):
    """A queue whose first element is the one that came first.

    >>> import tapegrad.tf as tf
    >>> q = tf.queue.FIFOQueue(3, tf.int32, shapes=[()])
    >>> q.enqueue_many([[4, 5]])
    >>> int(q.dequeue()), int(q.size())
    (4, 1)
    """

    def __init__(
        self,
        capacity: Any,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        super().__init__(capacity, dtypes, shapes, names, name)
        self._rows = deque()


@export("queue.PaddingFIFOQueue")
class PaddingFIFOQueue(FIFOQueue):
    """A queue that fills up tensors of several lengths with zeros where it gives several at once."""

    def _stacked(self, rows: list[list[Any]]) -> list[Any]:
        found = []
        for column in zip(*rows, strict=True):
            raws = [host(v) for v in column]
            size = np.max([r.shape for r in raws], axis=0) if raws[0].ndim else ()
            batch = np.zeros((len(raws), *size), raws[0].dtype)
            for place, r in zip(batch, raws, strict=True):
                place[tuple(slice(0, n) for n in r.shape)] = r
            found.append(fresh(batch))
        return found


@export("queue.RandomShuffleQueue")
class RandomShuffleQueue(QueueBase):
    """A queue that gives elements in an order that is drawn, from as many as `min_after_dequeue` and one more."""

    def __init__(
        self,
        capacity: Any,
        min_after_dequeue: Any,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: Any = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        super().__init__(capacity, dtypes, shapes, names, name)
        self._rows = []
        self._least = int(min_after_dequeue)
        self._draw = np.random.default_rng(seed)

    def _enough(self) -> int:
        return self._least + 1

    def _take(self) -> list[Any]:
        found: list[Any] = self._rows.pop(int(self._draw.integers(len(self._rows))))
        return found


@export("queue.PriorityQueue")
class PriorityQueue(QueueBase):
    """A queue whose first element is the one of the least priority, an int64 that goes before the other tensors."""

    def __init__(
        self,
        capacity: Any,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        listed = types if isinstance(types, list | tuple) else [types]
        inner = None if shapes is None else [(), *(shapes if _is_listed(shapes, len(listed)) else [shapes])]
        super().__init__(capacity, [np.int64, *listed], inner, names, name)
        self._rows = []
        self._came = itertools.count()

    def _put(self, row: list[Any]) -> None:
        heapq.heappush(self._rows, (int(row[0]), next(self._came), row))

    def _take(self) -> list[Any]:
        found: list[Any] = heapq.heappop(self._rows)[2]
        return found
