r"""Factorisations of tall matrices whose rows differ in scale by many orders of magnitude; knows no DPP.

Rows sorted by size and columns pivoted, a Householder QR factorisation errs in each row by a rounding unit of that row,
not of the largest one ([CoxHigham1998]_). So small rows keep their digits, and with them the small singular values.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from diverset._typing import FloatArray
from diverset.numerics.linalg import EPS

__all__ = ["graded_qr", "graded_right_vectors"]


def graded_qr(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthonormal Q of shape (n, r) and R of shape (r, m) with F = QR, r the rank of F after scaling its rows.

    :math:`O(nm^2)`, twice: once for the rank.
    """
    n, m = rows.shape
    sizes = np.abs(rows).max(axis=1, initial=0.0)
    unit = rows / np.where(sizes > 0.0, sizes, 1.0)[:, None]
    sigma = np.linalg.svd(np.linalg.qr(unit, mode="r") if n > m else unit, compute_uv=False)
    rank = int(np.count_nonzero(sigma > 8.0 * max(m, 8) * EPS * sigma.max(initial=0.0)))
    if rank == 0:
        return np.zeros((n, 0)), np.zeros((0, m))
    columns = np.abs(rows).max(axis=0, initial=0.0)
    columns[columns == 0.0] = 1.0
    order = np.argsort(-sizes, kind="stable")
    Q, R, pivots = scipy.linalg.qr((rows / columns)[order], mode="economic", pivoting=True, check_finite=False)
    back = np.empty((n, rank))
    back[order] = Q[:, :rank]
    unpivoted = np.empty((rank, m))
    unpivoted[:, pivots] = R[:rank]
    return back, unpivoted * columns


def graded_right_vectors(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Nonzero singular values, ascending, and right singular vectors as columns, to high relative accuracy.

    A one-sided Jacobi iteration on the transposed factor R, whose columns carry the scales ([DemmelVeselic1992]_).
    """
    R = graded_qr(rows)[1]
    if len(R) == 0:
        return np.zeros(0), np.zeros((rows.shape[1], 0))
    # joba=2: relative accuracy under row and column scaling; left vectors only.
    sigma, U, _, work, _, info = lapack.dgejsv(R.T, joba=2, jobu=0, jobv=3, jobr=1, jobt=0, jobp=0)
    if info != 0:
        raise np.linalg.LinAlgError("the Jacobi singular value decomposition did not converge")
    sigma = sigma * (work[0] / work[1])
    order = np.argsort(sigma, kind="stable")
    return sigma[order], np.ascontiguousarray(U[:, order])
