"""Every distribution, however built, answers every question as the enumeration of all subsets does."""

import math
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
import reference
from kernels_for_tests import LIKELIHOOD_KERNELS, MARGINAL_KERNELS, orthonormal

TOL = 1e-10


def features_of(L, width):
    """Rows B with B B* = L, padded with zero columns to `width` and rotated."""
    n, rank = len(L), np.linalg.matrix_rank(L) if len(L) else 0
    if rank == n:
        B = np.linalg.cholesky(L) if n else np.zeros((0, 0))
    else:
        lam, V = np.linalg.eigh(L)
        B = (V * np.sqrt(np.maximum(lam, 0.0)))[:, n - rank :]
    return np.hstack([B, np.zeros((n, width - B.shape[1]))]) @ orthonormal(width, width, 99)


def clipped_eigh(L):
    lam, V = np.linalg.eigh(L)
    return np.where(lam > 1e-13 * lam.max(initial=0.0), lam, 0.0), V


def dpp_cases():
    for name, L in LIKELIHOOD_KERNELS.items():
        law = reference.law_from_L(L)
        yield f"L-{name}", dv.DPP(L), law
        if name != "graded":  # eigh would hand over eigenvalues that are those of another kernel
            yield f"spectrum-{name}", dv.DPP.from_spectrum(*clipped_eigh(L)), law
        rank = np.linalg.matrix_rank(L) if len(L) else 0  # NumPy 2.0 refuses an empty matrix
        if rank < len(L):
            yield f"features-{name}", dv.DPP.from_features(features_of(L, rank)), law
        if rank < len(L) - 1:
            yield f"padded-features-{name}", dv.DPP.from_features(features_of(L, rank + 1)), law
        yield f"wide-features-{name}", dv.DPP.from_features(features_of(L, len(L) + 3)), law
    sparse = np.where(np.random.default_rng(5).random((7, 4)) < 0.5, 1.5, 0.0)
    q = np.array([0.5, 1, 2, 1, 0.1, 3, 1])
    law = reference.law_from_L(np.diag(q) @ sparse @ sparse.T @ np.diag(q))
    for format_ in ("csr", "csc", "coo"):
        yield (
            f"sparse-{format_}",
            dv.DPP.from_features(scipy.sparse.coo_array(sparse).asformat(format_), q),
            law,
        )
    yield "float32", dv.DPP.from_features(sparse.astype(np.float32), quality=q), law
    S = LIKELIHOOD_KERNELS["random-5"]
    law = reference.law_from_L(q[:5, None] * S * q[:5])
    yield "quality-diversity", dv.DPP.from_quality_diversity(q[:5], S), law
    for name, K in MARGINAL_KERNELS.items():
        yield f"K-{name}", dv.DPP.from_marginal(K), reference.law_from_K(K)
    for complex_ in (False, True):
        V = orthonormal(6, 3, 21, complex_=complex_)
        K = V @ np.diag([0.25, 1.0, 1.0]) @ V.conj().T
        dpp = dv.DPP.from_spectrum([1 / 3, np.inf, np.inf], V)
        yield f"certain-spectrum-{complex_}", dpp, reference.law_from_K(K)


CASES = {name: (dpp, law) for name, dpp, law in dpp_cases()}
SMALL = [name for name in CASES if CASES[name][0].n_items <= 6]


