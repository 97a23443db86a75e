"""NumPy versions of the C kernels in ``kernels.h``, used where the loops are not compiled.

Arrays stand in for pointers: the counts say how many leading entries of each are read.
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
    "reflect_rows",
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


def compress(W: FloatArray, s: int, X: FloatArray, count: int, Y: FloatArray, m: int, parts: int) -> None:
    """Write to Y the coordinates of the first rows of X, of m numbers, against the first s rows of W (no conjugate).

    Here and below a number is one double or, with two `parts`, a complex number.
    """
    w, x, y = _numbers(parts, W, X, Y)
    y[:count, :s] = x[:count, :m] @ w[:s, :m].T


def reflect(H: FloatArray, tau: FloatArray, count: int, s: int, W: FloatArray, m: int, parts: int) -> None:
    """Apply reflections I - tau h h* to W, of m columns and s rows; each drops the last of the rows that are left."""
    Hs, w = _numbers(parts, H, W)
    for e, h in enumerate(Hs[:count]):
        left = s - e
        w[: left - 1, :m] -= np.outer(tau[e] * h[: left - 1], h[:left].conj() @ w[:left, :m])


def reflect_rows(h: FloatArray, tau: float, s: int, Y: FloatArray, parts: int) -> None:
    """Apply the reflection I - tau h h* to the first s numbers of each row of Y, the last of which is dropped."""
    v, y = _numbers(parts, h, Y)
    y[:, : s - 1] -= np.outer(tau * (y[:, :s] @ v[:s].conj()), v[: s - 1])


def _numbers(parts: int, *arrays: FloatArray) -> list[Array]:
    """Views of arrays of doubles as numbers of one or two parts."""
    return [x.view(np.complex128) if parts == 2 else x for x in arrays]
