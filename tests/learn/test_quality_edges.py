"""Quality models at the edges of their input, and cross-validation by hand."""

import math

import numpy as np
import pytest

from diverset.errors import (
    DiversetError,
    KernelError,
    UnboundedLikelihoodError,
)
from diverset.learn import (
    Instance,
    LogisticQuality,
    QualityModel,
    QualityModelCV,
)

# quality -----------------------------------------------------------------------------------------------------


def quality_data(number=12, n=5, seed=0):
    rng = np.random.default_rng(seed)
    instances = [Instance(rng.standard_normal((n, 2)), diversity=rng.standard_normal((n, 3))) for _ in range(number)]
    truth = QualityModel().set_coef([0.8, -0.4])
    return instances, [truth.dpp(x).sample(rng=rng) for x in instances]


def test_cross_validation_by_hand():
    instances, sets = quality_data()
    variances, rhos, folds = [0.1, 10.0], [0.0, 0.7], 3
    model = QualityModelCV(prior_variances=variances, rhos=rhos, cv=folds, rng=2).fit(instances, sets)
    part = np.random.default_rng(2).permutation(np.arange(12) % folds)
    expected = np.zeros((2, 2))
    for r, rho in enumerate(rhos):
        for v, variance in enumerate(variances):
            for fold in range(folds):
                inside, outside = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
                fitted = QualityModel(rho=rho, prior_variance=variance)
                fitted.fit([instances[t] for t in inside], [sets[t] for t in inside])
                held_out = fitted.log_prob([instances[t] for t in outside], [sets[t] for t in outside])
                expected[r, v] += held_out.sum() / 12
    assert model.scores_ == pytest.approx(expected, abs=1e-6)
    r, v = np.unravel_index(expected.argmax(), expected.shape)
    assert (model.rho_, model.prior_variance_) == (rhos[r], variances[v])
    plain = QualityModel(rho=rhos[r], prior_variance=variances[v]).fit(instances, sets)
    assert model.coef_ == pytest.approx(plain.coef_, abs=1e-6)
    assert model.score(instances, sets) == pytest.approx(plain.score(instances, sets), abs=1e-8)


def test_numbers_of_folds_at_their_limits():
    instances, sets = quality_data(4)
    search = {"prior_variances": [1.0], "rhos": [0.0], "rng": 0}
    for folds in (2, 4):
        assert QualityModelCV(cv=folds, **search).fit(instances, sets).scores_.shape == (1, 1)
    for folds in (1, 5):
        with pytest.raises(DiversetError, match=f"cv is {folds} for 4 instances; it must be 2 to 4"):
            QualityModelCV(cv=folds, **search).fit(instances, sets)
    with pytest.raises(DiversetError, match="4 instances but 3 observed sets"):
        QualityModelCV(cv=2, **search).fit(instances, sets[:3])
    for empty in ({"prior_variances": []}, {"rhos": []}):
        with pytest.raises(DiversetError, match="at least one candidate"):
            QualityModelCV(cv=2, **(search | empty)).fit(instances, sets)


@pytest.mark.parametrize("fixed_size", [False, True])
def test_gradient_and_covariance_at_the_maximum(fixed_size):
    instances, sets = quality_data(seed=3)
    for variance in (None, 0.5):
        model = QualityModel(prior_variance=variance, fixed_size=fixed_size).fit(instances, sets)
        pull = 0.0 if variance is None else model.coef_ / variance
        assert model.gradient(instances, sets) == pytest.approx(pull, abs=1e-6)
        assert model.gradient(instances, sets, model.coef_) == pytest.approx(pull, abs=1e-6)
        assert model.log_likelihood_ == pytest.approx(model.log_prob(instances, sets).sum())
        assert model.convergence_.converged
        step = 1e-4
        hessian = np.array(
            [
                (
                    model.gradient(instances, sets, model.coef_ + step * e)
                    - model.gradient(instances, sets, model.coef_ - step * e)
                )
                / (2 * step)
                for e in np.eye(2)
            ]
        )
        information = -hessian + (0.0 if variance is None else np.eye(2) / variance)
        assert model.covariance_ == pytest.approx(np.linalg.inv(information), rel=1e-5)
        assert model.standard_errors_ == pytest.approx(np.sqrt(np.diagonal(model.covariance_)))


