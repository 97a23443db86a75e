r"""Formulaic series: documents of one template, such as earnings, weather or market tables.

The *form* of a document is the set of its four-token phrases after numbers and names are masked. Two documents have the
same form if they share more than 15% of these phrases; the steps of a story share a few percent. A document belongs to
a series if most of its neighbours have its form: the documents at least half as similar to it as the most similar one.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.threads.corpus import content_terms
from diverset.threads.events import Similar

__all__ = ["Series", "find_series", "form_overlap", "forms", "is_series", "name_series"]

_NUMBER = re.compile(r"\d[\d.,:/]*")
_NAME = re.compile(r"[A-Z\u00c0-\u00de][^\W\d_]+(?:\s+[A-Z\u00c0-\u00de][^\W\d_]+)*")
_TOKEN = re.compile(r"[^\W\d_]+|[^\w\s]")
#: Masked tokens in a row that make up a phrase, and tokens of a document that are read.
_PHRASE, _READ = 4, 200
#: Two documents have the same form if they share more than this part of the phrases of the shorter one.
SAME_FORM = 0.15
#: They must share at least this number of phrases.
_FEWEST_SHARED = 6
#: The neighbours of a document have at least the share `_NEAR` of its highest cosine. The document belongs to a series
#: if `_LEAST_NEIGHBOURS` of them, and more than the share `_MOST_OF_THEM`, have its form. A series has at least
#: `_SMALLEST` documents, on `_DAYS` days.
_NEAR, _LEAST_NEIGHBOURS, _MOST_OF_THEM, _SMALLEST, _DAYS = 0.5, 4, 0.5, 5, 3
#: An event is a series if more than this share of its similar pairs have the same form.
_SERIES_PAIRS = 0.2
#: Documents this much alike within a day are copies.
COPY, COPY_DAYS = 0.8, 1.0
_CHUNK = 50_000


@dataclass(frozen=True)
class Series:
    """Documents of one form: the `words` that most of them have, and the positions of the `documents`."""

    words: tuple[str, ...]
    documents: IntArray

    def __len__(self) -> int:
        return len(self.documents)


def forms(texts: Sequence[str]) -> Any:
    """Phrases of each document, a CSR matrix of ones, with numbers masked as ``#`` and runs of capitals as ``@``."""
    codes, ends = array("q"), array("q", [0])
    for text in texts:
        masked = _NAME.sub(" @ ", _NUMBER.sub(" # ", text[: 12 * _READ])).lower()
        tokens = [hash(token) for token in _TOKEN.findall(masked)[:_READ]]
        codes.extend({hash(phrase) for phrase in zip(*(tokens[j:] for j in range(_PHRASE)), strict=False)})
        ends.append(len(codes))
    names, columns = np.unique(np.array(codes, dtype=np.int64), return_inverse=True)
    data = np.ones(len(columns), dtype=np.float32)
    made = csr_array((data, columns.ravel(), np.array(ends)), shape=(len(texts), max(len(names), 1)))
    made.sort_indices()
    return made


def form_overlap(F: Any, rows: IntArray, columns: IntArray) -> FloatArray:
    """For each pair, the shared phrases as a share of those of the shorter document; 0 for fewer than six."""
    size = np.diff(F.indptr)
    found = [
        np.asarray(F[rows[at : at + _CHUNK]].multiply(F[columns[at : at + _CHUNK]]).sum(axis=1)).ravel()
        for at in range(0, len(rows), _CHUNK)
    ]
    shared = np.concatenate(found) if found else np.zeros(0)
    shorter = np.maximum(np.minimum(size[rows], size[columns]), 1)
    return np.asarray(np.where(shared >= _FEWEST_SHARED, shared / shorter, 0.0))


def find_series(texts: Sequence[str], F: Any, similar: Similar, days: FloatArray) -> list[Series]:
    """Formulaic series among documents with the forms `F`, the largest first."""
    n = len(texts)
    # Copies of one story have its form, too, and are no series.
    apart = (similar.cosines < COPY) | (np.abs(days[similar.rows] - days[similar.columns]) > COPY_DAYS)
    # Of a small series, the document next in similarity is of another form, and much less similar.
    highest = np.zeros(n)
    np.maximum.at(highest, similar.rows[apart], similar.cosines[apart])
    near = apart & (similar.cosines >= _NEAR * highest[similar.rows])
    rows, columns = similar.rows[near], similar.columns[near]
    same = form_overlap(F, rows, columns) > SAME_FORM
    alike, all_near = np.bincount(rows[same], minlength=n), np.bincount(rows, minlength=n)
    formal: BoolArray = (alike >= _LEAST_NEIGHBOURS) & (alike > _MOST_OF_THEM * all_near)
    inside = same & formal[rows] & formal[columns]
    links = csr_array((np.ones(int(inside.sum())), (rows[inside], columns[inside])), shape=(n, n))
    _, group = connected_components(links, directed=False)
    found = []
    for g in np.unique(group[formal]).tolist():
        members = np.flatnonzero(formal & (group == g))
        if len(members) >= _SMALLEST and len(np.unique(np.floor(days[members]))) >= _DAYS:
            found.append(name_series(texts, members))
    return sorted(found, key=lambda series: (-len(series), int(series.documents[0])))


def is_series(F: Any, similar: Similar, documents: BoolArray) -> bool:
    """Whether more than a fifth of the similar pairs among some documents have the same form."""
    inside = documents[similar.rows] & documents[similar.columns]
    overlap = form_overlap(F, similar.rows[inside], similar.columns[inside])
    return len(overlap) > 0 and float((overlap > SAME_FORM).mean()) > _SERIES_PAIRS


def name_series(texts: Sequence[str], members: IntArray) -> Series:
    """A series of these documents, named by the words that most of them have."""
    common = Counter(word for i in members.tolist() for word in set(content_terms(texts[i])))
    top = sorted(common, key=lambda word: (-common[word], word))[:3]
    return Series(tuple(top), members.astype(np.int64))
