"""Factorisations of rows that differ by many orders of magnitude."""

import math
from itertools import combinations

import numpy as np
import pytest

from diverset.numerics import graded
from diverset.numerics.accretive import range_factor
from diverset.numerics.graded import (
    eigh_graded,
    graded_qr,
    graded_right_vectors,
    graded_rotation,
    graded_svd,
    is_graded,
    pivoted_rows,
    row_space,
    without_rounding,
)
from diverset.numerics.rounding import EPS


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


def normal(n, m, *, imaginary=False):
    rng = np.random.default_rng([n, m])
    A = rng.standard_normal((n, m))
    return A + 1j * rng.standard_normal((n, m)) if imaginary else A


def test_which_diagonals_are_graded():
    for diagonal, expected in (
        ([1.0, 1e4], False),
        ([1.0, 1.001e4], True),
        ([1.001e4, 3.0, 1.0], True),
        ([0.0, 1.0], False),
        ([-1.0, 1e-9, 1.0], True),
        ([1.0], False),
        ([0.0], False),
        ([], False),
    ):
        assert is_graded(np.array(diagonal)) is expected


@pytest.mark.parametrize("imaginary", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_jacobi_rotations_give_a_singular_value_decomposition(n, imaginary):
    X = normal(n, n, imaginary=imaginary)
    X[:, 0] *= 1e3
    sigma, U, J = graded._jacobi(X)
    np.testing.assert_allclose(np.sort(sigma)[::-1], np.linalg.svd(X, compute_uv=False), rtol=1e-12)
    np.testing.assert_allclose(X @ J, U * sigma, atol=1e-11)
    for V in (U, J):
        np.testing.assert_allclose(V.conj().T @ V, np.eye(n), atol=1e-13)
    # A column of zeros has the singular value 0, and no direction.
    X[:, -1] = 0.0
    sigma, U, J = graded._jacobi(X)
    np.testing.assert_allclose(X @ J, U * sigma, atol=1e-11)
    assert np.isfinite(U).all()


def test_jacobi_says_that_it_did_not_converge(monkeypatch):
    monkeypatch.setattr(graded, "_MAX_SWEEPS", 1)
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        graded._jacobi(normal(4, 4))


@pytest.mark.parametrize("scales", [np.zeros(6), np.array([0, -9, 6, -3, 3, 8]), np.array([100, -100, 3, 3, 3, 3])])
def test_real_and_complex_rows_have_the_same_decomposition(scales):
    """LAPACK for real rows, rotations of our own for complex ones, which differ by unitary factors here."""
    B = normal(6, 4) * 10.0 ** scales[:, None]
    sigma, V = graded_svd(B)
    assert (np.diff(sigma) >= 0.0).all()
    # V sigma W* = B row by row, so the products of rows of V sigma are those of B.
    norms = np.sqrt((B**2).sum(axis=1))
    assert (np.abs((V * sigma) @ (V * sigma).T - B @ B.T) <= 1e-12 * norms[:, None] * norms).all()
    phases = np.exp(1j * np.arange(6))
    sigma_c, V_c = graded_svd(B * phases[:, None])
    np.testing.assert_allclose(sigma_c, sigma, rtol=1e-12)
    VV = V_c.conj() * phases[:, None]
    assert (np.abs(np.abs(VV) - np.abs(V)) <= 1e-11 * np.minimum(1.0, norms[:, None] / sigma)).all()
    assert graded_svd(B[:, :0])[0].shape == (0,)


def test_rotation_diagonalises_the_products_of_the_columns():
    X = normal(5, 3) * np.array([1e-8, 1.0, 1e6])
    sigma, W = graded_rotation(X)
    assert (np.diff(sigma) > 0.0).all()
    np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-13)
    np.testing.assert_allclose((X @ W).T @ (X @ W) / sigma[:, None] / sigma, np.eye(3), atol=1e-9)
    unit = normal(5, 3)
    assert np.prod(sigma) == pytest.approx(1e-2 * math.sqrt(np.linalg.det(unit.T @ unit)))


