"""Dominating kernels, truncation, offers of samplers and chunks of draws at their limits."""

import math
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.errors import DiversetError, SizeError
from diverset.sampling import (
    batch,
    generic,
    intermediate,
    mcmc,
    offers,
    rejection,
    spectral,
    truncated,
)
from diverset.sampling.base import GroupedSampler, Offer, OutsideSampler, Sampler, outside, take
from diverset.sampling.eigenvector_law import TABLE, TILTED, EigenvectorLaw
from diverset.sampling.kernel_function import read_entries
from kernels_for_tests import wishart


def entries_of(L):
    return read_entries(dv.DPP(np.asarray(L, dtype=float))._representation)


# a dominating kernel -----------------------------------------------------------------------------------------


def polynomial(lam, k):
    return sum(math.prod(J) for J in combinations(lam, k))


def test_weights_of_the_sizes_of_two_parts():
    lam = [0.3, 2.0, 5.0]
    for total in (0.0, 0.7):
        for k in (0, 1, 3, 5):
            found = np.exp(intermediate.log_size_weights(np.log(lam), k, total))
            expected = [total**s / math.factorial(s) * polynomial(lam, k - s) for s in range(k + 1)]
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert intermediate._tilt(np.array(lam), 2) == pytest.approx(polynomial(lam, 1) / polynomial(lam, 2))
    assert intermediate._tilt(np.array(lam), 3) == pytest.approx(polynomial(lam, 2) / polynomial(lam, 3))
    assert intermediate._tilt(np.array(lam), 4) == math.inf
    assert intermediate._tilt(np.array([0.0, *lam]), 4) == math.inf
    assert [intermediate._tilt(np.array(lam), k) for k in (None, 0)] == [1.0, 1.0]


def test_ranks_that_fit_into_half_of_the_memory(monkeypatch):
    for free, n, rank in (
        (None, 10_000, 4096),
        (None, 1000, 1000),
        (None, 10, 64),
        (80 * 1000 * 100, 1000, 100),
        (80 * 1000 * 10, 1000, 64),
        (1 << 50, 10_000, 4096),
        (0, 0, 64),
    ):
        monkeypatch.setattr(intermediate, "available_memory", lambda free=free: free)
        assert intermediate._affordable_rank(n) == rank


def test_when_a_factor_is_good_enough():
    def found(rank, bound, lam=()):
        columns = SimpleNamespace(gram=lambda: np.diag(lam))
        return SimpleNamespace(rank=rank, bound=np.array(bound), columns=columns)

    # (sqrt(0.01) + sqrt(0.04))^2 = 0.09
    for k in (None, 0):
        assert not intermediate._stopping_rule(k, 0.089)(found(5, [0.01, 0.04]))
        assert intermediate._stopping_rule(k, 0.091)(found(5, [0.01, 0.04]))
    # With k = 2 in units of e_2/e_1 = 11/6, once there are k columns.
    lam = [1.0, 2.0, 3.0]
    assert not intermediate._stopping_rule(2, 1.0)(found(1, [0.01, 0.04], [1.0]))
    assert not intermediate._stopping_rule(2, 0.089 * 6 / 11)(found(3, [0.01, 0.04], lam))
    assert intermediate._stopping_rule(2, 0.091 * 6 / 11)(found(3, [0.01, 0.04], lam))
    # Eigenvalues are computed again when the rank has grown by 30%.
    stop = intermediate._stopping_rule(2, 0.091 * 6 / 11)
    assert not stop(found(10, [0.01, 0.04], [1.0, 1.0]))
    assert not stop(found(12, [0.01, 0.04], lam))
    assert stop(found(13, [0.01, 0.04], lam))


