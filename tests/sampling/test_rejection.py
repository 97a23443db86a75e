"""The rejection sampler: tables, the exact law of every stage, its plain twin, and draws at small and large n."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

import diverset as dv
import reference
from diverset.core.eigenpairs import from_eigenpairs
from diverset.core.spectrum import Spectrum
from diverset.errors import TooLargeError
from diverset.numerics import poisson_binomial, validation
from diverset.sampling import batch, rejection
from diverset.sampling.eigenvector_law import TABLE, TILTED, EigenvectorLaw
from kernels_for_tests import LIKELIHOOD_KERNELS, MARGINAL_KERNELS, duplicated, orthonormal, wishart
from samplers_in_steps import ElementaryRejection, draw_by_rejection


def follow(state, prob=1.0, law=None):
    """Exact law of a sequential sampler: follow every branch and add up probabilities."""
    law = Counter() if law is None else law
    if state.done:
        law[frozenset(state.items)] += prob
    else:
        for y, p in enumerate(state.weights()):
            if p > 0.0:
                follow(state.pick(y), prob * p, law)
    return law


def sampler_of(dpp, k=None):
    return rejection.prepare(dpp._representation, k)


# tables ------------------------------------------------------------------------------------------------------------


def law_of_tables(threshold, alias):
    """Probability of each item under each column's table, cell by cell."""
    r, n = threshold.shape
    law = threshold / n
    for j in range(r):
        law[j] += np.bincount(alias[j], (1.0 - threshold[j]) / n, minlength=n)
    return law


@pytest.mark.parametrize("n", [1, 2, 7, 500])
@pytest.mark.parametrize("complex_", [False, True])
def test_tables_hold_the_squared_columns(n, complex_):
    V = orthonormal(n, min(n, 20), 0, complex_=complex_)
    threshold, alias = rejection.alias_tables(V)
    assert ((threshold >= 0.0) & (threshold <= 1.0)).all()
    np.testing.assert_allclose(law_of_tables(threshold, alias), np.abs(V.T) ** 2, atol=1e-15)


def test_tables_of_uneven_columns():
    n = 1000
    V = np.zeros((n, 4))
    V[7, 0] = 1.0
    V[:, 1] = n**-0.5
    V[[3, 999], 2] = 0.6, 0.8
    V[:, 3] = np.exp(-np.arange(n) / 3.0)
    V[:, 3] /= np.linalg.norm(V[:, 3])
    law = law_of_tables(*rejection.alias_tables(V))
    np.testing.assert_allclose(law, V.T**2, atol=1e-15)
    # An item with no weight is never proposed, not even by rounding.
    assert (law[0][V[:, 0] == 0.0] == 0.0).all()
    assert (law[2][V[:, 2] == 0.0] == 0.0).all()


# the law of every stage --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(4, 1), (5, 2), (6, 3), (7, 4), (4, 4), (3, 0)])
@pytest.mark.parametrize("complex_", [False, True])
def test_second_phase_has_the_exact_law(n, m, complex_):
    V = orthonormal(n, m, n + m, complex_=complex_)
    law = follow(ElementaryRejection(V))
    for A, p in reference.law_from_K(V @ V.conj().T).items():
        assert law[A] == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("complex_", [False, True])
def test_a_proposal_is_accepted_by_its_residual(complex_):
    """At every stage of a long draw: proposal times acceptance is the residual over m, and adds up to s/m."""
    n, m = 60, 25
    V = orthonormal(n, m, 3, complex_=complex_)
    V[5] = 0.0
    V[6] = V[7]
    V = np.linalg.qr(V)[0]
    state = ElementaryRejection(V)
    rng = np.random.default_rng(0)
    while not state.done:
        taken = list(state.items)
        Q = np.linalg.qr(V[taken].conj().T)[0] if taken else np.zeros((m, 0))
        residual = np.linalg.norm(V - V @ Q @ Q.conj().T, axis=1) ** 2
        accepted = state.proposal() * state.acceptance()
        np.testing.assert_allclose(accepted, residual / m, atol=1e-14)
        assert accepted.sum() == pytest.approx((m - len(taken)) / m, abs=1e-13)
        assert (state.acceptance()[taken] == 0.0).all()
        np.testing.assert_allclose(state.W @ state.W.conj().T, np.eye(m - len(taken)), atol=1e-13)
        state = state.pick(int(rng.choice(n, p=state.weights())))


class AlwaysAccepts(ElementaryRejection):
    """The known fault: proposals are not corrected."""

    def acceptance(self, items=slice(None)):
        return (super().acceptance(items) > 1e-9).astype(float)

    def pick(self, i):
        after = super().pick(i)
        after.__class__ = AlwaysAccepts
        return after


