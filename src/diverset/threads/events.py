r"""The events of a pile: regions of its graph of similar documents, found without labels.

Documents become vectors in two ways from one count of their words. *Subjects* weigh a word by how often a document uses
it; they tell events apart. *Details* damp frequent words, and count pairs of capitalised words side by side as terms
of their own, so that names weigh more than common words; they tell which document follows from which.

Events are found by spectral clustering ([ShiMalik2000]_, [NgJordanWeiss2001]_): every document is joined to the most
similar ones, more strongly if near in time, and the leading eigenvectors of the normalised graph are clustered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import eigsh

from diverset._typing import BoolArray, FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.text.words import STOP_WORDS, words

__all__ = [
    "PileVectors",
    "Similar",
    "cluster",
    "name_share",
    "pile_vectors",
    "similar_documents",
    "spectral_plane",
    "unit",
]

_CASED = re.compile(r"[^\W_]+")
#: All-capital words up to this length may be names; longer ones are headlines.
_LONGEST_ACRONYM = 5
#: A word is a name if it is capitalised in more than this share of its places.
_MOSTLY = 2 / 3
_BLOCK_BYTES = 1 << 26
#: Share of the whole period in which the weight of time falls by 1/e.
_MEMORY = 0.1
#: Rounds of k-means at most.
_ROUNDS = 50


class PileVectors(NamedTuple):
    """Documents as unit vectors over their words, as CSR matrices (n, n_terms): `subjects` tell events apart, `details`
    are for following a story. `terms` names the columns; phrases have a space. `names` marks the terms that are mostly
    capitalised, and `prose` is the share of function words in each document: low in tables and market reports.
    """  # noqa: D205

    subjects: Any
    details: Any
    terms: list[str]
    names: BoolArray
    prose: FloatArray

    def take(self, kept: IntArray) -> PileVectors:
        """The vectors of the `kept` documents."""
        return self._replace(subjects=self.subjects[kept], details=self.details[kept], prose=self.prose[kept])


def pile_vectors(texts: Sequence[str], *, min_documents: int = 2, max_share: float = 0.5) -> PileVectors:
    """Count words and phrases of names, and weigh them in two ways.

    Terms in fewer than `min_documents` texts, or in more than `max_share` of them, are left out.
    """
    from diverset.text.tfidf import count_terms, idf, unit_rows

    n = len(texts)
    prose, capitals, small = np.zeros(n), Counter[str](), Counter[str]()

    def read() -> Iterator[list[str]]:
        for i, text in enumerate(texts):
            found, prose[i] = _terms(text, capitals, small)
            yield found

    counts, terms = count_terms(read())
    holders = np.bincount(counts.indices, minlength=len(terms))
    kept = np.flatnonzero((holders >= min_documents) & (holders <= max(max_share * n, min_documents)))
    if len(kept) == 0:
        raise DiversetError(
            f"no word is in {min_documents} documents or more and in at most {max_share:.0%} of {n}; give more "
            "documents, lower min_documents, or raise max_share"
        )
    counts, terms = counts[:, kept].astype(np.float32), [terms[j] for j in kept]
    rarity = idf(counts)
    phrase = np.array([" " in term for term in terms])
    names = phrase | np.array([capitals[term] > _MOSTLY * (capitals[term] + small[term]) for term in terms])
    subjects = unit_rows(counts, np.where(phrase, 0.0, rarity))
    details = unit_rows(np.sqrt(counts), 1.0 + rarity)
    as_csr = partial(csr_array, dtype=np.float32)
    return PileVectors(as_csr(subjects), as_csr(details), terms, names, prose)


def _terms(text: str, capitals: Counter[str], small: Counter[str]) -> tuple[list[str], float]:
    """Content words and pairs of names that stand side by side, and the share of function words.

    `capitals` and `small` count how often a word is written as a name, and in small letters.
    """
    lower, cased = words(text), _CASED.findall(text)
    if len(lower) != len(cased):  # scripts without spaces, or without capitals
        cased = lower
    found, last, function_words = [], "", 0
    for word, written in zip(lower, cased, strict=True):
        if len(word) < 2 or word in STOP_WORDS or word.isdigit():
            last = ""
            function_words += word in STOP_WORDS
            continue
        found.append(word)
        name = written[0].isupper() and (len(written) <= _LONGEST_ACRONYM or not written.isupper())
        if name:
            capitals[word] += 1
            if last:
                found.append(f"{last} {word}")
        elif not written.isupper():
            small[word] += 1
        last = word if name else ""
    return found, function_words / max(len(lower), 1)


def name_share(vectors: PileVectors, documents: IntArray) -> float:
    """Part of the cosines of some documents, summed over all pairs, that comes from names; 0 if they have no word."""
    X = vectors.details[documents]
    alike = np.asarray(X.sum(axis=0)).ravel() ** 2 - np.asarray(X.multiply(X).sum(axis=0)).ravel()
    total = float(alike.sum())
    return float(alike[vectors.names].sum()) / total if total > 0.0 else 0.0


class Similar(NamedTuple):
    """Pairs of similar documents: their row and column numbers, and their cosines."""

    rows: IntArray
    columns: IntArray
    cosines: FloatArray

    def take(self, kept: IntArray, n: int) -> Similar:
        """The pairs among the `kept` of n documents, renumbered."""
        place = np.full(n, -1)
        place[kept] = np.arange(len(kept))
        some = (place[self.rows] >= 0) & (place[self.columns] >= 0)
        return Similar(place[self.rows[some]], place[self.columns[some]], self.cosines[some])


def similar_documents(
    vectors: Any, days: FloatArray, *, nearest: int = 20, progress: Callable[[int, int], None] = lambda *_: None
) -> Similar:
    r"""The `nearest` documents most similar to each, by cosine times :math:`(1 + e^{-|\Delta t| / \tau}) / 2`.

    :math:`\tau` is a tenth of the whole period. Rows of `vectors` have unit length.
    """
    n = vectors.shape[0]
    near = min(nearest, n - 1)
    when = ((days - days.min()) / max(_MEMORY * float(np.ptp(days)), 1e-9)).astype(np.float32)
    across = vectors.T.tocsr()
    step = max(1, _BLOCK_BYTES // (4 * n))
    rows, columns, cosines = [], [], []
    for start in range(0, n, step):
        S = (vectors[start : start + step] @ across).toarray()
        own = np.arange(len(S))
        S[own, own + start] = -1.0
        weighted = S * (0.5 + 0.5 * np.exp(-np.abs(when[start : start + step, None] - when)))
        top = np.argpartition(weighted, min(n - near, n - 1), axis=1)[:, n - near :]
        found = np.take_along_axis(S, top, axis=1)
        some = found > 0.0
        rows.append(np.repeat(own + start, some.sum(axis=1)))
        columns.append(top[some])
        cosines.append(found[some].astype(np.float64))
        progress(min(start + step, n), n)
    return Similar(np.concatenate(rows), np.concatenate(columns), np.concatenate(cosines))


def spectral_plane(similar: Similar, days: FloatArray, dims: int) -> FloatArray:
    """Leading eigenvectors of the normalised graph of similar documents, the largest eigenvalue first, (n, dims)."""
    n = len(days)
    gap = np.abs(days[similar.rows] - days[similar.columns]) / max(_MEMORY * float(np.ptp(days)), 1e-9)
    weights = similar.cosines * (0.5 + 0.5 * np.exp(-gap))
    one_way = csr_array((weights, (similar.rows, similar.columns)), shape=(n, n))
    graph = one_way.maximum(one_way.T)
    degree: FloatArray = np.asarray(graph.sum(axis=1)).ravel()
    root = diags_array(1.0 / np.sqrt(np.where(degree > 0.0, degree, 1.0)))
    normalised = root @ graph @ root
    wanted = min(dims, n)
    if n <= 600 or wanted >= n - 1:
        values, V = np.linalg.eigh(normalised.toarray())
    else:
        start = np.random.default_rng(0).standard_normal(n)
        values, V = eigsh(normalised, k=wanted, which="LA", v0=start, tol=1e-6)
    return np.asarray(V[:, np.argsort(-values)[:wanted]])


def unit(X: FloatArray) -> FloatArray:
    """Rows scaled to length 1; rows of zeros, up to rounding, stay as they are."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(lengths > 1e-12, lengths, 1.0))


def cluster(plane: FloatArray) -> IntArray:
    """Divide the rows into as many clusters as there are columns, by k-means of their directions; some may be empty.

    The first centres are the pivots of a QR factorisation: rows far from the span of those before them
    ([DamleMindenYing2019]_). So the result does not depend on chance.
    """
    X, k = unit(plane), plane.shape[1]
    centres = X[qr(plane.T, mode="r", pivoting=True, check_finite=False)[1][:k]]
    ones, labels = np.ones(len(X)), np.full(len(X), -1)
    for _ in range(_ROUNDS):
        found = (X @ centres.T).argmax(axis=1)
        if (found == labels).all():
            break
        labels = found
        centres = unit(csr_array((ones, labels, np.arange(len(X) + 1)), shape=(len(X), k)).T @ X)
    return labels