@pytest.mark.parametrize("k", [None, 2])
def test_attempts_are_accepted_by_the_ratio_of_determinants(k):
    L = wishart(6, 8, 5)
    sampler = intermediate.IntermediateSampler(entries_of(L), k, max_rank=4)
    above = sampler.dominating
    A = above.low_rank.likelihood_block(np.arange(6), np.arange(6))
    assert np.linalg.eigvalsh(A + np.diag(above.d) - L)[0] > -1e-12
    np.testing.assert_allclose(above.residual, np.diagonal(L - A), atol=1e-12)
    root = np.sqrt(above.residual)
    np.testing.assert_allclose(above.d, root * root.sum())
    assert above.total == pytest.approx(above.d.sum())
    for Y in reference.subsets(range(6)):
        at = np.array(sorted(Y), dtype=int)
        ratio = reference.det(L[np.ix_(at, at)]) / reference.det((A + np.diag(above.d))[np.ix_(at, at)])
        assert math.exp(above.log_acceptance(at)) == pytest.approx(ratio, rel=1e-9)
    if k is None:
        assert sampler.acceptance_bound == pytest.approx(math.exp(-above.total))
        return
    lam = np.linalg.eigvalsh(A)[2:]
    weights = [above.total**s / math.factorial(s) * polynomial(lam, k - s) for s in range(k + 1)]
    assert sampler.acceptance_bound == pytest.approx(weights[0] / sum(weights))


def test_items_of_the_residual_are_distinct_and_in_proportion():
    sampler = intermediate.IntermediateSampler(entries_of(wishart(4, 6, 1)), max_rank=2)
    rng = np.random.default_rng(0)
    assert sampler._draw_residual_items(0, rng).tolist() == []
    d = sampler.dominating.d
    ones = [sampler._draw_residual_items(1, rng) for _ in range(4_000)]
    assert reference.law_p_value(ones, {frozenset((i,)): p for i, p in enumerate(d / d.sum()) if p > 1e-9}) > 1e-4
    twos = [S for S in (sampler._draw_residual_items(2, rng) for _ in range(4_000)) if S is not None]
    law = reference.normalized({frozenset(pair): d[pair[0]] * d[pair[1]] for pair in combinations(range(4), 2)})
    assert reference.law_p_value(twos, law) > 1e-4
    # Two parts with a common item are no set.
    T = np.array([1, 3])
    assert sampler._accepts(None, T, rng) is None
    assert sampler._accepts(np.array([3]), T, rng) is None
    sampler.dominating.log_acceptance = lambda _: 0.0
    assert sampler._accepts(np.array([2]), T, rng).tolist() == [1, 2, 3]
    sampler.dominating.log_acceptance = lambda _: -math.inf
    assert sampler._accepts(T[:0], T, rng) is None


def test_attempts_that_never_succeed_end():
    sampler = intermediate.IntermediateSampler(entries_of(wishart(4, 6, 1)))
    sampler.dominating.log_acceptance = lambda _: -math.inf
    with pytest.raises(DiversetError, match="attempts gave 0 draws"):
        sampler.draw(np.random.default_rng(0))


# truncation --------------------------------------------------------------------------------------------------


def test_bounds_of_truncated_spectra():
    lam = [0.1, 0.5, 2.0, 7.0]
    x = np.log(lam)
    for rank in range(5):
        kept = lam[4 - rank :]
        expected = 1.0 - math.prod(1.0 / (1.0 + value) for value in lam[: 4 - rank])
        assert truncated.truncation_bound(x, rank) == pytest.approx(expected, abs=1e-14)
        for k in range(5):
            expected = 1.0 - polynomial(kept, k) / polynomial(lam, k)
            assert truncated.truncation_bound(x, rank, k) == pytest.approx(expected, abs=1e-14)
            # Eigenvalues of L that are infinite are in every set.
            certain = np.concatenate([x, [np.inf, np.inf]])
            assert truncated.truncation_bound(certain, rank + 2, k + 2) == pytest.approx(expected, abs=1e-14)
    assert truncated.truncation_bound(np.array([0.0, np.inf]), 0, 1) == 1.0
    assert truncated.truncation_bound(np.array([0.0, np.inf]), 1, 0) == 1.0
    assert truncated.truncation_bound(np.array([0.0, np.inf]), 1, 1) == 0.0
    for k in (None, 0, 2, 4):
        for tolerance in (0.0, 0.05, 0.4, 0.9, 1.0):
            bounds = [truncated.truncation_bound(x, rank, k) for rank in range(5)]
            first = next(rank for rank in range(k or 0, 5) if bounds[rank] <= tolerance)
            assert truncated._smallest_rank(x, k, tolerance) == first


