"""Frameworks imported once for many scripts: `python -m interop.warm FRAMEWORK SOCKET PARENT` is a process that has imported
one, and runs each script that it is asked for in a copy of itself.

An import of TensorFlow takes six seconds of a processor, most scripts one: of the lab's six minutes more than three were imports.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import shutil
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from interop.child import framework_of, main

#: A copy of a process is safe where none of its modules has threads of its own yet; macOS's frameworks have.
POSSIBLE = sys.platform == "linux"
#: What a framework itself imports at the first use of an optimizer, with it.
ALSO = {"torch": ("torch._dynamo",)}
PATIENCE = 600
#: One thread each, and none of TensorFlow's announcements.
QUIET = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"), "1"),
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "-1",
}


def run(path: Path, where: str, folder: Path) -> int:
    """The exit code of a script; the folder gets its `out`, its `error` and its `seconds`."""
    framework = framework_of(path) if where == "real" else where
    with _STARTING:  # two scripts at once ask for one process
        _, address = server(framework)
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(PATIENCE)
        line.connect(address)
        line.sendall(json.dumps([where, str(path), str(folder)]).encode() + b"\n")
        answer = line.makefile().read()
    return int(answer or -1)  # a process that died says nothing


_STARTING = threading.Lock()


@functools.cache
def server(framework: str) -> tuple[subprocess.Popen[bytes], str]:
    """The process that has imported the framework, and its address: started when first asked for, it ends after this one."""
    folder = Path(tempfile.mkdtemp())
    address = str(folder / "socket")
    with (folder / "error").open("wb") as error:
        process = subprocess.Popen(
            [sys.executable, "-m", "interop.warm", framework, address, str(os.getpid())],
            cwd=Path(__file__).parents[1],
            env={**os.environ, **QUIET},
            stderr=error,
        )
    while not Path(address).exists():
        if process.poll() is not None:
            raise RuntimeError(f"{framework} could not be imported: {(folder / 'error').read_text()}")
        time.sleep(0.05)
    return process, address


class _Copies(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    """Each request in a copy of this process."""

    parent: int

    def service_actions(self) -> None:
        super().service_actions()
        if os.getppid() != self.parent:
            sys.exit("the lab has ended")


class _Script(socketserver.StreamRequestHandler):
    """One script: what it prints to files, the exit code to who asked."""

    def handle(self) -> None:
        where, path, folder = json.loads(self.rfile.readline())
        for descriptor, name in ((1, "out"), (2, "error")):
            with Path(folder, name).open("wb") as file:
                os.dup2(file.fileno(), descriptor)
        code = status(where, path, str(Path(folder, "seconds")))
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.wfile.write(b"%d" % code)


def status(where: str, path: str, times: str) -> int:
    """What `python -m interop.child` would end with."""
    try:
        return main(where, path, times)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1


def serve(framework: str, address: str, parent: str) -> None:
    """Import, then answer for as long as the lab runs."""
    importlib.import_module(framework)
    for name in ALSO.get(framework, ()):
        importlib.import_module(name)
    try:
        with _Copies(address + "~", _Script) as copies:
            copies.parent = int(parent)
            os.rename(address + "~", address)  # only now: it listens
            copies.serve_forever()
    finally:
        shutil.rmtree(Path(address).parent)


if __name__ == "__main__":
    serve(*sys.argv[1:])
