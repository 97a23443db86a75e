"""Collections of texts with judged queries: first searches by tf-idf cosine and BM25, vectors by tf-idf and SVD."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from diverset.errors import MissingExtraError

__all__ = [
    "CANDIDATES", "Query", "Texts", "Topic", "json_lines", "read_retrieval", "read_reuters", "regrouped", "with_common",
]  # fmt: skip

#: Queries merged into one ambiguous query, and documents that a first search hands on.
MERGED = 3
CANDIDATES = 100
#: Queries made from Reuters stories of each kind, and codes that are too frequent to be a subject.
REUTERS_QUERIES = 60
REUTERS_TOO_FREQUENT = ("earn", "acq")
#: Seeds of the other groupings of single queries into merged ones.
REGROUPED = range(1001, 1009)
DIMENSIONS = 200
#: BM25's usual constants.
K1, B = 1.2, 0.75


@dataclass(frozen=True, eq=False)
class Query:
    """Candidates of one query.

    Parameters
    ----------
    name : str
        What was asked.
    features : ndarray or CSR matrix of shape (n, d)
        One row per candidate, compared by cosine.
    quality : ndarray of shape (n,)
        Scores, higher is better, found without the judgements (unless they are simulated, as for TREC).
    judgements : dict of int to set
        Subtopics that items are relevant to: candidates 0..n-1, and beyond them judged items that the first search
        missed, which count for the ideal ranking and for recall.
    vector : ndarray of shape (d,), optional
        The query in the space of the features, for methods that ask for it.
    plain : ndarray or CSR matrix of shape (n, d), optional
        The features before a common vector was added to them; None if none was.
    """

    name: str
    features: Any
    quality: np.ndarray
    judgements: dict[int, set[Any]]
    vector: np.ndarray | None = None
    plain: Any = None


@dataclass(frozen=True)
class Topic:
    """One or more questions, the subtopics of each relevant document, and documents that may not be found."""

    name: str
    questions: Sequence[str]
    relevant: dict[int, set[str]]
    hidden: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Texts:
    """A collection of texts with single topics (one question each) and merged ones (three questions each)."""

    texts: Sequence[str]
    single: Sequence[Topic]
    merged: Sequence[Topic]
    _made: dict[str, Any] = field(default_factory=dict, repr=False)

    def query(
        self, topic: Topic, *, n: int = CANDIDATES, scorer: str = "cosine", vectors: str = "tf-idf", common: float = 0.0
    ) -> Query:
        """The n best documents for a topic, by cosine or BM25, as rows of tf-idf or of SVD ("SVD 200": the first 200).

        ``common`` is the length of a vector that is added to all rows, see :func:`with_common`.
        """
        if not self._made:
            self._made.update(_vectors(self.texts))
        asked = self._made["tf-idf asked"](topic.questions)
        score = self._made["tf-idf"] @ asked if scorer == "cosine" else self._made["BM25"](topic.questions)
        score[list(topic.hidden)] = 0.0
        found = np.argsort(-score, kind="stable")[:n]
        found = found[score[found] > 0.0]
        number = {int(i): at for at, i in enumerate(found)}
        judgements = {number.setdefault(i, len(number)): about for i, about in sorted(topic.relevant.items())}
        if vectors == "tf-idf":
            rows = self._made["tf-idf"][found]
            # Columns that are zero everywhere change no product.
            columns = np.union1d(rows.indices, np.flatnonzero(asked))
            plain, vector = rows[:, columns], asked[columns]
        else:
            dimensions = int(vectors.removeprefix("SVD "))
            vector = self._made["SVD asked"](asked)[:dimensions]
            plain = np.array([_unit(row) for row in self._made["SVD"][found, :dimensions]])
        query = Query(topic.name, plain, score[found], judgements, vector)
        return with_common(query, common) if common else query


def with_common(query: Query, length: float) -> Query:
    """Add one vector to all rows, each of length 1, and to the vector of the query: embeddings share a direction.

    With a length of 1.5 unrelated items have a cosine near 0.7. The vector is random; sparse rows get a column of
    their own for it, which keeps them sparse.
    """
    X, vector = query.features, query.vector
    if sp.issparse(X):
        features = sp.hstack([X, np.full((X.shape[0], 1), length)], format="csr")
        vector = None if vector is None else np.append(vector / np.linalg.norm(vector), length)
    else:
        shift = np.random.default_rng(0).standard_normal(X.shape[1])
        shift *= length / np.linalg.norm(shift)
        features = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12) + shift
        vector = None if vector is None else vector / np.linalg.norm(vector) + shift
    return replace(query, features=features, vector=vector, plain=X)


def _vectors(texts: Sequence[str]) -> dict[str, Any]:
    """Rows of tf-idf and SVD, and functions that put questions beside them or score all texts for them."""
    try:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError('comparing texts needs scikit-learn: pip install "diverset[text]"') from error
    words = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    X = words.fit_transform(texts).tocsr()
    svd = TruncatedSVD(min(DIMENSIONS, X.shape[1] - 1), random_state=0).fit(X)
    counter = CountVectorizer(stop_words="english", vocabulary=words.vocabulary_)
    weights = _bm25_weights(counter.transform(texts).tocsr())
    return {
        "tf-idf": X,
        # The mean of the questions, each of length 1: a long question does not drown a short one.
        "tf-idf asked": lambda questions: _unit(np.asarray(words.transform(questions).mean(axis=0)).ravel()),
        "SVD": svd.transform(X),
        "SVD asked": lambda asked: svd.transform(asked[None])[0],
        "BM25": lambda questions: weights @ np.asarray(counter.transform(questions).sum(axis=0)).ravel(),
    }


def _unit(x: np.ndarray) -> np.ndarray:
    return x / max(float(np.linalg.norm(x)), 1e-12)


def _bm25_weights(counts: sp.csr_matrix) -> sp.csr_matrix:
    """What a word of a question is worth in each text."""
    weights = counts.astype(np.float64)
    n = counts.shape[0]
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = np.log1p((n - frequency + 0.5) / (frequency + 0.5))
    length = np.asarray(counts.sum(axis=1)).ravel()
    penalty = K1 * (1.0 - B + B * length / length.mean())
    rows = np.repeat(np.arange(n), np.diff(counts.indptr))
    weights.data *= (K1 + 1.0) / (weights.data + penalty[rows]) * idf[counts.indices]
    return weights


def read_retrieval(folder: Path) -> Texts:
    """Cranfield or CISI: judged queries with at least three relevant documents; three in turn make a merged one."""
    documents = list(json_lines(folder / "documents.jsonl.gz"))
    place = {str(document["id"]): i for i, document in enumerate(documents)}
    asked = {str(query["id"]): query["text"] for query in json_lines(folder / "queries.jsonl.gz")}
    relevant: dict[str, set[int]] = defaultdict(set)
    with (folder / "qrels.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            # Codes 1 to 4 are degrees of relevance; -1 is not explained, and dropped.
            if int(row.get("code") or 1) > 0 and row["doc"] in place:
                relevant[row["query"]].add(place[row["doc"]])
    usable = [name for name in asked if len(relevant[name]) >= 3]
    np.random.default_rng(0).shuffle(usable)
    groups = [usable[start : start + MERGED] for start in range(0, len(usable) - MERGED + 1, MERGED)]
    return Texts(
        [f"{document['title']} {document['text']}" for document in documents],
        [_topic([name], [asked[name]], [relevant[name]]) for name in usable],
        [_topic(names, [asked[name] for name in names], [relevant[name] for name in names]) for names in groups],
    )


def regrouped(texts: Texts) -> Texts:
    """The same texts with more merged topics: the single ones, shuffled by each seed, three in turn."""
    merged = list(texts.merged)
    for seed in REGROUPED:
        order = np.random.default_rng(seed).permutation(len(texts.single))
        for start in range(0, len(order) - MERGED + 1, MERGED):
            three = [texts.single[i] for i in order[start : start + MERGED]]
            questions = [question for topic in three for question in topic.questions]
            merged.append(_topic([topic.name for topic in three], questions, [set(topic.relevant) for topic in three]))
    return replace(texts, merged=merged)


def read_reuters(folder: Path) -> Texts:
    """Reuters: the headline of a story asks for stories with its topic codes; the story itself is not found.

    A merged query has the headlines of three stories with different first codes, which are its subtopics.
    """
    stories = list(json_lines(folder / "reuters21578.jsonl.gz"))
    coded: dict[str, set[int]] = defaultdict(set)
    for i, story in enumerate(stories):
        for code in story["topics"]:
            coded[code].add(i)
    usable = [
        i
        for i, story in enumerate(stories)
        if story["topics"]
        and story["topics"][0] not in REUTERS_TOO_FREQUENT
        and len(story["title"].split()) >= 4
        and all(len(coded[code]) >= 10 for code in story["topics"])
    ]
    np.random.default_rng(1).shuffle(usable)
    single, merged = [], []
    for i in usable[:REUTERS_QUERIES]:
        same = set().union(*(coded[code] for code in stories[i]["topics"]))
        single.append(_topic([stories[i]["title"]], [stories[i]["title"]], [same], [i]))
    for start in range(REUTERS_QUERIES, len(usable) - MERGED + 1, MERGED):
        three = usable[start : start + MERGED]
        codes = [stories[i]["topics"][0] for i in three]
        if len(set(codes)) == MERGED and len(merged) < REUTERS_QUERIES:
            merged.append(_topic(codes, [stories[i]["title"] for i in three], [coded[code] for code in codes], three))
    return Texts([f"{story['title']} {story['body']}" for story in stories], single, merged)


def _topic(
    names: Sequence[str], questions: Sequence[str], found: Sequence[set[int]], hidden: Sequence[int] = ()
) -> Topic:
    about: dict[int, set[str]] = defaultdict(set)
    for name, items in zip(names, found, strict=True):
        for i in items - set(hidden):
            about[i].add(name)
    return Topic(" / ".join(names), questions, dict(about), hidden)


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a compressed file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
