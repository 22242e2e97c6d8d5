"""For those who come from another checker: its signature, this harness behind it.

* `torch_gradcheck`, `torch_gradgradcheck`: those of ``torch.autograd.gradcheck`` and ``gradgradcheck``.
* `check_grads`: that of ``jax.test_util.check_grads``.

Tolerances and steps are taken and have no effect: an error is judged by how sure the numeric derivative is.  The inputs
given are the first of those that are looked at; others of the same shapes follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import ArgumentError
from tapegrad.testing.checking import check, examine
from tapegrad.testing.systems.choose import as_numpy
from tapegrad.testing.words import Fixed, Word, like

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def torch_gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """In the place of ``torch.autograd.gradcheck``: True, or GradientCheckError (False, without `raise_exception`).

    Only inputs that require grad are differentiated, those in lower precision in double precision; `fast_mode` is the fast
    profile, `nondet_tol` means what it does there.
    """
    return _torch(func, inputs, fast_mode, nondet_tol, raise_exception, skip=("second",))


def torch_gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """In the place of ``torch.autograd.gradgradcheck``; cotangents are drawn, whatever `grad_outputs` says."""
    return _torch(func, inputs, fast_mode, nondet_tol, raise_exception, only=("numeric", "finite", "second"))


def _torch(func: Any, inputs: Any, fast: bool, nondeterministic: float, raises: bool, **names: Any) -> bool:
    given = inputs if isinstance(inputs, tuple | list) else (inputs,)
    if not any(getattr(x, "requires_grad", False) for x in given):
        raise ArgumentError(
            "gradcheck: no input requires grad; write x.requires_grad_() for those that are to be differentiated"
        )
    words = [_torch_word(x) for x in given]
    run = check if raises else examine
    profile = "fast" if fast else None
    return run(func, *words, framework="torch", profile=profile, nondeterministic=nondeterministic, **names).ok


def _torch_word(x: Any) -> Any:
    if not hasattr(x, "detach"):
        return Fixed(x)
    if not x.requires_grad:
        return Fixed(x.detach())
    return like(as_numpy(x))


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """In the place of ``jax.test_util.check_grads``: None, or GradientCheckError.

    `order` 1 leaves out the second order, `modes` without "fwd" forward mode; arguments are looked at in double precision.
    """
    if unknown := [m for m in modes if m not in ("fwd", "rev")]:
        raise ArgumentError(f"check_grads(modes=...): expected 'fwd' and 'rev', got {unknown[0]!r}")
    skip = [*(["second"] if order < 2 else []), *(["forward"] if "fwd" not in modes else [])]
    words = [_jax_word(x) for x in args]
    check(f, *words, framework="jax", skip=skip)


def _jax_word(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return type(x)(map(_jax_word, x))
    if isinstance(x, dict):
        return {k: _jax_word(v) for k, v in x.items()}
    a = np.asarray(x)
    if a.dtype.kind not in "fc":
        return Fixed(x)
    word: Word = like(a.astype(np.complex128 if a.dtype.kind == "c" else np.float64))
    return word
