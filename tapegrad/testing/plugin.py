"""The pytest plugin: a fixture and a marker, options that begin with ``--gradcheck-``, and a summary.

Settings come from the command line, else from ``[tool.tapegrad.gradcheck]`` in ``pyproject.toml``, else from the
defaults.  It imports nothing of the harness before the first check.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapegrad.testing.report import Result

#: name -> (what the option takes, its help)
OPTIONS: dict[str, tuple[Any, str]] = {
    "profile": (str, "how hard checks look: fast, default, ci or thorough"),
    "seed": (int, "seed of all checks; else a new one for each test, from its id under the ci profile"),
    "only": (str, "properties to check, by comma"),
    "skip": (str, "properties not to check, by comma"),
    "frameworks": (str, "check functions of these frameworks only, by comma"),
    "stats": (bool, "show what each check did"),
    "prove": (bool, "plant mistakes in each derivative, and show how many were caught"),
    "split": (bool, "one test for each property"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gradcheck", "gradient checks (tapegrad)")
    for name, (kind, told) in OPTIONS.items():
        if kind is bool:
            group.addoption(f"--gradcheck-{name}", action="store_true", default=None, help=told)
        else:
            group.addoption(f"--gradcheck-{name}", type=kind, default=None, metavar=name.upper(), help=told)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gradcheck: a gradient check of tapegrad; deselect with -m 'not gradcheck'")
    config.stash[_SETTINGS] = settings_of(config)
    config.stash[_SEEN] = []
    config.pluginmanager.register(Recorder(config), "gradcheck-recorder")


_SETTINGS = pytest.StashKey[dict[str, Any]]()
_SEEN = pytest.StashKey[list[dict[str, Any]]]()


def settings_of(config: pytest.Config) -> dict[str, Any]:
    """Each option: from the command line, else from pyproject.toml, else None."""
    written = _from_pyproject(config)
    unknown = sorted(set(written) - set(OPTIONS))
    if unknown:
        raise pytest.UsageError(f"[tool.tapegrad.gradcheck]: {unknown[0]!r} is none of {', '.join(OPTIONS)}")
    found = {}
    for name in OPTIONS:
        given = config.getoption(f"gradcheck_{name}", default=None)
        value = given if given is not None else written.get(name)
        found[name] = ",".join(value) if isinstance(value, list) else value
    _known(found)
    return found


def _known(found: dict[str, Any]) -> None:
    """Refuse a setting that no check could do anything with."""
    if not any(value is not None for value in found.values()):
        return
    from tapegrad.testing.profiles import PROFILES
    from tapegrad.testing.properties import OTHERS, PROPERTIES
    from tapegrad.testing.systems.choose import FRAMEWORKS

    properties = [*PROPERTIES, *OTHERS]
    names: dict[str, list[str]] = {
        "profile": [*PROFILES],
        "only": properties,
        "skip": properties,
        "frameworks": [*FRAMEWORKS],
    }
    for option, known in names.items():
        for name in (found[option] or "").split(",") if option != "profile" else [found[option]]:
            if name and name not in known:
                raise pytest.UsageError(f"--gradcheck-{option}: expected one of {', '.join(known)}, got {name!r}")
    for option, (kind, _) in OPTIONS.items():
        if found[option] is not None and type(found[option]) is not kind:
            raise pytest.UsageError(f"[tool.tapegrad.gradcheck]: {option} = {found[option]!r}: expected {_KINDS[kind]}")


_KINDS = {int: "a number", bool: "true or false", str: "a name, or a list of them"}


def _from_pyproject(config: pytest.Config) -> dict[str, Any]:
    import tomllib

    path = config.rootpath / "pyproject.toml"
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        read: dict[str, Any] = tomllib.load(file).get("tool", {}).get("tapegrad", {}).get("gradcheck", {})
    return read


@pytest.fixture
def gradcheck(request: pytest.FixtureRequest) -> Callable[..., Result]:
    """`tapegrad.testing.check` with the options of the command line, and a seed of this test's own."""
    return checker(request)


