"""Result of ``find_threads``: threads with names and dates, copies, series left out, and the settings chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from diverset._result import Result
from diverset._typing import FloatArray, IntArray
from diverset.threads.corpus import Corpus
from diverset.threads.events import PileVectors, unit
from diverset.threads.paths import EventModel
from diverset.threads.series import Series

__all__ = ["FoundThreads", "day_of"]

#: Two threads tell of related events if the cosine of their summed words is above this.
_RELATED = 0.4
#: A step is a gap if it is this many times as long as the median step of the thread.
_GAP = 4.0


def day_of(time: Any) -> str:
    """A time as text: the day, with the hour and minute unless they are zero; plain numbers as they are."""
    if isinstance(time, np.datetime64):
        text = str(time.astype("datetime64[m]"))
        return text[:10] if text.endswith("T00:00") else text.replace("T", " ")
    number = float(time)
    return f"{number:.0f}" if number.is_integer() else f"{number:g}"


@dataclass(frozen=True, eq=False, repr=False)
class FoundThreads(Result):
    """A set of threads; made by :func:`diverset.find_threads`.

    `corpus` are the documents that were read, and `rows` their positions in the input: rows of a frame or table, or
    documents of a corpus. `places` are the threads, as positions in `corpus`; `series` are the formulaic series that
    were left out, the largest first; `copies` has the copies that were collapsed onto a document. `settings` are the
    arguments, and what was chosen from the pile, `notes` remarks on reading. `kept` are the documents that are in no
    series, with their `vectors`; `model` is the law of sets of threads, with documents numbered as in `kept`.
    """

    _page: ClassVar[str] = "threads"

    corpus: Corpus
    rows: IntArray
    places: tuple[IntArray, ...]
    series: tuple[Series, ...]
    copies: Mapping[int, IntArray]
    settings: Mapping[str, Any]
    notes: tuple[str, ...]
    vectors: PileVectors
    kept: IntArray
    model: EventModel

    @property
    def threads(self) -> list[list[int]]:
        """The threads, as positions in the input: rows of the frame or table, documents of the corpus."""
        return [self.rows[thread].tolist() for thread in self.places]

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.threads)

    @cached_property
    def _in_kept(self) -> list[IntArray]:
        """The threads, as positions in `kept`, which is sorted."""
        return [np.searchsorted(self.kept, thread) for thread in self.places]

    @cached_property
    def log_prob(self) -> float:
        """Log-probability of the set."""
        return self.model.log_prob(self._in_kept)

    @cached_property
    def _sums(self) -> FloatArray:
        """Summed details of each thread, (k, n_terms)."""
        return np.array([np.asarray(self.vectors.details[own].sum(axis=0)).ravel() for own in self._in_kept])

    @cached_property
    def words(self) -> list[list[str]]:
        """The six words or names of each thread that are most frequent in it and rarest in the other threads."""
        others = self._sums.sum(axis=0) - self._sums
        found = []
        for own, rest in zip(self._sums, others, strict=True):
            score = own - rest / max(len(self.places) - 1, 1)
            named: list[str] = []
            for j in np.argsort(-score, kind="stable")[:40].tolist():
                parts = set(self.vectors.terms[j].split())
                # No word twice: "gulf coast" includes "gulf".
                if own[j] > 0.0 and not any(parts & set(name.split()) for name in named):
                    named.append(self.vectors.terms[j])
                if len(named) == 6:
                    break
            found.append(named)
        return found

    @property
    def names(self) -> list[str]:
        """A name for each thread: the first three of its words."""
        return [", ".join(words[:3]) for words in self.words]

    @property
    def dates(self) -> list[tuple[str, str]]:
        """First and last day of each thread."""
        times = self.corpus.times
        return [(day_of(times[thread[0]])[:10], day_of(times[thread[-1]])[:10]) for thread in self.places]

    @cached_property
    def related(self) -> list[list[int]]:
        """For each thread the numbers, from 0, of other threads that tell of a related event."""
        directions = unit(self._sums)
        close = directions @ directions.T > _RELATED
        return [[j for j in np.flatnonzero(row).tolist() if j != i] for i, row in enumerate(close)]

    def gaps(self, t: int) -> list[float]:
        """For each item of a thread the days since the item before if they are unusually many; else 0."""
        steps = np.diff(self.corpus.days[self.places[t]])
        usual = float(np.median(steps)) if len(steps) else 0.0
        return [0.0, *(float(step) if step > max(_GAP * usual, 1.0) else 0.0 for step in steps)]

    def items(self, t: int) -> list[dict[str, Any]]:
        """The items of a thread as dictionaries, with everything that a page shows."""
        corpus = self.corpus
        found = []
        for i, gap in zip(self.places[t].tolist(), self.gaps(t), strict=True):
            row, time = int(self.rows[i]), str(corpus.times[i])
            item = {"id": corpus.ids[i], "row": row, "time": time, "title": corpus.titles[i]}
            for name in ("links", "sources"):
                column = getattr(corpus, name)
                if column is not None and column[i]:
                    item[name[:-1]] = column[i]
            if gap:
                item["days_since"] = round(gap, 1)
            if i in self.copies:
                item["copies"] = [corpus.ids[j] for j in self.copies[i].tolist()]
            found.append(item)
        return found

    def to_dict(self) -> dict[str, Any]:
        """The whole result in a form that JSON can hold."""
        return {
            "threads": [
                {"name": name, "words": words, "first": first, "last": last, "items": self.items(t)}
                for t, (name, words, (first, last)) in enumerate(zip(self.names, self.words, self.dates, strict=True))
            ],
            "series": [{"words": list(series.words), "documents": len(series)} for series in self.series],
            "documents": len(self.corpus),
            "copies": int(sum(map(len, self.copies.values()))),
            "log_prob": self.log_prob,
            "settings": dict(self.settings),
            "notes": list(self.notes),
        }

    def records(self) -> list[dict[str, Any]]:
        """A row for every item: thread, name, position, row, id, time, title."""
        return [
            {"thread": t, "name": name, "position": r, "row": int(self.rows[i])}
            | {column[:-1]: getattr(self.corpus, column)[i] for column in ("ids", "times", "titles")}
            for t, (name, thread) in enumerate(zip(self.names, self.places, strict=True))
            for r, i in enumerate(thread.tolist())
        ]

    def summary(self) -> list[str]:
        """Lines on the settings chosen and the documents left out."""
        chosen = self.settings
        tried = ", ".join(f"{beta:g}: {value:.3f}" for beta, value in chosen["beta_tried"].items())
        lines = [
            f"{chosen['events']} events (modularity {chosen['modularity']:.2f}), beta {chosen['beta']:g}"
            + (f" (held-back words: {tried})" if tried else "")
        ]
        if self.series:
            shown = "; ".join(f"{', '.join(series.words)} ({len(series):,})" for series in self.series[:3])
            total = sum(map(len, self.series))
            more = f"; and {len(self.series) - 3} more" if len(self.series) > 3 else ""
            lines.append(f"series left out: {total:,} documents: {shown}{more}")
        if self.copies:
            lines.append(f"copies collapsed: {sum(map(len, self.copies.values())):,}")
        return lines

    def __repr__(self) -> str:
        lines = [f"FoundThreads: {len(self)} threads through {len(self.corpus):,} documents", *self.summary()]
        for t, (name, (first, last)) in enumerate(zip(self.names, self.dates, strict=True), start=1):
            lines.append(f"{t}. {name} ({first} to {last}, {len(self.places[t - 1])} items)")
        return "\n".join(lines)
