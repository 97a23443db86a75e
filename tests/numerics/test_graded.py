"""Factorisations of rows that differ by many orders of magnitude."""

import math
from itertools import combinations

import numpy as np
import pytest

from diverset.numerics.accretive import range_factor
from diverset.numerics.graded import graded_qr, graded_right_vectors


def test_graded_factorisations():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((6, 4)) * 10.0 ** np.array([0, -9, 6, -3, 3, 8])[:, None]
    Q, R = graded_qr(rows)
    assert np.abs(Q.T @ Q - np.eye(4)).max() < 1e-14
    assert (np.abs(Q @ R - rows) <= 1e-14 * np.abs(rows).max(axis=1)[:, None]).all()
    sigma, V = graded_right_vectors(rows)
    # The product of the singular values is the root of the sum of squared minors: Cauchy and Binet.
    minors = sum(np.linalg.det(rows[list(c)]) ** 2 for c in combinations(range(6), 4))
    assert np.prod(sigma) == pytest.approx(math.sqrt(minors), rel=1e-10)
    assert np.abs(V.T @ V - np.eye(4)).max() < 1e-14
    assert graded_right_vectors(np.zeros((3, 2)))[0].size == 0


@pytest.mark.parametrize("rank", [0, 2, 4])
@pytest.mark.parametrize("scale", [1.0, 2.0**40])
def test_a_singular_core_is_factored_through_its_range(rank, scale):
    rng = np.random.default_rng(rank)
    F, skew = rng.standard_normal((5, rank)), rng.standard_normal((rank, rank))
    d = scale ** np.linspace(-1.0, 1.0, 5)
    M = d[:, None] * (F @ (np.eye(rank) + skew - skew.T) @ F.T) * d
    Z, core = range_factor(M)
    assert Z.shape == (5, rank)
    assert core.shape == (rank, rank)
    assert (np.abs(Z @ core @ Z.T - M) <= 1e-13 * d[:, None] * d).all()
    assert range_factor(M + np.diag(d**2)) is None
