"""NumPy twins of the C kernels in ``kernels.h``, used where the loops are not compiled.

Arrays stand in for pointers: a function reads the first entries of each, as many as the counts that it is given say.
"""

from __future__ import annotations

import numpy as np

from diverset._typing import Array, FloatArray

__all__ = [
    "add_rows",
    "add_trial",
    "axpy",
    "compress",
    "convolve",
    "dot",
    "panel_squares",
    "reflect",
]


def dot(a: Array, b: Array, n: int, *, conjugate: bool = False) -> complex:
    """Sum of the first n products, in double precision; of conj(a) b if `conjugate`."""
    a, b = (x[:n].astype(np.result_type(x, np.float64), copy=False) for x in (a, b))
    return (np.vdot(a, b) if conjugate else np.dot(a, b)).item()


def axpy(factor: complex, x: Array, y: Array, n: int) -> None:
    """Add factor * x to y, in place."""
    y[:n] += factor * x[:n]


def panel_squares(panels: Array, start: int, end: int, x: Array) -> float:
    """Sum of squared products of x with directions start..end-1, kept in panels of shape (n_panels, D, width)."""
    s = np.arange(start, end)
    width = panels.shape[2]
    return float((np.float64(panels[s // width, :, s % width] @ x) ** 2).sum())


def add_rows(y: FloatArray, X: FloatArray, rows: Array, entries: FloatArray, count: int) -> None:
    """Add to y the rows of X with these numbers, each times its entry."""
    y += entries[:count] @ X[rows[:count]]


def add_trial(src: FloatArray, dst: FloatArray, n: int, p: float, r: float) -> None:
    """Law of a count after one more trial: dst[j] = r src[j] + p src[j - 1] for j = 1..n."""
    dst[1 : n + 1] = src[1 : n + 1] * r + src[:n] * p


def convolve(f: FloatArray, g: FloatArray, n: int) -> float:
    """Sum of f[j] g[-1 - j] for j = 0..n-1."""
    return float(np.dot(f[:n], g[::-1][:n]))


def compress(W: Array, s: int, X: Array, count: int, Y: Array) -> None:
    """Coordinates of the first rows of X against the first s rows of W, without a conjugate, into Y."""
    Y[:count, :s] = X[:count] @ W[:s].T


def reflect(h: Array, tau: float, s: int, W: Array) -> None:
    """Apply the reflection I - tau h h* to the first s rows of W, the last of which is dropped."""
    W[: s - 1] -= np.outer(tau * h[: s - 1], h[:s].conj() @ W[:s])
