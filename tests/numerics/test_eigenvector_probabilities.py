"""Choosing k eigenvectors: exact rational enumeration, the plain twins, and identities on long spectra."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from diverset.numerics import _loops, eigenvector_probabilities
from diverset.numerics.eigenvector_probabilities import (
    _free_entries,
    _settled,
    pair_selection_factors,
    selection_probabilities,
)
from diverset.numerics.symmetric import (
    elementary_symmetric_tree,
    log_elementary_symmetric,
    log_elementary_symmetric_all,
    tilt,
)
from uncompiled import load

HUGE = Fraction(10) ** 300
BIG = Fraction(10) ** 20
ALWAYS = math.inf
SPECTRA = {
    "primes": [Fraction(n) for n in (2, 3, 5, 7, 11, 13)],
    "skewed": [Fraction(n, 7) for n in (1, 50, 3, 900, 2, 8, 20000, 5)],
    "tied": [Fraction(1, 3)] * 4 + [Fraction(2)] * 3,
    "fair": [Fraction(1)] * 6,
    "pair": [Fraction(1), Fraction(1)],
    "certain": [Fraction(0), ALWAYS, Fraction(5), Fraction(1, 9), Fraction(2), ALWAYS, Fraction(0)],
    "settled": [ALWAYS, Fraction(0), ALWAYS],
    "rare": [Fraction(3), 1 / BIG, Fraction(1), 2 / BIG, Fraction(2), BIG, 5 * BIG],
    "wide": [HUGE, 1 / HUGE, Fraction(1), 3 * HUGE, 2 / HUGE, Fraction(7), 5 * HUGE],
    "plateau": [BIG] * 4 + [1 / BIG] * 4,
    "high plateau": [HUGE] * 4 + [1 / HUGE] * 4,
    "one": [Fraction(3)],
    "none": [],
}


def log_fraction(value):
    # A quotient of integers of hundreds of digits: neither needs to fit a float.
    return math.log(value.numerator) - math.log(value.denominator) if value else -math.inf


def log_spectrum(lam):
    x = np.array([math.inf if v == ALWAYS else log_fraction(v) for v in lam], dtype=float)
    x.flags.writeable = False
    return x


def exact_laws(lam, k):
    """The definition, single and pair probabilities: every set that holds what is certain."""
    m = len(lam)
    certain = [n for n in range(m) if lam[n] == ALWAYS]
    free = [n for n in range(m) if lam[n] != ALWAYS]
    single = [Fraction(0)] * m
    pair = [[Fraction(0)] * m for _ in range(m)]
    total = Fraction(0)
    for J in combinations(free, max(k - len(certain), 0)):
        weight = math.prod((lam[n] for n in J), start=Fraction(1))
        total += weight
        chosen = [*certain, *J]
        for a in chosen:
            single[a] += weight
            for b in chosen:
                pair[a][b] += weight
    return [w / total for w in single], [[w / total for w in row] for row in pair]


def sizes(lam):
    """The sizes that are possible."""
    return range(sum(v == ALWAYS for v in lam), sum(v != 0 for v in lam) + 1)


def floats(values):
    return np.array([[float(v) for v in row] for row in values], dtype=float)


def selection_probabilities_plain(x, k):
    """P(n in J) = lam_n e_{k-1}^{-n} / e_k, one recursion for each n."""
    x = np.asarray(x, dtype=np.float64)
    prob = _settled(x, k)
    if prob is not None:
        return prob
    free, k_free = _free_entries(x, k)
    y = x[free]
    log_e = log_elementary_symmetric_all(y, k_free)[k_free]
    log_without = [log_elementary_symmetric_all(np.delete(y, n), k_free - 1)[-1] for n in range(y.size)]
    prob = np.where(x == np.inf, 1.0, 0.0)
    prob[free] = np.exp(y + np.array(log_without) - log_e)
    return prob


def pair_selection_probabilities_plain(x, k):
    """P(n and n' in J) = lam_n lam_n' e_{k-2}^{-n,n'} / e_k, one recursion for each pair; singles on the diagonal."""
    x = np.asarray(x, dtype=np.float64)
    single = selection_probabilities_plain(x, k)
    # Exact wherever one of the two is certain or impossible.
    W = np.outer(single, single)
    free, k_free = _free_entries(x, k)
    if _settled(x, k) is None:
        y = x[free]
        index = np.flatnonzero(free)
        log_e = log_elementary_symmetric_all(y, k_free)[k_free]
        for i in range(y.size):
            for j in range(i):
                pair = -np.inf
                if k_free >= 2:
                    rest = log_elementary_symmetric_all(np.delete(y, [i, j]), k_free - 2)[-1]
                    pair = y[i] + y[j] + rest - log_e
                W[index[i], index[j]] = W[index[j], index[i]] = np.exp(pair)
    np.fill_diagonal(W, single)
    return W


def off_diagonal(W):
    return W[~np.eye(len(W), dtype=bool)]


def product(factors):
    S, sigma = factors
    return (S * sigma) @ S.T


@pytest.mark.parametrize("name", SPECTRA)
def test_single_probabilities_match_enumeration(name):
    lam = SPECTRA[name]
    x = log_spectrum(lam)
    for k in sizes(lam):
        exact = np.array([float(p) for p in exact_laws(lam, k)[0]])
        # Relative, however rare: eight logs of 1e300, each known to 1e-13, bound the error of the input
        # alone.
        np.testing.assert_allclose(selection_probabilities(x, k), exact, rtol=1e-12, atol=1e-307)
        np.testing.assert_allclose(selection_probabilities_plain(x, k), exact, rtol=3e-12, atol=1e-307)


@pytest.mark.parametrize("name", SPECTRA)
def test_pair_probabilities_match_enumeration(name):
    lam = SPECTRA[name]
    x = log_spectrum(lam)
    for k in sizes(lam):
        single, pair = exact_laws(lam, k)
        exact = floats(pair).reshape(x.size, x.size)
        plain = pair_selection_probabilities_plain(x, k)
        np.testing.assert_allclose(plain, exact, rtol=3e-12, atol=1e-307)
        np.testing.assert_allclose(np.diag(plain), [float(p) for p in single], rtol=3e-12, atol=1e-307)
        W = product(pair_selection_factors(x, k))
        np.testing.assert_allclose(off_diagonal(W), off_diagonal(exact), rtol=0, atol=1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_rare_pairs_keep_their_digits(k):
    lam = [Fraction(3), 1 / BIG, Fraction(1), 2 / BIG, Fraction(2), Fraction(1, 5)]
    exact = off_diagonal(floats(exact_laws(lam, k)[1]))
    W = off_diagonal(product(pair_selection_factors(log_spectrum(lam), k)))
    # Down to 1e-40, relative to the probability itself.
    np.testing.assert_allclose(W, exact, rtol=1e-11, atol=0)


def test_error_of_pairs_scales_with_the_tilted_probabilities():
    # The four common eigenvectors fill k = 4, so a rare one needs a vacancy first: its probability is the
    # square of its tilted probability, and only the latter bounds the error.
    lam = [Fraction(3), 1 / BIG, Fraction(1), 2 / BIG, Fraction(2), Fraction(1, 5)]
    x = log_spectrum(lam)
    q = expit(x + tilt(x, 4))
    error = product(pair_selection_factors(x, 4)) - floats(exact_laws(lam, 4)[1])
    assert off_diagonal(np.abs(error) / np.outer(q, q)).max() < 1e-13


def test_impossible_sizes_are_nan():
    x = [np.inf, 0.0, -np.inf, np.inf]
    for k in (-1, 0, 1, 4):
        assert np.isnan(selection_probabilities(x, k)).all()
        assert np.isnan(selection_probabilities_plain(x, k)).all()
        assert np.isnan(off_diagonal(pair_selection_probabilities_plain(x, k))).all()
        assert np.isnan(product(pair_selection_factors(x, k))).all()


def test_shapes_of_settled_cases():
    for m in (0, 1, 5):
        for k in (0, 1, m):
            if k <= m:
                S, sigma = pair_selection_factors(np.zeros(m), k)
                assert S.shape == (m, sigma.size)
                assert selection_probabilities(np.zeros(m), k).shape == (m,)


# Sizes around squares, where the blocks of the forward table begin and end.
@pytest.mark.parametrize("m", [2, 3, 4, 5, 8, 9, 10, 15, 16, 17, 24, 25, 26])
def test_every_block_boundary(m):
    x = np.random.default_rng(m).normal(scale=2.0, size=m)
    for k in range(m + 1):
        fast, plain = selection_probabilities(x, k), selection_probabilities_plain(x, k)
        np.testing.assert_allclose(fast, plain, rtol=1e-12)


@pytest.mark.parametrize("scale", [0.5, 5.0, 100.0])
@pytest.mark.parametrize("k", [1, 30, 60, 100, 119])
def test_twins_agree_on_a_hundred(scale, k):
    x = np.random.default_rng(8).normal(scale=scale, size=120)
    fast = selection_probabilities(x, k)
    # The plain twin exponentiates logs of up to 1e4, hence its error of 1e-12.
    np.testing.assert_allclose(fast, selection_probabilities_plain(x, k), rtol=1e-10, atol=1e-300)
    assert math.fsum(fast) == pytest.approx(k, rel=1e-13)


def test_tree_gives_the_same_probabilities():
    x = np.random.default_rng(9).normal(size=45)
    for k in (1, 2, 11, 40):
        tree = np.exp(x) * elementary_symmetric_tree(np.exp(x), k)
        prob = tree / np.exp(log_elementary_symmetric(x, k))
        np.testing.assert_allclose(selection_probabilities(x, k), prob, rtol=1e-12)


@pytest.mark.parametrize("scale", [0.5, 5.0, 100.0])
@pytest.mark.parametrize("k", [2, 3, 17, 33, 34])
def test_pair_twins_agree(scale, k):
    x = np.random.default_rng(10).normal(scale=scale, size=35)
    x[3], x[20] = -np.inf, np.inf
    W = product(pair_selection_factors(x, min(k, 34)))
    plain = pair_selection_probabilities_plain(x, min(k, 34))
    np.testing.assert_allclose(off_diagonal(W), off_diagonal(plain), rtol=0, atol=3e-12)


@pytest.mark.parametrize("floor", [1e-300, 1e-6])
@pytest.mark.parametrize("k", [1, 7, 29])
def test_compiled_loop_and_plain_loop_agree(floor, k):
    x = np.random.default_rng(11).normal(scale=3.0, size=30)
    y = x + tilt(x, k)
    arguments = expit(y), expit(-y), k, floor
    plain = load("numerics._loops").selection_masses
    for one, other in zip(_loops.selection_masses(*arguments), plain(*arguments), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_both_masses_add_up_to_the_same_probability():
    x = np.random.default_rng(12).normal(scale=3.0, size=50)
    y = x + tilt(x, 10)
    chosen, left = _loops.selection_masses(expit(y), expit(-y), 10, 1e-300)
    log_mass = log_elementary_symmetric(y, 10) - np.logaddexp(0.0, y).sum()
    np.testing.assert_allclose(np.log(chosen + left), log_mass, rtol=0, atol=1e-12)


@pytest.mark.needs_compiled
def test_pairs_of_a_long_spectrum():
    m, k = 20_000, 300
    x = np.random.default_rng(13).normal(scale=2.0, size=m)
    S, sigma = pair_selection_factors(x, k)
    assert sigma.size <= 40
    # Given n, k - 1 others are chosen.
    prob = selection_probabilities(x, k)
    rows = S @ (sigma * [math.fsum(column) for column in S.T]) - (S * S) @ sigma
    np.testing.assert_allclose(rows, (k - 1) * prob, rtol=1e-11)
    # Single entries, against the definition by symmetric polynomials.
    log_e = log_elementary_symmetric(x, k)
    for a, b in [(0, 1), (int(x.argmax()), int(x.argmin())), (17, 4_000)]:
        rest = log_elementary_symmetric(np.delete(x, [a, b]), k - 2)
        expected = math.exp(x[a] + x[b] + rest - log_e)
        assert (S[a] * sigma) @ S[b] == pytest.approx(expected, rel=1e-11)


@pytest.mark.needs_compiled
def test_pairs_of_equal_eigenvalues():
    m, k = 100_000, 1_000
    S, sigma = pair_selection_factors(np.full(m, -690.0), k)
    expected = k * (k - 1) / (m * (m - 1))
    np.testing.assert_allclose((S[:5] * sigma) @ S[-5:].T, expected, rtol=1e-11)


def sequential_qr(a):
    """QR by reflections, whose sums over rows run one after another, as the reference BLAS has them."""
    if a.ndim == 3:
        return tuple(map(np.stack, zip(*map(sequential_qr, a), strict=True)))

    def reflect(v, tau, M):
        M -= tau * np.outer(v, np.add.accumulate(v[:, None] * M)[-1])

    m, width = a.shape
    R, Q, reflections = np.array(a), np.eye(m, width), []
    for j in range(width):
        v = R[j:, j].copy()
        top = -math.copysign(math.sqrt(np.add.accumulate(v * v)[-1]), v[0])
        tau = (top - v[0]) / top if top else 0.0
        v = v / (v[0] - top) if top else v
        v[0] = 1.0
        reflections.append((v, tau))
        reflect(v, tau, R[j:, j:])
    for j, (v, tau) in reversed(list(enumerate(reflections))):
        reflect(v, tau, Q[j:])
    return Q, np.triu(R[:width])


@pytest.mark.needs_compiled
@pytest.mark.parametrize(("blocks", "low", "high"), [(True, 0.0, 1e-12), (False, 2e-11, 1.0)])
def test_pairs_do_not_depend_on_the_order_of_sums(monkeypatch, blocks, low, high):
    """Some BLAS add one number after another: 30,000 equal rows then round alike. The second case is the twin."""
    m, k = 30_000, 1_000
    monkeypatch.setattr(np.linalg, "qr", sequential_qr)
    if not blocks:
        monkeypatch.setattr(eigenvector_probabilities, "tall_qr", sequential_qr)
    S, sigma = pair_selection_factors(np.full(m, -690.0), k)
    error = np.abs((S[:5] * sigma) @ S[-5:].T * (m * (m - 1)) / (k * (k - 1)) - 1.0).max()
    assert low <= error <= high


@pytest.mark.needs_compiled
@pytest.mark.parametrize("value", [-690.0, 0.0, 690.0])
@pytest.mark.parametrize("k", [1_000, 99_000])
def test_equal_eigenvalues_share_alike(value, k):
    prob = selection_probabilities(np.full(100_000, value), k)
    np.testing.assert_allclose(prob, k / 100_000, rtol=1e-11)


@pytest.mark.needs_compiled
def test_long_wide_spectrum():
    # Eigenvalues from 1e-300 to 1e300, against the definition, one polynomial at a time in logs: the
    # thousandth eigenvalue is where the choice is open, and what is e^60 above or below it is settled to
    # the last digit.
    x = np.random.default_rng(14).uniform(-300.0, 300.0, size=100_000) * math.log(10.0)
    k = 1_000
    prob = selection_probabilities(x, k)
    assert math.fsum(prob) == pytest.approx(k, rel=1e-13)
    assert prob.min() >= 0.0
    assert prob.max() <= 1.0
    order = np.argsort(-x)
    edge = x[order[k]]
    log_e = log_elementary_symmetric_all(x[order[: 20 * k]] - edge, k)[k]
    for rank in (0, 400, 990, 1_000, 1_010, 2_500):
        n = order[rank]
        others = np.delete(x[order[: 20 * k]] - edge, rank)
        expected = math.exp(x[n] - edge + log_elementary_symmetric_all(others, k - 1)[k - 1] - log_e)
        # The reference takes the exponential of a difference of numbers near 1e4.
        assert prob[n] == pytest.approx(expected, rel=1e-9)


@pytest.mark.needs_compiled
def test_two_groups_six_hundred_orders_apart():
    # 600 of 1e300 are sure; the other 400 of 1000 are shared by 99,400 of 1e-300.
    x = np.repeat([300.0, -300.0], [600, 99_400]) * math.log(10.0)
    prob = selection_probabilities(x, 1_000)
    np.testing.assert_allclose(prob[:600], 1.0, rtol=1e-14)
    np.testing.assert_allclose(prob[600:], 400 / 99_400, rtol=1e-11)


entries = st.floats(-700.0, 700.0) | st.sampled_from([-math.inf, 0.0])
spectra = st.lists(entries, min_size=1, max_size=14)


@settings(deadline=None)  # the first call may compile
@given(spectra, st.integers(0, 14))
def test_probabilities_add_up(values, k):
    k = min(k, sum(v > -math.inf for v in values))
    prob = selection_probabilities(values, k)
    assert math.fsum(prob) == pytest.approx(k, rel=1e-13)
    assert ((prob >= 0.0) & (prob <= 1.0)).all()
    W = product(pair_selection_factors(values, k))
    rows = W.sum(axis=1) - np.diag(W)
    np.testing.assert_allclose(rows, (k - 1) * prob if k else 0.0 * prob, rtol=0, atol=1e-11)


@settings(deadline=None)  # the first call may compile
@given(spectra, st.integers(0, 14), st.randoms(use_true_random=False))
def test_order_of_the_eigenvalues_does_not_matter(values, k, random):
    k = min(k, sum(v > -math.inf for v in values))
    order = list(range(len(values)))
    random.shuffle(order)
    x = np.array(values)
    expected = selection_probabilities(x, k)[order]
    np.testing.assert_allclose(selection_probabilities(x[order], k), expected, rtol=1e-12, atol=1e-300)


@settings(deadline=None)  # the first call may compile
@given(spectra, st.integers(0, 14), st.floats(-500.0, 500.0))
def test_scaling_changes_nothing(values, k, shift):
    k = min(k, sum(v > -math.inf for v in values))
    x = np.array(values)
    # Adding the shift rounds every log eigenvalue by up to 2e-13, and a probability depends on up to 14 of
    # them.
    expected = selection_probabilities(x, k)
    np.testing.assert_allclose(selection_probabilities(x + shift, k), expected, rtol=1e-11, atol=1e-300)


@settings(deadline=None)  # the first call may compile
@given(spectra, st.integers(1, 14))
def test_larger_eigenvalues_are_chosen_more_often(values, k):
    k = min(k, sum(v > -math.inf for v in values))
    x = np.sort(values)
    prob = selection_probabilities(x, k)
    assert (np.diff(prob) >= -1e-12 * prob[1:]).all()
