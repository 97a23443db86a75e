"""Baselines under the learners' interface: laws by enumeration, fits by their equations."""

import math

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError, ImpossibleEventError
from diverset.learn import IndependentItems, Instance, LogisticQuality, PoissonItems, QualityModel, QualityModelCV
from reference import conditioned, law_from_K, probability, subsets

BASKETS = [[0], [0, 1], [1, 2], [0, 2, 3], [], [0], [2]]


def poisson_law(weights, rate):
    """Sizes by Poisson's law up to the number of items, contents in proportion to the product of weights."""
    n = len(weights)
    sizes = np.array([rate**k / math.factorial(k) for k in range(n + 1)])
    sizes /= sizes.sum()
    products = {Y: np.prod(weights[sorted(Y)]) if Y else 1.0 for Y in subsets(range(n))}
    totals = [sum(p for Y, p in products.items() if len(Y) == k) for k in range(n + 1)]
    return {Y: sizes[len(Y)] * p / totals[len(Y)] for Y, p in products.items()}


def test_independent_law():
    model = IndependentItems().fit(BASKETS, n_items=4)
    law = law_from_K(np.diag(model.p_))
    np.testing.assert_allclose(model.p_, (np.array([4, 2, 3, 1]) + 0.5) / 8)
    for Y, p in law.items():
        assert np.exp(model.log_prob([sorted(Y)])[0]) == pytest.approx(p, abs=1e-13)
        assert np.exp(model.dpp_.log_prob(Y)) == pytest.approx(p, abs=1e-13)
    scores = model.next_item_scores([1])
    assert scores[1] == 1.0
    np.testing.assert_allclose(scores[[0, 2, 3]], model.p_[[0, 2, 3]])
    assert [found.item for found in model.recommend([0], 2)] == [2, 1]


def test_independent_without_smoothing():
    model = IndependentItems(pseudo_count=0.0).fit([[0], [0, 1]], n_items=3)
    assert model.log_prob([[1], [0, 2]]).tolist() == [-np.inf, -np.inf]
    assert model.log_prob([[0]])[0] == pytest.approx(np.log(0.5))


def test_poisson_law():
    model = PoissonItems().fit(BASKETS, n_items=4)
    law = poisson_law(model.weights_, model.rate_)
    assert sum(law.values()) == pytest.approx(1.0)
    for Y, p in law.items():
        assert np.exp(model.log_prob([sorted(Y)])[0]) == pytest.approx(p, abs=1e-12)
        assert np.exp(model.dpp_.log_prob(Y)) == pytest.approx(p, abs=1e-12)
    for A in ([], [1], [0, 3], [0, 1, 2, 3]):
        given = conditioned(law, include=A)
        expected = [1.0 if i in A else probability(given, include=[i]) for i in range(4)]
        np.testing.assert_allclose(model.next_item_scores(A), expected, atol=1e-12)


def test_poisson_baskets_larger_than_what_was_seen_are_impossible():
    model = PoissonItems(pseudo_count=0.0).fit([[0], [0, 1], [2]], n_items=5)
    found = model.log_prob([[0, 1, 2], [0, 3], [0, 1, 2, 3], [0, 1, 2, 3, 4]])
    assert np.isfinite(found).tolist() == [True, False, False, False]
    assert (found[1:] == -np.inf).all()


def test_poisson_weights_reproduce_the_counts():
    model = PoissonItems(pseudo_count=0.0, tol=1e-10, max_iter=2000).fit(BASKETS, n_items=4)
    assert model.convergence_.converged
    assert model.rate_ == pytest.approx(10 / 7)
    expected = np.zeros(4)
    for basket in BASKETS:
        kdpp = dv.KDPP(np.diag(model.weights_), len(basket))
        expected += kdpp.inclusion_probabilities
    np.testing.assert_allclose(expected, [4, 2, 3, 1], rtol=1e-8)


def test_poisson_edges():
    never = PoissonItems(pseudo_count=0.0).fit([[0], [1], [0, 1]], n_items=3)
    assert never.log_prob([[2]])[0] == -np.inf
    with pytest.raises(ImpossibleEventError, match=r"\[2\]"):
        never.next_item_scores([2])
    nothing = PoissonItems(pseudo_count=0.0).fit([[], []], n_items=2)
    assert nothing.log_prob([[]])[0] == pytest.approx(0.0)


def instances_and_sets(number, seed):
    rng = np.random.default_rng(seed)
    instances = [
        Instance(
            np.column_stack([rng.standard_normal((8, 2)), np.ones(8)]),
            similarity=dv.kernels.rbf,
            diversity=rng.standard_normal((8, 2)),
        )
        for _ in range(number)
    ]
    truth = QualityModel().set_coef([1.0, -0.5, 0.3])
    return instances, [truth.dpp(x).sample(rng=rng) for x in instances]


@pytest.mark.filterwarnings("ignore:Setting penalty=None")  # scikit-learn 1.8, for an infinite C
def test_logistic_quality_is_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    instances, sets = instances_and_sets(60, 0)
    model = LogisticQuality().fit(instances, sets)
    F = np.vstack([x.features for x in instances])
    chosen = np.concatenate([np.isin(np.arange(8), Y) for Y in sets])
    logistic = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, max_iter=1000).fit(F, chosen)
    np.testing.assert_allclose(model.coef_, logistic.coef_[0], atol=1e-5)
    # Its DPP has the similarities all the same, and knows less about the sets than the model learned in context.
    assert model.score(instances, sets) < QualityModel().fit(instances, sets).score(instances, sets) - 0.1
    dpp = model.dpp(instances[0])
    assert dpp.log_prob(sets[0]) == pytest.approx(model.log_prob(instances[:1], sets[:1])[0])


def test_logistic_quality_refuses_what_is_no_instance():
    with pytest.raises(DiversetError, match="instance 0 is a list"):
        LogisticQuality().fit([[1.0]], [[0]])


def test_cross_validation_chooses_what_held_out_sets_like():
    instances, sets = instances_and_sets(40, 1)
    search = QualityModelCV(prior_variances=[1e-4, 1.0], rhos=[0.0, 3.0], cv=4, rng=0).fit(instances, sets)
    assert (search.prior_variance_, search.rho_) == (1.0, 0.0)
    assert search.scores_.shape == (2, 2)
    assert search.scores_.argmax() == 1
    again = QualityModel(prior_variance=1.0).fit(instances, sets)
    np.testing.assert_allclose(search.coef_, again.coef_, atol=1e-6)
    assert search.score(instances, sets) == pytest.approx(again.score(instances, sets), abs=1e-9)
    assert search.dpp(instances[0]).n_items == 8
    same = QualityModelCV(prior_variances=[1e-4, 1.0], rhos=[0.0, 3.0], cv=4, rng=0).fit(instances, sets)
    np.testing.assert_array_equal(same.scores_, search.scores_)


@pytest.mark.parametrize(
    ("params", "message"),
    [({"cv": 1}, "cv is 1"), ({"cv": 9}, "cv is 9 for 4 instances"), ({"rhos": []}, "at least one candidate")],
)
def test_bad_searches(params, message):
    instances, sets = instances_and_sets(4, 2)
    with pytest.raises(DiversetError, match=message):
        QualityModelCV(**{"cv": 2, **params}).fit(instances, sets)
