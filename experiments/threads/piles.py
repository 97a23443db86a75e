"""Piles of real articles about several events, with labels and the days that human timelines name.

Timeline17 holds six events; a pile of nine adds three subjects of the Reuters newswire, known by their topic codes. The
composition of every pile follows from its number, before any score is known. Even articles of an event make the
development piles, odd ones the piles that are scored once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from diverset.threads import Corpus
from experiments.threads.data import read_lines, read_timelines

__all__ = ["SUBJECTS", "Event", "Pile", "make_piles", "read_events"]

#: Reuters codes that stand in for three further events.
SUBJECTS = ("crude", "coffee", "ship", "gold", "trade", "sugar")
#: Articles of each event: of all alike, or from many to few.
EQUAL, MOST, FEWEST = 40, 90, 15
#: Days of the common span, and its first day.
SPAN, START = 180, date(2010, 1, 1)


@dataclass(frozen=True, eq=False)
class Event:
    """Articles about one event, in order of time, and the days that human timelines name."""

    name: str
    rows: tuple[tuple[date, str, str], ...]  # day, headline, text
    days: frozenset[date]


@dataclass(frozen=True, eq=False)
class Pile:
    """Articles with the event of each, and the days that matter for each event."""

    name: str
    corpus: Corpus
    events: tuple[str, ...]
    days: dict[str, frozenset[date]]

    @property
    def k(self) -> int:
        """Number of events, which is the number of threads to find."""
        return len(set(self.events))


def read_events(data: Path) -> list[Event]:
    """The six events of Timeline17, then the Reuters subjects."""
    rows: dict[str, list[tuple[date, str, str]]] = {}
    days: dict[str, set[date]] = {}
    for collection in read_timelines(data):
        name = collection.name.split("_")[0]
        own = zip(collection.corpus.times.tolist(), collection.corpus.titles, collection.corpus.texts, strict=True)
        rows.setdefault(name, []).extend((when.date(), title, text) for when, title, text in own)
        days.setdefault(name, set()).update(collection.timeline)
    for row in read_lines(data / "reuters21578" / "reuters21578.jsonl.gz"):
        for code in SUBJECTS:
            if row["topics"] == [code] and len(row["body"].split()) >= 40:
                found = (date.fromisoformat(row["date"][:10]), row["title"], f"{row['title']}. {row['body']}")
                rows.setdefault(code, []).append(found)
    return [Event(name, tuple(sorted(own)), frozenset(days.get(name, ()))) for name, own in rows.items()]


def make_piles(events: Sequence[Event], half: int, seeds: Sequence[int]) -> list[Pile]:
    """Piles of 3, 6 and 9 events, with their own dates and in one span, of equal and unequal sizes."""
    real = sorted((event for event in events if event.days), key=lambda event: event.name)
    others = sorted((event for event in events if not event.days), key=lambda event: event.name)
    piles = []
    for seed in seeds:
        for n in (3, 6, 9):
            for same_span in (False, True):
                for equal in (True, False):
                    rng = np.random.default_rng([half, seed, n, same_span, equal])
                    chosen = rng.permutation(len(real))[:n].tolist()
                    extra = rng.permutation(len(others))[: n - len(chosen)].tolist()
                    mixed = [real[i] for i in chosen] + [others[i] for i in extra]
                    name = f"{n} events, {'same span' if same_span else 'own dates'}, {'' if equal else 'un'}equal"
                    piles.append(_pile(f"{name}, {seed}", mixed, half, same_span, equal, rng))
    return piles


def _pile(name: str, mixed: Sequence[Event], half: int, same_span: bool, equal: bool, rng: np.random.Generator) -> Pile:
    sizes = [EQUAL] * len(mixed) if equal else np.geomspace(MOST, FEWEST, len(mixed)).round().astype(int).tolist()
    rows, days = [], {}
    for event, size in zip(mixed, sizes, strict=True):
        own = event.rows[half::2]
        taken = np.sort(rng.choice(len(own), size=min(size, len(own)), replace=False)).tolist()
        first, last = own[taken[0]][0], own[taken[-1]][0]

        def moved(day: date, first: date = first, last: date = last) -> date:
            if not same_span:
                return day
            return START + timedelta(days=round(SPAN * (day - first).days / max((last - first).days, 1)))

        rows += [(moved(own[i][0]), *own[i][1:], event.name) for i in taken]
        days[event.name] = frozenset(moved(day) for day in event.days if first <= day <= last)
    rows.sort()
    corpus = Corpus(
        [text for _, _, text, _ in rows], [day for day, *_ in rows], titles=[title for _, title, *_ in rows]
    )
    return Pile(name, corpus, tuple(event for *_, event in rows), days)
