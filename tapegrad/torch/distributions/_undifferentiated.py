"""Samples whose derivative by the parameters is not declared as an op: they are refused where one would be needed."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.distributions.utils import torch


def _refuse(name: str, x: Any) -> None:
    if x.requires_grad and torch.is_grad_enabled():
        raise NotImplementedError(
            f"{name}.rsample(): the derivative of a sample by the concentration is not implemented; draw with sample(), "
            "or under torch.no_grad(), and differentiate log_prob"
        )


def standard_gamma(concentration: Any) -> Any:
    """Numbers of gamma distributions of rate 1."""
    _refuse("Gamma", concentration)
    return torch._standard_gamma(concentration)


def dirichlet(concentration: Any) -> Any:
    """Shares of Dirichlet distributions."""
    _refuse("Dirichlet", concentration)
    return torch._sample_dirichlet(concentration)
