"""Datasets, samplers and loaders: the same items in the same order as PyTorch under the same seed."""

import importlib
import os
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tapegrad.torch import _arrays
from tapegrad.torch._generator import Generator, default_generator
from tapegrad.torch.utils import data as ours

# Workers are forked, as PyTorch's are on Linux; what JAX and Python say of that depends on what else this process has run.
pytestmark = [
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),  # where there are fewer cores than workers
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
Point = namedtuple("Point", "x y")


def tensor(x: Any) -> Any:
    return _arrays.made(np.asarray(x))


def plain(x: Any) -> Any:
    """A batch as lists and numbers."""
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [plain(y) for y in x]
    if _arrays.is_tensor(x):
        return _arrays.raw(x).tolist()
    return x.tolist() if hasattr(x, "tolist") else x


class Squares(ours.Dataset[Any]):
    def __init__(self, n: int = 10) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        return tensor(np.float32(i * i)), i


class Counting(ours.IterableDataset[Any]):
    def __len__(self) -> int:
        return 10

    def __iter__(self) -> Iterator[int]:
        info = ours.get_worker_info()
        start, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(start, 10, step))


# -- against PyTorch -----------------------------------------------------------------------------------------
@pytest.mark.interop("torch")
@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("own", [False, True])
def test_samplers_give_the_order_of_pytorch(seed: int, own: bool) -> None:
    import torch
    from torch.utils import data as theirs

    found = []
    for module, make in [(theirs, torch.Generator), (ours, Generator)]:
        (torch.default_generator if module is theirs else default_generator()).manual_seed(seed)
        g: Any = make().manual_seed(seed + 1) if own else None  # type: ignore[operator]
        m: Any = module
        items = list(range(10, 30))
        found.append(
            [
                list(m.RandomSampler(items, generator=g)),
                list(m.RandomSampler(items, num_samples=50, generator=g)),
                list(m.RandomSampler(items, replacement=True, num_samples=70, generator=g)),
                list(m.SubsetRandomSampler(items, generator=g)),
                list(m.WeightedRandomSampler([0.1, 0.4, 0.2, 3.0], 9, generator=g)),
                list(m.BatchSampler(m.RandomSampler(items, generator=g), 6, False)),
                list(m.BatchSampler(m.SequentialSampler(items), 6, True)),
                [list(m.DistributedSampler(items, 3, rank, seed=4)) for rank in range(3)],
                [list(m.DistributedSampler(items, 3, rank, shuffle=False, drop_last=True)) for rank in range(3)],
                [list(s.indices) for s in m.random_split(items, [0.55, 0.3, 0.15], *([g] if own else []))],
                [list(batch.tolist()) for batch in m.DataLoader(items, 6, shuffle=True, generator=g)]
                if module is theirs
                else [plain(batch) for batch in m.DataLoader(items, 6, shuffle=True, generator=g)],
                list(m.RandomSampler(items)),
            ]
        )
    assert found[0] == found[1]


@pytest.mark.interop("torch")
def test_a_loader_draws_from_the_default_generator_what_that_of_pytorch_draws() -> None:
    import torch
    from torch.utils import data as theirs

    torch.manual_seed(3)
    default_generator().manual_seed(3)
    for workers in (0, 2):
        for loader in (theirs, ours):
            m: Any = loader
            for _ in m.DataLoader(list(range(7)), 2, shuffle=True, num_workers=workers):
                break
        assert torch.get_rng_state().numpy().tobytes() == default_generator().state_bytes()


@pytest.mark.interop("torch")
def test_batches_have_the_structure_that_pytorch_gives_them() -> None:
    from torch.utils import data as theirs

    for batch in [
        [1, 2],
        [1.5, 2.5],
        [True, False],
        ["a", "b"],
        [b"a", b"b"],
        [np.float32(1), np.float32(2)],
        [np.ones(2), np.zeros(2)],
        [np.array(1), np.array(2)],
        [(1, "a"), (2, "b")],
        [[1, 2.5], [3, 4.5]],
        [{"x": 1, "y": [2, 3]}, {"x": 4, "y": [5, 6]}],
        [Point(1, 2.0), Point(3, 4.0)],
    ]:
        expected, found = theirs.default_collate(batch), ours.default_collate(batch)
        assert type(expected).__name__ == type(found).__name__
        assert plain(expected) == plain(found)
        if hasattr(expected, "dtype"):
            assert str(expected.dtype) == str(found.dtype)
    assert str(theirs.default_convert((1, np.ones(2)))[1].dtype) == str(ours.default_convert((1, np.ones(2)))[1].dtype)


