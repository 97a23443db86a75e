"""Greedy under a budget: the textbook's picks, the guarantee, and a budget that is never exceeded."""

import math
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest

import diverset as dv
from diverset.inference.greedy import map_budgeted
from kernels_for_tests import LIKELIHOOD_KERNELS, duplicated, wishart


def det_of(L, Y):
    return float(np.linalg.det(L[np.ix_(Y, Y)]).real) if len(Y) else 1.0


def textbook(L, costs, budget, rule, fill):
    """Algorithm 6, by determinants; without `fill` it stops once nothing raises the probability."""
    U = [i for i in range(len(L)) if costs[i] <= budget]
    Y = []
    while U:
        now = det_of(L, Y)
        after = {i: det_of(L, [*Y, i]) for i in U}
        U = [i for i in U if after[i] > 1e-9 * now * L[i, i].real and (fill or after[i] > now)]
        if not U:
            break
        score = {i: (after[i] - now if rule == "probability" else math.log(after[i] / now)) / costs[i] for i in U}
        best = max(U, key=lambda i: (score[i], -i))
        Y.append(best)
        U = [i for i in U if i != best and sum(costs[j] for j in Y) + costs[i] <= budget]
    return Y


def within(costs, budget):
    n = len(costs)
    sets = chain.from_iterable(combinations(range(n), k) for k in range(n + 1))
    return [list(Y) for Y in sets if sum(costs[i] for i in Y) <= budget]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rule", ["probability", "log"])
@pytest.mark.parametrize("fill", [False, True])
def test_picks_are_the_textbooks(seed, rule, fill):
    rng = np.random.default_rng(seed)
    L = 3.0 * wishart(10, 12 if seed % 2 else 4, seed)
    costs = rng.integers(1, 9, 10).astype(float)
    budget = float(rng.integers(5, 25))
    dpp = dv.DPP(L)
    expected = textbook(L, costs, budget, rule, fill)
    found = map_budgeted(dpp, costs, budget, rule=rule, fill=fill)
    affordable = [i for i in range(10) if costs[i] <= budget]
    single = max(affordable, key=lambda i: (L[i, i], -i))
    if not fill and det_of(L, [single]) > max(det_of(L, expected), 1.0):
        expected = [single]
    assert found.indices.tolist() == expected
    assert found.log_prob == pytest.approx(dpp.log_prob(expected))
    assert found.gains.sum() == pytest.approx(found.log_det)
    assert costs[found.indices].sum() <= budget


@pytest.mark.parametrize("seed", range(10))
def test_guarantee_where_the_log_determinant_is_monotone(seed):
    rng = np.random.default_rng(seed)
    L = wishart(9, 12, seed) * 3.0 + np.eye(9)
    costs = rng.uniform(0.2, 3.0, 9)
    budget = float(rng.uniform(1.0, 6.0))
    best = max(math.log(det_of(L, Y)) for Y in within(costs, budget))
    found = map_budgeted(dv.DPP(L), costs, budget, rule="log")
    assert found.objective >= 0.5 * (1.0 - 1.0 / math.e) * best - 1e-12


def test_best_single_item_saves_the_day():
    # The cheap item has the better ratio and leaves no room for the one that is worth having.
    dpp = dv.DPP(np.diag([1.2, 1e6]))
    for rule in ("probability", "log"):
        costs = [1e-9, 100.0]
        assert map_budgeted(dpp, costs, 100.0, rule=rule).indices.tolist() == [1]
    assert map_budgeted(dpp, [1e-9, 100.0], 100.0, rule="log", fill=True).indices.tolist() == [0]


def test_ranks_by_probability_not_by_its_logarithm():
    # (9 - 1) / 4 = 2 against (2.5 - 1) / 1 = 1.5; log 9 / 4 = 0.55 against log 2.5 = 0.92.
    dpp = dv.DPP(np.diag([9.0, 2.5]))
    assert map_budgeted(dpp, [4.0, 1.0], 10.0).indices.tolist() == [0, 1]
    assert map_budgeted(dpp, [4.0, 1.0], 10.0, rule="log").indices.tolist() == [1, 0]


@pytest.mark.parametrize("seed", range(20))
def test_floating_sums_never_exceed_the_budget(seed):
    rng = np.random.default_rng(seed)
    n = 40
    costs = rng.choice([0.1, 0.2, 0.3, 0.7, 1e-3, 1e9 / 7.0], n)
    budget = float(np.sum(rng.choice(costs, 10)))
    found = map_budgeted(dv.DPP(5.0 * np.eye(n)), costs, budget)
    paid = costs[found.indices]
    assert paid.sum() <= budget
    assert math.fsum(paid) <= budget
    exact = sum(map(Fraction, paid.tolist()), Fraction(0))
    assert float(exact) <= budget


def test_budget_of_zero_and_nothing_that_fits():
    dpp = dv.DPP(np.diag([3.0, 2.0]))
    assert map_budgeted(dpp, [1.0, 1.0], 0).indices.tolist() == []
    assert map_budgeted(dpp, [1.0, 1.0], 0.5).objective == 0.0
    assert map_budgeted(dv.DPP(0.5 * np.eye(2)), [1.0, 1.0], 5.0).indices.tolist() == []
    assert map_budgeted(dv.DPP(0.5 * np.eye(2)), [1.0, 1.0], 5.0, fill=True).indices.tolist() == [0, 1]


@pytest.mark.parametrize("name", sorted(LIKELIHOOD_KERNELS))
def test_every_kernel_stops_at_its_rank(name):
    dpp = dv.DPP(LIKELIHOOD_KERNELS[name])
    found = map_budgeted(dpp, np.ones(dpp.n_items), 100.0, fill=True)
    assert len(found) == dpp.rank
    assert found.objective > -math.inf


def test_duplicates_and_features():
    found = map_budgeted(dv.DPP(duplicated(7, 0)), np.ones(7), 5.0, fill=True)
    assert len({0, 1, 2} & set(found)) == 1
    F = np.random.default_rng(0).standard_normal((50, 8))
    costs = np.random.default_rng(1).uniform(1, 2, 50)
    by_features = map_budgeted(dv.DPP.from_features(F), costs, 7.0)
    assert by_features.indices.tolist() == map_budgeted(dv.DPP(F @ F.T), costs, 7.0).indices.tolist()


def test_refusals_name_the_value():
    dpp = dv.DPP(np.eye(3))
    for costs, budget, message in [
        ([1.0, 2.0], 1.0, "2 entries for 3 items"),
        ([1.0, -2.0, 1.0], 1.0, r"costs\[1\] is -2"),
        ([1.0, 0.0, 1.0], 1.0, r"costs\[1\] is 0"),
        ([1.0, math.nan, 1.0], 1.0, r"costs\[1\] is nan"),
        ([1.0, 1.0, 1.0], -1.0, "budget is -1"),
        ([1.0, 1.0, 1.0], math.nan, "budget is nan"),
        ([1.0, 1.0j, 1.0], 1.0, "complex"),
    ]:
        with pytest.raises(dv.errors.DiversetError, match=message):
            map_budgeted(dpp, costs, budget)
    with pytest.raises(dv.errors.DiversetError, match="rule is 'ratio'"):
        map_budgeted(dpp, np.ones(3), 1.0, rule="ratio")
    with pytest.raises(dv.errors.NoLikelihoodKernelError, match="map_budgeted needs"):
        map_budgeted(dv.DPP.from_marginal(np.eye(2)), np.ones(2), 1.0)
