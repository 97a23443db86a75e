r"""Learning a kernel of full rank from baskets: the fixed-point iteration and the EM algorithm.

Both maximise the mean log-likelihood :math:`\frac1T \sum_t \log\det L_{Y_t} - \log\det(L+I)`, which is not concave.
Both use the baskets only through

.. math::  S(L) = \frac1T \sum_t U_t L_{Y_t}^{-1} U_t^T,

the mean of the inverses of the observed blocks, each embedded in an n x n matrix of zeros.

*Picard* ([MarietSra2015]_): :math:`L \leftarrow L + a\,L\,(S - (I+L)^{-1})\,L`. For a = 1 the kernel stays positive
definite and the likelihood never falls. Longer steps are often better; a longer step is accepted only if the
likelihood does not fall.

*EM* ([GillenwaterEtAl2014]_): with :math:`K = V\,\mathrm{diag}(\kappa)\,V^T`, the eigenvectors that produced a basket
are hidden variables. The expected fraction of baskets that use eigenvector j, and the best new :math:`\kappa_j`, is
:math:`\kappa_j/(1-\kappa_j) \cdot (V^T S V)_{jj}`. Then V takes a step along the gradient on the orthogonal matrices,
halved until the likelihood does not fall. (The paper uses the matrix exponential for this step. Here it is a Cayley
transform: the same direction, by one linear solve.)

Initial kernel: a DPP has :math:`\Pr(i \in Y) = K_{ii}` and :math:`\Pr(i, j \in Y) = K_{ii}K_{jj} - K_{ij}^2`, so the
frequencies of items and pairs determine K up to signs ([UrschelEtAl2017]_). Here all signs are positive. A symmetric
kernel cannot model pairs that occur more often than independent items would; their entries start at zero. The matrix
need not be positive semidefinite, so it is moved towards its diagonal until it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.learn._estimator import Convergence, progress
from diverset.learn.basket_model import KernelModel
from diverset.learn.baskets import Baskets, Group
from diverset.learn.kernel_forms import Dense
from diverset.numerics.linalg import add_to_diagonal, cholesky_lower, hermitian_inverse, log_det_from_cholesky
from diverset.numerics.validation import (
    as_generator,
    as_hermitian,
    check_count,
    check_fits_in_memory,
    check_nonnegative,
    check_positive_semidefinite,
)

__all__ = ["FullRankKernel", "em_steps", "mean_log_likelihood", "moment_kernel", "picard_steps"]

#: Longest Picard step tried, as a multiple of the step that never lowers the likelihood.
_LONGEST = 16.0
#: Smallest distance of the eigenvalues of K from 0 and from 1. If no basket is empty, the likelihood is largest at an
#: eigenvalue 1 of K, an infinite eigenvalue of L. The distance from 1 lowers it by about as much, and keeps L accurate.
_LOWEST, _SHORT_OF_ONE = 1e-12, 1e-7
#: For the initial marginal kernel: distance of eigenvalues from 1; distance from 0 as a fraction of the diagonal.
_BELOW_ONE, _ABOVE_ZERO = 1e-3, 0.1


class Evidence:
    """Distinct baskets with weights of sum one; `pseudo_count` baskets with only item i are added, for every item i."""

    def __init__(self, baskets: Baskets, pseudo_count: float = 0.0) -> None:
        self.n = baskets.n_items
        self.groups = [group for group in baskets.groups() if group.rows.shape[1]]
        if pseudo_count:
            self.groups.append(Group(np.arange(self.n)[:, None], np.full(self.n, pseudo_count)))
        self.total = len(baskets) + pseudo_count * self.n

    def log_dets(self, L: FloatArray) -> float:
        r""":math:`\frac1T \sum_t \log\det L_{Y_t}`; ``-inf`` if a block is not positive definite."""
        value = 0.0
        for group in self.groups:
            sign, log_det = np.linalg.slogdet(L[group.rows[:, :, None], group.rows[:, None, :]])
            if not (sign > 0.0).all():
                return -math.inf
            value += float(group.weights @ log_det)
        return value / self.total

    def inverses(self, L: FloatArray) -> FloatArray:
        """The matrix S of the module docstring, in O(sum of cubed sizes of the distinct baskets)."""
        S = np.zeros(self.n * self.n)
        for group in self.groups:
            rows = group.rows
            inverse = np.linalg.inv(L[rows[:, :, None], rows[:, None, :]]) * group.weights[:, None, None]
            where = rows[:, :, None] * self.n + rows[:, None, :]
            S += np.bincount(where.ravel(), weights=inverse.ravel(), minlength=len(S))
        S = S.reshape(self.n, self.n) / self.total
        return np.asarray((S + S.T) / 2.0)


def mean_log_likelihood(L: FloatArray, evidence: Evidence) -> float:
    """Mean log-likelihood per basket; ``-inf`` for an L that is not positive definite."""
    R = cholesky_lower(add_to_diagonal(L.copy(), 1.0), overwrite=True)
    if R is None:
        return -math.inf
    return evidence.log_dets(L) - log_det_from_cholesky(R)


def picard_steps(L: FloatArray, evidence: Evidence, *, step: float | None) -> Iterator[tuple[float, FloatArray]]:
    """Infinite iterator over the likelihood and kernel after every Picard iteration, from a positive definite L.

    `step` is the factor a. If it is None, a grows as long as longer steps raise the likelihood.
    """
    value = mean_log_likelihood(L, evidence)
    a = 1.0 if step is None else step
    while True:
        R = cholesky_lower(add_to_diagonal(L.copy(), 1.0), overwrite=True)
        assert R is not None  # L is positive definite
        change = L @ (evidence.inverses(L) - hermitian_inverse(R)) @ L
        change = (change + change.T) / 2.0
        candidate, reached = L + a * change, -math.inf
        if a > 1.0 and cholesky_lower(candidate) is not None:
            reached = mean_log_likelihood(candidate, evidence)
        if not reached >= value:
            # A step for which the likelihood provably does not fall.
            candidate = L + min(a, 1.0) * change
            reached = mean_log_likelihood(candidate, evidence)
            if step is None:
                a = 1.0
        if step is None:
            a = min(1.3 * a, _LONGEST)
        L, value = candidate, reached
        yield value, L


def em_steps(L: FloatArray, evidence: Evidence) -> Iterator[tuple[float, FloatArray]]:
    """Infinite iterator over the likelihood and kernel after every EM iteration, from a positive definite L."""
    lam, V = np.linalg.eigh(L)
    odds = np.clip(lam, _LOWEST, 1.0 / _SHORT_OF_ONE)
    eta = 1.0

    def kernel(odds: FloatArray, V: FloatArray) -> FloatArray:
        return np.asarray((V * odds) @ V.T)

    def likelihood(odds: FloatArray, V: FloatArray) -> float:
        return evidence.log_dets(kernel(odds, V)) - float(np.log1p(odds).sum())

    value = likelihood(odds, V)
    while True:
        S = evidence.inverses(kernel(odds, V))
        kappa = np.clip(odds * np.einsum("ij,ij->j", V, S @ V), _LOWEST, 1.0 - _SHORT_OF_ONE)
        raised = kappa / (1.0 - kappa)
        reached = likelihood(raised, V)
        if reached >= value:
            odds, value = raised, reached
        G = 2.0 * (evidence.inverses(kernel(odds, V)) @ V) * odds
        skew = V.T @ G
        skew = (skew - skew.T) / 2.0
        for _ in range(40):
            turned = V @ np.linalg.solve(np.eye(len(V)) - 0.5 * eta * skew, np.eye(len(V)) + 0.5 * eta * skew)
            reached = likelihood(odds, turned)
            if reached >= value:
                V, value = turned, reached
                eta *= 2.0
                break
            eta *= 0.5
        yield value, kernel(odds, V)


def moment_kernel(baskets: Baskets) -> FloatArray:
    """Likelihood kernel whose marginal kernel approximates the observed frequencies of items and pairs; O(n^3)."""
    p = baskets.frequencies
    together = baskets.pair_counts().toarray() / max(len(baskets), 1)
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
    """The initial positive definite kernel, by name or as a given matrix."""
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


@dataclass(eq=False, repr=False, kw_only=True)
class FullRankKernel(KernelModel):
    r"""DPP kernel of full rank, learned from baskets.

    Maximises the mean log-likelihood :math:`\frac1T \sum_t \log\det L_{Y_t} - \log\det(L+I)` over all positive definite
    L, to a local maximum.

    Parameters
    ----------
    algorithm : {"picard", "em"}
        The fixed-point iteration of [MarietSra2015]_, or expectation maximisation on the eigendecomposition
        ([GillenwaterEtAl2014]_). Neither ever lowers the likelihood.
    init : {"moments", "wishart"} or array_like of shape (n_items, n_items)
        Initial kernel: from the observed frequencies of items and pairs, random, or a given matrix.
    step : float, optional
        Factor of the Picard step; 1 is the plain algorithm. By default the factor starts at 1 and grows as long as
        longer steps raise the likelihood.
    pseudo_count : float
        For every item, this number of baskets with only this item is added, so that its probability is positive even if
        it never occurs. 0 gives maximum likelihood.
    max_iter : int
        Maximum number of iterations.
    tol : float
        The fit has converged when an iteration raises the mean log-likelihood by less than this.
    rng : int, Generator or None
        Seed or generator for ``init="wishart"``.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    dpp_ : DPP
        The learned distribution.
    L_ : ndarray of shape (n_items, n_items)
        Its likelihood kernel.
    n_items_ : int
        Size of the ground set.
    convergence_ : Convergence
        How the fit ended, and the mean log-likelihood after every iteration.

    Notes
    -----
    An iteration takes :math:`O(n^3)`, plus the inverses of the blocks of the distinct baskets. For thousands of items
    use :class:`LowRankKernel`.

    Examples
    --------
    Items 0 and 1 never occur together:

    >>> import diverset as dv
    >>> baskets = [[0, 2], [1, 2], [0], [1], [2], [0, 2], [1]] * 10
    >>> model = dv.learn.FullRankKernel().fit(baskets, n_items=3)
    >>> model.dpp_.marginal([0, 1]) < 0.03 < 0.2 < model.dpp_.marginal([0, 2])
    True
    >>> model.recommend([0], 1)[0].item
    2
    """

    algorithm: str = "picard"
    init: Any = "moments"
    step: float | None = None
    pseudo_count: float = 0.0
    max_iter: int = 300
    tol: float = 1e-6
    rng: RNGLike = None
    verbose: bool = False

    def _learn(self, read: Baskets) -> None:
        check_fits_in_memory(
            10 * 8 * read.n_items**2, what=f"a kernel of {read.n_items} items", remedy="LowRankKernel never forms one"
        )
        evidence = Evidence(read, check_nonnegative(self.pseudo_count, name="pseudo_count"))
        L = starting_kernel(self.init, read, as_generator(self.rng))
        if self.algorithm == "picard":
            step = None if self.step is None else check_nonnegative(self.step, name="step")
            steps = picard_steps(L, evidence, step=step)
        elif self.algorithm == "em":
            steps = em_steps(L, evidence)
        else:
            raise DiversetError(f"algorithm is {self.algorithm!r}; choose 'picard' or 'em'")
        start = mean_log_likelihood(L, evidence)
        if start == -math.inf:
            raise DiversetError("init makes an observed basket impossible; start from a positive definite kernel")
        max_iter, tol = check_count(self.max_iter, name="max_iter"), check_nonnegative(self.tol, name="tol")
        trace, converged = [start], False
        with progress(self.algorithm, max_iter, self.verbose) as advance:
            for _ in range(max_iter):
                value, L = next(steps)
                trace.append(value)
                advance(value)
                if value - trace[-2] < tol:
                    converged = True
                    break
        reason = f"last iteration raised the mean log-likelihood by {trace[-1] - trace[-2]:.3g}"
        self.convergence_ = Convergence(converged, reason, np.array(trace))
        self._keep(Dense(L))

    @property
    def L_(self) -> FloatArray:
        """Likelihood kernel."""
        assert isinstance(self.form_, Dense)
        return self.form_.L
