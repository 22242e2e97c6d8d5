"""`tf.distribute` with one replica: what strategies do on a machine with one device."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from tapegrad.tf.convert import convert
from tapegrad.tf.export import Namespace, missing
from tapegrad.tf.reducing import reduce_mean, reduce_sum


class ReduceOp(Enum):
    """How values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"


class _State(threading.local):
    """The strategies that are in force in this thread."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


_state = _State()


class Strategy:
    """One replica, on the CPU."""

    num_replicas_in_sync = 1

    def __init__(self, *args: Any, **words: Any) -> None:
        self.extended = self
        self.worker_devices = ("/device:CPU:0",)

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A context in which this strategy is in force."""
        _state.stack.append(self)
        try:
            yield self
        finally:
            _state.stack.pop()

    def run(self, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """What the function gives on the one replica."""
        return fn(*args, **(kwargs or {}))

    experimental_run_v2 = run

    def reduce(self, reduce_op: Any, value: Any, axis: Any) -> Any:
        """The value, summed or averaged over an axis if one is given."""
        if axis is None:
            return convert(value)
        name = getattr(reduce_op, "value", reduce_op).upper()
        return reduce_sum(value, axis) if name == "SUM" else reduce_mean(value, axis)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """The dataset itself."""
        return dataset

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The value of the one replica."""
        return (value,)

    def gather(self, value: Any, axis: int) -> Any:
        """The value of the one replica."""
        return convert(value)


class OneDeviceStrategy(Strategy):
    """One replica, on a device that is the CPU whatever it is called."""


class MirroredStrategy(Strategy):
    """As many replicas as there are devices: one."""


class CentralStorageStrategy(Strategy):
    """Variables in one place, and as many replicas as there are devices: one."""


class CrossDeviceOps:
    """How a `MirroredStrategy` adds up what its replicas have; one replica has nothing to add."""

    def __init__(self, num_packs: int = 1) -> None:
        self._num_packs = num_packs


class HierarchicalCopyAllReduce(CrossDeviceOps):
    """Sums by copies to one device of several groups."""


class NcclAllReduce(CrossDeviceOps):
    """Sums by NVIDIA's library."""


class ReductionToOneDevice(CrossDeviceOps):
    """Sums on one device."""

    def __init__(self, reduce_to_device: Any = None, accumulation_fn: Any = None) -> None:
        super().__init__()


class _Elsewhere(Strategy):
    """A strategy of other machines or devices: a class to inherit from and to ask `isinstance` with, which makes nothing."""

    def __init__(self, *args: Any, **words: Any) -> None:
        raise NotImplementedError(
            f"tf.distribute.{type(self).__name__}: the facade has one replica on one machine "
            "(tf.distribute.OneDeviceStrategy, MirroredStrategy); see tapegrad.distributed"
        )


class TPUStrategy(_Elsewhere):
    """Replicas on TPUs, which are not here."""


class MultiWorkerMirroredStrategy(_Elsewhere):
    """Replicas on several machines, which are not here."""


class ParameterServerStrategy(_Elsewhere):
    """Replicas beside servers of parameters, which are not here."""



def get_strategy() -> Strategy:
    """The strategy that is in force."""
    return _state.stack[-1] if _state.stack else _DEFAULT


def has_strategy() -> bool:
    """Whether one was entered."""
    return bool(_state.stack)


def in_cross_replica_context() -> bool:
    """Whether one was entered."""
    return bool(_state.stack)


class _Context:
    """What a replica knows of itself."""

    num_replicas_in_sync = 1
    replica_id_in_sync_group = 0

    @property
    def strategy(self) -> Strategy:
        """The strategy that is in force."""
        return get_strategy()

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """The value of the one replica."""
        return value


def get_replica_context() -> _Context:
    """The one replica."""
    return _Context()


_DEFAULT = Strategy()
experimental = Namespace("tapegrad.tf.distribute.experimental", "`tf.distribute.experimental`.")
for _strategy in (TPUStrategy, MultiWorkerMirroredStrategy, ParameterServerStrategy, CentralStorageStrategy):
    setattr(experimental, _strategy.__name__, _strategy)


class TPUClusterResolver:
    """What looks for TPUs; there are none, which is said as TensorFlow says it, so that scripts go on without them."""

    def __init__(self, tpu: str | None = None, *args: Any, **words: Any) -> None:
        raise ValueError(f"Please provide a TPU Name to connect to. (tapegrad has no TPUs; got {tpu!r})")

    @classmethod
    def connect(cls, tpu: str | None = None, *args: Any, **words: Any) -> TPUClusterResolver:
        """The TPUs by this name, of which there are none."""
        return cls(tpu)


cluster_resolver = Namespace("tapegrad.tf.distribute.cluster_resolver", "`tf.distribute.cluster_resolver`.")
cluster_resolver.TPUClusterResolver = TPUClusterResolver  # type: ignore[attr-defined]


def __getattr__(name: str) -> Any:
    raise AttributeError(missing(__name__, name, globals()), name=name)
