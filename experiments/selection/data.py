"""Readers of the judged data sets.

==============================  ====================================  ==================================================
set                             judged by people                      stand-in
==============================  ====================================  ==================================================
div400                          relevance, and clusters of photos     none; the score is the photo's place in Flickr's
                                that look alike                       own ranking
ir_cranfield, ir_cisi           relevance of a document to a query    an ambiguous query: three queries merged, of which
                                                                      each is one subtopic
reuters21578                    topic codes of a story                a query: the headline of a story; a subtopic: the
                                                                      first code of one of three merged headlines
trec_web_diversity              which subtopics a page is about       the pages: their texts are licensed, so vectors
                                                                      and scores are simulated from the judgements
==============================  ====================================  ==================================================
"""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diverset.errors import DiversetError
from experiments.selection.texts import Query, Texts, json_lines, read_retrieval, read_reuters, with_common

__all__ = ["DATA_SETS", "Query", "Texts", "ambiguous", "div400_topics", "read_data_set"]

#: Descriptors of div400 that are put side by side: colour by region, colour structure, edges, texture by region.
DESCRIPTORS = ("CM3x3", "CN3x3", "CSD", "HOG", "LBP3x3")
#: The simulated pages: dimension, length of the common, subtopic and page-specific parts, and noise of the score.
DIMENSION = 64
PARTS = (0.6, 0.9, 1.0)
SCORE_NOISE = 0.35
MOST_PAGES = 100


def read_data_set(name: str, data: Path) -> list[Query] | Texts:
    """The queries of a data set, or its texts; one clear error if the folder or a file of it is missing."""
    folder = Path(data) / name
    try:
        found = DATA_SETS[name](folder)
    except FileNotFoundError as error:
        raise DiversetError(
            f"{error.filename or folder} is missing; say with --data where the public data are (or set DIVERSET_DATA)"
        ) from error
    if not (found.merged if isinstance(found, Texts) else found):
        raise DiversetError(f"{folder} holds no query that can be used")
    return found


def ambiguous(found: list[Query] | Texts, *, vectors: str = "tf-idf", common: float = 0.0) -> list[Query]:
    """The queries with subtopics; ``vectors`` are a choice for texts, ``common`` is as in :func:`with_common`."""
    if isinstance(found, Texts):
        return [found.query(topic, vectors=vectors, common=common) for topic in found.merged]
    return [with_common(query, common) for query in found] if common else found


def read_div400(folder: Path) -> list[Query]:
    """Photos of landmarks in Flickr's order, with the clusters in which people put them."""
    queries = []
    for topic, descriptors in div400_topics(folder, DESCRIPTORS):
        photos = topic["photos"]
        n = len(photos)
        judgements = {i: {photo["cluster"]} for i, photo in enumerate(photos) if photo["cluster"] is not None}
        queries.append(
            Query(
                name=topic["query"],
                features=np.hstack(list(descriptors.values())),
                quality=1.0 - np.arange(n) / n,  # photos come in Flickr's order
                judgements=judgements,
            )
        )
    return queries


def div400_topics(folder: Path, names: Sequence[str]) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Topics of div400 as they stand in the file, each with standardised descriptors of its photos."""
    with np.load(folder / "div400_features.npz") as arrays:
        ptr = arrays["topic_ptr"]
        matrices = {name: _standardized(arrays[name]) for name in names}
    for t, topic in enumerate(json_lines(folder / "div400_topics.jsonl.gz")):
        rows = slice(ptr[t], ptr[t + 1])
        if len(topic["photos"]) != ptr[t + 1] - ptr[t]:
            raise DiversetError(
                f"{folder}: {topic['query']} has {len(topic['photos'])} photos and {ptr[t + 1] - ptr[t]} rows"
            )
        yield topic, {name: X[rows] for name, X in matrices.items()}


def read_trec(folder: Path) -> list[Query]:
    """TREC's subtopic judgements, with simulated pages: vectors near those of their subtopics, and noisy scores."""
    subtopics: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    with gzip.open(folder / "diversity_qrels_positive.csv.gz", "rt", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["subtopic"] != "0":  # topics without subtopics
                subtopics[row["year"], row["topic"]][row["doc"]].add(row["subtopic"])
    queries = []
    for topic in json_lines(folder / "topics.jsonl.gz"):
        pages = subtopics.get((str(topic["year"]), str(topic["topic"])), {})
        if len(set().union(*pages.values())) < 2:
            continue
        queries.append(_simulated(topic, pages, np.random.default_rng([int(topic["year"]), int(topic["topic"])])))
    return queries


def _simulated(topic: dict[str, Any], pages: dict[str, set[str]], rng: np.random.Generator) -> Query:
    """As many irrelevant pages as relevant ones; the score knows relevance and popular subtopics, with noise."""
    names = sorted(pages)
    if len(names) > MOST_PAGES:
        names = [names[i] for i in np.sort(rng.choice(len(names), MOST_PAGES, replace=False))]
    about = [pages[name] for name in names] + [set()] * len(names)
    intents = sorted(set().union(*about))
    directions = _unit(rng.standard_normal((len(intents) + 1, DIMENSION)))
    common, own = PARTS[0] * directions[-1], PARTS[2] * _unit(rng.standard_normal((len(about), DIMENSION)))
    X = common + own
    size = {intent: sum(intent in item for item in about) for intent in intents}
    score = np.zeros(len(about))
    for i, item in enumerate(about):
        if item:
            X[i] += PARTS[1] * directions[[intents.index(intent) for intent in item]].mean(axis=0)
            # An engine ranks what most people mean first.
            score[i] = 0.5 + 0.5 * max(size[intent] for intent in item) / max(size.values())
    score += SCORE_NOISE * rng.standard_normal(len(about))
    return Query(
        name=topic["query"],
        features=X,
        quality=(score - score.min()) / np.ptp(score),
        judgements={i: item for i, item in enumerate(about) if item},
    )


def _unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def _standardized(X: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and standard deviation 1, divided by the root of their number: descriptors weigh the same."""
    A = X.astype(np.float64)
    A -= A.mean(axis=0)
    deviation = A.std(axis=0)
    return A / np.where(deviation > 0.0, deviation, 1.0) / np.sqrt(A.shape[1])


DATA_SETS: dict[str, Callable[[Path], list[Query] | Texts]] = {
    "div400": read_div400,
    "ir_cranfield": read_retrieval,
    "ir_cisi": read_retrieval,
    "reuters21578": read_reuters,
    "trec_web_diversity": read_trec,
}
