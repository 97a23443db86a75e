"""Nonsymmetric kernels of any scale, dense and in low-rank form, against enumeration with fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import diverset as dv
from diverset.errors import KernelError
from diverset.numerics.accretive import equilibrated, log_det_general, resolvent, size_law
from diverset.theory.classics import Carries, Descents
from reference import law_p_value

mpmath = pytest.importorskip("mpmath")

#: Items, columns of V, columns of B.
SHAPES = [(6, 3, 0), (6, 2, 2), (5, 1, 3), (5, 5, 2), (5, 0, 4), (5, 1, 5), (5, 0, 5)]
SCALES = [2.0**-40, 2.0**-20, 1.0, 2.0**20, 2.0**28, 2.0**40]


def factors(n, rank, rank_skew, seed, spread=0.0):
    """Integer factors, and powers of two as qualities: L is known without rounding."""
    rng = np.random.default_rng(seed)
    V, B = rng.integers(-3, 4, (n, rank)), rng.integers(-3, 4, (n, rank_skew))
    D = rng.integers(-2, 3, (rank_skew, rank_skew))
    q = 2.0 ** np.round(rng.uniform(-spread / 2, spread / 2, n) / math.log10(2.0))
    return V, B, D, q


def kernel(V, B, D):
    return (V @ V.T + B @ (D - D.T) @ B.T).astype(float)


def determinant(a):
    """Determinant of a matrix of fractions, by elimination with any nonzero pivot."""
    a, found = [list(row) for row in a], Fraction(1)
    for k in range(len(a)):
        pivot = next((i for i in range(k, len(a)) if a[i][k] != 0), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            a[k], a[pivot], found = a[pivot], a[k], -found
        found *= a[k][k]
        for i in range(k + 1, len(a)):
            ratio = a[i][k] / a[k][k]
            a[i] = [x - ratio * y for x, y in zip(a[i], a[k], strict=True)]
    return found


def exact_law(L):
    """Law over all sets, by determinants of fractions: a probability is zero exactly where it is."""
    n = len(L)
    entries = [[Fraction(float(x)) for x in row] for row in L]
    weight = {}
    for k in range(n + 1):
        for Y in itertools.combinations(range(n), k):
            weight[Y] = determinant([[entries[i][j] for j in Y] for i in Y])
    total = sum(weight.values())
    with mpmath.workdps(40):
        return {Y: mpmath.mpf((w / total).numerator) / (w / total).denominator for Y, w in weight.items()}


def probability(law, include=(), exclude=()):
    return sum(p for Y, p in law.items() if set(include) <= set(Y) and not set(exclude) & set(Y))


def assert_answers(dpp, law, tolerance=1e-10, zeros=True):
    n = dpp.n_items
    total = 0.0
    for Y, p in law.items():
        found = dpp.log_prob(Y)
        assert found <= 0.0
        total += math.exp(found)
        assert math.exp(found) == pytest.approx(float(p), abs=tolerance)
        if p > 1e-12:
            assert found == pytest.approx(float(mpmath.log(p)), rel=1e-7, abs=1e-9)
        if p == 0 and zeros:
            assert found == -math.inf
    assert total == pytest.approx(1.0, abs=1e-9)
    singles = [float(probability(law, [i])) for i in range(n)]
    assert dpp.inclusion_probabilities == pytest.approx(np.array(singles), abs=tolerance)
    pairs = dpp.pair_probabilities()
    for i, j in itertools.combinations(range(n), 2):
        p = float(probability(law, [i, j]))
        assert dpp.pair_probabilities([(i, j)])[0] == pytest.approx(p, abs=tolerance)
        assert pairs[i, j] == pytest.approx(p, abs=tolerance)
        assert dpp.marginal([i, j]) == pytest.approx(p, abs=tolerance)
    sizes = np.zeros(n + 1)
    for Y, p in law.items():
        sizes[len(Y)] += float(p)
    pmf = dpp.size_distribution
    assert np.pad(pmf, (0, n + 1 - len(pmf))) == pytest.approx(sizes, abs=tolerance)
    assert dpp.expected_size == pytest.approx(sizes @ np.arange(n + 1), abs=tolerance)
    for include, exclude in [([0], [1]), ([0, 1], [2, 3]), ([], [0, 1, 2]), ([2], [0, 1, 3, 4]), ([], [4])]:
        p = probability(law, include, exclude)
        found = dpp.log_event_probability(include, exclude)
        assert math.exp(found) == pytest.approx(float(p), abs=tolerance)
        if p > 1e-12:
            assert found == pytest.approx(float(mpmath.log(p)), rel=1e-7, abs=1e-9)


def assert_conditions(dpp, law, tolerance=1e-8):
    for include, exclude in [([0], []), ([], [1]), ([2], [0]), ([0], [3, 4])]:
        p = probability(law, include, exclude)
        if p < 1e-3:
            continue
        given = dpp.condition(include, exclude)
        for i in given.items.tolist():
            expected = float(probability(law, [*include, i], exclude) / p)
            assert given.marginal([i]) == pytest.approx(expected, abs=tolerance)
        rest = given.items.tolist()
        assert math.exp(given.log_prob(rest[:2])) == pytest.approx(
            float(law[tuple(sorted([*include, *rest[:2]]))] / p), abs=tolerance
        )


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_scale(shape, scale):
    for seed in range(2):
        V, B, D, _ = factors(*shape, seed)
        L = scale * kernel(V, B, D)
        law = exact_law(L)
        root = math.sqrt(scale)
        low = dv.NonsymmetricDPP.from_low_rank(root * V, root * B, D)
        # The root of an odd power of two is rounded, and the factors are then of another kernel.
        if root * root == scale:
            assert_answers(low, law)
            assert_conditions(low, law)
        dense = dv.NonsymmetricDPP(L)
        assert_answers(dense, law)
        assert_conditions(dense, law)
        if scale == 1.0:
            # From K and I - K alone a set of probability zero is known to rounding only.
            assert_answers(low.complement(), exact_complement(law, shape[0]), zeros=False)


def exact_complement(law, n):
    return {tuple(i for i in range(n) if i not in Y): p for Y, p in law.items()}


@pytest.mark.parametrize("spread", [4.0, 8.0, 12.0])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_qualities_of_any_range(shape, spread):
    for seed in range(2):
        V, B, D, q = factors(*shape, 100 + seed, spread)
        law = exact_law(kernel(V, B, D) * q[:, None] * q)
        assert_answers(dv.NonsymmetricDPP.from_low_rank(q[:, None] * V, q[:, None] * B, D), law, 1e-9)
        assert_answers(dv.NonsymmetricDPP(kernel(V, B, D) * q[:, None] * q), law, 1e-9)


def member(seed):
    """Factors of a random rank and scale, purely skew-symmetric for one in three, with qualities over up to 1e12."""
    rng = np.random.default_rng([77, seed])
    n, kind = 5 + int(rng.integers(0, 2)), rng.integers(0, 3)
    rank = int(rng.integers(0, 4)) if kind else 0
    rank_skew = int(rng.integers(0, 6)) if kind < 2 else 0
    if rank + rank_skew == 0:
        rank_skew = 4
    spread = rng.choice([0.0, 4.0, 8.0, 12.0])
    V, B, D, q = factors(n, rank, rank_skew, int(rng.integers(1 << 30)), spread)
    return V, B, D, q * 2.0 ** (rng.choice([-40, -20, 0, 0, 20, 28, 40]) / 2)


def check_member(seed):
    V, B, D, q = member(seed)
    L = kernel(V, B, D) * q[:, None] * q
    law = exact_law(L)
    assert_answers(dv.NonsymmetricDPP.from_low_rank(q[:, None] * V, q[:, None] * B, D), law, 1e-9)
    assert_answers(dv.NonsymmetricDPP(L), law, 1e-9)


# One large item and no symmetric part; skew-symmetric factors of odd width; a zero in the largest row.
@pytest.mark.parametrize("seed", [1040, 1848, 3923, 5669, 5852, 9092, 10322, 12571])
def test_members_that_need_scales_of_their_items(seed):
    check_member(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_thousands_of_members(block):
    for seed in range(1_000 * block, 1_000 * (block + 1)):
        check_member(seed)


@pytest.mark.parametrize("spread", [0.0, 4.0, 8.0, 12.0, 16.0])
def test_nothing_is_possible_beyond_the_rank(spread):
    """Products of real numbers: whether five items are dependent is decided once, for all answers."""
    rng = np.random.default_rng(int(spread))
    q = 10.0 ** rng.uniform(-spread / 2, spread / 2, (6, 1))
    V, B, D = q * rng.standard_normal((6, 2)), q * rng.standard_normal((6, 2)), rng.standard_normal((2, 2))
    for dpp in (dv.NonsymmetricDPP.from_low_rank(V, B, D), dv.NonsymmetricDPP(kernel(V, B, D))):
        sizes = dpp.size_distribution
        assert not sizes[5:].any()
        given = dpp.condition([int(q.argmax())])
        for Y in itertools.combinations(range(6), 5):
            assert dpp.log_prob(Y) == -math.inf
            assert dpp.marginal(Y) == 0.0
            rest = [i for i in Y if i in given.items][:4]
            assert given.marginal(rest) == 0.0
            assert dpp.restrict(Y).marginal(Y) == 0.0


def law_of_sets(L):
    return {frozenset(Y): float(p) for Y, p in exact_law(L).items() if p > 0}


@pytest.mark.parametrize("seed", [104, 201])
def test_draws_of_graded_kernels_follow_the_law(seed):
    V, B, D, q = factors(6, 2, 2, seed, spread=8.0)
    L = kernel(V, B, D) * q[:, None] * q
    law = law_of_sets(L)
    low = dv.NonsymmetricDPP.from_low_rank(q[:, None] * V, q[:, None] * B, D)
    for dpp in (low, dv.NonsymmetricDPP(L)):
        assert law_p_value(dpp.sample(3_000, rng=seed, method="sequential"), law) > 1e-4
    # The twin: without the skew-symmetric part, which makes items attract.
    faulty = dv.NonsymmetricDPP(q[:, None] * (V @ V.T).astype(float) * q)
    draws = [Y for Y in faulty.sample(3_000, rng=seed) if frozenset(Y.tolist()) in law]
    assert law_p_value(draws, law) < 1e-4


def test_low_rank_kernels_times_large_numbers():
    V, B, D, _ = factors(7, 3, 2, 5)
    for scale in (1e6, 1e8, 1e12):
        law = exact_law(scale * kernel(V, B, D))
        dpp = dv.NonsymmetricDPP(scale * kernel(V, B, D))
        expected = [float(probability(law, [i])) for i in range(7)]
        assert dpp.inclusion_probabilities == pytest.approx(np.array(expected), abs=1e-11)
        sizes = np.zeros(8)
        for Y, p in law.items():
            sizes[len(Y)] += float(p)
        assert dpp.size_distribution == pytest.approx(sizes, abs=1e-11)
        assert dpp.log_prob(range(6)) == -math.inf


@pytest.mark.parametrize("length", [2, 5, 100])
def test_sizes_of_carries_are_counted_exactly(length):
    # Last digits and numbers of carries so far: sums of positive terms only.
    table = np.zeros((10, length))
    table[:, 0] = 0.1
    for _ in range(length - 1):
        step = np.zeros_like(table)
        for digit in range(10):
            step[digit] = 0.1 * table[: digit + 1].sum(axis=0)
            step[digit, 1:] += 0.1 * table[digit + 1 :].sum(axis=0)[:-1]
        table = step
    dpp = Carries(length).dpp
    assert dpp.size_distribution == pytest.approx(table.sum(axis=0), abs=1e-14)
    assert dpp.size_distribution @ np.arange(length) == pytest.approx(dpp.expected_size, abs=1e-11)
    assert dpp.expected_size == pytest.approx(0.45 * (length - 1), abs=1e-11)


def test_eigenvalues_would_be_wrong_for_carries():
    # What the determinants avoid: a kernel far from normal, whose computed eigenvalues are off by far.
    K = Carries(100).kernel
    eigenvalues = np.linalg.eigvals(K)
    angles = 2.0 * np.pi * np.arange(100) / 100
    values = np.prod(1.0 + (np.exp(-1j * angles)[:, None] - 1.0) * eigenvalues, axis=1)
    assert np.abs(np.fft.ifft(values).real - size_law(K)).max() > 1e-3
    assert Descents(2, [0.5, 0.5]).dpp.size_distribution == pytest.approx([0.75, 0.25], abs=1e-15)


def test_the_two_routes_to_K_agree_where_both_hold():
    V, B, D, _ = factors(6, 4, 4, 3)
    L = kernel(V, B, D)
    plain = resolvent(L)
    for scale in (1.0, 1e4):
        scaled = resolvent(scale * L)
        expected = np.linalg.solve(np.eye(6) + scale * L, scale * L)
        assert np.abs(scaled.K - expected).max() < 1e-10
        assert np.abs(scaled.K + scaled.Kc - np.eye(6)).max() < 1e-13
    assert plain.rank is None
    assert resolvent(1e6 * L).rank == 6
    deficient = resolvent(1e6 * kernel(V[:, :2], B[:, :2], D[:2, :2]))
    assert deficient.rank <= 4
    assert np.trace(deficient.K) == pytest.approx(deficient.rank, abs=1e-3)
    N, d = equilibrated(np.array([[0.0, 1e9], [-1e9, 1e-3]]))
    assert np.abs(N).max() <= 4.0
    assert np.allclose(N * d[:, None] * d, [[0.0, 1e9], [-1e9, 1e-3]])
    assert log_det_general(np.array([[0.0, 1.0], [1.0, 0.0]])) == -math.inf
    # The zero kernel, whose scaled form has no range at all.
    assert resolvent(np.zeros((3, 3)), rounding=1.0).log_det == 0.0
    # Entries that are rounding as a whole: nothing is left, and the rank says so.
    nothing = resolvent(1e6 * np.eye(3), rounding=1.0)
    assert (nothing.log_det, nothing.rank) == (0.0, 0)


def test_factors_that_do_not_fit_are_refused():
    with pytest.raises(KernelError, match=r"B has shape \(3, 1\); expected \(2, n\)"):
        dv.NonsymmetricDPP.from_low_rank(np.ones((2, 1)), np.ones((3, 1)), np.ones((1, 1)))
    with pytest.raises(KernelError, match=r"D has shape \(2, 2\); expected \(1, 1\)"):
        dv.NonsymmetricDPP.from_low_rank(np.ones((2, 1)), np.ones((2, 1)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="nan"):
        dv.NonsymmetricDPP.from_low_rank([[math.nan]], [[1.0]], [[0.0]])
