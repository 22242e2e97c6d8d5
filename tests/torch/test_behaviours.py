"""Small programs give what they give under PyTorch: values, texts, errors, orders of calls."""

from __future__ import annotations

import copy
import io
import math
import pickle
import re
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

from tapegrad import torch as ours
from tests.torch.behaviours import data, graphs, maths, modules, optim, transforms, usage, views

theirs: Any = pytest.importorskip("torch")

PROGRAMS = {
    f"{part.__name__.rpartition('.')[2]}: {name}": program
    for part in (data, graphs, maths, modules, optim, transforms, usage, views)
    for name, program in part.PROGRAMS.items()
}


def error_of(function: Any, *args: Any, **words: Any) -> str:
    """The first line of what a call raises."""
    try:
        found = function(*args, **words)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:230]
    return f"no error: {found!r}"


def rounded(x: Any) -> list[Any]:
    """All elements, to four places."""
    values = x.detach().flatten().tolist()
    return [(round(v.real, 4), round(v.imag, 4)) if isinstance(v, complex) else round(v, 4) if isinstance(v, float) else v for v in values]


def result(t: Any, program: str) -> str:
    t.manual_seed(0)
    names = {
        "t": t, "err": error_of, "R4": rounded, "copy": copy, "io": io, "math": math, "pickle": pickle, "threading": threading,
        "warnings": warnings, "weakref": weakref, "np": np, "gc": __import__("gc"),
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(program, "<program>", "exec"), names)
    return re.sub("0x[0-9a-f]+", "0x", repr(names["result"])).replace("tapegrad.torch.", "torch.")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_under_PyTorch(name: str) -> None:
    assert result(ours, PROGRAMS[name]) == result(theirs, PROGRAMS[name])
