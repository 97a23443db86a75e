"""Quality learning: gradients, concavity, the maximum and its errors, against enumeration."""

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError, KernelError, LabelError, UnboundedLikelihoodError
from diverset.learn import Instance, QualityModel
from diverset.learn.instances import fisher_information, read_examples, read_instance
from diverset.learn.separability import find_separation
from reference import law_from_L, of_size


def rbf_instance(n, m, rng):
    return Instance(rng.standard_normal((n, m)), similarity=dv.kernels.rbf, diversity=rng.standard_normal((n, 2)))


def matrix_instance(n, m, rng):
    B = rng.standard_normal((n, n + 2))
    return Instance(rng.standard_normal((n, m)), similarity=B @ B.T / n)


def deficient_instance(n, m, rng):
    B = rng.standard_normal((n, 4))
    return Instance(rng.standard_normal((n, m)), similarity=B @ B.T)


def dual_instance(n, m, rng):
    return Instance(rng.standard_normal((n, m)), diversity=rng.standard_normal((n, 4)))


def complex_instance(n, m, rng):
    B = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    return Instance(rng.standard_normal((n, m)), similarity=B @ B.conj().T / n)


def plain_instance(n, m, rng):
    return Instance(rng.standard_normal((n, m)))


KINDS = [rbf_instance, matrix_instance, deficient_instance, dual_instance, complex_instance, plain_instance]


def similarity_of(instance):
    if callable(instance.similarity):
        return instance.similarity(instance.diversity)
    if instance.similarity is not None:
        return np.asarray(instance.similarity)
    if instance.diversity is not None:
        return instance.diversity @ instance.diversity.T
    return np.eye(len(instance.features))


def law_of(instance, theta, k=None):
    q = np.exp(0.5 * instance.features @ theta)
    law = law_from_L(q[:, None] * similarity_of(instance) * q)
    return law if k is None else of_size(law, k)


def feature_moments(instance, law):
    """Mean and covariance of the summed features, over all subsets."""
    totals = np.array([instance.features[sorted(Y)].sum(axis=0) for Y in law])
    p = np.array(list(law.values()))
    mean = p @ totals
    return mean, (totals - mean).T @ (p[:, None] * (totals - mean))


