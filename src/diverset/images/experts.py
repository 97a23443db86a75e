r"""Expert kernels: every feature alone, and every two of them side by side ([KuleszaTaskar2012]_, section 5.3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import KernelError
from diverset.kernels import add_constant, cosine
from diverset.numerics.validation import as_finite, check_nonnegative

__all__ = ["combine", "expert_kernels"]

#: Added so that an image equal to the mean of all images still has a direction; it changes cosines by 1e-4.
_CONSTANT = 0.01


def expert_kernels(features: Mapping[str, Any], *, rho: float = 0.0) -> dict[str, FloatArray]:
    r"""Kernels of single features and of pairs, for :class:`diverset.learn.KDPPMixtureLearner`.

    Features are scaled to length 1 each; a pair is put side by side and scaled again. Then :math:`\rho` is added to
    every entry: the larger it is, the more alike all images are, and the more diversity counts. So

    .. math::  L^{(a)}_{ij} = \phi_a(i)^\top \phi_a(j) + \rho, \qquad
               L^{(a, b)}_{ij} = \tfrac12 \left(\phi_a(i)^\top \phi_a(j) + \phi_b(i)^\top \phi_b(j)\right) + \rho.

    Parameters
    ----------
    features : mapping of str to array_like of shape (n, n_features)
        Named features of the same n images, such as :func:`extract` gives; no row all zero.
    rho : float
        At least 0.

    Returns
    -------
    dict of str to ndarray of shape (n, n)
        The m features in their order, then the m (m - 1) / 2 pairs ``"a & b"``; 55 in all for ten.

    Notes
    -----
    O(m n^2 D + m^2 n^2) time and O(m^2 n^2) memory.

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
    if len({S.shape for S in single.values()}) > 1:
        lengths = ", ".join(f"{name} {len(S)}" for name, S in single.items())
        raise KernelError(f"features have different numbers of rows ({lengths}); all describe the same images")
    pairs = {f"{a} & {b}": 0.5 * (single[a] + single[b]) for a, b in combinations(single, 2)}
    return {name: add_constant(S, constant) if constant else np.asarray(S) for name, S in (single | pairs).items()}


def combine(features: Mapping[str, Any], names: Sequence[str] | None = None) -> FloatArray:
    r"""Join several features into one matrix, with equal weights, for :func:`diverset.select`.

    Of every feature the mean over all images is taken out first: histograms and energies are nonnegative, so that all
    images look alike in what any image has. Rows then have length 1 in each feature, and

    .. math::  \phi(i)^\top \phi(j) \approx \frac{1}{m} \sum_a \cos\left(\phi_a(i) - \bar\phi_a,\;
               \phi_a(j) - \bar\phi_a\right).

    Parameters
    ----------
    features : mapping of str to array_like of shape (n, n_features)
        Named features of the same n images.
    names : sequence of str, optional
        Which of them; all by default.

    Returns
    -------
    ndarray of shape (n, total + 1)
        One row for each image, to be compared by the cosine.

    Examples
    --------
    >>> combine({"x": [[1.0, 0.0], [0.0, 1.0]], "y": [[1.0], [1.0]]}).round(3)
    array([[ 0.5 , -0.5 ,  0.  ,  0.01],
           [-0.5 ,  0.5 ,  0.  ,  0.01]])
    """
    chosen = list(features if names is None else names)
    parts = []
    for name in chosen:
        if name not in features:
            raise KernelError(f"there are no features {name!r}; there are {', '.join(map(str, features))}")
        X = as_finite(features[name], name=f"features {name}", shape=(None, None))
        X = X - X.mean(axis=0) if len(X) else X
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        # Differences between equal rows are rounding errors.
        real = lengths > 1e-9 * np.linalg.norm(np.asarray(features[name]), axis=1, keepdims=True)
        parts.append(np.where(real, X / np.where(real, lengths, 1.0), 0.0))
    if len({len(part) for part in parts}) != 1:
        lengths_of = ", ".join(f"{name} {len(part)}" for name, part in zip(chosen, parts, strict=True))
        raise KernelError(f"features have different numbers of rows ({lengths_of}); all describe the same images")
    joined = np.hstack(parts) / np.sqrt(len(parts))
    return np.hstack([joined, np.full((len(joined), 1), _CONSTANT)])
