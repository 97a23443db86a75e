"""A user's own distribution, which supplies the abstract methods and nothing else, can be drawn from."""

import itertools
import math
import pickle

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.errors import DiversetError
from diverset.sampling.base import Sampler
from diverset.sampling.nonsymmetric import FactorSampler
from diverset.sampling.sequential import NonsymmetricSampler


class Table(dv.core.SetDistribution):
    """A law given set by set: the abstract methods, in positions."""

    def __init__(self, law, n, items=None):
        self._law = {frozenset(Y): p for Y, p in law.items()}
        self._items = np.arange(n, dtype=np.int64) if items is None else np.asarray(items)

    def _log_prob(self, inside):
        p = self._law.get(frozenset(inside.tolist()), 0.0)
        return math.log(p) if p > 0.0 else -math.inf

    def _log_event_probability(self, inside, outside):
        A, B = set(inside.tolist()), set(outside.tolist())
        p = sum(p for Y, p in self._law.items() if A <= Y and not B & Y)
        return math.log(p) if p > 0.0 else -math.inf

    @property
    def inclusion_probabilities(self):
        return np.array([self.marginal([i]) for i in self.items])

    def pair_probabilities(self, pairs=None):
        every = pairs or list(itertools.product(self.items, repeat=2))
        found = np.array([self.marginal(sorted(set(pair))) for pair in every])
        return found if pairs else found.reshape(self.n_items, self.n_items)

    @property
    def size_distribution(self):
        pmf = np.zeros(self.n_items + 1)
        for Y, p in self._law.items():
            pmf[len(Y)] += p
        return pmf

    def condition(self, include=(), exclude=()):
        raise NotImplementedError


class Opaque(Table):
    """A law whose partial assignments have no probability at hand."""

    def _log_event_probability(self, inside, outside):
        raise NotImplementedError


def random_law(n, rng, sizes=None):
    sets = [Y for Y in reference.subsets(range(n)) if sizes is None or len(Y) in sizes]
    w = rng.random(len(sets)) ** 3
    return dict(zip(sets, w / w.sum(), strict=True))


LAW = random_law(5, np.random.default_rng(0))
OF_TWO = random_law(5, np.random.default_rng(1), sizes=(2,))
OTHER = random_law(5, np.random.default_rng(2))


@pytest.mark.parametrize(
    ("method", "size", "exact"),
    [("auto", 20_000, True), ("enumeration", 20_000, True), ("sequential", 10_000, True), ("mcmc", 1_000, False)],
)
def test_draws_follow_the_law_and_a_fault_is_seen(method, size, exact):
    model = Table(LAW, 5)
    assert model.sampler(size, method=method).exact is exact
    draws = model.sample(size, rng=1, method=method)
    assert reference.law_p_value(draws, LAW) > 1e-4
    assert reference.law_p_value(draws, OTHER) < 1e-4


@pytest.mark.parametrize(("method", "size"), [("auto", 10_000), ("sequential", 5_000), ("mcmc", 1_000)])
def test_sizes_that_cannot_be_are_never_drawn(method, size):
    draws = Table(OF_TWO, 5).sample(size, rng=1, method=method)
    assert {len(draw) for draw in draws} == {2}
    assert reference.law_p_value(draws, OF_TWO) > 1e-4


def test_the_sampler_says_what_it_is():
    few, many = Table(LAW, 5), Table({frozenset({3, 7}): 0.25, frozenset(): 0.75}, 40)
    assert (few.sampler().name, few.sampler().exact) == ("enumeration", True)
    assert (many.sampler().name, many.sampler().exact) == ("sequential", True)
    opaque = Opaque(LAW, 5)
    assert opaque.sampler().name == "enumeration"
    with pytest.raises(DiversetError, match="this model offers auto, mcmc, enumeration"):
        opaque.sample(method="sequential")
    blind = Opaque({frozenset(Y): 1 / 780 for Y in itertools.combinations(range(40), 2)}, 40)
    assert (blind.sampler().name, blind.sampler().exact) == ("mcmc", False)
    assert len(blind.sample(rng=0)) == 2


def test_items_beyond_what_can_be_listed():
    law = {frozenset({3, 7}): 0.25, frozenset({39}): 0.25, frozenset(): 0.5}
    draws = Table(law, 40).sample(4_000, rng=0)
    assert reference.law_p_value(draws, law) > 1e-4


def test_labels_streams_jobs_and_mixtures_come_with_the_base_class():
    items = [2, 3, 5, 7, 11]
    model = Table(LAW, 5, items=items)
    draws = [draw.tolist() for draw in model.sample(3_000, rng=4)]
    assert {i for draw in draws for i in draw} == set(items)
    assert [draw.tolist() for draw in model.sample(3_000, rng=4, n_jobs=3)] == draws
    assert [draw.tolist() for draw in model.stream(3_000, rng=4)] == draws
    assert model.sample(6, rng=4, output="indicator").shape == (6, 5)
    assert [draw.tolist() for draw in pickle.loads(pickle.dumps(model)).sample(3_000, rng=4)] == draws
    mixture = dv.KDPPMixture([Table(LAW, 5), dv.DPP(np.eye(5))], [0.5, 0.5])
    expected = reference.mixed([LAW, reference.law_from_L(np.eye(5))], [0.5, 0.5])
    assert reference.law_p_value(mixture.sample(10_000, rng=0), expected) > 1e-4
    np.testing.assert_allclose(dv.law(model).sum(), 1.0)


def test_a_model_may_bring_its_own_sampler():
    class Constant(Sampler):
        def draw(self, rng):
            return np.array([0, 2])

    class Own(Table):
        def sampler(self, size=1, *, method="auto"):
            return Constant()

    assert [draw.tolist() for draw in Own(LAW, 5, items=[1, 2, 3, 4, 5]).sample(2)] == [[1, 3], [1, 3]]


def test_a_law_without_a_possible_set_is_refused():
    with pytest.raises(DiversetError, match="Table gives to a set is -inf"):
        Table({}, 3).sample()
    with pytest.raises(DiversetError, match="random sets have probability 0"):
        Opaque({frozenset(range(20)): 1.0}, 40).sample()


@pytest.mark.parametrize("shift", [-900.0, 0.0, 900.0])
def test_weights_far_from_one_are_drawn_in_proportion(shift):
    class Shifted(Opaque):
        """Weights that are known up to a factor."""

        def _log_prob(self, inside):
            return super()._log_prob(inside) + shift

    law = random_law(3, np.random.default_rng(2))
    assert reference.law_p_value(Shifted(law, 3).sample(4_000, rng=0), law) > 1e-4


def test_low_rank_and_dense_nonsymmetric_kernels_make_the_same_decisions():
    rng = np.random.default_rng(6)
    V, B, D = (0.3 * rng.standard_normal(shape) for shape in ((230, 5), (230, 4), (4, 4)))
    form = dv.NonsymmetricDPP.from_low_rank(V, B, 10.0 * D)._form
    K = form.marginal_block(np.arange(230), np.arange(230))
    sizes = set()
    for uniforms in rng.random((20, 230)):
        found = FactorSampler(form).decide(uniforms)
        assert found.tolist() == NonsymmetricSampler(K).decide(uniforms).tolist()
        sizes.add(len(found))
    assert len(sizes) > 1
