"""The estimators keep scikit-learn's contract, and select what `select` selects."""

import pickle

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError, SizeError

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from diverset.integrations.sklearn import DiverseSelector, SubsetFit

ESTIMATORS = [
    DiverseSelector(),
    DiverseSelector(0.5, similarity="rbf"),
    DiverseSelector(0.3, similarity="dot", stratify=True),
    SubsetFit(LogisticRegression()),
    SubsetFit(Ridge()),
    SubsetFit(PCA(n_components=1)),
    SubsetFit(LogisticRegression(), DiverseSelector(0.8, similarity="rbf", stratify=True)),
    SubsetFit(Ridge(), DiverseSelector(0.8, similarity="rbf")),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_what_is_selected_is_what_select_selects(iris):
    X, _ = iris
    selector = DiverseSelector(12, similarity="rbf", diversity=0.7, quality=X[:, 0])
    expected = dv.select(X, 12, similarity="rbf", diversity=0.7, quality=X[:, 0])
    assert selector.fit(X) is selector
    assert selector.indices_.tolist() == expected.indices.tolist()
    assert selector.gains_.tolist() == expected.gains.tolist()
    assert selector.log_det_ == expected.log_det
    assert np.flatnonzero(selector.support_).tolist() == sorted(expected)


@pytest.mark.parametrize(
    ("n_select", "expected"), [(1, 1), (7, 7), (150, 150), (1000, 150), (0.1, 15), (0.001, 1), (1.0, 150)]
)
def test_sizes(iris, n_select, expected):
    assert len(DiverseSelector(n_select, similarity="rbf").fit(iris[0]).indices_) == expected


@pytest.mark.parametrize(("n_select", "shown"), [(0, "0"), (-3, "-3"), (1.5, "1.5"), (0.0, "0.0"), ("ten", "ten")])
def test_wrong_sizes_are_refused_by_fit_and_not_before(iris, n_select, shown):
    selector = DiverseSelector(n_select)
    with pytest.raises(DiversetError, match=f"n_select is .*{shown}"):
        selector.fit(iris[0])


def test_quality_function_sees_the_data_and_tips_the_balance(iris):
    X, y = iris
    seen = {}

    def quality(X, y):
        seen.update(X=X, y=y)
        return (y == 2).astype(float)

    selector = DiverseSelector(20, diversity=0.01, similarity="rbf", quality=quality).fit(X, y)
    assert seen["X"] is X
    assert seen["y"] is y
    assert (y[selector.indices_] == 2).all()


def test_quality_of_the_wrong_length_is_refused(iris):
    with pytest.raises(DiversetError, match="quality has 3 entries for 150 items"):
        DiverseSelector(quality=[1.0, 2.0, 3.0]).fit(iris[0])


def test_stratified_selection_keeps_the_proportions():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 5)), np.array(["a"] * 70 + ["b"] * 28 + ["c"] * 2)
    selector = DiverseSelector(20, stratify=True).fit(X, y)
    assert len(set(selector.indices_.tolist())) == 20
    assert dict(zip(*np.unique(y[selector.indices_], return_counts=True), strict=True)) == {"a": 14, "b": 5, "c": 1}
    # Each class is selected from by itself.
    assert selector.indices_[:14].tolist() == dv.select(X[:70], 14).indices.tolist()


def test_stratified_selection_needs_room_for_every_class(iris):
    with pytest.raises(SizeError, match="2 of 150 rows cannot hold every one of 3 classes"):
        DiverseSelector(2, stratify=True).fit(*iris)


def test_stratified_selection_from_a_similarity_matrix(iris):
    X, y = iris
    S = dv.kernels.rbf(X, length_scale=1.0)
    by_matrix = DiverseSelector(9, similarity="precomputed", stratify=True).fit(S, y)
    by_function = DiverseSelector(9, similarity=lambda A, B: dv.kernels.rbf(A, B, length_scale=1.0), stratify=True).fit(
        X, y
    )
    assert by_matrix.indices_.tolist() == by_function.indices_.tolist()
    assert by_matrix.__sklearn_tags__().input_tags.pairwise


