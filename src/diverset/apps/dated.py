"""Dated documents as people keep them: tables with a column of dates, or folders of texts with dates in their names."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from diverset.apps.columns import guess_id, guess_text
from diverset.apps.tables import Table, as_text, is_blank, read_table
from diverset.errors import DiversetError
from diverset.threads import Corpus

__all__ = ["CorpusSource", "parse_time", "read_corpus"]

TIMES = ("date", "time", "datetime", "timestamp", "published", "published_at", "publication_date", "created_at", "year")
TEXTS = ("text", "body", "content", "article", "abstract")
TITLES = ("title", "headline", "name", "subject")
_FORMATS = ("%Y/%m/%d", "%d.%m.%Y", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%Y-%m", "%Y%m%d", "%Y")
_DATE_IN_NAME = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?!\d)")


@dataclass(frozen=True)
class CorpusSource:
    """Which columns of which file; None leaves them to be found by their names."""

    name: str
    time: str | None = None
    text: str | None = None
    title: str | None = None
    label: str | None = None


def parse_time(cell: Any) -> np.datetime64:
    """A date or time from a cell; ValueError where there is none.

    >>> parse_time("24 February 2005"), parse_time("2005-02-24T13:30:00Z"), parse_time(1998)
    (np.datetime64('2005-02-24T00:00:00'), np.datetime64('2005-02-24T13:30:00'), np.datetime64('1998-01-01T00:00:00'))
    """
    if isinstance(cell, datetime):
        found = cell
    elif isinstance(cell, date):
        found = datetime(cell.year, cell.month, cell.day)
    else:
        text = as_text(cell).strip()
        found = _from_text(text)
    if found.tzinfo is not None:
        found = found.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(found, "s")


def _from_text(text: str) -> datetime:
    for pattern in _FORMATS:
        # "1998" is a year before it is anything else, and "20050224" a day.
        if pattern in ("%Y", "%Y%m%d") or not text[:4].isdigit() or "/" in text or len(text) == 7:
            try:
                return datetime.strptime(text, pattern)
            except ValueError:
                continue
    return datetime.fromisoformat(text)


def read_corpus(source: CorpusSource, note: Callable[[str], None]) -> Corpus:
    """Read documents; `note` is told what was assumed or left out.

    Parameters
    ----------
    source : CorpusSource
        A file (.jsonl, .csv, .tsv, .parquet) or a folder of .txt files, each with a date in its name.
    note : callable
        Takes one line.
    """
    if Path(source.name).is_dir():
        return _read_folder(Path(source.name), note)
    table = read_table(source.name)
    time = _column(table, source.time, TIMES, "time")
    title = _column(table, source.title, TITLES, "title", needed=False)
    text = source.text or next((name for name in TEXTS if name in table.columns), None)
    if text is None:
        text = guess_text(table, {time, title or ""}) or title
        note(f"taking {text!r} as the text; --text names another column")
    if text is None:
        raise DiversetError(f"{table.name} has no column of texts; name one with --text")
    label = source.label or guess_id(table)
    texts = table.texts(text)
    titles = None if title is None else table.texts(title)
    kept = [i for i, body in enumerate(texts) if body.strip() or (titles is not None and titles[i].strip())]
    if not kept:
        raise DiversetError(f"{table.name}: column {text!r} is empty in every row")
    if len(kept) < table.n:
        first = min(set(range(table.n)) - set(kept))
        note(f"{table.n - len(kept)} documents left out, since their text is empty: {table.where(first)} is the first")
    times = [_time_at(table, time, i) for i in kept]
    ids = [i + 1 if label is None else as_text(table.column(label)[i]) for i in kept]
    _refuse_twins(table, label, ids, kept)
    whole = [texts[i] if titles is None or text == title else f"{titles[i]}. {texts[i]}" for i in kept]
    shown = None if titles is None else [titles[i] or texts[i][:80] for i in kept]
    return _by_time(Corpus(whole, np.array(times), ids, shown))


def _column(table: Table, given: str | None, names: Iterable[str], what: str, *, needed: bool = True) -> Any:
    if given is not None:
        table.column(given)
        return given
    lower = {column.lower(): column for column in table.columns}
    found = next((lower[name] for name in names if name in lower), None)
    if found is None and needed:
        listed = ", ".join(map(repr, table.columns))
        raise DiversetError(f"{table.name} has no column of {what}s by its name; say which with --{what}: {listed}")
    return found


def _time_at(table: Table, column: str, i: int) -> np.datetime64:
    cell = table.column(column)[i]
    try:
        if is_blank(cell):
            raise ValueError
        return parse_time(cell)
    except (ValueError, OverflowError):
        what = "is blank" if is_blank(cell) else f"is {as_text(cell)[:40]!r}"
        raise DiversetError(
            f"{table.name}, {table.where(i)}: column {column!r} {what}, which is no date; write dates as 2005-02-24"
        ) from None


def _refuse_twins(table: Table, label: str | None, ids: list[Any], kept: list[int]) -> None:
    first: dict[Any, int] = {}
    for name, i in zip(ids, kept, strict=True):
        if first.setdefault(name, i) != i:
            raise DiversetError(
                f"{table.name}: {table.where(first[name])} and {table.where(i)} have the same {label!r}, {name!r}; "
                "ids tell documents apart"
            )


def _by_time(corpus: Corpus) -> Corpus:
    return corpus.take(np.argsort(corpus.times, kind="stable"))


def _read_folder(folder: Path, note: Callable[[str], None]) -> Corpus:
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".txt")
    if not paths:
        raise DiversetError(f"{folder} has no .txt files")
    texts, times, ids, titles, empty = [], [], [], [], 0
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace")
        if not text.strip():
            empty += 1
            continue
        found = _DATE_IN_NAME.search(path.stem)
        try:
            if found is None:
                raise ValueError
            times.append(parse_time("-".join(found.groups())))
        except ValueError:
            raise DiversetError(
                f"{path}: its name holds no date; names of dated texts are such as 2005-02-24-pope.txt"
            ) from None
        texts.append(text)
        ids.append(path.stem)
        titles.append(next(line.strip() for line in text.splitlines() if line.strip())[:160])
    if not texts:
        raise DiversetError(f"all .txt files of {folder} are empty")
    if empty:
        note(f"{empty} empty files left out")
    return _by_time(Corpus(texts, np.array(times), ids, titles))
