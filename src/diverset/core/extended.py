r"""Extended L-ensembles: DPPs whose draws always span some given directions.

An L-ensemble draws the empty set; a projection DPP draws a fixed number of items. Partial projections lie between
([TremblayEtAl2023]_): with a matrix L and p independent directions V,

.. math::  \Pr(Y) \propto (-1)^p \det \begin{pmatrix} L_Y & V_Y \\ V_Y^T & 0 \end{pmatrix} .

Every DPP is of this form: eigenvalues 1 of the marginal kernel belong to V. L need only be positive semidefinite
on the vectors orthogonal to V; minus the distance is, for V = 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from diverset.core.dpp import DPP
from diverset.errors import KernelError
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import as_finite, check_fits_in_memory

__all__ = ["extended_dpp"]


def extended_dpp(L: ArrayLike, V: ArrayLike) -> DPP:
    r"""The DPP that an L-ensemble L is extended to by directions V that every draw spans.

    Parameters
    ----------
    L : array_like of shape (n_items, n_items)
        Real and symmetric; positive semidefinite on the vectors orthogonal to the columns of V.
    V : array_like of shape (n_items, p)
        Independent columns, p at most n_items. Draws have at least p items.

    Returns
    -------
    DPP
        With marginal kernel :math:`K = QQ^T + \tilde L(\tilde L + I)^{-1}`, where Q spans V and
        :math:`\tilde L = (I - QQ^T) L (I - QQ^T)`.

    Notes
    -----
    One QR factorisation of V and one eigendecomposition of size n - p ([TremblayEtAl2023]_). Directions
    are dependent if a singular value of V, its columns scaled to unit length, is below n rounding units.

    Examples
    --------
    Minus the distance is positive semidefinite on vectors orthogonal to 1. Points on a line repel; one always appears.

    >>> import numpy as np, diverset as dv
    >>> x = np.linspace(0.0, 3.0, 7)
    >>> dpp = dv.core.extended_dpp(-np.abs(x[:, None] - x), np.ones((7, 1)))
    >>> dpp.size_distribution.round(3)
    array([0.   , 0.019, 0.149, 0.334, 0.318, 0.146, 0.032, 0.003])
    """
    kernel = as_finite(L, name="L", shape=(None, None))
    n = len(kernel)
    if kernel.shape != (n, n):
        raise KernelError(f"L has shape {kernel.shape}; a kernel is square, one row and column per item")
    directions = as_finite(V, name="V", shape=(n, None))
    p = directions.shape[1]
    if p > n:
        raise KernelError(f"V has {p} columns for {n} items; independent directions are at most as many as items")
    largest = float(np.abs(kernel).max(initial=0.0))
    slack = 8.0 * max(n, 8) * EPS * largest
    gap = np.abs(kernel - kernel.T)
    if gap.max(initial=0.0) > slack:
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        raise KernelError(f"L[{i}, {j}] is {kernel[i, j]:.6g}, but L[{j}, {i}] is {kernel[j, i]:.6g}; L is symmetric")
    lengths = np.sqrt((directions**2).sum(axis=0))
    unit = directions / np.where(lengths > 0.0, lengths, 1.0)
    smallest = float(np.linalg.svd(unit, compute_uv=False).min(initial=1.0))
    if smallest <= max(n, 8) * EPS:
        raise KernelError(f"V has dependent columns: its smallest singular value is {smallest:.3g} of its scale")
    check_fits_in_memory(32 * n * n, what=f"the eigenvectors of {n} items")
    basis = np.linalg.qr(unit, mode="complete")[0]
    Q, rest = basis[:, :p], basis[:, p:]
    values, vectors = np.linalg.eigh(rest.T @ ((kernel + kernel.T) / 2.0) @ rest)
    if len(values) and values[0] < -slack:
        raise KernelError(
            f"L has smallest eigenvalue {values[0]:.6g} on the vectors orthogonal to V; it must be positive "
            "semidefinite there"
        )
    values = np.where(values > slack, values, 0.0)
    return DPP.from_spectrum(np.concatenate([values, np.full(p, np.inf)]), np.hstack([rest @ vectors, Q]))
