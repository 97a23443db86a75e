"""Independent routes to one number, at sizes where enumeration is out of reach, and at any scale."""

import math

import numpy as np
import pytest

import diverset as dv
from kernels_for_tests import orthonormal, wishart

N = 250


@pytest.fixture(scope="module")
def features():
    return np.random.default_rng(3).standard_normal((N, 40)) / 4.0


@pytest.fixture(scope="module")
def routes(features):
    """One DPP, five representations."""
    L = features @ features.T
    lam, V = np.linalg.eigh(features.T @ features)
    K = L @ np.linalg.inv(L + np.eye(N))
    return {
        "L": dv.DPP(L),
        "features": dv.DPP.from_features(features),
        "K": dv.DPP.from_marginal((K + K.T) / 2),
        "spectrum": dv.DPP.from_spectrum(lam, features @ V / np.sqrt(lam)),
        "double complement": dv.DPP(L).complement().complement(),
    }


def each(routes):
    names = list(routes)
    return [(routes[names[0]], routes[name]) for name in names[1:]]


SETS = [[], [3], [0, 1], [5, 90, 17, 249], list(range(0, 60, 3))]


def test_representations_agree_on_probabilities(routes):
    for one, other in each(routes):
        assert other.log_normalizer == pytest.approx(one.log_normalizer, rel=1e-12)
        np.testing.assert_allclose(other.inclusion_probabilities, one.inclusion_probabilities, rtol=1e-9)
        for A in SETS:
            assert other.log_prob(A) == pytest.approx(one.log_prob(A), abs=1e-8)
            assert math.log(other.marginal(A)) == pytest.approx(math.log(one.marginal(A)), abs=1e-8)
            exclude = [i for i in (1, 2, 4, 100, 200, 31) if i not in A]
            assert other.log_event_probability(A, exclude) == pytest.approx(
                one.log_event_probability(A, exclude), abs=1e-8
            )


def test_representations_agree_after_every_operation(routes):
    operations = [
        lambda d: d.condition(include=[5, 17], exclude=[90, 91, 92]),
        lambda d: d.restrict(range(0, N, 2)),
        lambda d: d.restrict(range(30)),
        lambda d: d.complement(),
        lambda d: d.thin(0.35),
        lambda d: d.rescale(11.5),
        lambda d: d.rescale(11.5).condition(exclude=[0]).restrict(range(1, 200)).condition(include=[8]).thin(0.9),
        lambda d: d.complement().condition(exclude=[7]).restrict(range(8, 100)).complement(),
    ]
    for operation in operations:
        for one, other in each({name: operation(dpp) for name, dpp in routes.items()}):
            assert np.array_equal(one.items, other.items)
            np.testing.assert_allclose(other.inclusion_probabilities, one.inclusion_probabilities, atol=1e-10)
            assert other.expected_size == pytest.approx(one.expected_size, rel=1e-9)
            assert other.size_variance == pytest.approx(one.size_variance, rel=1e-6)
            A = one.items[[3, 8, 20]]
            assert other.log_prob(A) == pytest.approx(one.log_prob(A), abs=1e-6)


@pytest.mark.parametrize("k", [0, 1, 2, 17, 39, 40])
def test_representations_agree_on_k_dpps(routes, k):
    for one, other in each({name: dpp.of_size(k) for name, dpp in routes.items()}):
        p = one.inclusion_probabilities
        assert p.sum() == pytest.approx(k, abs=1e-9)
        np.testing.assert_allclose(other.inclusion_probabilities, p, atol=1e-9)
        pairs = one.pair_probabilities()
        np.testing.assert_allclose(other.pair_probabilities(), pairs, atol=1e-8)
        # Every row of pair probabilities sums to (k-1) times the singleton: each set of i has k-1 others.
        np.testing.assert_allclose(pairs.sum(axis=1) - p, (k - 1) * p, atol=1e-8)
        if k == 17:
            A, B = [4, 80, 120], [5, 6]
            assert other.log_event_probability(A, B) == pytest.approx(one.log_event_probability(A, B), abs=1e-8)
            assert math.log(one.marginal([4, 80])) == pytest.approx(math.log(pairs[4, 80]), abs=1e-8)
            assert one.pair_probabilities([(4, 80)])[0] == pytest.approx(pairs[4, 80], rel=1e-10)


def test_conditioning_matches_the_double_inversion():
    # The kernel of the text inverts an n x n matrix twice (equation cond_incl_kernel).
    L = wishart(30, 40, 5)
    A = [2, 11, 12]
    rest = [i for i in range(30) if i not in A]
    lifted = L + np.diag([0.0 if i in A else 1.0 for i in range(30)])
    expected = np.linalg.inv(np.linalg.inv(lifted)[np.ix_(rest, rest)]) - np.eye(27)
    np.testing.assert_allclose(dv.DPP(L).condition(include=A).L, expected, atol=1e-10)


