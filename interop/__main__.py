"""`python -m interop`: every script under the real framework and under tapegrad on each kernel set, and a table."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from interop import warm
from interop.compare import compared

SCRIPTS = Path(__file__).parent / "scripts"
FRAMEWORKS = {"pytorch": "torch", "tensorflow": "tensorflow"}
KERNELS = ("numpy", "tensorflow")
#: Of two printed numbers, relative: float32 sums are taken in another order, and training multiplies what that changes.
TOLERANCE = 2e-3


class Run(NamedTuple):
    """What became of one script in one process."""

    code: int
    out: str
    error: str
    seconds: float


class Row(NamedTuple):
    """A line of the table."""

    script: str
    kernels: str
    ran: bool
    numbers: bool
    gradients: bool | None
    ratio: float
    note: str

    @property
    def good(self) -> bool:
        return self.ran and self.numbers and self.gradients is not False


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit code is 1 if any script failed or differed."""
    parser = argparse.ArgumentParser(prog="python -m interop", description=__doc__)
    parser.add_argument("--only", metavar="WORD", help="scripts whose name contains this")
    parser.add_argument("--style", choices=FRAMEWORKS, help="only scripts of this style")
    parser.add_argument("--kernels", choices=KERNELS, action="append", help="only these kernels; may be repeated")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="scripts at once; times are rough then [1]")
    parser.add_argument("--verbose", action="store_true", help="print what failing scripts said")
    options = parser.parse_args(arguments)
    kernels = options.kernels or available()
    rows = []
    print(HEADER)
    with ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(lambda p: compare_script(p, kernels), scripts(options.style, options.only)):
            for row, error in found:
                rows.append(row)
                print(line(row), flush=True)
                if options.verbose and error:
                    print(error, file=sys.stderr)
    bad = [r for r in rows if not r.good]
    print(f"\n{len(rows) - len(bad)} of {len(rows)} runs agree with the real framework")
    return 1 if bad or not rows else 0


def scripts(style: str | None = None, only: str | None = None) -> list[Path]:
    """The scripts, by style and part of a name."""
    found = [p for s in FRAMEWORKS if style in (None, s) for p in sorted((SCRIPTS / s).glob("*.py"))]
    return [p for p in found if only is None or only in p.stem]


def available() -> list[str]:
    """The kernel sets of this environment."""
    return [k for k in KERNELS if k == "numpy" or importlib.util.find_spec(k)]


def compare_script(path: Path, kernels: Sequence[str]) -> list[tuple[Row, str]]:
    """One script under the real framework, then on each kernel set: rows, each with what went to its standard error."""
    name = f"{path.parent.name}/{path.stem}"
    if importlib.util.find_spec(FRAMEWORKS[path.parent.name]) is None:
        reason = f"{FRAMEWORKS[path.parent.name]} is not installed"
        return [(Row(name, k, False, False, None, 0.0, reason), "") for k in kernels]
    real = run(path, "real")
    if real.code:
        reason = f"the real framework fails: {last(real.error)}"
        return [(Row(name, k, False, False, None, 0.0, reason), real.error) for k in kernels]
    rows = []
    for k in kernels:
        mine = run(path, k)
        if mine.code:
            rows.append((Row(name, k, False, False, None, 0.0, last(mine.error)), mine.error))
            continue
        found = compared(real.out, mine.out, TOLERANCE)
        ratio = mine.seconds / real.seconds
        row = Row(name, k, True, found.numbers, found.gradients, ratio, found.reason or f"{found.largest:.0e}")
        rows.append((row, ""))
    return rows


def run(path: Path, where: str) -> Run:
    """One script in a process of its own: `where` is "real", or a kernel set."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        imports = warm.run if warm.POSSIBLE and where != "numpy" else cold  # tapegrad alone is imported in half a second
        code = imports(path, where, folder)
        out, error = ((folder / stream).read_text("utf-8", "replace") for stream in ("out", "error"))
        times = folder / "seconds"
        return Run(code, out, error, float(times.read_text()) if times.exists() else 0.0)


def cold(path: Path, where: str, folder: Path) -> int:
    """The exit code of a script in a process that imports all it needs; the folder gets its `out`, `error` and `seconds`."""
    with (folder / "out").open("wb") as out, (folder / "error").open("wb") as error:
        done = subprocess.run(
            [sys.executable, "-m", "interop.child", where, str(path), str(folder / "seconds")],
            cwd=Path(__file__).parents[1],
            env={**os.environ, **warm.QUIET},
            stdout=out,
            stderr=error,
            timeout=warm.PATIENCE,
            check=False,
        )
    return done.returncode


def last(text: str) -> str:
    """The line of a traceback that says what went wrong."""
    lines = [x for x in text.splitlines() if x.strip() and not x.startswith(("(", " "))]
    return lines[-1] if lines else "no message"


HEADER = f"{'script':38} {'kernels':11} {'ran':4} {'numbers':8} {'gradient':9} {'time':>6}  note"


def line(row: Row) -> str:
    word = {True: "yes", False: "NO", None: "-"}
    ratio = f"{row.ratio:6.2f}" if row.ran else f"{'':6}"
    return (
        f"{row.script:38} {row.kernels:11} {word[row.ran]:4} {word[row.numbers]:8} {word[row.gradients]:9} {ratio}  {row.note}"
    )


if __name__ == "__main__":
    sys.exit(main())
