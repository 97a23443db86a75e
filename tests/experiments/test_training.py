"""The quantities of the tables: gradients by differences, errors by hand, traces by the library."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from diverset.integrations import inducing_points
from experiments.training.__main__ import errors, fourier_features, gradients, mixture, stratified, trace_error


def test_gradients_of_the_logistic_loss():
    X, y = mixture(5, n=40)
    g = gradients(X, y, seed=0, steps=0)
    rows = np.column_stack([X, np.ones(40)])

    def loss(W):
        scores = rows @ W
        return np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(40), y]

    step = np.zeros((11, 2))
    step[3, 1] = 1e-5
    by_differences = (loss(step) - loss(-step)) / 2e-5
    np.testing.assert_allclose(g.reshape(40, 11, 2)[:, 3, 1], by_differences, atol=1e-8)


def test_errors_of_whole_and_stratified_batches():
    g = np.random.default_rng(0).standard_normal((6, 3))
    assert errors([[0, 1, 2, 3, 4, 5]], np.ones(6), g)[0] == pytest.approx(0.0)
    np.testing.assert_allclose(stratified(np.arange(6), g, 2), 0.0, atol=1e-20)
    labels = np.array([0, 0, 1, 1, 1, 2])
    constant = labels[:, None] * np.ones((6, 3))
    np.testing.assert_allclose(stratified(labels, constant, 5), 0.0, atol=1e-20)


def test_traces_and_features():
    X = np.random.default_rng(1).standard_normal((80, 3))
    found = inducing_points(X, 9, length_scale=1.5)
    assert trace_error(X, found.points, 1.5) == pytest.approx(found.trace_bound, rel=1e-6)
    features = fourier_features(X, seed=0, number=20)
    np.testing.assert_allclose((features**2).sum(axis=1), 1.0)
