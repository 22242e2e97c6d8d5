"""Programs that write into views and look at the graph: PyTorch gives the same values, calls the same hooks, and refuses the same."""

import warnings

import pytest

from tapegrad import torch

from . import graph_programs

peer = pytest.importorskip("torch")


@pytest.mark.parametrize("start", range(0, 240, 40))
def test_graphs_are_what_they_are_in_pytorch(start):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of gradients read at what is no leaf
        done = sum(graph_programs.run(seed, peer, torch) for seed in range(start, start + 40))
    assert done > 300  # most steps are allowed


@pytest.mark.parametrize("seed", [1079, 3086, 5027, 5115, 6230, 6501, 6733])
def test_graphs_that_differed_once(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert graph_programs.run(seed, peer, torch) > 0
