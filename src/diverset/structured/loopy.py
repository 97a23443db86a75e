"""Loopy belief propagation: approximate beliefs where a junction tree would be too large.

On a graph with cycles, messages may be passed as if it were a tree until they no longer change. The result is an
approximation without a guarantee, and only of the quality model: the second-order sums of a structured DPP grow around
every cycle and have no fixed point. [KuleszaTaskar2012]_, section 7.3, leaves such models open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.numerics.validation import as_number, check_count, check_positive
from diverset.structured.graph import FactorGraph

__all__ = ["LoopyBeliefs", "loopy_belief_propagation"]


@dataclass(frozen=True, eq=False)
class LoopyBeliefs:
    """Approximate marginals of the quality model.

    Parameters
    ----------
    parts : list of ndarray of shape (M_r,)
        Approximate probability of each value of each part; exact where the graph is a forest.
    log_normalizer : float
        Bethe approximation of the log-normaliser.
    converged : bool
        Whether the messages converged.
    n_iterations : int
        Number of rounds.
    """

    parts: list[FloatArray]
    log_normalizer: float
    converged: bool
    n_iterations: int


def _normalised(x: FloatArray) -> FloatArray:
    total = float(x.sum())
    if not total > 0.0:
        raise DiversetError("a message is zero: the factors forbid every combination of values")
    return np.asarray(x / total)


def loopy_belief_propagation(
    graph: FactorGraph,
    *,
    power: float = 1.0,
    max_iterations: int = 500,
    damping: float = 0.3,
    tolerance: float = 1e-10,
) -> LoopyBeliefs:
    r"""Approximate part marginals of :math:`\Pr(y) \propto q(y)^{power}` on any graph.

    Parameters
    ----------
    graph : FactorGraph
        With or without cycles.
    power : float
        As in :class:`~diverset.structured.QualityModel`, which is exact where cycles are few.
    max_iterations : int
        Largest number of rounds, each of which updates all messages.
    damping : float
        Weight of the old message in an update, from 0 to below 1.
    tolerance : float
        Messages have converged if none changes by more.
    """
    if not 0.0 <= as_number(damping, name="damping") < 1.0:
        raise DiversetError(f"damping is {damping}; it must be at least 0 and below 1")
    power = check_positive(power, name="power")
    tables = []
    for factor in graph.factors:
        index = factor.potential.coordinates()
        log_q = factor.potential.log_quality_at(index.T) - factor.potential.log_max
        tables.append((factor.parts, index, np.exp(power * log_q)))
    to_part = {(i, r): np.ones(graph.n_values[r]) for i, (parts, _, _) in enumerate(tables) for r in parts}
    around = [[i for i, (parts, _, _) in enumerate(tables) if r in parts] for r in range(graph.n_parts)]

    def to_factor(r: int, i: int) -> FloatArray:
        x = np.ones(graph.n_values[r])
        for j in around[r]:
            if j != i:
                x = _normalised(x * to_part[j, r])
        return x

    def joint(i: int, skip: int | None = None) -> FloatArray:
        parts, index, w = tables[i]
        for r, at in zip(parts, index, strict=True):
            if r != skip:
                w = w * to_factor(r, i)[at]
        return w

    converged, rounds = False, 0
    while not converged and rounds < check_count(max_iterations, name="max_iterations"):
        rounds += 1
        change = 0.0
        for i, (parts, index, _) in enumerate(tables):
            for r, at in zip(parts, index, strict=True):
                sums = np.bincount(at, weights=joint(i, skip=r), minlength=graph.n_values[r])
                old = _normalised(to_part[i, r])
                mixed = (1.0 - damping) * _normalised(sums.astype(np.float64)) + damping * old
                fresh = _normalised(np.where(sums > 0.0, mixed, 0.0))  # a forbidden value stays forbidden
                change = max(change, float(np.abs(fresh - old).max()))
                to_part[i, r] = fresh
        converged = change <= tolerance

    beliefs = [to_factor(r, -1) / to_factor(r, -1).sum() for r in range(graph.n_parts)]
    # Bethe: expected log-weight plus entropy of the factors, corrected for parts counted more than once.
    bethe = power * math.fsum(factor.potential.log_max for factor in graph.factors)
    for i, (_, _, w) in enumerate(tables):
        b = _normalised(joint(i))
        used = b > 0.0
        bethe += float(b[used] @ (np.log(w[used]) - np.log(b[used])))
    for r, b in enumerate(beliefs):
        positive = b[b > 0.0]
        bethe -= (1 - len(around[r])) * float(positive @ np.log(positive))
    return LoopyBeliefs(beliefs, bethe, converged, rounds)
