"""Nonsymmetric kernels held as V, B and D: the same answers as the dense kernel, draws, and no n x n matrix."""

import math
import tracemalloc
from collections import Counter

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.core import nonsymmetric_low_rank
from diverset.core.nonsymmetric_low_rank import LowRankForm
from diverset.errors import DiversetError, ImpossibleEventError, NoLikelihoodKernelError
from samplers_in_steps import FactorSteps, draw_plain, steps_of


def factors(n, rank=2, rank_skew=2, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return (
        scale * rng.standard_normal((n, rank)),
        scale * rng.standard_normal((n, rank_skew)),
        rng.standard_normal((rank_skew, rank_skew)),
    )


def dense(V, B, D):
    return V @ V.T + B @ (D - D.T) @ B.T


CASES = {
    "tall": factors(6, 2, 2, 1),
    "wide": factors(4, 5, 3, 2),
    "odd": factors(6, 1, 3, 3),
    "symmetric": factors(5, 3, 0, 4),
    "skew": factors(5, 0, 4, 5),
    "large": factors(6, 2, 2, 6, 1e5),
    "dependent": (np.ones((5, 2)), np.ones((5, 2)), np.array([[0.0, 1.0], [0.0, 0.0]])),
}


@pytest.mark.parametrize("tall", [False, True], ids=["qr", "gram"])
@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_the_dense_kernel(name, tall, monkeypatch):
    if tall:
        monkeypatch.setattr(nonsymmetric_low_rank, "_SMALL", 0)
    V, B, D = CASES[name]
    low, full = dv.NonsymmetricDPP.from_low_rank(V, B, D), dv.NonsymmetricDPP(dense(V, B, D))
    n = low.n_items
    assert low.log_normalizer == pytest.approx(full.log_normalizer, abs=1e-9)
    assert np.abs(low.K - full.K).max() < 1e-9
    assert np.allclose(low.L, full.L, atol=1e-9 * max(1.0, np.abs(full.L).max()))
    for include, exclude in [((), ()), ([0], ()), ((), [1]), ([0], [1]), ([2], [0, 1]), ((), [0, 1, 2])]:
        p = full.probability(include, exclude)
        assert low.probability(include, exclude) == pytest.approx(p, abs=1e-9)
        if p < 1e-6:
            continue
        given, other = low.condition(include, exclude), full.condition(include, exclude)
        assert given.items.tolist() == other.items.tolist()
        assert np.abs(given.K - other.K).max() < 1e-7
        for Y in reference.subsets(given.items.tolist()):
            assert math.exp(given.log_prob(Y)) == pytest.approx(math.exp(other.log_prob(Y)), abs=1e-7)
        pmf = given.size_distribution
        assert np.pad(pmf, (0, n)) @ np.arange(len(pmf) + n) == pytest.approx(other.expected_size, abs=1e-7)
        assert given.size_variance == pytest.approx(other.size_variance, abs=1e-6)
        # Left out once more, now without a likelihood kernel to drop rows of.
        last = given.items.tolist()[-1:]
        if other.probability(exclude=last) > 1e-3:
            again, expected = given.condition(exclude=last), other.condition(exclude=last)
            assert np.abs(again.K - expected.K).max(initial=0.0) < 1e-6
    part, expected = low.restrict(range(n - 1)), full.restrict(range(n - 1))
    assert np.abs(part.K - expected.K).max() < 1e-9
    assert part.expected_size == pytest.approx(expected.expected_size, abs=1e-9)
    outside, expected = low.complement(), full.complement()
    assert np.abs(outside.K - expected.K).max() < 1e-9
    assert outside.size_distribution == pytest.approx(expected.size_distribution, abs=1e-9)
    assert outside.pair_probabilities([(0, 2)]) == pytest.approx(expected.pair_probabilities([(0, 2)]), abs=1e-9)
    assert np.abs(outside.condition(include=[0]).K - expected.condition(include=[0]).K).max() < 1e-7 or name == "large"
    assert np.abs(outside.complement().K - low.K).max() < 1e-15


def test_a_tall_kernel_needs_no_square_matrix():
    n = 20_000
    V, B, D = factors(n, 8, 8, 0, 0.02)
    tracemalloc.start()
    dpp = dv.NonsymmetricDPP.from_low_rank(V, B, D)
    assert dpp.inclusion_probabilities.sum() == pytest.approx(dpp.expected_size, abs=1e-10)
    assert dpp.size_distribution @ np.arange(17) == pytest.approx(dpp.expected_size, abs=1e-10)
    given = dpp.condition(include=[5, 17_000], exclude=[3])
    assert given.inclusion_probabilities.sum() == pytest.approx(given.expected_size, abs=1e-10)
    assert given.log_prob([7, 8]) == pytest.approx(
        dpp.log_prob([5, 7, 8, 17_000]) - dpp.log_event_probability([5, 17_000], [3]), rel=1e-9
    )
    for method in ("sequential", "rejection"):
        draw = dpp.sample(rng=0, method=method)
        assert 0 < len(draw) <= 16
    assert len(given.sample(rng=0)) <= 14
    assert len(dpp.complement().sample(rng=0)) >= n - 16
    assert len(dv.map_greedy(dpp, 5)) == 5
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * (V.nbytes + B.nbytes) < 8 * n * n / 10


def test_a_learned_kernel_stays_in_its_factors():
    baskets = [[0, 1], [], [0, 1, 2], [2]] * 20
    model = dv.learn.NonsymmetricKernel(rank=2, rng=0, n_epochs=3).fit(baskets, n_items=6)
    assert isinstance(model.dpp_._form, LowRankForm)
    assert model.dpp_.log_prob([0, 1]) == pytest.approx(model.score([[0, 1]]), abs=1e-9)
    L = dense(model.V_, model.B_, model.C_ / 2.0)
    assert np.allclose(model.dpp_.L, L)


# draws -----------------------------------------------------------------------------------------------------


def law_of_algorithm(state, prob=1.0, law=None):
    law = Counter() if law is None else law
    if state.done:
        law[frozenset(state.items)] += prob
    else:
        for inside, p in enumerate(state.weights()):
            if p > 0.0:
                law_of_algorithm(state.pick(inside), prob * p, law)
    return law


class Symmetrised(FactorSteps):
    """The known fault: the row is used for the column as well, as if the kernel were symmetric."""

    def pick(self, inside):
        p, f = self.weights()[1], self.F[self.decided]
        row = f @ self.core
        core = self.core - np.outer(row, row) / (p if inside else p - 1.0)
        items = (*self.items, self.decided) if inside else self.items
        return Symmetrised(self.F, core, items, self.decided + 1)


@pytest.mark.parametrize("name", CASES)
def test_the_sequential_sampler_has_the_exact_law(name):
    V, B, D = CASES[name]
    dpp = dv.NonsymmetricDPP.from_low_rank(V, B, D)
    sampler = dpp.sampler(method="sequential")
    followed = law_of_algorithm(steps_of(sampler))
    for Y in reference.subsets(range(dpp.n_items)):
        assert followed[Y] == pytest.approx(math.exp(dpp.log_prob(Y)), abs=1e-9)
    for seed in range(5):
        u = np.random.default_rng(seed).random(dpp.n_items)
        assert np.array_equal(sampler.decide(u), draw_plain(steps_of(sampler), u))


def test_blocks_of_items_and_single_items_give_the_same_draw():
    dpp = dv.NonsymmetricDPP.from_low_rank(*factors(300, 6, 6, 0, 0.3))
    sampler = dpp.sampler(method="sequential")
    for seed in range(3):
        u = np.random.default_rng(seed).random(300)
        assert np.array_equal(sampler.decide(u), draw_plain(steps_of(sampler), u))


@pytest.mark.parametrize("tall", [False, True], ids=["qr", "gram"])
def test_proposals_and_acceptance_give_the_exact_law(tall, monkeypatch):
    if tall:
        monkeypatch.setattr(nonsymmetric_low_rank, "_SMALL", 0)
    for name in ("tall", "odd", "skew"):
        V, B, D = CASES[name]
        dpp = dv.NonsymmetricDPP.from_low_rank(V, B, D)
        sampler = dpp.sampler(method="rejection")
        proposals = reference.law_from_L(sampler._features @ sampler._features.T)
        kept = {
            Y: p * sampler.acceptance(np.array(sorted(Y), dtype=np.int64)) for Y, p in proposals.items() if p > 1e-14
        }
        assert sum(kept.values()) == pytest.approx(1.0 / sampler.expected_tries, rel=1e-9)
        law = reference.law_from_L(dense(V, B, D))
        for Y, p in law.items():
            assert kept.get(Y, 0.0) * sampler.expected_tries == pytest.approx(p, abs=1e-9)
            # The symmetric kernel dominates: no acceptance is cut off at one.
            if p > 1e-14:
                rows = sampler._features[sorted(Y)]
                assert np.linalg.det(dense(V, B, D)[np.ix_(sorted(Y), sorted(Y))]) <= 1.000001 * np.linalg.det(
                    rows @ rows.T
                ) or not len(Y)


@pytest.mark.parametrize("method", ["auto", "sequential", "rejection"])
def test_draws_follow_the_law_and_faults_are_seen(method):
    V, B, D = CASES["tall"]
    dpp = dv.NonsymmetricDPP.from_low_rank(V, B, D)
    law = reference.law_from_L(dense(V, B, D))
    assert reference.law_p_value(dpp.sample(20_000, rng=1, method=method), law) > 1e-4
    if method == "rejection":
        proposals = dpp.sampler(method=method)._proposals.draw_many(5_000, np.random.default_rng(1))
        assert reference.law_p_value(proposals, law) < 1e-4
    if method == "sequential":
        wrong = law_of_algorithm(Symmetrised(dpp._form.rows, dpp._form.marginal_core))
        assert max(abs(wrong[A] - p) for A, p in law.items()) > 1e-2


def test_draws_of_large_low_rank_kernels_have_the_rank():
    V, B, D = CASES["large"]
    dpp = dv.NonsymmetricDPP.from_low_rank(V, B, D)
    for kernel in (dpp, dv.NonsymmetricDPP(dense(V, B, D))):
        law = reference.law_from_L(dense(V, B, D) / 1e10)
        top = {Y: p for Y, p in law.items() if len(Y) == 4}
        top = {Y: p / sum(top.values()) for Y, p in top.items()}
        assert reference.law_p_value([d for d in kernel.sample(5_000, rng=0) if len(d) == 4], top) > 1e-4
        assert np.mean([len(d) == 4 for d in kernel.sample(200, rng=1)]) > 0.98


def test_methods_that_do_not_serve():
    dpp = dv.NonsymmetricDPP.from_low_rank(*CASES["tall"])
    with pytest.raises(DiversetError, match=r"method is 'dual'.*offers auto, sequential, rejection"):
        dpp.sampler(method="dual")
    with pytest.raises(DiversetError, match=r"offers auto, sequential$"):
        dpp.condition(include=[0]).sample(method="rejection")
    # Twenty pairs of partners, each a coin: the symmetric kernel proposes the two items of a pair one by one.
    B, D = np.linalg.qr(factors(60, 40)[0])[0], np.kron(np.eye(20), [[0.0, 1.0], [0.0, 0.0]])
    hopeless = dv.NonsymmetricDPP.from_low_rank(np.zeros((60, 1)), B, D)
    with pytest.raises(DiversetError, match=r"tries a draw.*sequential"):
        hopeless.sample(method="rejection")
    assert len(hopeless.sample(rng=0)) <= 40


def test_auto_weighs_the_expected_tries():
    rng = np.random.default_rng(0)
    V, B = rng.standard_normal((2, 4_000, 8)) / 60.0
    few = dv.NonsymmetricDPP.from_low_rank(V, B, 0.1 * rng.standard_normal((8, 8)))
    assert few.sampler(10_000).name == "rejection"
    assert few.sampler(1).name == "sequential"  # the tables cost more than one draw
    B, D = np.linalg.qr(rng.standard_normal((4_000, 16)))[0], np.kron(np.eye(8), [[0.0, 1.0], [0.0, 0.0]])
    many = dv.NonsymmetricDPP.from_low_rank(V, B, D)
    assert 200.0 < many.sampler(method="rejection").expected_tries < 1e4
    assert many.sampler(10_000).name == "sequential"


def test_a_draw_that_is_always_refused_is_made_item_by_item(monkeypatch):
    V, B, D = CASES["tall"]
    dpp = dv.NonsymmetricDPP.from_low_rank(V, B, D)
    sampler = dpp.sampler(method="rejection")
    tries = []
    monkeypatch.setattr(type(sampler), "acceptance", lambda self, Y: tries.append(1) or 0.0)
    rng = np.random.default_rng(0)
    draws = [sampler.draw(rng) for _ in range(2_000)]
    assert len(tries) == 2_000 * math.ceil(20.0 * sampler.expected_tries)
    assert reference.law_p_value(draws, reference.law_from_L(dense(V, B, D))) > 1e-4


# greedy ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tall", "wide", "odd", "symmetric"])
def test_greedy_takes_the_largest_determinant_each_time(name):
    V, B, D = CASES[name]
    L = dense(V, B, D)
    for dpp in (dv.NonsymmetricDPP.from_low_rank(V, B, D), dv.NonsymmetricDPP(L)):
        picked = dv.map_greedy(dpp, 3)
        chosen = []
        for item, gain in zip(picked.indices.tolist(), picked.gains, strict=True):
            dets = [
                np.linalg.det(L[np.ix_([*chosen, i], [*chosen, i])]) if i not in chosen else -1.0 for i in range(len(L))
            ]
            assert dets[item] == pytest.approx(max(dets), rel=1e-9)
            before = np.linalg.det(L[np.ix_(chosen, chosen)]) if chosen else 1.0
            assert gain == pytest.approx(math.log(dets[item] / before), abs=1e-9)
            chosen.append(item)
        assert picked.log_prob == pytest.approx(dpp.log_prob(chosen))
        towards_mode = dv.map_greedy(dpp)
        assert (towards_mode.gains > 0.0).all()


def test_greedy_stops_at_the_rank_and_without_a_kernel():
    V, B, D = CASES["symmetric"]
    assert dv.map_greedy(dv.NonsymmetricDPP.from_low_rank(V, B, D), 5).rank_spent == 3
    partners = dv.NonsymmetricDPP([[0.0, 3.0], [-3.0, 0.0]])
    assert len(dv.map_greedy(partners, 2)) == 0
    certain = dv.NonsymmetricDPP.from_marginal([[1.0, 0.3], [0.0, 0.5]])
    with pytest.raises(NoLikelihoodKernelError, match="map_greedy needs a likelihood kernel"):
        dv.map_greedy(certain, 1)
    from_K = dv.NonsymmetricDPP.from_marginal([[0.5, 0.3], [-0.3, 0.5]])
    assert dv.map_greedy(from_K, 2).indices.tolist() in ([0, 1], [1, 0])


def test_impossible_events():
    dpp = dv.NonsymmetricDPP.from_low_rank(*CASES["dependent"])
    assert dpp.log_prob([0, 1]) == -math.inf
    assert dpp.marginal([0, 1]) == pytest.approx(0.0, abs=1e-15)
    with pytest.raises(ImpossibleEventError, match=r"including \[0, 1\]"):
        dpp.condition(include=[0, 1])
    zero = dv.NonsymmetricDPP.from_low_rank(np.zeros((5, 1)), np.zeros((5, 2)), np.ones((2, 2)))
    assert zero.size_distribution.tolist() == [1.0]
    assert [len(d) for d in zero.sample(3, rng=0)] == [0, 0, 0]