def test_bounds_of_truncated_factors():
    lam = np.array([0.1, 0.5, 2.0])
    for cut in range(4):
        for trace in (0.0, 0.2):
            dropped, kept = lam[:cut], lam[cut:]
            expected = 1.0 - math.exp(-trace) * math.prod(1.0 / (1.0 + dropped))
            assert truncated._factor_bound(lam, cut, trace, None) == pytest.approx(expected, abs=1e-14)
            tau = trace + dropped.sum()
            for k in range(4):
                terms = [tau**s / math.factorial(s) * polynomial(kept, k - s) for s in range(k + 1)]
                expected = 1.0 - terms[0] / sum(terms) if terms[0] else 1.0
                assert truncated._factor_bound(lam, cut, trace, k) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("source", ["spectrum", "factor"])
def test_ranks_that_are_asked_for(monkeypatch, source, k):
    monkeypatch.setattr(truncated, "_SMALL", 0 if source == "factor" else 1500)
    dpp = dv.DPP(wishart(8, 5, 2))
    for rank in (2, 4, 5, 8):
        sampler = truncated.TruncatedSampler(dpp._representation, k, rank=rank)
        assert sampler.rank == min(rank, 5)
        assert len(sampler.draw(np.random.default_rng(0))) <= sampler.rank
        assert (sampler.total_variation_bound < 1e-12) is (rank >= 5)
    loose, tight = (truncated.TruncatedSampler(dpp._representation, k, tolerance=t) for t in (0.9, 1e-9))
    assert loose.rank < tight.rank == 5
    assert loose.total_variation_bound <= 0.9
    for bad, message in (({"k": 6}, "k is 6, but the kernel has rank 5"), ({"k": 3, "rank": 2}, "rank is 2, but sets")):
        with pytest.raises(SizeError, match=message):
            truncated.TruncatedSampler(dpp._representation, **bad)
    assert truncated.TruncatedSampler(dpp._representation, 5).rank == 5


# offers ------------------------------------------------------------------------------------------------------


def test_the_cheapest_exact_offer_is_taken():
    class Nothing(Sampler):
        def draw(self, rng):
            return np.zeros(0, dtype=np.int64)

    def offer(name, seconds, exact=True):
        return Offer(name, seconds, Nothing, exact)

    assert take([offer("a", 2.0), offer("b", 1.0), offer("c", 0.0, exact=False)]).name == "b"
    assert take([offer("c", 3.0, exact=False), offer("d", 2.0, exact=False)]).name == "d"
    assert take([offer("a", 2.0), offer("mcmc", math.inf, exact=False)], "mcmc").name == "mcmc"


def growth(seconds, at):
    """Power of its argument that a cost grows with."""
    return math.log(seconds(2.0 * at) / seconds(at), 2.0)


def test_costs_grow_as_listed():
    """Asymptotic powers of the table in the module of offers; the constants are measured times."""

    def fake(n, width, m=1.0):
        return SimpleNamespace(n=n, eigen_width=width, size_bound=m)

    dense = lambda n: fake(n, n)  # noqa: E731
    assert growth(lambda n: offers._rejection_seconds(dense(n), 1.0, 1), 1e6) == pytest.approx(3.0, abs=0.01)
    assert growth(lambda n: offers._rejection_seconds(fake(n, 50.0), 1.0, 1), 1e9) == pytest.approx(1.0, abs=0.01)
    assert growth(lambda m: offers._rejection_seconds(fake(1e6, 1e6), m, 10**12), 1e5) == pytest.approx(3.0, abs=0.01)
    assert growth(lambda n: offers._spectral_seconds(dense(n), 1.0, 1), 1e7) == pytest.approx(3.0, abs=0.01)
    assert growth(lambda n: offers._spectral_seconds(fake(n, 50.0), 9.0, 1), 1e9) == pytest.approx(1.0, abs=0.01)
    assert growth(lambda m: offers._spectral_seconds(fake(1e6, 1e6), m, 10**9), 1e5) == pytest.approx(2.0, abs=0.01)
    assert growth(lambda n: offers._complement_seconds(n, n, 1), 1e6) == pytest.approx(3.0, abs=0.01)
    assert growth(lambda h: offers._complement_seconds(1e6, 1e6 - h, 10**12), 1e5) == pytest.approx(3.0, abs=0.01)
    # No draw has more items than the kernel has eigenvectors, or than there are items.
    for cost in (offers._rejection_seconds, offers._spectral_seconds):
        assert cost(fake(100.0, 5.0), 50.0, 3) == cost(fake(100.0, 5.0), 5.0, 3)
    assert offers._complement_seconds(100.0, 150.0, 3) == offers._complement_seconds(100.0, 100.0, 3)
    # Every cost is positive and rises with the number of draws.
    for cost in (
        lambda s: offers._rejection_seconds(fake(50.0, 50.0), 5.0, s),
        lambda s: offers._rejection_seconds(fake(50.0, 5.0), 5.0, s),
        lambda s: offers._spectral_seconds(fake(50.0, 50.0), 5.0, s),
        lambda s: offers._spectral_seconds(fake(50.0, 5.0), 5.0, s),
        lambda s: offers._complement_seconds(50.0, 5.0, s),
    ):
        values = [cost(s) for s in (1, 2, 3, 100)]
        assert 0.0 < values[0] < values[1] < values[2] < values[3]


