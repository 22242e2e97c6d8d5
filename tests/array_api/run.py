"""Run the public conformance suite of the array API standard on tapegrad.

    python tests/array_api/run.py PATH [--max-examples N] [--backend tensorflow] [arguments of pytest ...]

PATH is a checkout of https://github.com/data-apis/array-api-tests with its submodule; README.md here tells more.
The exit code is that of pytest: 0 if nothing fails but what the backend's list of known failures says.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSION = "2024.12"
#: The known failures on the kernels that make new arrays.
XFAILS = {"numpy": HERE / "xfails.txt", "tensorflow": HERE / "xfails_tensorflow.txt"}


def command(suite: Path, max_examples: int, rest: list[str], backend: str = "numpy") -> list[str]:
    """What is run inside the checkout."""
    tests = [] if any("::" in a or a.startswith("array_api_tests") for a in rest) else ["array_api_tests"]
    return [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *("-c", str(suite / "pytest.ini"), "--rootdir", str(suite)),  # not those of this repository
        *("--max-examples", str(max_examples), "--disable-deadline", "--derandomize"),
        *("--xfails-file", str(XFAILS[backend])),
        *("-W", "ignore::UserWarning"),  # special cases that the suite cannot read, and says so
        *tests,
        *rest,
    ]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", type=Path, help="a checkout of array-api-tests")
    parser.add_argument(
        "--max-examples", type=int, default=5, metavar="N", help="examples for each property (default: 5)"
    )
    parser.add_argument(
        "--backend", choices=list(XFAILS), default="numpy", help="the kernels that make new arrays (default: numpy)"
    )
    known, rest = parser.parse_known_args(arguments)
    if not (known.suite / "array-api" / "spec").is_dir():
        parser.error(f"{known.suite} is no checkout of array-api-tests with its submodule array-api")
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": "tapegrad",
        "ARRAY_API_TESTS_VERSION": VERSION,
        "TAPEGRAD_BACKEND": known.backend,
        "TF_CPP_MIN_LOG_LEVEL": "3",  # errors alone
    }
    suite = known.suite.resolve()
    words = command(suite, known.max_examples, rest, known.backend)
    return subprocess.run(words, cwd=suite, env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
