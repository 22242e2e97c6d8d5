"""Dtypes, indices and writes by indices, one expression at a time, next to PyTorch's."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

from tapegrad import torch as ours
from tests.torch import expressions
from tests.torch.expressions import lines

theirs: Any = pytest.importorskip("torch")


def given(t: Any, names: Any, text: str, *, statement: bool = False) -> str:
    """What comes out, as text, with its dtype; or the error."""
    space = names(t)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if statement:
                exec(text, space)
            found = space["x"] if statement else eval(text, space)
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:100]}"
    plain = re.sub("0x[0-9a-f]+", "0x", repr(found)).replace("tapegrad.torch.", "torch.")
    return f"{plain} {getattr(found, 'dtype', '')}"


@pytest.mark.parametrize("text", lines(expressions.PROMOTION))
def test_dtypes_are_PyTorchs(text: str) -> None:
    assert given(ours, expressions.promotion, text) == given(theirs, expressions.promotion, text)


@pytest.mark.parametrize("text", lines(expressions.INDEXING))
def test_an_index_picks_what_it_picks_in_PyTorch(text: str) -> None:
    assert given(ours, expressions.indexed, text) == given(theirs, expressions.indexed, text)


@pytest.mark.parametrize("text", lines(expressions.WRITING))
def test_a_write_does_what_it_does_in_PyTorch(text: str) -> None:
    mine = given(ours, expressions.written, text, statement=True)
    assert mine == given(theirs, expressions.written, text, statement=True)
