"""`python -m tapegrad demo`: trains a classifier of handwritten digits and draws how that went."""

import math
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

NEEDS = {"sklearn": "scikit-learn", "matplotlib": "matplotlib", "rich": "rich"}


class DemoError(Exception):
    """The demo can't run as it was asked to; the message says what to do."""


class UsageError(DemoError):
    """What was asked for, or the environment, has to change before anything runs."""


def run(options: Namespace) -> None:
    """Train, test, draw and print, as the parsed command line says."""
    require_extra()
    check_writable(options.out)

    from tapegrad.demo import digits, picture, progress

    started = perf_counter()
    images, test_images, labels, test_labels = digits.load(options.seed)
    if options.batch > len(images):
        raise UsageError(f"argument --batch: expected at most {len(images)}, the training images; got {options.batch}")
    if not options.quiet:
        print(f"training on {len(images)} digits, testing on {len(test_images)}", flush=True)

    params = digits.network(options.seed)
    losses: list[float] = []
    steps = math.ceil(len(images) / options.batch)
    with progress.shown(options.epochs, steps, quiet=options.quiet) as show:
        for loss in digits.train(
            params, images, labels, epochs=options.epochs, batch=options.batch, lr=options.lr, seed=options.seed
        ):
            if not math.isfinite(loss):
                step = len(losses) + 1
                raise DemoError(f"the loss became {loss} at step {step}: try a smaller --lr than {options.lr}")
            losses.append(loss)
            show(loss)

    predictions = digits.logits(params, test_images).numpy().argmax(axis=1)
    right = int((predictions == test_labels).sum())
    picture.draw(losses, steps, test_images, test_labels, predictions).savefig(options.out, format="png", dpi=120)
    if not options.quiet:
        print(f"loss curve and predictions: {options.out}")
    print(
        f"test accuracy {right / len(test_labels):.2%} "
        f"({right} of {len(test_labels)} digits, seed {options.seed}, {perf_counter() - started:.1f} s)"
    )


def require_extra() -> None:
    missing = [package for module, package in NEEDS.items() if find_spec(module) is None]
    if missing:
        raise UsageError(f"the demo needs {', '.join(missing)}: pip install 'tapegrad[demo]' installs what is missing")


def check_writable(out: Path) -> None:
    """Open the file that will be written at the end, so that a wrong name costs no training."""
    existed = out.exists()
    try:
        out.open("ab").close()
    except OSError as error:
        raise UsageError(f"argument --out: cannot write {str(out)!r}: {error.strerror}") from error
    if not existed:
        out.unlink()
