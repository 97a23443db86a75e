"""Random projections: their entries, sparse features by counting signs and by products, and bounds on dimensions."""

import math

import numpy as np
import pytest
import scipy.sparse

from diverset.errors import DiversetError, KernelError
from diverset.numerics import projection
from diverset.numerics.projection import project, projection_bound, projection_dim, projection_matrix


@pytest.mark.parametrize("value", [1.0, -2.5])
@pytest.mark.parametrize("dim", [1, 7, 64, 130])
def test_flat_features_are_projected_by_the_sign_matrix(value, dim):
    X = value * (np.random.default_rng(0).random((40, 300)) < 0.1)
    X[3] = 0.0
    G = projection_matrix(300, dim, rng=5, method="signs")
    assert np.unique(np.abs(G)).tolist() == pytest.approx([1.0 / np.sqrt(dim)])
    flat = scipy.sparse.csr_array(X)
    for features in (X, flat, flat.astype(np.float32), flat.tocsc()):
        np.testing.assert_allclose(project(features, dim, rng=5, method="signs"), X @ G, atol=1e-12)
    # One entry that differs, and the features are not flat.
    flat.data[-1] = 7.0
    np.testing.assert_allclose(project(flat, dim, rng=5, method="signs"), flat.toarray() @ G, atol=1e-12)


@pytest.mark.parametrize("method", ["gaussian", "sparse", "signs"])
def test_entries_have_mean_zero_and_variance_one_over_the_dimension(method):
    G = projection_matrix(20_000, 5, rng=3, method=method)
    assert G.shape == (20_000, 5)
    assert abs(G.mean()) < 4.0 * math.sqrt(1.0 / 5.0 / G.size)
    assert (G**2).mean() == pytest.approx(1.0 / 5.0, rel=0.03)
    if method == "sparse":
        assert np.unique(G).tolist() == pytest.approx([-math.sqrt(0.6), 0.0, math.sqrt(0.6)])
        assert [np.mean(G == value) for value in np.unique(G)] == pytest.approx([1 / 6, 2 / 3, 1 / 6], abs=0.01)
    assert projection_matrix(0, 1, rng=3, method=method).shape == (0, 1)
    assert (projection_matrix(3, 2, rng=1) == projection_matrix(3, 2, rng=1, method="gaussian")).all()


def test_features_that_only_look_flat(monkeypatch):
    """Signs are counted only for finite, equal entries of compressed sparse rows; the last block is looked at, too."""
    counted = []
    monkeypatch.setattr(projection, "_sign_sums", lambda features, *_: counted.append(features.nnz))
    X = scipy.sparse.csr_array(np.eye(3))
    project(X, 2, rng=0, method="signs")
    assert counted == [3]
    long = scipy.sparse.csr_array(np.ones((1, (1 << 18) + 1)))
    project(long, 1, rng=0, method="signs")
    assert counted == [3, (1 << 18) + 1]
    long.data[-1] = 2.0
    empty = scipy.sparse.csr_array((2, 3))
    for features in (long, empty, X.tocsc(), X.astype(complex), X.toarray()):
        assert project(features, 1, rng=0, method="signs").shape == (features.shape[0], 1)
    project(X, 2, rng=0, method="gaussian")
    assert len(counted) == 2
    for bad in (np.nan, np.inf):
        with pytest.raises(KernelError, match="every entry must be finite"):
            project(bad * X, 2, rng=0, method="signs")


def test_blocks_of_features_need_two_dimensions():
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).standard_normal((5, 4))
    Z = project(da.from_array(X, chunks=(2, 3)), 3, rng=1)
    assert Z.shape == (5, 3)
    np.testing.assert_allclose(Z.compute(), project(X, 3, rng=1), atol=1e-13)
    with pytest.raises(KernelError, match=r"features has shape \(4,\); expected 2 dimensions"):
        project(da.from_array(X[0]), 3, rng=1)


@pytest.mark.parametrize(("n", "k", "eps", "delta"), [(2, 0, 0.25, 0.1), (100, 3, 0.1, 0.05), (50, 4000, 0.01, 0.4)])
def test_dimensions_follow_the_lemma(n, k, eps, delta):
    narrow = 2 * k / eps
    wide = 24 / eps**2 * (math.log(3 / delta) / math.log(n) + 1) * (math.log(n) + 1) + k - 1
    assert projection_dim(n, k, eps, delta) == math.ceil(max(narrow, wide))
    assert projection_dim(log_n_items=math.log(n), k=k, eps=eps, delta=delta) == math.ceil(max(narrow, wide))


def test_defaults_and_ends_of_the_dimensions():
    assert projection_dim(10) == projection_dim(10, 1, 0.1, 0.1)
    assert projection_dim(10, 10**6, 0.25) == 8 * 10**6
    assert projection_dim(10, 1, 0.499, 0.499) > 0
    for bad, message in (
        ({}, "either n_items or log_n_items"),
        ({"n_items": 3, "log_n_items": 2.0}, "either n_items or log_n_items"),
        ({"n_items": 1}, "two items or more"),
        ({"log_n_items": math.inf}, "two items or more"),
        ({"n_items": 3, "eps": 0.5}, "between 0 and 1/2"),
        ({"n_items": 3, "delta": 0.5}, "between 0 and 1/2"),
        ({"n_items": 3, "eps": 0.0}, "between 0 and 1/2"),
        ({"n_items": 3, "delta": 1e-100}, "between 0 and 1/2"),
    ):
        with pytest.raises(DiversetError, match=message):
            projection_dim(**bad)


def test_bound_on_the_distance():
    assert projection_bound(3, 0.01) == pytest.approx(math.exp(0.18) - 1.0, rel=1e-12)
    assert projection_bound(0, 0.3) == projection_bound(3, 0.0) == 0.0
    assert projection_bound(1, 116.0) == pytest.approx(math.exp(696.0))
    assert projection_bound(1, 117.0) == math.inf
