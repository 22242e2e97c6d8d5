"""Import time, memory after import, installed size; each in fresh interpreters."""

from __future__ import annotations

import json
import resource
import statistics as st
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.client import FAILED, ROOT
from benchmarks.harness.peers import IMPORTS, Package, environment
from benchmarks.harness.ratios import pairwise

Row = dict[str, Any]
BARE = "(bare)"
BASES = ("torch", "numpy")
_BARE = Package("", "sys", "")
_QUICK = 0.5  # seconds of processor time
_INSTALLED_FIRST = "import sys; sys.path.append(sys.path.pop(0))\n"
_PROBE = Path(__file__).with_name("import_probe.py").read_text()


@dataclass(frozen=True)
class _Run:
    out: str
    err: str
    ok: bool
    wall: float
    cpu: float


class Imports:
    """Imports packages in the interpreters in which their families run.

    What lies in the working directory, as tapegrad's source does, comes before what is installed; but after it for a
    family of `pythons`, which has an interpreter of its own.
    """

    def __init__(self, default: str, pythons: Mapping[str, str], threads: int) -> None:
        self._default = default
        self._pythons = pythons
        self._env = environment(threads)

    def measure(self, labels: Sequence[str], rounds: int, seconds: float) -> list[Row]:
        """A row per label of IMPORTS, after one for the bare interpreter; at least 3 rounds, then as time allows.

        What is imported in less than half a second takes four times as many: there the noise is a third of what is measured.
        """
        began = time.perf_counter()
        packages = {BARE: _BARE, **{label: IMPORTS[label] for label in labels}}
        rows = {label: self._probe(label, package) for label, package in packages.items()}
        runs: dict[str, list[_Run]] = {label: [] for label, row in rows.items() if "why" not in row}
        for i in range(rounds):
            if i >= 3 and time.perf_counter() - began > seconds:
                break
            for label, done in runs.items():
                done.append(self._run(packages[label], "import " + packages[label].module))
        quick = [label for label, done in runs.items() if st.median(r.cpu for r in done) < _QUICK]
        for _ in range(3 * rounds):
            if time.perf_counter() - began > seconds:
                break
            for label in quick:
                runs[label].append(self._run(packages[label], "import " + packages[label].module))
        cpus = {label: [r.cpu for r in done] for label, done in runs.items()}
        for label, done in runs.items():
            row = rows[label]
            walls = [r.wall for r in done]
            row.update(wall_s=st.median(walls), cpu_s=st.median(cpus[label]), rounds=len(done))
            row.update(walls_s=walls, cpus_s=cpus[label])
            row.update({"x_" + base: pairwise(cpus[label], cpus[base]) for base in BASES if base in cpus})
            if "numpy" in runs:
                row["rss_x_numpy"] = row["rss_b"] / rows["numpy"]["rss_b"]
        return list(rows.values())

    def _probe(self, label: str, package: Package) -> Row:
        run = self._run(package, _PROBE, package.distribution, package.module)
        if run.ok:
            return {"package": label, **json.loads(run.out.splitlines()[-1])}
        text = (run.err.strip().splitlines() or ["failed"])[-1]
        missing = f"No module named '{package.module.partition('.')[0]}'"
        return {"package": label, "why": "not importable" if missing in text else FAILED + text[:100]}

    def _run(self, package: Package, code: str, *args: str) -> _Run:
        own = self._pythons.get(package.family)
        command = [own or self._default, "-c", _INSTALLED_FIRST + code if own else code, *args]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        t = time.perf_counter()
        p = subprocess.run(
            command,
            check=False,
            env=self._env,
            text=True,
            capture_output=True,
            cwd=ROOT,
        )
        t = time.perf_counter() - t
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return _Run(p.stdout, p.stderr, p.returncode == 0, t, cpu)


def from_children(infos: Mapping[str, Mapping[str, Any]], without: Sequence[str]) -> list[Row]:
    """Rows of what the children said when they loaded their library: one run each, without the interpreter."""
    labels = {package.family: label for label, package in IMPORTS.items()}
    return [
        {
            "package": labels[family],
            "version": str(info.get("version", "")),
            "wall_s": info["import_s"],
            "cpu_s": info["import_cpu_s"],
            "rss_b": info["rss_b"],
            "rounds": 1,
            "note": "as its child loaded it",
        }
        for family, info in infos.items()
        if family in labels and labels[family] not in without
    ]
