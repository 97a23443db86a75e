"""Resolvents, determinants and size laws of matrices that are not symmetric: each by two routes."""

import math
from itertools import combinations

import numpy as np
import pytest

from diverset.numerics import accretive
from diverset.numerics.accretive import (
    balanced,
    congruence,
    equilibrated,
    log_det_and_pivot,
    log_det_general,
    range_factor,
    resolvent,
    rounding_of,
    size_law,
)
from diverset.numerics.rounding import EPS


def accretive_matrix(n, rank, *, seed=0, symmetric=True):
    """Positive semidefinite part (unless left out) and skew part of a common range."""
    rng = np.random.default_rng([seed, n, rank])
    F, S = rng.standard_normal((n, rank)), rng.standard_normal((rank, rank))
    return F @ (symmetric * np.eye(rank) + S - S.T) @ F.T


def test_scales_are_powers_of_two_and_leave_entries_near_one():
    rng = np.random.default_rng(0)
    A = (
        rng.standard_normal((5, 5))
        * 10.0 ** np.array([0, 90, -90, 3, 0])[:, None]
        * 10.0 ** np.array([0, 90, -90, 3, 0])
    )
    A[4], A[:, 4] = 0.0, 0.0
    N, d = equilibrated(A)
    assert (np.exp2(np.rint(np.log2(d))) == d).all()
    assert d[4] == 1.0
    assert (N * d[:, None] * d == A).all()
    largest = np.abs(N[:4, :4]).max(axis=1)
    assert (largest < 16.0).all()
    assert (largest > 1.0 / 16.0).all()
    # Entries within a factor of four of 1 are left as they are; the next are not.
    assert equilibrated(np.diag([4.0, 0.25]))[1].tolist() == [1.0, 1.0]
    assert equilibrated(np.diag([4.1, 0.24]))[1].tolist() == [2.0, 0.5]
    # A matrix with large entries below the diagonal only is scaled alike.
    assert equilibrated(np.array([[0.0, 0.0], [2.0**40, 0.0]]))[1].tolist() == [2.0**20, 2.0**20]
    assert equilibrated(np.zeros((0, 0)))[1].shape == (0,)


def test_scales_of_a_skew_symmetric_matrix_follow_the_items():
    rng = np.random.default_rng(1)
    S = rng.uniform(0.5, 2.0, (6, 6))
    q = 10.0 ** np.array([-6.0, 0.0, 5.0, 2.0, -3.0, 0.0])
    A = q[:, None] * np.tril(S, -1) * q
    A = A - A.T
    N, d = balanced(A, rounding_of(6))
    np.testing.assert_allclose(N * d[:, None] * d, A, rtol=1e-14)
    assert (N == -N.T).all()
    assert (np.abs(np.log10(d / q)) < 1.0).all()
    # Entries below the rounding of the others do not count.
    noisy = A.copy()
    noisy[0, 2] = noisy[2, 0] = 0.0
    N, d = balanced(noisy + 1e-18 * q[:, None] * q, rounding_of(6))
    assert (np.abs(np.log10(d / q)) < 1.0).all()
    assert N[0, 2] == N[2, 0] == N[1, 1] == 0.0


def test_which_entries_of_a_congruence_are_rounding():
    rng = np.random.default_rng(2)
    F, M = rng.standard_normal((3, 5)), rng.standard_normal((5, 5))
    found = congruence(F, M)
    np.testing.assert_allclose(found, F @ M @ F.T, atol=1e-13)
    # x and -x cancel up to a factor: 2 units for each of at least 4 terms.
    for units, zero in ((7.0, True), (9.5, False)):
        F = np.array([[1.0, 1.0]])
        M = np.diag([1.0, -1.0 + 2.0 * units * EPS])
        assert bool(congruence(F, M)[0, 0] == 0.0) is zero
    skew = congruence(rng.standard_normal((4, 4)), np.triu(np.ones((4, 4)), 1) - np.tril(np.ones((4, 4)), -1))
    assert (skew == -skew.T).all()
    assert skew[0, 1] != 0.0


def test_rounding_of_small_and_large_matrices():
    assert [rounding_of(n) / EPS for n in (0, 8, 16)] == [64.0, 64.0, 128.0]


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_determinants_with_their_sign(m):
    rng = np.random.default_rng(m)
    for _ in range(8):
        A = rng.standard_normal((m, m)) * 10.0 ** rng.integers(-80, 80, m)[:, None] * 10.0 ** rng.integers(-80, 80, m)
        sign, log_det = np.linalg.slogdet(A)
        found, pivot = log_det_and_pivot(A)
        assert found == (pytest.approx(log_det, abs=1e-9) if sign > 0 else -np.inf)
        assert found == log_det_general(A)
        assert 0.0 < pivot <= m
    for zero in (A * (np.arange(m) > 0), A * (np.arange(m) > 0)[:, None]):
        assert log_det_and_pivot(zero) == (-np.inf, 0.0)
    assert log_det_and_pivot(A[:0, :0]) == (0.0, 1.0)


def test_when_a_determinant_is_rounding():
    for width, units in ((0, 16.0), (1, 16.0), (10, 80.0)):
        for factor, known in ((0.9, False), (1.1, True)):
            # The last pivot after scaling is half of this, since the row is divided by its largest entry.
            A = np.array([[1.0, 1.0], [1.0, 1.0 + factor * units * EPS]])
            found = log_det_general(A, width)
            assert (found > -np.inf) is known


def routes(monkeypatch, L, **options):
    """The two kernels by one factorisation, and by the route for large kernels."""
    plain = resolvent(L)
    assert plain.rank is None
    monkeypatch.setattr(accretive, "_PLAIN_ERROR", -1.0)
    return plain, resolvent(L, **options)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("n", "rank"), [(1, 1), (4, 4), (5, 2), (6, 4), (3, 0)])
