"""A run from its first line to its last table."""

from __future__ import annotations

import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from benchmarks import targets, workloads
from benchmarks.harness import imports, memory, procstats, report
from benchmarks.harness.case import Case
from benchmarks.harness.checking import Checker
from benchmarks.harness.client import FAILED, Children
from benchmarks.harness.limits import combine
from benchmarks.harness.peers import IMPORTS
from benchmarks.harness.ratios import summarise
from benchmarks.harness.timing import plan, take_turns
from benchmarks.options import Options, parse

QUICK_IMPORTS = ("numpy", "tapegrad")  # what the targets compare; the others as their children load them


class Run:
    """The phases of a run, and the result that they fill."""

    def __init__(self, o: Options, children: Children) -> None:
        self.o = o
        self.children = children
        self.start = time.perf_counter()
        self.meta: dict[str, Any] = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "quick": o.quick,
            "threads": o.threads,
            "cores": os.cpu_count(),
            "cpu": procstats.cpu_model(),
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
            "load_at_start": os.getloadavg(),
        }
        self.result: dict[str, Any] = {
            "meta": self.meta,
            "limits": {},
            "cases": [],
            "memory": [],
            "imports": [],
            "targets": [],
        }

    def left(self) -> float:
        """Seconds until the time limit."""
        return self.o.seconds - (time.perf_counter() - self.start)

    def all(self) -> int:
        """Every phase that is asked for; the number of implementations that failed."""
        o, meta = self.o, self.meta
        print(
            f"{meta['cpu']}, {meta['cores']} cores, {o.threads} thread{'s' * (o.threads > 1)} for every library, "
            f"Python {meta['python']}, load {meta['load_at_start'][0]:.1f}",
            flush=True,
        )
        if not o.check and o.wants("imports"):
            self.imports()  # before the children are there, to have the machine for itself
        if o.workloads or o.wants("memory"):
            self.families()
        if o.workloads:
            self.cases()
        if not o.check and o.wants("memory"):
            self.memory()
        if not o.check:
            self.summary()
        return self.end()

    def imports(self) -> None:
        """Import times; --quick takes most of them from the children, later."""
        o = self.o
        labels = QUICK_IMPORTS if o.quick and o.workloads else tuple(IMPORTS)
        measured = imports.Imports(sys.executable, dict(o.pythons), o.threads)
        self.result["imports"] = measured.measure(labels, 4, o.seconds * 0.2)
        if labels != QUICK_IMPORTS:
            print(report.import_table(self.result["imports"]), flush=True)

    def families(self) -> None:
        """Start the children."""
        children, o = self.children, self.o
        children.open()
        self.meta["libraries"], self.meta["skipped_families"] = children.infos, children.dead
        print(report.family_table(children.infos, children.dead), flush=True)
        if self.result["imports"] and o.quick and o.workloads:
            self.result["imports"] += imports.from_children(children.infos, QUICK_IMPORTS)
            print(report.import_table(self.result["imports"]), flush=True)

    def cases(self) -> None:
        """All cases: checked, and unless --check timed."""
        o = self.o
        modules = [workloads.load(name) for name in o.workloads]
        todo = [(m, c) for m in modules for c in m.CASES if c.quick or not o.quick]
        reserve = (6 if o.quick else 25) if o.wants("memory") else 0
        if not o.check:
            self.limits()
        for i, (m, c) in enumerate(todo):
            if self.left() < reserve and not o.check:
                print(f"\n## {m.NAME}: {c.id}: no time left")
                continue
            prepare = 1.2 if o.quick else 3.5  # a guess of what comes on top of the timing
            budget = max(0.4, min(12.0, (self.left() - reserve) / (len(todo) - i) - prepare))
            case = self.case(m, c, budget)
            self.result["cases"].append(case)
            print((report.check_table if o.check else report.case_table)(m, c, case), flush=True)
        if not o.check:
            if self.left() > 5:
                self.limits()
            print(report.limit_table(self.result["limits"]), flush=True)

    def case(self, m: ModuleType, c: Case, budget: float) -> dict[str, Any]:
        """One case as it goes into the result."""
        o, name = self.o, m.__name__.rpartition(".")[2]
        checker = Checker(self.children, o.peers, o.prepare_timeout, o.prepared_at_once, o.left_out, o.verbose)
        prepared = checker.prepare(name, c)
        case: dict[str, Any] = {"workload": name, "case": c.id, "unit": c.unit, "work": c.work, "ops": c.ops}
        case |= {"results": prepared.ready, "skipped": prepared.skipped}
        if not o.check:
            timed = take_turns(self.children, plan(prepared.ready, budget, o.pace), budget, o.pace)
            numbers = summarise(timed.rounds)
            case["results"] = {peer: {**prepared.ready[peer], **r} for peer, r in numbers.items()}
            case["skipped"] |= {peer: FAILED + why for peer, why in timed.failed.items()}
            case |= {"timed_s": timed.seconds, "others_cores": timed.others_cores}
        self.children.drop()
        return case

    def limits(self) -> None:
        """Measure what the machine gives, and keep the better of this time and the last."""
        found: dict[str, float] = {}
        for family in ("numpy", "torch"):
            client = self.children.get(family) if family in self.children.families else None
            if client is not None:
                found |= client.call("limits")
        self.result["limits"] = combine(self.result["limits"], found)

    def memory(self) -> None:
        """Peak memory of one step; --quick measures tapegrad only, for the targets."""
        o = self.o
        peers = [p for p in o.peers if p.name == targets.PEER] if o.quick and o.workloads else o.peers
        self.children.close()
        self.result["memory"] = memory.measure(self.children, peers, self.left)
        print(report.memory_table(self.result["memory"]), flush=True)

    def summary(self) -> None:
        """Every case on a line, and the targets."""
        if self.result["cases"]:
            print(report.summary_table(self.result["cases"]))
        rows = self.result["targets"] = targets.judge(self.result)
        shown = [row for row in rows if not self.o.only or row["verdict"] != targets.NOT_RUN]
        if shown and any(p.name in targets.PEERS for p in self.o.peers):
            print(targets.target_table(shown))

    def end(self) -> int:
        """Say how long it took, and write the result to a file where that is asked for."""
        reasons = [why for case in self.result["cases"] for why in case["skipped"].values()]
        reasons += [row["why"] for row in self.result["memory"] + self.result["imports"] if "why" in row]
        failed = sum(why.startswith(FAILED) for why in [*reasons, *self.children.dead.values()])
        self.meta["took_s"], self.meta["load_at_end"] = time.perf_counter() - self.start, os.getloadavg()
        print(
            f"\ntook {self.meta['took_s']:.0f} s, load at the end {self.meta['load_at_end'][0]:.1f}"
            + (f", {failed} FAILED" if failed else "")
        )
        if self.o.json:
            self.o.json.write_text(json.dumps(self.result, indent=1))
        return failed


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of a run: 1 if an implementation failed, 2 if the options make no sense."""
    o = parse(argv)
    with Children(o.families, o.threads, dict(o.pythons)) as children:
        return 1 if Run(o, children).all() else 0