def assert_same_law(dist, law, *, deep=True):
    """Everything the distribution says, against the law."""
    items = [int(i) for i in dist.items]
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-9)
    for Y in reference.subsets(items):
        assert math.exp(dist.log_prob(sorted(Y))) == pytest.approx(law.get(Y, 0.0), abs=TOL), sorted(Y)
        assert dist.marginal(Y) == pytest.approx(reference.probability(law, Y), abs=TOL), sorted(Y)
    everything = reference.subsets(items)
    batch = [sorted(Y) for Y in everything]
    np.testing.assert_allclose(np.exp(dist.log_prob(batch)), [law.get(Y, 0.0) for Y in everything], atol=TOL, rtol=0)
    together = [reference.probability(law, Y) for Y in everything]
    np.testing.assert_allclose(dist.marginal(batch), together, atol=TOL, rtol=0)
    p = np.array([reference.probability(law, [i]) for i in items])
    np.testing.assert_allclose(dist.inclusion_probabilities, p, atol=TOL, rtol=0)
    pairs = dist.pair_probabilities()
    assert pairs.shape == (len(items), len(items))
    expected = np.array([[reference.probability(law, {i, j}) for j in items] for i in items])
    np.testing.assert_allclose(pairs, expected.reshape(pairs.shape), atol=TOL, rtol=0)
    if len(items) >= 2:
        chosen = [(items[-1], items[0]), (items[0], items[1])]
        some = [reference.probability(law, c) for c in chosen]
        np.testing.assert_allclose(dist.pair_probabilities(chosen), some, atol=TOL, rtol=0)
    pmf = reference.size_distribution(law)
    got = dist.size_distribution
    np.testing.assert_allclose(got, pmf[: len(got)], atol=TOL, rtol=0)
    np.testing.assert_allclose(pmf[len(got) :], 0.0, atol=TOL)
    mean = float(pmf @ np.arange(len(pmf)))
    assert dist.expected_size == pytest.approx(mean, abs=TOL)
    assert dist.size_variance == pytest.approx(float(pmf @ (np.arange(len(pmf)) - mean) ** 2), abs=1e-9)
    listed = dv.law(dist)
    for mask in range(2 ** len(items)):
        Y = frozenset(items[b] for b in range(len(items)) if mask >> b & 1)
        assert listed[mask] == pytest.approx(law.get(Y, 0.0), abs=TOL)
    positive = np.array([v for v in law.values() if v > 1e-14])
    assert dist.entropy().value == pytest.approx(float(-positive @ np.log(positive)), abs=1e-9)
    if not deep:
        return
    for include, exclude in events(items):
        p = reference.probability(law, include, exclude)
        assert dist.probability(include, exclude) == pytest.approx(p, abs=TOL), (include, exclude)
        # Below 1e-6 the reference's own subtractions leave too few digits of the conditional law.
        if p > 1e-6:
            given = dist.condition(include=include, exclude=exclude)
            assert given.items.tolist() == [i for i in items if i not in (*include, *exclude)]
            assert_same_law(given, reference.conditioned(law, include, exclude), deep=False)
        elif p < 1e-15 and dist.probability(include, exclude) == 0.0:
            with pytest.raises(dv.errors.ImpossibleEventError, match="probability is 0"):
                dist.condition(include=include, exclude=exclude)


def events(items):
    """A selection of disjoint pairs (include, exclude), up to the whole ground set."""
    rng = np.random.default_rng(len(items))
    for a in range(min(len(items), 3) + 1):
        for b in range(len(items) - a + 1):
            order = rng.permutation(items).tolist()
            yield sorted(order[:a]), sorted(order[a : a + b])