def test_drawn_subsets_follow_the_random_state(iris):
    draws = [
        DiverseSelector(10, similarity="rbf", method="sample", random_state=state).fit(iris[0]).indices_.tolist()
        for state in (0, 0, 1)
    ]
    assert draws[0] == draws[1] != draws[2]


def test_fit_resample_keeps_the_kind_of_container(iris):
    X, y = iris
    rows = DiverseSelector(5).fit(X).indices_
    X_small, y_small = DiverseSelector(5).fit_resample(X, y)
    assert np.array_equal(X_small, X[rows])
    assert np.array_equal(y_small, y[rows])
    assert DiverseSelector(5).fit_resample(X)[1] is None
    sparse, _ = DiverseSelector(5).fit_resample(scipy.sparse.csc_array(X))
    assert scipy.sparse.issparse(sparse)
    assert sparse.shape == (5, 4)
    X_list, y_list = DiverseSelector(5).fit_resample(X.tolist(), y.tolist())
    assert X_list == X[rows].tolist()
    assert y_list == y[rows].tolist()


def test_data_frames(iris):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(150) + 1000)
    selector = DiverseSelector(5)
    small, targets = selector.fit_resample(frame, pd.Series(y, index=frame.index))
    assert small.index.tolist() == targets.index.tolist() == (selector.indices_ + 1000).tolist()
    assert selector.feature_names_in_.tolist() == list("abcd")
    model = SubsetFit(LogisticRegression(), DiverseSelector(0.5, stratify=True)).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")


def test_clone_and_pickle(iris):
    selector = DiverseSelector(5, quality=iris[0][:, 0]).fit(iris[0])
    copy = clone(selector)
    assert not hasattr(copy, "indices_")
    assert copy.fit(iris[0]).indices_.tolist() == selector.indices_.tolist()
    assert pickle.loads(pickle.dumps(selector)).indices_.tolist() == selector.indices_.tolist()


def test_subset_fit_is_the_estimator_fitted_on_the_subset(iris):
    X, y = iris
    selector = DiverseSelector(0.2, similarity="rbf", stratify=True)
    model = SubsetFit(LogisticRegression(), selector).fit(X, y)
    by_hand = LogisticRegression().fit(*clone(selector).fit_resample(X, y))
    assert np.array_equal(model.predict_proba(X), by_hand.predict_proba(X))
    assert model.score(X, y) == by_hand.score(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.n_features_in_ == 4
    assert not hasattr(selector, "indices_")  # what was passed in is left alone


def test_subset_fit_takes_after_its_estimator():
    assert is_classifier(SubsetFit(LogisticRegression()))
    assert is_regressor(SubsetFit(Ridge()))
    assert hasattr(SubsetFit(LogisticRegression()), "predict_proba")
    assert not hasattr(SubsetFit(Ridge()), "predict_proba")
    assert not hasattr(SubsetFit(Ridge()), "transform")


def test_subset_fit_selects_half_by_default(iris):
    assert len(SubsetFit(Ridge()).fit(*iris).selector_.indices_) == 75


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_rows_of_zeros_are_unlike_all_others(kind):
    X = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.1], [0.0, 0.0], [0.0, 2.0]])
    selector = DiverseSelector(4).fit(kind(X))
    assert sorted(selector.indices_.tolist()) == [0, 1, 3, 4]
    assert selector.log_det_ == pytest.approx(0.0)
    assert selector.n_features_in_ == 2


