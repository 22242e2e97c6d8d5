"""One script in one process, under the real framework or under tapegrad: `python -m interop.child WHERE SCRIPT TIMES`.

`TIMES` is a file that gets the seconds that the script's body took, imports of its framework not counted.
"""

from __future__ import annotations

import importlib
import json
import runpy
import sys
import time
from pathlib import Path


def framework_of(script: Path) -> str:
    """The framework that a script of the lab is written for: "torch" or "tensorflow"."""
    from tapegrad.migrate import style_of
    from tapegrad.migrate.imports import read

    (style,) = style_of(read(script))
    return {"torch": "torch", "tf": "tensorflow"}[style]


def main(where: str, script: str, times: str) -> int:
    """Run it; the value is the exit code."""
    framework = framework_of(Path(script))
    if where == "real":
        module = importlib.import_module(framework)
        if framework == "torch":
            module.set_num_threads(1)
    else:
        importlib.import_module("tapegrad.torch" if framework == "torch" else "tapegrad.tf")
        importlib.import_module("tapegrad.registry.backends").backend(where)
    began = time.perf_counter()
    if where == "real":
        sys.argv = [script]
        sys.path.insert(0, str(Path(script).parent))
        runpy.run_path(script, run_name="__main__")
        code = 0
    else:
        from tapegrad.migrate import run_script

        code = run_script(Path(script), backend=where)
    Path(times).write_text(json.dumps(time.perf_counter() - began))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