def test_costs_of_all_offers_of_a_model():
    L = wishart(60, 60, 1)
    B = np.random.default_rng(0).standard_normal((60, 4))
    for dpp in (dv.DPP(L), dv.DPP.from_marginal(dv.DPP(L).K), dv.DPP.from_features(B), dv.DPP(L).complement()):
        for k in (None, 3):
            few, many = ({offer.name: offer for offer in dpp._representation.samplers(k, size)} for size in (1, 1000))
            assert ("sequential" in few) is (k is None)
            for name, offer in few.items():
                assert offer.exact is (name not in ("truncated", "mcmc"))
                assert 0.0 < offer.seconds < many[name].seconds or offer.seconds == math.inf
                assert (offer.seconds == math.inf) is (not offer.exact)
            # Many draws of few items, or of all but few, are made by rejection; features never by their dual.
            assert k is None or take(list(many.values())).name in ("rejection", "complement")
            assert take(list(few.values())).name != "dual"
    assert take(dv.DPP(np.eye(300))._representation.samplers(None, 1)).name == "sequential"


class Uniform:
    """All sets of n items, each as probable; without probabilities of events if `silent`."""

    def __init__(self, n, *, silent=False):
        self.n_items, self.silent = n, silent

    def _log_event_probability(self, inside, outside):
        if self.silent:
            raise NotImplementedError
        return -(len(inside) + len(outside)) * math.log(2.0)


class Weighted(Uniform):
    """Sets weighted by a table; all sizes are as probable."""

    def __init__(self, weights):
        super().__init__(len(weights).bit_length() - 1)
        self.weights = weights
        self.size_distribution = np.full(self.n_items + 1, 1.0)

    def _log_prob(self, inside):
        return math.log(self.weights[sum(1 << int(i) for i in inside)])


@pytest.mark.parametrize("start", [0, 5, 7])
def test_one_step_of_a_walk_over_any_distribution(start):
    """Half of the steps toggle an item, half exchange two; each is accepted by the ratio of weights."""
    weights = [1.0, 2.0, 0.5, 3.0, 4.0, 1.5, 1.0, 2.5]
    model = Weighted(weights)
    walk = generic.LogProbWalk(model, steps=1)
    at = np.array([bool(start >> i & 1) for i in range(3)])
    walk._start = lambda rng: (at, math.log(weights[start]))
    law = dict.fromkeys(range(8), 0.0)
    members, others = np.flatnonzero(at), np.flatnonzero(~at)
    moves = [(start ^ (1 << i), 0.5 / 3.0) for i in range(3)]
    moves += [
        (start ^ (1 << int(i)) ^ (1 << int(j)), 0.5 / (len(members) * len(others))) for i in members for j in others
    ]
    for to, share in moves:
        law[to] += share * min(1.0, weights[to] / weights[start])
    law[start] += 1.0 - sum(law.values())
    law = {frozenset(i for i in range(3) if mask >> i & 1): p for mask, p in law.items()}
    rng = np.random.default_rng(start)
    assert reference.law_p_value([walk.draw(rng) for _ in range(3_000)], law) > 1e-4


