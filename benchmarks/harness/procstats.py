"""What the operating system knows: memory of a process, and who used the processors."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource

_TICK = os.sysconf("SC_CLK_TCK")


def _status(field: str) -> int:
    """A field of this process's status file in bytes; 0 where there is none."""
    try:
        with open("/proc/self/status") as f:
            for line in f:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def rss() -> int:
    """Resident bytes of this process now; 0 where the system does not tell."""
    return _status("VmRSS")


def peak_rss() -> int:
    """Largest resident size of this process so far, in bytes."""
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def reset_peak() -> bool:
    """Whether the peak now starts again from the present size."""
    try:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
        return True
    except OSError:
        return False


def trim() -> None:
    """Give freed heap memory back to the system, so that growth is seen in full."""
    with contextlib.suppress(OSError, AttributeError):  # no glibc
        ctypes.CDLL(None).malloc_trim(0)


def busy_seconds() -> float:
    """Processor seconds used by everything on this machine; nan where the system does not tell."""
    try:
        with open("/proc/stat") as f:
            v = [int(n) for n in f.readline().split()[1:9]]
        return (sum(v) - v[3] - v[4]) / _TICK  # less idle and iowait
    except OSError:
        return float("nan")


def process_seconds(pid: int) -> float:
    """Processor seconds used by one process; 0 where it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            v = f.read().rpartition(")")[2].split()
        return (int(v[11]) + int(v[12])) / _TICK
    except OSError:
        return 0.0


def waiting_seconds(*, every_thread: bool) -> float:
    """Seconds in which this thread (or all threads of this process) was ready but had no processor."""
    files = ["/proc/thread-self/schedstat"]
    if every_thread:
        try:
            files = [f"/proc/self/task/{t}/schedstat" for t in os.listdir("/proc/self/task")]
        except OSError:
            return 0.0
    total = 0
    for file in files:
        try:
            with open(file) as f:
                total += int(f.read().split()[1])
        except (OSError, IndexError, ValueError):  # the thread ended, or there is no schedstat
            pass
    return total / 1e9


def cpu_model() -> str:
    """The processor's name."""
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown"
