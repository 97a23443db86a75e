"""The task's own measures on div400: cluster recall, precision and F1 at 10 and 20.

Weights of kernels and the dial are chosen on the 15 queries of the devset, and judged on the 35 of the testset, as the
task asked for; then the other way round over five folds of all 50.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import diverset as dv
from experiments.images.instances import Collection

__all__ = ["DIALS", "MEASURES", "measure", "rank_all"]

DIALS = tuple(round(0.1 * step, 1) for step in range(11))
MEASURES = ("CR@10", "P@10", "F1@10", "CR@20", "P@20", "F1@20")


def measure(ranking: Sequence[int], collection: Collection) -> list[float]:
    """Share of clusters covered, share of relevant photos, and their harmonic mean, at 10 and at 20."""
    total = len({cluster for cluster in collection.clusters if cluster is not None})
    found = []
    for depth in (10, 20):
        clusters = [collection.clusters[i] for i in ranking[:depth]]
        recall = len({cluster for cluster in clusters if cluster is not None}) / total
        precision = sum(cluster is not None for cluster in clusters) / depth
        both = recall + precision
        found += [recall, precision, 2 * recall * precision / both if both else 0.0]
    return found


def rank_all(
    collections: Sequence[Collection],
    kernel_of: Callable[[Collection], np.ndarray],
    method: Callable[..., dv.Selection],
    dials: Sequence[float] = DIALS,
) -> np.ndarray:
    """Measures of the first 20 picks at every dial: (dial, query, measure). Scores are places in Flickr's order."""
    table = np.empty((len(dials), len(collections), len(MEASURES)))
    for column, collection in enumerate(collections):
        n = len(collection.clusters)
        S = kernel_of(collection)
        for row, dial in enumerate(dials):
            picks = method(S, 20, quality=1.0 - np.arange(n) / n, diversity=dial, similarity="precomputed").indices
            table[row, column] = measure(picks.tolist(), collection)
    return table
