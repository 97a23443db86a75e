# cython: infer_types=True
"""Loops over dense rows of features: norms, products with a direction, and picks by maximal marginal relevance.

The module is compiled by Cython and also runs uncompiled.
"""

try:
    import cython
except ImportError:
    from diverset import _plain_cython as cython
import numpy as np

if cython.compiled:
    from cython.cimports.diverset.numerics.kernels import choose_kernels, kernels
    from cython.cimports.libc.math import HUGE_VAL

    choose_kernels()
else:
    from math import inf as HUGE_VAL

    from diverset import _uncompiled
    from diverset.numerics import kernels

    _uncompiled.warn_once()

__all__ = ["mmr_picks", "row_products", "squared_norms"]

real = cython.fused_type(cython.float, cython.double)


def squared_norms(
    X: cython.const[real][:, ::1], norms: cython.double[::1], lo: cython.Py_ssize_t, hi: cython.Py_ssize_t
):
    """Squared norms of rows lo..hi-1, in double precision."""
    D = X.shape[1]
    if not cython.compiled:
        norms[lo:hi] = np.einsum("ij,ij->i", X[lo:hi], X[lo:hi], dtype=np.float64)
        return
    if D == 0:
        norms[lo:hi] = 0.0
        return
    with cython.nogil:
        for i in range(lo, hi):
            if real is cython.float:
                norms[i] = kernels.dot_floats(cython.address(X[i, 0]), cython.address(X[i, 0]), D)
            else:
                norms[i] = kernels.dot(cython.address(X[i, 0]), cython.address(X[i, 0]), D)


def row_products(
    X: cython.const[real][:, ::1], direction: cython.const[cython.double][::1], products: cython.double[::1]
):
    """Inner product of every row with a direction, in double precision."""
    D = X.shape[1]
    if not cython.compiled:
        np.matmul(X, direction, out=products)
        return
    if D == 0:
        products[:] = 0.0
        return
    with cython.nogil:
        for i in range(X.shape[0]):
            if real is cython.float:
                products[i] = kernels.dot_float(cython.address(direction[0]), cython.address(X[i, 0]), D)
            else:
                products[i] = kernels.dot(cython.address(direction[0]), cython.address(X[i, 0]), D)


def mmr_picks(
    X: cython.const[real][:, ::1],
    root: cython.const[cython.double][::1],
    relevance: cython.const[cython.double][::1],
    weight: cython.double,
    slack: cython.double,
    unit: cython.double,
    nearest: cython.double[::1],
    available: cython.uchar[::1],
    Z: cython.double[:, ::1],
    picks: cython.longlong[::1],
    gains: cython.double[::1],
):
    """Picks of maximal ``relevance - weight * nearest``, where `nearest` is the largest product with an earlier pick.

    The vector of item i is ``root[i] * X[i]``. After the first pick scores only fall, so an old score is an upper
    bound, and most items are never compared with most picks. Scores within `slack` of each other, relative to the
    magnitude of their terms, are ties; the first item wins. `unit` is the magnitude of a product of a row with itself.
    `nearest` is -inf if there is no earlier pick. `nearest`, `available` and `Z` (a row per pick) change in place.
    """
    n = X.shape[0]
    D = X.shape[1]
    seen: cython.longlong[::1] = np.zeros(n, dtype=np.int64)
    bound: cython.double[::1] = np.empty(n)
    with cython.nogil:
        for i in range(n):
            bound[i] = relevance[i] if nearest[i] == -HUGE_VAL else relevance[i] - weight * nearest[i]
        for t in range(picks.shape[0]):
            best = -1
            for i in range(n):
                if available[i] and (best < 0 or bound[i] > bound[best]):
                    best = i
            theta: cython.double = -HUGE_VAL
            for turn in range(n + 1):
                # Update the item with the largest bound first: its score lets the others stop early.
                i = best if turn == 0 else turn - 1
                while available[i] and seen[i] < t and (bound[i] >= theta or nearest[i] == -HUGE_VAL):
                    if cython.compiled:
                        if real is cython.float:
                            product = kernels.dot_float(cython.address(Z[seen[i], 0]), cython.address(X[i, 0]), D)
                        else:
                            product = kernels.dot(cython.address(Z[seen[i], 0]), cython.address(X[i, 0]), D)
                    else:
                        product = kernels.dot(Z[seen[i]], X[i], D)
                    nearest[i] = max(nearest[i], root[i] * product)
                    bound[i] = relevance[i] - weight * nearest[i]
                    seen[i] += 1
                if available[i] and seen[i] == t:
                    product = 0.0 if nearest[i] == -HUGE_VAL else weight * (unit + abs(nearest[i]))
                    theta = max(theta, bound[i] - slack * (abs(relevance[i]) + product))
            best = 0
            while not (available[best] and seen[best] == t and bound[best] >= theta):
                best += 1
            picks[t] = best
            gains[t] = bound[best]
            available[best] = 0
            for j in range(D):
                Z[t, j] = root[best] * X[best, j]
