"""Mixtures learned from comparisons: the projection, convexity, the optimum, tiny probabilities."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

import diverset as dv
from diverset.errors import DiversetError, KernelError, LabelError, SizeError
from diverset.learn import Comparison, KDPPMixtureLearner, MMRMixtureLearner
from diverset.learn.comparisons import minimize_on_simplex, project_to_simplex
from kernels_for_tests import wishart


def experts(n, number, seed):
    return [wishart(n, n + 2, seed + l) for l in range(number)]  # noqa: E741


def comparisons_of(kernels, truth, number, k, seed):
    """Pairs that differ in one item, judged by one expert."""
    rng = np.random.default_rng(seed)
    judge = dv.KDPP(kernels[truth], k)
    found = []
    for _ in range(number):
        items = rng.choice(len(kernels[0]), size=k + 1, replace=False).tolist()
        pair = sorted([items[:k], items[: k - 1] + items[k:]], key=judge.log_prob, reverse=True)
        found.append(Comparison(kernels, *pair))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_projection_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    x = 2.0 * rng.standard_normal(5)
    found = project_to_simplex(x)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0)
    # The variational inequality (x - p).(v - p) <= 0 at every vertex is what makes p nearest.
    for vertex in np.eye(5):
        assert (x - found) @ (vertex - found) <= 1e-12


def test_a_quadratic_on_the_simplex():
    A, b = wishart(6, 8, 1), np.random.default_rng(2).standard_normal(6)

    def objective(theta):
        return float(0.5 * theta @ A @ theta + b @ theta), A @ theta + b

    theta, report = minimize_on_simplex(objective, np.full(6, 1 / 6), max_iter=1000, tol=1e-10)
    reference = minimize(
        objective,
        np.full(6, 1 / 6),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda t: t.sum() - 1},
        options={"ftol": 1e-15},
    )
    assert report.converged
    assert (np.diff(report.objective) >= -1e-14).all()
    np.testing.assert_allclose(theta, reference.x, atol=1e-6)


def loss_of(model, pairs, theta):
    data = model._read(pairs)
    margins, _ = model._margins(data, theta)
    return np.logaddexp(0.0, -model.gamma_ * margins).mean()


def test_the_loss_is_the_formula_and_convex():
    kernels = experts(7, 3, 10)
    pairs = comparisons_of(kernels, 1, 30, 3, 11)
    model = KDPPMixtureLearner(gamma=20.0).fit(pairs)
    probabilities = {
        (l, tuple(Y)): np.exp(dv.KDPP(kernels[l], 3).log_prob(Y))
        for l in range(3)  # noqa: E741
        for p in pairs
        for Y in (p.better, p.worse)
    }
    largest = max(probabilities.values())

    def formula(theta):
        total = 0.0
        for p in pairs:
            gap = sum(
                theta[l] * (probabilities[l, tuple(p.better)] - probabilities[l, tuple(p.worse)])
                for l in range(3)  # noqa: E741
            )
            total += np.log1p(np.exp(-20.0 / largest * gap))
        return total / len(pairs)

    rng = np.random.default_rng(12)
    for _ in range(5):
        a, b = rng.dirichlet(np.ones(3), size=2)
        values = [loss_of(model, pairs, a + t * (b - a)) for t in np.linspace(0, 1, 9)]
        assert (np.diff(values, 2) > -1e-12).all()
        assert values[0] == pytest.approx(formula(a), rel=1e-10)
        # Nothing on the simplex beats what was found.
        assert min(values) >= loss_of(model, pairs, model.weights_) - 1e-8


def test_gradient_by_finite_differences():
    kernels = experts(6, 3, 20)
    pairs = comparisons_of(kernels, 0, 10, 2, 21)
    for model in (KDPPMixtureLearner(), MMRMixtureLearner()):
        data, theta, h = model._read(pairs), np.array([0.2, 0.5, 0.3]), 1e-6
        _, rows = model._margins(data, theta)
        for l in range(3):  # noqa: E741
            e = np.eye(3)[l]
            difference = (model._margins(data, theta + h * e)[0] - model._margins(data, theta - h * e)[0]) / (2 * h)
            np.testing.assert_allclose(rows[:, l], difference, atol=1e-6)


def test_the_judge_is_found():
    kernels = experts(10, 4, 30)
    train, test = comparisons_of(kernels, 2, 200, 4, 31), comparisons_of(kernels, 2, 200, 4, 32)
    model = KDPPMixtureLearner(rng=0).fit(train)
    assert model.weights_.argmax() == 2
    assert model.weights_[2] > 0.8
    assert model.score(test) > 0.93
    assert model.predict(test).mean() == model.score(test)
    # Others' opinions are worth less.
    singles = [KDPPMixtureLearner(gamma=1.0).fit([Comparison([k], [0], [1])]) for k in kernels]
    assert len(singles) == 4
    mixture = model.mixture(kernels, 4)
    assert mixture.weights[2] == pytest.approx(model.weights_[2])


def test_mmr_mixture_learns_the_judge_too():
    kernels = [np.abs(k) for k in experts(10, 3, 40)]
    kernels = [k / np.sqrt(np.outer(np.diag(k), np.diag(k))) + 10 * np.eye(10) for k in kernels]
    rng = np.random.default_rng(41)
    pairs = []
    for _ in range(150):
        *shared, a, b = rng.choice(10, size=5, replace=False).tolist()
        if kernels[1][a, shared].max() > kernels[1][b, shared].max():
            a, b = b, a
        pairs.append(Comparison(kernels, [*shared, a], [*shared, b]))
    model = MMRMixtureLearner(rng=0).fit(pairs[:100])
    assert model.weights_.argmax() == 1
    assert model.score(pairs[100:]) > 0.9


@pytest.mark.parametrize("scaling", ["global", "pair"])
def test_probabilities_of_1e_minus_100(scaling):
    """Sets of 60 out of 400: every probability is below 1e-70, and the better expert is found all the same."""
    rng = np.random.default_rng(50)
    kernels = [dv.DPP.from_features(rng.standard_normal((400, 80))) for _ in range(3)]
    judge = kernels[1].of_size(60)
    pairs = []
    for _ in range(30):
        first, second = (rng.choice(400, size=60, replace=False).tolist() for _ in range(2))
        pairs.append(Comparison(kernels, *sorted([first, second], key=judge.log_prob, reverse=True)))
    assert max(judge.log_prob(p.better) for p in pairs) < np.log(1e-70)
    model = KDPPMixtureLearner(scaling=scaling, rng=0).fit(pairs)
    assert np.isfinite(model.weights_).all()
    assert model.weights_.argmax() == 1
    assert model.score(pairs) > 0.8


def test_equal_experts_share():
    kernel = wishart(6, 7, 60)
    pairs = comparisons_of([kernel, kernel], 0, 20, 2, 61)
    np.testing.assert_allclose(KDPPMixtureLearner(gamma=1.0).fit(pairs).weights_, [0.5, 0.5], atol=1e-9)


def test_sklearn_takes_it():
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_score

    pairs = comparisons_of(experts(6, 2, 70), 0, 30, 2, 71)
    assert clone(KDPPMixtureLearner(gamma=3.0)).gamma == 3.0
    assert cross_val_score(KDPPMixtureLearner(gamma=10.0), pairs, cv=3).mean() > 0.6


K2 = [np.eye(3), np.eye(3)]


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        ([], DiversetError, "there are no comparisons"),
        ([Comparison(K2, [0], [1]), Comparison(K2[:1], [0], [1])], DiversetError, "comparison 1 has 1 kernels"),
        ([Comparison(K2, [0, 1], [1])], SizeError, "comparison 0 is of sets of 2 and 1 items"),
        ([Comparison(K2, [0], [5])], LabelError, "comparison 0: .* item 5"),
        (
            [Comparison([np.eye(3), np.diag([1.0, 0, 0])], [0, 1], [1, 2])],
            SizeError,
            "expert 1 in comparison 0: k is 2",
        ),
        ([Comparison([np.diag([0.0, 0, 1])], [0], [1])], DiversetError, "every expert gives both sets probability 0"),
        ([(K2, [0], [1])], DiversetError, "comparison 0 is a tuple"),
    ],
)
def test_bad_comparisons(pairs, error, message):
    with pytest.raises(error, match=message):
        KDPPMixtureLearner(gamma=1.0).fit(pairs)


def test_bad_parameters():
    pair = [Comparison(K2, [0], [1])]
    with pytest.raises(DiversetError, match="scaling is 'none'"):
        KDPPMixtureLearner(scaling="none").fit(pair)
    with pytest.raises(DiversetError, match="gamma is -1"):
        KDPPMixtureLearner(gamma=-1).fit(pair)
    with pytest.raises(DiversetError, match="share 0 items and differ in 1"):
        MMRMixtureLearner().fit(pair)
    with pytest.raises(DiversetError, match="1 kernels for 2 experts"):
        KDPPMixtureLearner(gamma=1.0).fit(pair).mixture(K2[:1], 1)


def test_all_pairs_of_a_small_ground_set_are_ranked():
    """One expert: the model's order of all sets is that of the k-DPP."""
    kernel = wishart(5, 6, 80)
    kdpp = dv.KDPP(kernel, 2)
    sets = [list(Y) for Y in itertools.combinations(range(5), 2)]
    pairs = [Comparison([kernel], a, b) for a, b in itertools.permutations(sets, 2)]
    model = KDPPMixtureLearner(gamma=1.0).fit(pairs)
    expected = [kdpp.log_prob(p.better) > kdpp.log_prob(p.worse) for p in pairs]
    assert model.predict(pairs).tolist() == expected


