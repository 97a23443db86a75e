"""How diverse a set is, from the similarities of its items: volume, pairwise means, the Vendi score."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from diverset._typing import FloatArray
from diverset.core.factor import RowFactor
from diverset.errors import DiversetError, KernelError
from diverset.inference.inputs import read_items
from diverset.inference.similarity import SimilarityLike, read_similarity
from diverset.kernels import cosine, normalize_rows
from diverset.numerics.linalg import EPS, log_det_psd
from diverset.numerics.validation import as_number, find_positions

if TYPE_CHECKING:
    from diverset.kernels._arrays import Features

__all__ = ["intra_list_diversity", "log_volume", "mean_pairwise_similarity", "vendi_score"]


def log_volume(
    similarity_or_features: Features,
    indices: Iterable[int] | None = None,
    *,
    similarity: SimilarityLike = "precomputed",
) -> float:
    r"""Log-determinant of the similarities over a set.

    .. math::  \log\det S_Y,

    twice the log-volume that the items span as vectors: 0 for orthogonal items of unit length, -inf for dependent ones
    and for matrices that are not positive semidefinite. O(m^2 d + m^3) for m items.

    Parameters
    ----------
    similarity_or_features : array_like or scipy.sparse of shape (n, n) or (n, d)
        A symmetric matrix of similarities or, with another ``similarity`` than the default, one item per row.
    indices : iterable of int, optional
        The set Y, such as a :class:`~diverset.inference.result.Selection`; all items by default.
    similarity : {"precomputed", "cosine", "rbf", "dot"} or callable
        How similarities follow from features, as in :func:`diverset.select`. The length scale of "rbf" is the median
        distance of *all* rows.

    Examples
    --------
    >>> round(log_volume([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]], [0, 1]), 6)
    -0.287682
    >>> round(log_volume([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]], [0, 2], similarity="cosine"), 6)
    0.0
    """
    S, rounding = _similarities(similarity_or_features, indices, similarity)
    return log_det_psd(S, rounding * np.abs(np.diagonal(S)))


def mean_pairwise_similarity(
    similarity_or_features: Features,
    indices: Iterable[int] | None = None,
    *,
    similarity: SimilarityLike = "precomputed",
) -> float:
    r"""Mean similarity of two different items of a set.

    .. math::  \frac{2}{m (m - 1)} \sum_{i < j \in Y} s_{ij}, \qquad m = |Y|.

    The parameters are those of :func:`log_volume`. The mean is 1 if there is no pair: fewer than two items are not
    diverse. O(m^2 d) for m items.

    Examples
    --------
    >>> mean_pairwise_similarity([[1.0, 0.5, 0.0], [0.5, 1.0, 0.25], [0.0, 0.25, 1.0]])
    0.25
    """
    S, _ = _similarities(similarity_or_features, indices, similarity)
    m = len(S)
    return math.fsum(np.triu(S, 1).sum(axis=1)) * 2.0 / (m * (m - 1)) if m > 1 else 1.0


def intra_list_diversity(
    similarity_or_features: Features,
    indices: Iterable[int] | None = None,
    *,
    similarity: SimilarityLike = "precomputed",
) -> float:
    r"""Mean distance of two different items of a set, for the distance :math:`1 - s`.

    Known from recommender systems ([ZieglerMcNee2005]_, whose intra-list similarity is the sum over pairs). It is one
    minus :func:`mean_pairwise_similarity`, with the same parameters.

    Examples
    --------
    >>> intra_list_diversity([[1.0, 0.5, 0.0], [0.5, 1.0, 0.25], [0.0, 0.25, 1.0]])
    0.75
    """
    return 1.0 - mean_pairwise_similarity(similarity_or_features, indices, similarity=similarity)


def vendi_score(X_or_K: Features, q: float = 1.0, *, kernel: SimilarityLike = "cosine") -> float:
    r"""The effective number of different items.

    .. math::  \mathrm{VS}_q = \exp\Bigl( \frac{1}{1 - q} \log \sum_i \lambda_i^q \Bigr), \qquad
               \mathrm{VS}_1 = \exp\Bigl( -\sum_i \lambda_i \log \lambda_i \Bigr), \qquad
               \mathrm{VS}_\infty = 1 / \max_i \lambda_i,

    for the eigenvalues :math:`\lambda` of :math:`K / n`, with K the n x n similarities of unit diagonal: 1 for n copies
    of one item, n for n items with nothing in common, 0 without items ([FriedmanDieng2023]_ for q = 1,
    [PasarkarDieng2024]_ for the others).

    Parameters
    ----------
    X_or_K : array_like or scipy.sparse of shape (n, d) or (n, n)
        One item per row, or the matrix K itself with ``kernel="precomputed"``.
    q : float
        Order of the entropy, from 0 to infinity. 0 counts the eigenvalues that are not zero (the rank); the larger q,
        the less rare items count.
    kernel : {"cosine", "rbf", "dot", "precomputed"} or callable
        As ``similarity`` in :func:`log_volume`. The diagonal must be 1.

    Notes
    -----
    The time is O(n^2 d + n^3) in general. For the cosine of n > d items it is O(n d^2), with O(d^2) memory beside a
    copy of the features: :math:`X^\top X` has the same nonzero eigenvalues. Eigenvalues below rounding count as zero.

    Examples
    --------
    >>> vendi_score([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 5.0]])
    2.0
    >>> round(vendi_score([[1.0, 0.5], [0.5, 1.0]], kernel="precomputed"), 6)
    1.754765
    """
    order = as_number(q, name="q")
    if not order >= 0.0:
        raise DiversetError(f"q is {order}; the order of an entropy is at least 0 (math.inf is allowed)")
    lam = _spectrum(X_or_K, kernel)
    if not len(lam):
        return 0.0
    lam = lam / lam.sum()
    if abs(order - 1.0) < 1e-8:  # nearer to 1, the general formula is all cancellation
        return math.exp(max(0.0, -float(lam @ np.log(lam))))
    top = float(lam.max())
    if order == math.inf:
        return 1.0 / top
    # The largest eigenvalue first: a high power of any of them underflows.
    log_sum = order * math.log(top) + math.log(float(((lam / top) ** order).sum()))
    return math.exp(log_sum / (1.0 - order))


def _spectrum(X_or_K: Any, kernel: SimilarityLike) -> FloatArray:
    """Nonzero eigenvalues of the kernel."""
    if kernel == "cosine":
        U = normalize_rows(X_or_K)
        n, d = U.shape
        M = RowFactor(U).gram() if d < n else cosine(X_or_K)
        rounding = EPS
    else:
        M, rounding = _similarities(X_or_K, None, kernel)
        n = len(M)
        off = np.abs(np.diagonal(M) - 1.0)
        if n and off.max() > 1e-6:  # the rounding of float32 sums
            i = int(off.argmax())
            raise KernelError(
                f"the similarity of item {i} to itself is {M[i, i]:.6g}; the Vendi score needs ones "
                "(split_quality_diversity gives them, and so does the cosine)"
            )
    if not len(M):
        return np.zeros(0)
    lam = np.asarray(scipy.linalg.eigvalsh(M), dtype=np.float64)
    noise = 8.0 * max(n, len(M)) * rounding * float(lam[-1])
    if lam[0] < -noise:
        raise KernelError(
            f"the similarities have smallest eigenvalue {lam[0]:.6g}; the Vendi score needs a positive "
            "semidefinite matrix (nearest_psd makes one)"
        )
    kept: FloatArray = lam[lam > noise]
    return kept


def _similarities(given: Any, indices: Any, similarity: SimilarityLike) -> tuple[FloatArray, float]:
    """Similarities over a set, symmetric, and the rounding of their entries."""
    found = read_similarity(read_items(given, name="similarity_or_features"), similarity)
    chosen = np.arange(found.n) if indices is None else find_positions(indices, range(found.n), name="indices")
    S = found.among(chosen)
    return S / 2.0 + S.T / 2.0, found.rounding  # halves, for a sum may overflow
