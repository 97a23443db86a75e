"""Dense linear algebra against plain NumPy, where pivots begin to count as zero, and for matrices without rows."""

import math
import threading

import numpy as np
import pytest

from diverset.numerics import linalg
from diverset.numerics.linalg import (
    EPS,
    add_to_diagonal,
    block_length,
    cholesky_lower,
    gram,
    grams,
    hermitian_inverse,
    inverse_diagonal,
    is_positive_definite,
    lifted_inverse_diagonal,
    log_det_from_cholesky,
    log_det_gram,
    log_det_psd,
    log_dets,
    null_basis,
    orthonormal_columns,
    positions_outside,
    product,
    row_norms_squared,
    share_rows,
    solve_lower,
    squared_modulus,
    tall_qr,
)


def matrix(n, m, *, imaginary=False, seed=0):
    rng = np.random.default_rng([seed, n, m])
    A = rng.standard_normal((n, m))
    return A + 1j * rng.standard_normal((n, m)) if imaginary else A


def definite(n, *, imaginary=False):
    A = matrix(n, n + 2, imaginary=imaginary)
    return np.ascontiguousarray(A @ A.conj().T)


@pytest.mark.parametrize("imaginary", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_cholesky_and_what_follows_from_it(n, imaginary):
    A = definite(n, imaginary=imaginary)
    R = cholesky_lower(A)
    lower = np.tril(R)
    np.testing.assert_allclose(lower @ lower.conj().T, A, atol=1e-12)
    inverse = np.linalg.inv(A)
    np.testing.assert_allclose(hermitian_inverse(R), inverse, atol=1e-12)
    assert (hermitian_inverse(R) == hermitian_inverse(R).conj().T).all()
    np.testing.assert_allclose(inverse_diagonal(R), np.diagonal(inverse).real, atol=1e-12)
    assert log_det_from_cholesky(R) == pytest.approx(np.linalg.slogdet(A)[1], abs=1e-12)
    B = matrix(n, 3, imaginary=imaginary)
    np.testing.assert_allclose(lower @ solve_lower(R, B), B, atol=1e-12)
    np.testing.assert_allclose(lower.conj().T @ solve_lower(R, B, adjoint=True), B, atol=1e-12)
    assert solve_lower(R, B[:, :0]).shape == (n, 0)


def test_cholesky_leaves_its_argument_alone_unless_told_otherwise():
    A = definite(3)
    kept = A.copy()
    cholesky_lower(A)
    assert (A == kept).all()
    cholesky_lower(A, overwrite=True)
    assert (A != kept).any()
    # An array in another order is copied in any case.
    A = np.asfortranarray(kept)
    np.testing.assert_allclose(np.tril(cholesky_lower(A, overwrite=True)), np.linalg.cholesky(kept))
    assert (A == kept).all()


@pytest.mark.parametrize("up_to", [0, 3, 10])
def test_definiteness_is_the_same_by_either_library(monkeypatch, up_to):
    monkeypatch.setattr(linalg, "NUMPY_CHOLESKY", up_to)
    for n in (2, 3, 4):
        A = definite(n)
        assert is_positive_definite(A)
        assert not is_positive_definite(A - (1.0 + np.linalg.eigvalsh(A)[0]) * np.eye(n))
        assert cholesky_lower(-A) is None


@pytest.mark.parametrize("kinds", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("shape", [(3, 4, 2), (1, 1, 1), (0, 2, 3), (2, 0, 3), (2, 3, 0)])
def test_products(shape, kinds):
    n, m, p = shape
    A, B = matrix(n, m, imaginary=kinds[0]), matrix(m, p, imaginary=kinds[1])
    np.testing.assert_allclose(product(A, B), A @ B, atol=1e-13)
    np.testing.assert_allclose(product(A, np.ascontiguousarray(B.T), transpose=True), A @ B, atol=1e-13)
    G = gram(A.real.copy())
    np.testing.assert_allclose(G, A.real.T @ A.real, atol=1e-13)
    assert (G == G.T).all()
    np.testing.assert_allclose(row_norms_squared(A), (np.abs(A) ** 2).sum(axis=1), atol=1e-13)
    np.testing.assert_allclose(squared_modulus(A), np.abs(A) ** 2, atol=1e-13)
    np.testing.assert_allclose(grams(A[None]), (A @ A.conj().T)[None], atol=1e-13)


def test_the_diagonal_is_changed_in_place():
    A = np.arange(9.0).reshape(3, 3)
    assert add_to_diagonal(A, np.array([1.0, 2.0, 3.0])) is A
    assert A.tolist() == [[1.0, 1.0, 2.0], [3.0, 6.0, 5.0], [6.0, 7.0, 11.0]]


@pytest.mark.parametrize("imaginary", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (2, 4), (4, 2), (3, 3)])
def test_diagonal_of_an_inverse_beside_the_identity(shape, imaginary):
    W = matrix(*shape, imaginary=imaginary)
    expected = np.diagonal(np.linalg.inv(np.eye(shape[1]) + W.conj().T @ W)).real
    np.testing.assert_allclose(lifted_inverse_diagonal(W), expected, rtol=1e-12)
    # With one coordinate of any size: (1 + w^2)^-1 beside 1, without the identity being lost.
    wide = np.zeros((2, 2))
    wide[1, 1] = 1e12
    np.testing.assert_allclose(lifted_inverse_diagonal(wide), [1.0, 1e-24], rtol=1e-12)


def test_rows_of_a_block_fit_in_the_cache():
    assert [block_length(width) for width in (0, 1, 2, 4096, 4097, 10**6)] == [2**18, 2**18, 2**17, 64, 64, 64]
    assert block_length(10, 80_000) == 1000


def pair(pivot, scale=1.0):
    """Two items of unit size whose second pivot is given."""
    s = math.sqrt(1.0 - pivot)
    return scale * np.array([[1.0, s], [s, 1.0]])


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_when_a_pivot_of_a_matrix_is_rounding(scale):
    noise = np.full(2, 1e-6 * scale)
    limit = 4.0 * math.sqrt(2.0) * 1e-6
    for factor, known in ((0.9, False), (1.1, True), (10.0, True)):
        found = log_det_psd(pair(factor * limit, scale), noise)
        assert found == (
            pytest.approx(math.log(factor * limit) + 2.0 * math.log(scale), abs=1e-6) if known else -np.inf
        )
    # Without noise, by the rounding of the factorisation: two units of the diagonal.
    exact = np.zeros(2)
    assert log_det_psd(pair(8.0 * EPS, scale), exact) > -np.inf
    assert log_det_psd(np.full((2, 2), scale), exact) == -np.inf
    # One item: four units of its own noise.
    for size, known in ((3.9, False), (4.1, True)):
        found = log_det_psd(np.array([[size * 1e-6 * scale]]), noise[:1])
        assert found == (pytest.approx(math.log(size * 1e-6) + math.log(scale)) if known else -np.inf)
    assert log_det_psd(np.zeros((0, 0)), noise[:0]) == 0.0


@pytest.mark.parametrize("exponent", [-600, 0, 600])
def test_when_a_pivot_of_an_exact_matrix_is_rounding(exponent):
    for units, known in ((0.5, False), (2.0, True)):
        # The second pivot is twice as many units of the diagonal, and two are rounding.
        close = 2.0**exponent * np.array([[1.0, 1.0 - units * EPS], [1.0 - units * EPS, 1.0]])
        assert (log_det_psd(close, np.zeros(2)) > -np.inf) is known


@pytest.mark.parametrize(("factor", "asked"), [(2.0, True), (250.0, True), (262.0, False)])
def test_the_rank_decides_where_a_pivot_is_doubtful(factor, asked):
    noise = np.full(2, 1e-8)
    limit = 4.0 * math.sqrt(2.0) * 1e-8
    calls = []

    def rank(value):
        calls.append(value)
        return value

    A = pair(factor * limit)
    known = pytest.approx(math.log(factor * limit), abs=1e-6)
    assert log_det_psd(A, noise, lambda: rank(2)) == known
    assert log_det_psd(A, noise, lambda: rank(1)) == (-np.inf if asked else known)
    assert calls == ([2, 1] if asked else [])


@pytest.mark.parametrize("imaginary", [False, True])
@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_determinants_of_rows_and_of_matrices(m, imaginary):
    unit, scales = matrix(m, 4, imaginary=imaginary), 10.0 ** np.arange(m)
    expected = np.linalg.slogdet(unit @ unit.conj().T)[1] + 2.0 * np.log(scales).sum()
    rows = unit * scales[:, None]
    G = rows @ rows.conj().T
    noise = EPS * np.sqrt(row_norms_squared(rows))
    assert log_det_gram(rows, noise) == pytest.approx(expected, abs=1e-11)
    assert log_det_psd(G, EPS * np.diagonal(G).real) == pytest.approx(expected, abs=1e-10)
    # More rows than coordinates are dependent, and so is a row of zeros.
    assert log_det_gram(np.vstack([rows, rows[:1], rows, rows]), np.zeros(3 * m + 1)) == -np.inf
    assert log_det_gram(rows * (np.arange(m) > 0)[:, None], noise) == -np.inf
    assert log_det_gram(rows[:0], noise[:0]) == 0.0


def test_when_a_pivot_of_rows_is_rounding():
    limit = 4.0 * math.sqrt(2.0) * 1e-6
    for factor, known in ((0.9, False), (1.1, True)):
        rows = np.array([[1.0, 0.0, 0.0], [1.0, factor * limit, 0.0]])
        found = log_det_gram(rows, np.full(2, 1e-6))
        assert found == (pytest.approx(2.0 * math.log(factor * limit), abs=1e-6) if known else -np.inf)
    # Each row by its own noise and size, whichever is taken first.
    for small, known in ((0.9 * limit, False), (1.1 * limit, True)):
        rows = np.array([[1.0, 0.0], [0.0, small]])
        found = log_det_gram(rows, np.array([1e-9, 1e-6]))
        assert found == (pytest.approx(2.0 * math.log(small)) if known else -np.inf)
        found = log_det_gram(rows[::-1], np.array([1e-6, 1e-9]))
        assert found == (pytest.approx(2.0 * math.log(small)) if known else -np.inf)
    for size, known in ((3.9e-6, False), (5.0e-6, True)):
        found = log_det_gram(np.array([[size, 0.0]]), np.array([1e-6]))
        assert found == (pytest.approx(2.0 * math.log(size)) if known else -np.inf)
    # Columns that are accurate relative to their own scale: 2 m rounding units of the m-th largest.
    tiny = np.array([[1.0, 0.0], [1.0, 1e-20]])
    assert log_det_gram(tiny, np.zeros(2)) == -np.inf
    for scale, known in ((1e-20, True), (0.9e-20 / (4.0 * EPS), True), (1.1e-20 / (4.0 * EPS), False)):
        found = log_det_gram(tiny, np.zeros(2), np.array([scale, 1.0]))
        assert found == (pytest.approx(2.0 * math.log(1e-20)) if known else -np.inf)


@pytest.mark.parametrize("imaginary", [False, True])
@pytest.mark.parametrize("m", [0, 1, 3, 4])
def test_null_space(m, imaginary):
    rows = matrix(m, 4, imaginary=imaginary) * 10.0 ** (20 * np.arange(m))[:, None]
    N = null_basis(rows)
    assert N.shape == (4, 4 - m)
    assert N.dtype == rows.dtype
    np.testing.assert_allclose(N.conj().T @ N, np.eye(4 - m), atol=1e-13)
    assert (np.abs(rows @ N) <= 1e-13 * np.sqrt(row_norms_squared(rows))[:, None]).all()


def test_positions_outside():
    assert positions_outside(np.array([3, 0]), 5).tolist() == [1, 2, 4]
    assert positions_outside(np.array([], dtype=int), 2).tolist() == [0, 1]
    assert positions_outside(np.array([], dtype=int), 0).tolist() == []


@pytest.mark.parametrize("imaginary", [False, True])
def test_columns_are_made_orthonormal_from_the_last_one_on(imaginary):
    V = np.linalg.qr(matrix(6, 3, imaginary=imaginary))[0]
    assert (orthonormal_columns(V + 1e-14) == V + 1e-14).all()
    bent = V.copy()
    bent[:, 0] += 1e-6 * V[:, 2]
    found = orthonormal_columns(bent)
    np.testing.assert_allclose(found.conj().T @ found, np.eye(3), atol=1e-14)
    for j in (1, 2, 3):
        span, expected = found[:, 3 - j :], bent[:, 3 - j :]
        np.testing.assert_allclose(span @ (span.conj().T @ expected), expected, atol=1e-14)
    assert found.flags.c_contiguous
    assert orthonormal_columns(V[:, :0]).shape == (6, 0)


@pytest.mark.parametrize(
    ("m", "width"), [(5, 5), (1024, 3), (1025, 3), (1536, 2), (1537, 256), (1100, 257), (9000, 200)]
)
def test_tall_factorisation(m, width):
    A = matrix(m, width)
    Q, R = tall_qr(A)
    assert Q.shape == (m, width)
    assert (np.tril(R, -1) == 0.0).all()
    np.testing.assert_allclose(Q.T @ Q, np.eye(width), atol=1e-12)
    np.testing.assert_allclose(Q @ R, A, atol=1e-12)


@pytest.mark.parametrize("imaginary", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_determinants_of_a_stack(k, imaginary):
    G = np.stack([definite(k, imaginary=imaginary) * scale for scale in (1.0, 1e-30, 1e30)])
    log_det, safe = log_dets(G)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(G)[1], rtol=1e-12)
    assert safe.all()
    # A singular matrix among them, and all are eliminated together instead.
    singular = np.ones((1, k, k)) if k > 1 else np.zeros((1, 1, 1))
    mixed, safe = log_dets(np.concatenate([G, singular]))
    np.testing.assert_allclose(mixed[:3], log_det, rtol=1e-12)
    assert safe.tolist() == [True, True, True, False]


def test_which_determinants_of_a_stack_are_reliable():
    log_det, safe = log_dets(np.stack([pair(0.9e-4), pair(1.1e-4), pair(1.1e-4, 1e-20), pair(0.5)]))
    assert safe.tolist() == [False, True, True, True]
    assert log_det[1] == pytest.approx(math.log(1.1e-4), rel=1e-10)


@pytest.mark.parametrize("cores", [1, 2, 5])
@pytest.mark.parametrize("counts", [[3, 0, 0, 7, 1, 2, 0], [0, 0, 0], [5], [1] * 20, []])
def test_rows_are_shared_out_once_each(monkeypatch, cores, counts):
    monkeypatch.setattr(linalg, "_PARALLEL_WORK", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)), raising=False)
    seen, lock = [], threading.Lock()

    def job(start, stop):
        with lock:
            seen.append((start, stop))

    share_rows(np.concatenate([[0], np.cumsum(counts, dtype=int)]), 1, job)
    assert sorted(row for start, stop in seen for row in range(start, stop)) == list(range(len(counts)))
    assert len(seen) == min(cores, 1 + sum(counts))


def test_little_work_is_not_shared(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    for entries, width, jobs in ((10, 1, 1), ((1 << 24) - 1, 1, 1), (1 << 24, 1, 2), (1 << 22, 8, 3)):
        seen = []
        share_rows(
            np.array([0, entries // 2, entries]), width, lambda start, stop, seen=seen: seen.append((start, stop))
        )
        assert len(seen) == jobs
