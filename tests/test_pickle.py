"""Functions and values that go through pickle, as to another process."""

import pickle
from typing import Any

import pytest

import tapegrad as tg
from tapegrad.registry import public


@pytest.mark.parametrize(("name", "op"), sorted(public.names().items()))
def test_a_public_op_is_pickled_by_its_name(name: str, op: Any) -> None:
    assert pickle.loads(pickle.dumps(op.entry)) is op.entry


def test_a_function_says_that_it_is_of_the_module_that_exports_it() -> None:
    assert (tg.sin.__module__, tg.nn.gelu.__module__, tg.linalg.inv.__module__) == ("tapegrad", "tapegrad.nn", "tapegrad.linalg")
    assert tg.interp.__module__ == "tapegrad"


def test_functions_of_pytorchs_style_are_pickled() -> None:
    from tapegrad import torch

    for f in (torch.sin, torch.nn.functional.cross_entropy, torch.nn.functional.embedding, torch.special.exp2):
        assert pickle.loads(pickle.dumps(f)) is f
