"""Draws of structures and of sets: exact laws by following every branch, and counts against the law."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.sampling.eigenvector_law import EigenvectorLaw
from diverset.structured.sets import NaiveWalk, SetSampler
from diverset.structured.walk import WalkPlan, draw_structures
from structures_for_tests import cases, loops
from structures_plain import StructureWalk

ALL = cases() | loops()
SMALL = ["chain", "star, centre without features", "tree 1", "tree 2", "ternary factor", "ring"]


def follow(state, values, prob=1.0, law=None):
    """Exact law of a sequential sampler of structures: follow every branch and add up probabilities."""
    law = Counter() if law is None else law
    if state.done:
        law[values(state)] += prob
    else:
        for j, p in enumerate(state.weights()):
            if p > 0.0:
                follow(state.pick(j), values, prob * p, law)
    return law


def walked(space):
    def values(state):
        tree = np.array([[state.fixed[r] for r in range(len(space.tree.n_values))]])
        return tuple(space.decode(tree)[0].tolist())

    return values


def named(space):
    return lambda state: tuple(space.decode(np.array([state.fixed]))[0].tolist())


def exact_law(model, V):
    """Probability (1/m) sum_v q^2 (v^T phi)^2 of every structure, from the list of all."""
    mass = ((model.rows @ V) ** 2).sum(axis=1)
    return dict(zip(map(tuple, model.structures.tolist()), mass / mass.sum(), strict=True))


def distance(law, exact):
    return max(abs(law[y] - p) for y, p in exact.items())


@pytest.mark.parametrize("name", list(ALL))
def test_walk_has_the_exact_law_of_a_structure(name):
    model = ALL[name]
    space = dv.StructuredDPP(model.graph())._space
    V = np.random.default_rng(3).standard_normal((model.n_features, 2))
    plan = WalkPlan.of(space.tree, V)
    for n in range(2):
        law = follow(StructureWalk(plan, n), walked(space))
        assert distance(law, exact_law(model, V[:, [n]])) < 1e-12


@pytest.mark.parametrize("name", SMALL)
def test_naive_walk_has_the_exact_law_of_a_structure(name):
    model = ALL[name]
    space = dv.StructuredDPP(model.graph())._space
    V = np.random.default_rng(4).standard_normal((model.n_features, 2))
    law = follow(NaiveWalk(space, V), named(space))
    assert distance(law, exact_law(model, V)) < 1e-12


class RootToLeaf(StructureWalk):
    """The known fault: siblings drawn with the messages of the first pass, as if nothing were fixed since."""

    def weights(self):
        # Only what is fixed between the root and this factor is seen.
        if not self.started:
            return super().weights()
        tree = self.plan.tree
        A, r = 0.0, tree.nodes[self.stack[-1][0]].parent
        while True:
            phi = tree.unary[r].features
            A += 0.0 if phi is None else float(phi[self.fixed[r], self.n])
            above = [node for node in tree.nodes if r in node.children]
            if not above:
                break
            r = above[0].parent
        return StructureWalk(self.plan, self.n, self.fixed, A, self.stack, True).weights()

    def pick(self, j):
        state = super().pick(j)
        return RootToLeaf(state.plan, state.n, state.fixed, state.A, state.stack, True)


def test_a_plain_pass_from_root_to_leaf_is_right_on_chains_and_caught_on_trees():
    V = np.random.default_rng(5).standard_normal((3, 1))
    for name, right in [("chain", True), ("star, centre without features", False)]:
        model = ALL[name]
        space = dv.StructuredDPP(model.graph())._space
        law = follow(RootToLeaf(WalkPlan.of(space.tree, V), 0), walked(space))
        assert (distance(law, exact_law(model, V)) < 1e-12) == right
    assert distance(law, exact_law(model, V)) > 1e-3


@pytest.mark.parametrize("name", list(ALL))
def test_many_walks_at_once_draw_what_single_ones_draw(name):
    model = ALL[name]
    space = dv.StructuredDPP(model.graph())._space
    V = np.random.default_rng(6).standard_normal((model.n_features, 3))
    plan = WalkPlan.of(space.tree, V)
    for n in range(3):
        for seed in range(5):
            drawn = draw_structures(plan, np.array([n]), np.random.default_rng(seed))[0]
            rng, state = np.random.default_rng(seed), StructureWalk(plan, n)
            while not state.done:
                cumulative = np.cumsum(state.weights())
                state = state.pick(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")))
            assert {r: int(v) for r, v in enumerate(drawn)} == state.fixed


def test_many_walks_at_once_follow_their_laws():
    model = ALL["tree 1"]
    space = dv.StructuredDPP(model.graph())._space
    V = np.random.default_rng(8).standard_normal((model.n_features, 2))
    plan = WalkPlan.of(space.tree, V)
    n = np.arange(6_000) % 2
    drawn = space.decode(draw_structures(plan, n, np.random.default_rng(0)))
    index = {y: i for i, y in enumerate(map(tuple, model.structures.tolist()))}
    p_values = {}
    for asked in range(2):
        for told in range(2):
            law = {frozenset([index[y]]): p for y, p in exact_law(model, V[:, [told]]).items()}
            draws = [[index[tuple(y)]] for y in drawn[n == asked].tolist()]
            p_values[asked, told] = reference.law_p_value(draws, law)
    assert min(p_values[0, 0], p_values[1, 1]) > 1e-4
    assert max(p_values[0, 1], p_values[1, 0]) < 1e-12


def labelled(draws, model):
    index = {y: i for i, y in enumerate(map(tuple, model.structures.tolist()))}
    return [[index[tuple(y)] for y in draw.tolist()] for draw in draws]


@pytest.fixture(scope="module")
def eight():
    """Eight structures, so that all 256 sets can be listed."""
    from structures_for_tests import tree

    return tree(np.random.default_rng(21), [2, 2, 2])


@pytest.mark.parametrize(("method", "size"), [("rejection", 6_000), ("walk", 700), ("naive", 300)])
def test_sets_follow_the_law(eight, method, size):
    s = dv.StructuredDPP(eight.graph()).rescale(1.5)
    L = eight.rows @ eight.rows.T
    law = reference.law_from_L(L * np.exp(s._log_factor))
    draws = labelled(s.sample(size, rng=5, method=method), eight)
    assert reference.law_p_value(draws, law) > 1e-4
    # The twin: sets of as many structures drawn independently of each other are told apart.
    p = s.inclusion_probability(eight.structures)
    rng = np.random.default_rng(0)
    alone = [np.flatnonzero(rng.random(8) < p) for _ in range(size)]
    assert reference.law_p_value(alone, law) < 1e-6
    draws = labelled(s.of_size(2).sample(size, rng=6, method=method), eight)
    assert reference.law_p_value(draws, reference.of_size(law, 2)) > 1e-4


@pytest.mark.parametrize("method", ["rejection", "walk"])
def test_conditioned_sets_follow_the_law(eight, method):
    Y = eight.structures
    s = dv.StructuredDPP(eight.graph()).rescale(2.0).condition(include=[Y[2]], exclude=[Y[5], Y[1]])
    L = eight.rows @ eight.rows.T * np.exp(s._log_factor)
    law = reference.conditioned(reference.law_from_L(L), include=[2], exclude=[5, 1])
    draws = labelled(s.sample(600, rng=5, method=method), eight)
    assert reference.law_p_value(draws, law) > 1e-4
    assert not {2, 5, 1} & {i for draw in draws for i in draw}
    k = labelled(s.of_size(1).sample(600, rng=5, method=method), eight)
    assert reference.law_p_value(k, reference.of_size(law, 1)) > 1e-4


def test_draws_depend_on_the_seed_alone(eight):
    s = dv.StructuredDPP(eight.graph())
    for method in ("auto", "walk"):
        first, again = s.sample(5, rng=3, method=method), s.sample(5, rng=3, method=method)
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    one = s.sample(rng=3)
    assert one.dtype == np.int64
    assert one.shape[1] == 3
    assert (one == one[np.lexsort(one.T[::-1])]).all()
    assert s.sample(0) == []


def test_sets_that_do_not_fit_together_are_drawn_in_groups(eight, monkeypatch):
    from diverset.structured import sets

    s = dv.StructuredDPP(eight.graph()).rescale(1.5)
    monkeypatch.setattr(sets, "_SHARED_BYTES", 0)
    law = reference.law_from_L(eight.rows @ eight.rows.T * np.exp(s._log_factor))
    assert reference.law_p_value(labelled(s.sample(800, rng=5), eight), law) > 1e-4


def test_the_empty_set_is_drawn_as_often_as_it_should(eight):
    s = dv.StructuredDPP(eight.graph()).rescale(0.3)
    sizes = [len(Y) for Y in s.sample(2_000, rng=1)]
    p = s.size_distribution[0]
    assert abs(sizes.count(0) - 2_000 * p) < 4.0 * np.sqrt(2_000 * p * (1 - p))


def test_sampler_takes_any_law_of_eigenvectors(eight):
    s = dv.StructuredDPP(eight.graph())
    law = replace(EigenvectorLaw.of(s._spectrum.support), success=np.zeros(s.rank), failure=np.ones(s.rank))
    sampler = SetSampler(s._space, law, s._vectors, np.zeros((0, 3), dtype=np.int64))
    assert [Y.shape for Y in sampler.draw(2, np.random.default_rng(0), "rejection")] == [(0, 3), (0, 3)]
