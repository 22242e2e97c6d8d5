"""Functions of neural networks."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._refusals import refuse_all
from tapegrad.torch._tagged import NN, name_all
from tapegrad.torch.nn.functional import (
    activation,
    attention,
    ctc,
    distance,
    fractional,
    images,
    loss,
    norm,
    resizing,
    sampling,
    vision,
)

_PARTS = (activation, attention, ctc, distance, fractional, images, loss, norm, resizing, sampling, vision)
for _part in _PARTS:
    globals().update({name: getattr(_part, name) for name in _part.__all__})
name_all(globals(), NN)
refuse_all(globals())


def __getattr__(name: str) -> Any:
    from tapegrad.torch._missing import refuse

    return refuse("torch.nn.functional", name, globals())
