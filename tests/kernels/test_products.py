import re

import numpy as np
import pytest
from scipy import sparse

from diverset import kernels
from diverset.errors import DiversetError, KernelError


def points(n=12, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize(("n", "m", "d"), [(1, 1, 1), (7, 4, 1), (40, 31, 20)])
def test_entries_are_those_of_the_formula(n, m, d):
    X, Y = points(n, d, seed=1), points(m, d, seed=2)
    for Z in (None, Y):
        other = X if Z is None else Z
        G = np.array([[np.sum(x * y) for y in other] for x in X])
        lengths = np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(other, axis=1))
        np.testing.assert_allclose(kernels.dot(X, Z), G, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(kernels.cosine(X, Z), G / lengths, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(kernels.polynomial(X, Z), (G / d + 1) ** 2, rtol=1e-12, atol=1e-14)
        found = kernels.polynomial(X, Z, degree=np.int64(3), offset=0.5, scale=2.0)
        np.testing.assert_allclose(found, (2 * G + 0.5) ** 3, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(kernels.polynomial(X, Z, degree=1, offset=0.0, scale=1.0), G, atol=1e-14)


def test_cosine_has_an_exact_unit_diagonal_and_stays_within_one():
    for d in (1, 2, 7, 300):
        X = points(30, d)
        np.testing.assert_array_equal(kernels.cosine(X).diagonal(), 1.0)
        np.testing.assert_array_equal(kernels.cosine(sparse.csr_array(X)).diagonal(), 1.0)
    signs = np.array([1, -1, 1, 1])
    X = np.outer([1.0, -3.0, 0.1, 7.0], points(1, 50)[0])
    for S in (kernels.cosine(X), kernels.cosine(X, X)):
        assert np.abs(S).max() <= 1.0
        np.testing.assert_allclose(S, np.outer(signs, signs), rtol=1e-14)


def test_cosine_ignores_the_length_of_rows():
    X = points(10, 4)
    factors = np.logspace(-200, 200, 10)[:, np.newaxis]
    np.testing.assert_allclose(kernels.cosine(X * factors), kernels.cosine(X), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(kernels.cosine(X * factors, X), kernels.cosine(X), rtol=1e-13, atol=1e-15)


def test_normalize_rows_gives_unit_rows_of_the_same_direction():
    X = points(8, 5) * np.array([1e-320, 1e-300, 1e-10, 1.0, 1e10, 1e150, 1e200, 1e300])[:, np.newaxis]
    U = kernels.normalize_rows(X)
    np.testing.assert_allclose(np.linalg.norm(U, axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(U[1:], kernels.normalize_rows(points(8, 5))[1:], rtol=1e-14)
    np.testing.assert_allclose(U @ U.T, kernels.cosine(X), atol=1e-15)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.lil_array, sparse.coo_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_normalize_rows_keeps_sparse(form, dtype):
    X = np.array([[3, 0, 4], [0, 0, -2], [1, 1, 0]], dtype=dtype)
    A = form(X)
    U = kernels.normalize_rows(A)
    assert sparse.issparse(U)
    assert U.dtype == np.float64
    np.testing.assert_allclose(U.toarray(), kernels.normalize_rows(X), rtol=1e-15)
    np.testing.assert_array_equal(A.toarray(), X)


def test_sparse_with_duplicate_and_explicit_zero_entries():
    # Built from its parts, CSR keeps the two entries of row 0, column 1 apart.
    A = sparse.csr_array(([1.0, 2.0, 0.0, 4.0, 1e200], [1, 1, 0, 2, 2], [0, 4, 5]), shape=(2, 3))
    np.testing.assert_allclose(kernels.cosine(A), [[1.0, 0.8], [0.8, 1.0]], rtol=1e-15)
    assert A.nnz == 5
    assert kernels.cosine(sparse.csr_array((0, 3))).shape == (0, 0)
    assert kernels.normalize_rows(sparse.csr_array((0, 3))).shape == (0, 3)
    cancelling = sparse.coo_array(([1.0, -1.0, 5.0], ([0, 0, 1], [2, 2, 0])), shape=(2, 3))
    with pytest.raises(KernelError, match="row 0 of X is all zero"):
        kernels.cosine(cancelling)
    assert cancelling.nnz == 3


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_row_without_direction_is_named(convert):
    X = points(5, 3)
    X[3] = 0.0
    with pytest.raises(KernelError, match=r"row 3 of X is all zero.*drop the item.*with_constant_feature"):
        kernels.cosine(convert(X))
    with pytest.raises(KernelError, match="row 3 of Y is all zero"):
        kernels.cosine(convert(points(2, 3)), convert(X))
    with pytest.raises(KernelError, match="row 3 of X is all zero"):
        kernels.normalize_rows(convert(X))
    assert kernels.cosine(kernels.with_constant_feature(convert(X), 0.1)).shape == (5, 5)


def test_overflow_is_refused_not_returned():
    X = np.array([[1.0, 2.0], [1e200, -1e200]])
    for product in (kernels.dot, kernels.polynomial):
        with pytest.raises(KernelError, match=r"inner product of items 1 and 1 is beyond.*divide the features"):
            product(X)
    with pytest.raises(KernelError, match=r"polynomial kernel of degree 9 of items 0 and 1 .*use a smaller scale"):
        kernels.polynomial([[1.0], [1e60]], degree=9)


def test_polynomial_refuses_what_is_no_kernel():
    X = points(3, 2)
    for degree in (0, -1, 1.5, True):
        with pytest.raises(DiversetError, match=re.escape(f"degree is {degree!r}; it must be a whole number of at")):
            kernels.polynomial(X, degree=degree)
    with pytest.raises(DiversetError, match=r"offset is -0\.5; it must be finite and at least 0"):
        kernels.polynomial(X, offset=-0.5)
    with pytest.raises(DiversetError, match=r"scale is 0\.0; it must be positive"):
        kernels.polynomial(X, scale=0.0)
    with pytest.raises(DiversetError, match="scale is 'auto'; it must be a number"):
        kernels.polynomial(X, scale="auto")
