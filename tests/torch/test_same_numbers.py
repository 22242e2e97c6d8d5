"""The same seed gives PyTorch's numbers, to the last bit: against PyTorch itself, and against recorded numbers."""

from typing import Any

import numpy as np
import pytest

from tapegrad.dtypes import as_dtype
from tapegrad.torch import _normal, _uniform, _variates
from tapegrad.torch._generator import DEFAULT_SEED, STATE_SIZE, Ahead, Generator

SIZES = [0, 1, 2, 15, 16, 17, 31, 32, 33, 1000, 5, 100_003, 3]
FLOATS = ["float32", "float64", "float16", "bfloat16"]


class Pair:
    """PyTorch's default generator and one of ours, seeded alike, and the same draws from both."""

    def __init__(self, seed: int) -> None:
        import torch

        self.torch: Any = torch
        torch.manual_seed(seed)
        self.ours = Generator().manual_seed(seed)

    def empty(self, n: int, dtype: str) -> Any:
        return self.torch.empty(n, dtype=getattr(self.torch, dtype))

    def check(self, theirs: Any, ours: Any, what: Any) -> None:
        expected = theirs.double().numpy()
        assert np.array_equal(expected, ours.astype(np.float64)), what
        assert self.torch.get_rng_state().numpy().tobytes() == self.ours.state_bytes(), what


def as_array(t: Any) -> Any:
    return t.double().numpy().astype(as_dtype(str(t.dtype).removeprefix("torch.")))


@pytest.mark.interop("torch")
@pytest.mark.parametrize("seed", [0, 7, 123_456_789, 2**40 + 3])
def test_even_and_normal_numbers_agree_whatever_was_drawn_before(seed: int) -> None:
    pair = Pair(seed)
    for n in SIZES:
        for dtype in FLOATS:
            d = as_dtype(dtype)
            for mean, std in [(0, 1), (0.3, 0.7), (-2, 0)]:
                drawn = _normal.normal(pair.ours, n, mean, std, d)
                pair.check(pair.empty(n, dtype).normal_(mean, std), drawn, ("normal", n, dtype, mean, std))
            for low, high in [(0, 1), (-0.1, 0.1), (0.1, 0.7), (100, 102.3), (2, 2)]:
                even = _uniform.uniform(pair.ours, n, low, high, d)
                pair.check(pair.empty(n, dtype).uniform_(low, high), even, ("uniform", n, dtype, low, high))


@pytest.mark.interop("torch")
def test_numbers_that_rounding_lifts_to_the_upper_end_become_the_lower_one() -> None:
    pair = Pair(7)
    for dtype in ["float16", "bfloat16", "float32"]:
        ours = _uniform.uniform(pair.ours, 400_000, 100, 102.3, as_dtype(dtype))
        pair.check(pair.empty(400_000, dtype).uniform_(100, 102.3), ours, dtype)
        assert (ours.astype(float) < 102.4).all()


@pytest.mark.interop("torch")
def test_normal_numbers_of_arrays_that_are_not_contiguous_are_drawn_one_by_one() -> None:
    pair = Pair(7)
    theirs = pair.torch.empty(6, 4).t().normal_()
    ours = _normal.normal(pair.ours, 24, 0, 1, as_dtype("float32"), contiguous=False)
    pair.check(theirs.t().flatten(), ours, "in the order of memory")


@pytest.mark.interop("torch")
def test_integers_agree_on_both_sides_of_the_range_that_takes_long_words() -> None:
    pair = Pair(3)
    for n in SIZES:
        for low, high in [(0, 10), (-5, 2**20), (0, 2**28 - 1), (0, 2**28), (-(2**62), 2**62), (-(2**63), 2**63 - 1)]:
            theirs = pair.torch.randint(low, high, (n,))
            assert theirs.tolist() == _uniform.integers(pair.ours, n, low, high).tolist(), (n, low, high)
        for dtype in ["int64", "int32", "int16", "int8", "uint8", "bool", *FLOATS]:
            drawn = _uniform.full_range(pair.ours, n, as_dtype(dtype))
            pair.check(pair.empty(n, dtype).random_(), drawn, (n, dtype))
        pair.check(pair.torch.randperm(n), _uniform.permutation(pair.ours, n), n)


