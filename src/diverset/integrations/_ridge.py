r"""k-DPPs of features with a ridge: sets of any size up to n, exact draws, exact inclusion probabilities.

The kernel is :math:`L = FF^T + \rho I`, with F of shape (n, D). A determinant with a multiple of the identity added is
a sum over subsets,

.. math::  \det L_Y = \sum_{T \subseteq Y} \rho^{|Y| - |T|} \det (FF^T)_T ,

so a set of k items is drawn in three steps, each of them exact: a size t with probability proportional to
:math:`\rho^{k-t} \binom{n-t}{k-t} e_t(\lambda)`, where :math:`e_t` is the elementary symmetric polynomial of the
eigenvalues of :math:`FF^T`; then T from the t-DPP of the features; then k - t of the other items, all subsets equally
likely. Hence item i is drawn with probability

.. math::  \pi_i = \sum_t \Pr(t) \left[ p_i^{(t)} + (1 - p_i^{(t)}) \frac{k - t}{n - t} \right],

with :math:`p^{(t)}` the inclusion probabilities of the t-DPP. Nothing of this makes an n x n matrix.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln

from diverset._typing import FloatArray, IntArray
from diverset.core import DPP, SizedDPP
from diverset.errors import KernelError, SizeError
from diverset.numerics.linalg import row_norms_squared
from diverset.numerics.symmetric import log_elementary_symmetric_all
from diverset.numerics.validation import check_nonnegative, is_sparse

__all__ = ["RIDGE", "RidgeKDPP", "equalised"]

#: The ridge, relative to the mean squared length of the rows, where sets are larger than the features allow.
RIDGE = 0.01
#: Draws that the sampler is prepared for: many, so that a draw is cheap.
_MANY = 1_000_000


class RidgeKDPP:
    r"""Sets Y of k rows of F with probability proportional to :math:`\det(F_Y F_Y^T + \rho I)`.

    `ridge` is :math:`\rho` divided by the mean squared length of the rows, by default 0 where the rank of F is at least
    k, and 0.01 elsewhere. Entry t of `size_probabilities` is the probability that t items come from the DPP of the
    features, and k - t from all others.
    """

    def __init__(self, features: Any, k: int, ridge: float | None = None) -> None:
        self._features = features
        self.n, self.k = int(features.shape[0]), k
        if k > self.n:
            raise SizeError(f"a batch of {k} items cannot be drawn from {self.n} items; lower the batch size")
        self._dpp = DPP.from_features(features)
        rank = self._dpp.rank
        if rank == 0:
            raise KernelError("all features are zero, so no item is unlike another; give features that differ")
        given = None if ridge is None else check_nonnegative(ridge, name="ridge")
        self.ridge = given if given is not None else 0.0 if k <= rank else RIDGE
        if self.ridge == 0.0 and k > rank:
            raise SizeError(
                f"a batch of {k} items is larger than the rank of the features, {rank}, and ridge is 0; leave ridge "
                f"out ({RIDGE} is used) or give more features"
            )
        self._rho = self.ridge * float(self._dpp.eigenvalues.sum()) / self.n
        t = np.arange(min(k, rank) + 1)
        log_e = log_elementary_symmetric_all(np.log(self._dpp.eigenvalues[-rank:]), int(t[-1]))
        log_ways = gammaln(self.n - t + 1) - gammaln(k - t + 1) - gammaln(self.n - k + 1)
        if self._rho > 0.0:
            logs = log_e + log_ways + (k - t) * math.log(self._rho)
        else:
            logs = np.where(t == k, log_e, -np.inf)
        self.log_normalizer = float(np.logaddexp.reduce(logs))
        sizes = np.exp(logs - self.log_normalizer)
        self.size_probabilities: FloatArray = sizes / sizes.sum()
        sized = SizedDPP(self._dpp, self.size_probabilities)
        self._sampler = sized.sampler(_MANY, method="rejection")

    def inclusion_probabilities(self) -> FloatArray:
        """Probability of each item to be drawn, of shape (n,); one pass over the features."""
        if self.k == self.n:
            return np.ones(self.n)
        # (1 - p) a + p = a + p (1 - a), and the second term is again a mixture of t-DPPs.
        t = np.arange(len(self.size_probabilities))
        uniform = (self.k - t) / (self.n - t)
        kept = self.size_probabilities * (1.0 - uniform)
        mixture = SizedDPP(self._dpp, kept / kept.sum())
        return float(self.size_probabilities @ uniform) + float(kept.sum()) * mixture.inclusion_probabilities

    def log_prob(self, items: IntArray) -> float:
        """Log-probability of a set of k items."""
        rows = self._features[items]
        rows = np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)
        L = rows @ rows.T
        L[np.diag_indices(len(L))] += self._rho
        sign, log_det = np.linalg.slogdet(L)
        return float(log_det) - self.log_normalizer if sign > 0.0 else -math.inf

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One set, ascending; the time does not depend on n."""
        diverse = self._sampler.draw(rng)
        missing = self.k - len(diverse)
        if missing == 0:
            return diverse
        others = rng.choice(self.n - len(diverse), size=missing, replace=False, shuffle=False)
        # The r-th item outside a sorted set: r plus the number of members that come before it.
        others += np.searchsorted(diverse - np.arange(len(diverse)), others, side="right")
        return np.sort(np.concatenate([diverse, others]))


def equalised(rows: FloatArray, k: int, *, rounds: int = 3) -> FloatArray:
    r"""Rows scaled so that all have about the same probability, k / n, to be in a draw.

    A fixed-point iteration on :math:`\pi_i = x_i^T (I + X^T X)^{-1} x_i`. Rows of zeros stay as they are.
    """
    n = len(rows)
    norms = row_norms_squared(rows)
    X = rows * math.sqrt(k / max(float(norms.sum()), 1e-300))
    for _ in range(rounds):
        R = np.linalg.cholesky(X.T @ X + np.eye(X.shape[1]))
        pi = row_norms_squared(np.linalg.solve(R, X.T).T)
        X = X * np.sqrt(np.divide(k / n, pi, out=np.ones(n), where=pi > 0.0))[:, None]
    return np.asarray(X)
