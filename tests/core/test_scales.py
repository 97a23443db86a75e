"""Kernels whose items differ in scale, in single precision, or of deficient rank: one answer to each question."""

import math
from itertools import combinations

import mpmath
import numpy as np
import pytest

import diverset as dv
from diverset.errors import KernelError
from reference import law_p_value
from trust.exact_laws import DIGITS, ExactLaw, exact_matrix, product_kernel

GRADED = [[1.0, 0.0, 1.0], [1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [2.0, 1.0, 1.0]]
HERMITIAN = np.array([[2, 1j, 0.5], [-1j, 2, 1j], [0.5, -1j, 2]])
INTEGERS = np.array([[1.0, 2, 0], [0, 1, 1], [2, 0, 1], [1, 1, 1], [1, 0, 3], [0, 2, 1], [3, 1, 0]])


def orthonormal(n, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]


def embeddings(n, d, seed=0):
    E = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    return E / np.linalg.norm(E, axis=1, keepdims=True)


def all_sets(dpp):
    n = dpp.n_items
    return {mask: dpp.log_prob([i for i in range(n) if mask >> i & 1]) for mask in range(2**n)}


def test_features_with_qualities_over_eight_orders_of_magnitude():
    dpp = dv.DPP.from_features(GRADED, [1.0, 1.0, 1e4, 1e8])
    assert dpp.log_prob([1, 2, 3]) == pytest.approx(-0.5596157965, abs=1e-9)
    assert dpp.inclusion_probabilities == pytest.approx([1 / 7, 4 / 7, 1.0, 1.0], abs=2e-8)
    assert sum(map(math.exp, all_sets(dpp).values())) == pytest.approx(1.0, abs=1e-12)
    draws = dpp.sample(2_000, rng=0)
    assert np.mean([set(Y.tolist()) == {1, 2, 3} for Y in draws]) == pytest.approx(0.5714, abs=0.04)


def test_a_small_feature_beside_a_large_one_counts():
    dpp = dv.DPP.from_features([[1e9, 0.0], [0.0, 10.0], [0.0, 0.0]])
    assert dpp.rank == 2
    assert sum(map(math.exp, all_sets(dpp).values())) == pytest.approx(1.0, abs=1e-12)
    assert dpp.size_distribution == pytest.approx([0.0, 1 / 101, 100 / 101], abs=1e-12)


def test_a_graded_complex_kernel_agrees_with_its_law():
    q = np.array([1.0, 1e4, 1e8])
    dpp = dv.DPP(q[:, None] * HERMITIAN * q)
    assert dpp.inclusion_probabilities[0] == pytest.approx(0.4545454566, abs=1e-9)
    assert dv.law(dpp)[1::2].sum() == pytest.approx(0.4545454566, abs=1e-9)
    assert dpp.marginal([0]) == pytest.approx(0.4545454566, abs=1e-9)


def test_sets_beyond_the_rank_are_impossible_at_any_scale():
    L = INTEGERS @ INTEGERS.T
    large = dv.DPP(1e16 * L)
    assert large.rank == 3
    assert all(log_p == -math.inf for mask, log_p in all_sets(large).items() if mask.bit_count() > 3)
    assert all(log_p <= 0.0 for log_p in all_sets(large).values())
    # At this scale every set has three items: the law is that of the 3-DPP.
    assert float(large.entropy()) == pytest.approx(float(dv.KDPP(L, 3).entropy()), abs=1e-9)


@pytest.mark.parametrize("scale", [1e-16, 1e-8, 1.0, 1e12, 1e16])
def test_a_k_dpp_does_not_feel_the_scale(scale):
    L = INTEGERS @ INTEGERS.T
    for k in (1, 2, 3):
        kdpp, plain = dv.KDPP(scale * L, k), dv.KDPP(L, k)
        assert kdpp.marginal([1, 6]) == pytest.approx(plain.marginal([1, 6]), abs=1e-12)
        assert kdpp.pair_probabilities([(1, 6)])[0] == pytest.approx(kdpp.marginal([1, 6]), abs=1e-12)
        assert kdpp.probability([1], [6]) == pytest.approx(plain.probability([1], [6]), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_kernels_of_rank_three_times_large_numbers_against_mpmath(seed):
    """Entropy at 1e16, and pairs of k-DPPs at 1e12, of integer kernels."""
    F = np.random.default_rng(seed).integers(-3, 4, (6, 3)).astype(float)
    L = F @ F.T
    with mpmath.workdps(DIGITS):
        exact = ExactLaw.of_likelihood(product_kernel(F) * mpmath.mpf(1e16), rank=3)
        large = dv.DPP(1e16 * L)
        assert float(large.entropy()) == pytest.approx(float(exact.entropy()), abs=1e-9)
        assert all(log_p == -math.inf for mask, log_p in all_sets(large).items() if mask.bit_count() > 3)
        for k in (2, 3):
            of_size, kdpp = exact.of_size(k), dv.KDPP(1e12 * L, k)
            for pair in ((1, 5), (0, 3)):
                truth = float(of_size.probability(pair))
                assert kdpp.marginal(pair) == pytest.approx(truth, abs=1e-12)
                assert kdpp.pair_probabilities([pair])[0] == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_entropy_of_a_wide_spectrum_against_mpmath(seed):
    Q = orthonormal(3, seed)
    with mpmath.workdps(DIGITS):
        V = exact_matrix(Q)
        law = ExactLaw.of_likelihood(V * mpmath.diag([mpmath.mpf(x) for x in (1e16, 2.0, 0.5)]) * V.T)
        assert float(dv.DPP.from_spectrum([1e16, 2.0, 0.5], Q).entropy()) == pytest.approx(
            float(law.entropy()), abs=1e-9
        )


@pytest.mark.parametrize("seed", range(4))
def test_the_law_knows_the_rank_at_any_scale(seed):
    # Four items of rank two: whatever rounding leaves of a set of three, times 1e25, would hide all pairs.
    F = np.random.default_rng(seed).standard_normal((4, 2))
    large = dv.law(dv.DPP.from_features(1e12 * F))
    assert (large[[7, 11, 13, 14, 15]] == 0.0).all()
    assert large == pytest.approx(dv.law(dv.DPP.from_features(F).of_size(2)), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_items_in_the_span_of_the_included_are_impossible(seed):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((30, 12))
    B[10:20] = rng.standard_normal((10, 4)) @ B[:4]
    given = dv.DPP(B @ B.T).condition(include=[0, 1, 2, 3])
    spanned = (given.items >= 10) & (given.items < 20)
    assert (given.inclusion_probabilities[spanned] == 0.0).all()
    assert (given.inclusion_probabilities[~spanned] > 0.0).all()
    assert given.rank == 8


def test_rounding_lifts_no_probability_above_one():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        K = (Q @ Q.T + (Q @ Q.T).T) / 2.0
        A = rng.standard_normal((6, 9))
        for process in (dv.DPP.from_marginal(K), dv.KDPP(A @ A.T, 6)):
            p = process.inclusion_probabilities
            assert p.max() <= 1.0
            assert p == pytest.approx(np.ones(6), abs=1e-12)


def test_a_marginal_kernel_of_many_scales_keeps_its_eigenvalues():
    dpp = dv.DPP.from_marginal(np.diag([0.5, 1e-20, 1e-30]))
    assert dpp.rank == 3
    assert dpp.size_distribution == pytest.approx([0.5, 0.5, 0.5 * (1e-20 + 1e-30), 5e-51], rel=1e-12, abs=0.0)
    d = 2.0 ** np.array([-2.0, -40.0, -60.0])
    full = dv.DPP.from_marginal(d[:, None] * (np.eye(3) + 1.0) * d)
    # To leading order the eigenvalues are the pivots: 2, 3/2, 4/3 times the squares of d.
    assert full.size_distribution[3] == pytest.approx(4.0 * np.prod(d**2), rel=1e-12, abs=0.0)


def test_the_law_of_duplicates_of_high_quality():
    dpp = dv.DPP.from_features([[1.0, 0.3], [1.0, 0.3], [0.0, 1.0]], [1e8, 1e8, 1e-8])
    law = dv.law(dpp)
    assert (law[[3, 7]] == 0.0).all()
    assert law == pytest.approx(np.exp(list(all_sets(dpp).values())), abs=1e-12)


@pytest.mark.parametrize("complex_rows", [False, True])
def test_restriction_tells_eigenvalues_near_one_apart(complex_rows):
    """Two eigenvalues of K differ from 1, and from each other, by 1e-12: a set's rows need their eigenvectors."""
    F = np.random.default_rng(5).integers(-4, 5, (5, 3)).astype(float)
    F = F * (1.0 + 1j) if complex_rows else F
    dpp = dv.DPP.from_features(1e6 * F)
    part = dpp.restrict([0, 1, 3, 4])
    for Y in ([0], [1], [3], [4]):
        # Item 2 is left out, or in.
        expected = np.logaddexp(dpp.log_prob(Y), dpp.log_prob(sorted([*Y, 2])))
        assert part.log_prob(Y) == pytest.approx(expected, rel=1e-9)


def test_restriction_keeps_what_is_nearly_certain_apart_from_what_is():
    dpp = dv.DPP.from_features(1e13 * np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]))
    part = dpp.restrict([0, 1])
    # Neither of the two: a probability of 3e-27, which an eigenvalue 1 of K would make 0.
    expected = np.logaddexp(dpp.log_prob([]), dpp.log_prob([2]))
    assert part.log_prob([]) == pytest.approx(expected, abs=1e-3)
    assert part.log_normalizer == pytest.approx(-expected, abs=1e-3)


def test_restriction_beside_a_certain_eigenvalue_keeps_odds_of_a_trillion():
    root = math.sqrt(0.5)
    V = np.array([[0.0, root], [0.0, root], [1.0, 0.0]])
    part = dv.DPP.from_spectrum([1e12, np.inf], V).restrict([0, 2])
    # Item 0 appears half of the time, and item 2 is missing once in a trillion.
    assert part.log_prob([0]) == pytest.approx(math.log(0.5e-12), abs=1e-3)
    assert math.exp(part.log_prob([0, 2])) == pytest.approx(0.5, abs=1e-11)


def test_more_exclusions_than_a_set_of_k_leaves_room_for():
    dpp = dv.DPP.from_spectrum([800.0, *[np.inf] * 4], orthonormal(5))
    for kdpp in (dpp.of_size(4), dpp.of_size(5)):
        assert kdpp.probability(exclude=[1, 2]) == 0.0
    assert dpp.log_event_probability(exclude=[1, 2]) == -math.inf


def test_entropy_of_a_wide_spectrum():
    dpp = dv.DPP.from_spectrum([1e16, 2.0, 0.5], orthonormal(3))
    probabilities = np.exp(list(all_sets(dpp).values()))
    positive = probabilities[probabilities > 0]
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert float(dpp.entropy()) == pytest.approx(-positive @ np.log(positive), abs=1e-9)


def test_embeddings_in_single_precision_have_the_rank_of_their_features():
    dpp = dv.DPP((E := embeddings(1_500, 32)) @ E.T)
    assert dpp.rank == 32
    kdpp = dpp.of_size(32)
    assert all(math.isfinite(kdpp.log_prob(Y)) for Y in kdpp.sample(20, rng=0))
    assert dpp.log_prob(range(33)) == -math.inf
    # Rounding each product to single precision moves K by the norm of the errors, some 20 units, over 1 + lambda.
    exact = dv.DPP.from_features(E)
    assert dpp.inclusion_probabilities == pytest.approx(exact.inclusion_probabilities, abs=1e-5)


def test_a_negative_eigenvalue_beyond_single_precision_is_refused():
    with pytest.raises(KernelError, match=r"-0\.006"):
        dv.DPP(np.diag([1000.0, 1000.0, 1000.0, -0.006]).astype(np.float32))
    dpp = dv.DPP(np.diag([1000.0, 1000.0, 1000.0, -0.0006]).astype(np.float32))
    assert dpp.rank == 3
    assert dpp.inclusion_probabilities.min() >= 0.0
    assert dpp.inclusion_probabilities.max() <= 1.0


@pytest.mark.parametrize("k", [1, 2, 3])
def test_pairs_of_the_complement_of_a_k_dpp(k):
    F = np.random.default_rng(k).standard_normal((7, 3))
    rest = dv.DPP.from_features(F).of_size(k).complement()
    law = dv.law(rest)
    together = sum(p for mask, p in enumerate(law) if mask & 3 == 3)
    assert rest.pair_probabilities([(0, 1)])[0] == pytest.approx(together, abs=1e-12)
    assert rest.pair_probabilities()[0, 1] == pytest.approx(together, abs=1e-12)


@pytest.mark.parametrize("rotation", [np.eye(2), orthonormal(2)])
def test_nearly_certain_items_keep_the_digits_of_their_exclusion(rotation):
    dpp = dv.DPP.from_features(np.array([[1e7, 0.0], [0.0, 1.0], [0.0, 1.0]]) @ rotation)
    assert dpp.complement().inclusion_probabilities[0] == pytest.approx(1.0 / (1.0 + 1e14), rel=1e-8)
    assert dpp.probability(exclude=[0]) == pytest.approx(1.0 / (1.0 + 1e14), rel=1e-8)


def test_divergence_from_a_kernel_that_underflows():
    W = INTEGERS @ INTEGERS.T + np.eye(7)
    p, q = dv.DPP(W), dv.DPP(1e-110 * W)
    # log p - log q is |Y| log(1e110) less the difference of the normalisers.
    expected = p.expected_size * 110.0 * math.log(10.0) - p.log_normalizer + q.log_normalizer
    assert dv.core.kl_divergence(p, q) == pytest.approx(expected, rel=1e-9)


def test_a_tiny_marginal_kernel_has_sets_of_one_item():
    dpp = dv.DPP.from_marginal(1e-16 * np.eye(4))
    assert dpp.of_size(1).inclusion_probabilities == pytest.approx(np.full(4, 0.25))


@pytest.mark.parametrize("ask_first", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda: dv.DPP(np.eye(5)),
        lambda: dv.DPP.from_marginal(0.5 * np.eye(5)),
        lambda: dv.DPP.from_features(np.random.default_rng(0).standard_normal((9, 5))),
        lambda: dv.DPP.from_spectrum(np.ones(5), np.eye(5)),
        lambda: dv.DPP.from_spectrum([1.0, 1.0, 1.0, 1.0, np.inf], np.eye(5)),
        lambda: dv.DPP(np.eye(5)).complement(),
    ],
    ids=["dense", "marginal", "features", "spectrum", "certain", "complement"],
)
def test_thinning_keeps_the_rank_whatever_was_asked_before(make, ask_first):
    dpp = make()
    if ask_first:
        assert dpp.rank == 5
    assert dpp.thin(1e-16).rank == 5


