r"""Fits of Gibbs processes without their normaliser, by Besag's pseudolikelihood ([JensenMoller1991]_).

.. math::

    \log \mathrm{PL}(\theta; X) = \sum_{x \in X} \log \lambda_\theta(x; X \setminus x)
    - \int \lambda_\theta(u; X)\,du

in a box, and :math:`\sum_i \log \Pr_\theta(y_i \mid y_{-i})` on a finite set. With
:math:`\lambda = \beta\gamma^{t(u, X)}` both are concave in :math:`(\log\beta, \log\gamma)`: a Poisson and a logistic
regression. Other parameters (radii, the scale of a smooth potential) are chosen among candidates.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray
from diverset.errors import DiversetError, UnboundedLikelihoodError
from diverset.numerics.symmetric import expit
from diverset.numerics.validation import as_real, check_count, check_nonnegative, check_positive, find_positions
from diverset.theory.processes.gibbs import GibbsProcess
from diverset.theory.processes.interactions import Interaction, PairInteraction, Strauss
from diverset.theory.processes.window import Box, as_patterns

__all__ = ["GibbsFit", "fit_finite_gibbs", "fit_gibbs"]

_NEWTON_STEPS = 100
#: Relative loss of the objective that is attributed to rounding.
_ROUNDING = 1e-13
#: Log-odds beyond which the data are separated, so that there is no maximum.
_SEPARATED = 25.0


@dataclass(frozen=True, eq=False)
class GibbsFit:
    """A fitted process.

    Attributes
    ----------
    process : GibbsProcess
        The process with the largest pseudolikelihood.
    log_pseudolikelihood : float
        Its log-pseudolikelihood, summed over patterns.
    candidates : list of (dict, float)
        Every candidate for the other parameters, with its largest log-pseudolikelihood.
    """

    process: GibbsProcess
    log_pseudolikelihood: float
    candidates: list[tuple[dict[str, float], float]]


def fit_gibbs(
    patterns: ArrayLike | Sequence[ArrayLike],
    box: Box,
    interaction: type[Interaction],
    *,
    grid: int = 64,
    border: float = 0.0,
    **candidates: float | Iterable[float],
) -> GibbsFit:
    r"""Fit activity and interaction to observed patterns by maximum pseudolikelihood.

    Each candidate takes the statistic of the interaction at :math:`\text{grid}^d` places and all points, and a few
    Newton steps. If no two points are within the radius, Strauss's :math:`\gamma` is 0; if points cluster, it is 1,
    the largest value for which there is a process.

    Parameters
    ----------
    patterns : array_like of shape (n, dim), or sequence of them
        One pattern or several independent ones.
    box : Box
        Window of the patterns.
    interaction : type
        :class:`Strauss`, :class:`AreaInteraction`, :class:`VerySoftCore`, :class:`SoftCore` or :class:`LinearCore`.
    grid : int
        Number of cells along each side; the integral is a sum over their midpoints.
    border : float
        Width of a border whose points are not fitted but count as neighbours, for a pattern that continues beyond the
        box. 0 by default.
    **candidates : float or iterable of float
        Values to choose from, for each parameter of the interaction except ``gamma``, which is fitted.

    Examples
    --------
    >>> torus = Box.unit(2, torus=True)
    >>> truth = GibbsProcess(torus, 150.0, Strauss(0.2, 0.06))
    >>> fit = fit_gibbs(truth.sample(8, rng=1), torus, Strauss, radius=[0.04, 0.06, 0.08])
    >>> fit.process.interaction.radius, round(fit.process.interaction.gamma, 1)
    (0.06, 0.2)
    """
    given = as_patterns(patterns, box)
    if not any(len(X) for X in given):
        raise DiversetError("the patterns have no points; there is nothing to fit")
    edge = check_nonnegative(border, name="border")
    nodes, cell = box.grid(check_count(grid, name="grid"))
    choices = {name: np.atleast_1d(as_real(values, name=name)) for name, values in candidates.items()}
    every = [dict(zip(choices, map(float, values), strict=True)) for values in itertools.product(*choices.values())]
    if not every:
        raise DiversetError("a parameter of the interaction has no candidates; give at least one value of each")
    fits = [_fit_candidate(given, box, interaction, parameters, nodes, cell, edge) for parameters in every]
    value, process = max(fits, key=lambda fit: fit[0])
    return GibbsFit(process, value, [(parameters, fit[0]) for parameters, fit in zip(every, fits, strict=True)])


def _fit_candidate(
    patterns: list[FloatArray],
    box: Box,
    family: type[Interaction],
    parameters: dict[str, float],
    nodes: FloatArray,
    cell: float,
    border: float,
) -> tuple[float, GibbsProcess]:
    """Largest log-pseudolikelihood for given radii and scales, and its process."""
    make: Any = family
    regular = "gamma" in getattr(family, "__dataclass_fields__", {})
    probe: Interaction = make(gamma=0.5, **parameters) if regular else make(**parameters)
    probe.check_in(box)
    effect = probe.statistic if regular else probe.log_effect
    sides = np.array(box.sides)
    inner, *kept = (((P >= border) & (P <= sides - border)).all(axis=1) for P in (nodes, *patterns))
    at_points, at_nodes = [], []
    for X, own in zip(patterns, kept, strict=True):
        at_points += [effect(X[i], np.delete(X, i, axis=0), box) for i in np.flatnonzero(own)]
        if isinstance(probe, PairInteraction):
            at_nodes.append(effect(nodes[inner][:, np.newaxis], X, box))
        else:
            at_nodes.append([effect(u, X, box) for u in nodes[inner]])
    t, s = np.array(at_points), np.concatenate(at_nodes)
    if len(t) == 0:
        raise DiversetError(f"no point lies {border} or more from the edge; take a smaller border")
    if not regular:
        beta, value = _best_activity(t, np.exp(s), cell)
        return value, GibbsProcess(box, beta, probe)
    if not np.isfinite(t).all():  # two points within the hard core
        return -math.inf, GibbsProcess(box, 0.0, probe)
    if isinstance(probe, Strauss):
        # The derivative in log gamma at 1, with the best activity there, has the sign of the difference of the means.
        clustered = probe.hard_core == 0.0 and t.mean() > s.mean()
        if clustered or not t.any():
            gamma = 1.0 if t.any() else 0.0
            # A count of zero has the effect 1 for every gamma.
            beta, value = _best_activity(np.zeros(len(t)), np.where(s > 0.0, gamma, 1.0), cell)
            return value, GibbsProcess(box, beta, make(gamma=gamma, **parameters))
    theta, value = _poisson_regression(t, s[np.isfinite(s)], cell)
    return value, GibbsProcess(box, math.exp(theta[0]), make(gamma=math.exp(theta[1]), **parameters))


def _best_activity(log_effects: FloatArray, effects: FloatArray, cell: float) -> tuple[float, float]:
    """Best activity for a known interaction, the number of points over the integral of its effect; and its value."""
    n = len(log_effects)
    beta = n / (cell * float(effects.sum()))
    return beta, n * math.log(beta) + float(log_effects.sum()) - n


def _newton(
    theta: FloatArray,
    value: Callable[[FloatArray], float],
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    tolerance: float,
    failure: str,
    bound: Callable[[FloatArray], bool] = lambda theta: True,
) -> FloatArray:
    """Maximiser of a concave function by damped Newton steps; raises if there is none within the bound."""
    for _ in range(_NEWTON_STEPS):
        gradient, information = derivatives(theta)
        if not bound(theta):
            break
        if np.abs(gradient).max() <= tolerance:
            return theta
        step = np.linalg.lstsq(information, gradient, rcond=None)[0]
        now, length = value(theta), 1.0
        while value(theta + length * step) < now - _ROUNDING * abs(now) and length > 1e-10:
            length /= 2.0
        theta = theta + length * step
    raise UnboundedLikelihoodError(f"the pseudolikelihood has no maximum: {failure}")


def _poisson_regression(t: FloatArray, s: FloatArray, cell: float) -> tuple[FloatArray, float]:
    """Maximise the sum of theta_0 + theta_1 t less the integral of exp(theta_0 + theta_1 s)."""
    scale = max(float(np.abs(s).max()), 1e-300)
    S = np.stack([np.ones(len(s)), s / scale], axis=1)
    total = np.array([len(t), float(t.sum()) / scale])

    def value(theta: FloatArray) -> float:
        with np.errstate(over="ignore"):
            return float(theta @ total - cell * np.exp(S @ theta).sum())

    def derivatives(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        rate = cell * np.exp(S @ theta)
        return total - rate @ S, (S * rate[:, np.newaxis]).T @ S

    start = np.array([math.log(len(t) / (cell * len(s))), 0.0])
    theta = _newton(
        start, value, derivatives, 1e-10 * len(t), "log gamma diverges; take another radius, or give more data"
    )
    return theta / np.array([1.0, scale]), value(theta)


def fit_finite_gibbs(
    sets: Sequence[Iterable[int]], statistic: ArrayLike, *, weights: ArrayLike | None = None
) -> tuple[float, float]:
    r"""Fit :math:`\Pr(Y) \propto \beta^{|Y|} \gamma^{\sum_{\{i,j\} \subseteq Y} t_{ij}}` to observed sets.

    A logistic regression with a row for each set and item, by Newton's method in O(mn) per step for m sets. If no two
    items of a set interact, :math:`\gamma` is 0.

    Parameters
    ----------
    sets : sequence of iterables of int
        Observed sets of the items 0..n-1.
    statistic : array_like of shape (n, n)
        t, symmetric; for Strauss's process 1 for two items within the radius. The diagonal is ignored.
    weights : array_like of shape (len(sets),), optional
        Number of times that each set was observed; 1 by default. The probabilities of all sets as weights give the
        parameters of the process.

    Returns
    -------
    beta, gamma : float
        The activity and the interaction.

    Examples
    --------
    >>> near = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) == 1
    >>> from diverset.theory.processes import FiniteGibbs
    >>> law = FiniteGibbs.pairwise(np.full(6, 0.7), np.where(near, 0.2, 1.0)).tabulate().law
    >>> sets = [[i for i in range(6) if mask >> i & 1] for mask in range(64)]
    >>> beta, gamma = fit_finite_gibbs(sets, near, weights=law)
    >>> round(beta, 8), round(gamma, 8)
    (0.7, 0.2)
    """
    t = np.array(as_real(statistic, name="statistic"))
    if t.ndim != 2 or t.shape[0] != t.shape[1] or not np.array_equal(t, t.T):
        raise DiversetError(f"statistic has shape {t.shape}; it must be a symmetric matrix, a row for each item")
    np.fill_diagonal(t, 0.0)
    n = len(t)
    inside = np.zeros((len(sets), n))
    for row, Y in zip(inside, sets, strict=True):
        row[find_positions(Y, range(n))] = 1.0
    seen = np.ones(len(sets)) if weights is None else as_real(weights, name="weights")
    if seen.shape != (len(sets),) or seen.min(initial=0.0) < 0.0:
        raise DiversetError(f"weights has shape {seen.shape}; give {len(sets)} nonnegative numbers, one per set")
    mass = np.repeat(seen, n)
    check_positive(float(mass.sum()), name="the sum of weights, times the number of items,")
    features = np.stack([np.ones(inside.size), (inside @ t).ravel()], axis=1)
    y = inside.ravel()
    failure = "whether an item is in a set is determined by the other items; give more sets"
    if t.min(initial=0.0) >= 0.0 and not (mass * y) @ features[:, 1]:
        # No two items of a set interact: a hard core. Only items without neighbours in the set determine the activity.
        alone = features[:, 1] == 0.0
        inside_alone, outside_alone = float((mass * y)[alone].sum()), float((mass * (1.0 - y))[alone].sum())
        if inside_alone > 0.0 and outside_alone > 0.0:
            return inside_alone / outside_alone, 0.0
        raise UnboundedLikelihoodError(f"the pseudolikelihood has no maximum: {failure}")

    def value(theta: FloatArray) -> float:
        return float(mass @ (y * (features @ theta) - np.logaddexp(0.0, features @ theta)))

    def derivatives(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = expit(features @ theta)
        return (mass * (y - p)) @ features, (features * (mass * p * (1.0 - p))[:, np.newaxis]).T @ features

    def bound(theta: FloatArray) -> bool:
        return bool(np.abs(features @ theta).max() <= _SEPARATED)

    tolerance = 1e-12 * mass.sum() * max(1.0, float(np.abs(t).max()))
    theta = _newton(np.zeros(2), value, derivatives, tolerance, failure, bound)
    return math.exp(theta[0]), math.exp(theta[1])