def test_quality_is_the_root_of_the_odds():
    model = QualityModel().set_coef([1.0, -2.0])
    instance = Instance([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    assert model.quality(instance) == pytest.approx(np.exp([0.5, -1.0, -1.0]))
    assert model.dpp(instance).L == pytest.approx(np.diag(np.exp([1.0, -2.0, -2.0])))
    big = QualityModel().set_coef([1400.0])
    assert big.quality(Instance([[1.0]]))[0] == pytest.approx(math.exp(700.0))
    with pytest.raises(KernelError, match=r"a quality is exp\(701\)"):
        big.quality(Instance([[1.0], [701.0 / 700.0]]))


def test_qualities_up_to_the_range_of_floats():
    instance = Instance([[1.0], [0.0]])
    for coef, expected in ((680.0, -math.log(2.0)), (684.0, -math.inf), (-5000.0, -5000.0 - math.log(2.0))):
        model = QualityModel().set_coef([coef])
        assert model.log_prob([instance], [[0]])[0] == pytest.approx(expected, rel=1e-12)
        assert model.gradient([instance], [[0]]).shape == (1,)
    # With a fixed size, a common factor of the qualities does not matter.
    fixed = QualityModel(fixed_size=True).set_coef([5000.0])
    assert fixed.log_prob([instance, instance], [[0], [1]]) == pytest.approx([0.0, -5000.0], abs=1e-9)


def test_features_that_are_constant_or_dependent_are_named():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((2, 4, 2))
    sets = [[0], [1, 2]]

    def fit(columns, **parameters):
        QualityModel(**parameters).fit([Instance(columns(F[t])) for t in range(2)], sets)

    with pytest.raises(DiversetError, match="feature 1 is always 0"):
        fit(lambda f: np.column_stack([f[:, 0], np.zeros(4), f[:, 1]]))
    with pytest.raises(DiversetError, match=r"feature 2 is constant within every instance.*instance 0: value 3"):
        fit(lambda f: np.column_stack([f, np.full(4, 3.0)]), fixed_size=True)
    with pytest.raises(DiversetError, match=r"features \[0, 2\] are linearly dependent"):
        fit(lambda f: np.column_stack([f, 5.0 * f[:, 0]]))
    with pytest.raises(DiversetError, match=r"features \[0, 1, 2\] are linearly dependent"):
        fit(lambda f: np.column_stack([f, f.sum(axis=1) * 1e-8]))
    with pytest.raises(DiversetError, match=r"features \[0, 2\] are linearly dependent"):
        fit(lambda f: np.column_stack([f, f[:, 0] + 7.0]), fixed_size=True)
    # A prior determines them.
    fit(lambda f: np.column_stack([f, f[:, 0]]), prior_variance=1.0)


def test_warm_starts_and_limits_of_iterations():
    instances, sets = quality_data()
    cold = QualityModel().fit(instances, sets)
    warm = QualityModel(warm_start=True).fit(instances, sets)
    again = warm.fit(instances, sets).convergence_
    assert again.n_iter < cold.convergence_.n_iter
    assert warm.coef_ == pytest.approx(cold.coef_, abs=1e-7)
    # At the maximum there is nothing to do, whatever the scale of the features.
    scaled = [Instance(x.features * [1e-2, 1e2], diversity=x.diversity) for x in instances]
    assert QualityModel(warm_start=True).fit(scaled, sets).fit(scaled, sets).convergence_.n_iter == 0
    # Weights of another number of features are no start.
    narrow = [Instance(x.features[:, :1], diversity=x.diversity) for x in instances]
    assert warm.fit(narrow, sets).coef_ == pytest.approx(QualityModel().fit(narrow, sets).coef_, abs=1e-7)
    short = QualityModel(max_iter=1).fit(instances, sets)
    assert short.convergence_.n_iter == 1
    assert not short.convergence_.converged
    for variance, fine in ((1e-100, True), (0.5e-100, False)):
        model = QualityModel(prior_variance=variance)
        if fine:
            assert model.fit(instances, sets).coef_ == pytest.approx([0.0, 0.0], abs=1e-90)
        else:
            with pytest.raises(DiversetError, match="leaves nothing to learn"):
                model.fit(instances, sets)


def test_logistic_quality_ignores_rho_and_similarity_in_training():
    instances, sets = quality_data()
    model = LogisticQuality(rho=0.9).fit(instances, sets)
    assert model.rho == 0.9
    plain = QualityModel().fit([Instance(x.features) for x in instances], sets)
    assert model.coef_ == pytest.approx(plain.coef_, abs=1e-7)


@pytest.mark.parametrize("fixed_size", [False, True])
def test_empty_sets_and_empty_instances(fixed_size):
    rng = np.random.default_rng(0)
    instances = [Instance(rng.standard_normal((4, 2))) for _ in range(6)]
    sets = [[], [0], [1, 2], [3], [0, 1, 2], [0]]
    model = QualityModel(fixed_size=fixed_size, prior_variance=1.0).fit(instances, sets)
    more = model.log_prob([*instances, Instance(np.zeros((0, 2)))], [*sets, []])
    assert more[-1] == 0.0
    if fixed_size:
        assert more[0] == pytest.approx(0.0, abs=1e-12)
    q = np.exp(instances[1].features @ model.coef_)
    total = q.sum() if fixed_size else np.prod(1.0 + q)
    assert more[1] == pytest.approx(math.log(q[0] / total), abs=1e-9)
    wider = QualityModel(fixed_size=fixed_size, prior_variance=1.0)
    wider.fit([*instances, Instance(np.zeros((0, 2)))], [*sets, []])
    assert wider.coef_ == pytest.approx(model.coef_, abs=1e-6)


@pytest.mark.parametrize(
    ("S", "chosen", "named"),
    [
        ([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0, 1, 2], r"\[0, 1\]"),
        ([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]], [0, 1, 2], r"\[0, 1, 2\]"),
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [0, 1], r"\[1\]"),
        ([[1.0, 0.0, 0.0], [0.0, 4.0, 2.0], [0.0, 2.0, 1.0]], [0, 1, 2], r"\[1, 2\]"),
    ],
)
def test_dependent_items_of_an_observed_set_are_named(S, chosen, named):
    with pytest.raises(UnboundedLikelihoodError, match=rf"instance 0: .* its items {named} are linearly dependent"):
        QualityModel().fit([Instance(np.ones((3, 1)), similarity=S)], [chosen])


def test_separating_directions_are_described():
    """In four instances the set is the best by the first feature; only three of them are named."""
    instances = [Instance([[1.0 + t, 0.5], [-1.0, -0.5 - t]]) for t in range(4)]
    with pytest.raises(UnboundedLikelihoodError, match=r"instance 0, instance 1, instance 2, \.\.\. \(items \[0, 1\]"):
        QualityModel().fit(instances, [[0]] * 4)
    with pytest.raises(UnboundedLikelihoodError, match=r"seen in instance 0, instance 1, instance 2 \(items"):
        QualityModel().fit(instances[:3], [[0]] * 3)
