"""What a training run shows of itself: a bar on a terminal, lines in a pipe or a file, or nothing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from statistics import fmean
from time import perf_counter
from typing import TypeAlias

Show: TypeAlias = Callable[[float], None]


def shown(epochs: int, steps: int, *, quiet: bool) -> AbstractContextManager[Show]:
    """A context that gives the function to call with the loss of each step, `steps` of them an epoch."""
    if quiet:
        return nullcontext(lambda loss: None)
    return bar(epochs, steps) if sys.stdout.isatty() else lines(epochs, steps)


@contextmanager
def lines(epochs: int, steps: int) -> Iterator[Show]:
    """About ten lines in all, each with the mean loss of the epoch that it closes."""
    every = -(-epochs // 10)
    started = perf_counter()
    losses: list[float] = []

    def show(loss: float) -> None:
        losses.append(loss)
        epoch, step = divmod(len(losses), steps)
        if step == 0 and (epoch % every == 0 or epoch == epochs):
            count = f"{epoch:>{len(str(epochs))}}/{epochs}"
            seconds = perf_counter() - started
            print(f"epoch {count}  loss {fmean(losses[-steps:]):.4f}  {seconds:.1f} s", flush=True)

    yield show


@contextmanager
def bar(epochs: int, steps: int) -> Iterator[Show]:
    """One line that is redrawn in place, with the loss smoothed over about an epoch."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    progress = Progress(
        TextColumn("epoch {task.fields[epoch]}/{task.fields[epochs]}"),
        BarColumn(bar_width=None),
        TextColumn("loss {task.fields[loss]}"),
        TimeElapsedColumn(),
        expand=True,
    )
    task = progress.add_task("training", total=epochs * steps, epoch=1, epochs=epochs, loss="-")
    smooth, count = 0.0, 0

    def show(loss: float) -> None:
        nonlocal smooth, count
        count += 1
        smooth += (loss - smooth) / min(count, steps)
        progress.update(task, advance=1, epoch=min(count // steps + 1, epochs), loss=f"{smooth:.4f}")

    with progress:
        yield show
