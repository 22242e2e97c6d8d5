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


def main(where: str, script: str, times: str) -> int:
    """Run it; the value is the exit code."""
    from tapegrad.migrate import run_script, style_of
    from tapegrad.migrate.imports import read

    (style,) = style_of(read(Path(script)))
    if where == "real":
        importlib.import_module({"torch": "torch", "tf": "tensorflow"}[style])
        if style == "torch":
            importlib.import_module("torch").set_num_threads(1)
    else:
        importlib.import_module(f"tapegrad.{style}")
        importlib.import_module("tapegrad.registry.backends").backend(where)
    began = time.perf_counter()
    if where == "real":
        sys.argv = [script]
        sys.path.insert(0, str(Path(script).parent))
        runpy.run_path(script, run_name="__main__")
        code = 0
    else:
        code = run_script(Path(script), backend=where)
    Path(times).write_text(json.dumps(time.perf_counter() - began))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
