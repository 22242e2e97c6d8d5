"""The examples that the decorators show are ops that keep the laws."""

import inspect
import re
import textwrap
from typing import Any

import pytest

import tapegrad as tg
from tapegrad.registry import declare
from tapegrad.registry.op import OPS
from tapegrad.testing import Draw, broken, laws_of

DECORATORS = ("elementwise", "linear", "multilinear", "primitive", "constant", "composite")


@pytest.mark.parametrize("kind", DECORATORS)
def test_the_example_of_a_decorator_is_an_op_that_keeps_the_laws(kind: str) -> None:
    doc = inspect.cleandoc(getattr(declare, kind).__doc__ or "")
    (block,) = re.findall(r"::\n\n((?:    .*\n?|\n)+)", doc)
    names: dict[str, Any] = {"__name__": "shown", **{name: getattr(tg, name) for name in DECORATORS}}
    before = set(OPS)
    try:
        exec(textwrap.dedent(block), names)
        (key,) = set(OPS) - before
        op = OPS[key]
        assert op.kind == kind
        assert laws_of(op)
        assert broken(op, [Draw(seed, complex=seed % 4 == 3) for seed in range(12)]) is None
    finally:
        for key in set(OPS) - before:
            del OPS[key]
