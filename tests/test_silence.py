"""NumPy's warnings of values that are not finite: not for users of the facades, and only theirs are kept away."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUN = """
import warnings
import numpy as np
caught = []
warnings.showwarning = lambda message, category, filename, *rest: caught.append(filename)
warnings.simplefilter("always")
{body}
print(len(caught))
"""
TORCH = """
from tapegrad import torch
x = torch.tensor([-1.0, 0.0, 3e38], requires_grad=True)
for y in (x.sqrt(), x.log(), x.exp(), x.sum() + x.sum(), x.prod(), x.cumsum(0), x.cumprod(0), x / 0, x @ x, x.var(), x.half(), x.long()):
    if y.requires_grad:
        y.float().sum().backward()
layer = torch.nn.Linear(3, 2)
optimizer = torch.optim.Adam(layer.parameters(), lr=1e38)
for _ in range(3):
    layer(x.detach()).pow(2).sum().backward()
    optimizer.step()
"""
TF = """
import tapegrad.tf as tf
x = tf.constant([-1.0, 0.0, 3e38])
for f in (tf.sqrt, tf.math.log, tf.exp, tf.reduce_prod, tf.cumsum, tf.norm):
    f(x)
x / 0
"""
USERS = "import {facade}\nnp.sqrt(np.array([-1.0]))"


def warnings_of(body: str) -> int:
    found = subprocess.run([sys.executable, "-c", RUN.format(body=body)], capture_output=True, text=True, timeout=120, check=True)
    return int(found.stdout)


@pytest.mark.parametrize("body", [TORCH, TF], ids=["torch", "tf"])
def test_a_script_sees_no_warning_of_tapegrads_kernels(body: str) -> None:
    assert warnings_of(body) == 0


@pytest.mark.parametrize("facade", ["tapegrad.torch", "tapegrad.tf"])
def test_a_users_own_numpy_warns_as_ever(facade: str) -> None:
    assert warnings_of(USERS.format(facade=facade)) == 1


def test_without_a_facade_nothing_is_kept_away() -> None:
    assert warnings_of("import tapegrad as tg\ntg.sqrt(tg.asarray([-1.0]))") == 1
