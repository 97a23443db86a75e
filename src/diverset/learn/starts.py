r"""Where kernel learning starts: from the moments of the baskets, or at random.

A DPP has :math:`\Pr(i \in Y) = K_{ii}` and :math:`\Pr(i, j \in Y) = K_{ii}K_{jj} - K_{ij}^2`, so frequencies of items
and pairs give K up to signs ([UrschelEtAl2017]_). All signs are taken positive here. Pairs that come together more
often than independent items would are beyond a symmetric kernel, and start at zero; what is left need not be positive
semidefinite, and is drawn towards its diagonal until it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.learn.baskets import Baskets
from diverset.numerics.validation import as_hermitian, check_positive_semidefinite

__all__ = ["moment_kernel", "popularity_rows", "starting_kernel"]

#: Eigenvalues of the first marginal kernel keep this far from 1, and this part of the diagonal from 0.
_BELOW_ONE, _ABOVE_ZERO = 1e-3, 0.1


def frequencies(baskets: Baskets) -> FloatArray:
    """Part of the baskets that hold each item, with half a basket added on either side: never 0 or 1."""
    return (baskets.counts + 0.5) / (len(baskets) + 1.0)


def moment_kernel(baskets: Baskets) -> FloatArray:
    """Likelihood kernel whose marginal kernel has nearly the observed moments; O(n^3)."""
    p = frequencies(baskets)
    together = baskets.pair_counts() / max(len(baskets), 1)
    K = np.sqrt(np.maximum(np.outer(p, p) - together, 0.0))
    np.fill_diagonal(K, p)
    root = np.sqrt(p)
    apart = K / root[:, None] / root
    np.fill_diagonal(apart, 0.0)
    lowest = float(np.linalg.eigvalsh(apart)[0])
    shrink = min(1.0, (1.0 - _ABOVE_ZERO) / -lowest) if lowest < 0.0 else 1.0
    np.fill_diagonal(apart, 1.0 / shrink)
    kappa, V = np.linalg.eigh(root[:, None] * (shrink * apart) * root)
    kappa = np.minimum(kappa, 1.0 - _BELOW_ONE)
    L = (V * (kappa / (1.0 - kappa))) @ V.T
    return np.asarray((L + L.T) / 2.0)


def starting_kernel(init: Any, baskets: Baskets, rng: np.random.Generator) -> FloatArray:
    """A positive definite matrix by name, or the one given."""
    n = baskets.n_items
    if isinstance(init, str):
        if init == "moments":
            return moment_kernel(baskets)
        if init == "wishart":
            B = rng.standard_normal((n, n))
            return B @ B.T / n
        raise DiversetError(f"init is {init!r}; choose 'moments', 'wishart' or a kernel matrix")
    L = as_hermitian(init, name="init")
    if L.shape != (n, n) or np.iscomplexobj(L):
        raise DiversetError(f"init has shape {L.shape} and dtype {L.dtype}; expected a real matrix of shape {(n, n)}")
    check_positive_semidefinite(L, name="init", given=init, remedy="a likelihood kernel must be positive semidefinite")
    return L


def popularity_rows(baskets: Baskets, width: int, rng: np.random.Generator) -> FloatArray:
    """Random directions, as long as the frequencies ask: the squared length of row i is p / (1 - p)."""
    p = frequencies(baskets)
    rows = rng.standard_normal((baskets.n_items, width))
    rows *= np.sqrt(p / (1.0 - p) / np.maximum((rows**2).sum(axis=1), 1e-300))[:, None]
    return rows
