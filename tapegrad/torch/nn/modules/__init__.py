"""All modules."""

from tapegrad.torch._missing import refusing
from tapegrad.torch.nn.modules import (
    _places,
    activation,
    adaptive_softmax,
    container,
    conv,
    fractional,
    linear,
    loss,
    module,
    norm,
    rnn,
    shapes,
    sparse,
    transformer,
    utils,
)
from tapegrad.torch.nn.modules._lazy import LazyModuleMixin
from tapegrad.torch.nn.modules.container import (
    Container,
    ModuleDict,
    ModuleList,
    Sequential,
)
from tapegrad.torch.nn.modules.module import Module
from tapegrad.torch.nn.modules.parameters import ParameterDict, ParameterList

PARTS = (activation, adaptive_softmax, conv, fractional, linear, loss, norm, rnn, shapes, sparse, transformer)
NAMES = [name for part in PARTS for name in part.__all__]
globals().update({name: getattr(part, name) for part in PARTS for name in part.__all__})
_places.install(__name__)
__getattr__ = refusing(globals())

__all__ = [  # noqa: PLE0604
    "Container", "LazyModuleMixin", "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential", *NAMES,
]  # fmt: skip
