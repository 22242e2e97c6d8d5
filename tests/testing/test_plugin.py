"""The pytest plugin, run on small test modules of its own."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.database import InMemoryExampleDatabase

import tapegrad as tg
from tapegrad.testing import examine, gradcheck

Run = Callable[..., pytest.RunResult]
pytest_plugins = ["pytester"]

MODULE = """
    import numpy as np
    import tapegrad as tg
    from tapegrad.testing import array, gradcheck as decorated

    @decorated(x=array("b", "n"))
    def test_right(x):
        return tg.softmax(x, axis=-1)

    @decorated(x=array("n"))
    def test_with_a_fixture(x, factor):
        return factor * tg.tanh(x)

    def test_fixture(gradcheck):
        gradcheck(np.sin, vjp=lambda g, x: g * np.cos(x))

    def test_wrong(gradcheck):
        gradcheck(np.cos, vjp=lambda g, x: g * np.sin(x))

    import pytest

    @pytest.fixture
    def factor():
        return 2.0
"""


@pytest.fixture(scope="module", autouse=True)
def what_checks_import_is_there() -> None:
    """Pytester forgets what was imported inside; extensions of NumPy that are then loaded twice abort the process."""
    if importlib.util.find_spec("tensorflow"):  # whose own import does not survive that either
        importlib.import_module("tensorflow")
    examine(lambda x: tg.softmax(x, axis=-1), x=("b", "n"), seed=1)
    examine(tg.tanh, seed=1, only="precision", prove=True)


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    pytester.makepyfile(MODULE)
    monkeypatch.setenv("TAPEGRAD_GRADCHECK_PROFILE", "fast")

    def with_options(*options: str) -> pytest.RunResult:
        plugin = [] if _installed() else ["-p", "tapegrad.testing.plugin"]
        return pytester.runpytest(*plugin, "-p", "no:cacheprovider", "-p", "no:randomly", *options)

    return with_options


def _installed() -> bool:
    from importlib.metadata import entry_points

    return any(e.value == "tapegrad.testing.plugin" for e in entry_points(group="pytest11"))


def test_a_right_derivative_passes_and_a_wrong_one_shows_its_report(run: Run) -> None:
    result = run()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "cos: the gradient is not the derivative",
            "*has the wrong sign*",
            "*reproduce*check(cos, np.array(*",
            "*4 functions, * checks, 0 unresolved*",
        ]
    )
    assert "checking.py" not in result.stdout.str()


def test_the_marker_deselects_those_with_the_fixture_too(run: Run) -> None:
    run("-m", "not gradcheck").assert_outcomes(deselected=4)


def test_several_checks_in_one_test_are_summed_up(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        """
        import numpy as np

        def test_both(gradcheck):
            for _ in range(2):
                gradcheck(np.sin, vjp=lambda g, x: g * np.cos(x), only="linear")
        """
    )
    run("--gradcheck-profile", "fast", "--gradcheck-seed", "1").stdout.fnmatch_lines(["1 functions, 20 checks, *"])


def test_the_line_to_paste_takes_a_decorated_test() -> None:
    @gradcheck(x=("n",), vjp=lambda g, x: 2 * g)
    def test_twice(x: Any) -> Any:
        return 2.5 * x

    found = examine(test_twice, np.array([1.0]), vjp=lambda g, x: 2 * g, only="numeric", cotangent=np.array([1.0]))
    assert "the gradient is not the derivative" in str(found)


def test_split_has_one_id_for_each_property(run: Run) -> None:
    result = run("--gradcheck-split", "-k", "test_right", "-v")
    result.stdout.fnmatch_lines(["*test_right?numeric? PASSED*", "*test_right?linear? PASSED*"])
    assert result.ret == 0


def test_only_and_frameworks_and_stats(run: Run) -> None:
    run("--gradcheck-only", "linear").assert_outcomes(passed=4)
    run("--gradcheck-frameworks", "torch").assert_outcomes(skipped=4)
    run("--gradcheck-stats").stdout.fnmatch_lines(["  *test_fixture  ok: * checks*"])


def test_prove_counts_planted_mistakes(run: Run) -> None:
    run("--gradcheck-prove", "-k", "test_fixture").stdout.fnmatch_lines(["*caught * of * planted mistakes*"])


def test_settings_in_pyproject(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml("[tool.tapegrad.gradcheck]\nonly = ['linear', 'shape']\n")
    run().assert_outcomes(passed=4)
    pytester.makepyprojecttoml("[tool.tapegrad.gradcheck]\nprofil = 'fast'\n")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*'profil' is none of profile, seed*"])
    pytester.makepyprojecttoml("[tool.tapegrad.gradcheck]\nseed = 'many'\n")
    run().stderr.fnmatch_lines(["*seed = 'many': expected a number*"])
    pytester.makepyprojecttoml("[tool.tapegrad.gradcheck]\nseed = 7\nprofile = 'fast'\nstats = true\n")
    run("-k", "test_right").stdout.fnmatch_lines(["  *::test_right  ok: * 12 inputs*"])


@pytest.mark.parametrize(
    ("option", "given", "told"),
    [
        ("profile", "slow", "expected one of fast, default, ci, thorough, got 'slow'"),
        ("only", "numeric,lineal", "expected one of shape, finite, *, got 'lineal'"),
        ("skip", "all", "expected one of shape, finite, *, got 'all'"),
        ("frameworks", "torch,theano", "expected one of numpy, tapegrad, *, got 'theano'"),
    ],
)
def test_a_name_that_is_none_is_refused_before_any_test(run: Run, option: str, given: str, told: str) -> None:
    result = run(f"--gradcheck-{option}", given)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--gradcheck-{option}: {told}*"])


def test_the_same_seed_under_ci_in_any_order(run: Run, pytester: pytest.Pytester) -> None:
    seeds = []
    for k in range(2):
        run("--gradcheck-profile", "ci", "-k", "test_fixture" if k else "", "--junitxml", "out.xml")
        text = (pytester.path / "out.xml").read_text()
        found = text[text.index('name="test_fixture"') :]
        seeds.append(found[found.index("gradcheck_seed") :].split('value="')[1].split('"')[0])
    assert seeds[0] == seeds[1]


@pytest.mark.slow
def test_under_xdist_the_summary_has_all_and_seeds_are_those_of_one_process(
    run: Run, pytester: pytest.Pytester
) -> None:
    found = []
    for workers in ("2", "0"):
        result = run("-n", workers, "--gradcheck-profile", "ci", "--gradcheck-stats", "--junitxml", f"{workers}.xml")
        result.assert_outcomes(passed=3, failed=1)
        result.stdout.fnmatch_lines(
            [
                "cos: the gradient is not the derivative",
                "*4 functions, * checks, * unresolved*",
                "  *::test_right  ok: *",
            ]
        )
        text = (pytester.path / f"{workers}.xml").read_text()
        found.append(sorted(re.findall(r'name="gradcheck_(?:seed|checks)" value="(\d+)"', text)))
    assert len(found[0]) == 8
    assert found[0] == found[1]


@pytest.fixture
def a_database() -> Iterator[None]:
    """Hypothesis keeps examples, as it does outside of its profiles for machines."""
    before = settings.get_current_profile_name()
    settings.register_profile("keeping", database=InMemoryExampleDatabase())
    settings.load_profile("keeping")
    yield
    settings.load_profile(before)


@pytest.mark.usefixtures("a_database")
def test_a_seed_that_failed_is_tried_first_until_it_passes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    pytester.makepyfile("""
        import os
        import numpy as np

        def test_above_a_limit(gradcheck):
            wrong = lambda g, x: g * np.cos(x) * (1 + 0.5 * (x > float(os.environ["LIMIT"])))
            gradcheck(np.sin, vjp=wrong, x=("n",), profile="fast")
    """)
    plugin = [] if _installed() else ["-p", "tapegrad.testing.plugin"]

    def run(limit: str) -> pytest.RunResult:
        monkeypatch.setenv("LIMIT", limit)
        return pytester.runpytest(*plugin, "-p", "no:cacheprovider", "--junitxml", "out.xml")

    def seed() -> list[str]:
        return re.findall(r'"gradcheck_seed" value="(\d+)"', (pytester.path / "out.xml").read_text())

    run("0.5").assert_outcomes(failed=1)
    first = seed()
    run("0.5").stdout.fnmatch_lines(["*kept*this seed failed before, and is tried first until it passes*"])
    assert seed() == first
    run("1e9").assert_outcomes(passed=1)
    run("0.5").stdout.no_fnmatch_line("*this seed failed before*")
    assert seed() != first
