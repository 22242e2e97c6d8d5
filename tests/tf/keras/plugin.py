"""A pytest plugin under which Keras's own tests run on tapegrad: loads it before they import Keras, and counts results.

Keras's tests leave out gradients and `fit` where the backend is called "numpy", as tapegrad's is to Keras.  So that they
don't, the tests see another name.
"""

import importlib
import json
import os
import sys
import warnings
from collections import Counter
from types import ModuleType

import pytest

from tapegrad.keras import load

load()
if os.environ.get("TAPEGRAD_KERAS_LOOK") == "tf":
    import tapegrad.tf.keras  # noqa: F401  from here on, tensors are those of tapegrad.tf

from keras.src import backend  # noqa: E402  now it may be imported

NAME = "tapegrad"
#: Modules, and folders of them, where something is looked up by the backend's name, among those that Keras has.
BY_NAME = ("trainer_test.py", "preprocessing", "saving")
_shown = [NAME]
backend.backend = lambda: _shown[0]

for _public in ("keras.backend", "keras.config"):
    vars(importlib.import_module(_public))["backend"] = backend.backend

_conftest = ModuleType("conftest")  # Keras's own, of which its tests import this
_conftest.skip_if_backend = lambda name, reason: pytest.mark.skipif(name == NAME, reason=reason)
sys.modules["conftest"] = _conftest

_RESULTS = {}


def pytest_configure(config):
    for marker in ("requires_trainable_backend", "multi_device"):
        config.addinivalue_line("markers", f"{marker}: Keras's own")
    warnings.simplefilter("default")


def _seen_in(node):
    """The name that the tests of a module see."""
    path = getattr(node, "path", None)
    return "numpy" if path is not None and any(part in BY_NAME for part in path.parts) else NAME


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    _shown[0] = _seen_in(collector)
    return (yield)


def pytest_runtest_setup(item):
    _shown[0] = _seen_in(item)


def pytest_collection_modifyitems(items):
    for item in items:
        if "multi_device" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="needs several devices"))


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        found = _RESULTS.get(report.nodeid)
        if found is None or found[0] == "passed":
            text = "" if report.outcome == "passed" else str(report.longrepr)[-4000:]
            _RESULTS[report.nodeid] = (report.outcome, text)


def pytest_collectreport(report):
    if report.failed:
        _RESULTS[report.nodeid] = ("failed", str(report.longrepr)[-4000:])


def pytest_sessionfinish(session):
    path = os.environ.get("TAPEGRAD_KERAS_RESULTS")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_RESULTS, file)
    print(dict(Counter(outcome for outcome, _ in _RESULTS.values())))
