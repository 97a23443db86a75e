"""Dated documents, and the filter that removes noise from them ([KuleszaTaskar2012]_, section 6.6.4)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.errors import DiversetError, LabelError
from diverset.io.documents import read_documents
from diverset.io.files import plural
from diverset.numerics.validation import check_nonnegative, check_rows, check_size
from diverset.text.words import STOP_WORDS, words

__all__ = [
    "Corpus",
    "content_terms",
    "example_news",
    "first_twice",
    "headline",
    "is_noise",
    "read_corpus",
    "read_times",
]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents with their times.

    Parameters
    ----------
    texts : sequence of str
        Texts of the documents.
    times : sequence, optional
        Times of the documents: numbers, dates or ``datetime64``.
    ids : sequence, optional
        Unique names of the documents; 0, 1, ... by default.
    titles : sequence of str, optional
        Titles of the documents. By default the first sentence of the text, cut at a word.
    links, sources : sequence of str, optional
        Address and publisher of each document, which pages show.
    """

    texts: Any
    times: Any = None
    ids: Any = None
    titles: Any = None
    links: Any = None
    sources: Any = None

    def __post_init__(self) -> None:
        texts = tuple(self.texts)
        n = len(texts)
        if n == 0:
            raise DiversetError("the corpus has no documents")
        ids = tuple(range(n)) if self.ids is None else tuple(self.ids)
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise DiversetError(f"document {i + 1} is {text!r}, a {type(text).__name__}; texts are strings")
            if not text.strip():
                named = "" if self.ids is None or len(ids) != n else f" ({ids[i]!r})"
                raise DiversetError(f"document {i + 1}{named} has an empty text; leave it out")
        columns = {"texts": texts, "ids": ids, "titles": map(headline, texts) if self.titles is None else self.titles}
        for name, given in (columns | {"links": self.links, "sources": self.sources}).items():
            column = None if given is None else tuple(given)
            if column is not None and len(column) != n:
                raise DiversetError(f"{name} has {len(column)} entries for {n} texts; give one for each")
            object.__setattr__(self, name, column)
        if (pair := first_twice(ids)) is not None:
            i, j = pair
            raise LabelError(f"documents {i + 1} and {j + 1} are both called {ids[i]!r}; ids tell documents apart")
        object.__setattr__(self, "times", None if self.times is None else read_times(self.times, n))

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def days(self) -> FloatArray:
        """The times as numbers: dates in days, other numbers as they are."""
        if self.times.dtype.kind == "M":
            return np.asarray(self.times.astype("datetime64[s]").astype(np.float64) / 86_400.0)
        return np.asarray(self.times, dtype=np.float64)

    def take(self, which: Sequence[int] | IntArray) -> Corpus:
        """Some of the documents, by number, in this order."""
        index = check_rows(which, len(self), name="documents").tolist()
        columns = (getattr(self, field.name) for field in fields(self))
        return Corpus(*(None if column is None else [column[i] for i in index] for column in columns))

    def without_noise(self, *, min_words: int = 400, deviations: float = 2.0) -> Corpus:
        """The documents that are not noise by :func:`is_noise`."""
        kept = ~is_noise(self.texts, min_words=min_words, deviations=deviations)
        if not kept.any():
            raise DiversetError(f"no document of the corpus has {min_words} words or more; lower min_words")
        return self.take(np.flatnonzero(kept))


def is_noise(texts: Sequence[str], *, min_words: int = 400, deviations: float = 2.0) -> BoolArray:
    """Which documents are snippets, lists of numbers or of excessive length ([KuleszaTaskar2012]_, section 6.6.4).

    Parameters
    ----------
    texts : sequence of str
        The documents.
    min_words : int
        Documents with fewer words are noise.
    deviations : float
        A document is also noise if its length exceeds the mean length by more than this number of standard deviations.
        The same holds for its share of words that contain characters other than letters.
    """
    shortest, far = check_size(min_words, name="min_words"), check_nonnegative(deviations, name="deviations")
    found = [words(text) for text in texts]
    if not found:
        return np.zeros(0, dtype=bool)
    length = np.array([len(w) for w in found], dtype=np.float64)
    odd = np.array([sum(not x.isalpha() for x in w) / max(len(w), 1) for w in found])
    return np.asarray(
        (length < shortest) | (length > length.mean() + far * length.std()) | (odd > odd.mean() + far * odd.std())
    )


