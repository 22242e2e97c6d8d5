"""The part that the harness was tuned on."""

from .axes import AXES
from .behaviour import BEHAVIOUR
from .elements import ELEMENTS
from .plant import Bed

KNOWN = Bed([*ELEMENTS, *AXES, *BEHAVIOUR])
