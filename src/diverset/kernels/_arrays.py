"""Reading features and matrices, and Gram matrices that are Hermitian to the last bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from diverset._typing import Array
from diverset.errors import KernelError
from diverset.numerics.validation import as_real_or_complex, check_finite, check_fits_in_memory, is_sparse, plain_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy.sparse import sparray, spmatrix

    Features: TypeAlias = ArrayLike | sparray | spmatrix

__all__ = [
    "as_double",
    "as_features",
    "as_matrix",
    "as_pair_of_features",
    "check_kernel_fits",
    "drop_zero_imaginary_part",
    "gram",
    "mirror",
    "refuse_overflow",
]


def as_matrix(X: Any, *, name: str, allow_complex: bool = False) -> Array:
    """A dense matrix of numbers, in the precision given; no copy, and values are not checked."""
    if is_sparse(X):
        raise KernelError(f"{name} is sparse, and this function needs a dense array; pass {name}.toarray()")
    A: Array = plain_array(X, name=name)
    if A.ndim == 1:
        raise KernelError(
            f"{name} has shape {A.shape}; expected 2 dimensions (one feature per item is {name}.reshape(-1, 1))"
        )
    # Integers stay as they are: a memory-mapped array of them may be too large to convert whole.
    if A.dtype.kind not in "biu" or A.ndim != 2:
        A = as_real_or_complex(A, name=name, ndim=2)
    _check_real(A, name, allow_complex)
    return A


def as_features(X: Any, *, name: str, allow_sparse: bool = False, allow_complex: bool = False) -> Any:
    """Checked features in double precision: an ndarray, possibly the caller's own, or a private CSR matrix."""
    if not (allow_sparse and is_sparse(X)):
        A = as_double(as_matrix(X, name=name, allow_complex=allow_complex))
        check_finite(A, name=name)
        return drop_zero_imaginary_part(A)
    if X.ndim != 2:
        raise KernelError(f"{name} has shape {X.shape}; expected 2 dimensions")
    _check_real(X, name, allow_complex)
    S = X.tocsr(copy=True)
    S.sum_duplicates()
    S = as_double(S)
    finite = np.isfinite(S.data)
    if not finite.all():
        at = int(np.argmin(finite))
        row = int(np.searchsorted(S.indptr, at, side="right")) - 1
        raise KernelError(f"{name}[{row}, {S.indices[at]}] is {S.data[at]}; every entry must be finite")
    return drop_zero_imaginary_part(S)


def as_pair_of_features(X: Any, Y: Any, *, allow_sparse: bool = False) -> tuple[Any, Any]:
    """Real features with the same columns; the second are None if not given."""
    A = as_features(X, name="X", allow_sparse=allow_sparse)
    if Y is None:
        return A, None
    B = as_features(Y, name="Y", allow_sparse=allow_sparse)
    if A.shape[1] != B.shape[1]:
        raise KernelError(f"X has {A.shape[1]} features and Y has {B.shape[1]}; both need the same columns")
    return A, B


def _check_real(A: Any, name: str, allow_complex: bool) -> None:
    if not allow_complex and np.iscomplexobj(A):
        raise KernelError(f"{name} is complex; this function takes real numbers")


def as_double(A: Any) -> Any:
    """float64 or complex128, the same array if it is that already."""
    with np.errstate(over="ignore"):  # a long double beyond the range becomes inf, which is then refused
        return A.astype(np.complex128 if np.iscomplexobj(A) else np.float64, copy=False)


def drop_zero_imaginary_part(A: Any) -> Any:
    """The real part of a complex matrix, dense or sparse, whose imaginary part is zero."""
    if not np.iscomplexobj(A):
        return A
    imaginary = A.data.imag if is_sparse(A) else A.imag
    return A if imaginary.any() else A.real.copy()


def gram(A: Any, B: Any = None) -> Array:
    """Dense inner products of the rows of A with those of B, or of A; then exactly Hermitian."""
    Z = A if B is None else B
    check_kernel_fits(A.shape[0], Z.shape[0], itemsize=A.dtype.itemsize)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        G = A @ (Z.conj().T if np.iscomplexobj(Z) else Z.T)
    G = np.asarray(G.toarray() if is_sparse(G) else G)
    refuse_overflow(G, "the inner product", "divide the features by a constant")
    return mirror(G) if B is None else G


def mirror(M: Array) -> Array:
    """Make a matrix Hermitian by its upper triangle, in place and by blocks."""
    for start in range(0, len(M), 512):
        stop = start + 512
        block = M[start:stop, start:stop]
        block[...] = np.triu(block) + np.triu(block, 1).conj().T
        M[stop:, start:stop] = M[start:stop, stop:].conj().T
    if np.iscomplexobj(M):
        np.fill_diagonal(M.imag, 0.0)
    return M


def refuse_overflow(M: Array, what: str, remedy: str) -> None:
    """Refuse a computed matrix with an entry that is not finite, naming its items."""
    finite = np.isfinite(M)
    if not finite.all():
        i, j = np.argwhere(~finite)[0]
        raise KernelError(f"{what} of items {i} and {j} is beyond the float64 range; {remedy}")


def check_kernel_fits(n: int, m: int, *, itemsize: int = 8) -> None:
    """Refuse a dense n by m kernel that memory cannot hold, before anything is allocated."""
    check_fits_in_memory(
        itemsize * n * m,
        what=f"a dense {n} x {m} kernel",
        remedy="keep the features and never form it (DPP.from_features), or take a subset of the items",
    )
