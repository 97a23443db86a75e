"""``sample`` and ``stream``: every method, every distribution, any number of jobs."""

import itertools

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.sampling import METHODS
from diverset.sampling.base import take
from kernels_for_tests import LIKELIHOOD_KERNELS, MARGINAL_KERNELS, wishart

L5 = LIKELIHOOD_KERNELS["random-5"]
K5 = MARGINAL_KERNELS["one-and-less"]
F6 = np.random.default_rng(0).standard_normal((6, 3))
EXACT = ("auto", "sequential", "rejection", "spectral", "complement")

DPPS = {
    "L": (dv.DPP(L5), reference.law_from_L(L5)),
    "K": (dv.DPP.from_marginal(K5), reference.law_from_K(K5)),
    "features": (dv.DPP.from_features(F6), reference.law_from_L(F6 @ F6.T)),
    "complex": (dv.DPP(LIKELIHOOD_KERNELS["complex"]), reference.law_from_L(LIKELIHOOD_KERNELS["complex"])),
}


@pytest.mark.parametrize("name", DPPS)
@pytest.mark.parametrize("method", EXACT)
def test_every_exact_method_follows_the_law(name, method):
    dpp, law = DPPS[name]
    draws = dpp.sample(4_000, rng=1, method=method)
    assert reference.law_p_value(draws, law) > 1e-4
    complement = reference.complemented(law, range(dpp.n_items))
    assert reference.law_p_value(dpp.complement().sample(2_000, rng=2, method=method), complement) > 1e-4
    # The law of another kernel is told apart by as many draws.
    assert reference.law_p_value(draws, reference.law_from_L(np.eye(dpp.n_items))) < 1e-4


@pytest.mark.parametrize("name", DPPS)
@pytest.mark.parametrize("method", ["auto", "rejection", "spectral", "complement"])
def test_k_dpps_follow_the_law(name, method):
    dpp, law = DPPS[name]
    draws = dpp.of_size(2).sample(4_000, rng=3, method=method)
    assert reference.law_p_value(draws, reference.of_size(law, 2)) > 1e-4
    assert reference.law_p_value(draws, reference.of_size(reference.law_from_L(np.eye(dpp.n_items)), 2)) < 1e-4


def test_conditioned_sized_and_mixed_follow_their_laws():
    dpp, law = DPPS["L"]
    given = dpp.condition(include=[1], exclude=[3])
    assert reference.law_p_value(given.sample(4_000, rng=0), reference.conditioned(law, [1], [3])) > 1e-4
    q = [0.5, 0.0, 0.2, 0.3]
    assert reference.law_p_value(dv.SizedDPP(dpp, q).sample(4_000, rng=0), reference.reweighted(law, q)) > 1e-4
    mixture = dv.KDPPMixture([dpp.of_size(1), dpp], [0.4, 0.6])
    expected = reference.mixed([reference.of_size(law, 1), law], [0.4, 0.6])
    assert reference.law_p_value(mixture.sample(4_000, rng=0), expected) > 1e-4


def same(one, other):
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("method", ["auto", "rejection", "sequential", "spectral"])
def test_jobs_and_streams_do_not_change_a_draw(method):
    dpp = dv.DPP(wishart(30, 40, 0))
    draws = dpp.sample(300, rng=7, method=method)
    assert same(draws, dpp.sample(300, rng=7, method=method))
    assert same(draws, dpp.sample(300, rng=7, method=method, n_jobs=3))
    assert same(draws, list(dpp.stream(300, rng=7, method=method)))
    assert not same(draws, dpp.sample(300, rng=8, method=method))


def test_streams_without_end_and_generators_without_seeds():
    dpp = dv.DPP(wishart(12, 14, 0)).of_size(3)
    first = list(itertools.islice(dpp.stream(rng=0), 5))
    assert all(len(d) == 3 for d in first)
    unseeded = np.random.Generator(np.random.MT19937())
    unseeded.bit_generator.state = np.random.MT19937(3).state
    assert len(dpp.sample(4, rng=unseeded)) == 4


def choose(dpp, k, size):
    return take(dpp._representation.samplers(k, size)).name


