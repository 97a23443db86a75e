"""The Poisson-binomial law: exact rational enumeration, binomials, and its two routes against each other."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from diverset.numerics import _loops
from diverset.numerics.poisson_binomial import log_pmf, log_pmf_many, mean, pmf, variance
from diverset.numerics.symmetric import log_elementary_symmetric
from uncompiled import load

HUGE = Fraction(10) ** 300
ALWAYS = math.inf
ODDS = {
    "skewed": [Fraction(n, 7) for n in (1, 50, 3, 900, 2, 8, 20000)],
    "tied": [Fraction(1, 3)] * 4 + [Fraction(2)] * 3,
    "certain": [Fraction(0), ALWAYS, Fraction(5), Fraction(1, 9), ALWAYS, Fraction(0)],
    "settled": [ALWAYS, Fraction(0), ALWAYS],
    "wide": [HUGE, 1 / HUGE, Fraction(1), 3 * HUGE, 2 / HUGE, Fraction(7), ALWAYS],
    "plateau": [HUGE] * 3 + [1 / HUGE] * 3,
    "fair": [Fraction(1)] * 8,
    "none": [],
}


def log_fraction(value):
    # A quotient of integers of hundreds of digits: neither needs to fit a float.
    return math.log(value.numerator) - math.log(value.denominator) if value else -math.inf


def log_odds(odds):
    x = np.array([math.inf if v == ALWAYS else log_fraction(v) for v in odds], dtype=float)
    x.flags.writeable = False
    return x


def exact_pmf(odds):
    """The definition: every outcome of all trials."""
    prob = [Fraction(1) if v == ALWAYS else v / (1 + v) for v in odds]
    law = [Fraction(0)] * (len(odds) + 1)
    for outcome in product([0, 1], repeat=len(odds)):
        law[sum(outcome)] += math.prod(
            (p if hit else 1 - p for p, hit in zip(prob, outcome, strict=True)), start=Fraction(1)
        )
    return law


@pytest.mark.parametrize("name", ODDS)
def test_law_matches_enumeration(name):
    odds = ODDS[name]
    x = log_odds(odds)
    exact = exact_pmf(odds)
    possible = sum(v != 0 for v in odds)
    law = pmf(x)
    assert law.shape == (possible + 1,)
    # Below 1e-280 the window may have dropped the count.
    np.testing.assert_allclose(law, [float(p) for p in exact[: possible + 1]], rtol=1e-12, atol=1e-280)
    for k in range(-1, len(odds) + 2):
        expected = log_fraction(exact[k]) if 0 <= k <= len(odds) else -math.inf
        # Logs of 1e300 are known to 1e-13, and at most eight of them are added.
        assert log_pmf(x, k) == pytest.approx(expected, rel=1e-14, abs=1e-12)


@pytest.mark.parametrize("name", ODDS)
def test_moments_match_enumeration(name):
    odds = ODDS[name]
    exact = exact_pmf(odds)
    first = sum(k * p for k, p in enumerate(exact))
    second = sum(k * k * p for k, p in enumerate(exact)) - first**2
    x = log_odds(odds)
    assert mean(x) == pytest.approx(float(first), rel=1e-14)
    # Relative: the variance of nearly certain trials is tiny, yet has all its digits.
    assert variance(x) == pytest.approx(float(second), rel=1e-12, abs=0.0)


@pytest.mark.parametrize("scale", [0.3, 3.0, 40.0])
def test_the_two_routes_agree(scale):
    x = np.random.default_rng(1).normal(loc=0.5, scale=scale, size=200)
    law = pmf(x)
    trusted = np.flatnonzero(law > 1e-250)[:: 1 if scale > 10 else 5]
    tilted = [log_pmf(x, k) for k in trusted]
    np.testing.assert_allclose(np.log(law[trusted]), tilted, rtol=1e-14, atol=1e-12)


def test_log_pmf_is_the_symmetric_polynomial_normalised():
    x = np.random.default_rng(2).normal(scale=2.0, size=150)
    log_z = np.logaddexp(0.0, x).sum()
    for k in (0, 1, 40, 75, 149, 150):
        assert log_pmf(x, k) == pytest.approx(log_elementary_symmetric(x, k) - log_z, abs=1e-11)


@pytest.mark.parametrize("value", [-690.0, -20.0, -1.5, 0.0, 1e-9, 20.0, 690.0])
@pytest.mark.parametrize("k", [0, 1, 17, 250, 499, 500])
def test_equal_trials_are_binomial(value, k):
    m = 500
    exact = math.log(math.comb(m, k)) - k * np.logaddexp(0.0, -value) - (m - k) * np.logaddexp(0.0, value)
    assert log_pmf(np.full(m, value), k) == pytest.approx(exact, rel=1e-13, abs=1e-12)


def test_most_likely_count_has_all_its_digits():
    # No tilt is needed here, so the answer must not inherit the rounding of sums of 2000 logarithms.
    exact = log_fraction(Fraction(math.comb(2000, 1000), 2**2000))
    assert log_pmf(np.zeros(2000), 1000) == pytest.approx(exact, abs=1e-12)
    assert pmf(np.zeros(2000))[1000] == pytest.approx(math.exp(exact), rel=1e-12)


@pytest.mark.needs_compiled
@pytest.mark.parametrize(("num", "den"), [(1, 2), (1, 3), (1, 100)])
def test_hundred_thousand_equal_trials(num, den):
    # Success probability num / den. Equal trials repeat the same rounding 100,000 times: left alone it would
    # show at 6e-12 for 1/3.
    m = 100_000
    x = np.full(m, math.log(num / (den - num)))
    law = pmf(x)
    assert math.fsum(law) == pytest.approx(1.0, abs=1e-13)
    centre = m * num // den
    for k in (centre, centre + 10, centre + 500):
        # Integers of 100,000 digits and more, whose quotient Python rounds once.
        exact = (math.comb(m, k) * num**k * (den - num) ** (m - k)) / den**m
        assert law[k] == pytest.approx(exact, rel=1e-12)
        assert log_pmf(x, k) == pytest.approx(math.log(exact), abs=1e-12)


@pytest.mark.needs_compiled
def test_hundred_thousand_trials_of_any_odds():
    x = np.random.default_rng(3).uniform(-300.0, 300.0, size=100_000) * math.log(10.0)
    law = pmf(x)
    assert math.fsum(law) == pytest.approx(1.0, abs=1e-12)
    mode = int(law.argmax())
    assert log_pmf(x, mode) == pytest.approx(math.log(law[mode]), abs=1e-12)
    # Far in the tail: trials are nearly settled, so the log probability is the sum of the log odds to
    # overturn.
    k = 1_000
    overturned = np.sort(x)[::-1][k:]
    assert log_pmf(x, k) == pytest.approx(-overturned[overturned > 0].sum(), rel=1e-6)
    assert log_pmf(x, k) == pytest.approx(log_elementary_symmetric(x, k) - np.logaddexp(0.0, x).sum(), rel=1e-13)


def test_many_counts_at_once():
    x = np.append(np.random.default_rng(4).normal(loc=-9.0, size=120), [np.inf, -np.inf])
    ks = np.array([[5, 0, 121], [1, 122, 5], [60, -3, 90]])
    out = log_pmf_many(x, ks)
    assert out.shape == ks.shape
    expected = [[log_pmf(x, int(k)) for k in row] for row in ks]
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-12)
    # The counts asked for lie on both sides of what the window of the whole law can hold.
    assert out[1, 0] > -50.0
    assert -np.inf < out[0, 2] < -800.0
    assert log_pmf_many(x, []).shape == (0,)


@pytest.mark.parametrize("floor", [1e-300, 1e-5])
def test_compiled_loop_and_plain_loop_agree(floor):
    x = np.random.default_rng(7).normal(scale=5.0, size=90)
    p, r = expit(x), expit(-x)
    plain = load("numerics._loops").count_distribution
    np.testing.assert_allclose(_loops.count_distribution(p, r, floor), plain(p, r, floor), rtol=1e-14, atol=0)


def test_loop_against_convolution():
    p = np.array([0.1, 0.9, 0.5, 0.25, 1e-9, 0.7])
    law = np.ones(1)
    for value in p:
        law = np.convolve(law, [1.0 - value, value])
    np.testing.assert_allclose(_loops.count_distribution(p, 1.0 - p, 0.0), law, rtol=1e-14)


trials = st.lists(st.floats(-700.0, 700.0) | st.sampled_from([-math.inf, math.inf]), max_size=15)


@settings(deadline=None)  # the first call may compile
@given(trials)
def test_probabilities_add_up(values):
    law = pmf(values)
    assert math.fsum(law) == pytest.approx(1.0, abs=1e-13)
    assert math.fsum(np.arange(law.size) * law) == pytest.approx(mean(values), rel=1e-12, abs=1e-280)


@settings(deadline=None)  # the first call may compile
@given(trials, st.randoms(use_true_random=False))
def test_order_of_the_trials_does_not_matter(values, random):
    mixed = list(values)
    random.shuffle(mixed)
    np.testing.assert_allclose(pmf(values), pmf(mixed), rtol=1e-12, atol=1e-280)


@settings(deadline=None)  # the first call may compile
@given(trials, st.integers(-1, 16))
def test_counting_failures_instead(values, k):
    x = np.array(values, dtype=float)
    expected = log_pmf(-x, x.size - k)
    assert log_pmf(x, k) == pytest.approx(expected, rel=1e-13, abs=1e-11)
