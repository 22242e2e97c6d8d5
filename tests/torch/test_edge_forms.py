"""Calls at the edges of what a function takes (no axes, small integers, truth values, complex numbers), as PyTorch answers them."""

import warnings

import numpy as np
import pytest

from tapegrad import torch as ours

GIVEN = {
    "s": np.float64(0.7),
    "flag": np.bool_(True),
    "x": np.array([[0.3, -1.2, 2.5], [1.1, 0.4, -0.6]]),
    "v": np.array([1.5, -0.2, 0.9, 2.2]),
    "z": np.array([1 + 2j, -0.5 - 3j, 0.25 + 1j]),
    "w": np.array([2 - 1j, 1.5 + 1j, -1j]),
    "i0": np.array([0]),
    "bits": np.array([True, False, True]),
    "bytes": np.array([[3, 200, 7], [90, 4, 250]], np.uint8),
    "whole": np.array([[4, -2, 7], [0, 3, 5]]),
    "t": np.array([[0, 1, 1], [1, 0, 0]]),
    "tall": np.array([[2.0, 1.0], [0.5, 3.0], [1.0, -1.0]]),
    "sq": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]),
}

CALLS = """
s.kthvalue(1, 0)
s.logsumexp(0)
torch.logcumsumexp(s, 0)
s.index_fill(0, i0, 2.0)
s.index_add(0, i0, s, alpha=2)
s.index_copy(0, i0, s)
s.scatter_reduce(0, i0[0], s, 'sum')
s.scatter_reduce(0, i0[0], s, 'prod', include_self=False)
s.index_reduce(0, i0, s, 'amax')
s.unfold(0, 1, 1)
s.clone().sigmoid_()
flag.max(0)
flag.mode(0)
flag.sort(0)
flag.gather(0, i0[0])
flag.index_select(0, i0)
flag.cummax(0)
x.logcumsumexp(1)
torch.logcumsumexp(torch.cat([x, x - 400, x + 900], 1), 1)
z.logcumsumexp(0)
torch.logaddexp(z, w)
bytes.prod(1, dtype=torch.uint8)
bytes.sum(1, dtype=torch.uint8)
whole.nansum(0, dtype=torch.int16)
whole.sum(dtype=torch.bool)
bytes.cumsum(1, dtype=torch.uint8)
bytes.cumprod(0, dtype=torch.uint8)
bits.prod(0, dtype=torch.bool)
(x > 0).rot90(4)
bits.sign()
bits.sgn()
bits.diff(n=0)
bits.sum_to_size(1)
bytes.sum_to_size(3)
bits.scatter_reduce(0, t[0], bits, 'amin')
bits.scatter_reduce(0, t[0], bits, 'prod')
bytes.scatter_reduce(1, t, bytes, 'prod')
torch.unravel_index(bytes, (300, 7))
torch.add(bits, bits, alpha=False)
torch.ldexp(x, whole.abs())
torch.ldexp(x, x)
torch.addmv(whole[0, :2], whole[:, :], whole[1], beta=0.2, alpha=0.6)
torch.exp2(z)
torch.float_power(z, 2)
torch.float_power(x.float(), 2)
torch.cov(whole)
torch.corrcoef(whole)
torch.logit(bytes, 0.2)
torch.mvlgamma(whole.abs() + 4, 2)
torch.trapezoid(whole, whole.abs().cumsum(1))
z.double()
z.float()
z.int()
z.bool()
torch.gradient(x, spacing=None)
torch.gradient(x.to(torch.bfloat16))
torch.einsum('...ik,...j->ij', x.reshape(1, 2, 3), v)
torch.einsum('...i->', x)
torch.tensordot(x[:, :1], x, dims=([0, 1], [0, 1]))
torch.inner(z, w)
torch.inner(z.reshape(1, 3), w)
torch.logdet(torch.diag(w))
torch.cholesky_inverse(sq.tril())
torch.take_along_dim(x[:1], t, 1)
torch.masked_scatter(v, torch.ones(2, 4, dtype=torch.bool), torch.arange(8.0, dtype=torch.float64))
x.gather(1, t.int())
x.scatter(1, torch.tensor([[2, 0, 1], [1, 2, 0]]).int(), x)
x.new_zeros(4, 3).scatter_add(0, t.int(), x)
torch.arange(0.0, -8.000001, -4.0, dtype=torch.int64)
torch.arange(-0.9, 2.1, 2.0, dtype=torch.uint8)
torch.linspace(-2.0, 4, 7, dtype=torch.complex128)
torch.linspace(4.3, 1, 5, dtype=torch.int64)
torch.logspace(4.3, -3, 2, dtype=torch.int64)
torch.nan_to_num(x.detach().to(torch.bfloat16) / 0)
torch.searchsorted(x[:0], x[:0])
torch.unique_consecutive(torch.zeros(2, 0, 3), dim=1)
torch.igamma(x.detach().abs(), x.abs() + 1)
torch.igammac(whole.abs() + 1, v[:3].abs())
torch.linalg.lu_factor(tall)
torch.linalg.lu_factor(tall.mT)
torch.geqrf(tall.detach())
torch.linalg.householder_product(*torch.geqrf(tall.detach()))
torch.ormqr(*torch.geqrf(tall.detach()), tall)
torch.ormqr(*torch.geqrf(tall.detach()), tall.mT, left=False, transpose=True)
torch.orgqr(*torch.geqrf(tall.detach()))
torch.linalg.tensorinv(sq, ind=1)
torch.linalg.tensorsolve(sq.reshape(3, 3, 1), v[:3])
torch.linalg.matrix_rank(sq, atol=2.5)
torch.linalg.matrix_rank(sq, hermitian=True)
torch.linalg.pinv(sq, atol=2.5)
torch.linalg.pinv(sq, hermitian=True)
torch.linalg.lstsq(tall, tall).rank
torch.linalg.lstsq(tall, v[:3], driver='gelsd')
torch.linalg.lstsq(tall, tall, driver='gels')
torch.linalg.inv_ex(torch.diag(w))
torch.linalg.vander(s, N=3)
torch.linalg.vander(whole[0])
torch.linalg.solve_ex(sq, tall).result
torch.triangular_solve(tall, sq).solution
torch.fft.hfftn(torch.outer(z, w))
torch.fft.hfft2(torch.outer(z, w), norm='ortho')
torch.fft.ihfftn(x)
torch.fft.ihfft2(x, norm='forward')
torch.signal.windows.hann(7)
torch.signal.windows.kaiser(6, beta=3.0, sym=False)
torch.signal.windows.gaussian(5, std=1.5, dtype=torch.float64)
torch.signal.windows.cosine(4)
torch.signal.windows.exponential(5, tau=2.0)
torch.signal.windows.general_hamming(6, alpha=0.6)
torch.signal.windows.nuttall(9)
torch.signal.windows.bartlett(6)
torch.signal.windows.blackman(6)
torch.signal.windows.hamming(1)
torch.signal.windows.general_cosine(5, a=[0.4, 0.6])
torch.nonzero_static(whole, size=7)
torch.as_strided_scatter(v.detach(), torch.zeros(2, dtype=torch.float64), (2,), (2,))
torch.histogramdd(tall.detach(), [2, 3]).hist
torch.empty_strided((2, 3), (1, 2)).stride()
torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride()
v.new_empty_strided((2, 0), (3, 4)).shape
"""


