import re

import numpy as np
import pytest
from scipy import sparse

from diverset import kernels
from diverset.errors import DiversetError, KernelError
from diverset.kernels import quality

TRIDIAGONAL = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]


def square(n, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    M = rng.uniform(-1.0, 1.0, size=(n, n)).astype(dtype)
    return M + 1j * rng.uniform(-1.0, 1.0, size=(n, n)) if dtype is complex else M


def hermitian(n, seed=0, dtype=float):
    M = square(n, seed, dtype)
    return (M + M.conj().T) / 2


either = pytest.mark.parametrize("dtype", [float, complex])


@either
@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("n", [1, 2, 15])
def test_repaired_matrix_is_a_kernel_and_needs_no_repair(n, unit_diagonal, dtype):
    M = square(n, n, dtype)
    A = kernels.nearest_psd(M, unit_diagonal=unit_diagonal)
    assert A.dtype == (dtype if n > 1 else float)
    np.testing.assert_array_equal(A, A.conj().T)
    assert np.linalg.eigvalsh(A)[0] >= -1e-14 * n
    if unit_diagonal:
        np.testing.assert_array_equal(A.diagonal(), 1.0)
        assert np.abs(A).max() <= 1.0 + (1e-15 if dtype is complex else 0.0)
    np.testing.assert_allclose(kernels.nearest_psd(A, unit_diagonal=unit_diagonal), A, rtol=0, atol=1e-13)
    same = kernels.nearest_psd((M + M.conj().T) / 2, unit_diagonal=unit_diagonal)
    np.testing.assert_allclose(A, same, rtol=0, atol=1e-13)


def test_a_kernel_is_returned_as_it_is():
    S = kernels.rbf(np.arange(20.0).reshape(10, 2))
    S.flags.writeable = False
    for unit_diagonal in (False, True):
        A = kernels.nearest_psd(S, unit_diagonal=unit_diagonal)
        np.testing.assert_array_equal(A, S)
        assert A.flags.writeable
        assert not np.shares_memory(A, S)


@either
def test_projection_is_characterised_by_its_residual(dtype):
    # The residual A - M is positive semidefinite and orthogonal to A: the optimality conditions.
    M = hermitian(9, dtype=dtype)
    A = kernels.nearest_psd(M)
    assert np.linalg.eigvalsh(A - M)[0] >= -1e-13
    np.testing.assert_allclose(A @ (A - M), 0.0, atol=1e-12)


@either
def test_nearest_correlation_meets_the_optimality_conditions(dtype):
    # A - M + diag(y) = Z with Z positive semidefinite and Z A = 0.
    M = hermitian(8, 3, dtype)
    A = kernels.nearest_psd(M, unit_diagonal=True)
    residual = A - M
    # Row i of Z A = 0 at column i: y_i = -(residual @ A)_ii, as A_ii = 1.
    Z = residual - np.diag(np.einsum("ij,ji->i", residual, A).real)
    np.testing.assert_allclose(Z @ A, 0.0, atol=1e-7)
    assert np.linalg.eigvalsh(Z)[0] >= -1e-7


def test_published_nearest_correlation_matrix():
    three = kernels.nearest_psd(TRIDIAGONAL, unit_diagonal=True)
    expected = [[1, 0.7607, 0.1573], [0.7607, 1, 0.7607], [0.1573, 0.7607, 1]]
    np.testing.assert_allclose(three, expected, atol=5e-5)
    # The same by one variable: the matrix is [[1, a, b], [a, 1, a], [b, a, 1]], singular, b = 2 a^2 - 1.
    a = np.linspace(0.76, 0.762, 20_001)
    a = a[np.argmin(2 * (a - 1) ** 2 + (2 * a**2 - 1) ** 2)]
    np.testing.assert_allclose(three[0], [1.0, a, 2 * a**2 - 1], atol=1e-6)


def test_projections_that_do_not_settle_are_reported(monkeypatch):
    monkeypatch.setattr(quality, "_CORRELATION_STEPS", 3)
    with pytest.raises(DiversetError, match=r"round 3 still changed it by 0\.0\d+ of its norm; use unit_diag"):
        kernels.nearest_psd(TRIDIAGONAL, unit_diagonal=True)


def test_input_is_checked():
    with pytest.raises(KernelError, match=re.escape("M has shape (2, 3); a kernel is square")):
        kernels.nearest_psd(np.ones((2, 3)))
    with pytest.raises(KernelError, match=r"M\[0, 1\] is inf"):
        kernels.nearest_psd([[1.0, np.inf], [0.0, 1.0]])
    with pytest.raises(KernelError, match=r"M is sparse.*pass M\.toarray"):
        kernels.nearest_psd(sparse.eye_array(2))
    for unit_diagonal in (False, True):
        assert kernels.nearest_psd(np.zeros((0, 0)), unit_diagonal=unit_diagonal).shape == (0, 0)
