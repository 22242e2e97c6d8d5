"""Tables from numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from benchmarks.harness.case import Case
from benchmarks.harness.client import FAILED
from benchmarks.harness.peers import BY_NAME, PEERS

Row = Mapping[str, Any]


def number(v: float | None) -> str:
    """A number with about three digits; `-` where there is none."""
    if v is None:
        return "-"
    if v >= 10000:
        return f"{v:,.0f}"
    return f"{v:.0f}" if v >= 1000 else f"{v:.1f}" if v >= 100 else f"{v:.2f}" if v >= 0.1 else f"{v:.3f}"


def family_table(infos: Mapping[str, Row], dead: Mapping[str, str]) -> str:
    """The libraries that were loaded, and why the others were not."""
    lines = ["\n## libraries and threads (cores in the tables = processor time over time, measured)"]
    for family, info in infos.items():
        more = "".join(f", {info[k]}" for k in ("blas", "place") if k in info)
        lines.append(f"{family:<12}version {info.get('version')}, threads {info.get('threads')}{more}")
    for family, why in dead.items():
        lines.append(f"{family:<12}{'' if why.startswith(FAILED) else 'skipped: '}{why}")
    return "\n".join(lines)


def case_table(module: ModuleType, c: Case, case: Row) -> str:
    """One case: a line per peer."""
    lines = [
        f"\n## {module.NAME}: {c.id}   [{c.unit}]   others used {case['others_cores']:.1f} cores",
        f"{'peer':<12}{'median':>10}{'best':>10}{'cores':>7}{'x torch':>10}{'x numpy':>10}"
        f"{'(bests)':>9}{'iqr':>6}{'rounds':>8}{'1st call':>10}{'error':>9}",
    ]
    for peer, r in case["results"].items():
        lines.append(
            f"{peer:<12}{number(c.show(r['median_s'])):>10}{number(c.show(r['best_s'])):>10}{r['cores']:>7.1f}"
            f"{number(r.get('x_torch')):>10}{number(r.get('x_numpy_hand')):>10}{number(r.get('best_x_numpy_hand')):>9}"
            f"{r['iqr']:>6.0%}{r['rounds']:>8}{r['first_s']:>9.2f}s{r['error']:>9.0e}"
            + ("  float64 results" if r["upcast"] else "")
        )
    lines += [f"{peer:<12}{why}" for peer, why in case["skipped"].items() if why]
    return "\n".join(lines)


def check_table(module: ModuleType, c: Case, case: Row) -> str:
    """One case of --check: who agrees with the reference."""
    lines = [f"{module.NAME}: {c.id}"]
    for peer, r in case["results"].items():
        upcast = "  float64 results" if r["upcast"] else ""
        lines.append(f"    ok     {peer:<12} error {r['error']:.1e}  first call {r['first_s']:.2f} s{upcast}")
    for peer, why in case["skipped"].items():
        if why:
            lines.append(f"    {'' if why.startswith(FAILED) else 'skip   '}{peer:<12} {why}")
    return "\n".join(lines)


def memory_table(rows: Sequence[Row]) -> str:
    """Growth of the peak over one step."""
    lines = [
        "\n## peak memory of one step, each peer in its own process (growth over the level before)",
        f"{'case':<36}{'peer':<12}{'peak growth':>13}{'per op':>10}",
    ]
    for r in rows:
        head = f"{r['case']:<36}{r['peer']:<12}"
        if "why" in r:
            lines.append(head + r["why"])
        else:
            lines.append(f"{head}{r['growth_b'] / 1e6:>10.1f} MB{r['growth_b'] / r['ops']:>12,.0f} B")
    return "\n".join(lines)


def import_table(rows: Sequence[Row]) -> str:
    """What it costs to import and to install each package."""
    lines = [
        "\n## imports: wall and processor time of a fresh `python -c 'import X'` (medians), peak RSS, size",
        f"{'package':<12}{'version':<14}{'wall':>9}{'cpu':>9}{'x torch':>9}{'x numpy':>9}{'RSS':>10}{'modules':>9}"
        f"{'own size':>11}{'with deps':>11}{'deps':>6}{'runs':>6}",
    ]
    for r in rows:
        if "why" in r:
            lines.append(f"{r['package']:<12}{r['why']}")
            continue
        size = (
            f"{r['own_b'] / 1e6:>8.1f} MB{r['closure_b'] / 1e6:>8.0f} MB{r['deps']:>6}"
            if r.get("own_b")
            else f"{'-':>11}{'-':>11}{'-':>6}"
        )
        lines.append(
            f"{r['package']:<12}{r['version'][:13]:<14}{r['wall_s'] * 1e3:>6.0f} ms{r['cpu_s'] * 1e3:>6.0f} ms"
            f"{number(r.get('x_torch')):>9}{number(r.get('x_numpy')):>9}{r['rss_b'] / 1e6:>7.0f} MB"
            f"{r.get('modules', '-'):>9}{size}{r['rounds']:>6}" + (f"  {r['note']}" if "note" in r else "")
        )
    return "\n".join(lines)


def limit_table(limits: Mapping[str, float]) -> str:
    """What this machine gives a single library call."""
    lines = ["\n## limits of this machine (best of several tries, at the start and at the end)"]
    return "\n".join(lines + [f"{name:<48}{value:>10.1f}" for name, value in limits.items()])


def summary_table(cases: Sequence[Row]) -> str:
    """One line per case: every peer's time as a multiple of torch's, and whom to beat."""
    shown = [p.name for p in PEERS if any(p.name in c["results"] for c in cases)]
    lines = [
        "\n## summary: time as a multiple of torch's (pairwise per round, median); below 1 = faster than torch",
        f"{'case':<38}" + "".join(f"{p[:11]:>12}" for p in shown) + "   to beat (eager / any)",
    ]
    for c in cases:
        results = c["results"]
        name = f"{c['workload']}: {c['case']}"[:37]
        row = "".join(f"{number(results[p].get('x_torch')) if p in results else '-':>12}" for p in shown)
        beat = f"   {_fastest(results, ('eager',))} / {_fastest(results, ('eager', 'compiled'))}"
        lines.append(f"{name:<38}{row}{beat}")
    return "\n".join(lines)


def _fastest(results: Mapping[str, Row], kinds: Sequence[str]) -> str:
    rivals = [p for p in results if BY_NAME[p].kind in kinds and not BY_NAME[p].family.startswith("tapegrad")]
    if not rivals:
        return "-"
    p = min(rivals, key=lambda p: results[p].get("x_torch", results[p]["median_s"]))
    x = results[p].get("x_numpy_hand")
    return p + (f" ({number(x)}x numpy_hand)" if x else "")