def test_three_likelihood_formulas_agree(routes):
    for name in ("L", "K", "features"):
        for A in SETS:
            plain = routes[name].log_prob(A)
            for formula in ("likelihood", "mixed-rows", "shifted-marginal"):
                assert routes[name].log_prob(A, formula=formula) == pytest.approx(plain, abs=1e-7), formula


def test_formulas_in_K_hold_with_eigenvalue_one():
    V = orthonormal(8, 3, 1)
    dpp = dv.DPP.from_marginal(V @ V.T)
    for formula in ("mixed-rows", "shifted-marginal"):
        assert dpp.log_prob([1, 4, 6], formula=formula) == pytest.approx(dpp.log_prob([1, 4, 6]), abs=1e-9)
    with pytest.raises(dv.errors.NoLikelihoodKernelError, match="eigenvalue 1"):
        dpp.log_prob([1, 4, 6], formula="likelihood")


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_scaling_the_kernel_changes_what_it_should_and_nothing_else(features, scale):
    """K = L(L+I)^-1 keeps its relative accuracy, and k-DPPs do not move at all."""
    small, large = features[:60], features[:60, :20]
    for build in (lambda s: dv.DPP(s * small @ small.T), lambda s: dv.DPP.from_features(math.sqrt(s) * large)):
        base, scaled = build(1.0), build(scale)
        lam = base.eigenvalues
        rank = base.rank
        assert scaled.rank == rank
        assert scaled.expected_size == pytest.approx(float(np.sum(scale * lam / (1 + scale * lam))), rel=1e-9)
        V = base.eigenvectors
        kept = lam[len(lam) - rank :]
        p = (V**2) @ (scale * kept / (1 + scale * kept))
        np.testing.assert_allclose(scaled.inclusion_probabilities, p, rtol=1e-8)
        k = 7
        one, other = base.of_size(k), scaled.of_size(k)
        np.testing.assert_allclose(other.inclusion_probabilities, one.inclusion_probabilities, rtol=1e-8)
        A = [1, 8, 9, 22, 30, 41, 59]
        assert other.log_prob(A) == pytest.approx(one.log_prob(A), abs=1e-8)
        assert other.log_normalizer == pytest.approx(one.log_normalizer + k * math.log(scale), rel=1e-10)
        assert other.marginal(A[:4]) == pytest.approx(one.marginal(A[:4]), rel=1e-6)
        again = scaled.rescale(base.expected_size)
        np.testing.assert_allclose(again.inclusion_probabilities, base.inclusion_probabilities, rtol=1e-7)


def test_small_exclusion_probabilities_keep_their_digits():
    # With L = 1e12 S the chance to miss an item is near 1e-12; 1 - K would leave four digits of it.
    S = wishart(20, 60, 8)
    dpp = dv.DPP(1e12 * S)
    expected = np.diag(np.linalg.inv(S)) / 1e12
    np.testing.assert_allclose(dpp.complement().inclusion_probabilities, expected, rtol=1e-9)
    assert dpp.probability(exclude=[3]) == pytest.approx(expected[3], rel=1e-9)
    assert dpp.probability(include=[1, 2], exclude=[3]) == pytest.approx(expected[3], rel=1e-9)


def test_qualities_of_different_orders_of_magnitude():
    # eigh errs by a rounding unit of the largest eigenvalue; the small ones must survive all the same.
    rng = np.random.default_rng(0)
    q = 10.0 ** rng.uniform(-9, 9, size=40)
    S = wishart(40, 80, 9)
    dpp = dv.DPP.from_quality_diversity(q, S)
    assert dpp.rank == 40
    assert dpp.of_size(40).log_prob(range(40)) == pytest.approx(0.0, abs=1e-9)
    log_det = np.linalg.slogdet(S)[1] + 2 * np.log(q).sum()
    assert np.log(dpp.eigenvalues).sum() == pytest.approx(log_det, abs=1e-10)
    assert np.log1p(dpp.eigenvalues).sum() == pytest.approx(dpp.log_normalizer, abs=1e-9)
    p = dpp.inclusion_probabilities
    V, lam = dpp.eigenvectors, dpp.eigenvalues
    np.testing.assert_allclose((V**2) @ (lam / (1 + lam)), p, rtol=1e-8)


