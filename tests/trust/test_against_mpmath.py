r"""Every answer of every representation, against exact enumeration in mpmath.

Inputs are floats, so they are exact rational numbers: determinants in 400 digits give the law of every subset, and all
other answers are sums of it. Families span scales from 1e-16 to 1e16, qualities that differ by up to 1e16, deficient
ranks, single precision and complex kernels. The quick part takes a few members of each family, the slow part thousands.
Nonsymmetric kernels are in ``tests/core/test_nonsymmetric_scales.py``.

A matrix in single precision stands for the features it was computed from. The entries of :math:`L = DSD`, S of unit
diagonal, are known to relative accuracy :math:`\epsilon = 2^{-23}`. Then :math:`\log\det L_Y` of m items is known to
:math:`m^2\epsilon/\lambda_{\min}(S_Y)`, and a probability to twice that, for the set and for the normaliser.
"""

import math
from itertools import combinations

import mpmath as mp
import numpy as np
import pytest

import diverset as dv
from trust.exact_laws import ExactLaw, exact_matrix, product_kernel, subsets

mp.mp.dps = 400

#: Absolute error of a probability, and of the logarithm of one above RARE, relative to it where it is above 1.
PROBABILITY, LOGARITHM, RARE = 1e-9, 1e-7, 1e-12
#: A probability that exact arithmetic on rounded eigenvectors leaves where none should be.
ROUNDED_ZERO = mp.mpf(10) ** -25


# families ----------------------------------------------------------------------------------------------------------


def scale_of(rng):
    return 10.0 ** rng.uniform(-16, 16)


def qualities(rng, n, largest):
    """Qualities of n items over a range of at least 1 and at most `largest`."""
    spread = rng.uniform(0, math.log10(largest))
    return 10.0 ** rng.uniform(-spread, 0, n) * 10.0 ** rng.uniform(0, spread)


def normal(rng, shape, kind):
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if kind == "c" else x


def shape_of(rng):
    n = int(rng.integers(2, 6))
    return n, int(rng.integers(1, n + 2))


def spread_out(make_rows):
    """Rows again and again, until no set of items is dependent but for the rank (then nobody can tell, see below)."""

    def make(rng, *args):
        while True:
            rows = make_rows(rng, *args)
            if conditioned(rows):
                return rows

    return make


def conditioned(rows):
    """Whether every set of at most `rank` normalised rows has singular values above 1e-3."""
    unit = np.asarray(rows, dtype=np.result_type(rows, np.float64))
    norms = np.linalg.norm(unit, axis=1)
    if norms.min() == 0.0:
        return False
    unit = unit / norms[:, None]
    return least_singular_value(unit) > 1e-3


def least_singular_value(unit):
    """Of all sets of at most `rank` rows of norm 1."""
    rank = np.linalg.matrix_rank(unit, tol=1e-9)
    return min(
        np.linalg.svd(unit[list(Y)], compute_uv=False)[-1]
        for k in range(1, rank + 1)
        for Y in combinations(range(len(unit)), k)
    )


@spread_out
def normal_rows(rng, kind):
    return normal(rng, shape_of(rng), kind)


@spread_out
def integer_rows(rng, rank):
    n = int(rng.integers(rank + 1, 6))
    return rng.integers(-4, 5, (n, rank)).astype(float)


def graded_features(rng, kind="f", largest=1e12):
    F = normal_rows(rng, kind)
    q = qualities(rng, len(F), largest)
    B = q[:, None] * F
    return dv.DPP.from_features(F, q), ExactLaw.of_likelihood(product_kernel(B), rank=min(F.shape))


def complex_features(rng):
    return graded_features(rng, "c")


def widest_features(rng):
    return graded_features(rng, "f", 1e16)


def scaled_features(rng):
    B = normal_rows(rng, "f") * scale_of(rng)
    return dv.DPP.from_features(B), ExactLaw.of_likelihood(product_kernel(B), rank=min(B.shape))


