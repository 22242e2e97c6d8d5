"""Run Keras's own tests, as its wheel ships them, on tapegrad: ``python -m tests.tf.keras.run [group ...] [--look tf]``.

What fails is compared with `expected_failures.txt`, where each pattern has its reason.  Ends with status 1 if anything else
fails, or if something that is expected to fail does not.
"""

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
GROUPS = {
    "layers-core": ["layers/core", "layers/activations", "layers/layer_test.py"],
    "layers-images": ["layers/convolutional", "layers/pooling"],
    "layers-sequences": ["layers/rnn", "layers/attention"],
    "layers-others": ["layers/normalization", "layers/reshaping", "layers/regularization", "layers/merging"],
    "optimizers": ["optimizers"],
    "losses": ["losses"],
    "metrics": ["metrics"],
    "small": ["activations", "initializers", "regularizers", "constraints", "random", "dtype_policies", "tree"],
    "models": ["models", "trainers"],
    "callbacks": ["callbacks"],
    "saving": ["saving", "legacy", "utils"],
    "preprocessing": ["layers/preprocessing"],
    "backend": ["backend/common", "backend/tests"],
    "ops": [f"ops/{name}_test.py" for name in ("core", "function", "image", "linalg", "math", "nn", "operation", "ops")],
    "ops-numpy": ["ops/numpy_test.py"],
}


def source() -> Path:
    """Where Keras is installed; nothing of it is imported."""
    spec = find_spec("keras")
    if spec is None or spec.origin is None:
        sys.exit("Keras is not installed: pip install 'tapegrad[keras]'")
    return Path(spec.origin).parent / "src"


def results(group: str, look: str) -> dict[str, tuple[str, str]]:
    """The outcome and the report of each test of a group."""
    src = source()
    paths = [str(src / part) for part in GROUPS[group] if (src / part).exists()]
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "results.json")
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "tests.tf.keras.plugin", "-p", "no:cacheprovider"]
        command += ["-c", os.devnull, "--rootdir", str(src.parents[1]), "--continue-on-collection-errors", *paths]
        settings = {"TAPEGRAD_KERAS_RESULTS": str(found), "TAPEGRAD_KERAS_LOOK": look, "KERAS_HOME": folder}
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        run = subprocess.run(
            command,
            env={**os.environ, **settings, "PYTHONPATH": path},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not found.exists():
            sys.exit(f"{group}: pytest gave no results\n{run.stdout[-3000:]}")
        return {k.partition("keras/src/")[2]: tuple(v) for k, v in json.loads(found.read_text("utf-8")).items()}


def expected() -> dict[str, str]:
    """Patterns of tests that fail, each with its reason."""
    lines = (HERE / "expected_failures.txt").read_text("utf-8").splitlines()
    found, reason = {}, ""
    for line in lines:
        if line.startswith("#"):
            reason = line.lstrip("# ")
        elif line.strip():
            found[line.strip()] = reason
    return found


def compare(group: str, look: str, *, quiet: bool = False) -> list[str]:
    """What is not as expected, a line each; the figures by module are printed."""
    patterns = expected()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    wrong, seen = [], set()
    for test, (outcome, report) in results(group, look).items():
        reasons = [p for p in patterns if fnmatch.fnmatchcase(test, p)]
        kind = "expected" if outcome == "failed" and reasons else outcome
        counts[test.partition("::")[0]][kind] += 1
        if outcome == "failed":
            seen.update(reasons)
        if kind == "failed":
            wrong.append(f"failed: {test}\n{report[-600:]}")
    total: Counter[str] = Counter()
    for module, count in sorted(counts.items()):
        total += count
        if not quiet:
            print(f"  {module:60}", *(f"{n:5} {kind}" for kind, n in sorted(count.items(), reverse=True)))
    print(f"{group}:", ", ".join(f"{n} {kind}" for kind, n in sorted(total.items(), reverse=True)))
    wrong += [
        f"expected to fail, and does not: {p}"
        for p in patterns
        if p not in seen and any(fnmatch.fnmatchcase(module, p.partition("::")[0]) for module in counts)
    ]
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", default=[], help=f"of {', '.join(GROUPS)}; all if none is given")
    parser.add_argument("--look", choices=("", "tf"), default="", help="tensors of tapegrad, or of tapegrad.tf")
    options = parser.parse_args()
    wrong = []
    for group in options.groups or GROUPS:
        wrong += compare(group, options.look)
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
