"""The demo's picture: the loss curve, and test digits with what the network made of them."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg  # draws into memory, so no display is needed
from matplotlib.figure import Figure, SubFigure

ROWS, COLUMNS = 4, 6


def draw(losses: list[float], steps: int, images: np.ndarray, labels: np.ndarray, predictions: np.ndarray) -> Figure:
    """Training losses, `steps` of them an epoch, beside test images with their labels and predictions."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1, 1.1)).ravel()
    draw_losses(left, losses, steps)
    draw_digits(right, images, labels, predictions)
    return figure


def draw_losses(figure: SubFigure, losses: list[float], steps: int) -> None:
    epoch = np.arange(1, len(losses) + 1) / steps
    means = np.reshape(losses, (-1, steps)).mean(axis=1)
    marker = "." if len(means) == 1 else ""  # one point makes no line
    axes = figure.subplots()
    axes.plot(epoch, losses, color="tab:blue", alpha=0.25, linewidth=0.8, label="each step")
    axes.plot(epoch[steps - 1 :: steps], means, color="tab:blue", marker=marker, label="mean of the epoch")
    axes.set(xlabel="epoch", ylabel="cross-entropy", yscale="log", title="training loss")
    axes.grid(alpha=0.3)
    axes.legend()


def draw_digits(figure: SubFigure, images: np.ndarray, labels: np.ndarray, predictions: np.ndarray) -> None:
    """The first digits of the test, with the wrong ones in front, at most half of the places."""
    wrong = predictions != labels
    mistakes = np.flatnonzero(wrong)[: ROWS * COLUMNS // 2]
    chosen = np.concatenate([mistakes, np.flatnonzero(~wrong)])[: ROWS * COLUMNS]
    figure.suptitle(f"predictions: {len(labels) - wrong.sum()} of {len(labels)} right")
    grid = figure.subplots(ROWS, COLUMNS).ravel()
    for axes in grid:
        axes.set_axis_off()
    for axes, i in zip(grid, chosen, strict=False):
        axes.imshow(images[i], cmap="gray_r", vmin=0, vmax=1)
        title = f"{predictions[i]}, is {labels[i]}" if wrong[i] else f"{predictions[i]}"
        axes.set_title(title, color="tab:red" if wrong[i] else "black", fontsize=10)
