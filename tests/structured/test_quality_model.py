"""The quality model alone, greedy sets, labelings and loopy beliefs, against the list of all structures."""

import itertools

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.errors import DiversetError
from diverset.structured import QualityModel, best_set, chain_graph, diverse_labelings, loopy_belief_propagation
from diverset.structured.best import improve_structure
from diverset.structured.messages import pass_both_ways, pass_up
from diverset.structured.semirings import MaxProduct, SumProduct
from diverset.structured.tree import tree_of
from structures_for_tests import cases, loops
from structures_plain import LogSum, SecondOrder

ALL = cases() | loops()
FORESTS = cases()


@pytest.mark.parametrize("name", list(ALL))
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_probabilities_and_the_best(name, power):
    model = ALL[name]
    q, Y = model.qualities**power, model.structures
    ours = QualityModel(model.graph(), power)
    assert ours.log_normalizer == pytest.approx(np.log(q.sum()), rel=1e-10, abs=1e-10)
    assert np.exp(ours.log_prob(Y)) == pytest.approx(q / q.sum(), abs=1e-12)
    for r, p in enumerate(ours.part_marginals()):
        exact = np.bincount(Y[:, r], weights=q, minlength=model.n_values[r]) / q.sum()
        assert p == pytest.approx(exact[: len(p)], abs=1e-12)
    n = min(20, np.count_nonzero(q))
    found = ours.n_best(n)
    assert len(np.unique(found, axis=0)) == n
    assert np.exp(ours.log_prob(found)) == pytest.approx(np.sort(q / q.sum())[::-1][:n], rel=1e-9)
    everything = ours.n_best(len(Y) + 5)
    assert len(everything) == np.count_nonzero(q)


@pytest.mark.parametrize("name", ["tree 1", "ternary factor", "ring"])
def test_independent_draws(name):
    model = ALL[name]
    q = model.qualities
    index = {y: i for i, y in enumerate(map(tuple, model.structures.tolist()))}
    law = {frozenset([i]): p for i, p in enumerate(q / q.sum())}
    draws = [[index[tuple(y)]] for y in QualityModel(model.graph()).sample(3_000, rng=0).tolist()]
    assert reference.law_p_value(draws, law) > 1e-4
    squared = {frozenset([i]): p for i, p in enumerate(q**2 / (q**2).sum())}
    assert reference.law_p_value(draws, squared) < 1e-6


