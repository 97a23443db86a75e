"""Random projections: the lemma's formula, the bound of the theorem, and estimates of the L1 distance."""

import math

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError
from diverset.numerics._projection_loops import BYTES, count_rows
from diverset.numerics.projection import projection_matrix
from structures_for_tests import chain


@pytest.mark.parametrize("method", ["gaussian", "sparse", "signs"])
def test_projections_keep_inner_products_on_average(method):
    G = projection_matrix(6, 200_000, rng=0, method=method)
    assert G @ G.T == pytest.approx(np.eye(6), abs=0.02)
    if method == "sparse":
        assert np.mean(G == 0.0) == pytest.approx(2 / 3, abs=0.01)
        assert set(np.unique(G / G.max()).round(12)) == {-1.0, 0.0, 1.0}


def test_sparse_and_dense_features_project_alike():
    X = np.random.default_rng(0).standard_normal((5, 30)) * (np.random.default_rng(1).random((5, 30)) < 0.2)
    dense = dv.numerics.project(X, 7, rng=3)
    assert dv.numerics.project(scipy.sparse.csr_array(X), 7, rng=3) == pytest.approx(dense, rel=1e-12)


@pytest.mark.parametrize("value", [1.0, -0.3])
def test_equal_sparse_features_are_projected_by_counting(value):
    rng = np.random.default_rng(0)
    X = value * (rng.random((50, 400)) < rng.random((50, 1)))
    X[3], X[4] = 0.0, value  # nothing, and more than a byte counts
    for dim in (1, 7, 50, 64, 65, 130):
        counted = dv.numerics.project(scipy.sparse.csr_array(X), dim, rng=3, method="signs")
        assert counted == pytest.approx(dv.numerics.project(X, dim, rng=3, method="signs"), abs=1e-11)


def test_counters_of_a_byte_do_not_overflow():
    """Random signs are never all +1 in a long row; here they are."""
    lengths = np.array([0, 1, 251, 252, 253, 255, 256, 257, 1_000])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    table = np.ones((3, BYTES), dtype=np.uint8)
    counts = np.empty((len(lengths), 50), dtype=np.int32)
    count_rows(indptr, np.zeros(indptr[-1], dtype=np.int32), table.view(np.uint64), counts, 0, len(lengths))
    assert np.array_equal(counts, np.repeat(lengths[:, None], 50, axis=1))


def test_dimension_of_the_lemma():
    n, k, eps, delta = 1_000, 5, 0.2, 0.05
    wide = 24 / eps**2 * (math.log(3 / delta) / math.log(n) + 1) * (math.log(n) + 1) + k - 1
    assert dv.numerics.projection_dim(n, k, eps, delta) == math.ceil(wide)
    assert dv.numerics.projection_dim(n, 10**6, eps, delta) == math.ceil(2 * 10**6 / eps)
    assert dv.numerics.projection_dim(200**4, 3, 0.1, 0.1) == dv.numerics.projection_dim(
        k=3, eps=0.1, delta=0.1, log_n_items=4 * math.log(200)
    )
    for bad in (dict(n_items=1), dict(n_items=9, eps=0.5), dict(n_items=9, delta=0.0), dict()):
        with pytest.raises(DiversetError):
            dv.numerics.projection_dim(**bad)
    with pytest.raises(DiversetError, match="method is 'cosine'"):
        dv.numerics.project(np.eye(3), 2, method="cosine")


def test_l1_distance_stays_below_the_bound_in_the_promised_fraction():
    rng = np.random.default_rng(5)
    X, k, eps, delta = rng.standard_normal((8, 6)), 2, 0.05, 0.1
    d = dv.numerics.projection_dim(8, k, eps, delta)
    original = dv.KDPP.from_features(X, k)
    far = [
        dv.core.l1_distance(original, dv.KDPP.from_features(X, k, projection=d, rng=seed)).value for seed in range(20)
    ]
    assert np.mean(np.array(far) <= dv.numerics.projection_bound(k, eps)) >= 1 - delta
    few = [dv.core.l1_distance(original, dv.KDPP.from_features(X, k, projection=3, rng=s)).value for s in range(20)]
    # The bound can be broken: three dimensions are too few for it.
    assert np.mean(np.array(few) > dv.numerics.projection_bound(k, eps)) > 0.2
    assert np.mean(far) < 0.1 * np.mean(few)


def test_l1_by_sampling_agrees_with_listing():
    X = np.random.default_rng(6).standard_normal((8, 5))
    p, q = dv.DPP.from_features(X), dv.DPP.from_features(X, projection=4, rng=0)
    exact = dv.core.l1_distance(p, q)
    assert exact.standard_error == 0.0
    estimate = dv.core.l1_distance(p, q, n_samples=2_000, rng=0)
    assert abs(estimate.value - exact.value) < 4 * estimate.standard_error
    assert abs(estimate.value - 0.5 * exact.value) > 10 * estimate.standard_error
    with pytest.raises(DiversetError, match="n_samples is 1"):
        dv.core.l1_distance(p, q, n_samples=1)


def test_structured_models_project_like_their_list():
    model = chain(np.random.default_rng(7), [2, 2, 2], D=6)
    s, t = dv.StructuredDPP(model.graph()), dv.StructuredDPP(model.graph(), projection=4, rng=1)
    G = projection_matrix(6, 4, rng=1)
    assert t.dual_kernel == pytest.approx(G.T @ (model.rows.T @ model.rows) @ G, rel=1e-10)
    exact = dv.core.l1_distance(s.listed()[0].of_size(2), t.listed()[0].of_size(2))
    estimate = dv.core.l1_distance(s.of_size(2), t.of_size(2), n_samples=800, rng=0)
    assert abs(estimate.value - exact.value) < 4 * estimate.standard_error


def test_the_distance_falls_with_the_dimension():
    model = chain(np.random.default_rng(8), [3, 3, 3], D=30)
    listed = dv.StructuredDPP(model.graph()).of_size(2)
    draws = listed.sample(80, rng=0)
    log_p = np.array([listed.log_prob(Y) for Y in draws])
    curve = []
    for d in (4, 25, 400):
        repeated = []
        for seed in range(8):
            projected = dv.StructuredDPP(model.graph(), projection=d, rng=seed).of_size(2)
            log_q = np.array([projected.log_prob(Y) for Y in draws])
            repeated.append(2 * np.maximum(0.0, 1 - np.exp(log_q - log_p)).mean())
        curve.append(np.mean(repeated))
    assert curve[0] > 1.5 * curve[1] > 3.0 * curve[2]
