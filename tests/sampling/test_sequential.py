"""The sequential sampler: the exact law of every route, compiled against plain, and draws against the law."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

import diverset as dv
import reference
from diverset.errors import DiversetError
from diverset.numerics.linalg import cholesky_lower
from diverset.sampling import sequential
from kernels_for_tests import LIKELIHOOD_KERNELS, MARGINAL_KERNELS, orthonormal, wishart
from samplers_in_steps import CholeskySteps, MarginalSteps, draw_plain, steps_of


def law_of_algorithm(state, prob=1.0, law=None):
    """Exact law of a sequential sampler: follow both branches of every item and add up probabilities."""
    law = Counter() if law is None else law
    if state.done:
        law[frozenset(state.items)] += prob
    else:
        for inside, p in enumerate(state.weights()):
            if p > 0.0:
                law_of_algorithm(state.pick(inside), prob * p, law)
    return law


def assert_same_law(law, expected, tolerance=1e-12):
    assert sum(law.values()) == pytest.approx(1.0, abs=tolerance)
    for A, p in expected.items():
        assert law[A] == pytest.approx(p, abs=tolerance)


class NeverSubtracted(MarginalSteps):
    """The known fault: the pivot of an item left out is not lowered by one, so that it is treated as kept."""

    def pivot(self, inside):
        return self.weights()[1]


def prepared(dpp):
    return dpp.sampler(method="sequential")


def from_cholesky(L):
    R = np.linalg.cholesky(np.eye(len(L)) + L)
    return CholeskySteps(R, sequential.cholesky_excess(R, np.diagonal(L).real.copy()))


def rows_of(L):
    """Rows B with BB* = L, as many columns as its rank, accurate also for graded L."""
    scale = np.sqrt(np.maximum(np.diagonal(L).real, 1e-300))
    lam, V = np.linalg.eigh(L / scale[:, None] / scale)
    return scale[:, None] * (V * np.sqrt(np.maximum(lam, 0.0)))[:, lam > 1e-12]


# the law of the algorithm ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LIKELIHOOD_KERNELS)
def test_every_route_from_a_likelihood_kernel_has_the_exact_law(name):
    L = LIKELIHOOD_KERNELS[name]
    expected = reference.law_from_L(L)
    dpp = dv.DPP(L)
    assert_same_law(law_of_algorithm(steps_of(prepared(dpp))), expected)
    if name != "graded":  # too large, next to the identity, for a factor of L + I alone; the DPP knows
        assert_same_law(law_of_algorithm(from_cholesky(L)), expected)
    assert_same_law(law_of_algorithm(MarginalSteps(dpp.K)), expected)
    if len(L) == 0:
        return
    low_rank = dv.DPP.from_features(np.concatenate([rows_of(L), np.zeros((1, rows_of(L).shape[1]))]))
    if low_rank.n_items > low_rank.rank:
        assert type(prepared(low_rank)).__name__ == "RowSampler"
    # The item of zeros, added so that there are fewer features than items, never appears.
    if name != "graded":
        assert_same_law(law_of_algorithm(steps_of(prepared(low_rank))), expected)


@pytest.mark.parametrize("name", MARGINAL_KERNELS)
def test_every_route_from_a_marginal_kernel_has_the_exact_law(name):
    K = MARGINAL_KERNELS[name]
    expected = reference.law_from_K(K)
    dpp = dv.DPP.from_marginal(K)
    assert_same_law(law_of_algorithm(steps_of(prepared(dpp))), expected)
    if len(K):
        kappa, V = np.linalg.eigh(K)
        kappa = np.clip(kappa, 0.0, 1.0)
        lam = np.where(kappa > 1 - 1e-14, np.inf, kappa / np.maximum(1 - kappa, 1e-14))
        assert_same_law(law_of_algorithm(steps_of(prepared(dv.DPP.from_spectrum(lam, V)))), expected)


@pytest.mark.parametrize("factor", [1e12, 1e-12])
@pytest.mark.parametrize("name", ["random-5", "random-7", "duplicated", "diagonal", "graded", "complex", "zero"])
def test_scale_of_the_kernel_costs_nothing(name, factor):
    L = factor * LIKELIHOOD_KERNELS[name]
    law, expected = law_of_algorithm(steps_of(prepared(dv.DPP(L)))), reference.law_from_L(L)
    assert_same_law(law, expected)
    if factor < 1.0 and name != "graded":
        # Not only in absolute terms: single items have probability 1e-12, and keep their digits.
        for i in range(len(L)):
            assert law[frozenset([i])] == pytest.approx(expected[frozenset([i])], rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(("n", "rank"), [(5, 1), (6, 3), (7, 2)])
@pytest.mark.parametrize("complex_", [False, True])
def test_large_kernels_of_deficient_rank_draw_their_rank(n, rank, complex_):
    # With L = c BB*, c large, only sets of `rank` items have a chance, in proportion to their volume.
    B = orthonormal(n, rank, n, complex_=complex_)
    expected = reference.law_from_K(B @ B.conj().T)
    for dpp in (dv.DPP(1e13 * B @ B.conj().T), dv.DPP.from_features(10**6.5 * B)):
        assert_same_law(law_of_algorithm(steps_of(prepared(dpp))), expected, 1e-11)


@pytest.mark.parametrize("lam", [[2e-3] * 5, [499.0] * 5, [1e2, 1e3, 1e4, 1e5, 5.0]])
def test_expected_sizes_near_nothing_and_near_everything(lam):
    V = orthonormal(5, 5, 3)
    L = (V * np.array(lam)) @ V.T
    L = (L + L.T) / 2
    K = (V * (np.array(lam) / (1 + np.array(lam)))) @ V.T
    K = (K + K.T) / 2
    for dpp in (dv.DPP(L), dv.DPP.from_marginal(K), dv.DPP.from_spectrum(lam, V)):
        law = law_of_algorithm(steps_of(prepared(dpp)))
        assert sum(p * len(A) for A, p in law.items()) == pytest.approx(np.trace(K), abs=1e-10)
        assert_same_law(law, reference.law_from_K(K), 1e-10)


def test_the_branch_walk_sees_a_pivot_not_lowered():
    K = MARGINAL_KERNELS["inner"]
    wrong, right = law_of_algorithm(NeverSubtracted(K)), reference.law_from_K(K)
    assert max(abs(wrong[A] - p) for A, p in right.items()) > 1e-2


def test_complements_and_conditioned_models():
    L = LIKELIHOOD_KERNELS["random-7"]
    law = reference.law_from_L(L)
    outside = prepared(dv.DPP(L).complement())
    draws = [outside.draw(np.random.default_rng(seed)) for seed in range(20)]
    for seed, draw in enumerate(draws):
        left_out = prepared(dv.DPP(L)).draw(np.random.default_rng(seed))
        assert sorted([*draw, *left_out]) == list(range(7))
    given = dv.DPP(L).condition(include=[1], exclude=[4])
    expected = reference.conditioned(law, [1], [4])
    positions = {frozenset(np.searchsorted(given.items, sorted(A)).tolist()): p for A, p in expected.items()}
    assert_same_law(law_of_algorithm(steps_of(prepared(given))), positions)


# compiled against plain ------------------------------------------------------------------------------------


def clustered(n, complex_):
    """A third of the eigenvalues at 1 but for rounding, the others at 0."""
    V = orthonormal(n, n, 1, complex_=complex_)
    kappa = np.where(np.arange(n) < n // 3, 1.0 - 1e-13 * np.arange(n) / n, 1e-13 * np.arange(n) / n)
    K = (V * kappa) @ V.conj().T
    return (K + K.conj().T) / 2


def projection(n, complex_):
    V = orthonormal(n, n // 2, 2, complex_=complex_)
    return V @ V.conj().T


def features(n, complex_):
    return orthonormal(n, 12, 3, complex_=complex_)


MODELS = {
    "L": lambda n, c: dv.DPP(20.0 * wishart(n, n, 5, complex_=c)),
    "L-few": lambda n, c: dv.DPP(wishart(n, 8, 5, complex_=c)),
    "L-many": lambda n, c: dv.DPP(1e4 * wishart(n, 2 * n, 5, complex_=c)),
    "K": lambda n, c: dv.DPP.from_marginal(dv.DPP(wishart(n, n, 6, complex_=c)).K),
    "K-projection": lambda n, c: dv.DPP.from_marginal(projection(n, c)),
    "K-clustered": lambda n, c: dv.DPP.from_marginal(clustered(n, c)),
    "rows": lambda n, c: dv.DPP.from_features(9.0 * features(n, c)),
    "rows-projection": lambda n, c: dv.DPP.from_spectrum(np.full(12, np.inf), features(n, c)),
    "rows-changed": lambda n, c: (
        dv.DPP.from_features(9.0 * features(n, c), quality=np.linspace(0, 1, n)).thin(0.9).condition(include=[n - 1])
    ),
}


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_compiled_and_plain_give_the_same_draws(name, complex_):
    sampler = prepared(MODELS[name](250 if complex_ else 400, complex_))
    for seed in range(1 if complex_ else 2):
        plain = draw_plain(steps_of(sampler), np.random.default_rng(seed).random(sampler.n))
        compiled = sampler.draw(np.random.default_rng(seed))
        assert np.array_equal(plain, compiled)
        assert compiled.dtype == np.int64
    if "projection" in name:
        assert len(compiled) == (12 if "rows" in name else sampler.n // 2)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("name", ["L", "L-few", "L-many", "K", "K-projection", "rows"])
def test_the_decisions_multiply_up_to_the_probability_of_the_set(name, complex_):
    dpp = MODELS[name](150, complex_)
    state = steps_of(prepared(dpp))
    log_prob = 0.0
    for u in np.random.default_rng(1).random(150):
        weights = state.weights()
        inside = int(u < weights[1])
        log_prob += np.log(weights[inside])
        state = state.pick(inside)
    assert log_prob == pytest.approx(dpp.log_prob(state.items), abs=1e-8)


@pytest.mark.parametrize("leaf", [1, 2, 5])
def test_recursion_down_to_few_items_changes_nothing(leaf, monkeypatch):
    monkeypatch.setattr(sequential, "_LEAF", leaf)
    uniforms = np.random.default_rng(leaf).random((20, 7))
    for K in [*MARGINAL_KERNELS.values(), dv.DPP(LIKELIHOOD_KERNELS["duplicated"]).K]:
        for u in uniforms[:, : len(K)]:
            expected = draw_plain(MarginalSteps(K), u)
            assert np.array_equal(sequential.draw_from_marginal(K, u), expected)
            assert np.array_equal(sequential.draw_from_nonsymmetric(K, u), expected)


@pytest.mark.parametrize("block", [1, 2, 3, 10])
@pytest.mark.parametrize("name", ["random-7", "duplicated", "complex", "complex-deficient", "zero", "no-item"])
def test_blocks_of_any_length_change_nothing(name, block):
    L = LIKELIHOOD_KERNELS[name]
    plain = from_cholesky(L)
    for u in np.random.default_rng(block).random((20, len(L))):
        draw = sequential.draw_from_cholesky(plain.R, plain.excess, u, block=block)
        assert np.array_equal(draw, draw_plain(plain, u))


def test_what_the_factor_holds_above_its_diagonal_is_not_read():
    L = wishart(300, 300, 1)
    R = cholesky_lower(L + np.eye(300))
    clean = np.tril(R)
    assert not np.array_equal(R, clean)
    u = np.random.default_rng(0).random(300)
    excess = sequential.cholesky_excess(R, np.diagonal(L).copy())
    assert np.array_equal(excess, sequential.cholesky_excess(clean, np.diagonal(L).copy()))
    assert excess == pytest.approx(np.diagonal(R) ** 2 - 1, abs=1e-12)
    draw = sequential.draw_from_cholesky(R, excess, u)
    assert np.array_equal(draw, sequential.draw_from_cholesky(clean, excess, u))


# draws against the law -------------------------------------------------------------------------------------


COUNTED = {
    "L": dv.DPP(LIKELIHOOD_KERNELS["random-5"]),
    "complex": dv.DPP(LIKELIHOOD_KERNELS["complex"]),
    "K": dv.DPP.from_marginal(MARGINAL_KERNELS["inner"]),
    "rows": dv.DPP.from_features(rows_of(LIKELIHOOD_KERNELS["deficient-6"])),
}


@pytest.mark.parametrize("name", COUNTED)
def test_draws_follow_the_law(name):
    dpp = COUNTED[name]
    law = reference.law_from_K(dpp.K)
    draws = dpp.sample(50_000 if name in "LK" else 20_000, rng=1, method="sequential")
    assert reference.law_p_value(draws, law) > 1e-4
    assert reference.law_p_value(dpp.complement().sample(3_000, rng=2, method="sequential"), law) < 1e-4


def test_the_count_test_rejects_a_pivot_not_lowered():
    K = MARGINAL_KERNELS["inner"]
    wrong = law_of_algorithm(NeverSubtracted(K))
    sets, p = list(wrong), np.array(list(wrong.values()))
    draws = np.random.default_rng(0).choice(len(sets), size=50_000, p=p / p.sum())
    assert reference.law_p_value([sets[i] for i in draws], reference.law_from_K(K)) < 1e-4


@pytest.mark.parametrize("name", ["L", "K", "rows"])
def test_sizes_and_frequencies_at_hundreds_of_items(name):
    n = 260
    V = orthonormal(n, 40, 8)
    lam = np.geomspace(1e-2, 1e2, 40)
    L = (V * lam) @ V.T
    dpp = {
        "L": lambda: dv.DPP((L + L.T) / 2),
        "K": lambda: dv.DPP.from_marginal((V * (lam / (1 + lam))) @ V.T),
        "rows": lambda: dv.DPP.from_spectrum(lam, V),
    }[name]()
    draws = dpp.sample(200, rng=3, method="sequential")
    counts = np.bincount([len(d) for d in draws], minlength=41)
    expected = 200 * np.resize(dv.DPP.from_spectrum(lam, V).size_distribution, 41)
    common = expected > 5.0
    pooled = [np.append(x[common], x[~common].sum()) for x in (counts, expected)]
    assert chisquare(pooled[0], pooled[1] * 200 / pooled[1].sum()).pvalue > 1e-4
    p = dpp.inclusion_probabilities
    frequency = np.bincount(np.concatenate(draws), minlength=n) / 200
    assert np.abs((frequency - p) / np.sqrt(p * (1 - p) / 200)).max() < 5.0


@pytest.mark.parametrize("kind", ["L", "K", "rows"])
def test_single_draws_at_1500_items(kind):
    # Ten well separated groups of near-copies, each surely present: every draw has at least one item of each.
    n = 1500
    rng = np.random.default_rng(0)
    B = np.repeat(np.eye(10), n // 10, axis=0) + 1e-3 * rng.standard_normal((n, 10))
    L = 100.0 * B @ B.T
    dpp = {
        "L": lambda: dv.DPP(L),
        "K": lambda: dv.DPP.from_marginal(dv.DPP.from_features(10.0 * B).K),
        "rows": lambda: dv.DPP.from_features(10.0 * B),
    }[kind]()
    for seed in range(3):
        draw = dpp.sample(rng=seed, method="sequential")
        assert np.array_equal(np.unique(draw // 150), np.arange(10))
        assert len(draw) == 10


# edges -----------------------------------------------------------------------------------------------------


def test_certain_and_impossible_items():
    K = np.diag([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    for seed in range(5):
        assert dv.DPP.from_marginal(K).sample(rng=seed, method="sequential").tolist() == [0, 2, 5]
    everything = dv.DPP.from_marginal(np.eye(300)).sample(rng=0, method="sequential")
    assert np.array_equal(everything, np.arange(300))
    for nothing in (dv.DPP(np.zeros((300, 300))), dv.DPP.from_marginal(np.zeros((300, 300)))):
        assert len(nothing.sample(rng=0, method="sequential")) == 0
    assert len(dv.DPP(np.zeros((0, 0))).sample(rng=0, method="sequential")) == 0
    assert len(dv.DPP.from_features(np.zeros((5, 0))).sample(rng=0, method="sequential")) == 0


def test_copies_of_an_item_never_come_together():
    rng = np.random.default_rng(0)
    B = np.repeat(rng.standard_normal((150, 150)), 2, axis=0)
    for dpp in (dv.DPP(B @ B.T), dv.DPP.from_marginal(dv.DPP.from_features(B).K), dv.DPP.from_features(B)):
        for draw in dpp.sample(5, rng=0, method="sequential"):
            assert len(np.unique(draw // 2)) == len(draw)


def test_exactly_one_uniform_per_item():
    for dpp in (COUNTED["L"], COUNTED["K"], COUNTED["rows"], COUNTED["L"].complement()):
        a, b = np.random.default_rng(7), np.random.default_rng(7)
        prepared(dpp).draw(a)
        b.random(dpp.n_items)
        assert a.random() == b.random()


def test_the_kernel_is_left_as_it_was():
    for dpp in (dv.DPP(wishart(200, 200, 0)), dv.DPP.from_marginal(dv.DPP(wishart(200, 200, 0)).K)):
        K = dpp.K
        draws = [dpp.sample(rng=0, method="sequential") for _ in range(2)]
        assert np.array_equal(*draws)
        assert np.array_equal(dpp.K, K)


def test_fixed_sizes_are_refused_with_the_remedy():
    with pytest.raises(DiversetError, match=r"fixed size, here k = 3; this model offers auto, rejection, spectral"):
        COUNTED["L"].of_size(3).sampler(method="sequential")
