"""Readers: every data set becomes a list of queries with candidates, scores and judgements.

=====================  ========================================  ==============================================
set                    judged by people                          stand-in
=====================  ========================================  ==============================================
div400                 relevance, and clusters of photos that    none; the score is the photo's place in
                       look alike                                Flickr's own ranking
ir_cranfield, ir_cisi  relevance of a document to a query        an ambiguous query: three queries merged, of
                                                                 which each is one subtopic
trec_web_diversity     which subtopics a page is relevant to     the pages: their texts are licensed, so vectors
                                                                 and scores are simulated from the judgements
=====================  ========================================  ==============================================
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diverset.errors import DiversetError, MissingExtraError

__all__ = ["DATA_SETS", "DataSet", "Query", "div400_topics", "read_data_set"]

#: Descriptors of div400 that are put side by side: colour by region, colour structure, edges, texture by region.
DESCRIPTORS = ("CM3x3", "CN3x3", "CSD", "HOG", "LBP3x3")
#: Queries merged into one ambiguous query, and documents that a first search hands on.
MERGED = 3
CANDIDATES = 100
#: The simulated pages: dimension, length of the common, subtopic and page-specific parts, and noise of the score.
DIMENSION = 64
PARTS = (0.6, 0.9, 1.0)
SCORE_NOISE = 0.35
MOST_PAGES = 100


@dataclass(frozen=True, eq=False)
class Query:
    """Candidates of one query.

    Parameters
    ----------
    name : str
        What was asked.
    features : ndarray or CSR matrix of shape (n, d)
        One row per candidate, to be compared by their cosine.
    quality : ndarray of shape (n,)
        Scores from 0 to 1, without a look at the judgements (unless they are simulated, as for TREC).
    judgements : dict of int to set
        Subtopics that items are relevant to: candidates 0..n-1, and beyond them judged items that the first search
        missed, which count for the ideal ranking and for recall.
    """

    name: str
    features: Any
    quality: np.ndarray
    judgements: dict[int, set[Any]]


@dataclass(frozen=True)
class DataSet:
    """A folder of the data, how it is read, and what it is."""

    name: str
    read: Callable[[Path], list[Query]]
    what: str


def read_data_set(name: str, data: Path) -> list[Query]:
    """The queries of a data set; one clear error if the folder or a file of it is missing."""
    folder = Path(data) / name
    try:
        queries = DATA_SETS[name].read(folder)
    except FileNotFoundError as error:
        raise DiversetError(
            f"{error.filename or folder} is missing; say with --data where the public data are (or set DIVERSET_DATA)"
        ) from error
    if not queries:
        raise DiversetError(f"{folder} holds no query that can be used")
    return queries


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
    for t, topic in enumerate(_json_lines(folder / "div400_topics.jsonl.gz")):
        rows = slice(ptr[t], ptr[t + 1])
        if len(topic["photos"]) != ptr[t + 1] - ptr[t]:
            raise DiversetError(
                f"{folder}: {topic['query']} has {len(topic['photos'])} photos and {ptr[t + 1] - ptr[t]} rows"
            )
        yield topic, {name: X[rows] for name, X in matrices.items()}


def read_retrieval(folder: Path) -> list[Query]:
    """Ambiguous queries: three at a time, merged; a document's subtopics are those queries it is relevant to."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError('comparing texts needs scikit-learn: pip install "diverset[text]"') from error
    documents = list(_json_lines(folder / "documents.jsonl.gz"))
    texts = [f"{document['title']} {document['text']}" for document in documents]
    place = {str(document["id"]): i for i, document in enumerate(documents)}
    asked = {str(query["id"]): query["text"] for query in _json_lines(folder / "queries.jsonl.gz")}
    relevant: dict[str, set[int]] = defaultdict(set)
    with (folder / "qrels.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            # Codes 1 to 4 are degrees of relevance; -1 is not explained, and dropped.
            if int(row.get("code") or 1) > 0 and row["doc"] in place:
                relevant[row["query"]].add(place[row["doc"]])
    usable = [name for name in asked if len(relevant[name]) >= 3]
    np.random.default_rng(0).shuffle(usable)
    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    X = vectorizer.fit_transform(texts).tocsr()
    queries = []
    for start in range(0, len(usable) - MERGED + 1, MERGED):
        names = usable[start : start + MERGED]
        # The mean of the three, each of length 1: a long query does not drown a short one.
        wanted = vectorizer.transform([asked[name] for name in names]).mean(axis=0)
        score = np.asarray(X @ np.asarray(wanted).ravel())
        candidates = np.argsort(-score, kind="stable")[:CANDIDATES]
        candidates = candidates[score[candidates] > 0.0]
        number = {int(i): at for at, i in enumerate(candidates)}
        judgements: dict[int, set[Any]] = defaultdict(set)
        for name in names:
            for i in sorted(relevant[name]):
                judgements[number.setdefault(i, len(number))].add(name)
        queries.append(
            Query(
                name=" / ".join(names),
                features=X[candidates],
                quality=score[candidates] / score[candidates[0]],
                judgements=dict(judgements),
            )
        )
    return queries


def read_trec(folder: Path) -> list[Query]:
    """TREC's subtopic judgements, with simulated pages: vectors near those of their subtopics, and noisy scores."""
    subtopics: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    with gzip.open(folder / "diversity_qrels_positive.csv.gz", "rt", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["subtopic"] != "0":  # topics without subtopics
                subtopics[row["year"], row["topic"]][row["doc"]].add(row["subtopic"])
    queries = []
    for topic in _json_lines(folder / "topics.jsonl.gz"):
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


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


DATA_SETS = {
    one.name: one
    for one in (
        DataSet("div400", read_div400, "photos of landmarks; people's relevance and clusters"),
        DataSet("ir_cranfield", read_retrieval, "abstracts; three merged queries stand in for an ambiguous one"),
        DataSet("ir_cisi", read_retrieval, "abstracts; three merged queries stand in for an ambiguous one"),
        DataSet("trec_web_diversity", read_trec, "TREC's subtopic judgements; simulated pages stand in for the texts"),
    )
}
