"""What tapegrad is to reach, beside what it reached.

Times are multiples of torch's in the same run (the median of the pairwise ratios, as in the summary), on TensorFlow's kernels
of TensorFlow's own: `tf_eager`, and compiled `tf_function` and `tf_xla`; memory is the growth of the peak over one step; an
import is compared with NumPy's, the interpreter included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.client import FAILED
from benchmarks.harness.ratios import pairwise
from benchmarks.harness.report import number

PEER = "tg_numpy"
FACADE = "tg_torch"
#: Those whose goals are multiples of another peer's time, by measure: tapegrad's and the other.
BESIDE = {
    "x tf eager": ("tg_tf", "tf_eager"),
    "x tf function": ("tg_function", "tf_function"),
    "x tf xla": ("tg_xla", "tf_xla"),
}
PEERS = (PEER, FACADE, *(ours for ours, _ in BESIDE.values()))
NOT_RUN = "not run"
Result = Mapping[str, Any]


def _why_not(row: Mapping[str, Any], peer: str) -> str:
    why: str | None = row["skipped"].get(peer)
    if why is None:
        return NOT_RUN
    return "FAILED" if why.startswith(FAILED) else "not available"


def _time(peer: str) -> Callable[[Result, str, str], float | str]:
    def measure(result: Result, subject: str, case: str) -> float | str:
        for row in result["cases"]:
            if (row["workload"], row["case"]) == (subject, case):
                if peer in row["results"]:
                    ratio: float | None = row["results"][peer].get("x_torch")
                    return "no torch" if ratio is None else ratio
                return _why_not(row, peer)
        return NOT_RUN

    return measure


def _beside(ours: str, theirs: str) -> Callable[[Result, str, str], float | str]:
    def measure(result: Result, subject: str, case: str) -> float | str:
        for row in result["cases"]:
            if (row["workload"], row["case"]) == (subject, case):
                found = row["results"]
                if ours in found and theirs in found:
                    return pairwise(found[ours]["nets_s"], found[theirs]["nets_s"])
                if ours in found:
                    return f"no {theirs}"
                return _why_not(row, ours)
        return NOT_RUN

    return measure


def _facade_over_core(result: Result, subject: str, case: str) -> float | str:
    facade, core = (_time(peer)(result, subject, case) for peer in (FACADE, PEER))
    if isinstance(facade, str) or isinstance(core, str):
        return facade if isinstance(facade, str) else str(core)
    return facade / core


def _growth(result: Result, subject: str) -> tuple[float, int] | str:
    for row in result["memory"]:
        if row.get("workload") == subject and row["peer"] == PEER:
            return "FAILED" if "why" in row else (row["growth_b"], row["ops"])
    return NOT_RUN


def _bytes_per_op(result: Result, subject: str, case: str) -> float | str:
    growth = _growth(result, subject)
    return growth if isinstance(growth, str) else growth[0] / growth[1]


def _megabytes(result: Result, subject: str, case: str) -> float | str:
    growth = _growth(result, subject)
    return growth if isinstance(growth, str) else growth[0] / 1e6


def _imported(key: str) -> Callable[[Result, str, str], float | str]:
    def measure(result: Result, subject: str, case: str) -> float | str:
        for row in result["imports"]:
            if row["package"] == "tapegrad":
                return "not available" if "why" in row else row.get(key, "no numpy")
        return NOT_RUN

    return measure


# What a goal is a number of: the words of the table, and how it is found in the result of a run.
MEASURES: dict[str, Callable[[Result, str, str], float | str]] = {
    "x torch": _time(PEER),
    "facade x torch": _time(FACADE),
    "facade x core": _facade_over_core,
    **{name: _beside(*pair) for name, pair in BESIDE.items()},
    "bytes per op": _bytes_per_op,
    "MB peak": _megabytes,
    "cpu x numpy": _imported("x_numpy"),
    "rss x numpy": _imported("rss_x_numpy"),
}


@dataclass(frozen=True)
class Target:
    """One goal: an upper bound of a measure of one case."""

    subject: str
    case: str
    goal: float
    measure: str = "x torch"
    later: bool = False


TARGETS = (
    Target("op_overhead", "8x8", 0.5),
    Target("op_overhead", "scalar", 0.45),
    Target("op_overhead", "8x8 forward only, recorded", 0.6),
    Target("deep_chain", "20,000 ops", 0.4),
    Target("deep_chain", "20,000 ops", 450, "bytes per op"),
    Target("mlp", "batch 16", 0.95),
    Target("mlp", "batch 256", 0.9),
    Target("lstm", "100 steps", 0.75),
    Target("second_order", "HVP, MLP 64-128-128-10, batch 64", 0.65),
    Target("indexing", "x[:, t] for 1,000 t on 8x1000", 0.45),
    Target("import", "tapegrad", 1.3, "cpu x numpy"),
    Target("import", "tapegrad", 1.3, "rss x numpy"),
    Target("large_elementwise", "4M float32", 0.75, later=True),
    Target("large_elementwise", "4M float32", 200, "MB peak", later=True),
    Target("matmul", "1024x1024", 0.92, later=True),
    Target("broadcasting", "batch norm 256x512 from primitives", 0.7, later=True),
    Target("broadcasting", "logsumexp 256x512", 0.5, later=True),
    Target("broadcasting", "softmax attention 8x64x64", 0.7, later=True),
    Target("second_order", "Hessian, Rosenbrock in 50 dimensions", 0.1, later=True),
    Target("second_order", "Jacobian 100 -> 100", 0.25, later=True),
    Target("indexing", "embedding 4,096 of 50k x 64, dense gradient", 0.95, later=True),
    Target("indexing", "embedding 4,096 of 50k x 64, sparse gradient", 0.5, later=True),
    Target("conv", "batch 32", 1.2, later=True),
    Target("op_overhead", "8x8", 1.25, "facade x core"),
    Target("op_overhead", "8x8", 0.8, "facade x torch"),
    Target("op_overhead", "scalar", 1.25, "facade x core"),
    Target("op_overhead", "scalar", 0.8, "facade x torch"),
    Target("modules", "SGD", 0.8, "facade x torch"),
    Target("modules", "Adam", 0.8, "facade x torch"),
    Target("recurrent", "2 layers, 50 steps", 2.0, "facade x torch"),
    Target("mutation", "mul_ and add_, 200 on 8x8", 1.0, "facade x torch"),
    Target("mutation", "200 rows written into a buffer", 1.0, "facade x torch"),
    Target("mutation", "mul_ through a view, 100 on 8x8", 1.0, "facade x torch"),
    Target("mutation", "view, t and select, 100 times", 1.0, "facade x torch"),
    Target("op_overhead", "8x8", 0.5, "x tf eager"),
    Target("op_overhead", "scalar", 0.5, "x tf eager"),
    Target("deep_chain", "20,000 ops", 0.5, "x tf eager"),
    Target("lstm", "100 steps", 0.5, "x tf eager"),
    Target("second_order", "Hessian, Rosenbrock in 50 dimensions", 0.5, "x tf eager"),
    Target("second_order", "Jacobian 100 -> 100", 0.5, "x tf eager"),
    Target("mlp", "batch 16", 0.9, "x tf eager"),
    Target("mlp", "batch 256", 0.9, "x tf eager"),
    Target("matmul", "1024x1024", 1.0, "x tf eager"),
    Target("conv", "batch 32", 1.0, "x tf eager"),
    Target("large_elementwise", "4M float32", 1.0, "x tf eager"),
    *(
        Target(subject, case, 1.05, f"x tf {how}")
        for how in ("function", "xla")
        for subject, case in (
            ("op_overhead", "8x8"),
            ("mlp", "batch 16"),
            ("mlp", "batch 256"),
            ("lstm", "100 steps"),
            ("second_order", "HVP, MLP 64-128-128-10, batch 64"),
            ("matmul", "1024x1024"),
            ("conv", "batch 32"),
            ("large_elementwise", "4M float32"),
        )
        if (subject, how) != ("lstm", "xla")  # unrolled, it compiles for minutes
    ),
)


def judge(result: Result, targets: Iterable[Target] = TARGETS) -> list[dict[str, Any]]:
    """A row per target: what was measured, and `ok`, `BEHIND`, or why it was not measured."""
    rows = []
    for t in targets:
        found = MEASURES[t.measure](result, t.subject, t.case)
        value = None if isinstance(found, str) else found
        verdict = found if isinstance(found, str) else "ok" if found <= t.goal else "BEHIND"
        row = {"subject": t.subject, "case": t.case, "measure": t.measure, "goal": t.goal, "later": t.later}
        rows.append({**row, "measured": value, "verdict": verdict})
    return rows


def target_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """The goals and what was measured, one line each."""
    lines = [
        f"\n## targets: at most the goal (x torch: time of {PEER} as a multiple of torch's, as in the summary; facade: {FACADE};"
        f" {', '.join(f'{name}: {ours}' for name, (ours, _) in BESIDE.items())})",
        f"{'case':<56}{'measure':<14}{'goal':>8}{'measured':>10}  verdict",
    ]
    for r in rows:
        name = f"{r['subject']}: {r['case']}"
        later = "  (later stage)" if r["later"] else ""
        goal, measured = number(r["goal"]), number(r["measured"])
        lines.append(f"{name:<56}{r['measure']:<14}{goal:>8}{measured:>10}  {r['verdict']}{later}")
    return "\n".join(lines)
