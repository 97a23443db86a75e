"""Similarities from inner products of rows: cosine, dot and polynomial; dense or sparse features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import KernelError
from diverset.kernels._arrays import as_features, as_pair_of_features, gram, mirror, refuse_overflow
from diverset.numerics.linalg import row_norms_squared
from diverset.numerics.validation import check_count, check_nonnegative, check_positive, is_sparse

if TYPE_CHECKING:
    from diverset.kernels._arrays import Features

__all__ = ["cosine", "dot", "normalize_rows", "polynomial"]


def cosine(X: Features, Y: Features | None = None) -> FloatArray:
    r"""Cosine of the angle between rows.

    .. math::  k(x, y) = \frac{x^\top y}{\lVert x \rVert\, \lVert y \rVert} \in [-1, 1].

    The usual choice for embeddings and word counts ([KuleszaTaskar2012]_, Sec. 4.2), where the direction of a row
    carries its meaning and the length does not.

    Parameters
    ----------
    X : array_like or scipy.sparse of shape (n, d)
        One item per row, none of them all zero.
    Y : array_like or scipy.sparse of shape (m, d), optional
        Items to compare with; ``X`` itself if left out.

    Returns
    -------
    S : ndarray of shape (n, n) or (n, m)
        Dense, in O(nmd) time. Exactly symmetric, with an exact unit diagonal, without ``Y``. The rank is at most
        ``d``: with fewer features than items, pass ``normalize_rows(X)`` as features instead of forming this matrix.

    Examples
    --------
    >>> cosine([[1.0, 0.0], [2.0, 2.0], [0.0, 5.0]]).round(4)
    array([[1.    , 0.7071, 0.    ],
           [0.7071, 1.    , 0.7071],
           [0.    , 0.7071, 1.    ]])
    """
    A, B = as_pair_of_features(X, Y, allow_sparse=True)
    S = gram(_unit_rows(A, "X"), None if B is None else _unit_rows(B, "Y"))
    np.clip(S, -1.0, 1.0, out=S)
    if B is None:
        np.fill_diagonal(S, 1.0)
    return S


def dot(X: Features, Y: Features | None = None) -> FloatArray:
    r"""Inner products of rows (the linear kernel).

    .. math::  k(x, y) = x^\top y.

    Use it when the length of a row already says how good the item is: a row of length q and direction
    :math:`\phi` contributes quality q and diversity features :math:`\phi`.

    Parameters
    ----------
    X, Y
        As in :func:`cosine`; rows of zeros are allowed.

    Returns
    -------
    S : ndarray of shape (n, n) or (n, m)
        Dense, of rank at most ``d``, in O(nmd) time. Exactly symmetric without ``Y``.

    Examples
    --------
    >>> dot([[1.0, 2.0], [3.0, 0.0]])
    array([[5., 3.],
           [3., 9.]])
    """
    return gram(*as_pair_of_features(X, Y, allow_sparse=True))


def polynomial(
    X: Features,
    Y: Features | None = None,
    *,
    degree: int = 2,
    offset: float = 1.0,
    scale: float | None = None,
) -> FloatArray:
    r"""Polynomial kernel.

    .. math::  k(x, y) = (s\, x^\top y + c)^p.

    Its features are the products of up to ``degree`` of the given ones, so the rank can reach
    :math:`\binom{d + p}{p}` where that of :func:`dot` stops at ``d``.

    Parameters
    ----------
    X, Y
        As in :func:`cosine`; rows of zeros are allowed.
    degree : int
        The power :math:`p \ge 1`.
    offset : float
        The constant :math:`c \ge 0`; a negative one would not give a positive semidefinite kernel.
    scale : float, optional
        The factor :math:`s > 0`; ``1 / d`` if left out.

    Returns
    -------
    S : ndarray of shape (n, n) or (n, m)
        Dense, in O(nmd) time. Exactly symmetric without ``Y``.

    Examples
    --------
    >>> polynomial([[1.0, 2.0], [3.0, 0.0]], degree=2, offset=1.0, scale=1.0)
    array([[ 36.,  16.],
           [ 16., 100.]])
    """
    degree = check_count(degree, name="degree")
    offset = check_nonnegative(offset, name="offset")
    A, B = as_pair_of_features(X, Y, allow_sparse=True)
    factor = 1.0 / max(A.shape[1], 1) if scale is None else check_positive(scale, name="scale")
    S = gram(A, B)
    with np.errstate(over="ignore", under="ignore"):
        S *= factor
        S += offset
        np.power(S, degree, out=S)
    refuse_overflow(S, f"the polynomial kernel of degree {degree}", "use a smaller scale")
    return mirror(S) if B is None else S


def normalize_rows(X: Features) -> Any:
    r"""Scale every row to unit Euclidean length.

    .. math::  \phi_i = x_i / \lVert x_i \rVert,

    the diversity features of :func:`cosine`: ``cosine(X)`` is the Gram matrix of the result.

    Parameters
    ----------
    X : array_like or scipy.sparse of shape (n, d)
        One item per row, none of them all zero.

    Returns
    -------
    features : ndarray or scipy.sparse (CSR) of shape (n, d)
        Sparse if the input was. The squares of a row may overflow or underflow; its direction does not.

    Examples
    --------
    >>> normalize_rows([[3.0, 4.0], [0.0, 1e-200]])
    array([[0.6, 0.8],
           [0. , 1. ]])
    """
    return _unit_rows(as_features(X, name="X", allow_sparse=True), "X")


def _unit_rows(A: Any, name: str) -> Any:
    """Rows divided by their largest entry, so that no square overflows, then by their length."""
    sparse = is_sparse(A)
    if sparse:
        A = A.copy()
        row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        largest = np.zeros(A.shape[0])
        np.maximum.at(largest, row, np.abs(A.data))
    else:
        largest = np.abs(A).max(axis=1, initial=0.0)
    if (largest == 0.0).any():
        i = int(np.argmax(largest == 0.0))
        raise KernelError(
            f"row {i} of {name} is all zero and has no direction; drop the item, or give every item a "
            "constant feature (with_constant_feature)"
        )
    with np.errstate(under="ignore"):
        if sparse:
            A.data /= largest[row]
            A.data /= np.sqrt(np.bincount(row, weights=A.data**2, minlength=len(largest)))[row]
            return A
        U = A / largest[:, np.newaxis]
        U /= np.sqrt(row_norms_squared(U))[:, np.newaxis]
    return U
