"""Dated documents as people keep them: tables and frames with a column of dates, or folders of dated texts."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import numpy as np

from diverset._typing import IntArray
from diverset.errors import DiversetError
from diverset.io.features import guess_id, guess_text
from diverset.io.tables import Table, as_text, is_blank, read_table
from diverset.threads import Corpus
from diverset.threads.corpus import headline

__all__ = ["parse_time", "read_documents"]

TIMES = ("date", "time", "datetime", "timestamp", "published", "published_at", "publication_date", "created_at", "year")
TEXTS = ("text", "body", "content", "article", "sentences", "abstract")
TITLES = ("title", "headline", "name", "subject")
LINKS = ("url", "link", "href")
SOURCES = ("source", "publisher", "outlet", "author", "site")
_FORMATS = (
    "%Y/%m/%d", "%d.%m.%Y", "%d %B %Y", "%d %b %Y", "%d %B %Y %H:%M", "%d %b %Y %H:%M", "%B %d, %Y", "%b %d, %Y",
    "%b. %d, %Y", "%Y-%m-%d %H:%M %Z", "%Y-%m-%d %H:%M:%S %Z", "%Y-%m", "%Y%m%d", "%Y",
)  # fmt: skip
_DATE_IN_NAME = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?!\d)")
#: Numbers from here on are seconds since 1970, and from there on milliseconds; below are years and days.
_SECONDS, _MILLISECONDS = 1e8, 1e11


def parse_time(cell: Any) -> np.datetime64:
    """A date or time from a cell, in UTC where it has an offset; ValueError where there is none.

    >>> parse_time("24 February 2005"), parse_time("Thu, 16 Jan 2020 10:00:00 GMT"), parse_time(1998)
    (np.datetime64('2005-02-24T00:00:00'), np.datetime64('2020-01-16T10:00:00'), np.datetime64('1998-01-01T00:00:00'))
    """
    if isinstance(cell, datetime):
        found = cell
    elif isinstance(cell, date):
        found = datetime(cell.year, cell.month, cell.day)
    else:
        found = _from_text(as_text(cell).strip())
    if found.tzinfo is not None:
        found = found.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(found, "s")


def _from_text(text: str) -> datetime:
    if re.fullmatch(r"\d{9,}(\.\d+)?", text):
        number = float(text)
        if number >= _SECONDS:
            return datetime.fromtimestamp(number / 1000.0 if number >= _MILLISECONDS else number, UTC)
    for pattern in _FORMATS:
        # "1998" is a year before it is anything else, and "20050224" a day.
        if pattern in ("%Y", "%Y%m%d") or not text[:4].isdigit() or "/" in text or len(text) == 7 or "%Z" in pattern:
            try:
                return datetime.strptime(text, pattern)
            except ValueError:
                continue
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return parsedate_to_datetime(text)  # the form of mails and feeds


def read_documents(given: Any, **columns: str | None) -> tuple[Corpus, IntArray, list[str]]:
    """Read documents; also the row of each, and remarks on what was assumed or left out.

    Parameters
    ----------
    given : path, or pandas or polars frame
        A table (.jsonl, .csv, .tsv, .parquet), or a folder of .txt files, each with a date in its name.
    columns : str or None
        ``time``, ``text``, ``title`` and ``label``: names of columns; None leaves them to be found by their names.
    """
    notes: list[str] = []
    if hasattr(given, "columns") and hasattr(given, "__len__"):
        return *_read_table(_from_frame(given), columns, notes), notes
    if not isinstance(given, str | Path):
        raise DiversetError(
            f"the corpus is a {type(given).__name__}; give a dv.threads.Corpus, a pandas or polars frame, or a path"
        )
    if Path(given).is_dir():
        corpus = _read_folder(Path(given), notes)
        return corpus, np.arange(len(corpus)), notes
    return *_read_table(read_table(str(given)), columns, notes), notes


def _from_frame(frame: Any) -> Table:
    lists = {
        str(name): (frame[name].to_list() if hasattr(frame[name], "to_list") else list(frame[name]))
        for name in frame.columns
    }
    if len(frame) == 0:
        raise DiversetError("the frame has no rows")
    return Table("the frame", lists, len(frame))


def _read_table(table: Table, columns: Mapping[str, str | None], notes: list[str]) -> tuple[Corpus, IntArray]:
    time = _column(table, columns.get("time"), TIMES, "time")
    title = _column(table, columns.get("title"), TITLES, "title", needed=False)
    text = columns.get("text") or _column(table, None, TEXTS, "text", needed=False)
    if text is None:
        text = guess_text(table, {time, title or ""}) or title
        if text is None:
            raise DiversetError(f"{table.name} has no column of texts; name one with --text")
        notes.append(f"taking {text!r} as the text; --text names another column")
    label = columns.get("label") or guess_id(table)
    texts = _texts(table, text)
    titles = None if title is None else table.texts(title)
    kept, times, empty, undated = [], [], [], []
    for i, body in enumerate(texts):
        if not body.strip() and not (titles is not None and titles[i].strip()):
            empty.append(i)
            continue
        try:
            cell = table.column(time)[i]
            if is_blank(cell):
                raise ValueError
            times.append(parse_time(cell))
            kept.append(i)
        except (ValueError, OverflowError, OSError):
            undated.append(i)
    if len(empty) == table.n:
        raise DiversetError(f"{table.name}: column {text!r} is empty in every row")
    if not kept:
        raise DiversetError(f"{_undated(table, time, undated[0])}; no row has a date")
    if empty:
        notes.append(
            f"{len(empty)} documents left out, since their text is empty: {table.where(empty[0])} is the first"
        )
    if undated:
        notes.append(f"{len(undated)} documents left out, since they have no date: {_undated(table, time, undated[0])}")
    ids = [i + 1 if label is None else as_text(table.column(label)[i]) for i in kept]
    _refuse_twins(table, label, ids, kept)
    whole = [texts[i] if titles is None or text == title else f"{titles[i]}. {texts[i]}" for i in kept]
    shown = [(titles[i].strip() if titles is not None else "") or headline(texts[i]) for i in kept]
    links, sources = (_extra(table, names, kept) for names in (LINKS, SOURCES))
    return Corpus(whole, np.array(times), ids, shown, links, sources), np.array(kept, dtype=np.int64)


def _texts(table: Table, name: str) -> list[str]:
    """A column as texts; lists of sentences are joined."""
    cells = [" ".join(map(str, cell)) if isinstance(cell, list | tuple) else cell for cell in table.column(name)]
    return ["" if is_blank(cell) else as_text(cell) for cell in cells]


def _extra(table: Table, names: Iterable[str], kept: list[int]) -> list[str] | None:
    column = _column(table, None, names, "", needed=False)
    if column is None:
        return None
    cells = table.texts(column)
    return [cells[i] for i in kept]


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


def _undated(table: Table, column: str, i: int) -> str:
    cell = table.column(column)[i]
    what = "is blank" if is_blank(cell) else f"is {as_text(cell)[:40]!r}"
    return f"{table.name}, {table.where(i)}: column {column!r} {what}, which is no date; write dates as 2005-02-24"


def _refuse_twins(table: Table, label: str | None, ids: list[Any], kept: list[int]) -> None:
    first: dict[Any, int] = {}
    for name, i in zip(ids, kept, strict=True):
        if first.setdefault(name, i) != i:
            raise DiversetError(
                f"{table.name}: {table.where(first[name])} and {table.where(i)} have the same {label!r}, {name!r}; "
                "ids tell documents apart"
            )


def _read_folder(folder: Path, notes: list[str]) -> Corpus:
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
        titles.append(headline(next(line for line in text.splitlines() if line.strip())))
    if not texts:
        raise DiversetError(f"all .txt files of {folder} are empty")
    if empty:
        notes.append(f"{empty} empty files left out")
    return Corpus(texts, np.array(times), ids, titles)
