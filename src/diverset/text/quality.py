"""Quality of sentences: features, learned weights, and the file that holds them.

``docs/summaries.rst`` describes the features. Each is standardised within the cluster, so a weight means the same for
news, reviews and short opinions, and only weights are learned.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from diverset._typing import BoolArray, FloatArray
from diverset.errors import DiversetError
from diverset.io.files import atomic_write, open_file
from diverset.numerics.validation import check_nonnegative
from diverset.text.cluster import Cluster
from diverset.text.tfidf import STOP_STEMS, lexrank
from diverset.text.words import ENDINGS, PRONOUNS, opens_dependent

__all__ = ["FEATURE_GROUPS", "FEATURE_NAMES", "QualityWeights", "feature_matrix"]

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


def feature_matrix(cluster: Cluster) -> FloatArray:
    """Standardised features of the sentences of a cluster, of shape (n, n_features), in the order of FEATURE_NAMES."""
    n, n_documents, terms = len(cluster), len(cluster.documents), cluster.terms
    if n == 0:
        return np.zeros((0, len(FEATURE_NAMES)))
    length = np.maximum(terms.lengths, 1).astype(np.float64)
    several = float(n_documents > 1)

    def share(is_counted: Callable[[str], bool]) -> FloatArray:
        return np.array([sum(map(is_counted, found)) for found in cluster.words]) / length

    def where(holds: Callable[[str], Any]) -> FloatArray:
        return np.array([bool(holds(sentence)) for sentence in cluster.sentences], dtype=np.float64)

    vectors, held = terms.vectors, terms.counts.sign()
    pairs, of_stop_words = terms.pairs
    frequency = np.asarray(held.mean(axis=0)).ravel() * ~terms.is_stop
    n_content = np.maximum(held @ (~terms.is_stop).astype(np.float64), 1.0)
    n_pairs = np.maximum(np.diff(pairs.indptr), 1)
    holders = np.asarray(pairs.sum(axis=0)).ravel()
    members = sparse.csr_matrix((np.ones(n), (cluster.document_of, np.arange(n))), shape=(n_documents, n))
    document_share = np.bincount((members @ pairs).tocsr().indices, minlength=pairs.shape[1]) / n_documents
    document_share = document_share * (holders > 1) * ~of_stop_words
    log_length = np.log(length)
    pieces = [text.split() for text in cluster.sentences]
    sizes = np.bincount(cluster.document_of)
    last = np.repeat(np.maximum(sizes - 1, 1), sizes)
    columns = [
        np.sqrt(np.maximum(vectors @ np.asarray(vectors.mean(axis=0)).ravel(), 0.0)),
        lexrank(features=vectors),
        np.sqrt(held @ frequency / n_content),
        held @ np.sqrt(frequency),
        np.array([sum(stem in STOP_STEMS for stem in found) for found in terms.stems]) / length,
        np.sqrt(pairs @ (holders / n * ~of_stop_words) / n_pairs),
        pairs @ document_share / n_pairs,
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
        np.array([sum(piece[:1].isupper() for piece in each[1:]) / max(len(each), 1) for each in pieces]),
        share(str.isdigit),
    ]
    F = np.column_stack(columns).astype(np.float64)
    spread = F.std(axis=0)
    # A constant feature becomes zero: dividing by its standard deviation would amplify rounding errors.
    flat = spread <= 1e-9 * np.maximum(np.abs(F).max(axis=0), 1e-300)
    F = (F - F.mean(axis=0)) / np.where(flat, 1.0, spread)
    F[:, flat] = 0.0
    return np.asarray(np.clip(F, -4.0, 4.0))


def columns_of(groups: Iterable[str]) -> BoolArray:
    """Which columns belong to the named groups."""
    wanted = set(groups)
    if unknown := wanted - set(FEATURE_GROUPS):
        raise DiversetError(f"feature group {sorted(unknown)[0]!r} is not known; choose from {FEATURE_GROUPS}")
    return np.array([group in wanted for group, names in _GROUPS.items() for _ in names])


TRAININGS = ("regression", "dpp", "logistic", "dpp-budget")
_SHARPNESS = 0.5  # standard deviation of 2 log q within a cluster, for weights by regression
_EARLY = 5  # in a cluster of several documents, sentences after this place of their document count less


@dataclass(frozen=True, eq=False)
class QualityWeights:
    r"""Quality of sentences: :math:`2 \log q_i = \theta^T f_i` less the penalty of :func:`late_penalty`.

    `coef` holds the weights, of a constant and of the features of the `groups`. Weights by regression are defined up to
    scale, so :math:`\theta^T f` is given the standard deviation 0.5 in every cluster.
    """

    coef: FloatArray
    training: str
    groups: tuple[str, ...]
    late: float

    def __post_init__(self) -> None:
        if self.training not in TRAININGS:
            raise DiversetError(f"training is {self.training!r}; choose one of {', '.join(TRAININGS)}")
        if len(set(self.groups)) < len(self.groups):
            raise DiversetError(f"a feature group is named twice in {', '.join(self.groups)}")
        wanted = 1 + int(columns_of(self.groups).sum())
        if self.coef.shape != (wanted,):
            raise DiversetError(f"{self.coef.size} weights for {wanted} features")
        if not np.isfinite(self.coef).all():
            raise DiversetError("a weight is not finite")
        check_nonnegative(self.late, name="late", most=1e6)

    @classmethod
    def from_entries(cls, stored: dict[str, Any]) -> QualityWeights:
        """Weights from the entries of a model file."""
        coef = np.array(stored["coef"], dtype=np.float64)
        return cls(coef, str(stored["training"]), tuple(stored["groups"]), float(stored["late"]))

    def quality_of(self, cluster: Cluster) -> FloatArray:
        """Quality of every sentence of a cluster."""
        score = feature_matrix(cluster)[:, columns_of(self.groups)] @ self.coef[1:] + self.coef[0]
        if self.training == "regression" and len(score):
            score = _SHARPNESS * (score - score.mean()) / max(float(score.std()), 1e-9)
        score = score - late_penalty(cluster, self.late)
        return np.asarray(np.exp(0.5 * np.clip(score, -200.0, 200.0)))


def late_penalty(cluster: Cluster, late: float) -> FloatArray:
    r"""Penalty `late` :math:`\log\max(1, r / 5)` of each sentence, at place r of its document; 0 for one document."""
    if len(cluster.documents) < 2:
        return np.zeros(len(cluster))
    return late * np.log(np.maximum(1.0, (cluster.position + 1) / _EARLY))


@cache
def default_weights() -> QualityWeights:
    """Weights of the model that comes with the package."""
    return QualityWeights.from_entries(read_model(DEFAULT_MODEL))


DEFAULT_MODEL = Path(__file__).parents[1] / "data" / "summarizer.json"
_NAME = "diverset summarizer"
VERSION = 3
_LONGEST, _LARGEST_NUMBER = 1 << 20, 1e9  # largest size of a file in bytes, and of a number in it
_TEXTS = frozenset(("format", "sha256", "card", "training"))
_NUMBERS = frozenset("late prior_variance oracle_scaling max_bytes max_words max_sentences".split())


def _checksum(entries: Mapping[str, Any]) -> str:
    """SHA-256 of all entries but the checksum, in one fixed layout."""
    rest = {key: value for key, value in entries.items() if key != "sha256"}
    plain = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(plain.encode("ascii")).hexdigest()


def write_model(path: str | os.PathLike[str], entries: Mapping[str, Any]) -> None:
    """Write entries with format and checksum. An existing file is replaced when the new one is complete."""
    head = {"format": f"{_NAME} {VERSION}"}
    stored = head | {"sha256": _checksum(head | dict(entries))} | dict(entries)
    text = json.dumps(stored, indent=0, ensure_ascii=False, allow_nan=False)
    with atomic_write(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8", newline="\n")


def read_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a file of :func:`write_model`, and check its format, entries and checksum."""
    with open_file(path) as file:
        raw = file.read(_LONGEST + 1)
    if len(raw) > _LONGEST:
        raise DiversetError(f"{path} is not a summarizer file: it has more than {_LONGEST:,} bytes")
    try:
        stored: Any = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DiversetError(f"{path} is not a summarizer file, or is damaged: {error}") from None
    entries: dict[str, Any] = stored if isinstance(stored, dict) else {}
    given = entries.get("format")
    if not isinstance(given, str) or not given.startswith(_NAME + " "):
        raise DiversetError(f"{path} is not a summarizer file: its format is {str(given)[:40]!r}")
    if given != f"{_NAME} {VERSION}":
        remedy = f"this diverset reads version {VERSION}: fit the model and save it again"
        raise DiversetError(f"{path} has format {given[:40]!r}; {remedy}")
    # Before the checksum, which writes out the entries: deeply nested lists would exhaust the stack there.
    for key, value in entries.items():
        if not _is_valid(key, value):
            raise DiversetError(f"{path} is damaged: its entry {key[:40]!r} is {str(value)[:40]!r}")
    if entries.get("sha256") != _checksum(entries):
        raise DiversetError(f"{path} is damaged: its checksum is not that of its entries")
    return entries


def _is_valid(key: str, value: Any) -> bool:
    """Whether a file may have an entry: a text, a finite number, a short list of numbers or of texts."""
    if key in ("coef", "groups"):
        kind = "late" if key == "coef" else "card"
        return isinstance(value, list) and len(value) <= 100 and all(_is_valid(kind, part) for part in value)
    if key in _TEXTS:
        return isinstance(value, str)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return key in _NUMBERS and is_number and abs(value) <= _LARGEST_NUMBER
