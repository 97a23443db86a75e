r"""A set of structures of high probability, grown greedily.

The next structure should have the largest :math:`q^2(y)\,\|\phi^\perp(y)\|^2`, where :math:`\phi^\perp` is the part of
its features orthogonal to those chosen. No dynamic programme finds it: the square couples all parts, and max-product
does not factor. The search is a heuristic: it starts from the best of some draws from exactly this law and from the
structure of highest quality, and changes one part at a time until no single change improves the objective.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import SizeError
from diverset.numerics.validation import as_generator, check_count, check_size
from diverset.structured.graph import FactorGraph
from diverset.structured.quality_model import QualityModel
from diverset.structured.sdpp import StructuredDPP

__all__ = ["BestSet", "best_set", "improve_structure"]

#: Number of draws that are improved; the others are only compared.
_IMPROVED = 4
#: Smallest gain for which the search continues.
_PROGRESS = 1e-9


@dataclass(frozen=True, eq=False)
class BestSet:
    """A set found by :func:`best_set`.

    Parameters
    ----------
    structures : ndarray of shape (k, n_parts)
        In the order in which they were found.
    gains : ndarray of shape (k,)
        Increase of the log-probability by each.
    log_prob : float
        Log-probability of the set under the DPP.
    """

    structures: IntArray
    gains: FloatArray
    log_prob: float

    def __len__(self) -> int:
        return len(self.structures)


def _log_square(x: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.einsum("ij,ij->i", x, x)))


def improve_structure(graph: FactorGraph, y: IntArray, N: FloatArray, max_rounds: int = 50) -> tuple[IntArray, float]:
    r"""Coordinate ascent on :math:`2\log q(y) + \log\|N^\top\phi(y)\|^2` from an allowed y, one part at a time.

    N, (D, d), spans the features that count. Returns the structure that no change of a single part improves, and its
    value.
    """
    y = y.copy()
    touching = [[f for f in graph.factors if r in f.parts] for r in range(graph.n_parts)]
    value = 2.0 * float(graph.log_quality(y)[0]) + float(_log_square(graph.features(y) @ N)[0])
    for _ in range(max_rounds):
        before = value
        for r, factors in enumerate(touching):
            # Contribution of the factors of this part for each of its values; the other parts are fixed.
            rows = np.tile(y, (graph.n_values[r], 1))
            rows[:, r] = np.arange(graph.n_values[r])
            log_q, phi = np.zeros(len(rows)), np.zeros((len(rows), graph.n_features))
            for factor in factors:
                log_q += factor.potential.log_quality_at(rows[:, factor.parts])
                features = factor.potential.features_at(rows[:, factor.parts])
                if features is not None:
                    phi += features
            rest = graph.features(y)[0] - phi[y[r]]
            rest_q = float(graph.log_quality(y)[0] - log_q[y[r]])
            values = 2.0 * (log_q + rest_q) + _log_square((phi + rest) @ N)
            top = int(np.argmax(values))
            if values[top] > value + _PROGRESS:
                y[r], value = top, float(values[top])
        if value <= before + _PROGRESS:
            break
    return y, value


def best_set(dpp: StructuredDPP, k: int | None = None, *, n_starts: int = 16, rng: RNGLike = None) -> BestSet:
    """Grow a set of structures greedily.

    Parameters
    ----------
    dpp : StructuredDPP
        The model.
    k : int, optional
        Size of the set; by default it grows as long as its probability increases.
    n_starts : int
        Number of draws from which each search for a structure starts.
    rng : int, Generator or None
        Seed or generator of the draws.

    Notes
    -----
    Both steps are heuristics: greedy growth (the gain of log det is submodular, see :func:`diverset.map_greedy`), and a
    local search for each structure. Excluded structures are skipped.
    """
    limit = dpp.rank if k is None else check_size(k)
    if limit > dpp.rank:
        raise SizeError(f"k is {limit}, but the dual kernel has rank {dpp.rank}: sets have at most as many structures")
    starts = check_count(n_starts, name="n_starts")
    generator = as_generator(rng)
    graph = dpp._space.graph
    favourite = QualityModel(graph, max_states=dpp._space.max_states).best()
    rest = dpp
    chosen: list[IntArray] = []
    gains: list[float] = []
    while len(chosen) < limit and rest.rank:
        N = np.eye(graph.n_features) if rest._basis is None else rest._basis
        found = _next_structure(rest, N, [favourite], starts, generator)
        gain = found[1] + dpp._log_factor
        if k is None and gain <= 0.0:
            break
        chosen.append(found[0])
        gains.append(gain)
        rest = rest.condition(include=[found[0]])
    structures = np.array(chosen, dtype=np.int64).reshape(len(chosen), graph.n_parts)
    return BestSet(structures, np.array(gains), dpp.log_prob(structures))


def _next_structure(
    rest: StructuredDPP, N: FloatArray, starts: list[IntArray], n_draws: int, rng: np.random.Generator
) -> tuple[IntArray, float]:
    """The best structure found beside those already chosen, and its log-weight."""
    graph = rest._space.graph
    draws = [Y[0] for Y in rest.of_size(1).sample(n_draws, rng=rng)]
    pool = np.unique(np.array(draws), axis=0)
    weights = 2.0 * graph.log_quality(pool) + _log_square(graph.features(pool) @ N)
    ranked = pool[np.argsort(-weights, kind="stable")]
    best, best_value = ranked[0], float(weights.max())
    for start in [*ranked[:_IMPROVED], *starts]:
        y, value = improve_structure(graph, start, N)
        if value > best_value and math.isfinite(value) and not rest._is_excluded(y[None])[0]:
            best, best_value = y, value
    return best, best_value
