"""The command line: ``python -m tapegrad.testing pkg.mod:f x=b,n``, ``... write pkg.mod``, ``... compare a:f b:f``.

Exit codes: 0 all is well, 1 a derivative is wrong, 2 the command makes no sense, 130 interrupted.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
import time
from argparse import ArgumentParser
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROG = "python -m tapegrad.testing"
_BAR_AFTER = 1.0  # seconds: shorter checks say what they found, and nothing before


class UsageError(Exception):
    """A command that makes no sense."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the value is the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    sys.path.insert(0, os.getcwd())  # as `python -m` does, also for a script that calls this
    command = given.pop(0) if given and given[0] in ("write", "compare", "check") else "check"
    try:
        return {"check": run_check, "compare": run_compare, "write": run_write}[command](given)
    except UsageError as error:
        print(f"{PROG}: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def run_check(arguments: list[str]) -> int:
    parser = _parser("check", "pkg.mod:f [x=b,n ...]", "check the derivative of a function, an op, a module")
    parser.add_argument("function", metavar="pkg.mod:f")
    parser.add_argument("words", nargs="*", metavar="x=b,n", help="the shape of an argument, or Python for its value")
    parser.add_argument("--vjp", metavar="pkg.mod:g", help="of a NumPy function: g(cotangent, *arguments)")
    parser.add_argument("--only", metavar="NAMES", help="properties, by comma")
    parser.add_argument("--skip", metavar="NAMES", default="", help="properties, by comma")
    parser.add_argument("--prove", action="store_true", help="plant mistakes, and show how many are caught")
    o = parser.parse_intermixed_args(arguments)
    from tapegrad.testing.checking import examine

    vjp = found(o.vjp) if o.vjp else None
    bar = Bar(o.function)
    try:
        result = _refusing(
            "give --vjp pkg.mod:g", examine,
            found(o.function), vjp=vjp, framework=o.framework, profile=o.profile, seed=o.seed, only=o.only, skip=o.skip,
            prove=o.prove, progress=bar, inputs=words_of(o.words),
        )  # fmt: skip
    finally:
        bar.end()
    print(result)
    return 0 if result.ok else 1


def run_compare(arguments: list[str]) -> int:
    parser = _parser("compare", "pkg.a:f pkg.b:f [x=b,n ...]", "compare two implementations of one function")
    parser.add_argument("first", metavar="pkg.a:f")
    parser.add_argument("second", metavar="pkg.b:f")
    parser.add_argument("words", nargs="*", metavar="x=b,n", help="the shape of an argument, or Python for its value")
    parser.add_argument("--values", action="store_true", help="compare values, and not gradients")
    o = parser.parse_intermixed_args(arguments)
    from tapegrad.testing.comparing import compare
    from tapegrad.testing.report import GradientCheckError

    try:
        result = _refusing(
            "give --values", compare,
            found(o.first), found(o.second), frameworks=(o.framework, None), profile=o.profile, seed=o.seed,
            gradients=not o.values, **words_of(o.words),
        )  # fmt: skip
    except GradientCheckError as error:
        print(error)
        return 1
    print(result)
    return 0


def run_write(arguments: list[str]) -> int:
    parser = ArgumentParser(
        prog=f"{PROG} write", description="write a test module for the functions of a module, to stdout"
    )
    parser.add_argument("module", metavar="pkg.mod")
    o = parser.parse_intermixed_args(arguments)
    from tapegrad.testing.ghost import written

    print(written(_module(o.module)), end="")
    return 0


def _parser(command: str, usage: str, told: str) -> ArgumentParser:
    parser = ArgumentParser(
        prog=f"{PROG} {command}",
        usage=f"{PROG} {'' if command == 'check' else command + ' '}{usage} [options]",
        description=told,
    )
    parser.add_argument("--profile", metavar="NAME", help="fast, default, ci or thorough")
    parser.add_argument("--seed", type=number, metavar="N", help="of all that is drawn")
    parser.add_argument("--framework", metavar="NAME", help="where it cannot be seen")
    return parser


def number(text: str) -> int:
    """A seed, as it is written: 7, or 0x5ee1 as reports have it."""
    return int(text, 0)


def _refusing(instead: str, run: Callable[..., Any], *args: Any, **words: Any) -> Any:
    """What `run` gives; a refusal that says what to write in Python says what to write here, `instead`."""
    from tapegrad.errors import ArgumentError

    try:
        return run(*args, **words)
    except ArgumentError as error:
        told = str(error).replace("give check(..., vjp=lambda g, x: ...)", instead)
        raise UsageError(told) from error


def found(path: str) -> Any:
    """What ``pkg.mod:name`` or ``pkg.mod:Class.name`` names."""
    name, colon, attribute = path.partition(":")
    if not colon or not attribute:
        raise UsageError(f"{path!r}: write pkg.mod:f, a module, a colon, and a name in it")
    value: Any = _module(name)
    for part in attribute.split("."):
        if not hasattr(value, part):
            names = [n for n in dir(value) if not n.startswith("_")]
            near = ", ".join(get_close_matches(part, names, 3) or names)[:200]
            raise UsageError(f"{path!r}: {name} has no {part!r}; it has {near or 'no public names'}")
        value = getattr(value, part)
    return value


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError(f"{name!r} cannot be imported from here: {error}") from error


def words_of(texts: Sequence[str]) -> dict[str, Any]:
    """``x=b,n`` as a tuple of dimensions, ``n=3.0`` or ``x=array('b', lo=0)`` as what Python makes of it."""
    words: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"{text!r}: write the name of an argument and its shape, x=b,n")
        words[name] = _value(value)
    return words


def _value(text: str) -> Any:
    from tapegrad.testing import words
    from tapegrad.testing.words import Fixed

    if text == "":
        return ()
    parts = text.split(",")
    if (
        all(p.isidentifier() or p.isdigit() for p in parts)
        and any(p.isidentifier() for p in parts)
        and text not in ("True", "False", "None")
    ):
        return tuple(int(p) if p.isdigit() else p for p in parts)
    try:
        tree = ast.parse(text, mode="eval").body
        if (
            isinstance(tree, ast.Call)
            and isinstance(tree.func, ast.Name)
            and tree.func.id in ("array", "broadcast", "indices", "psd")
        ):
            word = getattr(words, tree.func.id)
            return word(
                *map(ast.literal_eval, tree.args), **{str(k.arg): ast.literal_eval(k.value) for k in tree.keywords}
            )
        value = ast.literal_eval(tree)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{text!r}: write a shape such as b,n,3, a number, or array('b', lo=0)") from error
    return value if isinstance(value, tuple) and value and all(type(d) is int for d in value) else Fixed(value)


class Bar:
    """A bar on standard error, once a check has taken a second, if somebody is looking."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.start = time.perf_counter()
        self.shown = False

    def __call__(self, part: float) -> None:
        if time.perf_counter() - self.start < _BAR_AFTER or sys.stderr is None or not sys.stderr.isatty():
            return  # Windows has no stderr at all where there is no console
        self.shown = True
        full = int(30 * part)
        sys.stderr.write(f"\r{self.name} [{'#' * full}{'.' * (30 - full)}] {part:4.0%}")
        sys.stderr.flush()

    def end(self) -> None:
        """Wipe it away."""
        if self.shown:
            sys.stderr.write("\r" + " " * (len(self.name) + 40) + "\r")


if __name__ == "__main__":
    sys.exit(main())