@pytest.mark.parametrize(
    "model", [KDPPMixtureLearner(rng=0), KDPPMixtureLearner(scaling="pair", gamma=5.0), MMRMixtureLearner(rng=0)]
)
def test_a_table_is_as_good_as_the_comparisons(model):
    pairs = comparisons_of(experts(7, 3, 0), 1, 40, 4, 2)
    table = model.table(pairs)
    assert len(table) == 40
    plain = model.fit(pairs[5:]).weights_
    # Probabilities are divided by the largest of all that were read, which changes the unit of gamma only.
    model.fit(table.take(np.arange(5, 40)))
    assert model.weights_ == pytest.approx(plain, abs=0.05)
    whole = model.fit(pairs).weights_
    assert (model.fit(table).weights_ == whole).all()
    assert model.score(table.take(np.arange(10))) == model.score(pairs[:10])
    assert (model.predict(table) == model.predict(pairs)).all()


def test_a_table_of_another_learner_is_refused():
    table = MMRMixtureLearner().table(comparisons_of(experts(5, 2, 0), 1, 4, 3, 2))
    with pytest.raises(DiversetError, match="the table is for MMRMixtureLearner"):
        KDPPMixtureLearner().fit(table)
    with pytest.raises(DiversetError, match="scaling='pair'"):
        KDPPMixtureLearner().fit(KDPPMixtureLearner(scaling="pair").table(comparisons_of(experts(5, 2, 0), 1, 4, 3, 2)))


def test_mmr_takes_sets_of_different_sizes():
    kernels = experts(8, 2, 3)
    pairs = comparisons_of(kernels, 0, 5, 4, 1) + comparisons_of(kernels, 0, 5, 3, 1)
    theta = np.array([0.3, 0.7])
    model = MMRMixtureLearner()
    margins = model._margins(model._read(pairs), theta)[0]
    S = 0.3 * kernels[0] + 0.7 * kernels[1]
    for margin, pair in zip(margins, pairs, strict=True):
        shared = set(pair.better) & set(pair.worse)
        (plus,), (minus,) = set(pair.better) - shared, set(pair.worse) - shared
        assert margin == pytest.approx(max(S[minus, j] for j in shared) - max(S[plus, j] for j in shared))


def test_mmr_takes_real_similarities():
    phase = np.array([[1.0, 0.1j, 0.0], [-0.1j, 1.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(KernelError, match="comparison 0: kernel is complex; it must hold real numbers"):
        MMRMixtureLearner(gamma=1.0).fit([Comparison([phase], [0, 1], [0, 2])])