def test_the_branch_walk_sees_an_uncorrected_proposal():
    V = orthonormal(6, 3, 0)
    wrong = follow(AlwaysAccepts(V))
    assert max(abs(wrong[A] - p) for A, p in reference.law_from_K(V @ V.T).items()) > 1e-3


# the compiled loop and its plain twin ------------------------------------------------------------------------------

TWINS = {
    "dense": (dv.DPP(3.0 * wishart(40, 50, 0)), None),
    "dense complex": (dv.DPP(3.0 * wishart(30, 40, 1, complex_=True)), None),
    "many items": (dv.DPP(200.0 * wishart(60, 70, 2)), None),
    "many items complex": (dv.DPP(200.0 * wishart(45, 50, 3, complex_=True)), None),
    "k": (dv.DPP(wishart(40, 50, 4)), 7),
    "k complex": (dv.DPP(wishart(40, 50, 5, complex_=True)), 35),
    "features": (dv.DPP.from_features(np.random.default_rng(6).standard_normal((300, 12))), None),
    "eigenvalue one": (dv.DPP.from_marginal(MARGINAL_KERNELS["one-and-less"]), None),
    "duplicates": (dv.DPP(duplicated(9, 7)), 5),
}


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("patience", [rejection._PATIENCE, 0.5, -1.0])
def test_compiled_and_plain_make_the_same_draws(name, patience):
    dpp, k = TWINS[name]
    sampler = sampler_of(dpp, k)
    sampler = rejection.RejectionSampler(sampler.proposals, sampler.law, patience)
    rng, twin = np.random.default_rng(0), np.random.default_rng(0)
    for draw in sampler.draw_many(15, rng):
        assert np.array_equal(draw, draw_by_rejection(sampler, twin))
    assert rng.random() == twin.random()


@pytest.mark.parametrize("method", [TABLE, TILTED])
def test_compiled_and_plain_choose_the_same_eigenvectors(method):
    dpp = dv.DPP(np.diag(np.exp(np.linspace(-8.0, 8.0, 30))))
    law = EigenvectorLaw.of(dpp._representation.spectrum.support, 12, method=method)
    sampler = rejection.RejectionSampler(sampler_of(dpp).proposals, law)
    rng, twin = np.random.default_rng(0), np.random.default_rng(0)
    for _ in range(50):
        assert np.array_equal(sampler.draw(rng), draw_by_rejection(sampler, twin))