def test_duplicates_never_appear_together(features):
    F = features.copy()
    F[7] = F[3]
    F[9] = -2.0 * F[3]
    for dpp in (dv.DPP(F @ F.T), dv.DPP.from_features(F), dv.DPP.from_features(F.astype(np.float32))):
        assert dpp.log_prob([3, 7]) == -math.inf
        assert dpp.log_prob([3, 9, 20]) == -math.inf
        assert dpp.marginal([3, 7]) == 0.0
        given = dpp.condition(include=[3])
        assert 7 in given.items
        assert given.marginal([7]) < 1e-12
        assert given.log_prob([7, 12]) == -math.inf
        assert given.rank == dpp.rank - 1
        with pytest.raises(dv.errors.ImpossibleEventError, match=r"including \[3, 7\].*probability is 0"):
            dpp.condition(include=[3, 7])


def test_near_duplicates_are_told_from_duplicates():
    # Rows at squared sine 1e-18 are beyond what the Gram matrix of float64 rows can tell, but not the rows.
    F = np.eye(3, 2)
    F[2] = [1.0, 1e-9]
    dpp = dv.DPP.from_features(F)
    assert dpp.log_prob([0, 2]) == pytest.approx(2 * math.log(1e-9) - dpp.log_normalizer, abs=1e-6)


def test_dominates():
    dpp = dv.DPP(wishart(12, 20, 1))
    thin = dpp.thin(0.8)
    assert dpp.dominates(thin)
    assert not thin.dominates(dpp)
    assert dpp.dominates(dpp)
    # L <= L' does not order the processes entry by entry, but scaling one kernel up does.
    assert dpp.rescale(dpp.expected_size + 1).dominates(dpp)
    with pytest.raises(ValueError, match="same items"):
        dpp.dominates(dpp.restrict([1, 2]))


def test_low_rank_never_forms_an_n_by_n_matrix():
    rng = np.random.default_rng(0)
    n = 200_000
    dpp = dv.DPP.from_features(rng.standard_normal((n, 6)), quality=rng.random(n))
    assert dpp.inclusion_probabilities.sum() == pytest.approx(dpp.expected_size, rel=1e-9)
    given = dpp.condition(include=[5, 199_999], exclude=[0, 1])
    assert given.n_items == n - 4
    assert given.items[-1] == 199_998
    assert given.rank == 4
    part = dpp.restrict([3, 10, 150_000])
    assert part.marginal([3, 10]) == pytest.approx(dpp.marginal([3, 10]), rel=1e-9)
    left = dpp.complement()
    assert left.marginal([1, 2]) == pytest.approx(dpp.probability(exclude=[1, 2]), rel=1e-12)
    assert left.of_size(n - 5).inclusion_probabilities.sum() == pytest.approx(n - 5, rel=1e-12)
    kdpp = dpp.of_size(5)
    assert kdpp.pair_probabilities([(0, 1), (7, 150_000)]).shape == (2,)
    with pytest.raises(dv.errors.TooLargeError, match=r"GiB"):
        dpp.L  # noqa: B018


def test_size_distribution_of_many_items():
    lam = np.random.default_rng(0).exponential(size=20_000)
    dpp = dv.DPP.from_features(np.ones((1, 1)))
    assert dpp.size_distribution == pytest.approx([0.5, 0.5])
    from diverset.core.spectrum import Spectrum

    spectrum = Spectrum.from_likelihood(np.sort(lam), 0.0)
    from diverset.numerics import poisson_binomial

    pmf = poisson_binomial.pmf(spectrum.log_odds)
    sizes = np.arange(len(pmf))
    assert pmf @ sizes == pytest.approx(spectrum.mean_size, rel=1e-10)
    assert pmf @ (sizes - spectrum.mean_size) ** 2 == pytest.approx(spectrum.size_variance, rel=1e-9)


@pytest.mark.parametrize("size", [3e3, 3e5, 3e7])
def test_the_marginal_kernel_of_a_large_likelihood_kernel_is_taken_back(size):
    """Rounding of K = I - (L + I)^-1 is relative to L, and leaves eigenvalues just below 0."""
    v = np.random.default_rng(1).standard_normal((6, 1))
    dpp = dv.DPP(size * v @ v.T / (v**2).sum())
    again = dv.DPP.from_marginal(dpp.K)
    np.testing.assert_allclose(again.inclusion_probabilities, dpp.inclusion_probabilities, atol=1e-10)
    assert again.expected_size == pytest.approx(dpp.expected_size, abs=1e-9)
    assert len(again.sample(rng=0)) <= 1


def test_features_that_lie_far_apart_have_an_answer():
    """Rounding leaves I + C indefinite here; the items are all but certain, or all but impossible."""
    rng = np.random.default_rng(0)
    certain = 0
    for _ in range(200):
        X = rng.standard_normal((5, 4)) * 10.0 ** rng.integers(-150, 150, size=(5, 4))
        dpp = dv.DPP.from_features(X)
        p = dpp.inclusion_probabilities
        assert ((p >= 0) & (p <= 1 + 1e-12)).all()
        assert np.isfinite(dpp.log_normalizer)
        certain += int((p > 0.999).sum())
    assert certain > 100
