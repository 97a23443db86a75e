"""LexRank."""

import numpy as np
import pytest
from scipy import sparse

from diverset.errors import DiversetError
from diverset.text import lexrank


def stationary(S, damping):
    """Principal left eigenvector of the reader's transition matrix, by the eigenvalues of the whole."""
    S = np.array(S, dtype=float)
    lonely = S.sum(axis=1) == 0
    S[lonely, lonely] = 1.0
    P = damping / len(S) + (1 - damping) * S / S.sum(axis=1, keepdims=True)
    values, vectors = np.linalg.eig(P.T)
    p = vectors[:, np.argmax(values.real)].real
    return p / p.sum()


@pytest.fixture
def cosines():
    rng = np.random.default_rng(0)
    F = np.abs(rng.standard_normal((30, 8))) * (rng.random((30, 8)) < 0.4)
    F[5] = 0.0
    return F / np.maximum(np.linalg.norm(F, axis=1, keepdims=True), 1e-300)


@pytest.mark.parametrize("damping", [0.05, 0.15, 0.85, 1.0])
def test_lexrank_is_the_stationary_distribution(cosines, damping):
    S = cosines @ cosines.T
    expected = stationary(S, damping)
    np.testing.assert_allclose(lexrank(S, damping=damping), expected, atol=1e-11)
    np.testing.assert_allclose(lexrank(sparse.csr_array(S), damping=damping), expected, atol=1e-11)
    np.testing.assert_allclose(lexrank(features=cosines, damping=damping), expected, atol=1e-11)
    np.testing.assert_allclose(lexrank(features=sparse.csr_matrix(cosines), damping=damping), expected, atol=1e-11)


def test_thresholded_lexrank_counts_links(cosines):
    S = cosines @ cosines.T
    expected = stationary(S > 0.1, 0.15)
    np.testing.assert_allclose(lexrank(S, threshold=0.1), expected, atol=1e-11)
    np.testing.assert_allclose(lexrank(sparse.csr_array(S), threshold=0.1), expected, atol=1e-11)
    assert np.abs(lexrank(S) - expected).max() > 1e-3


def test_without_jumps_lexrank_is_the_mean_similarity(cosines):
    S = cosines @ cosines.T
    S = S[np.ix_(S.sum(axis=1) > 0, S.sum(axis=1) > 0)]
    np.testing.assert_allclose(lexrank(S, damping=0.0), S.sum(axis=1) / S.sum(), atol=1e-14)


def test_lexrank_edges():
    assert lexrank(np.zeros((0, 0))).shape == (0,)
    assert lexrank([[1.0]]) == pytest.approx([1.0])
    np.testing.assert_allclose(lexrank(np.zeros((4, 4))), 0.25)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either"),
        ({"similarity": np.eye(2), "features": np.eye(2)}, "either"),
        ({"features": np.eye(2), "threshold": 0.1}, "threshold"),
        ({"similarity": np.ones((2, 3))}, r"\(2, 3\)"),
        ({"similarity": [[1.0, -0.5], [-0.5, 1.0]]}, "-0.5"),
        ({"similarity": np.eye(2), "damping": 1.5}, "1.5"),
    ],
)
def test_lexrank_refuses(arguments, message):
    with pytest.raises(DiversetError, match=message):
        lexrank(**arguments)


@pytest.mark.parametrize("given", [np.eye(3) * 1j, sparse.csr_matrix(np.eye(3) * 1j)], ids=["dense", "sparse"])
def test_complex_numbers_are_refused(given):
    with pytest.raises(DiversetError, match="similarity is complex"):
        lexrank(given)
    with pytest.raises(DiversetError, match="features is complex"):
        lexrank(features=given)