def first_twice(names: Sequence[Any]) -> tuple[int, int] | None:
    """Positions of the first two equal names; None if all names differ."""
    first: dict[Any, int] = {}
    return next(((first[name], i) for i, name in enumerate(names) if first.setdefault(name, i) != i), None)


def read_times(given: Any, n: int) -> Array:
    """Times as numbers or ``datetime64``, one for each of n."""
    values = np.asarray(given)
    if values.dtype.kind == "O":
        try:
            values = np.asarray(given, dtype="datetime64[us]")
        except (ValueError, TypeError):
            odd = next((t for t in given if t is None), given[0])
            raise DiversetError(f"times hold {odd!r}; give numbers, dates or datetime64 for every node") from None
    elif values.dtype.kind in "US":
        try:
            values = values.astype("datetime64[us]")
        except ValueError as error:
            raise DiversetError(f"times cannot be read as dates ({error}); write them as 2005-02-24") from None
    if values.dtype.kind not in "iufM" or values.shape != (n,):
        raise DiversetError(f"times have shape {values.shape} and type {values.dtype}; give a number or date per node")
    if bool(np.isnat(values).any() if values.dtype.kind == "M" else np.isnan(values).any()):
        raise DiversetError("times hold a value that is no time; every node needs one")
    return values


def content_terms(text: str) -> list[str]:
    """The words of a text without stop words, numbers and single letters."""
    return [word for word in words(text) if len(word) > 1 and word not in STOP_WORDS and not word.isdigit()]


def headline(text: str, length: int = 100) -> str:
    """The first sentence of a text, cut at a word if it is longer than `length` characters."""
    line = " ".join(text[: 8 * length].split())
    # A full stop after a few letters ends an initial or an abbreviation.
    ends = (found.start() for found in re.finditer(r"[.!?](?=\s+[^\sa-z])", line))
    line = line[: next((end for end in ends if end >= 20), len(line))]
    return line if len(line) <= length else line[:length].rsplit(" ", 1)[0] + " …"


def example_news() -> tuple[Corpus, list[str | None]]:
    """The 230 invented news items of the package, and the story of each; None where it belongs to none."""
    lines = (files("diverset") / "data" / "news.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    texts = [f"{row['title']}. {row['text']}" for row in rows]
    corpus = Corpus(texts, [row["date"] for row in rows], [row["id"] for row in rows], [row["title"] for row in rows])
    return corpus, [row["story"] for row in rows]


def read_corpus(sources: Any, **options: Any) -> tuple[Corpus, IntArray, list[str]]:
    """Read the documents that have a text and a date; also their rows in the input, and remarks on the others.

    The options are those of ``read_documents``. A title is put before its text.
    """
    notes: list[str] = []
    documents = read_documents(sources, notes=notes, **options)
    if not documents:
        raise DiversetError("there are no documents")
    texts = [d.text if isinstance(d.text, str) else " ".join(d.text) for d in documents]
    full = [i for i, d in enumerate(documents) if texts[i].strip() or d.title]
    if not full:
        raise DiversetError(f"{documents[0].where}: the text is empty, and so are all others")
    kept = [i for i in full if documents[i].date is not None]
    undated = [i for i in full if documents[i].date is None]
    if not kept:
        first = documents[undated[0]]
        raise DiversetError(f"{first.where}: {first.reason}; no document has a date (--time names a column of dates)")
    for left, why in ((sorted(set(range(len(texts))) - set(full)), "the text is empty"), (undated, "")):
        if left:
            first = documents[left[0]]
            notes.append(f"{plural(len(left), 'document')} left out: {first.where}: {why or first.reason}")
    some = [documents[i] for i in kept]
    if (pair := first_twice([d.id for d in some])) is not None:
        a, b = some[pair[0]], some[pair[1]]
        raise DiversetError(f"{a.where} and {b.where} have the same id, {a.id!r}; ids tell documents apart")
    bodies = [texts[i] for i in kept]
    texts = [f"{d.title}. {body}" if d.title else body for d, body in zip(some, bodies, strict=True)]
    titles = [d.title or headline(body) for d, body in zip(some, bodies, strict=True)]
    shown = [column if any(column) else None for column in ([d.url for d in some], [d.source for d in some])]
    rows = [d.row for d in some]
    corpus = Corpus(texts, np.array([d.date for d in some]), [d.id for d in some], titles, *shown)
    return corpus, np.array(rows if len(set(rows)) == len(rows) else kept, dtype=np.int64), notes
