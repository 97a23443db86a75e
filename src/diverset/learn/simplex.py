"""Minimising over the probability simplex by projected gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diverset._typing import FloatArray
from diverset.learn._estimator import Convergence

__all__ = ["minimize_on_simplex", "project_to_simplex"]

_SUFFICIENT = 1e-4
_STEP_RANGE = (1e-12, 1e12)


def project_to_simplex(x: FloatArray) -> FloatArray:
    r"""The nearest point with :math:`\theta \ge 0` and :math:`\sum_l \theta_l = 1`; O(m log m).

    Examples
    --------
    >>> import numpy as np
    >>> project_to_simplex(np.array([0.5, 1.5, -3.0]))
    array([0., 1., 0.])
    """
    descending = np.sort(x)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(x) + 1)
    kept = int(np.flatnonzero(descending > excess)[-1])
    return np.asarray(np.maximum(x - excess[kept], 0.0), dtype=np.float64)


def minimize_on_simplex(
    objective: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray, *, max_iter: int, tol: float
) -> tuple[FloatArray, Convergence]:
    r"""Projected gradient descent with Barzilai-Borwein steps and a monotone line search.

    Parameters
    ----------
    objective : callable
        From a point to its value and gradient.
    start : ndarray of shape (m,)
        A point of the simplex.
    max_iter : int
        Iterations at most.
    tol : float
        Stop when the gap :math:`\max_s \nabla^T(\theta - s)`, over the simplex, is at most this; for a convex objective
        no point is better by more than the gap.

    Returns
    -------
    theta : ndarray of shape (m,)
        The point found.
    report : Convergence
        With minus the objective after every iteration.
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
