r"""Training subsets in scikit-learn: select diverse rows and fit on them.

A scikit-learn transformer must return all rows of its input, so selecting rows cannot be a step of a plain
``Pipeline``. There are three alternatives.

By hand, with the convention of imbalanced-learn (whose pipelines accept the selector as a step)::

    X_small, y_small = DiverseSelector(n_select=500).fit_resample(X, y)

As the last step of any pipeline: :class:`SubsetFit` fits the estimator on the subset, and predicts for all rows::

    model = make_pipeline(StandardScaler(), SubsetFit(SVC(), DiverseSelector(0.1, similarity="rbf")))
    model.fit(X, y).score(X_test, y_test)

In a parameter search, with the size of the subset and the dial as parameters::

    GridSearchCV(model, {"subsetfit__selector__n_select": [0.05, 0.1, 0.2]})
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from diverset._extras import found, stand_in
from diverset.errors import DiversetError, SizeError
from diverset.inference.inputs import take_rows
from diverset.integrations.design import count_rows, select_by_class
from diverset.numerics.validation import check_size

__all__ = ["DiverseSelector", "SubsetFit"]


def _rows_wanted(n_select: Any, n: int, n_classes: int) -> int:
    """Number of rows; a fraction gives at least one for each class."""
    if isinstance(n_select, float | np.floating):
        if not 0.0 < n_select <= 1.0:
            raise SizeError(f"n_select is {n_select}; a fraction lies between 0 and 1, a number of rows is an int")
        return max(n_classes, int(np.floor(n_select * n)))
    wanted = check_size(n_select, name="n_select")
    if wanted == 0:
        raise SizeError("n_select is 0, so nothing would be selected; give at least 1")
    return min(wanted, n)


if TYPE_CHECKING or found("sklearn"):
    from sklearn import get_config
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
    from sklearn.utils import Bunch, assert_all_finite, check_random_state, get_tags
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _num_samples,
        check_consistent_length,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )

    @dataclass(eq=False, repr=False)
    class DiverseSelector(BaseEstimator):
        r"""Estimator that selects rows of high quality that differ from each other.

        Parameters
        ----------
        n_select : int or float, default=10
            Number of rows (all of them if there are fewer), or a fraction of the rows above 0 and up to 1.
        diversity : float, default=0.5
            The dial of :func:`diverset.select`: 1 uses diversity only, 0 quality only.
        similarity : {"cosine", "rbf", "dot", "precomputed"} or callable, default="cosine"
            As in :func:`diverset.select`. ``"rbf"`` suits tabular data and needs n x n memory; ``"cosine"`` and
            ``"dot"`` do not. Under ``"cosine"`` a row of zeros is unlike all others.
        quality : callable or array-like of shape (n_samples,), default=None
            Scores, higher is better, or a callable that takes ``(X, y)`` and returns them. In a cross-validation use a
            callable, since an array does not have the length of the folds, or pass scores to :meth:`fit`. By default
            all scores are equal.
        stratify : bool, default=None
            Whether to select from every class of y separately, in proportion to its size and at least one row. By
            default only if :class:`SubsetFit` fits a classifier.
        method : {"greedy", "local-search", "exact", "sample"}, default="greedy"
            As in :func:`diverset.select`.
        random_state : int, RandomState instance or None, default=None
            Seed or generator for ``method="sample"``.

        Attributes
        ----------
        indices_ : ndarray of shape (n_selected,)
            Selected rows in the order they were picked; class after class if stratified.
        support_ : ndarray of shape (n_samples,)
            Mask of the selected rows.
        gains_ : ndarray of shape (n_selected,)
            Gain in the objective from each pick.
        log_det_ : float
            Log-determinant of the similarity over the selection; the sum over the classes if stratified.
        n_features_in_ : int
            Number of features seen during :term:`fit`.
        feature_names_in_ : ndarray of shape (n_features_in_,)
            Names of the features, where X had names that are all strings.

        Examples
        --------
        >>> from diverset.integrations.sklearn import DiverseSelector
        >>> X = [[1.0, 0.0], [1.0, 0.01], [0.0, 1.0], [0.01, 1.0]]
        >>> selector = DiverseSelector(n_select=2).fit(X)
        >>> selector.indices_
        array([0, 2])
        >>> DiverseSelector(n_select=0.5).fit_resample(X, ["a", "b", "c", "d"])
        ([[1.0, 0.0], [0.0, 1.0]], ['a', 'c'])
        """

        n_select: int | float = 10
        _: KW_ONLY
        diversity: float = 0.5
        similarity: Any = "cosine"
        quality: Any = None
        stratify: bool | None = None
        method: str = "greedy"
        random_state: Any = None

        def fit(self, X: Any, y: Any = None, *, quality: Any = None) -> DiverseSelector:
            """Select rows.

            Parameters
            ----------
            X : {array-like, sparse matrix} of shape (n_samples, n_features)
                Features; with ``similarity="precomputed"``, the similarity of the rows.
            y : array-like of shape (n_samples,), default=None
                Classes if ``stratify`` is set; otherwise only passed to ``quality``.
            quality : array-like of shape (n_samples,), default=None
                Scores of these rows, instead of those of the constructor. With metadata routing,
                ``set_fit_request(quality=True)`` lets a pipeline or a search pass the scores, split like the rows.

            Returns
            -------
            self : DiverseSelector
                The fitted selector.
            """
            checked = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
            check_consistent_length(X, y)
            classes = self._classes(y) if self.stratify else None
            if quality is None:
                quality = self.quality(X, y) if callable(self.quality) else self.quality
            n_classes = 1 if classes is None else len(np.unique(classes))
            parts = select_by_class(
                checked,
                _rows_wanted(self.n_select, checked.shape[0], n_classes),
                classes,
                leave=0,
                quality=quality,
                diversity=self.diversity,
                similarity=self.similarity,
                method=self.method,
                rng=int(check_random_state(self.random_state).randint(2**31 - 1)) if self.method == "sample" else None,
            )
            self.indices_ = np.concatenate([part.indices for part in parts])
            self.gains_ = np.concatenate([part.gains for part in parts])
            self.log_det_ = float(sum(part.log_det for part in parts))
            self.support_ = np.zeros(checked.shape[0], dtype=bool)
            self.support_[self.indices_] = True
            return self

        @staticmethod
        def _classes(y: Any) -> Any:
            if y is None:
                raise DiversetError("stratify=True requires y to be passed, but the target y is None")
            assert_all_finite(y, input_name="y")
            check_classification_targets(y)
            return column_or_1d(y)

        def fit_resample(self, X: Any, y: Any = None) -> tuple[Any, Any]:
            """Select rows and return them in pick order with their targets (None without y).

            Both have the type of the input.
            """
            self.fit(X, y)
            return take_rows(X, self.indices_), take_rows(y, self.indices_)

        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.input_tags.sparse = True
            tags.input_tags.pairwise = isinstance(self.similarity, str) and self.similarity == "precomputed"
            tags.target_tags.required = bool(self.stratify)
            return tags

    def _of_rows(value: Any, rows: Any, n: int) -> Any:
        """Entries of the selected rows, if the value has one entry for each of n rows; otherwise the value."""
        has_rows = hasattr(value, "__len__") and not isinstance(value, str | bytes | dict)
        return take_rows(value, rows) if has_rows and count_rows(value) == n else value

    def _estimator_has(name: str) -> Any:
        """Check for :func:`available_if`: the method exists if the wrapped estimator has it."""

        def check(self: SubsetFit) -> bool:
            # Raises the attribute error of the estimator, which is the most informative one.
            getattr(getattr(self, "estimator_", self.estimator), name)
            return True

        return available_if(check)

    def _delegated(name: str, doc: str) -> Any:
        """A method of :class:`SubsetFit` that calls the fitted estimator's method of the same name."""

        def method(self: SubsetFit, X: Any = None) -> Any:
            check_is_fitted(self)
            return getattr(self.estimator_, name)(X)

        method.__name__, method.__doc__ = name, doc
        return _estimator_has(name)(method)

    @dataclass(eq=False, repr=False)
    class SubsetFit(MetaEstimatorMixin, BaseEstimator):
        """Fit an estimator on selected rows only, and predict for all rows.

        Parameters
        ----------
        estimator : estimator object
            The estimator to fit.
        selector : selector object, default=None
            Any object with ``fit(X, y)`` that stores the selected rows in ``indices_``; by default
            ``DiverseSelector(0.5)``. For a classifier, a :class:`DiverseSelector` selects rows of every class unless it
            has ``stratify=False``.

        Attributes
        ----------
        estimator_ : estimator object
            The fitted estimator.
        selector_ : selector object
            The fitted selector.
        classes_ : ndarray of shape (n_classes,)
            Classes of the fitted estimator, if it is a classifier.
        n_features_in_ : int
            Number of features seen during :term:`fit`.
        feature_names_in_ : ndarray of shape (n_features_in_,)
            Names of the features, where X had names that are all strings.

        Notes
        -----
        If an argument of :meth:`fit` has one entry per row, such as ``sample_weight``, the estimator gets the entries
        of the selected rows. With metadata routing, the estimator and the selector get the arguments they request.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> from diverset.integrations.sklearn import DiverseSelector, SubsetFit
        >>> X, y = load_iris(return_X_y=True)
        >>> subset = SubsetFit(LogisticRegression(), DiverseSelector(0.2, similarity="rbf"))
        >>> model = make_pipeline(StandardScaler(), subset).fit(X, y)
        >>> len(model[-1].selector_.indices_), model.score(X, y) > 0.9
        (30, True)
        """

        estimator: Any
        selector: Any = None

        def fit(self, X: Any, y: Any = None, **params: Any) -> SubsetFit:
            """Select rows, then fit the estimator on them.

            With metadata routing, the estimator and the selector get the `params` they request. Otherwise the estimator
            gets all.
            """
            routed = self._routed("fit", params)
            self.selector_ = DiverseSelector(0.5) if self.selector is None else clone(self.selector)
            if isinstance(self.selector_, DiverseSelector) and self.selector_.stratify is None:
                # Multi-label targets have no classes to stratify by.
                self.selector_.stratify = is_classifier(self.estimator) and np.asarray(y).shape[1:] in ((), (1,))
            self.selector_.fit(X, y, **routed.selector.fit)
            rows, n = self.selector_.indices_, _num_samples(X)
            self.estimator_ = clone(self.estimator)
            given = {name: _of_rows(value, rows, n) for name, value in routed.estimator.fit.items()}
            self.estimator_.fit(take_rows(X, rows), take_rows(y, rows), **given)
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(self.selector_, name):
                    setattr(self, name, getattr(self.selector_, name))
                elif hasattr(self, name):  # of an earlier fit
                    delattr(self, name)
            return self

        @property
        def classes_(self) -> Any:
            """Classes of the fitted estimator."""
            return self.estimator_.classes_

        def __sklearn_is_fitted__(self) -> bool:
            return hasattr(self, "estimator_")

        def _routed(self, method: str, params: dict[str, Any]) -> Any:
            """Metadata for the estimator and for the selector; without routing, the estimator gets all."""
            if get_config()["enable_metadata_routing"]:
                return process_routing(self, method, **params)
            return Bunch(estimator=Bunch(**{method: params}), selector=Bunch(**{method: {}}))

        predict = _delegated("predict", "Predict with the fitted estimator.")
        predict_proba = _delegated("predict_proba", "Probabilities of the classes from the fitted estimator.")
        predict_log_proba = _delegated("predict_log_proba", "Their logarithms.")
        decision_function = _delegated("decision_function", "Decision function of the fitted estimator.")
        transform = _delegated("transform", "Transform with the fitted estimator; every row, not only the selected.")
        get_feature_names_out = _delegated(
            "get_feature_names_out", "Names of the columns that the fitted estimator's ``transform`` returns."
        )

        @_estimator_has("transform")
        def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
            """Fit on the selected rows, then transform every row."""
            return self.fit(X, y, **params).transform(X)

        @_estimator_has("set_output")
        def set_output(self, *, transform: Any = None) -> SubsetFit:
            """Let the estimator's ``transform`` return a data frame or an array, as in scikit-learn."""
            for inner in (self.estimator, getattr(self, "estimator_", None)):
                if inner is not None:
                    inner.set_output(transform=transform)
            return self

        @_estimator_has("score")
        def score(self, X: Any, y: Any = None, **params: Any) -> Any:
            """Score of the fitted estimator."""
            check_is_fitted(self)
            return self.estimator_.score(X, y, **self._routed("score", params).estimator.score)

        def get_metadata_routing(self) -> Any:
            """Which metadata the estimator and the selector request."""

            def mapping() -> Any:
                return MethodMapping().add(caller="fit", callee="fit").add(caller="fit_transform", callee="fit")

            selector = DiverseSelector() if self.selector is None else self.selector
            router = MetadataRouter(owner=self).add(selector=selector, method_mapping=mapping())
            scored = mapping().add(caller="score", callee="score")
            return router.add(estimator=self.estimator, method_mapping=scored)

        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            inner = get_tags(self.estimator)
            for name in ("estimator_type", "classifier_tags", "regressor_tags", "transformer_tags", "target_tags"):
                setattr(tags, name, getattr(inner, name))
            tags.input_tags = inner.input_tags
            # The selector reads the rows first, so its input tags apply.
            reader = get_tags(DiverseSelector() if self.selector is None else self.selector)
            tags.input_tags.sparse &= reader.input_tags.sparse
            tags.input_tags.allow_nan &= reader.input_tags.allow_nan
            tags.input_tags.pairwise |= reader.input_tags.pairwise
            tags.target_tags.required |= reader.target_tags.required
            return tags

else:
    DiverseSelector = stand_in("DiverseSelector", needs="scikit-learn", extra="sklearn")
    SubsetFit = stand_in("SubsetFit", needs="scikit-learn", extra="sklearn")
