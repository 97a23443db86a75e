r"""Comparing images by several features: expert kernels, one joint matrix, and near-duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError, KernelError
from diverset.kernels import add_constant, cosine, normalize_rows
from diverset.numerics.validation import as_finite, as_number, check_nonnegative, check_rows

__all__ = ["combine", "expert_kernels", "near_duplicates"]

_CONSTANT = 0.01  # an entry of all rows, so that an image equal to the mean has a direction; changes cosines by 1e-4


def expert_kernels(features: Mapping[str, Any], *, rho: float = 0.0) -> dict[str, FloatArray]:
    r"""Make kernels of single features and of pairs, for :class:`diverset.learn.KDPPMixtureLearner`.

    Rows are scaled to length 1 ([KuleszaTaskar2012]_, section 5.3.3); the two features of a pair are concatenated and
    scaled again. Then :math:`\rho` is added to every entry, which makes all images more similar:

    .. math::  L^{(a)}_{ij} = \phi_a(i)^\top \phi_a(j) + \rho, \qquad
               L^{(a, b)}_{ij} = \tfrac12 \left(\phi_a(i)^\top \phi_a(j) + \phi_b(i)^\top \phi_b(j)\right) + \rho.

    Parameters
    ----------
    features : mapping of str to array_like of shape (n, n_features)
        Named features of the same n images, as from :func:`extract`; no row all zero.
    rho : float
        Constant added to every entry, at least 0.

    Returns
    -------
    dict of str to ndarray of shape (n, n)
        Kernels of the m features in their order, then of the m (m - 1) / 2 pairs ``"a & b"``; 55 for ten features.

    Examples
    --------
    >>> kernels = expert_kernels({"x": [[1.0, 0.0], [0.0, 1.0]], "y": [[1.0], [2.0]]}, rho=0.5)
    >>> list(kernels)
    ['x', 'y', 'x & y']
    >>> kernels["x & y"]
    array([[1.5, 1. ],
           [1. , 1.5]])
    """
    constant = check_nonnegative(rho, name="rho")
    single = {name: cosine(matrix) for name, matrix in features.items()}
    _check_lengths(single.items())
    pairs = {f"{a} & {b}": 0.5 * (single[a] + single[b]) for a, b in combinations(single, 2)}
    return {name: add_constant(S, constant) if constant else np.asarray(S) for name, S in (single | pairs).items()}


def _check_lengths(matrices: Iterable[tuple[str, Any]]) -> None:
    lengths_of = [(name, len(rows)) for name, rows in matrices]
    if len({length for _, length in lengths_of}) > 1:
        lengths = ", ".join(f"{name} {length}" for name, length in lengths_of)
        raise KernelError(f"features have different numbers of rows ({lengths}); all describe the same images")


def combine(features: Mapping[str, Any], names: Sequence[str] | None = None) -> FloatArray:
    r"""Join several features into one matrix, with equal weights, for :func:`diverset.select`.

    The mean over all images is subtracted from every feature first: histograms and energies are nonnegative, so without
    this all images would be similar. Rows then have length 1 in each feature, and

    .. math::  \phi(i)^\top \phi(j) \approx \frac{1}{m} \sum_a \cos\left(\phi_a(i) - \bar\phi_a,\;
               \phi_a(j) - \bar\phi_a\right).

    Parameters
    ----------
    features : mapping of str to array_like of shape (n, n_features)
        Named features of the same n images.
    names : sequence of str, optional
        Features to use; all by default.

    Returns
    -------
    ndarray of shape (n, total + 1)
        One row for each image.

    Examples
    --------
    >>> combine({"x": [[1.0, 0.0], [0.0, 1.0]], "y": [[1.0], [1.0]]}).round(3)
    array([[ 0.5 , -0.5 ,  0.  ,  0.01],
           [-0.5 ,  0.5 ,  0.  ,  0.01]])
    """
    chosen = list(features if names is None else names)
    if not chosen:
        raise KernelError("there are no features to combine; name at least one")
    parts = []
    for name in chosen:
        if name not in features:
            raise KernelError(f"there are no features {name!r}; there are {', '.join(map(str, features))}")
        X = as_finite(features[name], name=f"features {name}", shape=(None, None))
        centred = X - X.mean(axis=0) if len(X) else X
        lengths = np.linalg.norm(centred, axis=1, keepdims=True)
        # What is left of a row equal to the mean is rounding error.
        real = lengths > 1e-9 * np.linalg.norm(X, axis=1, keepdims=True)
        parts.append(np.where(real, centred / np.where(real, lengths, 1.0), 0.0))
    _check_lengths(zip(chosen, parts, strict=True))
    joined = np.hstack(parts) / np.sqrt(len(parts))
    return np.hstack([joined, np.full((len(joined), 1), _CONSTANT)])


#: By both features, copies of a photograph are more similar than two photographs of one subject.
_FEATURES = ("gist", "color-64")
THRESHOLD = 0.97


def near_duplicates(features: Mapping[str, Any], *, threshold: float = THRESHOLD, order: Any = None) -> IntArray:
    r"""Find near-duplicates: for every image, the image that it duplicates, or itself.

    Images are compared in order. An image is a duplicate of the most similar image kept so far if the smaller of two
    cosines, by ``gist`` and by ``color-64``, is at least `threshold`; otherwise it is kept. So no two kept images are
    near-duplicates of each other.

    Parameters
    ----------
    features : mapping of str to array_like of shape (n, n_features)
        With ``gist`` and ``color-64``, as from :func:`extract`.
    threshold : float
        Between 0 and 1; at 1 only images with the same features are duplicates.
    order : array_like of int, optional
        Positions of all images, the preferred first; by default 0 to n - 1.

    Returns
    -------
    ndarray of int64 of shape (n,)
        Entry i is the position of the image that image i duplicates, and i itself if image i is kept.
    """
    for name in _FEATURES:
        if name not in features:
            raise DiversetError(f"near-duplicates are found by {' and '.join(_FEATURES)}; {name} is missing")
    least = as_number(threshold, name="threshold")
    if not 0.0 <= least <= 1.0:
        raise DiversetError(f"threshold is {least:g}; it lies between 0 (all alike) and 1 (equal features only)")
    rows = [normalize_rows(features[name]) for name in _FEATURES]
    n = len(rows[0])
    if any(len(X) != n for X in rows):
        raise DiversetError(
            f"features have {' and '.join(str(len(X)) for X in rows)} rows; all describe the same images"
        )
    sequence = np.arange(n) if order is None else check_rows(order, n, name="order")
    if not np.array_equal(np.sort(sequence), np.arange(n)):
        raise DiversetError(f"order must name each of the {n} images once")
    copy_of = np.arange(n)
    kept: list[int] = []
    for i in sequence.tolist():
        alike = np.min([X[kept] @ X[i] for X in rows], axis=0)
        if kept and alike.max() >= least - 1e-12:
            copy_of[i] = kept[int(alike.argmax())]
        else:
            kept.append(i)
    return copy_of
