r"""Fitting Gibbs processes without their normaliser: the pseudolikelihood of Besag ([JensenMoller1991]_).

.. math::

    \log \mathrm{PL}(\theta; X) = \sum_{x \in X} \log \lambda_\theta(x; X \setminus x)
    - \int \lambda_\theta(u; X)\,du

in a box, and :math:`\sum_i \log \Pr_\theta(y_i \mid y_{-i})` on a finite set, where item i is in with log-odds
:math:`\log\lambda_\theta(i; Y \setminus i)`. With :math:`\lambda = \beta\gamma^{t(u, X)}` both are concave in
:math:`(\log\beta, \log\gamma)`: one is a Poisson regression, the other a logistic one. Parameters that do not enter
this way (radii, the scale of a smooth potential) are chosen among candidates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray
from diverset.errors import DiversetError, UnboundedLikelihoodError
from diverset.numerics.symmetric import expit
from diverset.numerics.validation import check_count, check_nonnegative, check_positive, find_positions
from diverset.theory.processes.gibbs import GibbsProcess
from diverset.theory.processes.interactions import Interaction, PairInteraction, Strauss
from diverset.theory.processes.window import Box, as_patterns

__all__ = ["GibbsFit", "fit_finite_gibbs", "fit_gibbs"]

_NEWTON_STEPS = 100
#: A step that lowers the objective by no more than this, relatively, is not taken back.
_ROUNDING = 1e-13
#: Log-odds beyond which the data are separated, and there is no maximum.
_SEPARATED = 25.0


@dataclass(frozen=True, eq=False)
class GibbsFit:
    """A fitted process.

    Attributes
    ----------
    process : GibbsProcess
        The best.
    log_pseudolikelihood : float
        Its value there, summed over patterns.
    candidates : list of (dict, float)
        Every candidate for the other parameters, with the value it reached.
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

    Parameters
    ----------
    patterns : array_like of shape (n, dim), or sequence of them
        One pattern or several independent ones.
    box : Box
        Where they were observed.
    interaction : type
        :class:`Strauss`, :class:`AreaInteraction`, :class:`VerySoftCore`, :class:`SoftCore` or :class:`LinearCore`.
    grid : int
        The integral is a sum over the midpoints of so many cells along each side.
    border : float
        Leave out what lies so near the edge of the box, but let it count as neighbour: for a pattern that goes on
        beyond the box. 0 by default, for a pattern that does not.
    **candidates : float or iterable of float
        Values to choose from for each parameter of the interaction but ``gamma``, which is fitted if there is one.

    Returns
    -------
    GibbsFit
        The best process and what each candidate reached.

    Notes
    -----
    Each candidate takes the statistic of the interaction at :math:`\text{grid}^d` places and all points, and a few
    Newton steps. Where no two points are within the radius, Strauss's :math:`\gamma` is 0; where they cluster it is
    held at 1, the largest value with which there is a process.

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
    choices = {name: np.atleast_1d(np.asarray(values, dtype=np.float64)) for name, values in candidates.items()}
    results: list[tuple[float, dict[str, float], GibbsProcess]] = []
    for values in itertools.product(*choices.values()):
        parameters = {name: float(value) for name, value in zip(choices, values, strict=True)}
        value, process = _fit_candidate(given, box, interaction, parameters, nodes, cell, edge)
        results.append((value, parameters, process))
    if not results:
        raise DiversetError("a parameter of the interaction has no candidates; give at least one value of each")
    best = max(results, key=lambda result: result[0])
    return GibbsFit(best[2], best[0], [(parameters, value) for value, parameters, _ in results])


def _inside(points: FloatArray, box: Box, border: float) -> Any:
    return ((points >= border) & (points <= np.array(box.sides) - border)).all(axis=1)