def dependent_features(rng):
    """More columns than rank, exactly, and qualities of different orders of magnitude."""
    rank = int(rng.integers(1, 4))
    F = integer_rows(rng, rank) @ rng.integers(-2, 3, (rank, 4)).astype(float)
    rank = np.linalg.matrix_rank(F)
    if rank == 0 or not conditioned(F):
        return dependent_features(rng)
    q = 2.0 ** rng.integers(-20, 21, len(F))
    return dv.DPP.from_features(F, q), ExactLaw.of_likelihood(product_kernel(q[:, None] * F), rank=rank)


def single_matrix(rng):
    """A matrix in single precision, of full or deficient rank: the features within the bound stated above."""
    while True:
        F = normal_rows(rng, "f")
        F = F / np.linalg.norm(F, axis=1)[:, None]
        least = least_singular_value(F)
        if least > 0.1:
            break
    q = qualities(rng, len(F), 1e4)
    B = (q[:, None] * F).astype(np.float32)
    n, eps = len(F), float(np.finfo(np.float32).eps)
    exact = ExactLaw.of_likelihood(product_kernel(B), rank=min(F.shape))
    return dv.DPP(B @ B.T), exact, 2.0 * n**2 * eps / least**2


def steep_matrix(rng):
    """A matrix in double precision, of deficient rank, whose smallest eigenvalues are near those that are rounding."""
    while True:
        rank = int(rng.integers(1, 4))
        F = rng.standard_normal((int(rng.integers(rank + 1, 6)), rank)) * 10.0 ** rng.uniform(-4, 0, rank)
        F = F / np.linalg.norm(F, axis=1)[:, None]
        least = least_singular_value(F)
        if 1e-5 < least < 1e-2:
            break
    B = F * 10.0 ** rng.uniform(-5, 0)
    bound = 2.0 * len(F) ** 2 * float(np.finfo(float).eps) / least**2
    return dv.DPP(B @ B.T), ExactLaw.of_likelihood(product_kernel(B), rank=rank), max(bound, PROBABILITY)


