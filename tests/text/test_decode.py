"""Decoders against the textbook, by enumeration and by plain twins."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

import diverset as dv
from diverset.sampling import rejection
from diverset.text import mean_rouge, pairwise_rouge, rouge, word_counts
from diverset.text.decode import draw_between, indicator, least_risk
from samplers_in_steps import draw_by_rejection

SENTENCES = [
    "The river rose and flooded the old town.",
    "Floods hit the old town; the river rose, the river fell.",
    "Children went home early.",
    "The mayor asked the children to stay home, at home.",
    "Trains still ran on Monday.",
    "",
]


def sampler_of(L):
    return rejection.prepare(dv.DPP(L)._representation)


def kernel(n, seed, scale=1.0):
    X = np.random.default_rng(seed).standard_normal((n, n + 2))
    return scale * X @ X.T / n


def textbook_greedy(L, costs, room):
    """Algorithm 6 by determinants."""
    Z = np.linalg.det(L + np.eye(len(L)))

    def prob(Y):
        return np.linalg.det(L[np.ix_(Y, Y)]) / Z if Y else 1 / Z

    Y, U = [], [i for i in range(len(L)) if costs[i] <= room]
    while U:
        i = max(U, key=lambda i: (prob([*Y, i]) - prob(Y)) / costs[i])
        Y.append(i)
        spent = sum(costs[j] for j in Y)
        U = [j for j in U if j != i and spent + costs[j] <= room]
    return Y


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
def test_greedy_is_algorithm_6(seed, scale):
    L = kernel(9, seed, scale)
    costs = np.random.default_rng(seed).integers(1, 9, size=9)
    found = dv.inference.map_budgeted(dv.DPP(L), costs, 15, fill=True).indices
    assert found.tolist() == textbook_greedy(L, costs, 15)
    assert costs[found].sum() <= 15


def test_greedy_takes_no_copy_and_nothing_that_does_not_fit():
    L = kernel(5, 0)
    L = L[np.ix_([0, 1, 1, 2, 0], [0, 1, 1, 2, 0])]
    found = dv.inference.map_budgeted(dv.DPP(L), np.ones(5, dtype=np.int64), 5, fill=True).indices
    assert len(found) == 3
    assert dv.inference.map_budgeted(dv.DPP(L), np.full(5, 7), 6, fill=True).indices.tolist() == []


def window_law(L, costs, low, high):
    """Law of a DPP's set given that its cost is in a window, over all subsets."""
    n = len(L)
    subsets = [Y for k in range(n + 1) for Y in itertools.combinations(range(n), k)]
    weights = {Y: np.linalg.det(L[np.ix_(Y, Y)]) if Y else 1.0 for Y in subsets if low <= sum(costs[list(Y)]) <= high}
    total = sum(weights.values())
    return {Y: weight / total for Y, weight in weights.items()}


def p_value(L, costs, low, high, law):
    draws = draw_between(sampler_of(L), costs, low, high, 4000, rng=5)
    seen = Counter(tuple(int(i) for i in Y) for Y in draws.sets)
    assert set(seen) <= set(law)
    return chisquare([seen[Y] for Y in law], [4000 * p for p in law.values()]).pvalue


def test_draws_have_the_law_given_the_window():
    L, costs = kernel(5, 3, 0.7), np.array([2, 3, 3, 4, 5])
    law = window_law(L, costs, 6, 8)
    assert len(law) > 5
    assert p_value(L, costs, 6, 8, law) > 1e-4
    # A twin: the law without the window's condition on qualities is rejected.
    flat = {Y: 1 / len(law) for Y in law}
    assert p_value(L, costs, 6, 8, flat) < 1e-4


def test_rejections_are_counted():
    L, costs = kernel(5, 3, 0.7), np.array([2, 3, 3, 4, 5])
    draws = draw_between(sampler_of(L), costs, 6, 8, 50, rng=0)
    assert len(draws.sets) == 50 < draws.n_drawn
    assert indicator(draws.sets, 5).sum(axis=1).A1.tolist() == [len(items) for items in draws.sets]
    few = draw_between(sampler_of(L), costs, 17, 17, 50, rng=0, most=200)
    assert len(few.sets) < 50
    assert few.n_drawn == 200
    assert all(costs[Y].sum() == 17 for Y in few.sets)
    assert draw_between(sampler_of(L), costs, 1, 1, 3, rng=0, most=20).sets == []


def test_draws_are_those_of_the_sampler_in_order():
    """Two routes: the sets in the window among all draws of the same generator, one by one."""
    L, costs = kernel(7, 5, 0.8), np.array([2, 3, 3, 4, 5, 1, 2])
    draws = draw_between(sampler_of(L), costs, 5, 7, 700, rng=11)
    sampler = sampler_of(L)
    generator = np.random.default_rng(11)
    expected, drawn = [], 0
    while len(expected) < 700:
        items = draw_by_rejection(sampler, generator)
        drawn += 1
        if 5 <= costs[items].sum() <= 7:
            expected.append(items.tolist())
    assert [Y.tolist() for Y in draws.sets] == expected
    assert draws.n_drawn == drawn


def random_sets(n_sets, seed):
    rng = np.random.default_rng(seed)
    return [np.flatnonzero(rng.random(len(SENTENCES)) < 0.5) for _ in range(n_sets)]


def test_pairwise_scores_are_rouge():
    sets = [*random_sets(8, 0), np.zeros(0, dtype=np.int64)]
    found = pairwise_rouge(sets, word_counts(SENTENCES))
    texts = [" ".join(SENTENCES[i] for i in Y) for Y in sets]
    for (a, first), (b, second) in itertools.product(enumerate(texts), repeat=2):
        expected = rouge(first, second, metrics=["rouge-1"])["rouge-1"].f
        assert found[a, b] == pytest.approx(expected, abs=1e-6)


def test_mean_scores_are_means_of_pairs():
    sets = random_sets(60, 1)
    counts = word_counts(SENTENCES)
    np.testing.assert_allclose(mean_rouge(sets, counts), pairwise_rouge(sets, counts).mean(axis=1), atol=2e-7)
    best, scores = least_risk(sets, counts), mean_rouge(sets, counts)
    assert scores[best] == pytest.approx(scores.max(), abs=1e-12)
    assert best == min(i for i, score in enumerate(scores) if math.isclose(score, scores.max(), abs_tol=1e-12))


def test_words_of_other_scripts_count():
    counts = word_counts(["Это слово", "Это дело", "word"])
    assert pairwise_rouge([[0], [1], [2]], counts)[0].tolist() == [1.0, 0.5, 0.0]


def test_means_of_three_sets_by_hand():
    counts = word_counts(["a red cat", "a black dog", "red red wine"])
    assert mean_rouge([[0], [0, 1], [2]], counts) == pytest.approx([2 / 3, 17 / 27, 14 / 27])