@pytest.mark.interop("torch")
def test_coins_agree() -> None:
    pair = Pair(5)
    for n in SIZES:
        for dtype in FLOATS:
            p = pair.torch.rand(n, dtype=getattr(pair.torch, dtype))
            _uniform.uniform(pair.ours, n, 0, 1, as_dtype(dtype))
            pair.check(pair.torch.bernoulli(p), _uniform.coins_of(pair.ours, as_array(p)), (n, dtype))
        if not on_intel():
            pair.check(pair.empty(n, "float32").bernoulli_(0.3), _uniform.coins(pair.ours, n, 0.3), n)


def on_intel() -> bool:
    """Whether PyTorch draws coins and exponential numbers from Intel's library here."""
    try:
        with open("/proc/cpuinfo") as file:
            return "GenuineIntel" in file.read()
    except OSError:
        return False


@pytest.mark.interop("torch")
@pytest.mark.parametrize("dtype", FLOATS)
def test_other_distributions_agree(dtype: str) -> None:
    pair, d = Pair(11), as_dtype(dtype)
    g = pair.ours
    for n in [0, 1, 16, 33, 2000]:
        pair.check(pair.empty(n, dtype).geometric_(0.2), _variates.geometric(g, n, 0.2, d), "geometric")
        pair.check(pair.empty(n, dtype).cauchy_(0.3, 0.6), _variates.cauchy(g, n, 0.3, 0.6, d), "cauchy")
        pair.check(pair.empty(n, dtype).log_normal_(0.3, 0.6), _variates.log_normal(g, n, 0.3, 0.6, d), "log_normal")
        rates = (pair.torch.arange(n) % 50 / 2).to(getattr(pair.torch, dtype))
        pair.check(pair.torch.poisson(rates), _variates.poissons(g, as_array(rates)), "poisson")
        if not on_intel():
            pair.check(pair.empty(n, dtype).exponential_(1.7), _variates.exponential(g, n, 1.7, d), "exponential")


@pytest.mark.interop("torch")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma_binomial_and_dirichlet_numbers_agree(dtype: str) -> None:
    pair = Pair(11)
    torch, g = pair.torch, pair.ours
    for n in [1, 16, 33, 2000]:
        shapes = (torch.arange(n) % 50 / 7).to(getattr(torch, dtype))
        pair.check(torch._standard_gamma(shapes), _variates.gammas(g, as_array(shapes)), "gamma")
        counts, p = shapes.mul(14).round(), (torch.arange(n) % 13 / 12).to(shapes.dtype)
        pair.check(torch.binomial(counts, p), _variates.binomials(g, as_array(counts), as_array(p)), "binomial")
        theirs = torch._sample_dirichlet(shapes).numpy()
        # The sum of the gamma numbers is rounded in another order.
        np.testing.assert_array_max_ulp(theirs, _variates.dirichlet(g, as_array(shapes)), 8)


@pytest.mark.interop("torch")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "replacement"), [(1, False), (1, True), (7, False), (200, True)])
def test_indices_drawn_by_weight_agree(dtype: str, n: int, replacement: bool) -> None:
    if on_intel() and not (replacement and n > 1):
        pytest.skip("PyTorch draws from Intel's library here")
    pair = Pair(2)
    for shape in [(9,), (4, 9), (1000,)]:
        weights = pair.torch.rand(shape, dtype=getattr(pair.torch, dtype))
        _uniform.uniform(pair.ours, weights.numel(), 0, 1, as_dtype(dtype))
        drawn = _variates.multinomial(pair.ours, weights.numpy(), n, replacement=replacement)
        pair.check(pair.torch.multinomial(weights, n, replacement), drawn, shape)


