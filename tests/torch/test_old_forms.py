"""Calls as they were written years ago, which PyTorch 2.13 still takes, or refuses with a hint."""

import subprocess
import sys

import pytest

from tapegrad import torch

M, V, B = torch.ones(2, 2), torch.ones(2), torch.ones(1, 2, 2)


@pytest.mark.filterwarnings("ignore:This overload of")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (lambda: torch.addmm(2, M, 3, M, M), lambda: torch.addmm(M, M, M, beta=2, alpha=3)),
        (lambda: torch.addmm(2, M, M, M), lambda: torch.addmm(M, M, M, beta=2)),
        (lambda: M.addmm(2, 3, M, M), lambda: torch.addmm(M, M, M, beta=2, alpha=3)),
        (lambda: M.clone().addmm_(2, 3, M, M), lambda: torch.addmm(M, M, M, beta=2, alpha=3)),
        (lambda: torch.addmv(2, V, 3, M, V), lambda: torch.addmv(V, M, V, beta=2, alpha=3)),
        (lambda: torch.baddbmm(2, B, 3, B, B), lambda: torch.baddbmm(B, B, B, beta=2, alpha=3)),
        (lambda: torch.addbmm(2, M, 3, B, B), lambda: torch.addbmm(M, B, B, beta=2, alpha=3)),
        (lambda: torch.addr(2, M, 3, V, V), lambda: torch.addr(M, V, V, beta=2, alpha=3)),
        (lambda: V.clone().add_(2, V), lambda: V + 2 * V),
        (lambda: torch.addcmul(V, 2, V, V), lambda: V + 2 * V * V),
    ],
)
def test_scalars_may_stand_before_the_tensors(old, new):
    assert old().tolist() == new().tolist()


def test_of_old_overloads_a_process_is_warned_once():
    code = (
        "import warnings\nfrom tapegrad import torch\nm = torch.ones(2, 2)\n"
        "with warnings.catch_warnings(record=True) as w:\n    warnings.simplefilter('always')\n"
        "    torch.addmm(2, m, 3, m, m); torch.ones(2).add_(2, torch.ones(2)); m.addmm(2, m, m)\n"
        "print(*[str(x.message).splitlines()[0] for x in w])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "This overload of addmm is deprecated:"


@pytest.mark.parametrize("name", ["symeig", "eig", "lstsq", "solve", "matrix_rank"])
def test_what_was_removed_says_what_to_call(name):
    with pytest.raises(RuntimeError, match=r"now removed\..*torch\.linalg"):
        getattr(torch, name)(M, M)


def test_a_number_too_many_is_no_overload():
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        torch.add(V, V, 2)
