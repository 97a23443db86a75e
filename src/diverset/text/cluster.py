"""Documents cut into sentences, and the limit of a summary."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from functools import cached_property
from typing import Any

import numpy as np

from diverset._typing import BoolArray, IntArray
from diverset.errors import DiversetError
from diverset.io.documents import read_documents
from diverset.numerics.validation import check_count, check_size
from diverset.text.tfidf import Terms, stems_of
from diverset.text.words import count_words, sentences_and_headings, words

__all__ = ["Budget", "Cluster"]


@dataclass(frozen=True)
class Cluster:
    """Documents about one subject, with human summaries of them if there are any.

    Parameters
    ----------
    documents : iterable of str or of sequences of str
        Texts, which are split into sentences, or lists of sentences, which are taken as they are.
    references : str or iterable of str
        Human summaries, for training and scoring.
    names : sequence of str
        Names of the documents; numbers from 1 by default.
    dates : sequence of str, datetime, numpy.datetime64 or None
        When the documents were written: ISO 8601, or dates of Python or NumPy. If all documents have a date, the
        sentences of summaries are in this order.

    Examples
    --------
    >>> cluster = Cluster(["It rained. It poured.", ["The old man is snoring."]])
    >>> cluster.sentences
    ('It rained.', 'It poured.', 'The old man is snoring.')
    >>> cluster.document_of, cluster.position
    (array([0, 0, 1]), array([0, 1, 0]))
    """

    documents: tuple[tuple[str, ...], ...]
    references: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    dates: tuple[np.datetime64 | None, ...] = ()
    _headings: tuple[bool, ...] = field(default=(), repr=False, compare=False)

    def __init__(
        self,
        documents: Iterable[str | Sequence[str]],
        references: str | Iterable[str] = (),
        names: Sequence[str] = (),
        dates: Sequence[Any] = (),
    ) -> None:
        if isinstance(documents, str):
            documents = [documents]
        parts = [_sentences(document, t) for t, document in enumerate(documents)]
        if len(names) not in (0, len(parts)):
            raise DiversetError(f"{len(names)} names for {len(parts)} documents; give one each")
        if len(dates) not in (0, len(parts)):
            raise DiversetError(f"{len(dates)} dates for {len(parts)} documents; give one each, or None")
        vars(self).update(  # the class is frozen
            documents=tuple(tuple(sentence for sentence, _ in part) for part in parts),
            references=(references,) if isinstance(references, str) else tuple(references),
            names=tuple(names) or tuple(str(t + 1) for t in range(len(parts))),
            dates=tuple(map(_date, dates)) or (None,) * len(parts),
            _headings=tuple(heading for part in parts for _, heading in part),
        )

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """All sentences, document after document."""
        return tuple(sentence for document in self.documents for sentence in document)

    @cached_property
    def words(self) -> list[list[str]]:
        """Words of each sentence."""
        return [words(sentence) for sentence in self.sentences]

    @cached_property
    def terms(self) -> Terms:
        """Stems of each sentence, with their counts."""
        return Terms([stems_of(found) for found in self.words])

    @cached_property
    def document_of(self) -> IntArray:
        """Number of the document of each sentence."""
        return np.repeat(np.arange(len(self.documents)), [len(document) for document in self.documents])

    @cached_property
    def position(self) -> IntArray:
        """Place of each sentence in its document, from 0."""
        return np.array([place for document in self.documents for place in range(len(document))], dtype=np.int64)

    @cached_property
    def is_heading(self) -> BoolArray:
        """Which sentences are headlines or entries of a menu; none if they make up half of the text or more."""
        marked = np.array(self._headings, dtype=bool)
        # Writers who use no full stops would have nothing but headings.
        lengths = np.fromiter(map(len, self.sentences), dtype=np.int64, count=len(self))
        return marked if 2 * lengths[marked].sum() < lengths.sum() else np.zeros(len(self), dtype=bool)

    def restrict(self, most: int) -> Cluster:
        """Return the cluster with the first `most` sentences of each document."""
        return Cluster([document[:most] for document in self.documents], self.references, self.names, self.dates)


def _sentences(document: Any, number: int) -> list[tuple[str, bool]]:
    """Sentences of a document, each with whether it is a heading."""
    if isinstance(document, str):
        return sentences_and_headings(document)
    try:
        return [(kept, False) for sentence in document if (kept := " ".join(sentence.split()))]
    except (TypeError, AttributeError):
        kind = type(document).__name__
        raise DiversetError(f"document {number} is a {kind}; give a text or a list of sentences") from None


def _date(given: Any) -> np.datetime64 | None:
    if given is None or (isinstance(given, float) and np.isnan(given)):
        return None
    if getattr(given, "tzinfo", None) is not None:
        given = given.astimezone(UTC).replace(tzinfo=None)
    try:
        found = np.datetime64(given, "s")
    except (ValueError, TypeError):
        form = "2020-01-31 or 2020-01-31T12:00"
        raise DiversetError(f"the date {given!r} is not understood; write it as {form}") from None
    return None if np.isnat(found) else found


def as_cluster(documents: Any, **options: Any) -> Cluster:
    """A cluster itself, or one made of texts, of a frame, or of files, read with the options of `read_documents`.

    A string is a path if a file or folder of that name exists, else the text of one document; lists of paths are files.
    """
    if isinstance(documents, Cluster):
        return documents
    several = documents if isinstance(documents, list | tuple) and documents else [documents]
    is_path = all(isinstance(each, os.PathLike) for each in several)
    if isinstance(documents, str) and 0 < len(documents) < 4096 and not {"\n", "\0"} & set(documents):
        is_path = os.path.exists(documents)
    if not is_path and not (hasattr(documents, "columns") and hasattr(documents, "to_dict")):
        return Cluster(documents)
    found = read_documents(documents, **options)
    return Cluster([each.text for each in found], names=[each.name for each in found], dates=[d.date for d in found])


UNITS = ("bytes", "words", "sentences")


@dataclass(frozen=True)
class Budget:
    """Largest length of a summary. Sentences are joined by a space, which counts in bytes.

    Parameters
    ----------
    unit : {"bytes", "words", "sentences"}
        Unit of the limit; bytes are those of UTF-8.
    limit : int
        Largest length.
    """

    unit: str
    limit: int

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise DiversetError(f"unit is {self.unit!r}; choose bytes, words or sentences")
        check_size(self.limit, name="limit")

    def lengths(self, sentences: Sequence[str]) -> IntArray:
        """Length of each sentence."""
        if self.unit == "sentences":
            return np.ones(len(sentences), dtype=np.int64)
        size = count_words if self.unit == "words" else lambda sentence: len(sentence.encode("utf-8", "replace"))
        return np.fromiter(map(size, sentences), dtype=np.int64, count=len(sentences))

    @property
    def separator(self) -> int:
        """Length of the space between two sentences."""
        return 1 if self.unit == "bytes" else 0

    def costs(self, sentences: Sequence[str]) -> IntArray:
        """Length of each sentence with the space after it. A set fits if its costs add up to :attr:`room` at most."""
        return self.lengths(sentences) + self.separator

    @property
    def room(self) -> int:
        """The limit plus one separator, to match :meth:`costs`."""
        return self.limit + self.separator

    def allows(self, text: str | Sequence[str]) -> bool:
        """Whether a text, or sentences to be joined, are within the limit."""
        return int(self.costs([text] if isinstance(text, str) else text).sum()) <= self.room

    def crop(self, text: str) -> str:
        """Longest beginning of a text within the limit; it ends at a word if one word fits."""
        if self.allows(text):
            return text
        if self.unit == "words":
            end = bisect_right(range(len(text)), self.limit, key=lambda end: count_words(text[:end])) - 1
            return text[:end].rstrip()
        cut = text.encode("utf-8", "replace")[: self.limit].decode("utf-8", "ignore")
        whole = cut if text[len(cut)].isspace() else cut.rpartition(" ")[0]
        return (whole or cut).rstrip()


def read_budget(max_bytes: Any = None, max_words: Any = None, max_sentences: Any = None) -> Budget:
    """The limit that is not None; 100 words if all are."""
    given = zip(UNITS, (max_bytes, max_words, max_sentences), strict=True)
    named = {unit: value for unit, value in given if value is not None} or {"words": 100}
    if len(named) > 1:
        raise DiversetError(f"give one limit, not {' and '.join(f'max_{unit}' for unit in named)}")
    [(unit, value)] = named.items()
    return Budget(unit, check_count(value, name=f"max_{unit}"))