@pytest.mark.interop("torch")
def test_states_travel_both_ways() -> None:
    pair = Pair(9)
    torch, ours = pair.torch, pair.ours
    torch.randn(3)
    torch.rand(621)
    ours.set_state_bytes(torch.get_rng_state().numpy().tobytes())
    assert torch.randn(5).tolist() == _normal.normal(ours, 5, 0, 1, as_dtype("float32")).tolist()
    ours.words(617)
    torch.set_rng_state(torch.frombuffer(bytearray(ours.state_bytes()), dtype=torch.uint8))
    assert torch.randn(5).tolist() == _normal.normal(ours, 5, 0, 1, as_dtype("float32")).tolist()


# -- numbers recorded from PyTorch 2.13 ------------------------------------------------------------------
def test_recorded_numbers() -> None:
    g, f32 = Generator().manual_seed(42), as_dtype("float32")
    assert [round(x, 4) for x in _uniform.uniform(g, 3, 0, 1, f32).tolist()] == RECORDED["rand"]
    assert [round(x, 4) for x in _normal.normal(g, 3, 0, 1, f32).tolist()] == RECORDED["randn"]
    assert [round(x, 4) for x in _normal.normal(g, 18, 0, 1, f32)[[0, 1, -2, -1]].tolist()] == RECORDED["randn 18"]
    assert _uniform.integers(g, 5, 0, 100).tolist() == RECORDED["randint"]
    assert _uniform.permutation(g, 6).tolist() == RECORDED["randperm"]
    assert _uniform.coins(g, 8, 0.5).astype(int).tolist() == RECORDED["bernoulli_"]


RECORDED: dict[str, list[Any]] = {
    "rand": [0.8823, 0.915, 0.3829],
    "randn": [-0.8293, -1.6137, -0.2147],
    "randn 18": [-0.9342, -0.2483, -0.6011, -1.2742],
    "randint": [23, 43, 94, 93, 77],
    "randperm": [0, 5, 4, 3, 2, 1],
    "bernoulli_": [0, 0, 1, 1, 0, 1, 0, 0],
}


def test_a_generator_starts_from_the_seed_of_old_and_from_no_other() -> None:
    g = Generator()
    assert g.initial_seed() == DEFAULT_SEED
    assert g.manual_seed(-1).initial_seed() == 2**64 - 1
    assert g.seed() == g.initial_seed()
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        g.manual_seed(2**64)


def test_a_state_has_its_size_and_a_clone_goes_on_alike() -> None:
    g = Generator().manual_seed(1)
    g.normal()
    assert len(g.state_bytes()) == STATE_SIZE == 5056
    other = g.clone_state()
    assert [other.normal(), other.normal()] == [g.normal(), g.normal()]
    with pytest.raises(
        RuntimeError, match="CPUGeneratorImplState of size 5056 but found the input RNG state size to be 5"
    ):
        g.set_state_bytes(bytes(5))


def test_numbers_that_fill_a_tensor_are_its_memory() -> None:
    from tapegrad import torch as ours

    x = ours.empty(3, 4)
    x.uniform_()
    assert x.array.base is None  # of a view the whole would have been copied
    assert ours.rand(3, 4).array.base is None


@pytest.mark.parametrize("n", [_uniform._FEW_PERMUTED - 1, _uniform._FEW_PERMUTED, 5000])
def test_many_exchanges_at_once_are_those_one_after_the_other(n: int) -> None:
    g, words = Generator().manual_seed(4), Generator().manual_seed(4).words(n - 1).tolist()
    order = list(range(n))
    for i, word in enumerate(words):
        k = i + word % (n - i)
        order[i], order[k] = order[k], order[i]
    assert _uniform.permutation(g, n).tolist() == order


def test_numbers_drawn_ahead_are_those_drawn_one_by_one() -> None:
    g, other = Generator().manual_seed(9), Generator().manual_seed(9)
    for number in (0, 1, 5000):
        g.normal(), other.normal()  # of a pair the second one is kept
        ahead = Ahead(g)
        assert [(ahead.double(), ahead.normal()) for _ in range(number)] == [(other.double(), other.normal()) for _ in range(number)]
        ahead.close()
        assert g.state_bytes() == other.state_bytes()
