"""Functions that few programs call: polynomials, Bessel functions, factors of indefinite matrices, even points, drawn windows."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special

from tapegrad import torch

F = torch.nn.functional
_SCIPY = {
    "chebyshev_polynomial_t": scipy.special.eval_chebyt,
    "chebyshev_polynomial_u": scipy.special.eval_chebyu,
    "shifted_chebyshev_polynomial_t": scipy.special.eval_sh_chebyt,
    "shifted_chebyshev_polynomial_u": scipy.special.eval_sh_chebyu,
    "hermite_polynomial_h": scipy.special.eval_hermite,
    "hermite_polynomial_he": scipy.special.eval_hermitenorm,
    "laguerre_polynomial_l": scipy.special.eval_laguerre,
    "legendre_polynomial_p": scipy.special.eval_legendre,
}


@pytest.mark.parametrize("name", _SCIPY)
def test_polynomials_are_scipys_for_each_degree(name: str) -> None:
    x = np.linspace(-1.3, 1.4, 7)
    for degree in (0, 1, 2, 3, 7):
        y = getattr(torch.special, name)(torch.tensor(x), degree)
        np.testing.assert_allclose(y.numpy(), _SCIPY[name](degree, x), rtol=1e-12, atol=1e-12)
    degrees = np.array([[0], [4], [-2]])
    y = getattr(torch.special, name)(torch.tensor(x), torch.tensor(degrees)).numpy()
    np.testing.assert_allclose(y[:2], _SCIPY[name](degrees[:2], x), rtol=1e-12, atol=1e-12)
    assert not y[2].any()


def test_polynomials_of_chebyshev_of_the_third_and_fourth_kind() -> None:
    t = np.linspace(0.3, 2.8, 5)
    x = torch.tensor(np.cos(t))
    for n in (0, 1, 4):
        v = torch.special.chebyshev_polynomial_v(x, n).numpy()
        w = torch.special.chebyshev_polynomial_w(x, n).numpy()
        np.testing.assert_allclose(v, np.cos((n + 0.5) * t) / np.cos(t / 2), rtol=1e-12)
        np.testing.assert_allclose(w, np.sin((n + 0.5) * t) / np.sin(t / 2), rtol=1e-12)
        shifted = torch.special.shifted_chebyshev_polynomial_v((x + 1) / 2, n).numpy()
        np.testing.assert_allclose(shifted, v, rtol=1e-12)


def test_the_derivatives_of_legendre_polynomials_solve_their_equation() -> None:
    x = torch.linspace(-0.9, 0.8, 6, dtype=torch.float64, requires_grad=True)
    p = torch.special.legendre_polynomial_p(x, 5)
    (d,) = torch.autograd.grad(p.sum(), x, create_graph=True)
    (dd,) = torch.autograd.grad(d.sum(), x)
    np.testing.assert_allclose(((1 - x**2) * dd - 2 * x * d + 30 * p).detach().numpy(), 0, atol=1e-12)


def test_integers_and_numbers_in_polynomials() -> None:
    assert torch.special.hermite_polynomial_h(torch.tensor([2, -1]), 2).tolist() == [14.0, 2.0]
    assert torch.special.chebyshev_polynomial_t(0.5, torch.tensor([0, 1, 2])).tolist() == [1.0, 0.5, -0.5]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("bessel_j0", scipy.special.j0), ("bessel_j1", scipy.special.j1), ("bessel_y0", scipy.special.y0),
        ("bessel_y1", scipy.special.y1), ("modified_bessel_i0", scipy.special.i0), ("modified_bessel_i1", scipy.special.i1),
        ("modified_bessel_k0", scipy.special.k0), ("modified_bessel_k1", scipy.special.k1),
        ("scaled_modified_bessel_k0", scipy.special.k0e), ("scaled_modified_bessel_k1", scipy.special.k1e),
        ("spherical_bessel_j0", lambda x: scipy.special.spherical_jn(0, x)),
    ],
)  # fmt: skip
def test_bessel_functions_and_their_derivatives(name: str, known: Any) -> None:
    x = torch.tensor([0.3, 1.7, 5.2], dtype=torch.float64, requires_grad=True)
    y = getattr(torch.special, name)(x)
    np.testing.assert_allclose(y.detach().numpy(), known(x.detach().numpy()), rtol=1e-12)
    assert torch.autograd.gradcheck(getattr(torch.special, name), (x,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128])
@pytest.mark.parametrize("hermitian", [False, True])
def test_an_indefinite_system_is_solved_by_its_factors(dtype: Any, hermitian: bool) -> None:
    torch.manual_seed(3)
    a = torch.randn(2, 4, 4, dtype=dtype)
    a = a + (a.mH if hermitian else a.mT)
    b = torch.randn(2, 4, 3, dtype=dtype)
    found = torch.linalg.ldl_factor(a, hermitian=hermitian)
    assert found.pivots.dtype == torch.int32
    y = torch.linalg.ldl_solve(found.LD, found.pivots, b, hermitian=hermitian)
    assert torch.allclose(a @ y, b, atol=1e-4 if dtype == torch.float32 else 1e-10)
    assert torch.linalg.ldl_factor_ex(torch.zeros(2, 2)).info.item() == 1
    with pytest.raises(RuntimeError, match="ldl_factor"):
        torch.linalg.ldl_factor(torch.zeros(2, 2))
    with pytest.raises(NotImplementedError, match="derivative for aten::linalg_ldl_factor_ex is not implemented"):
        torch.linalg.ldl_factor(a.requires_grad_())
    with pytest.raises(RuntimeError, match="expected B of shape"):
        torch.linalg.ldl_solve(found.LD, found.pivots, torch.ones(2, 5, 1, dtype=dtype))


@pytest.mark.parametrize("dimension", [1, 2, 9])
@pytest.mark.parametrize("words", [{}, {"scramble": True, "seed": 5}])
def test_even_points_are_pytorchs(dimension: int, words: dict[str, Any]) -> None:
    theirs = pytest.importorskip("torch").quasirandom.SobolEngine(dimension, **words)
    ours = torch.quasirandom.SobolEngine(dimension, **words)
    assert repr(ours) == repr(theirs)
    for n in (1, 6, 9):
        np.testing.assert_array_equal(ours.draw(n).numpy(), theirs.draw(n).numpy())
    np.testing.assert_array_equal(ours.fast_forward(5).draw(2).numpy(), theirs.fast_forward(5).draw(2).numpy())
    np.testing.assert_array_equal(ours.reset().draw_base2(4).numpy(), theirs.reset().draw_base2(4).numpy())


def test_even_points_fall_into_each_part_once() -> None:
    for words in ({}, {"scramble": True, "seed": 1}):
        points = torch.quasirandom.SobolEngine(3, **words).draw(32, dtype=torch.float64).numpy()
        assert np.sort((points * 32).astype(int), axis=0).tolist() == [[i] * 3 for i in range(32)]
    engine = torch.quasirandom.SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="require n to be a power of 2"):
        engine.draw_base2(2)
    with pytest.raises(ValueError, match=r"\[1, 21201\]"):
        torch.quasirandom.SobolEngine(0)


@pytest.mark.parametrize(("n", "shape"), [(2, (2, 3, 9, 11)), (3, (2, 7, 8, 9))])
def test_windows_at_drawn_places_hold_the_largest(n: int, shape: Any) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape, requires_grad=True)
    layer = getattr(torch.nn, f"FractionalMaxPool{n}d")(2, output_size=4, return_indices=True)
    y, index = layer(x)
    assert tuple(y.shape) == (*shape[:-n], *(4,) * n)
    flat = x.reshape(*shape[:-n], -1)
    assert torch.equal(flat.gather(-1, index.reshape(*shape[:-n], -1)), y.reshape(*shape[:-n], -1))
    y.sum().backward()
    assert x.grad.sum().item() == y.numel()
    assert tuple(getattr(F, f"fractional_max_pool{n}d")(x, 2, output_ratio=0.5).shape[-n:]) == tuple(m // 2 for m in shape[-n:])


def test_windows_at_drawn_places_are_pytorchs() -> None:
    theirs = pytest.importorskip("torch")
    for n, shape in ((2, (2, 3, 11, 9)), (3, (2, 2, 7, 8, 9))):
        for seed in range(3):
            theirs.manual_seed(seed)
            torch.manual_seed(seed)
            x, y = theirs.randn(shape), torch.randn(shape)
            pool = f"FractionalMaxPool{n}d"
            known = getattr(theirs.nn, pool)(2, output_size=3, return_indices=True)(x)
            found = getattr(torch.nn, pool)(2, output_size=3, return_indices=True)(y)
            for a, b in zip(found, known, strict=True):
                np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_what_drawn_windows_refuse() -> None:
    with pytest.raises(ValueError, match="requires specifying either an output size, or a pooling ratio"):
        torch.nn.FractionalMaxPool2d(2)
    with pytest.raises(ValueError, match="only one of output_size and output_ratio"):
        torch.nn.FractionalMaxPool2d(2, output_size=2, output_ratio=0.5)
    with pytest.raises(ValueError, match="output_ratio must be between 0 and 1"):
        torch.nn.FractionalMaxPool2d(2, output_ratio=1.5)
    with pytest.raises(RuntimeError, match="too large relative to the input size"):
        F.fractional_max_pool2d(torch.ones(1, 4, 4), 3, output_size=3)


def test_graphs_of_a_gpu_are_refused_and_calls_are_forked_at_once() -> None:
    if not torch.cuda.is_available():
        for refused in (torch.cuda.CUDAGraph, torch.cuda.graph_pool_handle, lambda: torch.cuda.graph(None)):
            with pytest.raises(AssertionError, match="CUDA"):
                refused()
        assert torch.cuda.get_rng_state_all() == []
    assert not torch.cuda.is_current_stream_capturing()
    assert torch.jit.wait(torch.jit.fork(torch.add, torch.ones(2), 1)).tolist() == [2.0, 2.0]


def test_common_divisors_in_place() -> None:
    x = torch.tensor([12, 18])
    assert torch.gcd_(x, torch.tensor([8, 27])) is x
    assert x.tolist() == [4, 9]
