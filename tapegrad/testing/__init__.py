"""Checks of gradients: arguments drawn for an op, and the laws that every op obeys.

>>> from tapegrad.testing import Draw, broken
>>> from tapegrad.registry.op import OPS
>>> broken(OPS["tanh"], [Draw(seed) for seed in range(5)]) is None
True
"""

from tapegrad.testing.case import Case
from tapegrad.testing.draw import Draw
from tapegrad.testing.law import LAWS, Law, LawError, Unresolved
from tapegrad.testing.laws import broken, laws_of

__all__ = ["LAWS", "Case", "Draw", "Law", "LawError", "Unresolved", "broken", "laws_of"]
