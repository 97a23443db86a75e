"""Stochastic gradient ascent over baskets: Adam on a few arrays, a pass at a time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.learn._estimator import Convergence, progress

__all__ = ["Arrays", "ascend"]

#: The parameters of a model, or their gradients, by name.
Arrays = dict[str, FloatArray]

_MOMENTUM, _SECOND, _FLOOR = 0.9, 0.999, 1e-8


def ascend(
    parameters: Arrays,
    objective: Callable[[Arrays, IntArray], tuple[float, Arrays]],
    n_baskets: int,
    *,
    n_epochs: int,
    batch_size: int,
    learning_rate: float,
    tol: float,
    rng: np.random.Generator,
    what: str,
    verbose: bool,
) -> Convergence:
    """Maximise an objective that is a mean over baskets; changes `parameters` in place.

    Parameters
    ----------
    parameters : dict of arrays
        Where to start, and where the result is left.
    objective : callable
        From parameters and numbers of baskets to the objective on them and its gradients.
    n_baskets : int
        How many baskets there are.
    n_epochs, batch_size : int
        Passes over the baskets, and baskets per step.
    learning_rate : float
        Step size of Adam ([KingmaBa2015]_), relative to the root mean square of each array at the start; it falls to
        zero along a half cosine.
    tol : float
        The ascent counts as converged if the last pass raised the objective by less than this.
    rng : Generator
        Shuffles the baskets.
    what : str
        Name of the progress bar.
    verbose : bool
        Whether to show it.

    Returns
    -------
    Convergence
        The objective of every pass, averaged over its steps; the first entry is that of the first step.
    """
    scale = {name: float(np.sqrt(np.mean(value**2))) for name, value in parameters.items()}
    first = {name: np.zeros_like(value) for name, value in parameters.items()}
    second = {name: np.zeros_like(value) for name, value in parameters.items()}
    batches = math.ceil(n_baskets / batch_size)
    total, step = n_epochs * batches, 0
    trace: list[float] = []
    with progress(what, n_epochs, verbose) as advance:
        for _ in range(n_epochs):
            order = rng.permutation(n_baskets)
            values = []
            for batch in range(batches):
                chosen = order[batch * batch_size : (batch + 1) * batch_size]
                with np.errstate(over="ignore", invalid="ignore"):  # said below
                    value, gradients = objective(parameters, chosen)
                if not math.isfinite(value):
                    raise DiversetError(
                        f"the objective became {value} in step {step + 1}; lower learning_rate (now {learning_rate:g})"
                    )
                trace = trace or [value]
                values.append(value * len(chosen))
                step += 1
                rate = learning_rate * 0.5 * (1.0 + math.cos(math.pi * (step - 1) / total))
                for name, gradient in gradients.items():
                    if not np.abs(gradient).max(initial=0.0) < 1e150:
                        raise DiversetError(f"the gradient of {name} is beyond floats; lower the regularization")
                    m, v = first[name], second[name]
                    m += (1.0 - _MOMENTUM) * (gradient - m)
                    v += (1.0 - _SECOND) * (gradient**2 - v)
                    size = rate * scale[name] * math.sqrt(1.0 - _SECOND**step) / (1.0 - _MOMENTUM**step)
                    parameters[name] += size * m / (np.sqrt(v) + _FLOOR)
            trace.append(sum(values) / n_baskets)
            advance(trace[-1])
    gained = trace[-1] - trace[-2]
    return Convergence(gained < tol, f"last pass raised the objective by {gained:.3g}", np.array(trace))
