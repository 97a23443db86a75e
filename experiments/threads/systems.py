"""Systems that make threads of a pile, each with settings to choose from, and the scores of what they make."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from diverset.threads import (
    Corpus,
    DocumentGraph,
    ThreadModel,
    ThreadScores,
    cluster_threads,
    density_threads,
    document_graph,
    dots_threads,
    evaluate,
    find_threads,
    greedy_threads,
    hold_back,
    independent_threads,
    kmeans_threads,
)
from experiments.threads.piles import Pile

__all__ = ["LENGTH", "OURS", "SYSTEMS", "score_piles", "tuned"]

LENGTH = 8
OURS = "find_threads"


@lru_cache(maxsize=256)
def _graph(
    corpus: Corpus, threshold: float = 0.1, max_similarity: float = 0.8, max_share: float = 0.15
) -> DocumentGraph:
    return document_graph(corpus, threshold=threshold, max_similarity=max_similarity, max_share=max_share)


def _model(corpus: Corpus, k: int, beta: float, threshold: float, max_similarity: float = 0.8) -> ThreadModel:
    graph = _graph(corpus, threshold, max_similarity).graph
    return ThreadModel(graph, length=LENGTH, k=k, beta=(0.1, beta), rng=0)


@lru_cache(maxsize=256)
def _vectors(corpus: Corpus, max_df: float, sublinear_tf: bool) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    weigh = TfidfVectorizer(stop_words="english", min_df=2, max_df=max_df, sublinear_tf=sublinear_tf)
    return weigh.fit_transform(corpus.texts)


WORDS = [{"max_df": share, "sublinear_tf": sub} for share in (0.15, 0.5, 1.0) for sub in (False, True)]

#: A system is a function of a corpus, the number of threads and its settings, and the settings it may choose from.
SYSTEMS: dict[str, tuple[Callable[..., Sequence[Any]], list[dict[str, Any]]]] = {
    OURS: (lambda corpus, k: find_threads(corpus, k, LENGTH).places, [{}]),
    "k-means of the whole pile": (
        lambda corpus, k, **words: cluster_threads(_vectors(corpus, **words), corpus.times, k=k, length=LENGTH, rng=0),
        WORDS,
    ),
    "HDBSCAN": (
        lambda corpus, k, size, dims: density_threads(
            _vectors(corpus, 0.5, False), corpus.times, k=k, length=LENGTH, min_cluster_size=size, dims=dims * k
        ),
        [{"size": size, "dims": dims} for size in (5, 8) for dims in (1, 2, 4)],
    ),
    "k-means by time slice": (
        lambda corpus, k, **words: kmeans_threads(_vectors(corpus, **words), corpus.times, k=k, length=LENGTH, rng=0),
        WORDS,
    ),
    "connect the dots": (
        lambda corpus, k, **words: dots_threads(_vectors(corpus, **words), corpus.times, k=k, length=LENGTH, rng=0),
        WORDS,
    ),
    "greedy": (
        lambda corpus, k, **own: list(greedy_threads(_model(corpus, k, **own))),
        [
            {"beta": beta, "threshold": threshold, "max_similarity": most}
            for beta in (1.0, 4.0)
            for threshold in (0.05, 0.1)
            for most in (0.8, 0.95)
        ],
    ),
    "independent": (
        lambda corpus, k, **own: list(independent_threads(_model(corpus, k, **own), rng=0)),
        [{"beta": beta, "threshold": 0.1} for beta in (1.0, 4.0)],
    ),
    "k-SDPP of the monograph": (
        lambda corpus, k, **own: list(_model(corpus, k, **own).best()),
        [{"beta": beta, "threshold": 0.1} for beta in (1.0, 4.0)],
    ),
}


def tuned(name: str, piles: Sequence[Pile]) -> dict[str, Any]:
    """The settings of a system with the highest one-to-one purity on development piles."""
    system, options = SYSTEMS[name]
    if len(options) == 1:
        return options[0]

    def mean(settings: dict[str, Any]) -> float:
        scores = [evaluate(system(p.corpus, p.k, **settings), p.corpus, events=p.events).one_to_one for p in piles]
        return float(np.mean([score for score in scores if score is not None]))

    values = [mean(settings) for settings in options]
    best = options[int(np.argmax(values))]
    print(f"{name}: {json.dumps(best)}, one-to-one purity {max(values):.3f} on development piles", flush=True)
    return best


@lru_cache(maxsize=64)
def _held_back(pile: Pile) -> tuple[Corpus, Any]:
    return hold_back(pile.corpus)


def score_piles(name: str, settings: dict[str, Any], piles: Sequence[Pile]) -> list[ThreadScores]:
    """Scores on each pile. Coherence, recurrence and strangers come from a second run, without the held-back words."""
    system, _ = SYSTEMS[name]
    found = []
    for pile in piles:
        rest, judge = _held_back(pile)
        whole = evaluate(system(pile.corpus, pile.k, **settings), pile.corpus, events=pile.events, days=pile.days)
        blind = evaluate(system(rest, pile.k, **settings), pile.corpus, judge=judge)
        found.append(replace(whole, coherence=blind.coherence, recurrence=blind.recurrence, strangers=blind.strangers))
    return found