def graded():
    return dv.DPP.from_features(GRADED, [1.0, 1.0, 1e4, 1e8])


def graded_complex():
    q = np.array([1.0, 1e4, 1e8])
    return dv.DPP(q[:, None] * HERMITIAN * q)


def single_precision():
    E = embeddings(6, 3, seed=1)
    return dv.DPP((4.0 * E) @ E.T)


def law_by_set(distribution):
    n = distribution.n_items
    return {
        frozenset(i for i in range(n) if mask >> i & 1): p for mask, p in enumerate(dv.law(distribution)) if p > 0.0
    }


@pytest.mark.parametrize("make", [graded, graded_complex, single_precision])
@pytest.mark.parametrize("method", ["auto", "spectral", "rejection", "sequential"])
@pytest.mark.parametrize("seed", [0, 1])
def test_draws_follow_the_law(make, method, seed):
    dpp = make()
    draws = [frozenset(Y.tolist()) for Y in dpp.sample(2_000, rng=seed, method=method)]
    assert law_p_value(draws, law_by_set(dpp)) > 1e-4
    if method != "sequential":
        kdpp = dpp.of_size(2)
        draws = [frozenset(Y.tolist()) for Y in kdpp.sample(2_000, rng=seed, method=method)]
        assert law_p_value(draws, law_by_set(kdpp)) > 1e-4


