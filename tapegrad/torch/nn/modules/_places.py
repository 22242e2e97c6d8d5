"""The modules of `torch.nn.modules` by PyTorch's names: `from torch.nn.modules.batchnorm import _BatchNorm`.

Layers stand here in fewer files than there, and some are rows of a table; scripts import them, and pickles name them, by where they
are in PyTorch.  So each such name is a module that holds what belongs to it, and a class says that it lives there.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from tapegrad.torch._absent import part

_RANKS = (1, 2, 3)


def _ranked(*names: str) -> list[str]:
    return [f"{name}{n}d" for name in names for n in _RANKS]


#: PyTorch's module, the file here, and what it holds.
PLACES: dict[str, list[tuple[str, list[str]]]] = {
    "adaptive": [("adaptive_softmax", ["AdaptiveLogSoftmaxWithLoss"])],
    "batchnorm": [("norm", ["_NormBase", "_BatchNorm", "SyncBatchNorm", *_ranked("BatchNorm", "LazyBatchNorm")])],
    "channelshuffle": [("shapes", ["ChannelShuffle"])],
    "distance": [("shapes", ["CosineSimilarity", "PairwiseDistance"])],
    "dropout": [
        ("shapes", ["_DropoutNd", "Dropout", *_ranked("Dropout"), "AlphaDropout", "FeatureAlphaDropout"]),
    ],
    "flatten": [("shapes", ["Flatten", "Unflatten"])],
    "fold": [("shapes", ["Fold", "Unfold"])],
    "instancenorm": [("norm", ["_InstanceNorm", *_ranked("InstanceNorm", "LazyInstanceNorm")])],
    "lazy": [("_lazy", ["LazyModuleMixin"])],
    "normalization": [("shapes", ["LocalResponseNorm"]), ("norm", ["GroupNorm", "LayerNorm", "RMSNorm"])],
    "padding": [
        (
            "shapes",
            [
                *(f"_{kind}PadNd" for kind in ("Circular", "Constant", "Reflection", "Replication")),
                *_ranked("CircularPad", "ConstantPad", "ReflectionPad", "ReplicationPad", "ZeroPad"),
            ],
        )
    ],
    "pixelshuffle": [("shapes", ["PixelShuffle", "PixelUnshuffle"])],
    "pooling": [
        (
            "shapes",
            [
                *(f"_{kind}Nd" for kind in ("MaxPool", "MaxUnpool", "AvgPool", "LPPool", "AdaptiveMaxPool", "AdaptiveAvgPool")),
                *_ranked("MaxPool", "MaxUnpool", "AvgPool", "LPPool", "AdaptiveMaxPool", "AdaptiveAvgPool"),
            ],
        ),
        ("fractional", ["FractionalMaxPool2d", "FractionalMaxPool3d"]),
    ],
    "upsampling": [("shapes", ["Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"])],
}
#: Files that stand under PyTorch's name, and whose classes are rows of a table.
_OWN = ("activation", "loss")
#: What PyTorch has in a module that is here under the same name, and lies elsewhere.
_ALSO = {"container": ("parameters", ["ParameterDict", "ParameterList"])}


def install(package: str) -> None:
    """Make the modules of these names, and let each class say where it is found."""
    for name, pieces in PLACES.items():
        members: dict[str, Any] = {}
        for file, names in pieces:
            held = vars(importlib.import_module(f"{package}.{file}"))
            members |= {n: held[n] for n in names}
        made = part(package, name, f"`torch.nn.modules.{name}`.", __all__=[n for n in members if n[0] != "_"], **members)
        setattr(importlib.import_module(package), name, made)
        for member in members.values():
            member.__module__ = made.__name__
    for name in _OWN:
        for member in vars(importlib.import_module(f"{package}.{name}")).values():
            if inspect.isclass(member) and member.__module__ == f"{package}._tables":
                member.__module__ = f"{package}.{name}"
    for name, (file, names) in _ALSO.items():
        target, held = importlib.import_module(f"{package}.{name}"), vars(importlib.import_module(f"{package}.{file}"))
        for n in names:
            setattr(target, n, held[n])
