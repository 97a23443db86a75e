r"""The steps of a story: from the documents of an event to the paths that threads may take.

A step leads to a later document that says something related and is not too far away in time. What is near and far
follows from the event's own rhythm: one *beat* is the time in which nine tenths of its documents appeared, divided by
the steps of a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from diverset._typing import FloatArray, IntArray
from diverset.text.tfidf import unit_rows
from diverset.threads.paths import EventPaths
from diverset.threads.series import form_overlap

__all__ = ["BETAS", "LEAST_SHARE", "StepRules", "choose_beta", "event_paths", "usual_similarity"]

#: Edges kept for each document: the most similar later ones.
_MOST_EDGES = 50
#: Weight of a document's cosine with its event.
_CENTRAL = 1.5
#: Documents are counted for bursts within this many beats, or days if that is more; but never beyond one beat.
_BURST_BEATS, _BURST_DAYS = 0.5, 2.0
_BLOCK = 2048
#: No step joins documents that share more than this part of their masked phrases.
_REPEAT = 0.25
#: Values of beta that are tried, on the `_MOST_JUDGED` largest events and at most `_MOST_READ` documents of each. The
#: first is taken unless another one scores higher by the share `_BETTER`.
BETAS, _BETTER = (16.0, 8.0, 32.0), 0.01
_MOST_JUDGED, _MOST_READ = 12, 300
#: Least cosine of a step, as a share of the pile's usual cosine (:func:`usual_similarity`).
LEAST_SHARE = 0.6


@dataclass(frozen=True)
class StepRules:
    """What makes a good step. The limits are relaxed only where an event has no thread otherwise."""

    #: Weight of the cosine of neighbours.
    beta: float = BETAS[0]
    #: Weight of the log of how much is written about the event around a document, relative to its mean.
    burst: float = 1.0
    #: Least and largest cosine of a step: documents that are more similar repeat each other.
    min_similarity: float = 0.0
    max_similarity: float = 0.9
    #: Longest step, in beats.
    max_gap: float = 5.0
    #: Loss of log-quality for every beat of a step after the first.
    slowness: float = 0.5


def event_paths(
    nodes: IntArray, details: Any, F: Any, days: FloatArray, length: int, rules: StepRules, *, min_length: int = 2
) -> EventPaths | None:
    """The threads of the event with these nodes, of `min_length` to `length` documents; None if it has none.

    `details` are unit vectors of all documents, `F` their forms: a step leads to no document of the same form.
    """
    if len(nodes) < min_length:
        return None
    own = nodes[np.argsort(days[nodes], kind="stable")]
    X, forms, t = details[own], F[own], days[own]
    beat = max(float(np.ptp(np.quantile(t, [0.05, 0.95]))) / max(length - 1, 1), 1e-9)
    centre = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    central = np.asarray(X @ (centre / (np.linalg.norm(centre) or 1.0)))
    reach = max(_BURST_BEATS * beat, min(_BURST_DAYS, beat), 1e-3)
    weights = _CENTRAL * central + rules.burst * _burst(t, reach)
    # Threads move on by a day at a time if the event lasts long enough, and within the day if not.
    apart = 1.0 if _chain(t, 1.0) >= length else min(1.0, beat / 2.0)
    found: EventPaths | None = None
    # Rules on time and repeats are relaxed one after the other until threads have the full length. A thread of related
    # documents may stay shorter; unrelated ones may follow each other only if there is no thread of `min_length`.
    free = replace(rules, max_similarity=np.inf)
    loose = replace(rules, min_similarity=0.0)
    for least, most, own_rules, wanted in (
        (apart, rules.max_gap, rules, length), (1e-9, 2.0 * rules.max_gap, rules, length),
        (1e-9, np.inf, rules, length), (0.0, np.inf, rules, length), (0.0, np.inf, free, length),
        (1e-9, np.inf, loose, min_length), (0.0, np.inf, replace(free, min_similarity=0.0), min_length),
    ):  # fmt: skip
        if found is not None and found.length >= wanted:
            break
        edges = _edges(X, forms, t, least, most * beat, beat, own_rules)
        reach = EventPaths(own, weights, edges, wanted).longest(wanted)
        if reach > (0 if found is None else found.length):
            found = EventPaths(own, weights, edges, reach)
    return found if found is not None and found.length >= min_length else None


def _burst(t: FloatArray, reach: float) -> FloatArray:
    """Log of the number of documents within reach of each, weighted by nearness, relative to the mean."""
    low, high = np.searchsorted(t, t - reach), np.searchsorted(t, t + reach, side="right")
    sums = np.concatenate([[0.0], np.cumsum(t)])
    middle = np.searchsorted(t, t)  # the first document of the same time
    # sum of (1 - |t_j - t_i| / reach) over the documents in reach
    before = (middle - low) * t - (sums[middle] - sums[low])
    after = (sums[high] - sums[middle]) - (high - middle) * t
    volume = np.maximum((high - low) - (before + after) / reach, 1.0)
    return np.asarray(np.log(volume / volume.mean()))


def _chain(t: FloatArray, apart: float) -> int:
    """Length of the longest chain of documents that are at least `apart` days from each other."""
    count, last = 0, -np.inf
    for value in t.tolist():
        if value >= last + apart:
            count, last = count + 1, value
    return count


def _edges(X: Any, F: Any, t: FloatArray, least: float, most: float, beat: float, rules: StepRules) -> Any:
    """Log-qualities of the steps from each document to the most similar that are later, but not too late."""
    m = len(t)
    across = X.T.tocsr()
    rows, columns, values = [], [], []
    place = np.arange(m)
    for start in range(0, m, _BLOCK):
        stop = min(start + _BLOCK, m)
        S = (X[start:stop] @ across).toarray().astype(np.float64)
        gap = t[None, :] - t[start:stop, None]
        # At equal times, where these are allowed, the order is that of the documents.
        allowed = (gap >= least) & (gap <= most) & (place > place[start:stop, None])
        allowed &= (S >= rules.min_similarity) & (S <= rules.max_similarity)
        score = np.where(allowed, S, -np.inf)
        top = np.argpartition(score, max(m - _MOST_EDGES, 0), axis=1)[:, max(m - _MOST_EDGES, 0) :]
        some = np.isfinite(np.take_along_axis(score, top, axis=1))
        r, c = np.nonzero(some)[0], top[some]
        if np.isfinite(rules.max_similarity):
            news = form_overlap(F, r + start, c) <= _REPEAT
            r, c = r[news], c[news]
        rows.append(r + start)
        columns.append(c)
        values.append(rules.beta * S[r, c] - rules.slowness * np.maximum(gap[r, c] / beat - 1.0, 0.0))
    edges = csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(m, m))
    edges.sort_indices()
    return edges


def usual_similarity(groups: Sequence[IntArray], details: Any) -> float:
    """Median, over documents, of the cosine with the most similar document of the same event that is no copy."""
    nearest = []
    for own in groups:
        own = own[np.unique(np.linspace(0, len(own) - 1, min(len(own), _MOST_READ)).astype(np.int64))]
        S = (details[own] @ details[own].T).toarray()
        S[S > StepRules.max_similarity] = 0.0  # the diagonal, too
        nearest.append(S.max(axis=1))
    return float(np.median(np.concatenate(nearest)))


def choose_beta(
    groups: Sequence[IntArray], details: Any, F: Any, days: FloatArray, length: int, rules: StepRules, rng: Generator
) -> tuple[float, dict[float, float]]:
    """Choose beta by held-back words; returns it with the score of each candidate.

    A random half of the terms chooses the best thread of each event. The other half scores it: the mean cosine of
    neighbours (coherence) plus the mean cosine of the event's documents with the most similar item (coverage).
    """
    half = rng.random(details.shape[1]) < 0.5
    seen, judge = (unit_rows(details, part) for part in (half, ~half))
    scores: dict[float, list[float]] = {beta: [] for beta in BETAS}
    for own in sorted(groups, key=len, reverse=True)[:_MOST_JUDGED]:
        if len(own) > _MOST_READ:
            own = own[np.linspace(0, len(own) - 1, _MOST_READ).astype(np.int64)]
        for beta in BETAS:
            paths = event_paths(own, seen, F, days, length, replace(rules, beta=beta))
            if paths is not None:
                thread = paths.nodes[paths.best()[0]]
                along = judge[thread[:-1]].multiply(judge[thread[1:]]).sum(axis=1).mean() if len(thread) > 1 else 0.0
                covered = (judge[own] @ judge[thread].T).toarray().max(axis=1)
                scores[beta].append(float(along + covered.mean()))
    means = {beta: float(np.mean(found)) if found else 0.0 for beta, found in scores.items()}
    best = max(means, key=lambda beta: means[beta])
    chosen = best if means[best] > (1.0 + _BETTER) * means[BETAS[0]] else BETAS[0]
    return chosen, {beta: round(value, 4) for beta, value in means.items()}
