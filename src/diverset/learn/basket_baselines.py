"""Models of baskets without interactions between items: baselines for learned kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from diverset._typing import FloatArray, IntArray
from diverset.core import DPP, SizedDPP
from diverset.errors import ImpossibleEventError
from diverset.learn._estimator import Convergence, check_fitted
from diverset.learn.basket_model import BasketModel
from diverset.learn.baskets import Baskets
from diverset.numerics.eigenvector_probabilities import selection_probabilities
from diverset.numerics.linalg import positions_outside
from diverset.numerics.symmetric import log_elementary_symmetric, log_elementary_symmetric_all
from diverset.numerics.validation import check_count, check_nonnegative

__all__ = ["IndependentItems", "PoissonItems"]

#: Conditional probabilities ignore set sizes with a probability below this.
_NEGLIGIBLE = 1e-15
_LOG_NEGLIGIBLE = -80.0


@dataclass(eq=False, repr=False, kw_only=True)
class IndependentItems(BasketModel):
    r"""Independent items: :math:`\Pr(Y) = \prod_{i \in Y} p_i \prod_{i \notin Y} (1 - p_i)`, a diagonal DPP.

    Parameters
    ----------
    pseudo_count : float
        Number of baskets with the item, and of baskets without it, that are added to the observed baskets. 0 gives
        maximum likelihood, under which an item that never occurred has probability 0.

    Attributes
    ----------
    p_ : ndarray of shape (n_items,)
        Probability of each item.
    dpp_ : DPP
        The same law as a DPP.
    n_items_ : int
        Size of the ground set.

    Examples
    --------
    >>> import diverset as dv
    >>> model = dv.learn.IndependentItems(pseudo_count=0.0).fit([[0], [0, 1], [], [0, 1]])
    >>> model.p_
    array([0.75, 0.5 ])
    """

    pseudo_count: float = 0.5

    def _learn(self, read: Baskets) -> None:
        extra = check_nonnegative(self.pseudo_count, name="pseudo_count")
        self._keep((read.counts + extra) / (len(read) + 2.0 * extra))

    def _keep(self, p: FloatArray) -> None:
        self.p_ = p
        self.n_items_ = len(p)
        self.__dict__.pop("dpp_", None)

    @cached_property
    def dpp_(self) -> DPP:
        """The same law as a DPP with a diagonal marginal kernel."""
        check_fitted(self, "p_")
        return DPP.from_marginal(np.diag(self.p_))

    def _log_probs(self, baskets: Baskets) -> FloatArray:
        with np.errstate(divide="ignore"):
            inside, outside = np.log(self.p_), np.log1p(-self.p_)
        found = np.full(len(baskets), outside[np.isfinite(outside)].sum())
        certain = np.flatnonzero(~np.isfinite(outside))
        gain = inside - np.where(np.isfinite(outside), outside, 0.0)
        for numbers, rows in baskets.by_size():
            found[numbers] += gain[rows].sum(axis=1)
            # A basket has probability 0 if it lacks an item that is in every training basket.
            found[numbers[np.isin(rows, certain).sum(axis=1) < len(certain)]] = -np.inf
        return found

    def _scores(self, basket: IntArray) -> FloatArray:
        scores = self.p_.copy()
        scores[basket] = 1.0
        return scores


@dataclass(eq=False, repr=False, kw_only=True)
class PoissonItems(BasketModel):
    r"""A Poisson number of items, drawn in proportion to weights; items interact only through the size of the set.

    .. math::

        \Pr(Y) = \frac{\mu^k e^{-\mu}}{k!\,c} \cdot \frac{\prod_{i \in Y} w_i}{e_k(w)}, \qquad k = |Y|,

    where c is the total Poisson probability of the possible sizes.

    Parameters
    ----------
    pseudo_count : float
        Number added to the count of every item.
    max_iter : int
        Maximum number of iterations.
    tol : float
        The weights have converged when the relative difference of expected and observed counts is below this.

    Attributes
    ----------
    weights_ : ndarray of shape (n_items,)
        The weights w, with mean 1.
    rate_ : float
        The Poisson rate.
    dpp_ : SizedDPP
        The same law as a diagonal k-DPP of random size.
    convergence_ : Convergence
        How the fit ended; the objective is minus the largest relative error of a count.

    Notes
    -----
    Maximum likelihood by iterative scaling, :math:`w_i \leftarrow w_i\, c_i / \mathrm{E} c_i`, where the expected
    counts are those of the k-DPPs of all observed sizes.

    Examples
    --------
    >>> import diverset as dv
    >>> model = dv.learn.PoissonItems().fit([[0], [0, 1], [0, 2], [1]])
    >>> model.rate_, model.recommend([], 1)[0].item
    (1.5, 0)
    """

    pseudo_count: float = 0.5
    max_iter: int = 200
    tol: float = 1e-6

    def _learn(self, read: Baskets) -> None:
        sizes, times = np.unique(read.sizes, return_counts=True)
        counts = read.counts + check_nonnegative(self.pseudo_count, name="pseudo_count")
        # Scale the counts so that their sum is the observed number of items.
        counts *= read.counts.sum() / max(counts.sum(), 1e-300)
        with np.errstate(divide="ignore"):
            log_w = np.log(counts)
        trace, max_iter = [], check_count(self.max_iter, name="max_iter")
        tol = check_nonnegative(self.tol, name="tol")
        for _ in range(max_iter):
            expected = sum(
                t * selection_probabilities(log_w, int(k)) for k, t in zip(sizes, times, strict=True) if k > 0
            )
            ratio = np.where(counts > 0.0, counts / np.maximum(expected, 1e-300), 1.0)
            trace.append(-float(np.abs(ratio - 1.0).max(initial=0.0)))
            if -trace[-1] < tol or not counts.any():
                break
            log_w = log_w + np.log(ratio)
        self.convergence_ = Convergence(
            -trace[-1] < tol, f"largest relative error of a count {-trace[-1]:.3g}", np.array([trace[0], *trace])
        )
        weights = np.exp(log_w - log_w.max(initial=-np.inf)) if counts.any() else np.ones(len(counts))
        self._keep(weights / weights.mean(), float(read.sizes.mean()))

    def _keep(self, weights: FloatArray, rate: float) -> None:
        self.weights_ = weights
        self.rate_ = rate
        self.n_items_ = len(weights)
        self.__dict__.pop("dpp_", None)

    def _log_sizes(self) -> FloatArray:
        """Log-probabilities of the sizes 0 to n."""
        possible = int(np.count_nonzero(self.weights_))
        k = np.arange(possible + 1)
        logs = np.where(k == 0, 0.0, k * np.log(max(self.rate_, 1e-300))) - gammaln(k + 1.0)
        return np.asarray(logs - np.logaddexp.reduce(logs))

    @cached_property
    def dpp_(self) -> SizedDPP:
        """The same law as a diagonal k-DPP of random size."""
        check_fitted(self, "weights_")
        return SizedDPP(DPP(np.diag(self.weights_)), np.exp(self._log_sizes()))

    def _log_probs(self, baskets: Baskets) -> FloatArray:
        with np.errstate(divide="ignore"):
            log_w = np.log(self.weights_)
        log_sizes = self._log_sizes()
        found = np.full(len(baskets), -np.inf)
        for numbers, rows in baskets.by_size():
            k = rows.shape[1]
            if k < len(log_sizes):
                found[numbers] = log_sizes[k] + log_w[rows].sum(axis=1) - log_elementary_symmetric(log_w, k)
        return found

    def _scores(self, basket: IntArray) -> FloatArray:
        # Given A, the other items have the same weights; only the distribution of their number changes.
        m, others = len(basket), positions_outside(basket, self.n_items_)
        with np.errstate(divide="ignore"):
            log_w = np.log(self.weights_)
        log_sizes = self._log_sizes()
        largest = int(np.flatnonzero(log_sizes > log_sizes.max() + _LOG_NEGLIGIBLE)[-1])
        largest = min(max(largest, m + 10), len(log_sizes) - 1)
        if m > largest or not self.weights_[basket].all():
            raise ImpossibleEventError(f"the items {basket.tolist()} have probability 0 to appear together")
        log_rest = log_elementary_symmetric_all(log_w[others], largest - m)
        posterior = log_sizes[m : largest + 1] + log_rest - log_elementary_symmetric_all(log_w, largest)[m:]
        probabilities = np.exp(posterior - np.logaddexp.reduce(posterior))
        scores = np.ones(self.n_items_)
        scores[others] = 0.0
        for k in np.flatnonzero(probabilities[1:] > _NEGLIGIBLE) + 1:
            scores[others] += probabilities[k] * selection_probabilities(log_w[others], int(k))
        return scores