def test_walks_over_any_distribution_start_and_end():
    model = Weighted([1.0, 1.0, 1.0, 1.0])
    assert generic.LogProbWalk(model)._steps == mcmc.default_steps(2, 1)
    rng = np.random.default_rng(0)
    sizes = [int(generic.LogProbWalk(model)._start(rng)[0].sum()) for _ in range(300)]
    assert set(sizes) == {0, 1, 2}
    empty = Weighted([1.0])
    assert [generic.LogProbWalk(empty).draw(rng).tolist() for _ in range(20)] == [[]] * 20
    assert generic.listed(Weighted([1.0, 3.0])).draw_many(3, np.random.default_rng(1))[0].tolist() in ([], [0])


def test_a_draw_item_by_item_multiplies_conditional_probabilities():
    # Item 0 has probability 0.3, then item 1 has 0.9 beside item 0 and 0.2 without it.
    law = {(): 0.56, (1,): 0.14, (0,): 0.03, (0, 1): 0.27}

    def ask(inside, outside):
        return math.log(sum(p for Y, p in law.items() if set(inside) <= set(Y) and not set(outside) & set(Y)))

    sampler = generic.ChainRuleSampler(SimpleNamespace(n_items=2, _log_event_probability=ask))
    for uniforms, expected in (
        ((0.29, 0.89), [0, 1]),
        ((0.29, 0.91), [0]),
        ((0.31, 0.19), [1]),
        ((0.31, 0.21), []),
    ):
        fixed = SimpleNamespace(random=lambda n, uniforms=uniforms: np.array(uniforms))
        assert sampler.draw(fixed).tolist() == expected


def test_draws_of_one_call_take_about_a_sixth_of_a_second():
    """These numbers belong to the draws of a seed: each chunk has a generator of its own.

    For m items, one standard deviation above the mean, by hand: 0.15 s in units of 2 us, 3 ns for each eigenvector and
    try, 4 ns for m^2 (1 + log(1 + m)), and 0.6 ns (2.4 ns if complex) for m^3.
    """

    def chunk(law, dtype=float):
        return rejection.RejectionSampler(
            rejection.Proposals(np.zeros((0, 0), dtype), *[np.zeros((0, 0))] * 2), law
        ).chunk

    assert [chunk(EigenvectorLaw.of(np.zeros(m))) for m in (1, 30, 100, 300, 3000)] == [1024, 1024, 920, 49, 1]
    certain = EigenvectorLaw.of(np.full(150, np.inf))
    assert [chunk(certain), chunk(certain, complex)] == [58, 17]
    # 100 of 2000 eigenvectors, by a table or by repeated trials, about 25 of them.
    assert [chunk(EigenvectorLaw.of(np.zeros(2000), 100, method=way)) for way in (TABLE, TILTED)] == [139, 122]


def test_offers_of_any_distribution():
    for n, names, chosen in (
        (3, {"mcmc", "sequential", "enumeration"}, "enumeration"),
        (12, {"mcmc", "sequential", "enumeration"}, "enumeration"),
        (13, {"mcmc", "sequential", "enumeration"}, "sequential"),
        (20, {"mcmc", "sequential", "enumeration"}, "sequential"),
        (21, {"mcmc", "sequential"}, "sequential"),
    ):
        found = generic.offers(Uniform(n), 1)
        assert {offer.name for offer in found} == names
        assert take(found).name == chosen
        assert {offer.name for offer in generic.offers(Uniform(n, silent=True), 1)} == names - {"sequential"}
    # For many draws the list of all subsets is worth making.
    assert take(generic.offers(Uniform(13), 10_000)).name == "enumeration"
    assert take(generic.offers(Uniform(21, silent=True), 1)).name == "mcmc"


# chunks ------------------------------------------------------------------------------------------------------


class Recorded(Sampler):
    """Numbers its draws by the generator that made them."""

    def __init__(self, chunk):
        self._chunk, self.calls = chunk, []

    @property
    def chunk(self):
        return self._chunk

    def draw(self, rng):
        return rng.integers(0, 1 << 40, size=1)

    def draw_many(self, size, rng):
        self.calls.append((size, rng))
        return super().draw_many(size, rng)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize(("size", "lengths"), [(0, []), (1, [1]), (4, [4]), (5, [4, 1]), (8, [4, 4]), (11, [4, 4, 3])])