def test_a_classifier_sees_every_class_unless_told_otherwise():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((200, 3)), np.tile([3.0, 3.0, 3.0], (2, 1)), [[3.0, 3.1, 3.0]]])
    y = np.array(["common"] * 200 + ["rare"] * 2 + ["rarest"])
    assert SubsetFit(LogisticRegression()).fit(X, y).classes_.tolist() == ["common", "rare", "rarest"]
    few = SubsetFit(LogisticRegression(), DiverseSelector(0.01)).fit(X, y)
    assert sorted(y[few.selector_.indices_]) == ["common", "rare", "rarest"]
    with pytest.raises(SizeError, match="2 of 203 rows cannot hold every one of 3 classes"):
        SubsetFit(LogisticRegression(), DiverseSelector(2)).fit(X, y)
    told = SubsetFit(KNeighborsClassifier(3), DiverseSelector(20, stratify=False)).fit(X, y)
    assert told.classes_.tolist() == ["common"]
    assert SubsetFit(Ridge()).fit(X, X[:, 0]).selector_.stratify is False
    both = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)  # two labels a row have no classes to keep
    assert SubsetFit(KNeighborsClassifier(3)).fit(X, both).predict(X).shape == both.shape


def test_weights_follow_their_rows(iris):
    X, y = iris
    weights = np.linspace(0.1, 3.0, 150)
    selector = DiverseSelector(0.4, similarity="rbf", stratify=True)
    rows = clone(selector).fit(X, y).indices_
    by_hand = LogisticRegression().fit(X[rows], y[rows], sample_weight=weights[rows])
    model = SubsetFit(LogisticRegression(), selector).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.predict_proba(X), by_hand.predict_proba(X))
    assert model.score(X, y, sample_weight=weights) == by_hand.score(X, y, sample_weight=weights)


def test_metadata_routing(iris):
    X, y = iris
    quality, weights = X[:, 0].copy(), np.linspace(0.1, 3.0, 150)
    selector = DiverseSelector(0.2, similarity="rbf", diversity=0.5, stratify=False)
    with config_context(enable_metadata_routing=True):
        model = SubsetFit(
            LogisticRegression().set_fit_request(sample_weight=True).set_score_request(sample_weight=True),
            clone(selector).set_fit_request(quality=True),
        )
        model.fit(X, y, quality=quality, sample_weight=weights)
        rows = clone(selector).set_params(quality=quality).fit(X, y).indices_
        assert model.selector_.indices_.tolist() == rows.tolist()
        by_hand = LogisticRegression().fit(X[rows], y[rows], sample_weight=weights[rows])
        np.testing.assert_array_equal(model.predict_proba(X), by_hand.predict_proba(X))
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        scores = cross_val_score(pipeline, X, y, cv=3, params={"quality": quality, "sample_weight": weights})
        assert scores.min() > 0.7
        with pytest.raises(TypeError, match="unexpected argument"):
            SubsetFit(LogisticRegression()).fit(X, y, no_such=weights)


def test_transformers_inside(iris):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    model = SubsetFit(PCA(n_components=2)).set_output(transform="pandas")
    found = model.fit_transform(iris[0])
    assert isinstance(found, pd.DataFrame)
    assert found.columns.tolist() == model.get_feature_names_out().tolist() == ["pca0", "pca1"]
    assert isinstance(model.set_output(transform="default").transform(iris[0]), np.ndarray)
    assert not hasattr(SubsetFit(Ridge()), "set_output")
    with pytest.raises(NotFittedError):
        SubsetFit(PCA()).get_feature_names_out()


def test_pipeline_and_search(iris):
    X, y = iris
    model = make_pipeline(
        StandardScaler(),
        SubsetFit(KNeighborsClassifier(3), DiverseSelector(0.3, similarity="rbf", stratify=True)),
    )
    search = GridSearchCV(model, {"subsetfit__selector__n_select": [0.1, 0.4]}, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.85
    assert len(search.best_estimator_[-1].selector_.indices_) == int(150 * search.best_params_.popitem()[1])
    assert cross_val_score(model, X, y, cv=3).min() > 0.8


def test_imbalanced_learn_pipelines_take_the_selector_as_a_step(iris):
    imblearn = pytest.importorskip("imblearn.pipeline", reason="imbalanced-learn is not installed")
    X, y = iris
    pipeline = imblearn.make_pipeline(StandardScaler(), DiverseSelector(0.3, stratify=True), KNeighborsClassifier(3))
    pipeline.fit(X, y)
    assert pipeline[-1].n_samples_fit_ == 45
    assert pipeline.predict(X).shape == (150,)