@pytest.mark.parametrize("name", CASES)
def test_dpp(name):
    assert_same_law(*CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_complement(name):
    dpp, law = CASES[name]
    assert_same_law(dpp.complement(), reference.complemented(law, range(dpp.n_items)), deep=dpp.n_items <= 5)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_thin(name, rate):
    dpp, law = CASES[name]
    assert_same_law(dpp.thin(rate), reference.thinned(law, rate), deep=dpp.n_items <= 5)


@pytest.mark.parametrize("rate", [0.0, 0.4, 1.0])
def test_thin_some_certain_items_after_a_condition(rate):
    Q = np.linalg.qr(np.random.default_rng(8).standard_normal((7, 4)))[0]
    dpp = dv.DPP.from_spectrum([0.5, 2.0, np.inf, np.inf], Q)
    law = reference.law_from_K(Q @ np.diag([1 / 3, 2 / 3, 1.0, 1.0]) @ Q.T)
    given = dpp.condition(include=[1])
    conditioned = reference.conditioned(law, include=[1], exclude=[])
    assert_same_law(given.thin(rate), reference.thinned(conditioned, rate))


@pytest.mark.parametrize("name", CASES)
def test_restrict(name):
    dpp, law = CASES[name]
    for keep in ([], list(range(0, dpp.n_items, 2)), list(range(dpp.n_items // 2))):
        part = dpp.restrict(keep)
        assert part.items.tolist() == keep
        assert_same_law(part, reference.restricted(law, keep), deep=dpp.n_items <= 5)


@pytest.mark.parametrize("name", CASES)
def test_rescale(name):
    dpp, law = CASES[name]
    low, high = dpp._representation.spectrum.n_certain, dpp.rank
    if name == "K-near-one":
        return  # 1 - 1e-12, as a float, does not say its odds to more than four digits
    if high - low < 1:
        with pytest.raises(dv.errors.SizeError, match=f"rank, {high}"):
            dpp.rescale(high + 1)
        return
    for target in (low + 0.1, (low + high) / 2, high - 0.1):
        scaled = dpp.rescale(target)
        assert scaled.expected_size == pytest.approx(target, abs=1e-9)
        # Multiplying L by a multiplies every set's weight by a**size: sizes change, k-DPPs do not.
        assert_same_law(scaled, reference.reweighted(law, scaled.size_distribution), deep=False)


@pytest.mark.parametrize("name", CASES)
def test_kdpp(name):
    dpp, law = CASES[name]
    low, high = dpp._representation.spectrum.n_certain, dpp.rank
    for k in {low, min(low + 1, high), (low + high) // 2, max(high - 1, low), high}:
        if reference.size_distribution(law)[k] < 1e-6:
            continue
        kdpp = dpp.of_size(k)
        assert kdpp.k == k
        assert_same_law(kdpp, reference.of_size(law, k), deep=dpp.n_items <= 5)
        if dpp.log_normalizer < math.inf:
            assert kdpp.log_normalizer == pytest.approx(
                dpp.log_normalizer + math.log(reference.size_distribution(law)[k]), abs=1e-9
            )


@pytest.mark.parametrize("name", SMALL)
def test_complement_of_kdpp(name):
    dpp, law = CASES[name]
    k = dpp.rank
    if reference.size_distribution(law)[k] > 1e-6:
        expected = reference.complemented(reference.of_size(law, k), range(dpp.n_items))
        assert_same_law(dpp.of_size(k).complement(), expected, deep=False)


@pytest.mark.parametrize("name", SMALL)
def test_sized_dpp(name):
    dpp, law = CASES[name]
    natural = reference.size_distribution(law)
    possible = [k for k in range(len(natural)) if natural[k] > 1e-6 and k <= dpp.rank]
    q = np.zeros(possible[-1] + 1)
    q[possible] = np.arange(1, len(possible) + 1) ** 2
    q /= q.sum()
    assert_same_law(dv.SizedDPP(dpp, q), reference.reweighted(law, q), deep=dpp.n_items <= 5)


def test_mixture():
    L1, L2 = LIKELIHOOD_KERNELS["random-5"], LIKELIHOOD_KERNELS["graded"]
    laws = [reference.of_size(reference.law_from_L(L1), 2), reference.of_size(reference.law_from_L(L2), 2)]
    mixture = dv.KDPPMixture([dv.KDPP(L1, 2), dv.KDPP(L2, 2)], [0.25, 0.75])
    assert_same_law(mixture, reference.mixed(laws, [0.25, 0.75]))


def test_mixture_of_different_kinds():
    L = LIKELIHOOD_KERNELS["random-5"]
    K = MARGINAL_KERNELS["one-and-less"]
    law, law_K = reference.law_from_L(L), reference.law_from_K(K)
    mixture = dv.KDPPMixture([dv.DPP(L), dv.KDPP(L, 4), dv.DPP.from_marginal(K)])
    assert_same_law(mixture, reference.mixed([law, reference.of_size(law, 4), law_K], [1 / 3] * 3))


@pytest.mark.parametrize("name", CASES)
def test_kernels_and_spectrum_agree(name):
    dpp, law = CASES[name]
    n = dpp.n_items
    K = dpp.K
    for A in combinations(range(n), min(n, 2)):
        assert reference.det(K[np.ix_(A, A)]) == pytest.approx(reference.probability(law, A), abs=TOL)
    V, lam = dpp.eigenvectors, dpp.eigenvalues
    assert V.shape == (n, dpp.rank)
    kept = lam[len(lam) - dpp.rank :]
    kappa = np.where(np.isinf(kept), 1.0, kept / (1.0 + np.where(np.isinf(kept), 0.0, kept)))
    np.testing.assert_allclose((V * kappa) @ V.conj().T, K, atol=1e-9)
    assert (lam[1:] >= lam[:-1]).all()
    if np.isfinite(dpp.log_normalizer) and name != "K-near-one":
        scale = max(1.0, np.abs(dpp.L).max(initial=0.0))
        np.testing.assert_allclose((V * kept) @ V.conj().T, dpp.L, atol=1e-9 * scale)
        assert dpp.log_prob([]) == pytest.approx(-dpp.log_normalizer, abs=1e-12)
        assert dpp.log_normalizer == pytest.approx(float(np.log1p(kept).sum()), abs=1e-9)
    elif not np.isfinite(dpp.log_normalizer):
        with pytest.raises(dv.errors.NoLikelihoodKernelError, match="eigenvalue 1"):
            dpp.L  # noqa: B018
