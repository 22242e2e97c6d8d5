"""The command line: `python -m tapegrad demo`, `ops` and `run`."""

import math
import os
import sys
from argparse import REMAINDER, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from tapegrad._version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the value is the exit code."""
    parser = command_line()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    try:
        code: int = options.run(options, f"{parser.prog} {options.command}")
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read the output (`| head`) has gone; the interpreter must not try to flush it again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def run_demo(options: Namespace, prog: str) -> int:
    # Imported after the arguments are known to be good, so that a mistake is answered at once.
    from tapegrad import demo

    try:
        demo.run(options)
    except demo.DemoError as error:
        print(f"{prog}: error: {error}", file=sys.stderr)
        return 2 if isinstance(error, demo.UsageError) else 1
    return 0


def run_ops(options: Namespace, prog: str) -> int:
    from tapegrad.errors import ArgumentError
    from tapegrad.registry import docs

    try:
        print(docs.listing() if options.name is None else docs.document(docs.find(options.name)))
    except ArgumentError as error:
        print(f"{prog}: error: {error}", file=sys.stderr)
        return 2
    return 0


def run_script(options: Namespace, prog: str) -> int:
    from tapegrad import migrate

    words = {"style": options.style, "backend": options.backend}
    try:
        if options.module:
            return migrate.run_module(options.script, options.arguments, **words)
        return migrate.run_script(Path(options.script), options.arguments, **words)
    except migrate.ScriptError as error:
        print(f"{prog}: error: {error}", file=sys.stderr)
        return 2


def command_line() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m tapegrad", description="A tape-based autograd library on NumPy.")
    parser.add_argument("--version", action="version", version=f"tapegrad {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="train a classifier of handwritten digits",
        description="Train a classifier of scikit-learn's 1,797 handwritten digits, print its accuracy on a quarter of "
        "them that it has not seen, and draw the loss curve and some predictions.",
    )
    demo.add_argument(
        "--epochs", type=whole(1), default=60, metavar="N", help="passes over the training digits [%(default)s]"
    )
    demo.add_argument("--batch", type=whole(1), default=64, metavar="N", help="digits in a step [%(default)s]")
    demo.add_argument(
        "--lr", type=positive, default=0.1, metavar="RATE", help="learning rate of the first step [%(default)s]"
    )
    demo.add_argument(
        "--seed",
        type=whole(0, 2**32 - 1),
        default=0,
        metavar="N",
        help="of the split, weights and batches [%(default)s]",
    )
    demo.add_argument(
        "--out", type=png, default=Path("tapegrad-demo.png"), metavar="FILE", help="the picture, a PNG [%(default)s]"
    )
    demo.add_argument("--quiet", action="store_true", help="print nothing but the accuracy")
    demo.set_defaults(run=run_demo)
    ops = commands.add_parser(
        "ops",
        help="list the ops, or tell all about one",
        description="List all public ops, a line each; with a name, print what that op is, where it has kinks, and the "
        "rule that gives its derivative.",
    )
    ops.add_argument("name", nargs="?", metavar="NAME", help="an op, such as tanh or nn.relu")
    ops.set_defaults(run=run_ops)
    script = commands.add_parser(
        "run",
        help="run a script that was written for PyTorch or TensorFlow",
        description="Run a script as python would, with `import torch` or `import tensorflow`, and all that lies below "
        "them, resolved to tapegrad. The script is not changed, and the framework need not be installed.",
    )
    script.add_argument("--style", choices=["torch", "tf"], help="the framework it is written for [what it imports]")
    script.add_argument("--backend", choices=["numpy", "tensorflow"], help="the kernels that compute [numpy]")
    script.add_argument("-m", action="store_true", dest="module", help="SCRIPT is the name of a module, as for python -m")
    script.add_argument("script", metavar="SCRIPT", help="a file, or a folder with a __main__.py")
    script.add_argument("arguments", nargs=REMAINDER, metavar="ARGUMENTS", help="what follows is the script's")
    script.set_defaults(run=run_script)
    return parser


def whole(low: int, high: int | None = None) -> Callable[[str], int]:
    """A parser of whole numbers from low to high."""
    expected = f"a whole number from {low}" + ("" if high is None else f" to {high}")

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low or (high is not None and value > high):
            raise ArgumentTypeError(f"expected {expected}; got {text!r}")
        return value

    return parse


def positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"expected a finite number above 0; got {text!r}")
    return value


def png(text: str) -> Path:
    out = Path(text)
    if out.suffix.lower() != ".png":
        raise ArgumentTypeError(f"expected a file name that ends in .png; got {text!r}")
    return out


if __name__ == "__main__":
    sys.exit(main())