@pytest.mark.parametrize("name", list(FORESTS))
def test_semirings_sum_up_to_what_they_should(name):
    model = FORESTS[name]
    tree = tree_of(model.graph())
    w = model.qualities**2
    total = pass_up(tree, SumProduct())
    assert total.total[0, 0] * np.exp(total.log_scale) == pytest.approx(w.sum(), rel=1e-10)
    best = pass_up(tree, MaxProduct())
    assert best.total[0, 0] * np.exp(best.log_scale) == pytest.approx(w.max(), rel=1e-10)
    logs = pass_up(tree, LogSum())
    assert logs.total[0, 0] + logs.log_scale == pytest.approx(np.log(w.sum()), rel=1e-10, abs=1e-10)
    V = np.random.default_rng(0).standard_normal((model.n_features, 2))
    second = pass_up(tree.with_features(V), SecondOrder())
    exact = ((model.rows @ V[:, 0]) * (model.rows @ V[:, 1])).sum()
    scale = np.abs((model.rows @ V[:, 0]) * (model.rows @ V[:, 1])).sum()
    assert second.total[0, 3] * np.exp(second.log_scale) == pytest.approx(exact, abs=1e-10 * scale)
    beliefs = pass_both_ways(tree, MaxProduct())
    for r, m in enumerate(model.n_values):
        found = beliefs.belief(r)[:, 0]
        exact = np.array([w[model.structures[:, r] == v].max() for v in range(m)])
        assert found / found.max() == pytest.approx(exact / exact.max(), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("name", ["chain", "tree 1", "ternary factor", "ring"])
def test_best_set_is_a_good_one(name):
    model = ALL[name]
    s = dv.StructuredDPP(model.graph()).rescale(1.5)
    found = best_set(s, 2, rng=0)
    L = model.rows @ model.rows.T
    n = len(L)
    best = max(s.log_prob(model.structures[[i, j]]) for i in range(n) for j in range(i) if L[i, i] * L[j, j] > 0)
    greedy = int(np.argmax(np.diag(L)))
    gain = np.diag(L) - L[greedy] ** 2 / L[greedy, greedy]
    # The local search finds what greedy by enumeration finds; greedy itself may fall short of the best.
    second = int(np.argmax(gain))
    assert found.log_prob == pytest.approx(s.log_prob(model.structures[[greedy, second]]), abs=1e-9)
    assert found.log_prob <= best + 1e-9
    assert found.log_prob == pytest.approx(found.gains.sum() - s.log_normalizer, abs=1e-9)
    grown = s.best(rng=0)
    assert all(gain > 0.0 for gain in grown.gains)


def test_improving_a_structure_ends_where_no_part_can_be_changed():
    model = ALL["tree 2"]
    graph = model.graph()
    weights = (model.rows**2).sum(axis=1)
    index = {y: i for i, y in enumerate(map(tuple, model.structures.tolist()))}
    for start in model.structures[weights > 0][::5]:
        y, value = improve_structure(graph, start, np.eye(model.n_features))
        assert np.exp(value) == pytest.approx(weights[index[tuple(y)]], rel=1e-9)
        for r, m in enumerate(model.n_values):
            for v in range(m):
                other = tuple(v if s == r else y[s] for s in range(len(y)))
                assert weights[index[tuple(int(x) for x in other)]] <= np.exp(value) * (1 + 1e-8)


def test_labelings():
    rng = np.random.default_rng(0)
    unary, pairwise = rng.normal(size=(5, 3)), rng.normal(size=(3, 3))
    found = diverse_labelings(unary, pairwise, k=3, temperature=8.0, rng=0)
    total = [
        sum(unary[r, y] for r, y in enumerate(row)) + sum(pairwise[a, b] for a, b in itertools.pairwise(row))
        for row in found.labels.tolist()
    ]
    assert found.scores == pytest.approx(total)
    best = QualityModel(chain_graph(unary, pairwise)).n_best(3)
    apart = [(Y[:, None] != Y[None]).sum() for Y in (found.labels, best)]
    assert apart[0] > apart[1]
    drawn = diverse_labelings(unary, np.stack([pairwise] * 4), k=2, method="sample", rng=0)
    assert drawn.labels.shape == (2, 5)
    with pytest.raises(DiversetError, match="method is 'greedy'"):
        diverse_labelings(unary, k=2, method="greedy")
    with pytest.raises(DiversetError, match="pairwise has shape"):
        diverse_labelings(unary, np.zeros((2, 2)), k=2)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_short_chains_have_the_scores_of_their_labels_and_steps(n):
    rng = np.random.default_rng(n)
    unary, pairwise = rng.normal(size=(n, 3)), rng.normal(size=(max(n - 1, 0), 3, 3))
    Y = np.array(list(itertools.product(range(3), repeat=n)))
    total = [
        sum(unary[r, y] for r, y in enumerate(row)) + sum(pairwise[r, row[r], row[r + 1]] for r in range(n - 1))
        for row in Y.tolist()
    ]
    assert 2.0 * chain_graph(unary, pairwise).log_quality(Y) == pytest.approx(np.array(total))
    assert 4.0 * chain_graph(unary, pairwise, temperature=2.0).log_quality(Y) == pytest.approx(np.array(total))


def test_loopy_beliefs_are_exact_on_forests_and_close_on_cycles():
    for name, model in FORESTS.items():
        found = loopy_belief_propagation(model.graph())
        assert found.converged, name
        exact = QualityModel(model.graph())
        for p, q in zip(found.parts, exact.part_marginals(), strict=True):
            assert p == pytest.approx(q, abs=1e-7)
        assert found.log_normalizer == pytest.approx(exact.log_normalizer, abs=1e-6)
    ring = loops()["grid"]
    found, exact = loopy_belief_propagation(ring.graph()), QualityModel(ring.graph())
    errors = [np.abs(p - q).max() for p, q in zip(found.parts, exact.part_marginals(), strict=True)]
    assert 1e-9 < max(errors) < 0.1
    with pytest.raises(DiversetError, match="damping is 1"):
        loopy_belief_propagation(ring.graph(), damping=1.0)


@pytest.mark.parametrize("name", ["unary", "pairwise", "features"])
def test_complex_scores_raise_an_error_instead_of_losing_their_imaginary_part(name):
    arguments = {"unary": np.zeros((3, 2)), "pairwise": np.zeros((2, 2)), "features": np.zeros((3, 2, 4))}
    arguments[name] = arguments[name] + 1j
    with pytest.raises(DiversetError, match=f"{name} is complex; it must hold real numbers"):
        chain_graph(arguments["unary"], arguments["pairwise"], features=arguments["features"])


def test_a_bad_seed_of_structures_is_named():
    graph = dv.FactorGraph([2, 2])
    for r in range(2):
        graph.add_factor([r], features=np.eye(2))
    for draw in (dv.StructuredDPP(graph).sample, QualityModel(graph).sample):
        with pytest.raises(DiversetError, match="rng is 'seed'; pass None"):
            draw(1, rng="seed")
