"""Options of datasets, by TensorFlow's words: each is kept and can be read, none has an effect."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterable
from typing import Any


class _Group:
    """Options of one kind: unset ones are None; a word that is none of them is refused."""

    _words: tuple[str, ...] = ()

    def __init__(self) -> None:
        for word in self._words:
            object.__setattr__(self, word, self._first(word))

    def _first(self, word: str) -> Any:
        return None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._words:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.", name=name, obj=self)
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        said = {k: v for k, v in vars(self).items() if v is not None}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in said.items())})"


class ThreadingOptions(_Group):
    """Numbers of threads."""

    _words = ("max_intra_op_parallelism", "private_threadpool_size")


class AutotuneOptions(_Group):
    """What would be tuned."""

    _words = ("autotune_algorithm", "cpu_budget", "enabled", "initial_parallelism", "ram_budget", "min_parallelism")


class DistributeOptions(_Group):
    """How elements would be shared out."""

    _words = ("auto_shard_policy", "num_devices")


class OptimizationOptions(_Group):
    """What would be rewritten."""

    _words = (
        "apply_default_optimizations",
        "filter_fusion",
        "filter_parallelization",
        "inject_prefetch",
        "map_and_batch_fusion",
        "map_and_filter_fusion",
        "map_fusion",
        "map_parallelization",
        "noop_elimination",
        "parallel_batch",
        "seq_interleave_prefetch",
        "shuffle_and_repeat_fusion",
        "warm_start",
    )


class ServiceOptions(_Group):
    """What a service would be asked."""

    _words = ("pinned",)


class Options(_Group):
    """Options of a dataset: each can be set and read, none has an effect."""

    _GROUPS = {  # noqa: RUF012  a table
        "autotune": AutotuneOptions,
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "experimental_service": ServiceOptions,
        "threading": ThreadingOptions,
    }
    _words = (
        "autotune",
        "dataset_name",
        "deterministic",
        "experimental_distribute",
        "experimental_external_state_policy",
        "experimental_optimization",
        "experimental_service",
        "experimental_slack",
        "experimental_symbolic_checkpoint",
        "experimental_warm_start",
        "framework_type",
        "threading",
    )

    def _first(self, word: str) -> Any:
        return self._GROUPS[word]() if word in self._GROUPS else None

    @property
    def experimental_deterministic(self) -> Any:
        """The older name of `deterministic`."""
        return vars(self)["deterministic"]

    @property
    def experimental_threading(self) -> Any:
        """The older name of `threading`."""
        return vars(self)["threading"]

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name.removeprefix("experimental_") if name in _OLDER else name, value)

    def merge(self, options: Options) -> Options:
        """These with what others set, which goes before."""
        made = Options()
        for word in self._words:
            mine, theirs = getattr(self, word), getattr(options, word)
            if isinstance(theirs, _Group):
                for part in theirs._words:
                    set_there = getattr(theirs, part)
                    setattr(getattr(made, word), part, getattr(mine, part) if set_there is None else set_there)
            else:
                setattr(made, word, mine if theirs is None else theirs)
        return made


_OLDER = ("experimental_deterministic", "experimental_threading")


class AutoShardPolicy(enum.IntEnum):
    """How a dataset would be shared out."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """What would be done with state from outside."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class AutotuneAlgorithm(enum.Enum):
    """How would be tuned."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


def inherited(made: Any, sources: Iterable[Any]) -> Any:
    """A dataset with the options of those that it is made of; what a later one sets goes before."""
    for dataset in sources:
        if getattr(dataset, "_options", None) is not None and dataset is not made:
            made._options = made.options().merge(dataset._options)
    return made


def keep_options(cls: type, *names: str) -> None:
    """Let what these methods make have the options of its dataset, and of those among the arguments."""

    def keeping(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def stage(*args: Any, **words: Any) -> Any:
            return inherited(method(*args, **words), (*args, *words.values()))

        return stage

    for name in names:
        setattr(cls, name, keeping(getattr(cls, name)))
