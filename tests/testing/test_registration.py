"""An op that nobody could test is refused when it is declared."""

from __future__ import annotations

from typing import Any

import pytest

from tapegrad import composite, constant, elementwise, linear, multilinear, primitive
from tapegrad.errors import DeclarationError
from tapegrad.registry.op import OPS


@pytest.mark.parametrize("kind", [linear, multilinear, primitive, constant, composite])
def test_an_op_without_laws_is_refused_if_nothing_can_be_drawn(kind: Any) -> None:
    with pytest.raises(DeclarationError, match=r"unseen: no laws can be drawn; .*laws=lambda draw"):

        @kind
        def unseen(xp, x, /):
            """No laws."""

    assert not [name for name in OPS if name.endswith("unseen")]


def test_an_elementwise_op_with_a_parameter_needs_laws() -> None:
    with pytest.raises(DeclarationError, match="no laws can be drawn"):

        @elementwise
        def unseen(xp, x, /, *, slope):
            """No laws."""


@pytest.mark.parametrize("laws", [3, lambda: (), lambda draw, more: ()])
def test_laws_are_a_function_of_a_draw(laws: Any) -> None:
    with pytest.raises(DeclarationError, match="laws is a function of a Draw"):

        @linear(laws=laws)
        def unseen(xp, x, /):
            """Wrong laws."""


def test_a_public_op_is_not_tested_elsewhere() -> None:
    with pytest.raises(DeclarationError, match="not public"):

        @linear(laws="in some other place")
        def unseen(xp, x, /):
            """Laws elsewhere."""


@pytest.mark.parametrize("domain", [(2, 1), (1, 1), (1, 2, 3)])
def test_a_domain_is_two_rising_numbers(domain: Any) -> None:
    with pytest.raises(DeclarationError, match="the domain of x is"):

        @elementwise(domain=domain)
        def unseen(xp, x, /):
            """Wrong domain."""


def test_a_domain_names_arguments() -> None:
    with pytest.raises(DeclarationError, match="domain of 'z': the arrays are x"):

        @elementwise(domain={"z": (0, 1)})
        def unseen(xp, x, /):
            """Wrong domain."""


def test_only_none_can_be_the_default_of_an_array_and_only_in_a_composite() -> None:
    with pytest.raises(DeclarationError, match="cannot have a default"):

        @elementwise
        def unseen(xp, x, high=None, /):
            """A default."""