def test_draw_and_draw_many_agree_and_repeat():
    sampler = sampler_of(TWINS["dense"][0])
    draws = sampler.draw_many(30, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    assert all(np.array_equal(draw, sampler.draw(rng)) for draw in draws)
    assert all(d.dtype == np.int64 and (np.diff(d) > 0).all() for d in draws)
    assert sampler.draw_many(0, rng) == []


def test_chunks_do_not_change_the_draws(monkeypatch):
    sampler = sampler_of(TWINS["dense"][0])
    draws = sampler.draw_many(30, np.random.default_rng(3))
    monkeypatch.setattr(rejection, "_CALL_DRAWS", 7)
    assert sampler.chunk == 7
    again = sampler.draw_many(30, np.random.default_rng(3))
    assert all(np.array_equal(a, b) for a, b in zip(draws, again, strict=True))
    jobs = [batch.draw_batch(sampler, 30, np.random.default_rng(3), n_jobs) for n_jobs in (1, 3)]
    streamed = list(batch.stream_draws(sampler, 30, np.random.default_rng(3)))
    for one, three, single in zip(*jobs, streamed, strict=True):
        assert np.array_equal(one, three)
        assert np.array_equal(one, single)


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_any_bit_generator(bits):
    sampler = sampler_of(TWINS["dense"][0])
    draw = sampler.draw(np.random.Generator(bits(1)))
    assert np.array_equal(draw, draw_by_rejection(sampler, np.random.Generator(bits(1))))


def test_set_up_is_paid_once():
    representation = dv.DPP(wishart(20, 30, 0))._representation
    first, second = rejection.prepare(representation), rejection.prepare(representation, 3)
    assert first.proposals is second.proposals


# draws against the law ---------------------------------------------------------------------------------------------

LAWS = {
    "random": (dv.DPP(LIKELIHOOD_KERNELS["random-5"]), reference.law_from_L(LIKELIHOOD_KERNELS["random-5"])),
    "duplicated": (dv.DPP(LIKELIHOOD_KERNELS["duplicated"]), reference.law_from_L(LIKELIHOOD_KERNELS["duplicated"])),
    "complex": (dv.DPP(LIKELIHOOD_KERNELS["complex"]), reference.law_from_L(LIKELIHOOD_KERNELS["complex"])),
    "eigenvalue one": (
        dv.DPP.from_marginal(MARGINAL_KERNELS["one-and-less"]),
        reference.law_from_K(MARGINAL_KERNELS["one-and-less"]),
    ),
    "near one": (
        dv.DPP.from_marginal(MARGINAL_KERNELS["near-one"]),
        reference.law_from_K(MARGINAL_KERNELS["near-one"]),
    ),
}


@pytest.mark.needs_compiled
@pytest.mark.parametrize("name", LAWS)
def test_draws_follow_the_law(name):
    dpp, law = LAWS[name]
    rng = np.random.default_rng(0)
    assert reference.law_p_value(sampler_of(dpp).draw_many(50_000, rng), law) > 1e-4
    assert reference.law_p_value(sampler_of(dpp, 3).draw_many(50_000, rng), reference.of_size(law, 3)) > 1e-4


@pytest.mark.needs_compiled
def test_a_stage_that_looks_at_every_item_has_the_same_law():
    dpp, law = LAWS["random"]
    sampler = sampler_of(dpp)
    for patience in (-1.0, 0.0):
        other = rejection.RejectionSampler(sampler.proposals, sampler.law, patience)
        assert reference.law_p_value(other.draw_many(50_000, np.random.default_rng(0)), law) > 1e-4


def test_counts_see_an_uncorrected_proposal():
    """Items proposed and always accepted unless already there: the fault that the acceptance step mends."""
    dpp, law = LAWS["random"]
    sampler = sampler_of(dpp)
    V, rng = sampler.proposals.V, np.random.default_rng(0)
    draws = []
    for _ in range(20_000):
        J = sampler.law.draw(rng)
        chosen = set()
        leverage = (V[:, J] ** 2).sum(axis=1) if len(J) else None
        while len(chosen) < len(J):
            chosen.add(int(rng.choice(5, p=leverage / leverage.sum())))
        draws.append(chosen)
    assert reference.law_p_value(draws, law) < 1e-4


@pytest.mark.needs_compiled
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_changes_nothing_for_a_fixed_size(scale):
    L = LIKELIHOOD_KERNELS["random-7"]
    law = reference.of_size(reference.law_from_L(L), 4)
    draws = sampler_of(dv.DPP(scale * L), 4).draw_many(50_000, np.random.default_rng(0))
    assert reference.law_p_value(draws, law) > 1e-4
    B = np.random.default_rng(1).standard_normal((9, 4)) * np.sqrt(scale)
    rank = dv.DPP.from_features(B)
    draws = sampler_of(rank, 4).draw_many(50_000, np.random.default_rng(0))
    assert reference.law_p_value(draws, reference.of_size(reference.law_from_L(B @ B.T / scale), 4)) > 1e-4


def test_sizes_at_the_edge():
    rng = np.random.default_rng(0)
    assert sampler_of(dv.DPP(np.zeros((3, 3)))).draw(rng).tolist() == []
    assert sampler_of(dv.DPP(np.zeros((0, 0)))).draw(rng).tolist() == []
    assert sampler_of(dv.DPP(np.eye(3)), 0).draw(rng).tolist() == []
    assert sampler_of(dv.DPP.from_marginal(np.eye(50))).draw(rng).tolist() == list(range(50))
    assert sampler_of(dv.DPP(wishart(50, 60, 0)), 50).draw(rng).tolist() == list(range(50))
    nearly_all = dv.DPP(np.diag(np.full(40, 1e9)))
    assert sampler_of(nearly_all).draw(rng).tolist() == list(range(40))
    nearly_none = dv.DPP(np.diag(np.full(40, 1e-9)))
    assert sampler_of(nearly_none).draw(rng).tolist() == []


def test_many_copies_of_few_items():
    """Rank 4, one thousand items: never two copies of the same."""
    B = np.random.default_rng(0).standard_normal((4, 4))
    copies = np.repeat(np.arange(4), 250)
    sampler = sampler_of(dv.DPP.from_features(B[copies]), 4)
    for draw in sampler.draw_many(200, np.random.default_rng(0)):
        assert sorted(copies[draw].tolist()) == [0, 1, 2, 3]


def test_eigenvectors_from_uneven_features_are_made_orthonormal():
    """Singular values over seven orders of magnitude, scaled so that all take part in a draw."""
    rng = np.random.default_rng(0)
    U, W = orthonormal(400, 8, 1), orthonormal(8, 8, 2)
    sigma = 10.0 ** np.linspace(0.0, 6.5, 8)
    dpp = dv.DPP.from_features((U * sigma) @ W.T)
    V = sampler_of(dpp).proposals.V
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-13)
    assert V.flags.c_contiguous
    # Flags of subspaces: what the largest singular vectors span is what the last columns span.
    for m in range(1, V.shape[1] + 1):
        overlap = np.linalg.svd(U[:, -m:].T @ V[:, -m:], compute_uv=False)
        assert overlap.min() > 1.0 - 1e-6
    assert len(sampler_of(dpp, V.shape[1]).draw(rng)) == V.shape[1]


