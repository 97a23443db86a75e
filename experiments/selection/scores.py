"""Every method at every setting of the dial on every query, and what the differences are worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import diverset as dv
from diverset import baselines, metrics
from experiments.selection.texts import Query

__all__ = ["DEPTH", "DIALS", "METHODS", "METRICS", "Scores", "measure", "run", "tuned_rows"]

DIALS = tuple(round(0.1 * step, 1) for step in range(11))
DEPTH = 10
RANDOM_DRAWS = 20
FOLDS = 5
#: Shown as, function, and whether the dial means anything to it.
METHODS: dict[str, tuple[Callable[..., Any], bool]] = {
    "select": (dv.select, True),
    "MMR": (baselines.mmr, True),
    "max-sum": (baselines.max_sum, True),
    "max-min": (baselines.max_min, True),
    "facility location": (baselines.facility_location, True),
    "top-k": (baselines.top_k, False),
    "random": (baselines.random, False),
}
METRICS = ("precision", "alpha-nDCG")
PRECISION, ALPHA = range(len(METRICS))
#: Scores by method, of shape (dial, metric, query).
Scores = dict[str, np.ndarray]


def measure(ranking: Sequence[int], query: Query) -> list[float]:
    """Precision and alpha-nDCG of the first ten."""
    relevant = sum(bool(query.judgements.get(i)) for i in ranking[:DEPTH])
    return [relevant / DEPTH, metrics.alpha_ndcg(ranking, query.judgements, DEPTH)]


def run(queries: Sequence[Query]) -> Scores:
    """All scores; methods without a dial have the same scores at every setting, random ones the mean of 20 draws."""
    scores: Scores = {}
    for method, (function, has_dial) in METHODS.items():
        dials = DIALS if has_dial else DIALS[:1]
        table = np.array([[_mean_scores(function, method, query, dial) for query in queries] for dial in dials])
        scores[method] = np.broadcast_to(np.moveaxis(table, 1, 2), (len(DIALS), len(METRICS), len(queries)))
    return scores


def _mean_scores(function: Callable[..., Any], method: str, query: Query, dial: float) -> np.ndarray:
    seeds: list[dict[str, Any]] = [{"rng": seed} for seed in range(RANDOM_DRAWS)] if method == "random" else [{}]
    found = [function(query.features, DEPTH, quality=query.quality, diversity=dial, **seed) for seed in seeds]
    return np.mean([measure(list(picks), query) for picks in found], axis=0)


def tuned_rows(scores: Scores, method: str) -> np.ndarray:
    """For every query the row of the dial with the best alpha-nDCG on the other folds, of equals the lowest.

    No query takes part in choosing its own setting (cross-validation; query i is in fold i modulo 5).
    """
    values = scores[method][:, ALPHA]
    fold = np.arange(values.shape[1]) % FOLDS
    chosen = np.array([values[:, fold != f].mean(axis=1).argmax() for f in range(FOLDS)])
    return chosen[fold]