def calls():
    return CALLS.strip().splitlines()


def answers(torch, call):
    """The numbers, dtypes and shapes that a call gives, and the derivatives of their sum."""
    names = {k: torch.from_numpy(np.array(v)) for k, v in GIVEN.items()}
    used = [names[n] for n in compile(call, "", "eval").co_names if n in names]
    leaves = [x.requires_grad_() for x in used if x.dtype in (torch.float64, torch.complex128)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = eval(call, {"torch": torch}, names)
        found = [y for y in (out if isinstance(out, tuple | list) else [out]) if isinstance(y, torch.Tensor)]
        if not found:
            return [out]
        tracked = [y for y in found if y.requires_grad]
        if tracked:
            total = sum((y if not y.is_complex() else y.real + 2 * y.imag).double().sum() for y in tracked)
            found += [g for g in torch.autograd.grad(total, leaves, allow_unused=True) if g is not None]
    described = [(str(y.dtype), tuple(y.shape)) for y in found]
    return [
        described,
        *((y.detach().float() if y.dtype == torch.bfloat16 else y.detach().resolve_conj()).numpy() for y in found),
    ]


@pytest.mark.parametrize("call", calls())
def test_a_call_answers_as_under_pytorch(call):
    theirs, found = (answers(torch, call) for torch in (pytest.importorskip("torch"), ours))
    assert found[0] == theirs[0]
    for a, b in zip(theirs[1:], found[1:], strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-6, atol=3e-8 if a.dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ranges_have_the_same_last_bits(dtype):
    rng = np.random.default_rng(3)
    for _ in range(200):
        a, b, n, step = rng.normal() * 10, rng.normal() * 10, int(rng.integers(2, 400)), rng.uniform()
        calls = {"linspace": (a, b, n), "arange": (a, a + step * n, step)}
        for name, given in calls.items():
            theirs, found = (
                getattr(t, name)(*given, dtype=getattr(t, dtype)) for t in (pytest.importorskip("torch"), ours)
            )
            assert found.tolist() == theirs.tolist()


@pytest.mark.parametrize("name", ["hann_window", "hamming_window", "blackman_window"])
def test_windows_have_the_same_last_bits_in_float64(name):
    torch = pytest.importorskip("torch")
    for n in range(1, 60):
        for periodic in (True, False):
            theirs, found = (getattr(t, name)(n, periodic, dtype=t.float64) for t in (torch, ours))
            assert found.tolist() == theirs.tolist()


@pytest.mark.parametrize("shape", [(), (3,), (20,), (4, 5), (3, 40)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_slopes_and_numbers_written_into_a_transposed_tensor_are_the_same(shape, dtype):
    torch = pytest.importorskip("torch")
    found = []
    for t in (torch, ours):
        t.manual_seed(5)
        x = t.linspace(-1, 1, int(np.prod(shape)), dtype=getattr(t, dtype)).reshape(shape)
        made = [t.nn.functional.rrelu(x, training=True), t.rrelu(x, 0.0, 1.0, True)]
        for name in ("rand", "randn"):
            out = t.empty((2, *shape), dtype=getattr(t, dtype)).transpose(0, -1).contiguous().transpose(0, -1)
            made.append(getattr(t, name)((2, *shape), out=out))
        found.append([y.tolist() for y in made])
    assert found[0] == found[1]


def test_truth_values_are_not_drawn_as_permutations_or_counts():
    for call in (lambda: ours.randperm(1, dtype=ours.bool), lambda: ours.zeros(2, dtype=ours.bool).geometric_(0.3)):
        with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
            call()