@pytest.mark.parametrize("fixed_size", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_likelihood_and_information_by_enumeration(kind, fixed_size):
    rng = np.random.default_rng(3)
    instance, theta, Y = kind(6, 3, rng), np.array([0.8, -0.5, 0.3]), [1, 4, 5]
    law = law_of(instance, theta, len(Y) if fixed_size else None)
    mean, covariance = feature_moments(instance, law)
    model = QualityModel(fixed_size=fixed_size).set_coef(theta)
    assert model.log_prob([instance], [Y])[0] == pytest.approx(np.log(law[frozenset(Y)]), abs=1e-9)
    np.testing.assert_allclose(
        model.gradient([instance], [Y]), instance.features[Y].sum(axis=0) - mean, rtol=0, atol=1e-9
    )
    (example,) = read_examples([instance], [Y], 0.0)
    found = fisher_information(example, theta, fixed_size=fixed_size)
    np.testing.assert_allclose(found, covariance, rtol=0, atol=1e-9)


@pytest.mark.parametrize("fixed_size", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_by_finite_differences(kind, fixed_size):
    rng = np.random.default_rng(4)
    instances, sets = [kind(n, 3, rng) for n in (9, 25)], [[0, 3], [2, 7, 20]]
    model = QualityModel(fixed_size=fixed_size)
    theta, h = rng.standard_normal(3), 1e-5

    def total(at):
        return model.set_coef(at).log_prob(instances, sets).sum()

    differences = [(total(theta + h * e) - total(theta - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(model.gradient(instances, sets, theta), differences, rtol=0, atol=1e-6)


@pytest.mark.parametrize("fixed_size", [False, True])
def test_concave_along_random_lines(fixed_size):
    rng = np.random.default_rng(5)
    instances, sets = [dual_instance(12, 4, rng), rbf_instance(8, 4, rng)], [[1, 5, 8], [0, 2]]
    model = QualityModel(fixed_size=fixed_size)
    for _ in range(10):
        start, direction = rng.standard_normal((2, 4))
        values = [model.set_coef(start + t * direction).log_prob(instances, sets).sum() for t in np.linspace(-3, 3, 25)]
        assert (np.diff(values, 2) < 1e-9).all()
        # A line that hardly moves would show nothing.
        assert np.ptp(values) > 0.1


def simulated(n_instances, theta, seed, *, kind=dual_instance, n=10):
    rng = np.random.default_rng(seed)
    instances = [kind(n + t % 3, len(theta), rng) for t in range(n_instances)]
    truth = QualityModel().set_coef(theta)
    return instances, [truth.dpp(instance).sample(rng=rng) for instance in instances]


@pytest.mark.parametrize("fixed_size", [False, True])
def test_the_maximum_is_one(fixed_size):
    instances, sets = simulated(40, [0.7, -0.4], 6)
    model = QualityModel(fixed_size=fixed_size, tol=1e-10).fit(instances, sets)
    assert model.convergence_.converged
    assert np.abs(model.gradient(instances, sets)).max() < 1e-7
    best = model.log_prob(instances, sets).sum()
    assert best == pytest.approx(model.log_likelihood_, abs=1e-9)
    for step in np.vstack([np.eye(2), -np.eye(2)]) * 0.01:
        assert QualityModel(fixed_size=fixed_size).set_coef(model.coef_ + step).log_prob(instances, sets).sum() < best


def test_prior_shrinks_and_is_the_gradient_balance():
    instances, sets = simulated(30, [0.7, -0.4], 7)
    model = QualityModel(prior_variance=0.05).fit(instances, sets)
    np.testing.assert_allclose(model.gradient(instances, sets), model.coef_ / 0.05, atol=1e-6)
    assert np.linalg.norm(model.coef_) < np.linalg.norm(QualityModel().fit(instances, sets).coef_)


@pytest.mark.filterwarnings("ignore:Setting penalty=None")  # scikit-learn 1.8, for an infinite C
def test_identity_similarity_is_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(8)
    F = rng.standard_normal((80, 3))
    chosen = np.flatnonzero(rng.random(80) < 1 / (1 + np.exp(-(F @ [1.0, -0.5, 0.2]))))
    model = QualityModel().fit([Instance(F)], [chosen])
    logistic = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, max_iter=1000)
    logistic.fit(F, np.isin(np.arange(80), chosen))
    np.testing.assert_allclose(model.coef_, logistic.coef_[0], atol=1e-5)


def test_standard_errors_cover_the_truth():
    """Over data sets, the errors divided by their standard errors have mean square near 1."""
    z = []
    for seed in range(25):
        instances, sets = simulated(40, [0.7, -0.4], 100 + seed, n=7)
        model = QualityModel().fit(instances, sets)
        z.append((model.coef_ - [0.7, -0.4]) / model.standard_errors_)
    # 50 squared standard normals: mean 1, standard deviation 0.2.
    assert 0.45 < np.mean(np.square(z)) < 1.8


def test_jobs_warm_starts_and_progress_change_nothing(capsys):
    instances, sets = simulated(12, [0.7, -0.4], 9)
    plain = QualityModel().fit(instances, sets)
    np.testing.assert_array_equal(QualityModel(n_jobs=2).fit(instances, sets).coef_, plain.coef_)
    again = QualityModel(warm_start=True).fit(instances, sets)
    again.fit(instances, sets)
    assert again.convergence_.n_iter < plain.convergence_.n_iter
    np.testing.assert_allclose(again.coef_, plain.coef_, atol=1e-7)
    QualityModel(verbose=True).fit(instances, sets)
    assert "quality" in capsys.readouterr().err


def test_rho_is_a_constant_feature():
    rng = np.random.default_rng(10)
    instance = dual_instance(9, 2, rng)
    theta = [0.5, 0.1]
    with_rho = QualityModel(rho=0.7).set_coef(theta)
    by_hand = Instance(instance.features, diversity=np.hstack([instance.diversity, np.full((9, 1), 0.7)]))
    as_matrix = Instance(instance.features, similarity=similarity_of(instance))
    expected = QualityModel().set_coef(theta).score([by_hand], [[1, 2, 6]])
    assert with_rho.score([instance], [[1, 2, 6]]) == pytest.approx(expected, abs=1e-10)
    assert with_rho.score([as_matrix], [[1, 2, 6]]) == pytest.approx(expected, abs=1e-10)


def test_dpp_of_an_instance_is_the_model():
    rng = np.random.default_rng(11)
    instance = dual_instance(7, 2, rng)
    model = QualityModel().set_coef([0.4, -1.0])
    dpp = model.dpp(instance)
    for Y, p in law_of(instance, model.coef_).items():
        assert np.exp(dpp.log_prob(Y)) == pytest.approx(p, abs=1e-12)
    np.testing.assert_allclose(model.quality(instance), np.exp(0.5 * instance.features @ [0.4, -1.0]))
    assert len(dv.map_greedy(dpp, k=3).indices) == 3


# where no maximum exists ---------------------------------------------------------------------------------


def is_separable_by_enumeration(instances, sets, fixed_size):
    """Some direction of a fine grid of the plane makes every observed set a best one, and not all sets equal."""
    angles = np.linspace(0, 2 * np.pi, 1440, endpoint=False)
    directions = np.array([np.cos(angles), np.sin(angles)])
    never_better, strict = np.ones(1440, dtype=bool), np.zeros(1440, dtype=bool)
    for instance, Y in zip(instances, sets, strict=True):
        law = law_of(instance, np.zeros(2), len(Y) if fixed_size else None)
        totals = np.array([instance.features[sorted(A)].sum(axis=0) for A, p in law.items() if p > 1e-9])
        own, scores = instance.features[sorted(Y)].sum(axis=0) @ directions, totals @ directions
        never_better &= own >= scores.max(axis=0) - 1e-12
        strict |= own > scores.min(axis=0) + 1e-12
    return bool((never_better & strict).any())


@pytest.mark.parametrize("fixed_size", [False, True])
def test_separable_data_are_found_exactly(fixed_size):
    """Against all subsets of small instances of deficient rank, where exchanges matter."""
    rng = np.random.default_rng(12)
    answers = []
    for trial in range(40):
        number = 1 + trial % 2
        instances = [
            Instance(rng.standard_normal((5, 2)), diversity=rng.standard_normal((5, 2))) for _ in range(number)
        ]
        sets = [rng.choice(5, size=k, replace=False) for k in rng.integers(1, 3, size=number)]
        found = find_separation(read_examples(instances, sets, 0.0), fixed_size=fixed_size)
        answers.append(found is not None)
        assert answers[-1] == is_separable_by_enumeration(instances, sets, fixed_size)
    assert 5 < sum(answers) < 35


@pytest.mark.parametrize("fixed_size", [False, True])
def test_separable_data_with_equal_items_are_found_exactly(fixed_size):
    # Their exchange is a condition of zeros.
    F = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]])
    for sets in ([[0]], [[0, 3], [2]], [[0, 1]]):
        instances = [Instance(F, diversity=np.eye(4)) for _ in sets]
        found = find_separation(read_examples(instances, sets, 0.0), fixed_size=fixed_size)
        assert (found is not None) == is_separable_by_enumeration(instances, [np.array(Y) for Y in sets], fixed_size)


def test_separable_data_are_reported():
    F = np.array([[1.0, 0.2], [2.0, -0.1], [-1.0, 0.3], [-0.5, -0.4]])
    instances = [Instance(np.ones((3, 2)) * [[0, 1], [0, -1], [0, 0.5]]), Instance(F)]
    with pytest.raises(UnboundedLikelihoodError, match=r"no maximum: along theta = t .* f\[0\].*instance 1 \(items"):
        QualityModel().fit(instances, [[0, 1], [0, 1]])
    # A prior makes the maximum finite.
    assert QualityModel(prior_variance=1.0).fit(instances, [[0, 1], [0, 1]]).convergence_.converged


def test_impossible_sets_are_named():
    phi = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    fine, bad = Instance(np.ones((2, 1))), Instance(np.ones((4, 1)), diversity=phi)
    with pytest.raises(UnboundedLikelihoodError, match=r"instance 1: .* items \[0, 1, 2\] are linearly dependent"):
        QualityModel(prior_variance=1.0).fit([fine, bad], [[0], [0, 1, 2]])
    with pytest.raises(UnboundedLikelihoodError, match="instance 0: the observed set has probability 0"):
        QualityModel().fit([bad], [[0, 1, 2, 3]])


def test_features_that_cannot_be_learned():
    rng = np.random.default_rng(13)
    F = rng.standard_normal((6, 2))
    with pytest.raises(DiversetError, match=r"feature 1 is always 0 \(instance 0"):
        QualityModel().fit([Instance(F * [1, 0])], [[0, 2]])
    with pytest.raises(DiversetError, match=r"features \[0, 2\] are linearly dependent"):
        QualityModel().fit([Instance(np.column_stack([F, 2 * F[:, 0]]))], [[0, 2]])
    constant = Instance(np.column_stack([F[:, 0], np.ones(6)]))
    with pytest.raises(DiversetError, match=r"feature 1 is constant within every instance.*instance 0: value 1"):
        QualityModel(fixed_size=True).fit([constant], [[0, 2]])
    # An intercept is what sizes are learned by.
    assert QualityModel(prior_variance=10.0).fit([constant], [[0, 2]]).convergence_.converged


@pytest.mark.parametrize(
    ("instances", "sets", "error", "message"),
    [
        ([], [], DiversetError, "there are no instances"),
        ([Instance([[1.0]])], [], DiversetError, "1 instances but 0 observed sets"),
        ([Instance([[1.0]])], [[4]], LabelError, "instance 0: the observed set names item 4"),
        ([Instance([[1.0], [2.0]])], [[0, 0]], LabelError, "instance 0: .* item 0 more than once"),
        ([Instance([[1.0], [np.nan]])], [[0]], KernelError, r"instance 0: features\[1, 0\] is nan"),
        ([Instance([[1.0]]), Instance([[1.0, 2.0]])], [[0], [0]], KernelError, "instance 1: features have 2 columns"),
        ([Instance([[1.0]], similarity=np.eye(2))], [[0]], KernelError, "instance 0: similarity is for 2 items"),
        ([Instance([[1.0]], similarity=[[-1.0]])], [[0]], KernelError, "instance 0: .*smallest eigenvalue -1"),
        ([Instance([[1.0]], diversity=[[1.0], [2.0]])], [[0]], KernelError, "instance 0: diversity is for 2 items"),
        ([Instance([[1.0]], similarity=dv.kernels.rbf)], [[0]], KernelError, "no diversity features"),
        ([np.eye(2)], [[0]], DiversetError, "instance 0 is a ndarray"),
    ],
)
def test_bad_input_names_the_instance(instances, sets, error, message):
    with pytest.raises(error, match=message):
        QualityModel().fit(instances, sets)


def test_bad_parameters():
    instance = Instance([[1.0], [2.0]])
    with pytest.raises(DiversetError, match="prior_variance is -1"):
        QualityModel(prior_variance=-1).fit([instance], [[0]])
    with pytest.raises(DiversetError, match="has not been fitted"):
        QualityModel().dpp(instance)
    model = QualityModel().set_coef([1.0, 2.0])
    with pytest.raises(DiversetError, match="features have 1 columns"):
        model.score([instance], [[0]])


def test_sklearn_takes_it():
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score

    instances, sets = simulated(24, [0.7, -0.4], 14)
    assert clone(QualityModel(rho=0.3)).rho == 0.3
    scores = cross_val_score(QualityModel(), instances, sets, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    search = GridSearchCV(QualityModel(), {"prior_variance": [0.01, 1.0]}, cv=3).fit(instances, sets)
    assert search.best_params_["prior_variance"] == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_both_ways_to_the_normalizer_agree(kind):
    """The short way through one factorisation, and the distribution itself."""
    rng = np.random.default_rng(16)
    instance = read_instance(kind(12, 2, rng), "it", 0.0)
    for scale in (-20.0, 0.0, 3.0, 30.0):
        log_quality = scale + rng.standard_normal(12)
        log_normalizer, inclusion = instance.log_normalizer_and_inclusion(log_quality)
        dpp = instance.dpp(log_quality)
        assert log_normalizer == pytest.approx(dpp.log_normalizer, rel=1e-9, abs=1e-11)
        np.testing.assert_allclose(inclusion, dpp.inclusion_probabilities, rtol=0, atol=1e-9)


def test_a_large_scale_overflows_nothing():
    instances, sets = simulated(10, [0.7, -0.4], 15)
    huge = [Instance(i.features * [1e6, 1e-6], diversity=i.diversity) for i in instances]
    plain, scaled = QualityModel().fit(instances, sets), QualityModel().fit(huge, sets)
    np.testing.assert_allclose(scaled.coef_ * [1e6, 1e-6], plain.coef_, rtol=1e-6)