def kronecker(rng):
    first, second = (
        G @ G.T for G in (rng.standard_normal((2, 3)), spread_out(lambda r: r.standard_normal((2, 2)))(rng))
    )
    scale = 10.0 ** rng.uniform(-4, 4)
    L = np.kron(scale * first, second)
    exact = mp.matrix(len(L), len(L))
    A, B = exact_matrix(scale * first), exact_matrix(second)
    for i, j in np.ndindex(L.shape):
        exact[i, j] = A[i // 2, j // 2] * B[i % 2, j % 2]
    return dv.core.kronecker_dpp(scale * first, second), ExactLaw.of_likelihood(exact)


def extended(rng):
    """Partial projections: the space of V is always there, L counts orthogonally to it."""
    n, m = int(rng.integers(3, 6)), int(rng.integers(1, 3))
    F, V = square_rows_of(rng, n), rng.standard_normal((n, m))
    L = F @ F.T * 10.0 ** rng.uniform(-3, 3)
    V = V / np.linalg.norm(V, axis=1)[:, None]
    if least_singular_value(V) < 0.1:
        return extended(rng)
    weights = {}
    LM, VM = exact_matrix(L), exact_matrix(V)
    for Y in subsets(n):
        k = len(Y)
        bordered = mp.matrix(k + m, k + m)
        for a, i in enumerate(Y):
            for b, j in enumerate(Y):
                bordered[a, b] = LM[i, j]
            for b in range(m):
                bordered[a, k + b] = bordered[k + b, a] = VM[i, b]
        weights[Y] = (-1) ** m * mp.det(bordered) if k >= m else mp.mpf(0)
    return dv.core.extended_dpp(L, V), ExactLaw(weights, n)


def square_rows_of(rng, n):
    while True:
        F = rng.standard_normal((n, n + 1))
        if conditioned(F):
            return F


def single_features(rng):
    """Features in single precision, qualities over a range of 1e4: their values are exact, and so are the answers."""
    F = normal_rows(rng, "f").astype(np.float32)
    q = qualities(rng, len(F), 1e4)
    B = q[:, None] * F.astype(float)
    return dv.DPP.from_features(F, q), ExactLaw.of_likelihood(product_kernel(B), rank=min(F.shape))


@spread_out
def square_rows(rng, kind):
    n = int(rng.integers(2, 6))
    return normal(rng, (n, n + 1), kind)


def graded_matrix(rng, kind="f", largest=1e12):
    F = square_rows(rng, kind)
    q = qualities(rng, len(F), largest)
    B = q[:, None] * F
    L = B @ B.conj().T
    L = (L + L.conj().T) / 2
    return dv.DPP(L), ExactLaw.of_likelihood(exact_matrix(L))


def complex_matrix(rng):
    return graded_matrix(rng, "c")


def widest_matrix(rng):
    return graded_matrix(rng, "f", 1e16)


def quality_diversity(rng):
    F = square_rows(rng, "f")
    S = F @ F.T
    q = qualities(rng, len(F), 1e12)
    D = mp.diag([mp.mpf(float(x)) for x in q])
    return dv.DPP.from_quality_diversity(q, S), ExactLaw.of_likelihood(D * exact_matrix(S) * D)


def scaled_matrix(rng):
    F = square_rows(rng, "f") * 10.0 ** rng.uniform(-8, 8)
    L = F @ F.T
    return dv.DPP(L), ExactLaw.of_likelihood(exact_matrix(L))


def integer_matrix(rng):
    """Deficient rank, exactly, at any scale."""
    rank = int(rng.integers(1, 4))
    F = integer_rows(rng, rank)
    L = F @ F.T * 2.0 ** rng.integers(-53, 54)
    return dv.DPP(L), ExactLaw.of_likelihood(exact_matrix(L), rank=rank)


def graded_integer_matrix(rng):
    rank = int(rng.integers(1, 4))
    F = integer_rows(rng, rank) * 2.0 ** rng.integers(-20, 21, (1, 1))
    q = 2.0 ** rng.integers(-20, 21, len(F))
    L = q[:, None] * (F @ F.T) * q
    return dv.DPP(L), ExactLaw.of_likelihood(exact_matrix(L), rank=rank)


def spectrum(rng):
    n, r = (int(x) for x in rng.integers(2, 6, 2))
    r = min(n, r)
    while True:
        V = np.linalg.qr(rng.standard_normal((n, n)))[0][:, :r]
        if conditioned(V) and np.abs(V).min() > 1e-2:
            break
    lam = 10.0 ** rng.uniform(-8, 16, r)
    L = exact_matrix(V) * mp.diag([mp.mpf(float(x)) for x in lam]) * exact_matrix(V).T
    return dv.DPP.from_spectrum(lam, V), ExactLaw.of_likelihood(L, rank=r)


def certain_spectrum(rng):
    """Eigenvalues 1 of K beside others: a marginal kernel of low rank."""
    n = int(rng.integers(2, 6))
    r = int(rng.integers(1, n + 1))
    c = int(rng.integers(1, r + 1))
    while True:
        V = np.linalg.qr(rng.standard_normal((n, n)))[0][:, :r]
        if conditioned(V):
            break
    lam = np.concatenate([10.0 ** rng.uniform(-3, 3, r - c), np.full(c, np.inf)])
    kappa = [mp.mpf(1) if np.isinf(x) else mp.mpf(float(x)) / (1 + mp.mpf(float(x))) for x in lam]
    K = exact_matrix(V) * mp.diag(kappa) * exact_matrix(V).T
    law = ExactLaw.of_marginal(K)
    return dv.DPP.from_spectrum(lam, V), ExactLaw(
        {Y: p if c <= len(Y) <= r else mp.mpf(0) for Y, p in law.p.items()}, n
    )


def marginal_matrix(rng, kind="f"):
    F = square_rows(rng, kind)
    L = F @ F.conj().T
    K = np.linalg.inv(np.eye(len(L)) + np.linalg.inv(L))
    K = (K + K.conj().T) / 2
    return dv.DPP.from_marginal(K), ExactLaw.of_marginal(exact_matrix(K))


def complex_marginal(rng):
    return marginal_matrix(rng, "c")


def small_marginal(rng):
    """Small probabilities of different orders of magnitude: K is q S q with q at most 1."""
    F = square_rows(rng, "f")
    S = F @ F.T
    S = S / np.linalg.eigvalsh(S)[-1] * 0.9
    q = 10.0 ** rng.uniform(-6, 0, len(F))
    K = q[:, None] * S * q
    return dv.DPP.from_marginal(K), ExactLaw.of_marginal(exact_matrix(K))


FAMILIES = [
    graded_features,
    complex_features,
    widest_features,
    scaled_features,
    dependent_features,
    single_features,
    graded_matrix,
    complex_matrix,
    widest_matrix,
    quality_diversity,
    scaled_matrix,
    integer_matrix,
    graded_integer_matrix,
    spectrum,
    certain_spectrum,
    marginal_matrix,
    complex_marginal,
    small_marginal,
    single_matrix,
    kronecker,
    extended,
    steep_matrix,
]

#: Members in which a fault was found, once.
FOUND = [
    (graded_features, 272),
    (complex_features, 896),
    (widest_features, 95),
    (scaled_features, 123),
    (scaled_features, 164),
    (dependent_features, 376),
    (dependent_features, 882),
    (integer_matrix, 180),
    (integer_matrix, 368),
    (integer_matrix, 540),
    (graded_integer_matrix, 444),
    (certain_spectrum, 131),
    (single_matrix, 39),
    (steep_matrix, 12),
    (steep_matrix, 40),
    (steep_matrix, 180),
]


# the comparison ----------------------------------------------------------------------------------------------------


def compare_sets(distribution, exact, labels=None, bound=PROBABILITY):
    """Every set: its probability, its logarithm, and that all add up to one."""
    labels = list(range(exact.n)) if labels is None else labels
    law = dv.law(distribution)
    total = 0.0
    for Y in subsets(exact.n):
        truth = exact.p[Y]
        log_p = distribution.log_prob([labels[i] for i in Y])
        assert log_p <= 0.0
        p = math.exp(log_p)
        total += p
        assert abs(p - truth) < bound, Y
        assert abs(law[sum(1 << i for i in Y)] - truth) < bound, Y
        if truth == 0:
            assert log_p == -math.inf, Y
        elif truth > RARE:
            log_truth = mp.log(truth)
            assert abs(log_p - log_truth) < max(LOGARITHM, bound) * max(1, abs(log_truth)), Y
    # Whatever the kernel that is held, its own law adds up.
    assert abs(total - 1.0) < PROBABILITY
    assert float(distribution.entropy()) == pytest.approx(float(exact.entropy()), abs=max(1e-7, 20.0 * bound))


def compare_marginals(distribution, exact, labels=None, bound=PROBABILITY):
    """Everything that sums over sets."""
    n = exact.n
    labels = list(range(n)) if labels is None else labels
    single = exact.inclusion()
    found = distribution.inclusion_probabilities
    assert max((abs(a - b) for a, b in zip(found, single, strict=True)), default=0) < bound
    sizes = exact.sizes()
    found = distribution.size_distribution
    assert len(found) <= n + 1
    assert max(abs((found[k] if k < len(found) else 0.0) - sizes[k]) for k in range(n + 1)) < bound
    assert abs(distribution.expected_size - mp.fsum(k * p for k, p in enumerate(sizes))) < (n + 1) * bound
    together = distribution.pair_probabilities()
    for i in range(n):
        assert abs(distribution.marginal([labels[i]]) - single[i]) < bound
        assert abs(distribution.probability(exclude=[labels[i]]) - (1 - single[i])) < bound
    for i, j in combinations(range(n), 2):
        truth = exact.probability([i, j])
        a, b = labels[i], labels[j]
        assert abs(together[i, j] - truth) < bound
        assert abs(distribution.pair_probabilities([(a, b)])[0] - truth) < bound
        assert abs(distribution.marginal([a, b]) - truth) < bound
        assert abs(distribution.probability([a], [b]) - exact.probability([i], [j])) < bound
        assert abs(distribution.probability((), [a, b]) - exact.probability((), [i, j])) < bound
    if n >= 3:
        for inside, outside in (([0], [1, 2]), ([0, 1], [2]), ([0, 1, 2], []), ([n - 1], list(range(n - 1)))):
            given = distribution.probability([labels[i] for i in inside], [labels[i] for i in outside])
            assert abs(given - exact.probability(inside, outside)) < bound


def compare(distribution, exact, labels=None, bound=PROBABILITY):
    compare_sets(distribution, exact, labels, bound)
    compare_marginals(distribution, exact, labels, bound)


def compare_sizes(dpp, exact, rng, bound):
    """The k-DPPs of all sizes, and a model with any law of the size."""
    sizes = exact.sizes()
    possible = [k for k, p in enumerate(sizes) if p > ROUNDED_ZERO]
    for k in possible:
        compare(dpp.of_size(k), exact.of_size(k), None, bound)
    pmf = np.zeros(possible[-1] + 1)
    pmf[possible] = rng.dirichlet(np.ones(len(possible)))
    mixed = {
        Y: mp.mpf(float(pmf[len(Y)])) * p / sizes[len(Y)] if len(Y) in possible else mp.mpf(0)
        for Y, p in exact.p.items()
    }
    compare(dv.SizedDPP(dpp, pmf), ExactLaw(mixed, exact.n), None, bound)


def compare_modes(dpp, exact, bound):
    """The most probable sets of every size, by search; and greedy picks, each the best there is."""
    if math.isinf(dpp.log_normalizer):
        return
    slack = max(LOGARITHM, bound) * 10
    for k, p in enumerate(exact.sizes()):
        if k == 0 or p < ROUNDED_ZERO:
            continue
        best = max(p for Y, p in exact.p.items() if len(Y) == k)
        found = exact.p[tuple(sorted(dv.map_exact(dpp, k).indices.tolist()))]
        assert mp.log(best / found) < slack * max(1, abs(mp.log(best)))
        picks = dv.map_greedy(dpp, k).indices.tolist()
        for m in range(k):
            chosen = exact.p[tuple(sorted(picks[: m + 1]))]
            best = max(exact.p[tuple(sorted([*picks[:m], i]))] for i in range(exact.n) if i not in picks[:m])
            assert mp.log(best / chosen) < slack * max(1, abs(mp.log(best)))


def likely(exact, include=(), exclude=(), least=1e-6):
    return exact.probability(include, exclude) > least


def compare_derived(dpp, exact, rng, bound):
    """Conditioned, restricted, thinned and complementary laws, by transforming the exact law."""
    n = exact.n
    for include, exclude in (([0], []), ([], [n - 1]), ([0], [n - 1])):
        if n >= 2 and likely(exact, include, exclude):
            law, left = exact.conditioned(include, exclude)
            compare(dpp.condition(include, exclude), law, left, bound / float(exact.probability(include, exclude)))
    keep = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False)).tolist()
    compare(dpp.restrict(keep), exact.restricted(keep), keep, bound)
    rate = float(rng.choice([1e-3, 0.3, 0.9]))
    compare(dpp.thin(rate), exact.thinned(rate), None, bound)
    compare(dpp.complement(), exact.complement(), None, bound)
    for k, p in enumerate(exact.sizes()):
        if p > ROUNDED_ZERO:
            kdpp, law = dpp.of_size(k), exact.of_size(k)
            compare(kdpp.complement(), law.complement(), None, bound)
            for include, exclude in (([0], []), ([], [n - 1])):
                if likely(law, include, exclude):
                    given, left = law.conditioned(include, exclude)
                    compare(
                        kdpp.condition(include, exclude), given, left, bound / float(law.probability(include, exclude))
                    )


def check(family, seed, *, derived):
    rng = np.random.default_rng([FAMILIES.index(family), seed])
    dpp, exact, *bound = family(rng)
    bound = bound[0] if bound else PROBABILITY
    compare(dpp, exact, None, bound)
    compare_modes(dpp, exact, bound)
    later = np.random.default_rng([seed, 1])
    compare_sizes(dpp, exact, later, bound)
    if derived:
        compare_derived(dpp, exact, rng, bound)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_all_answers_agree_with_enumeration(family):
    for seed in range(4):
        check(family, seed, derived=seed % 3 == 0)


@pytest.mark.parametrize(("family", "seed"), FOUND, ids=lambda x: getattr(x, "__name__", x))
def test_members_in_which_a_fault_was_found(family, seed):
    check(family, seed, derived=True)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_thousands_of_members_agree_with_enumeration(family):
    for seed in range(4, 204):
        check(family, seed, derived=seed % 4 == 0)
