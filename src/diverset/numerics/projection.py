r"""Random projections of features, and how many dimensions keep the volumes ([KuleszaTaskar2012]_, section 3.4).

Projecting D features to d random directions changes all volumes spanned by at most k of n items by little, if d is of
the order of :math:`k/\epsilon + \log n/\epsilon^2` ([MagenZouzias2008]_), and a DPP is a law of squared volumes.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, RNGLike
from diverset.errors import DiversetError, KernelError
from diverset.numerics.linalg import share_rows
from diverset.numerics.validation import (
    as_generator,
    as_number,
    as_real_or_complex,
    check_count,
    check_finite,
    check_fits_in_memory,
    check_nonnegative,
    check_size,
    is_blocked,
    is_sparse,
)

__all__ = ["project", "projection_bound", "projection_dim", "projection_matrix"]

_METHODS = ("gaussian", "sparse", "signs")


def projection_matrix(n_features: int, dim: int, *, rng: RNGLike = None, method: str = "gaussian") -> FloatArray:
    r"""Random matrix G, of shape (n_features, dim), with :math:`\mathbb{E}\, G G^\top = I`.

    The parameters are those of :func:`project`.
    """
    D, d = check_size(n_features, name="n_features"), check_count(dim, name="dim")
    generator = as_generator(rng)
    if method == "gaussian":
        return generator.standard_normal((D, d)) / math.sqrt(d)
    if method == "sparse":
        return generator.choice([-1.0, 0.0, 0.0, 0.0, 0.0, 1.0], size=(D, d)) * math.sqrt(3.0 / d)
    if method == "signs":
        return _signs(D, d, generator) / math.sqrt(d)
    raise DiversetError(f"method is {method!r}; choose one of {', '.join(_METHODS)}")


def _signs(n_features: int, dim: int, rng: np.random.Generator) -> Array:
    """Independent +1 and -1, a byte each."""
    return np.asarray(2 * rng.integers(0, 2, size=(n_features, dim), dtype=np.int8) - 1, dtype=np.int8)


def project(features: Any, dim: int, rng: RNGLike = None, *, method: str = "gaussian") -> Array:
    r"""Features projected to `dim` random directions, :math:`\tilde\phi_i = G^\top \phi_i`.

    Parameters
    ----------
    features : array_like, scipy.sparse or dask array of shape (n_items, n_features)
        One row per item.
    dim : int
        Dimensions to project to; :func:`projection_dim` says how many keep a DPP close to what it was.
    rng : int, Generator or None
        Seed or generator; the same seed projects other items alike.
    method : {"gaussian", "sparse", "signs"}
        Independent entries, normal with variance 1/dim; :math:`\sqrt{3/d}` times +1, 0, -1 with probabilities 1/6,
        2/3, 1/6; or :math:`\pm 1/\sqrt{d}` with equal probability (both [Achlioptas2003]_). Sparse features that are
        all equal where they are not zero, such as lists of neighbours, are projected by signs in integer arithmetic,
        about twenty times faster than by a product.

    Returns
    -------
    ndarray of shape (n_items, dim)
        The projected features, a dask array if the features are one. O(n D d), or d times the stored entries of
        sparse features.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(1).standard_normal((3, 10_000))
    >>> Z = project(X, 2_000, rng=0)
    >>> bool(np.abs(Z @ Z.T / (X @ X.T).trace() - X @ X.T / (X @ X.T).trace()).max() < 0.03)
    True
    """
    if is_blocked(features):
        blocks: Array = _project_blocks(features, check_count(dim, name="dim"), rng, method)
        return blocks
    if is_sparse(features):
        # Formats that hold lists or a dictionary have no array of values to check.
        features = features if features.format in ("csr", "csc", "coo", "bsr", "dia") else features.tocsr()
    else:
        features = as_real_or_complex(features, name="features", ndim=2)
    check_fits_in_memory(8 * int(features.shape[1]) * check_count(dim, name="dim"), what="the projection matrix")
    if method == "signs" and _is_flat(features):
        return _sign_sums(features, dim, as_generator(rng))
    check_finite(features.data if is_sparse(features) else features, name="features")
    G = projection_matrix(features.shape[1], dim, rng=rng, method=method)
    return np.asarray(features @ G)


def _is_flat(features: Any) -> bool:
    """Whether features are sparse rows, finite and all equal where they are not zero."""
    if not is_sparse(features) or features.format != "csr" or features.nnz == 0 or features.dtype.kind not in "biuf":
        return False
    first, step = features.data[0], 1 << 18
    blocks = (features.data[i : i + step] for i in range(0, features.nnz, step))
    return bool(np.isfinite(first)) and all((block == first).all() for block in blocks)


def _sign_sums(features: Any, dim: int, rng: np.random.Generator) -> FloatArray:
    """Project flat features by signs, by counting: for m entries, c of them with sign +1, the sum is 2c - m.

    Directions are processed in blocks of one cache line; rows are split over threads.
    """
    from diverset.numerics._projection_loops import BYTES, count_rows

    plus = _signs(features.shape[1], dim, rng) > 0
    unit = float(features.data[0]) / math.sqrt(dim)
    Z = np.empty((features.shape[0], dim))
    for first in range(0, dim, BYTES):
        width = min(BYTES, dim - first)
        table = np.zeros((features.shape[1], BYTES), dtype=np.uint8)
        table[:, :width] = plus[:, first : first + width]
        counts = np.empty((features.shape[0], width), dtype=np.int32)
        job = partial(count_rows, features.indptr, features.indices, table.view(np.uint64), counts)
        share_rows(features.indptr, BYTES // 8, job)
        np.multiply(counts, 2.0 * unit, out=Z[:, first : first + width])
    Z -= unit * np.diff(features.indptr)[:, None]
    return Z


def _project_blocks(features: Any, dim: int, rng: RNGLike, method: str) -> Any:
    """Project a dask array, possibly with sparse blocks; the result is a dask array, not computed yet."""
    if features.ndim != 2:
        raise KernelError(f"features has shape {features.shape}; expected 2 dimensions")
    features = features.rechunk({1: -1})
    G = projection_matrix(features.shape[1], dim, rng=rng, method=method)
    dtype = np.result_type(features.dtype, G.dtype)
    return features.map_blocks(
        _times, G=G, dtype=dtype, chunks=(features.chunks[0], (dim,)), meta=np.empty((0, 0), dtype)
    )


def _times(block: Any, G: FloatArray) -> Array:
    check_finite(block.tocsr().data if is_sparse(block) else np.asarray(block), name="a block of features")
    return np.asarray(block @ G)


def _check_rate(value: float, name: str) -> float:
    number = as_number(value, name=name)
    if not 1e-100 < number < 0.5:
        raise DiversetError(f"{name} is {number}; the lemma holds for {name} between 0 and 1/2")
    return number


def projection_dim(
    n_items: int | None = None, k: int = 1, eps: float = 0.1, delta: float = 0.1, *, log_n_items: float | None = None
) -> int:
    r"""Dimensions that keep every volume of at most k items within :math:`(1 \pm \epsilon)^k`.

    .. math::

        d = \max\left\{ \frac{2k}{\epsilon},\
            \frac{24}{\epsilon^2} \left(\frac{\log(3/\delta)}{\log n} + 1\right) (\log n + 1) + k - 1 \right\},

    rounded up: with probability at least :math:`1 - \delta` over the projection ([KuleszaTaskar2012]_, Lemma 3.2,
    after [MagenZouzias2008]_). The L1 distance of the projected law is then at most :func:`projection_bound`.

    Parameters
    ----------
    n_items : int
        Number of items, at least 2; a Python integer of any length, such as ``200**4`` for structures.
    k : int
        Largest size of the sets.
    eps, delta : float
        Distortion and probability of failure, between 0 and 1/2.
    log_n_items : float, optional
        Instead of `n_items`; R log M for structures of R parts.

    Examples
    --------
    >>> projection_dim(200**4, k=3, eps=0.1, delta=0.05)
    63556
    """
    if (n_items is None) == (log_n_items is None):
        raise DiversetError("give either n_items or log_n_items")
    log_n = math.log(check_count(n_items, name="n_items")) if log_n_items is None else float(log_n_items)
    if not 0.0 < log_n < math.inf:
        raise DiversetError(f"log_n_items is {log_n}; the lemma is about two items or more")
    size, eps, delta = check_size(k), _check_rate(eps, "eps"), _check_rate(delta, "delta")
    wide = 24.0 / eps**2 * (math.log(3.0 / delta) / log_n + 1.0) * (log_n + 1.0) + size - 1.0
    return math.ceil(max(2.0 * size / eps, wide))


def projection_bound(k: int, eps: float) -> float:
    r"""Largest L1 distance :math:`e^{6k\epsilon} - 1` between the laws of a DPP and its projection.

    Both restricted to sets of at most k items, with probability :math:`1 - \delta` for the dimension of
    :func:`projection_dim` ([KuleszaTaskar2012]_, Theorem 3.3). An L1 distance never exceeds 2.

    Examples
    --------
    >>> round(projection_bound(2, 0.01), 6)
    0.127497
    """
    exponent = 6.0 * check_size(k) * check_nonnegative(eps, name="eps")
    return math.expm1(exponent) if exponent < 700.0 else math.inf