def _fit_candidate(
    patterns: list[FloatArray],
    box: Box,
    family: type[Interaction],
    parameters: dict[str, float],
    nodes: FloatArray,
    cell: float,
    border: float,
) -> tuple[float, GibbsProcess]:
    """Largest log-pseudolikelihood for given radii and scales, and the process that has it."""
    make: Any = family  # its arguments are the caller's business
    regular = "gamma" in getattr(family, "__dataclass_fields__", {})
    probe: Interaction = make(gamma=0.5, **parameters) if regular else make(**parameters)
    probe.check_in(box)
    effect = probe.statistic if regular else probe.log_effect
    at_points, at_nodes = [], []
    quadrature = nodes[_inside(nodes, box, border)]
    for X in patterns:
        kept = np.flatnonzero(_inside(X, box, border))
        at_points += [effect(X[i], np.delete(X, i, axis=0), box) for i in kept]
        at_nodes.append(_effects(probe, effect, quadrature, X, box))
    t, s = np.array(at_points), np.concatenate(at_nodes)
    if len(t) == 0:
        raise DiversetError(f"no point lies {border} or more from the edge; take a smaller border")
    if not regular:
        beta, value = _best_activity(t, np.exp(s), cell)
        return value, GibbsProcess(box, beta, probe)
    if not np.isfinite(t).all():  # two points within the hard core
        return -math.inf, GibbsProcess(box, 0.0, probe)
    fixed = _fixed_gamma(probe, t, s)
    if fixed is None:
        theta, value = _poisson_regression(t, s[np.isfinite(s)], cell)
        return value, GibbsProcess(box, math.exp(theta[0]), make(gamma=math.exp(theta[1]), **parameters))
    # A count of zero has the effect 1 whatever gamma is.
    beta, value = _best_activity(np.zeros(len(t)), np.where(s > 0.0, fixed, 1.0), cell)
    return value, GibbsProcess(box, beta, make(gamma=fixed, **parameters))


def _fixed_gamma(probe: Interaction, t: FloatArray, s: FloatArray) -> float | None:
    """Where the best gamma of Strauss's process lies at an end of [0, 1]: that end."""
    if not isinstance(probe, Strauss):
        return None
    if not t.any():
        return 0.0
    # The derivative in log gamma at 1, with the best activity there, has the sign of this difference.
    return 1.0 if probe.hard_core == 0.0 and t.mean() > s.mean() else None


def _effects(probe: Interaction, effect: Any, nodes: FloatArray, X: FloatArray, box: Box) -> FloatArray:
    """The statistic, or the log-effect, of a pattern at many places."""
    if isinstance(probe, PairInteraction) and len(X):
        r = np.stack([box.distances(x, nodes) for x in X], axis=1)
        if isinstance(probe, Strauss):
            counts = (r <= probe.radius).sum(axis=1).astype(np.float64)
            return np.where((r < probe.hard_core).any(axis=1), np.inf, counts)
        summed: FloatArray = probe.log_psi(r).sum(axis=1)
        return summed
    return np.array([effect(u, X, box) for u in nodes])


def _best_activity(log_effects: FloatArray, effects: FloatArray, cell: float) -> tuple[float, float]:
    """With the interaction known, the number of points over the integral of its effect; and the value there."""
    n = len(log_effects)
    beta = n / (cell * float(effects.sum()))
    return beta, n * math.log(beta) + float(log_effects.sum()) - n


def _poisson_regression(t: FloatArray, s: FloatArray, cell: float) -> tuple[FloatArray, float]:
    """Maximise the sum of theta_0 + theta_1 t less the integral of exp(theta_0 + theta_1 s), by damped Newton steps."""
    scale = max(float(np.abs(s).max()), 1e-300)
    S = np.stack([np.ones(len(s)), s / scale], axis=1)
    total = np.array([len(t), float(t.sum()) / scale])

    def value(theta: FloatArray) -> float:
        with np.errstate(over="ignore"):
            return float(theta @ total - cell * np.exp(S @ theta).sum())

    theta = np.array([math.log(len(t) / (cell * len(s))), 0.0])
    for _ in range(_NEWTON_STEPS):
        rate = cell * np.exp(S @ theta)
        gradient = total - rate @ S
        if np.abs(gradient).max() <= 1e-10 * len(t):
            return theta / np.array([1.0, scale]), value(theta)
        information = (S * rate[:, np.newaxis]).T @ S
        step = np.linalg.lstsq(information, gradient, rcond=None)[0]
        now, length = value(theta), 1.0
        while value(theta + length * step) < now - _ROUNDING * abs(now) and length > 1e-10:
            length /= 2.0
        theta = theta + length * step
    raise UnboundedLikelihoodError(
        f"the pseudolikelihood has no maximum: log gamma went to {theta[1] / scale:.3g}; take another radius, or give "
        "more data"
    )


