"""The driver's end of a child process, and the set of living children."""

from __future__ import annotations

import contextlib
import pickle
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from benchmarks.harness import procstats
from benchmarks.harness.peers import environment

ROOT = Path(__file__).resolve().parents[2]
FAILED = "FAILED "  # how a reason begins that is a mistake, and not only something that is missing


class Gone(Exception):
    """The child process died or took too long."""


class Refused(Exception):
    """The child could not do it: kind is 'unavailable' or 'error', trace its traceback."""

    def __init__(self, kind: str, text: str, trace: str = "") -> None:
        super().__init__(text)
        self.kind = kind
        self.trace = trace


def _scratch() -> IO[bytes]:
    """A file without a name; gone when it is closed."""
    return tempfile.TemporaryFile()


class Client:
    """A child process that holds one library."""

    def __init__(self, family: str, python: str, threads: int, *, installed: bool) -> None:
        self.family = family
        self.info: dict[str, Any] | None = None
        self._err = _scratch()
        self._proc = subprocess.Popen(
            [python, "-u", "-m", "benchmarks.harness.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._err,
            env=environment(threads),
            cwd=ROOT,
        )
        self._requests, self._replies = cast(IO[bytes], self._proc.stdin), cast(IO[bytes], self._proc.stdout)
        self.send("hello", family, threads, installed)

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._proc.poll() is None

    def hello(self) -> dict[str, Any]:
        """What the child says of its library; waits until it is loaded."""
        if self.info is None:
            self.info = self.receive(180)
        return self.info

    def send(self, name: str, *args: Any) -> None:
        """Ask without waiting for the answer."""
        try:
            pickle.dump((name, args), self._requests)
            self._requests.flush()
        except (BrokenPipeError, ValueError):
            raise self._died() from None

    def receive(self, timeout: float) -> Any:
        """The answer to the oldest open question."""
        ready, _, _ = select.select([self._replies], [], [], timeout)
        if not ready:
            self.close(kill=True)
            raise Gone(f"no answer within {timeout:.0f} s")
        try:
            kind, *rest = pickle.load(self._replies)
        except (EOFError, pickle.UnpicklingError):
            raise self._died() from None
        if kind == "ok":
            return rest[0]
        raise Refused(kind, *rest)

    def call(self, name: str, *args: Any, timeout: float = 300) -> Any:
        """Ask and wait for the answer."""
        self.send(name, *args)
        return self.receive(timeout)

    def processor_seconds(self) -> float:
        """Processor time that the child has used so far."""
        return procstats.process_seconds(self._proc.pid)

    def close(self, *, kill: bool = False) -> None:
        """End the process: by closing its stdin, or at once."""
        if kill:
            self._proc.kill()
        for pipe in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                pipe.close()
        try:
            self._proc.wait(10)
        except subprocess.TimeoutExpired:
            self._proc.kill()
            self._proc.wait()
        self._err.close()

    def _died(self) -> Gone:
        try:
            code = self._proc.wait(5)
        except subprocess.TimeoutExpired:
            self._proc.kill()
            code = self._proc.wait()
        self._err.seek(0)
        lines = self._err.read().decode(errors="replace").strip().splitlines()
        self.close()
        return Gone("the process died: " + (lines[-1][:120] if lines else f"exit code {code}"))


class Children:
    """One living child for each family; a context manager that ends them all.

    `pythons` maps a family to its interpreter; the others run in this one.
    """

    def __init__(self, families: Iterable[str], threads: int, pythons: Mapping[str, str]) -> None:
        self.families = tuple(families)
        self.dead: dict[str, str] = {}
        self.infos: dict[str, dict[str, Any]] = {}
        self._threads = threads
        self._pythons = pythons
        self._clients: dict[str, Client] = {}

    def __enter__(self) -> Children:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None) -> None:
        self.close(kill=kind is not None)

    def close(self, *, kill: bool = False) -> None:
        """End all children; they start again where they are asked for."""
        for client in self._clients.values():
            client.close(kill=kill)
        self._clients.clear()

    def open(self) -> None:
        """Start all children at once, then wait for each."""
        for family in self.families:
            self._clients[family] = self.fresh(family)
        for family in self.families:
            self.get(family)

    def fresh(self, family: str) -> Client:
        """A new child, which the caller must close."""
        return Client(family, self.python(family), self._threads, installed=family in self._pythons)

    def python(self, family: str) -> str:
        """The interpreter of a family."""
        return self._pythons.get(family, sys.executable)

    def get(self, family: str) -> Client | None:
        """The living child of a family, started again if it died; None where the library cannot be loaded."""
        if family in self.dead:
            return None
        client = self._clients.get(family)
        if client is None or (not client.alive and client.info is not None):
            client = self._clients[family] = self.fresh(family)
        try:
            self.infos[family] = client.hello()
        except (Refused, Gone) as e:
            missing = isinstance(e, Refused) and e.kind == "unavailable"
            self.dead[family] = ("" if missing else FAILED) + str(e)
            client.close()
            del self._clients[family]
            return None
        return client

    def need(self, family: str) -> Client:
        """The living child of a family without which nothing can be done."""
        client = self.get(family)
        if client is None:
            raise Gone(f"{family}: {self.dead[family]}")
        return client

    def drop(self) -> None:
        """Let all children forget their steps."""
        for client in self._clients.values():
            if client.alive:
                client.call("drop")

    def own_seconds(self) -> float:
        """Processor time of this process and of all children."""
        return sum(c.processor_seconds() for c in self._clients.values()) + time.process_time()