@pytest.mark.parametrize("make", [graded, graded_complex, single_precision])
def test_draws_of_a_kernel_that_lost_its_smallest_eigenvalue_are_found_out(make):
    """The twin: what a Gram matrix in double precision would leave of these kernels."""
    dpp = make()
    lam, V = dpp.eigenvalues[-dpp.rank :], dpp.eigenvectors
    faulty = dv.DPP.from_spectrum(lam[1:], V[:, 1:])
    draws = [frozenset(Y.tolist()) for Y in faulty.sample(2_000, rng=0)]
    assert law_p_value(draws, law_by_set(dpp)) < 1e-4


@pytest.mark.parametrize("kind", ["f", "c"])
def test_searches_agree_with_log_prob_on_eigenvalues_1e16_apart(kind):
    """The entries of L show three of the six eigenvalues; the model has rank 6."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((9, 6)) + (1j * rng.standard_normal((9, 6)) if kind == "c" else 0.0)
    dpp = dv.DPP.from_spectrum(10.0 ** np.array([-8.0, -2.0, 0.0, 2.0, 10.0, 16.0]), np.linalg.qr(X)[0])
    assert dpp.rank == 6
    best_of_all = 0.0
    for k in range(1, 7):
        sets = np.array(list(combinations(range(9), k)))
        logs = dpp.log_prob(sets) + dpp.log_normalizer
        best_of_all = max(best_of_all, logs.max())
        found = dv.map_exact(dpp, k)
        assert found.objective == pytest.approx(logs.max(), abs=1e-6)
        assert found.gap == 0.0
        assert found.gains.sum() == pytest.approx(found.log_det, abs=1e-6)
        improved = dv.map_local_search(dpp, k, start=sets[0]).indices.tolist()
        exchanged = [Y for Y in sets.tolist() if len(set(Y) & set(improved)) >= k - 1]
        assert dpp.log_prob(improved) == pytest.approx(dpp.log_prob(exchanged).max(), abs=1e-6)
        greedy = dv.map_greedy(dpp, k)
        assert len(greedy) == k
        assert greedy.log_det == pytest.approx(dpp.log_prob(greedy.indices) + dpp.log_normalizer, abs=1e-6)
    assert dv.map_exact(dpp).objective == pytest.approx(best_of_all, abs=1e-6)
    assert len(dv.map_greedy(dpp, 8)) == 6
    with pytest.raises(dv.errors.SizeError, match=r"k is 7.*more than 6 items"):
        dv.map_exact(dpp, 7)
    stopped = dv.map_exact(dpp, 3, time_limit=0.0)
    assert stopped.upper_bound >= dv.map_exact(dpp, 3).objective


def two_blocks(seed=0):
    """Orthonormal columns over six items, the first four and the last two apart."""
    V = np.zeros((6, 5))
    V[:4, :3], V[4:, 3:] = orthonormal(4, seed)[:, :3], orthonormal(2, seed)
    return V


def test_nearly_certain_eigenvalues_survive_restricting():
    """Items that the others know nothing of: restricting to them leaves their eigenvalues, however large."""
    lam = np.array([0.5, 1e13, 3e27, 2.0, 5.0])
    order = np.argsort(lam)
    V = two_blocks()[:, order]
    restricted = dv.DPP.from_spectrum(lam[order], V).restrict(range(4))
    assert restricted.eigenvalues == pytest.approx([0.5, 1e13, 3e27], rel=1e-3)
    # Beside an eigenvalue that is certain: this one is known to an absolute rounding error of K.
    lam[1:3] = 1e13, np.inf
    restricted = dv.DPP.from_spectrum(lam[order], V).restrict(range(4))
    assert np.isinf(restricted.eigenvalues).tolist() == [False, False, True]
    assert restricted.eigenvalues[:2] == pytest.approx([0.5, 1e13], rel=0.1)
