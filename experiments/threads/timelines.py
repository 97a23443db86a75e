"""Systems that make threads of a collection, and their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from diverset.errors import SizeError
from diverset.text import rouge
from diverset.threads import (
    DocumentGraph,
    ThreadModel,
    coherence,
    document_graph,
    dtm_threads,
    greedy_threads,
    independent_threads,
    interlopers_found,
    kmeans_threads,
)
from diverset.threads.corpus import content_terms
from experiments.threads.data import Collection
from experiments.threads.timeline_scores import date_score, text_cosine, timeline_rouge

__all__ = ["LENGTH", "MEASURES", "SYSTEMS", "K", "Settings", "Trial", "development_score", "scores"]

K, LENGTH = 5, 8
DRAWS = 20
#: Most articles of a collection, and most frequent words, that the topic model sees: it takes minutes even for these.
TOPIC_ARTICLES = 120
TOPIC_WORDS = 100
TOPIC_ITERATIONS = 1


@dataclass(frozen=True)
class Settings:
    """What the development collections choose."""

    beta: float = 2.0
    importance: float = 0.2
    rho: float = 0.0
    threshold: float = 0.1
    smoothing: int = 0
    balance: float = 0.0


@lru_cache(maxsize=64)
def graph_of(collection: Collection, threshold: float) -> DocumentGraph:
    """The graph of a collection; kept, since many settings share it."""
    return document_graph(collection.corpus, threshold=threshold, max_similarity=0.95)


@dataclass(frozen=True, eq=False)
class Trial:
    """A collection with settings."""

    collection: Collection
    settings: Settings

    @cached_property
    def graph(self) -> DocumentGraph:
        """Its graph."""
        return graph_of(self.collection, self.settings.threshold)

    @cached_property
    def model(self) -> ThreadModel:
        """Its model."""
        s = self.settings
        return ThreadModel(
            self.graph.graph, length=LENGTH, k=K, beta=(s.importance, s.beta), rho=s.rho, smoothing=s.smoothing,
            balance=s.balance, rng=0,
        )  # fmt: skip

    @cached_property
    def target(self) -> Any:
        """The human timeline as a vector over the words of the graph, weighted by their rarity in the collection."""
        said = [content_terms(" ".join(sentences)) for sentences in self.collection.timeline.values()]
        column = {term: j for j, term in enumerate(self.graph.terms)}
        total = np.zeros(len(column))
        for words in said:
            for word in words:
                if word in column:
                    total[column[word]] += 1.0
        frequency = np.bincount(self.graph.vectors.indices, minlength=len(column))
        return total * np.log(len(self.collection.corpus) / np.maximum(frequency, 1))


Threads = Sequence[Any]


def _topics(trial: Trial) -> list[Threads]:
    if len(trial.collection.corpus) > TOPIC_ARTICLES:
        return []
    frequency = np.bincount(trial.graph.vectors.indices, minlength=len(trial.graph.terms))
    kept = {trial.graph.terms[j] for j in np.argsort(-frequency)[:TOPIC_WORDS]}
    documents = [[word for word in content_terms(text) if word in kept] for text in trial.collection.corpus.texts]
    times = trial.collection.corpus.times
    return [dtm_threads(documents, times, k=K, length=LENGTH, iterations=TOPIC_ITERATIONS, rng=0)]


SYSTEMS: dict[str, Callable[[Trial], list[Threads]]] = {
    "k-SDPP, drawn": lambda trial: [list(draw) for draw in trial.model.sample(DRAWS, rng=1)],
    "k-SDPP, best": lambda trial: [list(trial.model.best())],
    "independent": lambda trial: [list(independent_threads(trial.model, rng=s)) for s in range(DRAWS)],
    "greedy": lambda trial: [list(greedy_threads(trial.model))],
    "k-means": lambda trial: [
        kmeans_threads(trial.graph.vectors, trial.collection.corpus.times, k=K, length=LENGTH, rng=s) for s in range(5)
    ],
    "DTM": _topics,
}


def _timeline(trial: Trial, threads: Threads) -> dict[date, list[str]]:
    """Threads as a timeline: on each day, the leads of its documents."""
    days: dict[date, list[str]] = {}
    times = trial.collection.corpus.times.astype("datetime64[D]")
    for i in np.unique(np.concatenate(threads)).tolist():
        days.setdefault(times[i].item(), []).extend(trial.collection.leads[i])
    return days


MEASURES = (
    "cosine",
    *(f"{metric} {part}" for metric in ("rouge-1", "rouge-2", "rouge-su4") for part in ("f", "precision", "recall")),
    "date F1", "concat R1", "agree R1", "align R1", "coherence", "strangers found",
)  # fmt: skip


def scores(trial: Trial, threads: Threads) -> dict[str, float]:
    """All measures, in percent but for coherence and strangers found."""
    ours, gold = _timeline(trial, threads), trial.collection.timeline
    text = [s for day in sorted(ours) for s in ours[day]]
    reference = [s for day in sorted(gold) for s in gold[day]]
    found: dict[str, float] = {
        "cosine": 100.0 * text_cosine(trial.graph.vectors, np.concatenate(threads), trial.target)
    }
    for metric, value in rouge(text, [reference], metrics=("rouge-1", "rouge-2", "rouge-su4")).items():
        found |= {f"{metric} {part}": 100.0 * getattr(value, part) for part in ("f", "precision", "recall")}
    found["date F1"] = 100.0 * date_score(ours, gold).f
    for mode in ("concat", "agree", "align"):
        found[f"{mode} R1"] = 100.0 * timeline_rouge(ours, [gold], mode=mode).f
    found["coherence"] = coherence(trial.graph.vectors, threads)
    found["strangers found"] = interlopers_found(trial.graph.vectors, threads, trials=5, rng=0)
    return found


def development_score(collections: Iterable[Collection], settings: Settings, draws: int = 5) -> float:
    """Mean cosine to the human timelines: what the text tunes by."""
    values = []
    for collection in collections:
        trial = Trial(collection, settings)
        try:
            sets = trial.model.sample(draws, rng=0)
        except SizeError:  # too few edges for threads of this length
            values.append(0.0)
            continue
        values += [text_cosine(trial.graph.vectors, np.concatenate(list(draw)), trial.target) for draw in sets]
    return float(np.mean(values))
