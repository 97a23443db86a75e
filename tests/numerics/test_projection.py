"""Projections of sparse features, by counting signs and by products."""

import numpy as np
import pytest
import scipy.sparse

from diverset.numerics.projection import project, projection_matrix


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
