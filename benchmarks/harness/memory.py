"""Peak memory of one step, each peer in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from benchmarks import workloads
from benchmarks.harness.client import FAILED, Children, Client, Gone, Refused
from benchmarks.harness.peers import Peer

Row = dict[str, Any]


def measure(children: Children, peers: Iterable[Peer], left: Callable[[], float]) -> list[Row]:
    """One fresh child per eager peer, which measures all memory workloads one after the other."""
    rows: list[Row] = []
    for p in peers:
        if p.kind == "compiled" or p.family in children.dead or p.name == "jax_eager":
            continue
        if left() < 3:
            rows.append({"case": "(all)", "peer": p.name, "why": "no time left"})
            continue
        client = children.fresh(p.family)
        try:
            client.hello()
            _peer(client, p.name, rows)
        except Refused:  # the library cannot be loaded, as the list of libraries says
            pass
        except Gone as e:
            rows.append({"case": "(all)", "peer": p.name, "why": FAILED + str(e)})
        finally:
            client.close()
    return sorted(rows, key=lambda r: r["case"])


def _peer(client: Client, peer: str, rows: list[Row]) -> None:
    for name in workloads.MEASURED_FOR_MEMORY:
        module = workloads.load(name)
        c = module.CASES[0]
        row: Row = {"workload": name, "case": f"{name}: {c.id}", "peer": peer, "ops": c.ops}
        try:
            row.update(client.call("memory", name, c.id, peer, module.MEMORY))
        except Refused as e:
            if e.kind == "unavailable":
                continue
            row["why"] = FAILED + str(e)
        rows.append(row)
