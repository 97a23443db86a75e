r"""Nystroem features, blockwise: any kernel over many items, as a dask array of few columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from diverset import kernels
from diverset._typing import Array, FloatArray, RNGLike
from diverset.distributed.blocks import Blocks, as_block, lazy_array, task
from diverset.errors import KernelError
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import as_generator, as_real, check_count, check_positive, is_sparse

__all__ = ["nystroem"]


def nystroem(
    features: Any,
    landmarks: Any = 256,
    *,
    kernel: Callable[[Array, Array], Array] | None = None,
    length_scale: float | None = None,
    rng: RNGLike = None,
) -> Any:
    r"""Features :math:`\Phi = k(X, Z)\,U\Lambda^{-1/2}` with :math:`k(Z, Z) = U \Lambda U^\top`, Z a few landmarks.

    :math:`\Phi\Phi^\top` is the Nystroem approximation of the kernel matrix: never above it, exact between landmarks,
    and exact everywhere once the landmarks span it ([WilliamsSeeger2001]_).

    Parameters
    ----------
    features : dask array of shape (n_items, n_features)
        One row per item.
    landmarks : int or array_like of shape (m, n_features)
        Number of items to draw as landmarks, uniformly, or the landmarks themselves.
    kernel : callable, optional
        ``kernel(X, Z)`` gives the (len(X), len(Z)) similarities; :func:`diverset.kernels.rbf` by default.
    length_scale : float, optional
        Of the default kernel; by default the median distance of the landmarks.
    rng : int, Generator or None
        Seed or generator for the landmarks.

    Returns
    -------
    dask array of shape (n_items, m)
        Not computed yet; O(m(D + m)) an item, on the worker that has it. Pass it to
        :meth:`diverset.DPP.from_features` or ``select(..., similarity="dot")``. Linearly dependent landmarks give fewer
        columns.

    Examples
    --------
    >>> import numpy as np, dask.array as da, diverset as dv
    >>> X = np.random.default_rng(0).random((2000, 2))
    >>> phi = dv.distributed.nystroem(da.from_array(X, chunks=500), 60, length_scale=0.5, rng=0).compute()
    >>> bool(np.abs(phi @ phi.T - dv.kernels.rbf(X, length_scale=0.5)).max() < 1e-3)
    True
    """
    # Not joined: the result is made block by block, and may be wider than what it is made of.
    blocks = Blocks.of(features, join=False)
    Z = _landmarks(blocks, landmarks, rng)
    if len(Z) == 0:
        raise KernelError("there are no landmarks; give at least one, or features of at least one item")
    if kernel is None:
        known = None if length_scale is None else check_positive(length_scale, name="length_scale")
        kernel = partial(kernels.rbf, length_scale=kernels.median_heuristic(Z) if known is None else known)
    K = np.asarray(kernel(Z, Z), dtype=np.float64)
    if K.shape != (len(Z), len(Z)) or not np.isfinite(K).all():
        raise KernelError(f"kernel(Z, Z) has shape {K.shape} for {len(Z)} landmarks; it must be square and finite")
    lam, U = np.linalg.eigh((K + K.T) / 2.0)
    kept = lam > len(lam) * EPS * max(float(lam[-1]), 0.0)
    if not kept.any():
        raise KernelError("the kernel of the landmarks is zero; give other landmarks, or another kernel")
    half = U[:, kept] / np.sqrt(lam[kept])
    parts = [task(_features_of, part, kernel, Z, half) for part in blocks.parts]
    return lazy_array(parts, blocks.lengths, np.float64, half.shape[1])


def _landmarks(blocks: Blocks, landmarks: Any, rng: RNGLike) -> FloatArray:
    n, width = blocks.shape
    if np.ndim(landmarks) == 0:
        m = min(check_count(landmarks, name="landmarks"), n)
        rows = np.sort(as_generator(rng).choice(n, size=m, replace=False))
        return np.asarray(blocks.fetch(rows))
    Z = as_real(landmarks, name="landmarks", shape=(None, None))
    if Z.shape[1] != width:
        raise KernelError(f"landmarks have {Z.shape[1]} features and the items {width}; they must have as many")
    return Z


def _features_of(block: Any, kernel: Callable[[Array, Array], Array], Z: FloatArray, half: FloatArray) -> FloatArray:
    X = as_block(block)
    X = X.toarray() if is_sparse(X) else np.asarray(X)
    return np.asarray(kernel(X, Z) @ half)
