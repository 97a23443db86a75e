"""The two algorithms for functions that are not monotone: textbook runs, and the guarantees as stated."""

import math
from itertools import chain, combinations

import numpy as np
import pytest

import diverset as dv
from diverset.inference.submodular import map_double_greedy, map_nonmonotone
from kernels_for_tests import LIKELIHOOD_KERNELS, wishart


def log_det_of(L, Y):
    Y = sorted(Y)
    sign, value = np.linalg.slogdet(L[np.ix_(Y, Y)]) if Y else (1.0, 0.0)
    return float(value) if np.real(sign) > 0 and value > -25.0 * max(len(Y), 1) else -math.inf


def best_value(L):
    n = len(L)
    return max(log_det_of(L, Y) for Y in chain.from_iterable(combinations(range(n), k) for k in range(n + 1)))


def textbook_double_greedy(L):
    X, Y = set(), set(range(len(L)))
    for i in range(len(L)):
        a = log_det_of(L, X | {i}) - log_det_of(L, X)
        b = log_det_of(L, Y - {i}) - log_det_of(L, Y)
        if a >= b:
            X.add(i)
        else:
            Y.remove(i)
    assert X == Y
    return sorted(X)


def expected_randomised(L):
    """Expected log-determinant of the randomised algorithm, by following every coin."""

    def follow(i, X, Y):
        if i == len(L):
            return log_det_of(L, X)
        a = max(log_det_of(L, X | {i}) - log_det_of(L, X), 0.0)
        b = max(log_det_of(L, Y - {i}) - log_det_of(L, Y), 0.0)
        p = 1.0 if a + b == 0.0 else a / (a + b)
        value = 0.0
        if p > 0.0:
            value += p * follow(i + 1, X | {i}, Y)
        if p < 1.0:
            value += (1.0 - p) * follow(i + 1, X, Y - {i})
        return value

    return follow(0, frozenset(), frozenset(range(len(L))))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [0.5, 1.0, 4.0])
def test_deterministic_run_is_the_textbooks_and_keeps_its_guarantee(seed, scale):
    L = scale * wishart(9, 13, seed)
    found = map_double_greedy(dv.DPP(L), randomized=False)
    assert found.indices.tolist() == textbook_double_greedy(L)
    assert 3.0 * found.objective >= best_value(L) + np.linalg.slogdet(L)[1] - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_randomised_guarantee_holds_exactly_and_draws_have_that_mean(seed):
    L = (1.0 + seed) * wishart(7, 10, seed)
    dpp = dv.DPP(L)
    mean = expected_randomised(L)
    assert mean >= 0.5 * best_value(L) + 0.25 * np.linalg.slogdet(L)[1] - 1e-9
    rng = np.random.default_rng(seed)
    values = np.array([map_double_greedy(dpp, rng=rng).objective for _ in range(300)])
    # Five standard errors: a coin tossed the other way round moves the mean by far more.
    assert abs(values.mean() - mean) <= 5.0 * values.std() / math.sqrt(len(values)) + 1e-9


def test_fractions_are_the_famous_ones_where_the_determinant_is_at_least_one():
    for seed in range(5):
        L = wishart(8, 12, seed) + np.eye(8)
        best = best_value(L)
        assert map_double_greedy(dv.DPP(L), randomized=False).objective >= best / 3.0 - 1e-9
        assert expected_randomised(L) >= best / 2.0 - 1e-9
        assert map_nonmonotone(dv.DPP(L)).objective >= (1.0 / 3.0 - 0.1 / 8.0) * best - 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_nonmonotone_search_keeps_its_inequality(seed):
    L = 1.5 * wishart(9, 14, seed)
    found = map_nonmonotone(dv.DPP(L), eps=0.05)
    best = best_value(L)
    # The larger of f(S) and f(complement) is returned, so three times it is above both sides of the docstring.
    assert (3.0 + 0.1 / 9.0) * found.objective >= best + np.linalg.slogdet(L)[1] - 1e-9
    assert found.objective >= math.log(np.diagonal(L).max()) - 1e-12


def test_nonmonotone_returns_the_complement_when_it_is_better():
    # From item 0 nothing can be added or removed to advantage; the two items it blocks are worth more.
    B = np.array([[1.21, 1.21], [1.2, 0.0], [0.0, 1.2]]) * 1.2
    dpp = dv.DPP(B @ B.T)
    found = map_nonmonotone(dpp, eps=10.0)
    assert found.objective >= log_det_of(B @ B.T, [0])


@pytest.mark.parametrize("name", sorted(LIKELIHOOD_KERNELS))
@pytest.mark.parametrize("method", [map_double_greedy, map_nonmonotone])
def test_every_kernel_gives_a_set_of_positive_probability(name, method):
    L = LIKELIHOOD_KERNELS[name]
    dpp = dv.DPP(L)
    found = method(dpp, rng=0) if method is map_double_greedy else method(dpp)
    assert found.objective > -math.inf
    assert found.objective == pytest.approx(log_det_of(L, list(found)), abs=1e-8)
    assert found.log_prob == pytest.approx(dpp.log_prob(found.indices))


def test_nothing_is_best_where_no_item_is_longer_than_one():
    assert map_nonmonotone(dv.DPP(0.9 * np.eye(4))).indices.tolist() == []


def test_refusals_and_labels():
    with pytest.raises(dv.errors.NoLikelihoodKernelError, match="map_double_greedy needs"):
        map_double_greedy(dv.DPP.from_marginal(np.eye(2)))
    with pytest.raises(dv.errors.NoLikelihoodKernelError, match="map_nonmonotone needs"):
        map_nonmonotone(dv.DPP.from_marginal(np.eye(2)))
    with pytest.raises(dv.errors.DiversetError, match="eps is -1"):
        map_nonmonotone(dv.DPP(np.eye(2)), eps=-1)
    dpp = dv.DPP(3.0 * wishart(9, 12, 0)).condition(exclude=[0, 4])
    assert set(map_double_greedy(dpp, rng=1)) <= set(dpp.items.tolist())
    assert map_double_greedy(dpp, rng=1).indices.tolist() == map_double_greedy(dpp, rng=1).indices.tolist()