def test_memory_is_asked_for_first(monkeypatch):
    monkeypatch.setattr(validation, "available_memory", lambda: 1 << 27)
    representation = dv.DPP.from_features(np.ones((5, 2)))._representation
    representation.n = 200_000
    monkeypatch.setattr(representation, "eigenvectors", lambda: np.broadcast_to(0.0, (200_000, 150)))
    monkeypatch.setattr(rejection, "orthonormal_columns", lambda V: V)
    with pytest.raises(TooLargeError, match=r"alias tables for 200000 items and rank 150.*method=.spectral"):
        rejection.Proposals.of(representation)


# large n -----------------------------------------------------------------------------------------------------------

N_LARGE = 2_000


def largest_error(counts, p, draws):
    """Smallest two-sided binomial p-value over all counts, times their number (Bonferroni)."""
    tail = np.minimum(binom.cdf(counts, draws, p), binom.sf(counts - 1, draws, p))
    return min(1.0, 2.0 * float(tail.min()) * len(counts))


def check_marginals(distribution, k, draws, seed, pairs):
    dpp = distribution.dpp if k is not None else distribution
    sets = sampler_of(dpp, k).draw_many(draws, np.random.default_rng(seed))
    present = np.zeros((draws, N_LARGE), dtype=bool)
    for row, draw in zip(present, sets, strict=True):
        row[draw] = True
    singles = present.sum(axis=0)
    together = np.array([(present[:, i] & present[:, j]).sum() for i, j in pairs])
    assert largest_error(singles, distribution.inclusion_probabilities, draws) > 1e-4
    assert largest_error(together, distribution.pair_probabilities(pairs), draws) > 1e-4
    sizes = np.array([len(draw) for draw in sets])
    if k is None:
        pmf = poisson_binomial.pmf(dpp._representation.spectrum.log_odds)
        assert reference.law_p_value([{int(s)} for s in sizes], {frozenset({s}): p for s, p in enumerate(pmf)}) > 1e-4
    else:
        assert (sizes == k).all()
    # Independent items with the right inclusion probabilities are told apart by the pairs.
    independent = np.random.default_rng(seed).binomial(
        draws, np.prod(distribution.inclusion_probabilities[np.array(pairs)], axis=1)
    )
    assert largest_error(independent, distribution.pair_probabilities(pairs), draws) < 1e-4


def near_pairs(points, rng):
    """Pairs of neighbours on the line, for which repulsion is strong, and pairs anywhere."""
    order = np.argsort(points)
    near = list(zip(order[:-1:4].tolist(), order[1::4].tolist(), strict=False))
    far = [tuple(rng.choice(N_LARGE, 2, replace=False).tolist()) for _ in range(500)]
    return near + far


@pytest.mark.needs_compiled
@pytest.mark.parametrize("k", [None, 12])
def test_marginals_at_large_n_from_a_dense_kernel(k):
    rng = np.random.default_rng(0)
    x = rng.random(N_LARGE)
    quality = 0.3 + rng.random(N_LARGE)
    L = 0.02 * quality[:, None] * quality * np.exp(-0.5 * ((x[:, None] - x) / 0.02) ** 2)
    dpp = DENSE.setdefault("dpp", dv.DPP(L))
    check_marginals(dpp if k is None else dpp.of_size(k), k, 50_000, 1, near_pairs(x, rng))


DENSE = {}


@pytest.mark.needs_compiled
@pytest.mark.parametrize("k", [None, 10])
def test_marginals_at_large_n_from_features(k):
    rng = np.random.default_rng(1)
    x = rng.random(N_LARGE)
    centres = np.linspace(0.0, 1.0, 25)
    features = 0.12 * (0.3 + rng.random(N_LARGE))[:, None] * np.exp(-0.5 * ((x[:, None] - centres) / 0.03) ** 2)
    dpp = dv.DPP.from_features(features)
    check_marginals(dpp if k is None else dpp.of_size(k), k, 50_000, 2, near_pairs(x, rng))


@pytest.mark.needs_compiled
def test_a_large_projection_keeps_its_directions_orthogonal():
    """190 of 200 directions, flat spectrum: sizes right, no item twice, every draw of positive probability."""
    V = orthonormal(N_LARGE, 200, 4)
    dpp = dv.DPP._wrap(from_eigenpairs(Spectrum(np.zeros(200)), V))
    for draw in sampler_of(dpp, 190).draw_many(3, np.random.default_rng(0)):
        assert len(np.unique(draw)) == 190
        assert np.linalg.svd(V[draw], compute_uv=False)[-1] > 1e-8