@pytest.mark.parametrize("imaginary", [False, True])
@pytest.mark.parametrize("rank", [0, 1, 3, 5])
def test_matrices_of_any_rank_and_scale(rank, imaginary):
    d = 10.0 ** np.array([0, -8, 5, -2, 7])
    F = normal(5, rank, imaginary=imaginary)
    A = d[:, None] * (F @ F.conj().T) * d
    noise = 4.0 * EPS * np.diagonal(A).real
    B = pivoted_rows(A, noise)
    assert B.shape == (5, rank)
    size = np.sqrt(np.diagonal(A).real)
    assert (np.abs(B @ B.conj().T - A) <= 1e-13 * size[:, None] * size).all()
    values, V = eigh_graded(A, noise)
    assert (values[: 5 - rank] == 0.0).all()
    assert (values[5 - rank :] > 0.0).all()
    assert V.shape == (5, rank)
    top = values[5 - rank :]
    assert (np.abs((V * top) @ V.conj().T - A) <= 1e-12 * size[:, None] * size).all()
    if rank == 5:
        assert np.log(values).sum() == pytest.approx(np.linalg.slogdet(F @ F.conj().T)[1] + 2.0 * np.log(d).sum())


def test_pivots_of_noise_are_left_out():
    # One item: a pivot of 4 units of its noise is rounding.
    for size, rank in ((3.9, 0), (4.1, 1)):
        assert pivoted_rows(np.array([[size * 1e-6]]), np.array([1e-6])).shape == (1, rank)
    # Two items: 4 sqrt(2) units.
    limit = 4.0 * math.sqrt(2.0) * 1e-6
    for factor, rank in ((0.9, 1), (1.1, 2)):
        s = math.sqrt(1.0 - factor * limit)
        assert pivoted_rows(np.array([[1.0, s], [s, 1.0]]), np.full(2, 1e-6)).shape == (2, rank)
    # An item without noise is exactly zero.
    B = pivoted_rows(np.array([[1.0, 0.3], [0.3, 5.0]]), np.array([EPS, 0.0]))
    assert B.tolist() == [[pytest.approx(1.0)], [0.0]]
    assert pivoted_rows(np.zeros((0, 0)), np.zeros(0)).shape == (0, 0)
    limit = 2.0 * 4.0 * math.sqrt(2.0) * 1e-6
    rows, noise = np.array([[0.9 * limit, 0.0], [0.0, 1.1 * limit], [0.0, 0.0]]), np.full(3, 1e-6)
    found, kept = without_rounding(rows, noise)
    assert found.tolist() == [[0.0, 0.0], [0.0, 1.1 * limit], [0.0, 0.0]]
    assert kept is noise


def test_row_space_of_rows_known_to_different_digits():
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1e-7], [0.0, 7.0, 0.0]])
    space = row_space(rows, np.array([1e-10, 1e-10, 0.0]))
    np.testing.assert_allclose(space @ space.T, np.diag([1.0, 0.0, 1.0]), atol=1e-15)
    # A row beside its noise: the limit is 4 times the root of the number of rows.
    limit = 4.0 * math.sqrt(2.0) * 1e-10
    for factor, rank in ((0.9, 1), (1.1, 2)):
        few = np.array([[1.0, 0.0], [0.0, factor * limit]])
        assert row_space(few, np.full(2, 1e-10)).shape == (2, rank)
    # Relative to the largest, by the rounding of the decomposition.
    for factor, rank in ((0.5, 1), (2.0, 2)):
        few = np.array([[1.0, 0.0], [0.0, factor * 2.0 * EPS]])
        assert row_space(few, np.full(2, 1e-30)).shape == (2, rank)
    assert row_space(rows, np.zeros(3)).shape == (3, 0)
    assert row_space(rows[:0], np.zeros(0)).shape == (3, 0)


@pytest.mark.parametrize(("n", "m", "rank"), [(2, 4, 2), (4, 2, 2), (3, 3, 1), (5, 3, 2), (3, 5, 0), (0, 2, 0)])
def test_rank_and_factors_of_rows(n, m, rank):
    rows = normal(n, rank) @ normal(rank, m) * 10.0 ** np.linspace(-30, 30, n)[:, None]
    Q, R = graded_qr(rows)
    assert Q.shape == (n, rank)
    assert R.shape == (rank, m)
    np.testing.assert_allclose(Q.T @ Q, np.eye(rank), atol=1e-13)
    assert (np.abs(Q @ R - rows) <= 1e-13 * np.abs(rows).max(axis=1, initial=0.0)[:, None]).all()
    # A column of zeros changes neither.
    wider = graded_qr(np.hstack([rows, np.zeros((n, 1))]))[1]
    np.testing.assert_allclose(np.abs(wider), np.abs(np.hstack([R, np.zeros((rank, 1))])), rtol=1e-12)


def test_when_rows_are_dependent():
    # 8 rounding units for each of at least 8 columns, relative to the largest singular value, here about sqrt(2).
    for x, rank in ((20.0 * EPS, 1), (400.0 * EPS, 2)):
        assert len(graded_qr(np.array([[1.0, 0.0], [1.0, x]]))[1]) == rank
