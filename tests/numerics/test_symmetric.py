"""Symmetric polynomials: exact rational enumeration, the plain twins, and closed forms for long spectra."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, gammaln, logsumexp

from diverset.numerics.symmetric import (
    elementary_symmetric_table,
    elementary_symmetric_tree,
    log_elementary_symmetric,
    log_elementary_symmetric_all,
    tilt,
    tilted_log_mass,
)

HUGE = Fraction(10) ** 300
SPECTRA = {
    "primes": [Fraction(n) for n in (2, 3, 5, 7, 11, 13)],
    "skewed": [Fraction(n, 7) for n in (1, 50, 3, 900, 2, 8, 20000, 5)],
    "tied": [Fraction(1, 3)] * 4 + [Fraction(2)] * 3,
    "zeros": [Fraction(0), Fraction(2), Fraction(0), Fraction(5), Fraction(1, 9)],
    "wide": [HUGE, 1 / HUGE, Fraction(1), 3 * HUGE, 2 / HUGE, Fraction(7), 5 * HUGE],
    "plateau": [HUGE] * 4 + [1 / HUGE] * 4,
    "one": [Fraction(3)],
    "none": [],
}


def log_fraction(value):
    # A quotient of integers of hundreds of digits: neither needs to fit a float.
    return math.log(value.numerator) - math.log(value.denominator) if value else -math.inf


def log_spectrum(lam):
    x = np.array([log_fraction(v) for v in lam], dtype=float)
    x.flags.writeable = False
    return x


def exact_e(lam, k):
    """The definition: add up the products of all sets of k."""
    return sum((math.prod(J, start=Fraction(1)) for J in combinations(lam, k)), start=Fraction(0))


@pytest.mark.parametrize("name", SPECTRA)
def test_log_polynomials_match_enumeration(name):
    lam = SPECTRA[name]
    x = log_spectrum(lam)
    orders = range(len(lam) + 3)
    every = log_elementary_symmetric_all(x, len(lam) + 2)
    for k in orders:
        exact = log_fraction(exact_e(lam, k))
        # Logs of 1e300 are known to 1e-13, and at most eight of them are added.
        assert log_elementary_symmetric(x, k) == pytest.approx(exact, rel=1e-14, abs=1e-12)
        assert every[k] == pytest.approx(exact, rel=1e-14, abs=1e-12)
    assert log_elementary_symmetric(x, -1) == -math.inf


@pytest.mark.parametrize("name", [name for name in SPECTRA if name not in ("wide", "plateau")])
def test_table_holds_every_prefix(name):
    lam = SPECTRA[name]
    E = elementary_symmetric_table([float(v) for v in lam], 4)
    assert E.shape == (5, len(lam) + 1)
    for order in range(5):
        for n in range(len(lam) + 1):
            assert E[order, n] == pytest.approx(float(exact_e(lam[:n], order)), rel=1e-14)


@pytest.mark.parametrize("name", [name for name in SPECTRA if name not in ("wide", "plateau")])
def test_tree_leaves_out_each_in_turn(name):
    lam = SPECTRA[name]
    for k in range(1, len(lam) + 3):
        exact = [float(exact_e(lam[:n] + lam[n + 1 :], k - 1)) for n in range(len(lam))]
        np.testing.assert_allclose(elementary_symmetric_tree([float(v) for v in lam], k), exact, rtol=1e-14, atol=0)


def test_table_gives_the_coefficients_of_the_characteristic_polynomial():
    # prod (1 + lam z): distinct primes, so that a shifted index in either direction changes some entry.
    lam = [2.0, 3.0, 5.0, 7.0, 11.0]
    coefficients = np.poly([-v for v in lam])
    np.testing.assert_array_equal(elementary_symmetric_table(lam, 5)[:, -1], coefficients)


@pytest.mark.parametrize("scale", [0.5, 4.0, 60.0])
def test_twins_agree_on_a_few_hundred(scale):
    x = np.random.default_rng(5).normal(scale=scale, size=300)
    every = log_elementary_symmetric_all(x, 300)
    fast = [log_elementary_symmetric(x, k) for k in range(0, 301, 7)]
    # The log recursion rounds each of 300 steps relative to the size of the logarithm.
    np.testing.assert_allclose(fast, every[::7], rtol=1e-13, atol=1e-11)


def test_tree_agrees_with_the_tilted_form():
    x = np.random.default_rng(6).normal(size=37)
    tree = np.log(elementary_symmetric_tree(np.exp(x), 9))
    tilted = [log_elementary_symmetric(np.delete(x, n), 8) for n in range(37)]
    np.testing.assert_allclose(tree, tilted, rtol=0, atol=1e-13)


def test_infinite_eigenvalues():
    x = [np.inf, 0.0, -np.inf, np.inf]
    expected = [0.0, math.inf, math.inf, math.inf, -math.inf]
    assert [log_elementary_symmetric(x, k) for k in range(5)] == expected
    assert log_elementary_symmetric_all(x, 4).tolist() == expected


@pytest.mark.parametrize("value", [-690.0, -3.0, 0.0, 690.0])
@pytest.mark.parametrize(
    ("m", "k"), [(60, 7), (60, 53), pytest.param(100_000, 1_000, marks=pytest.mark.needs_compiled)]
)
def test_equal_eigenvalues_count_subsets(value, m, k):
    exact = math.log(math.comb(m, k)) + k * value
    assert log_elementary_symmetric(np.full(m, value), k) == pytest.approx(exact, rel=1e-14, abs=1e-11)


@pytest.mark.parametrize(
    ("sizes", "k"),
    [
        ((20, 30), 20),
        ((20, 30), 33),
        pytest.param((50_000, 50_000), 1_000, marks=pytest.mark.needs_compiled),
        pytest.param((900, 99_100), 1_000, marks=pytest.mark.needs_compiled),
        pytest.param((1_000, 99_000), 1_000, marks=pytest.mark.needs_compiled),
    ],
)
def test_two_eigenvalues_six_hundred_orders_apart(sizes, k):
    high, low = 300 * math.log(10.0), -300 * math.log(10.0)
    x = np.repeat([high, low], sizes)

    def log_comb(n, j):
        return gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1)

    j = np.arange(max(0, k - sizes[1]), min(k, sizes[0]) + 1)
    exact = logsumexp(log_comb(sizes[0], j) + log_comb(sizes[1], k - j) + j * high + (k - j) * low)
    # gammaln of 1e5 is 1e6, hence an absolute error near 1e-9 in the reference itself.
    assert log_elementary_symmetric(x, k) == pytest.approx(exact, rel=1e-13, abs=1e-8)


@pytest.mark.needs_compiled
def test_long_wide_spectrum_against_the_plain_recursion():
    # Eigenvalues from 1e-300 to 1e300. Only those near the k-th matter beyond the product of the top ones,
    # and the recursion in logs, on all of them, is the independent route.
    x = np.random.default_rng(0).uniform(-300.0, 300.0, size=100_000) * math.log(10.0)
    k = 1_000
    top = np.sort(x)[::-1]
    # Eigenvalues e^60 below the k-th cannot change the twentieth digit; dropping them saves the test its
    # time.
    near = top[: np.searchsorted(-top, -(top[k] - 60.0))]
    exact = log_elementary_symmetric_all(near - top[k], k)[k] + k * top[k]
    assert log_elementary_symmetric(x, k) == pytest.approx(exact, rel=1e-13)


log_values = st.floats(-700.0, 700.0)
spectra = st.lists(log_values, min_size=1, max_size=12)


@settings(deadline=None)  # the first call may compile
@given(spectra, st.integers(0, 12), st.floats(-500.0, 500.0))
def test_scaling(values, k, shift):
    x = np.array(values)
    k = min(k, x.size)
    expected = log_elementary_symmetric(x, k) + k * shift
    assert log_elementary_symmetric(x + shift, k) == pytest.approx(expected, rel=1e-13, abs=1e-11)


@settings(deadline=None)  # the first call may compile
@given(spectra, st.integers(0, 12), st.randoms(use_true_random=False))
def test_order_of_the_eigenvalues_does_not_matter(values, k, random):
    mixed = list(values)
    random.shuffle(mixed)
    first, second = log_elementary_symmetric(values, k), log_elementary_symmetric(mixed, k)
    assert first == pytest.approx(second, rel=1e-13, abs=1e-11)


@settings(deadline=None)  # the first call may compile
@given(spectra, spectra, st.integers(0, 24))
def test_union_of_two_spectra(one, two, k):
    parts = [log_elementary_symmetric(one, j) + log_elementary_symmetric(two, k - j) for j in range(k + 1)]
    expected = logsumexp(parts) if np.isfinite(parts).any() else -np.inf
    assert log_elementary_symmetric(one + two, k) == pytest.approx(expected, rel=1e-13, abs=1e-11)


@settings(max_examples=300, deadline=None)
@given(st.lists(log_values, min_size=1, max_size=30), st.floats(1e-12, 1.0, exclude_max=True))
def test_tilt_reaches_its_target(values, fraction):
    x = np.array(values)
    target = fraction * x.size
    t = tilt(x, target)
    # t is at most 1500 in size, so one unit in its last place moves no probability by more than 3e-13 of
    # itself.
    assert math.fsum(expit(t + x)) == pytest.approx(target, rel=1e-12)


@pytest.mark.parametrize("target", [1e-200, 0.3, 1.0, 4.9999, 5.0, 5.0001, 7.5, 9.999])
@pytest.mark.parametrize("gap", [1.0, 30.0, 690.0, 3000.0])
def test_tilt_on_plateaus(target, gap):
    x = np.repeat([gap, -gap], 5)
    t = tilt(x, target)
    assert math.fsum(expit(t + x)) == pytest.approx(target, rel=2e-12)
    if target == 5.0:
        # Any t far from both groups fits; the balanced one treats successes and failures alike.
        assert abs(t) <= 1e-9


def test_tilt_of_many_separated_groups_converges():
    x = np.repeat(np.linspace(-700.0, 700.0, 15), 4)
    for target in np.arange(1, 60):
        t = tilt(x, target)
        assert math.fsum(expit(t + x)) == pytest.approx(target, rel=1e-12)


def test_tilt_at_and_beyond_the_ends():
    x = [0.0, 1.0, np.inf, -np.inf]
    assert tilt(x, 0.0) == -math.inf
    assert tilt(x, 2.0) == math.inf
    assert tilt(x, 1.0) == pytest.approx(-0.5, abs=1e-15)
    assert tilt([], 0.0) == -math.inf


def test_tilt_moves_with_the_spectrum():
    x = np.random.default_rng(2).normal(scale=10.0, size=50)
    for target in (0.01, 3.0, 25.5, 49.9):
        assert tilt(x + 100.0, target) == pytest.approx(tilt(x, target) - 100.0, abs=1e-11)
        assert tilt(-x, 50.0 - target) == pytest.approx(-tilt(x, target), abs=1e-11)


@pytest.mark.parametrize("k", [1, 20, 199])
def test_tilted_mass_is_that_of_the_mode(k):
    x = np.random.default_rng(3).normal(scale=20.0, size=200)
    t, log_mass = tilted_log_mass(x, k)
    log_e = log_elementary_symmetric_all(t + x, k)[k]
    assert log_mass == pytest.approx(log_e - np.logaddexp(0.0, t + x).sum(), abs=1e-10)
    assert log_mass >= -math.log(201)
