"""The invented news that come with the package: whether threads keep to one story each, and tell them all."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from diverset.apps.demo_threads import OPTIONS, load_news
from diverset.errors import MissingExtraError
from diverset.threads import (
    Corpus,
    StoryScore,
    ThreadModel,
    document_graph,
    dtm_threads,
    greedy_threads,
    independent_threads,
    kmeans_threads,
    story_score,
)
from diverset.threads.neighbours import content_terms

__all__ = ["ROUTINE", "invented_news", "news_scores"]

#: How the headlines of the column begin that is no story.
ROUTINE = "Weather and tides"


def invented_news(*, routine: bool = True) -> tuple[Corpus, list[Any]]:
    """The items and their stories, with or without the reports of the weather."""
    corpus, stories = load_news()
    kept = [i for i, title in enumerate(corpus.titles) if routine or not title.startswith(ROUTINE)]
    return Corpus([corpus.texts[i] for i in kept], corpus.times[kept]), [stories[i] for i in kept]


def news_scores(corpus: Corpus, stories: Sequence[Any], k: int) -> dict[str, list[StoryScore]]:
    """Scores of every set of k threads that a system finds or draws, with the settings of the demo."""
    graph = document_graph(corpus, threshold=OPTIONS.threshold, max_similarity=OPTIONS.max_similarity)
    shape: dict[str, Any] = {"length": OPTIONS.length, "k": k, "beta": (OPTIONS.importance, OPTIONS.beta), "rng": 0}
    ours = ThreadModel(graph.graph, smoothing=OPTIONS.smoothing, balance=OPTIONS.balance, **shape)
    text = ThreadModel(graph.graph, **shape)
    slices: dict[str, Any] = {"k": k, "length": OPTIONS.length}
    sets: dict[str, list[Any]] = {
        "k-SDPP, drawn": ours.sample(40, rng=0),
        "k-SDPP, best": [ours.best()],
        "k-SDPP of the text, drawn": text.sample(40, rng=0),
        "k-SDPP of the text, best": [text.best()],
        "greedy": [greedy_threads(text)],
        "greedy, with balanced qualities": [greedy_threads(ours)],
        "independent": [independent_threads(text, rng=seed) for seed in range(10)],
        "independent, with balanced qualities": [independent_threads(ours, rng=seed) for seed in range(10)],
        "k-means": [kmeans_threads(graph.vectors, corpus.times, rng=seed, **slices) for seed in range(10)],
    }
    known = set(graph.terms)
    words = [[word for word in content_terms(each) if word in known] for each in corpus.texts]
    try:
        fits = [dtm_threads(words, corpus.times, iterations=3, rng=seed, **slices) for seed in range(4)]
        sets["dynamic topic model"] = fits
    except MissingExtraError as error:
        print(f"dynamic topic model: skipped: {error}", file=sys.stderr)
    return {name: [story_score(threads, stories) for threads in found] for name, found in sets.items()}
