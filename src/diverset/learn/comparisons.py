r"""Learning a mixture of expert kernels from comparisons of sets ([KuleszaTaskar2012]_, section 5.3.1).

In each comparison, a person judged one of two sets to be better. Given expert kernels :math:`L_1, \dots, L_D`, the
mixture :math:`\Pr_\theta = \sum_l \theta_l \Pr^k_{L_l}` should give the better set more probability. The weights
minimise, over the simplex,

.. math::  \sum_t \log\left(1 + e^{-\gamma [\Pr_\theta(Y_t^+) - \Pr_\theta(Y_t^-)]}\right),

which is convex. Probabilities of sets may be 1e-100. So they are computed as logarithms and divided by the largest of
them, which only changes the unit of :math:`\gamma`. (The monograph states only the constraint on the sum of theta, but
its projection is onto the simplex: the weights of a mixture are also nonnegative.)
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray, RNGLike
from diverset.core import DPP, KDPP, KDPPMixture
from diverset.errors import DiversetError, LabelError, SizeError
from diverset.learn._estimator import Convergence, Estimator, check_fitted
from diverset.numerics.symmetric import expit
from diverset.numerics.validation import (
    as_finite,
    as_generator,
    as_hermitian,
    check_count,
    check_nonnegative,
    check_positive,
    find_positions,
)

__all__ = ["Comparison", "ComparisonTable", "KDPPMixtureLearner", "MMRMixtureLearner"]

_GAMMAS = tuple(10.0**e for e in np.arange(0.0, 6.5, 0.5))
#: Fraction of the predicted decrease that a step must achieve; smallest and largest step length.
_SUFFICIENT = 1e-4
_STEP_RANGE = (1e-12, 1e12)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two sets of the same size, the better first, and the expert kernels over their items.

    Parameters
    ----------
    kernels : sequence of array_like or DPP
        One likelihood kernel per expert, in the same order for every comparison. If comparisons over the same items
        share one sequence object, it is read only once.
    better, worse : sequence of int
        The sets.
    """

    kernels: Sequence[Any]
    better: Sequence[int] | IntArray
    worse: Sequence[int] | IntArray


@dataclass(frozen=True, eq=False)
class ComparisonTable:
    """Comparisons in the form that a learner computes with, for many fits and scores.

    Created by ``learner.table(comparisons)``. A learner of the same class accepts it in place of comparisons.
    """

    kind: str
    n_experts: int
    arrays: tuple[FloatArray, ...]  # one row for each comparison

    def __len__(self) -> int:
        return len(self.arrays[0])

    def take(self, chosen: Any) -> ComparisonTable:
        """The comparisons at these positions, for example for a split into training and test data."""
        return replace(self, arrays=tuple(array[np.asarray(chosen)] for array in self.arrays))


def project_to_simplex(x: FloatArray) -> FloatArray:
    r"""The nearest point with :math:`\theta \ge 0` and :math:`\sum_l \theta_l = 1`; O(m log m)."""
    descending = np.sort(x)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(x) + 1)
    kept = int(np.flatnonzero(descending > excess)[-1])
    return np.asarray(np.maximum(x - excess[kept], 0.0), dtype=np.float64)


def minimize_on_simplex(
    objective: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray, *, max_iter: int, tol: float
) -> tuple[FloatArray, Convergence]:
    r"""Projected gradient descent with Barzilai-Borwein steps and a monotone line search.

    `objective` returns a value and a gradient. The descent stops when the gap :math:`\max_s \nabla^T(\theta - s)`, over
    the simplex, is at most `tol`; for a convex objective no point is better by more than the gap. The report contains
    the negative objective after every iteration.
    """
    theta = start
    value, gradient = objective(theta)
    trace, step = [-value], 1.0 / max(float(np.abs(gradient).max()), 1e-300)
    gap = float(gradient @ theta - gradient.min())
    for _ in range(max_iter):
        if gap <= tol:
            break
        direction = project_to_simplex(theta - step * gradient) - theta
        slope = float(gradient @ direction)
        if slope >= 0.0:
            break
        length = 1.0
        while True:
            candidate = theta + length * direction
            reached, new_gradient = objective(candidate)
            if reached <= value + _SUFFICIENT * length * slope or length < 1e-12:
                break
            length *= 0.5
        if reached > value:
            break
        moved, turned = candidate - theta, new_gradient - gradient
        curvature = float(moved @ turned)
        step = float(moved @ moved) / curvature if curvature > 0.0 else 10.0 * step
        step = min(max(step, _STEP_RANGE[0]), _STEP_RANGE[1])
        theta, value, gradient = candidate, reached, new_gradient
        trace.append(-value)
        gap = float(gradient @ theta - gradient.min())
    theta = np.maximum(theta, 0.0)
    return theta / theta.sum(), Convergence(gap <= tol, f"optimality gap {gap:.3g}", np.array(trace))


