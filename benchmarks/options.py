"""The command line, and what follows from it."""

from __future__ import annotations

import argparse
import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.case import Case
from benchmarks.harness.peers import BY_NAME, FAMILIES, IMPORTS, PEERS, Peer
from benchmarks.harness.timing import Pace
from benchmarks.workloads import ORDER

TABLES = ("memory", "imports")
# Peers that --quick leaves out, by workload and kind: they compile slowly, or a step is slow.
SLOW = {
    ("op_overhead", None): ("jax_eager",),
    ("lstm", None): ("tf_function", "tf_xla", "jax_jit", "tg_function"),
    ("deep_chain", None): ("tf_eager",),
    ("matmul", None): ("tf_function",),
    ("indexing", "slices"): ("tf_function", "tf_xla", "jax_jit"),
}


@dataclass(frozen=True)
class Options:
    """What to run and how; every name in it is known to exist."""

    quick: bool = False
    check: bool = False
    verbose: bool = False
    only: tuple[str, ...] = ()
    peers: tuple[Peer, ...] = PEERS
    threads: int = 1
    seconds: float = 345.0
    pythons: tuple[tuple[str, str], ...] = ()
    json: Path | None = None

    def wants(self, name: str) -> bool:
        """Whether a workload or a table is asked for."""
        return not self.only or name in self.only

    @property
    def workloads(self) -> tuple[str, ...]:
        """The workloads to run, in order."""
        return tuple(name for name in ORDER if self.wants(name))

    @property
    def families(self) -> tuple[str, ...]:
        """The child processes needed; NumPy's is among them for the reference."""
        return tuple(dict.fromkeys(["numpy", *(p.family for p in self.peers)]))

    @property
    def pace(self) -> Pace:
        """Length of a chunk and bounds on the rounds."""
        return Pace(0.006, 3, 20) if self.quick else Pace(0.010, 3, 60)

    @property
    def prepare_timeout(self) -> float:
        """Seconds that a peer may take to compile and to take its first steps."""
        return 15 if self.quick else 60

    @property
    def prepared_at_once(self) -> int:
        """Families that prepare a case side by side."""
        return 2 if self.quick or self.check else 1

    def left_out(self, peer: str, workload: str, c: Case) -> str:
        """Why a peer is left out of a case, or an empty text."""
        return "not in --quick" if self.quick and peer in SLOW.get((workload, c.p.get("kind")), ()) else ""


def parse(argv: Sequence[str] | None = None) -> Options:
    """Options of a command line; ends the process with code 2 and a message where they make no sense."""
    a = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure autograd libraries side by side.")
    a.add_argument("--quick", action="store_true", help="fewer cases and rounds, under two minutes")
    a.add_argument("--check", action="store_true", help="compare with the reference only, no timing")
    a.add_argument("--only", metavar="NAMES", help="by comma: " + ", ".join(ORDER + TABLES))
    a.add_argument("--peers", metavar="NAMES", help="by comma: " + ", ".join(BY_NAME))
    a.add_argument("--without", metavar="NAMES", help="peers to leave out, by comma")
    a.add_argument("--json", metavar="FILE", type=Path, help="write everything measured to FILE")
    a.add_argument("--threads", metavar="N", type=int, default=1, help="threads for every library (1)")
    a.add_argument("--python", metavar="FAMILY=EXE", action="append", default=[], help="run a family in an environment")
    a.add_argument("--seconds", metavar="S", type=float, help="time limit (345, with --quick 80)")
    a.add_argument("--verbose", action="store_true", help="tracebacks of implementations that fail")
    o = a.parse_args(argv)
    try:
        return _options(o)
    except ValueError as e:
        a.error(str(e))


def _options(o: argparse.Namespace) -> Options:
    only = _names("--only", o.only, ORDER + TABLES)
    chosen = _names("--peers", o.peers, tuple(BY_NAME)) or tuple(BY_NAME)
    without = _names("--without", o.without, tuple(BY_NAME))
    peers = tuple(p for p in PEERS if p.name in chosen and p.name not in without)
    seconds = o.seconds if o.seconds is not None else 80.0 if o.quick else 345.0
    if not peers:
        raise ValueError("--without: expected at least one peer to be left, got none")
    if o.threads < 1:
        raise ValueError(f"--threads: expected N >= 1, got {o.threads}")
    if not (seconds > 0 and math.isfinite(seconds)):
        raise ValueError(f"--seconds: expected a finite S > 0, got {seconds}")
    if o.json is not None and not o.json.absolute().parent.is_dir():
        raise ValueError(f"--json: expected a file in a folder that exists, got {str(o.json)!r}")
    options = Options(o.quick, o.check, o.verbose, only, peers, o.threads, seconds, _pythons(o.python), o.json)
    if o.check and not options.workloads:
        raise ValueError(f"--check: expected --only to name a workload, got {', '.join(only)}: nothing to compare")
    return options


def _names(option: str, text: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if text is None:
        return ()
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in known:
            raise ValueError(f"{option}: expected names among {', '.join(known)}; got {name!r}")
    return names


def _pythons(pairs: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Interpreters by family; one for tapegrad serves its TensorFlow kernels too, unless these have their own."""
    known = tuple(dict.fromkeys([*FAMILIES, *(package.family for package in IMPORTS.values())]))
    found: dict[str, str] = {}
    for pair in pairs:
        family, equals, exe = pair.partition("=")
        if not equals or family not in known:
            raise ValueError(f"--python: expected FAMILY=EXE with a family of {', '.join(known)}; got {pair!r}")
        path = shutil.which(exe)
        if path is None:
            raise ValueError(f"--python: expected EXE to be an executable file, got {exe!r}")
        found[family] = str(Path(path).absolute())
    if "tapegrad" in found:
        for family in ("tapegrad_tf", "tapegrad_torch"):
            found.setdefault(family, found["tapegrad"])
    return tuple(found.items())