def test_the_routes_for_large_and_small_kernels_agree(monkeypatch, n, rank, symmetric):
    if not symmetric and rank % 2:
        return
    q = np.linspace(0.3, 3.0, n)
    L = q[:, None] * accretive_matrix(n, rank, symmetric=symmetric) * q
    plain, scaled = routes(monkeypatch, L)
    assert scaled.rank == rank
    for one, other in ((plain.K, scaled.K), (plain.Kc, scaled.Kc)):
        np.testing.assert_allclose(one, other, atol=1e-11)
    assert plain.log_det == pytest.approx(scaled.log_det, abs=1e-10)
    np.testing.assert_allclose(plain.K, L @ np.linalg.inv(np.eye(n) + L), atol=1e-11)
    np.testing.assert_allclose(plain.Kc, np.linalg.inv(np.eye(n) + L), atol=1e-11)
    assert plain.log_det == pytest.approx(np.linalg.slogdet(np.eye(n) + L)[1], abs=1e-11)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6, 1e100])
@pytest.mark.parametrize(("n", "rank"), [(4, 4), (5, 2)])
def test_large_kernels_tend_to_the_projection_onto_their_range(n, rank, scale):
    L = accretive_matrix(n, rank, seed=3)
    found = resolvent(scale * L)
    assert (found.rank == rank) if scale > 1e4 else True
    U = np.linalg.svd(L)[0][:, :rank]
    np.testing.assert_allclose(found.K + found.Kc, np.eye(n), atol=1e-12)
    if scale == 1e100:
        np.testing.assert_allclose(found.K, U @ U.T, atol=1e-11)
        core = U.T @ L @ U
        assert found.log_det == pytest.approx(np.linalg.slogdet(core)[1] + rank * math.log(scale), rel=1e-12)


def test_the_rounding_of_the_entries_decides_the_rank(monkeypatch):
    # Two items alike up to 1e-9, whatever their scale.
    L = np.array([[1.0, 1.0, 0.0], [1.0, 1.0 + 1e-9, 0.0], [0.0, 0.0, 1.0]])
    assert routes(monkeypatch, L)[1].rank == 3
    assert resolvent(L, rounding=1e-6).rank == 2
    # Without the promise of an accretive matrix, one factorisation.
    assert resolvent(L, accretive=False).rank is None


@pytest.mark.parametrize(("factor", "plain"), [(0.9, True), (1.1, False)])
def test_which_kernels_are_large(factor, plain):
    for units in (1.0, 100.0):
        L = np.diag([factor * 1e-12 / (units * EPS), 1.0])
        assert (resolvent(L, rounding=units * rounding_of(2)).rank is None) is plain
    assert (resolvent(np.diag([factor * 1e-12 / EPS, 1.0])).rank is None) is plain
    # Entries more accurate than double precision do not help.
    assert (resolvent(np.diag([factor * 1e-12 / EPS, 1.0]), rounding=EPS).rank is None) is plain


def test_resolvent_of_no_items():
    empty = resolvent(np.zeros((0, 0)))
    assert (empty.K.shape, empty.Kc.shape, empty.log_det) == ((0, 0), (0, 0), 0.0)


@pytest.mark.parametrize("block", [1, 1 << 18])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5])
def test_size_law_matches_enumeration(monkeypatch, n, block):
    monkeypatch.setattr(accretive, "_BLOCK", block)
    L = accretive_matrix(n, n, seed=4)
    K = L @ np.linalg.inv(np.eye(n) + L) if n else np.zeros((0, 0))
    weights = [sum(np.linalg.det(L[np.ix_(Y, Y)]) for Y in combinations(range(n), k)) for k in range(n + 1)]
    np.testing.assert_allclose(size_law(K), np.array(weights) / sum(weights), atol=1e-14)


def test_size_law_of_certain_and_impossible_items():
    assert size_law(np.diag([1.0, 0.0, 1.0])) == pytest.approx([0.0, 0.0, 1.0, 0.0], abs=1e-15)
    assert size_law(np.zeros((2, 2))) == pytest.approx([1.0, 0.0, 0.0], abs=1e-15)
    # An even number of roots of unity holds -1, where an item of probability 1/2 has a factor of zero.
    assert size_law(np.diag([0.5, 0.5, 0.5])) == pytest.approx([0.125, 0.375, 0.375, 0.125])
    assert size_law(np.array([[0.5]])) == pytest.approx([0.5, 0.5])
    assert (size_law(np.diag([1.0, 0.3])) >= 0.0).all()


def test_determinants_of_a_hessenberg_matrix():
    rng = np.random.default_rng(5)
    H = np.triu(rng.standard_normal((6, 6)), -1)
    steps = np.concatenate([[0.0], rng.standard_normal(5) + 1j * rng.standard_normal(5), [3.0, -40.0]])
    expected = [np.linalg.det(np.eye(6) + s * H) for s in steps]
    np.testing.assert_allclose(accretive._hessenberg_dets(H, steps), expected, rtol=1e-11)
    # A step at which a whole column vanishes.
    assert accretive._hessenberg_dets(np.diag([1.0, 2.0, 3.0]), np.array([-1.0, -0.5])) == pytest.approx([0.0, 0.0])


def test_a_core_of_any_scale_has_the_rank_of_its_items():
    for n, limit in ((2, 64.0), (16, 128.0)):
        for factor, full in ((0.5, False), (2.0, True)):
            # Eigenvalues n - 1 + x and x of a matrix with unit diagonal.
            M = np.ones((n, n)) * (1.0 - factor * limit * n * EPS) + factor * limit * n * EPS * np.eye(n)
            assert (range_factor(M) is None) is full
