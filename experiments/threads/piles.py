"""Piles of articles about several events: whether threads keep to one event each, and tell them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from diverset.threads import (
    Corpus,
    DocumentGraph,
    StoryScore,
    ThreadModel,
    document_graph,
    greedy_threads,
    independent_threads,
    kmeans_threads,
    story_score,
)
from experiments.threads.data import Collection

__all__ = ["GRID", "SYSTEMS", "Pile", "make_piles", "pile_score", "pile_scores"]

LENGTH = 8
#: Articles of each event, most first: even, uneven.
SIZES = ((30,) * 6, (60, 60, 30, 30, 20, 20))
#: Words of an article that are read: a short item, or all.
WORDS = (60, None)
GRID = {
    "beta": [1.0, 2.0, 4.0],
    "threshold": [0.1, 0.15],
    "smoothing": [0, 1, 2, 3],
    "balance": [0.0, 0.5, 1.0],
}


@dataclass(frozen=True, eq=False)
class Pile:
    """Articles with the event of each."""

    corpus: Corpus
    events: tuple[str, ...]


def make_piles(collections: Sequence[Collection], half: int, seeds: Sequence[int]) -> list[Pile]:
    """Piles of the even or of the odd articles of the largest collection of each event, brought into one time."""
    largest: dict[str, Collection] = {}
    for collection in collections:
        event = collection.name.split("_")[0]
        if event not in largest or len(collection.corpus) > len(largest[event].corpus):
            largest[event] = collection
    piles = []
    for seed in seeds:
        for sizes in SIZES:
            for words in WORDS:
                rng = np.random.default_rng(seed)
                rows: list[tuple[float, str, str]] = []
                for event, size in zip(rng.permutation(sorted(largest)).tolist(), sizes, strict=False):
                    texts = largest[event].corpus.texts[half::2]
                    chosen = np.sort(rng.choice(len(texts), size=min(size, len(texts)), replace=False))
                    # Events lie years apart; each is stretched over the same span, in its own order.
                    when = (np.arange(len(chosen)) + rng.random(len(chosen))) / len(chosen)
                    rows += [
                        (float(t), " ".join(texts[i].split()[:words]), event) for t, i in zip(when, chosen, strict=True)
                    ]
                rows.sort()
                corpus = Corpus([text for _, text, _ in rows], [t for t, _, _ in rows])
                piles.append(Pile(corpus, tuple(event for _, _, event in rows)))
    return piles


@lru_cache(maxsize=128)
def _graph(pile: Pile, threshold: float) -> DocumentGraph:
    return document_graph(pile.corpus, threshold=threshold, max_similarity=0.8)


def _model(pile: Pile, settings: dict[str, Any]) -> ThreadModel:
    own = {name: value for name, value in settings.items() if name not in ("beta", "threshold")}
    k = len(set(pile.events))
    beta = (0.1, settings["beta"])
    return ThreadModel(_graph(pile, settings["threshold"]).graph, length=LENGTH, k=k, beta=beta, rng=0, **own)


def pile_score(piles: Sequence[Pile], draws: int = 5, **settings: Any) -> float:
    """Mean one-to-one purity of drawn threads: what the search looks at."""
    return float(
        np.mean(
            [
                story_score(draw, pile.events).matched
                for pile in piles
                for draw in _model(pile, settings).sample(draws, rng=0)
            ]
        )
    )


def _independent(model: ThreadModel) -> list[Any]:
    return [independent_threads(model, rng=seed) for seed in range(10)]


def _kmeans(pile: Pile, threshold: float) -> list[Any]:
    vectors, times, k = _graph(pile, threshold).vectors, pile.corpus.times, len(set(pile.events))
    return [kmeans_threads(vectors, times, k=k, length=LENGTH, rng=seed) for seed in range(5)]


SYSTEMS: dict[str, Callable[[Pile, dict[str, Any], dict[str, Any]], list[Any]]] = {
    "k-SDPP, drawn": lambda pile, ours, _: _model(pile, ours).sample(20, rng=1),
    "k-SDPP, best": lambda pile, ours, _: [_model(pile, ours).best()],
    "k-SDPP as in the text, drawn": lambda pile, _, text: _model(pile, text).sample(20, rng=1),
    "k-SDPP as in the text, best": lambda pile, _, text: [_model(pile, text).best()],
    "independent": lambda pile, _, text: _independent(_model(pile, text)),
    "greedy": lambda pile, _, text: [greedy_threads(_model(pile, text))],
    "greedy, balanced": lambda pile, ours, _: [greedy_threads(_model(pile, ours))],
    "k-means": lambda pile, ours, _: _kmeans(pile, ours["threshold"]),
}


def pile_scores(piles: Sequence[Pile], ours: dict[str, Any], text: dict[str, Any]) -> dict[str, list[StoryScore]]:
    """Mean scores of every system on each pile; `text` are the settings of the model without smoothing and balance."""
    return {
        name: [
            StoryScore(*np.mean([story_score(draw, pile.events) for draw in system(pile, ours, text)], axis=0))
            for pile in piles
        ]
        for name, system in SYSTEMS.items()
    }
