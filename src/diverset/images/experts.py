r"""Expert kernels: every feature alone, and every two of them side by side ([KuleszaTaskar2012]_, section 5.3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import KernelError
from diverset.kernels import add_constant, cosine
from diverset.numerics.validation import check_nonnegative

__all__ = ["expert_kernels"]


def expert_kernels(features: Mapping[str, Any], *, rho: float = 0.0) -> dict[str, FloatArray]:
    r"""Kernels of single features and of pairs, for :class:`diverset.learn.KDPPMixtureLearner`.

    Features are scaled to length 1 each; a pair is put side by side and scaled again. Then :math:`\rho` is added to
    every entry: the larger it is, the more alike all images are, and the more sets care for diversity. So

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
