"""What every kernel takes and refuses."""

import re

import numpy as np
import pytest
from scipy import sparse

from diverset import kernels
from diverset.errors import KernelError, TooLargeError
from diverset.kernels._arrays import mirror

DISTANCE_BASED = {"rbf": kernels.rbf, "matern": kernels.matern}
PRODUCT_BASED = {"cosine": kernels.cosine, "dot": kernels.dot, "polynomial": kernels.polynomial}
ALL = DISTANCE_BASED | PRODUCT_BASED

every_kernel = pytest.mark.parametrize("kernel", ALL.values(), ids=ALL.keys())
distance_based = pytest.mark.parametrize("kernel", DISTANCE_BASED.values(), ids=DISTANCE_BASED.keys())
product_based = pytest.mark.parametrize("kernel", PRODUCT_BASED.values(), ids=PRODUCT_BASED.keys())


def points(n=12, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def readonly(X):
    X = X.copy()
    X.flags.writeable = False
    return X


class ArrayProtocol:
    """Not an array, but willing to become one."""

    def __init__(self, X):
        self.X = X

    def __array__(self, dtype=None, copy=None):
        return np.array(self.X, dtype=dtype)


LAYOUTS = {
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    "int8": lambda X: X.astype(np.int8),
    "big-endian": lambda X: X.astype(">f8"),
    "list": lambda X: X.tolist(),
    "object": lambda X: X.astype(object),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": readonly,
    "array protocol": ArrayProtocol,
    "nothing masked": np.ma.masked_invalid,
}


@pytest.mark.parametrize("kernel", [kernels.rbf, kernels.cosine])  # by distance, by product
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_every_kind_of_array_works(kernel, layout):
    X = np.array([[1, 2, 0], [3, -1, 2], [0, 0, 4], [3, -1, 2], [-2, 5, 1]], dtype=np.float64)
    given_X = layout(X)
    S = kernel(given_X)
    assert type(S) is np.ndarray
    assert S.dtype == np.float64
    np.testing.assert_allclose(S, kernel(X), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(kernel(given_X, layout(X[1:])), kernel(X, X[1:]), rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(np.asarray(given_X, dtype=float), X)


@every_kernel
def test_memmap_works(kernel, tmp_path):
    np.save(tmp_path / "x.npy", points(9, 4))
    S = kernel(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert type(S) is np.ndarray
    np.testing.assert_array_equal(S, kernel(points(9, 4)))


@every_kernel
def test_input_is_not_modified_and_output_is_fresh(kernel):
    X, Y = points(6, 3), points(4, 3, seed=1)
    for S in (kernel(X), kernel(X, Y)):
        assert S.flags.writeable
        assert not np.shares_memory(S, X)
    np.testing.assert_array_equal(X, points(6, 3))
    np.testing.assert_array_equal(Y, points(4, 3, seed=1))


@every_kernel
def test_symmetry_is_exact_across_blocks(kernel):
    # More rows than one block of the mirror (512) or of the matern kernel holds.
    X = points(700, 4)
    X[3] = X[600]
    S = kernel(X)
    np.testing.assert_array_equal(S, S.T)
    rows = [0, 3, 511, 512, 600, 699]
    if kernel in DISTANCE_BASED.values():
        few = kernel(X[rows], length_scale=kernels.median_heuristic(X))
    else:
        few = kernel(X[rows])
    np.testing.assert_allclose(S[np.ix_(rows, rows)], few, rtol=1e-12, atol=1e-14)


def test_mirror_of_a_complex_matrix_is_hermitian():
    M = points(600, 600) + 1j * points(600, 600, seed=1)
    expected = np.triu(M, 1) + np.triu(M, 1).conj().T + np.diag(M.diagonal().real)
    assert mirror(M) is M
    np.testing.assert_array_equal(M, expected)


@every_kernel
def test_kernels_are_positive_semidefinite(kernel):
    for d in (1, 5, 50):
        lam = np.linalg.eigvalsh(kernel(points(40, d, seed=d)))
        assert lam[0] >= -40 * 1e-14 * lam[-1]


@every_kernel
def test_no_items(kernel):
    assert kernel(np.zeros((0, 3))).shape == (0, 0)
    assert kernel(points(4, 3), np.zeros((0, 3))).shape == (4, 0)


def test_no_features():
    X = np.zeros((3, 0))
    np.testing.assert_array_equal(kernels.dot(X), np.zeros((3, 3)))
    np.testing.assert_array_equal(kernels.rbf(X), np.ones((3, 3)))
    np.testing.assert_array_equal(kernels.polynomial(X, offset=2.0), np.full((3, 3), 4.0))


@product_based
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_sparse_is_dense(form, kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 9)) * (rng.random((12, 9)) < 0.4)
    X[:, 0] += 0.1
    Y = X[3:8] * 2.0
    A = form(X)
    S = kernel(A)
    assert type(S) is np.ndarray
    np.testing.assert_allclose(S, kernel(X), rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(S, S.T)
    for a, b in [(A, form(Y)), (A, Y), (X, form(Y))]:
        found = kernel(a, b)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, kernel(X, Y), rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(A.toarray(), X)


@every_kernel
def test_values_that_are_not_finite_are_named(kernel):
    for value in (np.nan, np.inf, -np.inf):
        X = points(6, 4)
        X[4, 2] = value
        where = re.escape(f"[4, 2] is {value}; every entry must be finite")
        with pytest.raises(KernelError, match=f"^X{where}"):
            kernel(X)
        with pytest.raises(KernelError, match=f"^Y{where}"):
            kernel(points(3, 4), X)
    too_long = np.array([[np.longdouble("1e400") if np.finfo(np.longdouble).max > 1e308 else np.inf, 1.0]])
    with pytest.raises(KernelError, match=r"^X\[0, 0\] is inf"):
        kernel(too_long)


def test_sparse_values_that_are_not_finite_are_named():
    X = sparse.csr_array(([1.0, 2.0, np.nan], ([0, 2, 4], [1, 1, 3])), shape=(6, 5))
    with pytest.raises(KernelError, match=r"^X\[4, 3\] is nan"):
        kernels.cosine(X)
    with pytest.raises(KernelError, match=r"^features\[4, 3\] is nan"):
        kernels.with_constant_feature(X, 1.0)


@every_kernel
def test_shapes_and_types_that_are_refused(kernel):
    with pytest.raises(KernelError, match=re.escape("X has shape (3,); expected 2 dimensions (one feature per item")):
        kernel([1.0, 2.0, 3.0])
    with pytest.raises(KernelError, match=re.escape("Y has shape (1, 2, 1); expected 2")):
        kernel([[1.0]], [[[1], [2]]])
    with pytest.raises(KernelError, match="X has 3 features and Y has 2"):
        kernel(points(4, 3), points(4, 2))
    with pytest.raises(KernelError, match="X is complex; this function takes real numbers"):
        kernel([[1.0j, 2.0]])
    with pytest.raises(KernelError, match=re.escape("X[0, 0] is '1'; every entry must be a number")):
        kernel([["1", "2"]])
    with pytest.raises(KernelError, match=r"X cannot be read as an array of numbers: its rows have different lengths"):
        kernel([[1.0, 2.0], [3.0]])
    with pytest.raises(KernelError, match=r"X cannot be read as an array of numbers: .*'a'"):
        kernel(np.array([[1.0, "a"]], dtype=object))
    with pytest.raises(KernelError, match="X has masked entries; fill them in"):
        kernel(np.ma.masked_greater(np.array([[1.0, 2.0], [3.0, 4.0]]), 3.5))


@distance_based
def test_sparse_is_refused_where_it_does_not_help(kernel):
    with pytest.raises(KernelError, match=r"X is sparse.*pass X\.toarray\(\)"):
        kernel(sparse.csr_array(np.eye(3)))
    with pytest.raises(KernelError, match=r"Y is sparse.*pass Y\.toarray\(\)"):
        kernel(np.eye(3), sparse.csr_array(np.eye(3)))


def test_complex_and_flat_sparse_are_refused():
    with pytest.raises(KernelError, match="X is complex"):
        kernels.dot(sparse.csr_array(1j * np.eye(2)))
    with pytest.raises(KernelError, match=re.escape("X has shape (3,)")):
        kernels.dot(sparse.coo_array(np.ones(3)))


@every_kernel
def test_a_kernel_beyond_memory_is_refused_before_it_is_made(kernel, monkeypatch):
    monkeypatch.setattr("diverset.numerics.validation.available_memory", lambda: 2**20)
    kernel(points(11, 2))
    message = r"a dense 6001 x 6000 kernel needs 0\.3 GiB and 0\.0 GiB are available; keep the features"
    with pytest.raises(TooLargeError, match=message):
        kernel(np.ones((6001, 1)), np.ones((6000, 1)))
