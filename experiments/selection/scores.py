"""Every method at every setting of the dial on every query, and what the differences are worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import diverset as dv
from diverset import baselines, metrics
from experiments.selection.data import Query

__all__ = [
    "DEPTHS",
    "DIALS",
    "METHODS",
    "METRICS",
    "Scores",
    "describe",
    "interval",
    "measure",
    "run",
    "tuned",
    "tuned_dials",
]

DIALS = tuple(round(0.1 * step, 1) for step in range(11))
DEPTHS = (10, 20)
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
METRICS = ("subtopic recall", "precision", "F1", "alpha-nDCG")
#: Scores by (method, depth), of shape (dial, metric, query).
Scores = dict[tuple[str, int], np.ndarray]


def measure(ranking: Sequence[int], query: Query, depth: int) -> list[float]:
    """Recall of subtopics (clusters), precision, their harmonic mean, and alpha-nDCG of a ranking."""
    recall = metrics.subtopic_recall(ranking, query.judgements, depth)
    precision = sum(bool(query.judgements.get(i)) for i in ranking[:depth]) / depth
    both = recall + precision
    return [
        recall,
        precision,
        2.0 * recall * precision / both if both else 0.0,
        metrics.alpha_ndcg(ranking, query.judgements, depth),
    ]


def run(
    queries: Sequence[Query], *, dials: Sequence[float] = DIALS, step: Callable[[str], None] = lambda name: None
) -> Scores:
    """All scores; methods without a dial have the same scores at every setting, random ones those of 20 draws."""
    scores: Scores = {}
    for method, (function, has_dial) in METHODS.items():
        step(method)
        for depth in DEPTHS:
            table = np.empty((len(dials), len(METRICS), len(queries)))
            for column, query in enumerate(queries):
                for row, dial in enumerate(dials):
                    if row and not has_dial:
                        table[row, :, column] = table[0, :, column]
                        continue
                    table[row, :, column] = _mean_scores(function, method, query, depth, dial)
            scores[method, depth] = table
    return scores


def _mean_scores(function: Callable[..., Any], method: str, query: Query, depth: int, dial: float) -> np.ndarray:
    seeds: list[dict[str, Any]] = [{"rng": seed} for seed in range(RANDOM_DRAWS)] if method == "random" else [{}]
    found = [function(query.features, depth, quality=query.quality, diversity=dial, **seed) for seed in seeds]
    return np.mean([measure(list(picks), query, depth) for picks in found], axis=0)


def tuned_dials(scores: Scores, method: str, *, metric: str = "alpha-nDCG", depth: int = 10) -> np.ndarray:
    """For every query the row of the dial that is best on the other folds, of equals the lowest.

    No query takes part in choosing its own setting (cross-validation; query i is in fold i modulo 5).
    """
    values = scores[method, depth][:, METRICS.index(metric)]
    fold = np.arange(values.shape[1]) % FOLDS
    chosen = np.array([values[:, fold != f].mean(axis=1).argmax() for f in range(FOLDS)])
    return chosen[fold]


def tuned(scores: Scores, method: str, metric: str, depth: int) -> np.ndarray:
    """Score of every query at the setting of the dial that the other folds chose."""
    values = scores[method, depth][:, METRICS.index(metric)]
    return values[tuned_dials(scores, method), np.arange(values.shape[1])]


def describe(queries: Sequence[Query]) -> dict[str, float]:
    """What the candidates are like, on average over queries; it explains much of the scores."""
    rows = []
    for query in queries:
        S = dv.kernels.cosine(query.features)
        n = len(S)
        relevant = np.array([bool(query.judgements.get(i)) for i in range(n)])
        by_likeness = np.argsort(S.sum(axis=1), kind="stable")
        odd, others = by_likeness[: n // 5], by_likeness[n // 5 :]
        pairs = S[np.triu_indices(n, 1)]
        rows.append(
            {
                "candidates": n,
                "mean cosine": pairs.mean(),
                "99% of cosines below": np.quantile(pairs, 0.99),
                "relevant, oddest fifth": relevant[odd].mean(),
                "relevant, the others": relevant[others].mean(),
            }
        )
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def interval(differences: np.ndarray) -> tuple[float, float]:
    """95% bootstrap interval of a mean over queries (percentiles); for paired scores, pass their differences."""
    low, high = np.quantile(_resampled(len(differences)) @ differences, [0.025, 0.975])
    return float(low), float(high)


@cache
def _resampled(n: int, resamples: int = 10_000) -> np.ndarray:
    """How often each of n queries is drawn, as a share, in every resample: the same for all methods."""
    return np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), size=resamples) / n
