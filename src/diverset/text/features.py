r"""What makes a sentence worth taking: features of the sentences of a cluster.

Every feature is measured within the cluster, then standardised there to mean 0 and variance 1 and clipped at four
standard deviations. A weight therefore means the same for news, reviews and short opinions, and nothing but weights is
learned. With n sentences and :math:`n_w` of them that hold a stem w:

===========  ==================================================================================================
group        features
===========  ==================================================================================================
centrality   cosine to the mean of all sentences (square root); LexRank
frequency    mean of :math:`n_w / n` over content words (square root); sum of :math:`\sqrt{n_w / n}`; share of
             stop words
pairs        the same mean over pairs of neighbouring words; mean share of documents that hold the pair, over
             pairs in two sentences or more
position     1 / (1 + place) in the document; place relative to the document's length (0 for one document)
length       logarithm of the number of words; its squared distance to the mean; under 6 words; over 35 words
person       share of pronouns; share of first-person pronouns
form         begins with a pronoun that points back; quotation; question; exclamation; ends as a sentence does;
             begins in lower case
names        share of capitalised words after the first; share of numbers
===========  ==================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from diverset._typing import BoolArray, FloatArray
from diverset.errors import DiversetError
from diverset.text.cluster import Cluster
from diverset.text.lexrank import lexrank
from diverset.text.readable import ENDINGS, opens_dependent
from diverset.text.terms import STOP_STEMS, Terms
from diverset.text.words import PRONOUNS

__all__ = ["FEATURE_GROUPS", "FEATURE_NAMES", "columns_of", "feature_matrix"]

_GROUPS = {
    "centrality": ("centroid", "lexrank"),
    "frequency": ("mean frequency", "summed frequency", "stop words"),
    "pairs": ("mean pair frequency", "pair documents"),
    "position": ("early", "relative place"),
    "length": ("log length", "unusual length", "short", "long"),
    "person": ("pronouns", "first person"),
    "form": ("dependent opening", "quotation", "question", "exclamation", "ending", "lower case"),
    "names": ("capitals", "numbers"),
}
FEATURE_GROUPS = tuple(_GROUPS)
FEATURE_NAMES = tuple(name for names in _GROUPS.values() for name in names)
_FIRST_PERSON = frozenset("i me my mine myself we us our ours".split())
_LARGEST = 4.0


def feature_matrix(cluster: Cluster, terms: Terms) -> FloatArray:
    """Standardised features of the sentences of a cluster, of shape (n, n_features), in the order of the table."""
    n = len(cluster)
    if n == 0:
        return np.zeros((0, len(FEATURE_NAMES)))
    sentences = cluster.sentences
    length = np.maximum(terms.lengths, 1).astype(np.float64)
    several = float(len(cluster.documents) > 1)

    def share(is_counted: Callable[[str], bool]) -> FloatArray:
        return np.array([sum(map(is_counted, found)) for found in cluster.words]) / length

    def where(holds: Callable[[str], Any]) -> FloatArray:
        return np.array([bool(holds(sentence)) for sentence in sentences], dtype=np.float64)

    vectors = terms.vectors
    frequency = np.asarray(terms.held.mean(axis=0)).ravel() * ~terms.is_stop
    n_content = np.maximum(terms.held @ (~terms.is_stop).astype(np.float64), 1.0)
    n_pairs = np.maximum(np.diff(terms.pairs.indptr), 1)
    holders = np.asarray(terms.pairs.sum(axis=0)).ravel()
    document_share = _document_share(cluster, terms.pairs) * (holders > 1) * ~terms.pair_is_stop
    log_length = np.log(length)
    place = np.array([len(document) for document in cluster.documents if len(document)])
    last = np.repeat(np.maximum(place - 1, 1), place)
    columns = [
        np.sqrt(np.maximum(vectors @ np.asarray(vectors.mean(axis=0)).ravel(), 0.0)),
        lexrank(features=vectors),
        np.sqrt(terms.held @ frequency / n_content),
        terms.held @ np.sqrt(frequency),
        np.array([sum(stem in STOP_STEMS for stem in found) for found in terms.stems]) / length,
        np.sqrt(terms.pairs @ (holders / n * ~terms.pair_is_stop) / n_pairs),
        terms.pairs @ document_share / n_pairs,
        several / (1.0 + cluster.position),
        several * cluster.position / last,
        log_length,
        (log_length - log_length.mean()) ** 2,
        length < 6,
        length > 35,
        share(PRONOUNS.__contains__),
        share(_FIRST_PERSON.__contains__),
        np.array([opens_dependent(found) for found in cluster.words]),
        where(lambda text: any(mark in text for mark in ('"', "\u201c", "''", "``"))),
        where(lambda text: text.endswith("?")),
        where(lambda text: "!" in text),
        where(lambda text: text.endswith(ENDINGS)),
        where(lambda text: text[:1].islower()),
        np.array([_capitals(text) for text in sentences]),
        share(str.isdigit),
    ]
    F = np.column_stack(columns).astype(np.float64)
    spread = F.std(axis=0)
    # A feature that is the same everywhere says nothing here; rounding must not be blown up.
    flat = spread <= 1e-9 * np.maximum(np.abs(F).max(axis=0), 1e-300)
    F = (F - F.mean(axis=0)) / np.where(flat, 1.0, spread)
    F[:, flat] = 0.0
    clipped: FloatArray = np.clip(F, -_LARGEST, _LARGEST)
    return clipped


def _document_share(cluster: Cluster, pairs: Any) -> FloatArray:
    """Share of the documents that hold each pair."""
    n, D = len(cluster), len(cluster.documents)
    members = sparse.csr_matrix((np.ones(n), (cluster.document_of, np.arange(n))), shape=(D, n))
    together = (members @ pairs).tocsr()
    return np.bincount(together.indices, minlength=pairs.shape[1]) / D


def _capitals(sentence: str) -> float:
    pieces = sentence.split()
    return sum(piece[:1].isupper() for piece in pieces[1:]) / max(len(pieces), 1)


def columns_of(groups: Iterable[str]) -> BoolArray:
    """Which columns belong to the named groups."""
    wanted = set(groups)
    if unknown := wanted - set(FEATURE_GROUPS):
        raise DiversetError(f"feature group {sorted(unknown)[0]!r} is not known; choose from {FEATURE_GROUPS}")
    return np.array([group in wanted for group, names in _GROUPS.items() for _ in names])