def test_chunks_and_their_generators(size, lengths, n_jobs):
    rng = np.random.default_rng(5)
    sampler = Recorded(4)
    draws = batch.draw_batch(sampler, size, rng, n_jobs)
    assert sorted(length for length, _ in sampler.calls) == sorted(lengths)
    if size <= 4:
        assert all(generator is rng for _, generator in sampler.calls)
        expected = Recorded(4).draw_many(size, np.random.default_rng(5))
    else:
        # Each chunk has a generator seeded by the next 256 bits of the stream.
        raw = np.random.default_rng(5).bit_generator
        expected = []
        for length in lengths:
            expected += Recorded(4).draw_many(length, np.random.default_rng(raw.random_raw(4)))
    assert [int(draw[0]) for draw in draws] == [int(draw[0]) for draw in expected]
    streamed = batch.stream_draws(Recorded(4), size, np.random.default_rng(5))
    assert [int(draw[0]) for draw in streamed] == [int(draw[0]) for draw in draws]
    endless = batch.stream_draws(Recorded(4), None, np.random.default_rng(5))
    first = [int(next(endless)[0]) for _ in range(9)]
    longer = batch.draw_batch(Recorded(4), 9, np.random.default_rng(5))
    assert first == [int(draw[0]) for draw in longer]


def test_generators_of_several_jobs():
    rng = np.random.default_rng(0)
    assert batch.children(rng, 1) == [rng]
    two = batch.children(rng, 2)
    assert len(two) == 2
    assert all(generator is not rng for generator in two)
    assert two[0].random() != two[1].random()
    assert batch.children(rng, 0) == []


def test_bytes_and_draws_of_other_samplers():
    class Held(Recorded):
        def __init__(self):
            super().__init__(7)
            self.table, self.other = np.zeros(3), np.zeros(2, dtype=np.int8)

        def draw(self, rng):
            return np.array([1, 3])

    held = Held()
    assert held.nbytes == 26
    # Two probabilities for each of six eigenvectors, and a table of seven by four.
    assert EigenvectorLaw.of(np.zeros(6), 3, method=TABLE).nbytes == 8 * (6 + 6 + 7 * 4)
    assert EigenvectorLaw.of(np.zeros(6)).mean_size == 3.0
    assert EigenvectorLaw.of(np.array([0.0, np.inf, np.inf])).mean_size == 2.5
    left = OutsideSampler(held, 5, "complement")
    assert (left.name, left.exact, left.chunk) == ("complement", True, 7)
    assert left.draw(None).tolist() == [0, 2, 4]
    assert [draw.tolist() for draw in left.draw_many(2, None)] == [[0, 2, 4]] * 2
    assert outside(left, 5, "again") is held
    assert isinstance(outside(held, 5, "complement"), OutsideSampler)


def test_draws_of_a_mixture_come_in_the_order_of_their_labels():
    class Constant(Recorded):
        def __init__(self, label):
            super().__init__(4)
            self.label = label

        def draw(self, rng):
            return np.array([self.label])

    samplers = [Constant(0), Constant(1), Constant(2)]
    weights = np.array([0.2, 0.5, 0.3])
    mixed = GroupedSampler(weights, samplers.__getitem__, "own", True)
    draws = [int(draw[0]) for draw in mixed.draw_many(400, np.random.default_rng(3))]
    assert draws == np.random.default_rng(3).choice(3, size=400, p=weights).tolist()
    assert [len(sampler.calls) for sampler in samplers] == [1, 1, 1]
    assert mixed.draw(np.random.default_rng(3)).tolist() == [draws[0]]


@pytest.mark.parametrize("spread", [13.0, 14.5])
def test_columns_from_features_of_a_wide_spectrum_are_made_orthonormal(spread):
    """From eigenvalues 1e6 apart on, all eigenvectors are computed at once."""
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((9, 2)))[0]
    dpp = dv.DPP.from_features(V * np.exp(0.5 * np.array([0.0, spread])))
    sampler = spectral.SpectralSampler(dpp._representation, None)
    assert (sampler._all is not None) is (spread > 14.0)
    columns = sampler.columns(np.array([0, 1]))
    np.testing.assert_allclose(columns.T @ columns, np.eye(2), atol=1e-9)
    dense = spectral.SpectralSampler(dv.DPP(np.diag([1.0, 1e9]))._representation, None)
    assert dense._all is None
