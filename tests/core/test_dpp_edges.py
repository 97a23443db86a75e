"""DPPs at their limits: entropies, the cache, arguments, fixed sizes at any scale, ranks, and rounding."""

import math

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.core import (
    eigenpairs,
    information,
)
from diverset.core.cache import Cache
from diverset.core.dense import DenseLikelihood
from diverset.core.dense_marginal import DenseMarginal
from diverset.core.factor import RowFactor
from diverset.core.lowrank import LowRankLikelihood
from diverset.core.lowrank_marginal import LowRankMarginal
from diverset.errors import KernelError, LabelError, SizeError
from diverset.numerics.rounding import EPS
from forms_for_tests import EVENTS, FORMS, LAWS, marginal_of, rows_of

# entropies ---------------------------------------------------------------------------------------------------


def laws_of(dpp):
    p = information.law(dpp)
    return {frozenset(i for i in range(dpp.n_items) if mask >> i & 1): value for mask, value in enumerate(p)}


@pytest.mark.parametrize("rare", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("name", FORMS)
def test_lists_of_all_sets(monkeypatch, name, rare):
    monkeypatch.setattr(information, "_RARE", rare)
    monkeypatch.setattr(information, "_SUSPECT", rare)
    dpp, law = dv.DPP._wrap(FORMS[name][0]()), LAWS[name]
    found = laws_of(dpp)
    assert found == pytest.approx(law, abs=1e-11)
    relative = information._normalised(information._log_law(dpp, relative=True))
    for mask, value in enumerate(relative):
        p = law[frozenset(i for i in range(dpp.n_items) if mask >> i & 1)]
        assert math.exp(value) == pytest.approx(p, rel=1e-7, abs=1e-12)
    assert information.entropy(dpp).value == pytest.approx(-sum(p * math.log(p) for p in law.values() if p > 1e-14))
    spectrum = dpp._spectrum
    k = max(spectrum.n_certain, 1)
    assert laws_of(dv.KDPP(dpp, k)) == pytest.approx(reference.of_size(law, k), abs=1e-10)


def test_distances_between_two_laws():
    p, q = dv.DPP(np.diag([1.0, 3.0])), dv.DPP(np.array([[1.0, 0.5], [0.5, 2.0]]))
    P, Q = information.law(p), information.law(q)
    assert information.total_variation(p, q) == pytest.approx(0.5 * sum(abs(a - b) for a, b in zip(P, Q, strict=True)))
    assert information.kl_divergence(p, q) == pytest.approx(sum(a * math.log(a / b) for a, b in zip(P, Q, strict=True)))
    overlap = sum(math.sqrt(a * b) for a, b in zip(P, Q, strict=True))
    assert information.hellinger(p, q) == pytest.approx(math.sqrt(1.0 - overlap))
    exact = information.l1_distance(p, q)
    assert (exact.value, exact.standard_error) == (pytest.approx(2.0 * information.total_variation(p, q)), 0.0)
    drawn = information.l1_distance(p, q, n_samples=4_000, rng=0)
    assert abs(drawn.value - exact.value) < 4.0 * drawn.standard_error < 0.1
    some = dv.DPP(np.diag([1.0, 0.0]))
    assert information.kl_divergence(p, some) == math.inf
    assert information.kl_divergence(some, p) == pytest.approx(0.5 * math.log(4.0) + 0.5 * math.log(4.0))
    for same in (p, q, some):
        assert information.kl_divergence(same, same) == information.hellinger(same, same) == 0.0


def test_standard_errors_and_sizes_of_lists():
    found = information._mean(np.array([1.0, 2.0, 6.0]))
    assert found.value == 3.0
    assert found.standard_error == pytest.approx(math.sqrt(7.0 / 3.0))
    listed, drawn = (information.entropy(dv.DPP(np.eye(n)), n_samples=2, rng=0) for n in (16, 17))
    assert (listed.value, listed.standard_error) == (pytest.approx(16 * math.log(2.0)), 0.0)
    # All sets are equally probable, so each draw gives the entropy.
    assert drawn.value == pytest.approx(17 * math.log(2.0))
    assert information.l1_distance(dv.DPP(np.eye(17)), dv.DPP(np.eye(17)), rng=0).standard_error == 0.0
    information._check_listed(20)
    with pytest.raises(dv.errors.TooLargeError, match="listing all subsets of 21 items"):
        information.law(dv.DPP(np.eye(21)))
    for bad in (0, 1):
        with pytest.raises(dv.errors.DiversetError, match=f"n_samples is {bad}"):
            information.entropy(dv.DPP(np.eye(17)), n_samples=bad)


# the cache ---------------------------------------------------------------------------------------------------


def test_set_ups_are_dropped_beyond_the_limit():
    class Held:
        def __init__(self, nbytes):
            self.nbytes = nbytes

    cache = Cache(limit=10)
    for key, size in (("a", 4), ("b", 6)):
        cache.recent(key, lambda size=size: Held(size))
    assert (len(cache), cache.nbytes) == (2, 10)
    assert cache.recall("a") is not None
    cache.recent("c", lambda: Held(1))
    assert cache.recall("b") is None
    assert (len(cache), cache.nbytes) == (2, 5)
    cache.recent("large", lambda: Held(100))
    assert (len(cache), cache.nbytes) == (1, 100)


# DPPs at the door --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 0, 2, 3]])
def test_spectra_in_any_order(order):
    V = np.linalg.qr(rows_of(5, 4))[0]
    for lam in (np.array([0.0, 0.5, 0.5, 4.0]), np.array([1.0, 1.0, 1.0, 1.0])):
        dpp = dv.DPP.from_spectrum(lam[order], V[:, order])
        np.testing.assert_allclose(dpp.L, (V * lam) @ V.T, atol=1e-13)
        np.testing.assert_allclose(dpp.eigenvalues, np.sort(lam), atol=1e-13)


def test_spectra_that_are_refused():
    V = np.linalg.qr(rows_of(3, 3))[0]
    for lam, vectors, message in (
        ([1.0, 2.0], V, "2 eigenvalues for eigenvectors of shape"),
        ([1.0] * 3, V[:2], "no more columns than rows"),
        ([1.0, -1e-300, 2.0], V, r"eigenvalues\[1\] is -1e-300"),
        ([1.0, 2.0, np.nan], V, r"eigenvalues\[2\] is nan"),
        ([1.0] * 3, V + 1e-12, "not orthonormal"),
        ([1.0] * 3, 2.0 * V, "not orthonormal"),
    ):
        with pytest.raises(KernelError, match=message):
            dv.DPP.from_spectrum(lam, vectors)
    assert dv.DPP.from_spectrum([1.0] * 3, V + 1e-16).rank == 3
    assert dv.DPP.from_spectrum([1.0] * 3, V.astype(np.float32)).rank == 3
    assert dv.DPP.from_spectrum([], np.zeros((3, 0))).rank == 0


def test_sizes_that_scaling_can_reach():
    dpp = dv.DPP.from_spectrum([0.5, 3.0, np.inf], np.linalg.qr(rows_of(4, 3))[0])
    for size in (1.001, 2.0, 2.999):
        assert dpp.rescale(size).expected_size == pytest.approx(size)
    for size in (1.0, 3.0, 0.5, 4.0):
        with pytest.raises(SizeError, match="strictly between 1 and its rank, 3"):
            dpp.rescale(size)
    for rate in (0.0, 0.25, 1.0):
        assert dpp.thin(rate).expected_size == pytest.approx(rate * dpp.expected_size)
    for rate in (-1e-9, 1.0 + 1e-9):
        with pytest.raises(dv.errors.DiversetError, match="between 0 and 1"):
            dpp.thin(rate)
    wide, square = (dv.DPP.from_features(rows_of(4, width)) for width in (3, 4))
    assert (wide.rank, square.rank) == (3, 4)
    assert isinstance(wide._representation, LowRankLikelihood)
    assert isinstance(square._representation, DenseLikelihood)


def test_a_dpp_dominates_where_its_kernel_does():
    K = marginal_of((lambda B: B @ B.T)(rows_of(3, 3)))
    dpp, less = dv.DPP.from_marginal(K), dv.DPP.from_marginal(0.5 * K)
    assert dpp.dominates(less)
    assert dpp.dominates(dpp)
    assert not less.dominates(dpp)
    with pytest.raises(dv.errors.DiversetError, match="over the same items"):
        dpp.dominates(dpp.restrict([0, 1]))
    for pairs in ([0, 1], [[0, 1, 2]], [[[0, 1]]]):
        with pytest.raises(LabelError, match="pass a list of"):
            dpp.pair_probabilities(pairs)
    with pytest.raises(LabelError, match="pairs names item 2 with itself"):
        dpp.pair_probabilities([(0, 1), (2, 2)])


def test_directions_that_every_draw_spans():
    L, V = (lambda B: B @ B.T)(rows_of(4, 4)), rows_of(4, 2, seed=3)
    for scale in (1.0, 1e-30):
        # Lengths of the directions do not matter.
        dpp = dv.core.extended_dpp(L, V * np.array([scale, 1.0]))
        Q = np.linalg.qr(V)[0]
        rest = (np.eye(4) - Q @ Q.T) @ L @ (np.eye(4) - Q @ Q.T)
        np.testing.assert_allclose(dpp.K, Q @ Q.T + marginal_of(rest), atol=1e-12)
    assert dv.core.extended_dpp(L, np.eye(4)).expected_size == pytest.approx(4.0)
    np.testing.assert_allclose(dv.core.extended_dpp(L, np.zeros((4, 0))).K, marginal_of(L), atol=1e-12)
    top = 64.0 * EPS * np.abs(L).max()
    for gap, fine in ((0.9 * top, True), (1.1 * top, False)):
        bent = L.copy()
        bent[0, 3] += gap
        if fine:
            dv.core.extended_dpp(bent, V)
            continue
        with pytest.raises(KernelError, match=r"L\[0, 3\] is .*L is symmetric"):
            dv.core.extended_dpp(bent, V)
    for value, rank in ((-0.9, 1), (0.9, 1), (1.1, 2), (-1.1, None)):
        # One direction e_0, and an eigenvalue of L on the others near 64 rounding units of the largest entry.
        kernel = np.diag([0.0, 1.0, value * 64.0 * EPS])
        if rank is None:
            with pytest.raises(KernelError, match="smallest eigenvalue -"):
                dv.core.extended_dpp(kernel, np.eye(3)[:, :1])
            continue
        assert dv.core.extended_dpp(kernel, np.eye(3)[:, :1]).rank == 1 + rank
    for bad, message in (
        (np.ones((4, 2)), "dependent columns"),
        (np.zeros((4, 1)), "dependent columns"),
        (np.eye(4, 5), "V has 5 columns for 4 items"),
    ):
        with pytest.raises(KernelError, match=message):
            dv.core.extended_dpp(L, bad)


# fixed sizes at any scale ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 1e3, 1e12])
def test_models_of_sizes_do_not_see_the_scale(scale):
    """Sizes that the DPP itself hardly draws: their k-DPPs are rescaled, for several sizes at once as well."""
    B = rows_of(4, 4, seed=6)
    L = B @ B.T
    law = reference.law_from_L(L)
    wanted = np.array([0.1, 0.4, 0.2, 0.0, 0.3])
    dpp = dv.DPP(scale * L)
    models = [(dv.SizedDPP(dpp, wanted), reference.reweighted(law, wanted))]
    models += [(dv.KDPP(dpp, k), reference.of_size(law, k)) for k in range(5)]
    mixture = dv.KDPPMixture([models[2][0], models[0][0], models[3][0]], [0.25, 0.75, 0.0])
    models.append((mixture, reference.mixed([models[2][1], models[0][1]], [0.25, 0.75])))
    for model, own in models:
        for include, exclude in EVENTS:
            found = model.probability(include, exclude)
            assert found == pytest.approx(reference.probability(own, include, exclude), rel=1e-8, abs=1e-12)
            if len(include) == 1 and found > 0.0:
                rest = model.condition(include, exclude)
                given = reference.conditioned(own, include, exclude)
                pmf = reference.size_distribution(given)
                np.testing.assert_allclose(rest.size_distribution, pmf[: len(rest.size_distribution)], atol=1e-9)
                for Y, p in given.items():
                    assert math.exp(rest.log_prob(Y)) == pytest.approx(p, rel=1e-7, abs=1e-12)
        sets = [sorted(Y) for Y in own]
        np.testing.assert_allclose(np.exp(model.log_prob(sets)), list(own.values()), rtol=1e-8, atol=1e-12)
        pairs = [(0, 1), (3, 2)]
        expected = [reference.probability(own, pair) for pair in pairs]
        np.testing.assert_allclose(model.pair_probabilities(pairs), expected, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(model.marginal([[0, 1], [3, 2]]), expected, rtol=1e-8, atol=1e-12)
        pmf = reference.size_distribution(own)
        assert model.expected_size == pytest.approx(pmf @ np.arange(5))
        assert model.size_variance == pytest.approx(pmf @ (np.arange(5) - pmf @ np.arange(5)) ** 2, abs=1e-12)


def test_formulas_for_the_probability_of_a_set():
    L = (lambda B: B @ B.T)(rows_of(4, 4, seed=7))
    dpp, law = dv.DPP(L), reference.law_from_L(L)
    for formula in ("auto", "likelihood", "mixed-rows", "shifted-marginal"):
        for Y, p in law.items():
            assert dpp.log_prob(sorted(Y), formula=formula) == pytest.approx(math.log(p), abs=1e-9)
        assert dpp.log_prob([[0], [1, 2]], formula=formula) == pytest.approx(
            [math.log(law[frozenset([0])]), math.log(law[frozenset([1, 2])])]
        )


# ranks -------------------------------------------------------------------------------------------------------


def gram_of(x, top=1.0):
    """Eigenvalues x and 2 - x, times `top`."""
    return top * np.array([[1.0, 1.0 - x], [1.0 - x, 1.0]])


@pytest.mark.parametrize("top", [1e-30, 1.0, 1e4])
def test_from_which_eigenvalue_on_a_kernel_has_full_rank(top):
    # A matrix: a rounding unit of the largest eigenvalue for each item, and four of the entries: 4 + 4 sqrt(2) units.
    for units, rank in ((8.0, 1), (12.0, 2), (30.0, 2)):
        form = DenseLikelihood(gram_of(units * EPS, top))
        assert (form.rank, form.spectrum.rank) == (rank, rank)
    for noise, x, rank in ((1e-8, 5e-8, 1), (1e-8, 6e-8, 2), (1e-8, 1.2e-7, 2)):
        assert DenseLikelihood(gram_of(x, top), np.full(2, top * noise)).rank == rank
    # The Gram matrix of two features: a unit of the largest eigenvalue for each, or the noise of single precision.
    rows = RowFactor(np.zeros((3, 2)))
    for units, rank in ((3.0, 1), (6.0, 2)):
        assert LowRankLikelihood(rows, gram_of(units * EPS, top), 0.0).spectrum.rank == rank
    for x, rank in ((1.8e-8, 1), (2.2e-8, 2)):
        assert LowRankLikelihood(rows, gram_of(x, top), top * 1e-8).spectrum.rank == rank


def test_which_eigenvalues_of_a_marginal_kernel_are_zero_or_one():
    # A matrix of unit noise: 3 units for each of two items, 2 of the decomposition and 4 sqrt(1.5) of the entries.
    for units, certain in ((12.0, 1), (14.0, 0)):
        assert DenseMarginal(np.diag([0.5, 1.0 - units * EPS])).spectrum.n_certain == certain
    # Eigenvalues x and 1/2 - x of entries near 1/4: one unit of 1/2 and 4 sqrt(2) of 1/4, as above.
    for units, rank in ((2.0, 1), (3.0, 2)):
        assert DenseMarginal(gram_of(4.0 * units * EPS, 0.25)).spectrum.rank == rank
    # Rows: 16 units for each of two columns.
    rows = RowFactor(np.zeros((3, 2)))
    for units, certain in ((31.0, 1), (33.0, 0)):
        form = LowRankMarginal(rows, np.diag([0.5, 1.0 - units * EPS]), 0)
        assert (form.spectrum.rank, form.spectrum.n_certain) == (2, certain)
        assert LowRankMarginal(rows, np.diag([0.5, 1.0 - units * EPS]), 1).spectrum.n_certain == 1
    for units, rank in ((15.0, 1), (17.0, 2)):
        assert LowRankMarginal(rows, np.diag([units * EPS, 0.5]), 0).spectrum.rank == rank
    # Eigenpairs of rows: 4 units for each, at least 16.
    for units, certain in ((14.0, 1), (18.0, 0)):
        G = np.diag(np.sqrt([0.5, 1.0 - units * EPS]))
        assert eigenpairs.marginal_of_rows(G, np.full(2, EPS), 0).spectrum.n_certain == certain


def test_odds_from_both_outcomes():
    """Large odds come from the probability of absence, small ones from that of presence."""
    X = np.linalg.qr(rows_of(4, 3))[0]
    missing = np.array([0.8, 0.3, 1e-12])
    spectrum, V = eigenpairs._from_outcomes(1.0 - missing, np.diag(np.sqrt(missing)), X)
    np.testing.assert_allclose(np.exp(spectrum.log_odds), (1.0 - missing) / missing, rtol=1e-9)
    np.testing.assert_allclose(np.abs(V), np.abs(X), atol=1e-12)
    # Mixed by a rotation of the two that are likely, the eigenvalues of absence are found again.
    c, s = math.cos(0.3), math.sin(0.3)
    mix = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    spectrum, V = eigenpairs._from_outcomes(np.array([0.2, 0.7, 1.0]), mix.T @ np.diag(np.sqrt(missing)), X @ mix)
    np.testing.assert_allclose(np.exp(spectrum.log_odds), (1.0 - missing) / missing, rtol=1e-9)
    np.testing.assert_allclose(np.abs(V), np.abs(X), atol=1e-9)
    # Absence below 16 rounding units, squared, is none.
    for units, certain in ((15.0, 1), (17.0, 0)):
        tiny = np.array([0.5, (units * EPS) ** 2])
        found, _ = eigenpairs._from_outcomes(np.array([0.5, 1.0]), np.diag(np.sqrt(tiny)), X[:, :2])
        assert found.n_certain == certain


# rounding above certainty ------------------------------------------------------------------------------------


class Above:
    """Stands in for a representation whose answers exceed certainty by rounding."""

    n = 3

    def log_prob(self, inside):
        return 1e-12

    def log_event_probability(self, inside, outside):
        return 1e-12

    def log_probs(self, sets):
        return np.full(len(sets), 1e-12)

    log_marginals = log_probs

    def inclusion(self):
        return np.full(3, 1.0)

    def marginal_block(self, rows, columns):
        return np.where(rows[:, None] == columns, 1.0, 1e-9)

    def spectral_diagonal(self, weights):
        return np.array([1.0 + 1e-12, -1e-12, 0.5])


def test_no_probability_exceeds_one():
    dpp = dv.DPP._wrap(Above())
    sets = [[0, 1], [1, 2]]
    assert dpp.log_prob([0, 1]) == dpp.log_event_probability([0], [1]) == 0.0
    assert dpp.log_prob(sets).tolist() == [0.0, 0.0]
    assert dpp.marginal(sets).tolist() == [1.0, 1.0]
    assert dpp.marginal([0]) == 1.0
    # All items of three are certain: pairs lose what they have off the diagonal, and no more than that.
    assert (dpp.pair_probabilities() <= 1.0).all()
    assert dpp.pair_probabilities([(0, 1)])[0] == pytest.approx(1.0, abs=1e-15)
    kdpp = dv.KDPP(np.eye(3), 2)
    kdpp._base, kdpp._log_size = Above(), 0.0
    assert kdpp.log_prob([0, 1]) == 0.0
    assert kdpp.log_prob(sets).tolist() == [0.0, 0.0]
    sized = dv.SizedDPP(dv.DPP(np.eye(3)), [0.0, 0.0, 1.0])
    sized._base, sized._log_ratio = Above(), np.zeros(3)
    assert sized.log_prob([0, 1]) == 0.0
    assert sized.log_prob(sets).tolist() == [0.0, 0.0]
    assert sized.log_prob([0]) == sized.log_prob([0, 1, 2]) == -math.inf
    assert sized.log_prob([[0], [2]]).tolist() == [-math.inf, -math.inf]
    assert sized.log_prob([[0, 1, 2]]).tolist() == [-math.inf]


def test_inclusion_probabilities_stay_between_zero_and_one(monkeypatch):
    for model in (dv.KDPP(np.eye(3), 2), dv.SizedDPP(dv.DPP(np.eye(3)), [0.0, 0.5, 0.5])):
        monkeypatch.setattr(model._base, "spectral_diagonal", Above().spectral_diagonal, raising=False)
        assert model.inclusion_probabilities.tolist() == [1.0, 0.0, 0.5]


def test_how_far_from_orthonormal_eigenvectors_may_be():
    """64 rounding units times the root of the number of items, and times a random combination."""
    for n in (1, 400):
        V = np.full((n, 1), 1.0 / math.sqrt(n))
        limit = 64.0 * math.sqrt(n) * EPS
        assert dv.DPP.from_spectrum([1.0], V * (1.0 + 0.4 * limit)).rank == 1
        with pytest.raises(KernelError, match="not orthonormal"):
            dv.DPP.from_spectrum([1.0], V * (1.0 + 0.6 * limit))
    V = np.linalg.qr(rows_of(400, 3))[0]
    assert dv.DPP.from_spectrum([1.0] * 3, V + 10.0 * EPS).rank == 3