def fit_finite_gibbs(
    sets: Sequence[Iterable[int]],
    statistic: ArrayLike,
    *,
    weights: ArrayLike | None = None,
) -> tuple[float, float]:
    r"""Fit :math:`\Pr(Y) \propto \beta^{|Y|} \gamma^{\sum_{\{i,j\} \subseteq Y} t_{ij}}` to observed sets.

    Parameters
    ----------
    sets : sequence of iterables of int
        Observed sets of the items 0..n-1.
    statistic : array_like of shape (n, n)
        t, symmetric: for Strauss's process 1 where two items are within the radius. The diagonal is ignored.
    weights : array_like of shape (len(sets),), optional
        How often each set was seen; once by default. With the probabilities of all sets the fit gives the parameters
        of the process back.

    Returns
    -------
    beta, gamma : float
        The activity and the interaction.

    Notes
    -----
    A logistic regression with a row for each set and item; Newton's method, O(mn) a step for m sets. Where no two items
    of a set interact, :math:`\gamma` is 0.

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
    t = np.array(statistic, dtype=np.float64)
    if t.ndim != 2 or t.shape[0] != t.shape[1] or not np.array_equal(t, t.T):
        raise DiversetError(f"statistic has shape {t.shape}; it must be a symmetric matrix, a row for each item")
    np.fill_diagonal(t, 0.0)
    n = len(t)
    inside = np.zeros((len(sets), n))
    for row, Y in zip(inside, sets, strict=True):
        row[find_positions(Y, np.arange(n, dtype=np.int64))] = 1.0
    seen = np.ones(len(sets)) if weights is None else np.asarray(weights, dtype=np.float64)
    if seen.shape != (len(sets),) or seen.min(initial=0.0) < 0.0:
        raise DiversetError(
            f"weights has shape {seen.shape}; give one number, not negative, for each of {len(sets)} sets"
        )
    mass = np.repeat(seen, n)
    check_positive(float(mass.sum()), name="the sum of weights, times the number of items,")
    features = np.stack([np.ones(inside.size), (inside @ t).ravel()], axis=1)
    y = inside.ravel()
    if t.min(initial=0.0) >= 0.0 and not (mass * y) @ features[:, 1]:
        # No two items of a set interact: a hard core, and only items that feel no other tell of the activity.
        alone = features[:, 1] == 0.0
        inside_alone, outside_alone = float((mass * y)[alone].sum()), float((mass * (1.0 - y))[alone].sum())
        if inside_alone > 0.0 and outside_alone > 0.0:
            return inside_alone / outside_alone, 0.0
        raise _no_maximum()
    theta = np.zeros(2)
    for _ in range(_NEWTON_STEPS):
        p = expit(features @ theta)
        gradient = (mass * (y - p)) @ features
        if np.abs(features @ theta).max() > _SEPARATED:
            break
        if np.abs(gradient).max() <= 1e-12 * mass.sum() * max(1.0, float(np.abs(t).max())):
            return math.exp(theta[0]), math.exp(theta[1])
        information = (features * (mass * p * (1.0 - p))[:, np.newaxis]).T @ features
        step = np.linalg.lstsq(information, gradient, rcond=None)[0]
        now, length = _log_likelihood(theta, features, y, mass), 1.0
        while _log_likelihood(theta + length * step, features, y, mass) < now * (1.0 + _ROUNDING) and length > 1e-10:
            length /= 2.0
        theta = theta + length * step
    raise _no_maximum()


def _no_maximum() -> UnboundedLikelihoodError:
    return UnboundedLikelihoodError(
        "the pseudolikelihood has no maximum: whether an item is in a set can be told without fail from the others; "
        "give more sets"
    )


def _log_likelihood(theta: FloatArray, features: FloatArray, y: FloatArray, mass: FloatArray) -> float:
    log_odds = features @ theta
    return float(mass @ (y * log_odds - np.logaddexp(0.0, log_odds)))
