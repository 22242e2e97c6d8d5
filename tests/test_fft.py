"""Fourier transforms against NumPy and PyTorch."""

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, ShapeError

RNG = np.random.default_rng(5)
REAL = RNG.standard_normal((3, 4, 5))
COMPLEX = REAL + 1j * RNG.standard_normal((3, 4, 5))
NORMS = ["backward", "ortho", "forward"]
ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fftn", "ifftn", "rfftn", "irfftn"]


def argument(name):
    return REAL if name in ("rfft", "rfftn", "ihfft") else COMPLEX


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("n", [None, 1, 2, 4, 7])
@pytest.mark.parametrize("norm", NORMS)
def test_values_along_one_axis_are_those_of_numpy(name, n, norm):
    for axis in (0, 1, -1):
        found = getattr(tg.fft, name)(argument(name), n=n, axis=axis, norm=norm)
        np.testing.assert_allclose(found.numpy(), getattr(np.fft, name)(argument(name), n, axis, norm), atol=1e-12)


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize(("s", "axes"), [(None, None), (None, (0, 2)), ((2, 6), (1, -1)), ((-1, 3), (0, 1))])
@pytest.mark.parametrize("norm", NORMS)
def test_values_along_several_axes_are_those_of_numpy(name, s, axes, norm):
    found = getattr(tg.fft, name)(argument(name), s=s, axes=axes, norm=norm)
    given = None if s is None else [k if k != -1 else argument(name).shape[a] for k, a in zip(s, axes, strict=True)]
    np.testing.assert_allclose(found.numpy(), getattr(np.fft, name)(argument(name), given, axes, norm), atol=1e-12)


def test_lengths_without_axes_are_of_the_last_ones():
    np.testing.assert_allclose(tg.fft.fftn(REAL, s=(2, 3)).numpy(), np.fft.fftn(REAL, (2, 3), (-2, -1)), atol=1e-12)


@pytest.mark.parametrize("name", [*ONE, *SEVERAL])
@pytest.mark.parametrize("complex_", [False, True])
def test_single_precision_stays_single(name, complex_):
    x = argument(name)
    if not complex_:
        x = REAL
    elif np.isrealobj(x):
        return
    x = x.astype(np.complex64 if complex_ else np.float32)
    t = tg.asarray(x)
    with tg.GradientTape() as tape:
        tape.watch(t)
        y = getattr(tg.fft, name)(t)
        z = tg.sum(tg.abs(y) ** 2)
    assert y.dtype == (tg.float32 if name in ("irfft", "irfftn", "hfft") else tg.complex64)
    assert tape.gradient(z, t).dtype == x.dtype


@pytest.mark.interop("torch")
@pytest.mark.parametrize("name", [*ONE, *SEVERAL])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("length", [None, 3, 6])
def test_gradients_are_those_of_pytorch(name, norm, length):
    torch = pytest.importorskip("torch")
    x = argument(name)
    several = name in SEVERAL
    ours = {"s" if several else "n": (length,) * 2 if several and length else length, "norm": norm}
    theirs = dict(ours)
    if several:
        ours["axes"], theirs["dim"] = (0, -1), (0, -1)
    t, u = tg.asarray(x), torch.tensor(x, requires_grad=True)
    with tg.GradientTape() as tape:
        tape.watch(t)
        y = getattr(tg.fft, name)(t, **ours)
        w = np.cos(np.arange(y.size)).reshape(y.shape)
        z = tg.sum(tg.abs(y + 0.3) ** 2 * w)
    v = getattr(torch.fft, name)(u, **theirs)
    (expected,) = torch.autograd.grad(((v + 0.3).abs() ** 2 * torch.tensor(w)).sum(), u)
    np.testing.assert_allclose(tape.gradient(z, t).numpy(), expected.resolve_conj().numpy(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("there", "back"), [("fft", "ifft"), ("fftn", "ifftn")])
@pytest.mark.parametrize("norm", NORMS)
def test_inverses_are_inverse(there, back, norm):
    y = getattr(tg.fft, back)(getattr(tg.fft, there)(COMPLEX, norm=norm), norm=norm)
    np.testing.assert_allclose(y.numpy(), COMPLEX, atol=1e-12)


@pytest.mark.parametrize("n", [4, 5])
def test_the_hessian_of_the_energy_of_a_spectrum(n):
    x = tg.asarray(RNG.standard_normal(n))
    rows = []
    for i in range(n):
        with tg.GradientTape() as outer:
            outer.watch(x)
            with tg.GradientTape() as inner:
                inner.watch(x)
                y = tg.sum(tg.abs(tg.fft.fft(x)) ** 2)
            row = inner.gradient(y, x)[i]
        rows.append(outer.gradient(row, x).numpy())
    np.testing.assert_allclose(rows, 2 * n * np.eye(n), atol=1e-10)


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies_are_those_of_numpy(n):
    for name in ("fftfreq", "rfftfreq"):
        np.testing.assert_array_equal(getattr(tg.fft, name)(n, d=0.5, dtype=tg.float64).numpy(), getattr(np.fft, name)(n, 0.5))
        assert getattr(tg.fft, name)(n).dtype == tg.float32


@pytest.mark.parametrize("axes", [None, 0, (0, -1)])
def test_shifts_are_those_of_numpy(axes):
    for name in ("fftshift", "ifftshift"):
        np.testing.assert_array_equal(getattr(tg.fft, name)(REAL, axes=axes).numpy(), getattr(np.fft, name)(REAL, axes))


def test_what_is_not_there_is_refused():
    with pytest.raises(ShapeError):
        tg.fft.fft(np.zeros((2, 0)))
    with pytest.raises(ShapeError, match="norm"):
        tg.fft.fft(REAL, norm="orthogonal")
    with pytest.raises(ArgumentError, match="norm"):
        tg.fft.hfft(COMPLEX, norm="orthogonal")
    with pytest.raises(ArgumentError, match="a length for each axis"):
        tg.fft.fftn(REAL, s=(2, 3), axes=(0,))


@pytest.mark.parametrize("n", [4, 5])
def test_the_jacobian_of_the_real_inverse(n):
    x = tg.asarray(RNG.standard_normal(3))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tg.fft.irfft(x, n=n)
    np.testing.assert_allclose(tape.jacobian(y, x).numpy(), np.fft.irfft(np.eye(3), n, axis=0), atol=1e-15)
