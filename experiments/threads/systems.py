"""Systems that make threads of a pile, each with settings to choose from, and their scores."""

from __future__ import annotations

import json
from collections import Counter
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
    document_graph,
    dtm_threads,
    evaluate,
    find_threads,
    greedy_threads,
    hold_back,
    independent_threads,
    kmeans_threads,
)
from diverset.threads.corpus import content_terms
from experiments.threads.clusters import cluster_threads, density_threads, dots_threads
from experiments.threads.piles import Pile

__all__ = ["DTM", "LENGTH", "OURS", "SYSTEMS", "score_piles", "tuned"]

LENGTH = 8
OURS = "find_threads"


@lru_cache(maxsize=256)
def _graph(
    corpus: Corpus, threshold: float = 0.1, max_similarity: float = 0.8, max_share: float = 0.15
) -> DocumentGraph:
    return document_graph(corpus, threshold=threshold, max_similarity=max_similarity, max_share=max_share)


def _model(
    corpus: Corpus, k: int, length: int, beta: float, threshold: float, max_similarity: float = 0.8
) -> ThreadModel:
    graph = _graph(corpus, threshold, max_similarity).graph
    while graph.n_threads(length) < k and threshold > 0.01:  # more edges, where paths would be too short
        threshold /= 2.0
        graph = _graph(corpus, threshold, max_similarity).graph
    return ThreadModel(graph, length=length, k=k, beta=(0.1, beta), rng=0)


@lru_cache(maxsize=256)
def _vectors(corpus: Corpus, max_df: float, sublinear_tf: bool) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    weigh = TfidfVectorizer(stop_words="english", min_df=2, max_df=max_df, sublinear_tf=sublinear_tf)
    return weigh.fit_transform(corpus.texts)


def _topics(corpus: Corpus, k: int, length: int, words: int) -> Sequence[Any]:
    """The dynamic topic model on the words that most documents have; one iteration, since gensim takes minutes."""
    documents = [content_terms(text) for text in corpus.texts]
    common = Counter(word for found in documents for word in set(found)).most_common(words)
    kept = {word for word, _ in common}
    listed = [[word for word in found if word in kept] for found in documents]
    return dtm_threads(listed, corpus.times, k=k, length=length, iterations=1, rng=0)


WORDS = [{"max_df": share, "sublinear_tf": sub} for share in (0.15, 0.5, 1.0) for sub in (False, True)]


def _graphs(*betas: float) -> list[dict[str, Any]]:
    return [
        {"beta": beta, "threshold": threshold, "max_similarity": most}
        for beta in betas
        for threshold in (0.05, 0.1)
        for most in (0.8, 0.95)
    ]


DTM = "dynamic topic model"

#: A system is a function of a corpus, the number k of threads, their length r and its settings, and a list of settings.
SYSTEMS: dict[str, tuple[Callable[..., Sequence[Any]], list[dict[str, Any]]]] = {
    OURS: (lambda corpus, k, r: find_threads(corpus, k, r).places, [{}]),
    "k-means of the whole pile": (
        lambda corpus, k, r, **words: cluster_threads(_vectors(corpus, **words), corpus.times, k=k, length=r, rng=0),
        WORDS,
    ),
    "HDBSCAN": (
        lambda corpus, k, r, size, dims, **words: density_threads(
            _vectors(corpus, **words), corpus.times, k=k, length=r, min_cluster_size=size, dims=dims * k
        ),
        [{**words, "size": size, "dims": dims} for words in WORDS[2:4] for size in (5, 8) for dims in (1, 2, 4)],
    ),
    "k-means by time slice": (
        lambda corpus, k, r, **words: kmeans_threads(_vectors(corpus, **words), corpus.times, k=k, length=r, rng=0),
        WORDS,
    ),
    "connect the dots": (
        lambda corpus, k, r, **words: dots_threads(_vectors(corpus, **words), corpus.times, k=k, length=r, rng=0),
        WORDS,
    ),
    "greedy": (lambda corpus, k, r, **own: list(greedy_threads(_model(corpus, k, r, **own))), _graphs(2.0, 4.0, 8.0)),
    "independent": (
        lambda corpus, k, r, **own: list(independent_threads(_model(corpus, k, r, **own), rng=0)),
        [{"beta": beta, "threshold": 0.1} for beta in (4.0, 16.0)],
    ),
    "k-SDPP of the monograph": (
        lambda corpus, k, r, **own: list(_model(corpus, k, r, **own).best()),
        _graphs(1.0, 4.0, 8.0),
    ),
    DTM: (_topics, [{"words": 50}, {"words": 100}]),
}


def feasible(name: str, piles: Sequence[Pile]) -> list[Pile | None]:
    """The piles that a system is run on: all, but only those of three equal events for the dynamic topic model."""
    return [pile if name != DTM or (pile.k == 3 and ", equal" in pile.name) else None for pile in piles]


def tuned(name: str, piles: Sequence[Pile], known: dict[str, float]) -> dict[str, Any]:
    """The settings of a system with the highest sum of one-to-one purity, coherence and days on development piles.

    Parameters
    ----------
    name : str
        The system.
    piles : sequence of Pile
        The development piles; the dynamic topic model sees two of them.
    known : dict
        Sums by system and settings. Those that are missing are added.
    """
    _, options = SYSTEMS[name]
    if len(options) == 1:
        return options[0]
    own = [pile for pile in feasible(name, piles) if pile is not None][: 2 if name == DTM else None]
    keys = [json.dumps([name, settings], sort_keys=True) for settings in options]
    for key, settings in zip(keys, options, strict=True):
        if key not in known:
            scores = [score for score in score_piles(name, settings, own) if score is not None]
            sums = [(score.one_to_one or 0.0) + score.coherence + (score.days or 0.0) for score in scores]
            known[key] = float(np.mean(sums))
    best = int(np.argmax([known[key] for key in keys]))
    print(f"{keys[best]}: {known[keys[best]]:.3f} on development piles", flush=True)
    return options[best]


@lru_cache(maxsize=256)
def _held_back(pile: Pile) -> tuple[Corpus, Any]:
    return hold_back(pile.corpus)


def score_piles(name: str, settings: dict[str, Any], piles: Sequence[Pile]) -> list[ThreadScores | None]:
    """Scores on each pile. Coherence, recurrence and strangers come from a second run, without the held-back words."""
    system, _ = SYSTEMS[name]
    found: list[ThreadScores | None] = []
    for pile in feasible(name, piles):
        if pile is None:
            found.append(None)
            continue
        rest, judge = _held_back(pile)
        whole = system(pile.corpus, pile.k, LENGTH, **settings)
        scores = evaluate(whole, pile.corpus, events=pile.events, days=pile.days, judge=judge)
        blind = evaluate(system(rest, pile.k, LENGTH, **settings), pile.corpus, judge=judge)
        scores = replace(scores, coherence=blind.coherence, recurrence=blind.recurrence, strangers=blind.strangers)
        found.append(scores)
    return found
