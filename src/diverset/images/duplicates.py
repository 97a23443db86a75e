r"""Images that are the same but for size, format, a little light or a thin border."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from diverset._typing import IntArray
from diverset.errors import DiversetError
from diverset.kernels import normalize_rows
from diverset.numerics.validation import as_number

__all__ = ["near_duplicates"]

#: By both features, copies of a photograph are nearer than two photographs of one subject; see the documentation.
_FEATURES = ("gist", "color-64")
THRESHOLD = 0.97


def near_duplicates(
    features: Mapping[str, Any],
    *,
    threshold: float = THRESHOLD,
    order: Any = None,
) -> IntArray:
    r"""Find near-duplicates: for every image, the image that it duplicates, or itself.

    Images are compared in order. An image is a duplicate of the most similar image kept so far if the smaller of two
    cosines, by ``gist`` and by ``color-64``, is at least `threshold`; otherwise it is kept. So no two kept images are
    near-duplicates of each other.

    Parameters
    ----------
    features : mapping of str to array_like of shape (n, n_features)
        With ``gist`` and ``color-64``, as :func:`extract` gives them.
    threshold : float
        Between 0 and 1; at 1 only images with the same features are duplicates.
    order : array_like of int, optional
        All images, the preferred first; in their own order by default.

    Returns
    -------
    ndarray of int64 of shape (n,)
        Entry i is the position of the image that image i duplicates, and i itself if image i is kept.

    Notes
    -----
    O(n m D) for m images that are kept.
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
    sequence = np.arange(n) if order is None else np.asarray(order, dtype=np.int64)
    if not np.array_equal(np.sort(sequence), np.arange(n)):
        raise DiversetError(f"order must name each of the {n} images once")
    stands_for = np.arange(n)
    kept = np.empty(n, dtype=np.int64)
    number = 0
    for i in sequence.tolist():
        before = kept[:number]
        if number:
            alike = np.min([X[before] @ X[i] for X in rows], axis=0)
            best = int(np.argmax(alike))
            if alike[best] >= least - 1e-12:
                stands_for[i] = before[best]
                continue
        kept[number] = i
        number += 1
    return stands_for