def checker(request: pytest.FixtureRequest) -> Callable[..., Result]:
    """What the fixture gives."""
    options = request.config.stash[_SETTINGS]

    def run(f: Any, /, *examples: Any, **words: Any) -> Result:
        from tapegrad.testing import checking
        from tapegrad.testing.replay import replayed
        from tapegrad.testing.report import GradientCheckError
        from tapegrad.testing.session import name_of
        from tapegrad.testing.systems.choose import framework_for

        wanted = options["frameworks"]
        if wanted:
            found = framework_for(f, [*examples, *words.values()], words.get("framework")) or "numpy"
            if found not in wanted.split(","):
                pytest.skip(f"a function of {found}: --gradcheck-frameworks {wanted}")
        given = {k: options[k] for k in ("profile", "seed", "only", "skip", "prove") if options[k] is not None}
        given = {**given, **words}
        given.setdefault("seed", _seed(request, given.get("profile")))

        def once(**chosen: Any) -> Result:
            return checking.examine(f, *examples, **{**given, **chosen})

        result = once() if given["seed"] is not None else replayed(f"{request.node.nodeid} {name_of(f)}", once)
        _record(request, result)
        if not result.ok:
            raise GradientCheckError(result)
        return result

    return run


def _seed(request: pytest.FixtureRequest, profile: str | None) -> int | None:
    """Of the test's id under the ci profile, so that each run is the same in any order and on any worker."""
    fixed = profile == "ci" or (profile is None and os.environ.get("CI"))
    return zlib.crc32(request.node.nodeid.encode()) if fixed else None


def _record(request: pytest.FixtureRequest, result: Result) -> None:
    told: dict[str, Any] = {
        "gradcheck_checks": result.checks,
        "gradcheck_unresolved": result.unresolved,
        "gradcheck_seconds": round(result.seconds, 4),
        "gradcheck_seed": result.seed,
        "gradcheck_text": str(result) if result.ok else f"{result.name}: {result.failure and result.failure.what}",
    }
    before = dict(request.node.user_properties)
    for key in ("gradcheck_checks", "gradcheck_unresolved", "gradcheck_seconds"):  # of all checks in one test
        told[key] += before.get(key, 0)
    request.node.user_properties[:] = {**before, **told}.items()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests that use the fixture have the marker, too."""
    if "gradcheck" in getattr(item, "fixturenames", ()):
        item.add_marker("gradcheck")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Under --gradcheck-split, a test of `@gradcheck` is one test for each property."""
    if not getattr(metafunc.function, "gradcheck", False):
        return
    if metafunc.config.stash[_SETTINGS]["split"]:
        from tapegrad.testing.properties import OTHERS, PROPERTIES

        metafunc.parametrize("gradcheck_property", [*PROPERTIES, *OTHERS])
    else:
        metafunc.parametrize("gradcheck_property", [None], ids=[getattr(pytest, "HIDDEN_PARAM", "")])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failed check shows its report, and not the harness' own frames."""
    outcome: Any = yield
    report = outcome.get_result()
    if report.when == "call" and call.excinfo is not None and call.excinfo.typename == "GradientCheckError":
        report.longrepr = str(call.excinfo.value)


class Recorder:
    """Collects what checks did, on the controller of xdist as well: reports are sent there with their properties."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = dict(report.user_properties)
        if report.when == "call" and "gradcheck_checks" in told:
            self.config.stash[_SEEN].append({**told, "id": report.nodeid})


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    seen = config.stash[_SEEN]
    if not seen:
        return
    checks, unresolved, seconds = (
        sum(float(r[f"gradcheck_{k}"]) for r in seen) for k in ("checks", "unresolved", "seconds")
    )
    terminalreporter.section("gradient checks")
    terminalreporter.line(f"{len(seen)} functions, {checks:,.0f} checks, {unresolved:.0f} unresolved, {seconds:.2f} s")
    if config.stash[_SETTINGS]["stats"] or config.stash[_SETTINGS]["prove"]:
        for r in sorted(seen, key=lambda r: -float(r["gradcheck_seconds"])):
            terminalreporter.line(f"  {r['id']}  {r['gradcheck_text']}")
