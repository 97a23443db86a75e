"""The input of a summary: documents cut into sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from functools import cached_property
from typing import Any

import numpy as np

from diverset._typing import BoolArray, IntArray
from diverset.errors import DiversetError
from diverset.text.sentences import sentences_and_headings
from diverset.text.words import words

__all__ = ["Cluster", "as_cluster"]


@dataclass(frozen=True)
class Cluster:
    """Documents about one thing, and human summaries of them where there are any.

    Parameters
    ----------
    documents : iterable of str or of sequences of str
        Texts, which are split into sentences, or lists of sentences, which are taken as they are.
    references : str or iterable of str
        Human summaries, for training and scoring.
    names : sequence of str
        What the documents are called; numbers from 1 by default.
    dates : sequence of str, datetime, numpy.datetime64 or None
        When the documents were written: ISO 8601, or dates of Python or NumPy. Where all documents have one, summaries
        are in this order.

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
    _headings: tuple[tuple[bool, ...], ...] = field(default=(), repr=False, compare=False)

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
        cut = tuple(tuple(sentence for sentence, _ in part) for part in parts)
        given = (references,) if isinstance(references, str) else tuple(references)
        if names and len(names) != len(cut):
            raise DiversetError(f"{len(names)} names for {len(cut)} documents; give one each")
        if len(dates) and len(dates) != len(cut):
            raise DiversetError(f"{len(dates)} dates for {len(cut)} documents; give one each, or None")
        object.__setattr__(self, "documents", cut)
        object.__setattr__(self, "references", given)
        object.__setattr__(self, "names", tuple(names) or tuple(str(t + 1) for t in range(len(cut))))
        object.__setattr__(self, "dates", tuple(map(_date, dates)) or (None,) * len(cut))
        object.__setattr__(self, "_headings", tuple(tuple(heading for _, heading in part) for part in parts))

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
    def document_of(self) -> IntArray:
        """Number of the document of each sentence."""
        return np.repeat(np.arange(len(self.documents)), [len(document) for document in self.documents])

    @cached_property
    def position(self) -> IntArray:
        """Place of each sentence in its document, from 0."""
        places = [np.arange(len(document), dtype=np.int64) for document in self.documents]
        return np.concatenate([np.zeros(0, dtype=np.int64), *places])

    @cached_property
    def is_heading(self) -> BoolArray:
        """Which sentences only name what follows, as a headline or the entry of a menu does.

        None in documents that come as lists of sentences, nor where they are half of the text or more: such a text
        is written without full stops.
        """
        marked = np.array([heading for document in self._headings for heading in document], dtype=bool)
        lengths = np.fromiter(map(len, self.sentences), dtype=np.int64, count=len(self))
        return marked if 2 * lengths[marked].sum() < lengths.sum() else np.zeros(len(self), dtype=bool)

    def restrict(self, most: int) -> Cluster:
        """The cluster with at most so many sentences of each document, the first ones."""
        return Cluster([document[:most] for document in self.documents], self.references, self.names, self.dates)


def _sentences(document: Any, number: int) -> list[tuple[str, bool]]:
    """Sentences of a document, each with whether it is a heading."""
    if isinstance(document, str):
        return sentences_and_headings(document)
    try:
        return [(kept, False) for sentence in document if (kept := " ".join(sentence.split()))]
    except (TypeError, AttributeError):
        raise DiversetError(
            f"document {number} is a {type(document).__name__}; give a text or a list of sentences"
        ) from None


def _date(given: Any) -> np.datetime64 | None:
    if given is None or (isinstance(given, float) and np.isnan(given)):
        return None
    if getattr(given, "tzinfo", None) is not None:
        given = given.astimezone(UTC).replace(tzinfo=None)
    try:
        found = np.datetime64(given, "s")
    except (ValueError, TypeError):
        raise DiversetError(
            f"the date {given!r} is not understood; write it as 2020-01-31 or 2020-01-31T12:00"
        ) from None
    return None if np.isnat(found) else found


def as_cluster(documents: Any) -> Cluster:
    """The cluster itself, or one made of documents."""
    return documents if isinstance(documents, Cluster) else Cluster(documents)