def test_the_choice_depends_on_the_model_and_the_number_of_draws_only():
    dense = dv.DPP(wishart(60, 70, 0))
    before = dense.sample(rng=0)
    dense.sample(500, rng=1)
    dense.eigenvectors  # noqa: B018
    assert np.array_equal(dense.sample(rng=0), before)
    big = dv.DPP(0.02 * np.eye(1500))
    assert choose(big, None, 1) == "sequential"
    assert choose(big, None, 100_000) == "rejection"
    assert choose(big, 50, 1) in ("rejection", "spectral")
    rows = dv.DPP.from_features(np.random.default_rng(0).standard_normal((5_000, 20)))
    assert choose(rows, None, 1_000) == "rejection"
    # Many draws from few items: what is not compiled costs more than the arithmetic.
    for n in (5, 30, 100):
        few = dv.DPP(wishart(n, n, 0))
        assert choose(few, None, 1) == "sequential"
        assert choose(few, n // 3, 2_000) == "rejection"
        thin = dv.DPP.from_features(np.random.default_rng(0).standard_normal((n, 4)))
        assert choose(thin, None, 2_000) == "rejection"


def test_nearly_all_items_are_drawn_by_what_is_left_out():
    dpp = dv.DPP(wishart(60, 70, 0))
    nearly = dpp.of_size(58)
    assert nearly.sampler(50).name == "complement"
    left_out = nearly.sampler(50).base
    assert left_out.law.mean_size == pytest.approx(2.0)
    assert {len(draw) for draw in nearly.sample(50, rng=0)} == {58}
    # The complement of such a model is drawn as it is, and so is the complement of the complement.
    assert nearly.complement().sampler(50).name == "rejection"
    assert nearly.complement().complement().sampler(50).name == "complement"
    # Large eigenvalues fill a DPP's draws; of deficient rank, L of any size does not.
    assert dv.DPP(1e6 * dpp.L).sampler(1_000).name == "complement"
    F = 1e6 * np.random.default_rng(0).standard_normal((60, 5))
    assert dv.DPP(F @ F.T).sampler(1_000).name != "complement"


def test_left_out_items_of_low_rank_follow_the_law():
    # Null space and eigenvalue 1 change places in the complement.
    for name in ("K", "features"):
        dpp, law = DPPS[name]
        k = max(len(Y) for Y, p in law.items() if p > 1e-9)
        draws = dpp.of_size(k).sample(4_000, rng=3, method="complement")
        assert reference.law_p_value(draws, reference.of_size(law, k)) > 1e-4


def test_methods_that_do_not_serve_say_so():
    dpp = dv.DPP(L5)
    with pytest.raises(ValueError, match=r"fixed size, here k = 2.*rejection"):
        dpp.of_size(2).sample(method="sequential")
    with pytest.raises(ValueError, match="from_features"):
        dpp.sample(method="dual")
    with pytest.raises(ValueError, match="method is 'fast'"):
        dpp.sample(method="fast")
    with pytest.raises(ValueError, match="n_jobs is 0"):
        dpp.sample(3, n_jobs=0)
    asymmetric = dv.NonsymmetricDPP(np.eye(3) + np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 0]]))
    assert len(asymmetric.sample(5, rng=0)) == 5
    with pytest.raises(ValueError, match="sequential"):
        asymmetric.sample(method="rejection")
    assert "mcmc" in METHODS


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_extreme_scales(scale):
    rng = np.random.default_rng(0)
    F = np.sqrt(scale) * rng.standard_normal((40, 8))
    for dpp in (dv.DPP(F @ F.T), dv.DPP.from_features(F)):
        kdpp = dpp.of_size(5)
        base = dv.DPP.from_features(F / np.sqrt(scale)).of_size(5)
        assert all(len(d) == 5 for d in kdpp.sample(50, rng=1))
        np.testing.assert_allclose(kdpp.inclusion_probabilities, base.inclusion_probabilities, rtol=1e-7)
        sizes = {len(d) for d in dpp.sample(50, rng=1)}
        assert sizes == ({8} if scale > 1 else {0})
    with pytest.raises(ValueError, match="k is 9, but the kernel has rank 8"):
        dpp.of_size(9)


@pytest.mark.parametrize("expected", [0.01, 49.99])
def test_extreme_sizes(expected):
    dpp = dv.DPP(wishart(50, 80, 0)).rescale(expected)
    for method in ("auto", "rejection", "sequential", "complement"):
        sizes = np.array([len(d) for d in dpp.sample(400, rng=0, method=method)])
        assert abs(sizes.mean() - expected) < 4.5 * np.sqrt(dpp.size_variance / 400)


def test_frequencies_at_two_thousand_items():
    # Over all items at once, Bonferroni-corrected to one false alarm in ten thousand.
    n, draws = 2_000, 4_000
    F = np.random.default_rng(5).standard_normal((n, 30)) * np.linspace(0.2, 2.0, n)[:, None]
    for distribution in (dv.DPP.from_features(F).rescale(12.0), dv.DPP.from_features(F).of_size(12)):
        p = distribution.inclusion_probabilities
        counts = np.bincount(np.concatenate(distribution.sample(draws, rng=3)), minlength=n)
        z = (counts - draws * p) / np.sqrt(draws * p * (1 - p) + 0.5)
        assert np.abs(z).max() < 6.5
        assert abs((z**2).mean() - 1.0) < 0.25


def test_interrupting_is_possible_between_chunks():
    sampler = dv.DPP(wishart(200, 210, 0)).sampler(10_000, method="rejection")
    assert 1 <= sampler.chunk <= 1024


def test_sampling_trace_is_the_algorithm():
    dpp = dv.DPP(wishart(9, 12, 3)).condition(exclude=[4])
    trace = dv.sampling.sampling_trace(dpp.of_size(3), rng=0)
    assert len(trace) == 3
    assert set(trace.picks.tolist()) <= set(dpp.items.tolist())
    np.testing.assert_allclose(trace.probabilities.sum(axis=1), 1.0, atol=1e-12)
    V = dpp.eigenvectors[:, trace.eigenvectors]
    np.testing.assert_allclose(trace.probabilities[0], (V**2).sum(axis=1) / 3, atol=1e-12)
    taken = np.searchsorted(dpp.items, trace.picks)
    assert trace.probabilities[1][taken[0]] == 0.0
    # Second pick: what is left of each row off the first.
    rows = V - np.outer(V @ V[taken[0]], V[taken[0]]) / (V[taken[0]] @ V[taken[0]])
    np.testing.assert_allclose(trace.probabilities[1], (rows**2).sum(axis=1) / 2, atol=1e-12)
    with pytest.raises(ValueError, match="SizedDPP"):
        dv.sampling.sampling_trace(dv.SizedDPP(dpp, [1.0]))