# -- on their own --------------------------------------------------------------------------------------------
def test_a_recorded_order() -> None:
    default_generator().manual_seed(0)
    assert list(ours.RandomSampler(range(8))) == RECORDED


RECORDED = [2, 5, 4, 6, 1, 7, 0, 3]


def test_datasets_of_datasets() -> None:
    x, y = tensor(np.arange(6.0).reshape(3, 2)), tensor(np.arange(3))
    rows = ours.TensorDataset(x, y)
    both = rows + ours.Subset(rows, [2, 0])
    assert len(both) == 5
    assert plain(both[3]) == plain(both[-2]) == plain(rows[2])
    named = ours.StackDataset(rows=rows, label=["a", "b", "c"])
    assert plain(named[1]) == {"rows": plain(rows[1]), "label": "b"}
    assert plain(named.__getitems__([0, 2])) == [plain(named[0]), plain(named[2])]
    assert list(Counting() + Counting()) == [*range(10), *range(10)]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        ours.TensorDataset(x, tensor(np.arange(2)))


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_come_in_order_whoever_fetches_them(workers: int) -> None:
    loader = ours.DataLoader(Squares(), batch_size=4, num_workers=workers)
    assert len(loader) == 3
    expected = [[[float(i * i) for i in k], list(k)] for k in (range(4), range(4, 8), range(8, 10))]
    for _ in range(2):
        assert [plain(batch) for batch in loader] == expected
    assert len(list(ours.DataLoader(Squares(), 4, drop_last=True, num_workers=workers))) == 2
    assert [i for _, i in ours.DataLoader(Squares(3), None, num_workers=workers)] == [0, 1, 2]


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_of_an_iterable_dataset_share_its_items(persistent: bool) -> None:
    loader = ours.DataLoader(Counting(), 2, num_workers=2, persistent_workers=persistent)
    for _ in range(2):
        assert [plain(b) for b in loader] == [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]
    for _ in loader:  # left early, which the next pass has to cope with
        break
    assert sorted(x for b in loader for x in plain(b)) == list(range(10))
    assert [plain(b) for b in ours.DataLoader(Counting(), 4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


class Failing(Squares):
    def __getitem__(self, i: int) -> Any:
        if i == 3:
            raise KeyError("no third")
        return i


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_keeps_its_type_and_that_of_a_worker_tells_where_it_was_raised(workers: int) -> None:
    with pytest.raises(KeyError, match="no third") as caught:
        list(ours.DataLoader(Failing(), num_workers=workers))
    if workers:
        assert "Caught KeyError in DataLoader worker process 1.\nOriginal Traceback" in str(caught.value)
        assert 'raise KeyError("no third")' in str(caught.value)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_pass_goes_on_behind_a_batch_that_failed(workers: int) -> None:
    batches = iter(ours.DataLoader(Failing(6), 2, num_workers=workers))
    assert plain(next(batches)) == [0, 1]
    with pytest.raises(KeyError, match="no third"):
        next(batches)
    assert plain(next(batches)) == [4, 5]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(batches)


def test_workers_end_with_their_pass() -> None:
    batches = iter(ours.DataLoader(Squares(), num_workers=2))
    assert isinstance(batches, ours.dataloader._MultiProcessingDataLoaderIter)
    assert len(batches) == 10
    workers = batches._workers
    next(batches)
    assert all(w.is_alive() for w in workers)
    del batches
    assert [w.exitcode for w in workers] == [0, 0]


def test_an_iterable_dataset_that_is_longer_than_it_said_is_noticed() -> None:
    class Short(Counting):
        def __len__(self) -> int:
            return 9

    loader = ours.DataLoader(Short())
    assert len(list(loader)) == 10  # nobody has asked for a length
    assert len(loader) == 9
    batches = iter(loader)
    for _ in range(9):
        next(batches)
    with pytest.warns(UserWarning, match=r"reported to be 9 .*, but 10 samples have been fetched"):
        next(batches)


def test_the_parts_of_a_loader_have_the_names_of_pytorch() -> None:
    by_batches, by_items = ours.DataLoader([3, 4]), ours.DataLoader([3, 4], None)
    assert (by_batches._auto_collation, by_items._auto_collation) == (True, False)
    assert list(by_batches._index_sampler) == [[0], [1]]
    assert list(by_items._index_sampler) == [0, 1]
    generate_state = importlib.import_module("tapegrad.torch.utils.data._utils.worker")._generate_state
    assert generate_state(13434589827475259383, 4) == (2884386318, 1088094898, 3523808998, 3860348662)


class Dying(Squares):
    def __getitem__(self, i: int) -> Any:
        os._exit(3)


class Slow(Squares):
    def __getitem__(self, i: int) -> Any:
        import time

        time.sleep(30)


def test_a_worker_that_dies_or_is_too_slow_is_noticed() -> None:
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(ours.DataLoader(Dying(), num_workers=1))
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.2 seconds"):
        list(ours.DataLoader(Slow(), num_workers=1, timeout=0.2))


class Telling(Squares):
    def __getitem__(self, i: int) -> Any:
        info = ours.get_worker_info()
        assert info is not None
        return (
            info.id,
            info.num_workers,
            info.seed - info.id,
            default_generator().initial_seed() - info.id,
            os.environ["ME"],
        )


def set_name(number: int) -> None:
    os.environ["ME"] = str(number)


def test_workers_know_themselves_and_are_seeded_from_the_loaders_generator() -> None:
    loader = ours.DataLoader(
        Telling(4), None, num_workers=2, worker_init_fn=set_name, generator=Generator().manual_seed(8)
    )
    rows = list(loader)
    seed = Generator().manual_seed(8).long_words(1)[0] & ((1 << 63) - 1)
    assert [list(row) for row in rows] == [[i % 2, 2, seed, seed, str(i % 2)] for i in range(4)]
    assert ours.get_worker_info() is None


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: ours.DataLoader([1], batch_sampler=[[0]], shuffle=True), ValueError, "mutually exclusive"),
        (lambda: ours.DataLoader([1], sampler=[0], shuffle=True), ValueError, "mutually exclusive with shuffle"),
        (lambda: ours.DataLoader([1], batch_size=None, drop_last=True), ValueError, "disables auto-batching"),
        (lambda: ours.DataLoader([1], num_workers=-1), ValueError, "should be non-negative"),
        (lambda: ours.DataLoader([1], prefetch_factor=2), ValueError, "let num_workers > 0"),
        (lambda: ours.DataLoader([1], persistent_workers=True), ValueError, "needs num_workers > 0"),
        (lambda: ours.DataLoader([1], batch_size=0), ValueError, "positive integer value, but got batch_size=0"),
        (lambda: ours.DataLoader([], shuffle=True), ValueError, "got num_samples=0"),
        (lambda: ours.DataLoader(Counting(), shuffle=True), ValueError, "got shuffle=True"),
        (lambda: setattr(ours.DataLoader([1]), "batch_size", 3), ValueError, "should not be set after"),
        (lambda: ours.default_collate([object()]), TypeError, "batch must contain tensors.*found <class 'object'>"),
        (lambda: ours.default_collate([[1], [1, 2]]), RuntimeError, "of equal size"),
        (
            lambda: ours.default_collate([tensor([1]), tensor([1, 2])]),
            RuntimeError,
            r"\[1\] at entry 0 and \[2\] at entry 1",
        ),
        (lambda: ours.DataLoader([1], multiprocessing_context="fork"), ValueError, r"num_workers > 0\), but got num_workers=0"),
        (lambda: ours.DataLoader([1], num_workers=1, multiprocessing_context="no"), ValueError, "a valid start method in"),
        (lambda: ours.DataLoader([1], num_workers=1, multiprocessing_context=1), TypeError, "should be a valid context object"),
        (lambda: ours.random_split([1, 2], [1, 2]), ValueError, "Sum of input lengths does not equal"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_more_workers_than_cores_are_noticed() -> None:
    with pytest.warns(UserWarning, match="excessive worker creation might get DataLoader running slow"):
        ours.DataLoader([1], num_workers=100_000)