@dataclass(eq=False, repr=False, kw_only=True)
class _ComparisonLearner(Estimator):
    """Base class of both learners from comparisons: parameters, input, the loss, the choice of gamma."""

    gamma: float | None = None
    gammas: Sequence[float] = _GAMMAS
    cv: int = 5
    max_iter: int = 2000
    tol: float = 1e-9
    rng: RNGLike = None

    @abc.abstractmethod
    def _read(self, comparisons: Sequence[Comparison]) -> tuple[FloatArray, ...]:
        """Convert comparisons to arrays with one row per comparison."""

    @abc.abstractmethod
    def _margins(self, data: tuple[FloatArray, ...], theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Score of the better set minus score of the worse set, and its gradient in theta, one row per comparison."""

    @abc.abstractmethod
    def _right(self, data: tuple[FloatArray, ...], theta: FloatArray) -> FloatArray:
        """1 if the better set has the larger score, 0 if the worse set has, 1/2 for a tie."""

    def _fit_gamma(self, data: tuple[FloatArray, ...], n_experts: int, gamma: float) -> tuple[FloatArray, Any]:
        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            margins, rows = self._margins(data, theta)
            doubts = expit(-gamma * margins)
            value = float(np.logaddexp(0.0, -gamma * margins).mean())
            return value, -gamma * (doubts @ rows) / len(margins)

        start = np.full(n_experts, 1.0 / n_experts)
        return minimize_on_simplex(
            loss,
            start,
            max_iter=check_count(self.max_iter, name="max_iter"),
            tol=check_nonnegative(self.tol, name="tol"),
        )

    def _choose_gamma(self, table: ComparisonTable) -> float:
        """The candidate with the fewest mistakes on held-out comparisons; ties go to the smallest."""
        folds = min(check_count(self.cv, name="cv"), len(table))
        candidates = sorted(check_positive(g, name="gammas") for g in self.gammas)
        if not candidates:
            raise DiversetError("gammas is empty; name at least one candidate, or set gamma")
        if folds < 2 or len(candidates) == 1:
            return candidates[len(candidates) // 2]
        part = as_generator(self.rng).permutation(np.arange(len(table)) % folds)
        right = np.zeros(len(candidates))
        for fold in range(folds):
            inside, outside = table.take(part != fold), table.take(part == fold)
            for g, gamma in enumerate(candidates):
                theta = self._fit_gamma(inside.arrays, table.n_experts, gamma)[0]
                right[g] += self._right(outside.arrays, theta).sum()
        return candidates[int(np.argmax(right))]

    def table(self, comparisons: Sequence[Comparison] | ComparisonTable) -> ComparisonTable:
        """Read comparisons once, for several calls of ``fit`` and ``score``."""
        if isinstance(comparisons, ComparisonTable):
            if comparisons.kind != self._kind():
                raise DiversetError(f"the table is for {comparisons.kind}, not for {self._kind()}; read it again")
            return comparisons
        listed = _check_comparisons(comparisons)
        return ComparisonTable(self._kind(), len(listed[0].kernels), self._read(listed))

    def _kind(self) -> str:
        return type(self).__name__

    def fit(self, comparisons: Sequence[Comparison] | ComparisonTable, y: Any = None) -> Any:
        """Learn the weights of the experts.

        Parameters
        ----------
        comparisons : sequence of Comparison, or ComparisonTable
            Pairs of sets, the better first.
        y : None
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        self
            The fitted model.
        """
        table = self.table(comparisons)
        self.gamma_ = self._choose_gamma(table) if self.gamma is None else check_positive(self.gamma, name="gamma")
        self.weights_, self.convergence_ = self._fit_gamma(table.arrays, table.n_experts, self.gamma_)
        return self

    def predict(self, comparisons: Sequence[Comparison] | ComparisonTable) -> BoolArray:
        """Whether the model prefers the first set of each comparison, as the person did."""
        check_fitted(self, "weights_")
        right = self._right(self.table(comparisons).arrays, self.weights_)
        return np.asarray(right > 0.5)

    def score(self, comparisons: Sequence[Comparison] | ComparisonTable, y: Any = None) -> float:
        """Fraction of the comparisons in which the model prefers the better set; a tie counts one half."""
        check_fitted(self, "weights_")
        return float(self._right(self.table(comparisons).arrays, self.weights_).mean())


def _check_comparisons(comparisons: Sequence[Comparison]) -> list[Comparison]:
    listed = list(comparisons)
    if not listed:
        raise DiversetError("there are no comparisons; learning needs at least one")
    for t, given in enumerate(listed):
        if not isinstance(given, Comparison):
            raise DiversetError(f"comparison {t} is a {type(given).__name__}; pass Comparison(kernels, better, worse)")
        if len(given.kernels) == 0 or len(given.kernels) != len(listed[0].kernels):
            raise DiversetError(
                f"comparison {t} has {len(given.kernels)} kernels where comparison 0 has {len(listed[0].kernels)}; "
                "give every expert's kernel, in the same order"
            )
        if len(given.better) != len(given.worse):
            raise SizeError(
                f"comparison {t} is of sets of {len(given.better)} and {len(given.worse)} items; sizes must be equal"
            )
    return listed


@dataclass(eq=False, repr=False, kw_only=True)
class KDPPMixtureLearner(_ComparisonLearner):
    r"""Mixture of k-DPPs over expert kernels, learned from comparisons of sets.

    Parameters
    ----------
    gamma : float, optional
        Weight of mistakes, in units of one over the largest probability of a set in the training data; by
        default chosen among `gammas` by cross-validation.
    gammas : sequence of float
        Candidates.
    scaling : {"global", "pair"}
        ``"global"`` divides probabilities by the largest of all comparisons, which is the formula of the monograph up
        to the unit of gamma. ``"pair"`` divides by the largest of each comparison, so that larger sets count as much.
    cv : int
        Number of folds for the choice of gamma.
    max_iter : int
        Maximum number of projected gradient steps.
    tol : float
        The fit stops when the mean loss is within this of its minimum.
    rng : int, Generator or None
        Seed or generator for the folds.

    Attributes
    ----------
    weights_ : ndarray of shape (n_experts,)
        Weights on the simplex.
    gamma_ : float
        The gamma used.
    convergence_ : Convergence
        How the fit ended, and minus the mean loss after every step.

    Examples
    --------
    Under the first expert items 0 and 1 are similar, under the second 0 and 2. The comparisons agree with the first.

    >>> import diverset as dv
    >>> experts = [[[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]], [[1, 0, 0.9], [0, 1, 0], [0.9, 0, 1]]]
    >>> pairs = [dv.learn.Comparison(experts, [0, 2], [0, 1])] * 4
    >>> dv.learn.KDPPMixtureLearner(gamma=10.0).fit(pairs).weights_.round(6)
    array([1., 0.])
    """

    scaling: str = "global"

    def _kind(self) -> str:
        return f"{type(self).__name__}(scaling={self.scaling!r})"

    def _read(self, comparisons: Sequence[Comparison]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log-probabilities of both sets under every expert, and the scale of the probabilities."""
        if self.scaling not in ("global", "pair"):
            raise DiversetError(f"scaling is {self.scaling!r}; choose 'global' or 'pair'")
        experts: dict[tuple[int, int], list[KDPP]] = {}
        logs = np.empty((2, len(comparisons), len(comparisons[0].kernels)))
        for t, given in enumerate(comparisons):
            key = (id(given.kernels), len(given.better))
            if key not in experts:
                experts[key] = _kdpps(given.kernels, len(given.better), t)
            for side, chosen in enumerate((given.better, given.worse)):
                try:
                    logs[side, t] = [kdpp.log_prob(chosen) for kdpp in experts[key]]
                except LabelError as error:
                    raise LabelError(f"comparison {t}: {error}") from None
        largest = logs.max(axis=(0, 2))
        if not np.isfinite(largest).all():
            t = int(np.argmax(~np.isfinite(largest)))
            raise DiversetError(f"comparison {t}: every expert gives both sets probability 0")
        return logs[0], logs[1], largest if self.scaling == "pair" else np.full(len(largest), largest.max())

    def _margins(self, data: tuple[FloatArray, ...], theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        better, worse, scale = data
        rows = np.exp(better - scale[:, None]) - np.exp(worse - scale[:, None])
        return rows @ theta, rows

    def _right(self, data: tuple[FloatArray, ...], theta: FloatArray) -> FloatArray:
        possible = theta > 0.0
        log_theta = np.log(theta[possible])
        ahead, behind = (np.logaddexp.reduce(side[:, possible] + log_theta, axis=1) for side in data[:2])
        return np.where(ahead > behind, 1.0, np.where(ahead == behind, 0.5, 0.0))

    def mixture(self, kernels: Sequence[Any], k: int) -> KDPPMixture:
        """The learned mixture for items with these expert kernels, over sets of `k` items."""
        check_fitted(self, "weights_")
        if len(kernels) != len(self.weights_):
            raise DiversetError(f"{len(kernels)} kernels for {len(self.weights_)} experts; give one each")
        return KDPPMixture(_kdpps(kernels, k, None), self.weights_)


def _kdpps(kernels: Sequence[Any], k: int, t: int | None) -> list[KDPP]:
    found = []
    for expert, kernel in enumerate(kernels):
        try:
            found.append(KDPP(kernel, k))
        except (DiversetError, ValueError) as error:
            where = f"kernel of expert {expert}" + ("" if t is None else f" in comparison {t}")
            raise type(error)(f"{where}: {error}") from None
    return found


class MMRMixtureLearner(_ComparisonLearner):
    r"""Mixture of similarities for maximal marginal relevance, learned from comparisons.

    The two sets of a comparison differ in one item, :math:`i^+` or :math:`i^-`, and share a set Y. The cost of item i
    is :math:`\max_{j \in Y} \sum_l \theta_l [L_l]_{ij}`, and the item of lower cost is preferred. The loss is that of
    :class:`KDPPMixtureLearner` with the negative cost instead of the probability. It is neither smooth nor convex;
    projected gradients from equal weights find a local minimum ([KuleszaTaskar2012]_, section 5.3.4).

    Parameters
    ----------
    gamma, gammas, cv, max_iter, tol, rng
        As in :class:`KDPPMixtureLearner`, but gamma multiplies unscaled similarities.

    Attributes
    ----------
    weights_, gamma_, convergence_
        As in :class:`KDPPMixtureLearner`.
    """

    def _read(self, comparisons: Sequence[Comparison]) -> tuple[FloatArray, FloatArray]:
        """Similarities of the better and of the worse item to the shared items: (comparison, shared, expert) each."""
        known: dict[int, FloatArray] = {}
        found = []
        for t, given in enumerate(comparisons):
            key = id(given.kernels)
            if key not in known:
                matrices = [k.L if isinstance(k, DPP) else as_hermitian(k, name="kernel") for k in given.kernels]
                name = f"comparison {t}: kernel"
                known[key] = np.stack([as_finite(S, name=name, shape=(None, None)) for S in matrices], axis=-1)
            S = known[key]
            try:
                better, worse = (find_positions(side, np.arange(len(S))) for side in (given.better, given.worse))
            except LabelError as error:
                raise LabelError(f"comparison {t}: {error}") from None
            shared, plus, minus = (
                np.intersect1d(better, worse),
                np.setdiff1d(better, worse),
                np.setdiff1d(worse, better),
            )
            if len(plus) != 1 or len(shared) == 0:
                raise DiversetError(
                    f"comparison {t}: the sets share {len(shared)} items and differ in {len(plus)}; for MMR they "
                    "differ in one item and share at least one"
                )
            found.append((S[plus[0], shared], S[minus[0], shared]))
        # Smaller sets are padded by repeating a shared item, which does not change the maximum.
        most = max(len(better) for better, _ in found)
        stacked = [
            np.stack([side[np.arange(most) % len(side)] for side in sides]) for sides in zip(*found, strict=True)
        ]
        return stacked[0], stacked[1]

    def _margins(self, data: tuple[FloatArray, ...], theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        plus, minus = (side[np.arange(len(side)), np.argmax(side @ theta, axis=1)] for side in data)
        rows = minus - plus
        return rows @ theta, rows

    def _right(self, data: tuple[FloatArray, ...], theta: FloatArray) -> FloatArray:
        margins = self._margins(data, theta)[0]
        return np.where(np.abs(margins) < 1e-14, 0.5, (margins > 0.0).astype(np.float64))
