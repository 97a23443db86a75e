"""Tables: CSV, JSON, JSON lines, Parquet, NPY and frames, read with errors that name the row.

Cells are kept as they were read, so that rows can be written back unchanged; numbers of a Parquet file stay in arrays.
"""

import csv
import io
import json
import math
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from diverset._typing import Array, FloatArray
from diverset.errors import DiversetError
from diverset.io.binary import load_npy, read_parquet, write_parquet
from diverset.io.files import atomic_write, decode, is_frame, kind_of, plural, read_stdin, read_text

__all__ = ["Table", "as_number", "as_text", "is_blank", "parse_table", "read_table", "write_table"]

#: Kinds of tables that are text, and may be compressed (``.csv.gz``).
TEXT_KINDS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
READABLE = (*TEXT_KINDS, ".parquet", ".npy")
#: Texts of cells that mean a missing value.
BLANKS = frozenset({"", "na", "n/a", "nan", "nil", "none", "null", "-", "?"})
#: Numbers that can be written without quotes and read back as they were; "007" is a name.
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
#: Cells that a spreadsheet would execute as a formula.
_FORMULA = re.compile(r"[=+\-@\t\r]")
#: The limit of the csv module on the length of a field belongs to the whole process.
_FIELD_LIMIT = threading.Lock()


class _Columns(Mapping[str, list[Any]]):
    """Columns that become lists of cells when they are first used."""

    def __init__(self, names: Iterable[str], cells: Callable[[str], list[Any]]) -> None:
        self._names = dict.fromkeys(names)
        self._cells = cache(cells)

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self._names:
            raise KeyError(name)
        return self._cells(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file, by columns; ``name`` is the file as the user wrote it, ``n`` the number of rows."""

    name: str
    columns: Mapping[str, list[Any]]
    n: int
    #: Line of the file on which each row begins.
    lines: list[int] | None = None
    #: The matrix of an NPY file; its only column is ``index``, counted from 0.
    features: Array | None = None
    #: Arrow types of the columns, for writing Parquet with the same types.
    types: Mapping[str, Any] | None = None
    #: Whether all cells are text because the format has no types.
    untyped: bool = False
    #: Columns of numbers, of shape (n,), and of vectors, of shape (n, length), of files that have types.
    arrays: dict[str, Array] = field(default_factory=dict)
    #: Columns present in enough rows for their meaning to be guessed; all by default.
    common: list[str] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def guessable(self) -> list[str]:
        """Columns whose meaning may be guessed."""
        return list(self.columns) if self.common is None else self.common

    def column(self, name: str) -> list[Any]:
        """The cells of a column; the error for an unknown name lists the columns."""
        if name not in self.columns:
            if self.features is not None:
                raise DiversetError(f"{self.name} has no column {name!r}: an NPY file holds features only")
            raise DiversetError(f"{self.name} has no column {name!r}; its columns are {_listed(self.columns)}")
        return self.columns[name]

    def where(self, row: int) -> str:
        """The number of a row, counted from 1, and its line, for messages."""
        if self.features is not None:
            return f"index {row}"
        line = "" if self.lines is None else f" (line {self.lines[row]})"
        return f"row {row + 1}{line}"

    def place(self, row: int) -> str:
        """The line of a row, or its number if there are no lines."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    def _numbers(self, name: str) -> FloatArray:
        """A column as numbers, NaN for cells that are not finite numbers."""
        array = self.arrays.get(name)
        if array is not None and array.ndim == 1:
            return array.astype(np.float64)
        cells = self.column(name)
        try:
            if isinstance(cells[0], str | int | float):
                column = np.array(cells, dtype=np.float64)
                if column.ndim == 1:
                    return column
        except (TypeError, ValueError, OverflowError):
            pass  # some cell needs a closer look
        return np.array([math.nan if (value := as_number(cell)) is None else value for cell in cells])

    def numbers(self, name: str) -> FloatArray:
        """A column as finite numbers; the error names the row and value of the first other cell."""
        values = self._numbers(name)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong) == 0:
            return values
        cell = self.column(name)[wrong[0]]
        what = "is blank" if cell is None or cell == "" else f"is {_shown(cell)}"
        also = f" (and {plural(len(wrong) - 1, 'more row')} like it)" if len(wrong) > 1 else ""
        where = self.where(int(wrong[0]))
        raise DiversetError(
            f"{self.name}, {where}: column {name!r} {what}{also}; every row needs a finite number there"
        )

    def is_numeric(self, name: str) -> bool:
        """Whether every cell of a column is a finite number."""
        if name not in self.arrays and any(isinstance(cell, bool) for cell in self.columns[name]):
            return False
        return bool(np.isfinite(self._numbers(name)).all())

    def vectors(self, name: str) -> Array | None:
        """A column of lists of numbers, all of one length, as a matrix; None if it holds no lists."""
        array = self.arrays.get(name)
        if array is not None and (array.ndim == 1 or np.isfinite(array).all()):
            return None if array.ndim == 1 else array
        cells = self.column(name)
        if not all(isinstance(cell, list) for cell in cells):
            return None
        for i, cell in enumerate(cells):
            here = f"{self.name}, {self.where(i)}: column {name!r}"
            if len(cell) != len(cells[0]):
                length = f"has {len(cell)} numbers where {self.where(0)} has {len(cells[0])}"
                raise DiversetError(f"{here} {length}; every list must have the same length")
            for entry in cell:
                if not isinstance(entry, int | float) or not math.isfinite(entry):
                    raise DiversetError(f"{here} holds {_shown(entry)}; every entry must be a finite number")
        return np.array(cells, dtype=np.float64).reshape(len(cells), -1)

    def take(self, rows: Iterable[int], *, typed: bool) -> dict[str, list[Any]]:
        """The columns restricted to some rows; with `typed`, CSV columns of numbers become numbers, if not ``007``."""
        wanted = list(rows)
        columns = {}
        for name in self.columns:
            if name in self.arrays:
                columns[name] = self.arrays[name][wanted].tolist()
            else:
                cells = _typed(self.columns[name]) if typed and self.untyped else self.columns[name]
                columns[name] = [cells[row] for row in wanted]
        return columns

    def texts(self, name: str) -> list[str]:
        """A column as text, blank where there is none."""
        return ["" if is_blank(cell) else as_text(cell) for cell in self.column(name)]


def as_number(cell: Any) -> float | None:
    """The finite number that a cell holds, or None."""
    if cell is None or isinstance(cell, list | dict | bytes):
        return None
    try:
        value = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def as_text(cell: Any) -> str:
    """A cell as it would stand in a CSV file."""
    if isinstance(cell, bool | list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return "" if cell is None else str(cell)


def is_blank(cell: Any) -> bool:
    """Whether a cell says that there is no value."""
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in BLANKS)


def read_table(source: Any, stdin: TextIO | None = None, *, encoding: str | None = None) -> Table:
    """Read a file by its extension, standard input (``-``: CSV, JSON or JSON lines), or a pandas or polars frame."""
    if is_frame(source):
        return _from_frame(source)
    if not isinstance(source, str | os.PathLike):
        raise DiversetError(f"the input is of type {type(source).__name__}; give a path, or a pandas or polars frame")
    notes: list[str] = []
    name = os.fspath(source)
    if name == "-":
        name = "standard input"
        text = decode(read_stdin(stdin), name, encoding=encoding, notes=notes)
        return parse_table(text, {"{": ".jsonl", "[": ".json"}.get(text.lstrip()[:1], ".csv"), name, notes)
    kind = kind_of(name)
    if kind not in READABLE or (kind not in TEXT_KINDS and name.lower().endswith(".gz")):
        listed = f"{', '.join(READABLE[:-1])} or {READABLE[-1]}"
        raise DiversetError(f"cannot tell what {name} holds by its name; it must end in {listed}")
    if kind == ".npy":
        features = load_npy(name)
        table = Table(name, {"index": list(range(len(features)))}, len(features), features=features)
    elif kind == ".parquet":
        types, n, arrays, cells = read_parquet(name)
        table = Table(name, _Columns(types, cells), n, types=types, arrays=arrays)
    else:
        return parse_table(read_text(name, encoding=encoding, notes=notes), kind, name, notes)
    if table.n == 0:
        raise DiversetError(f"{name} has no rows")
    return table


def parse_table(text: str, kind: str, name: str, notes: list[str] | None = None, *, plain_texts: bool = False) -> Table:
    """A table from text of one of `TEXT_KINDS`; with `plain_texts`, a JSON string is a row with a column ``text``."""
    if not text.strip():
        raise DiversetError(f"{name} is empty")
    if kind in (".csv", ".tsv"):
        table = _read_csv(text, name)
    else:
        table = _read_json(text, name, lines=kind != ".json", plain_texts=plain_texts)
    if table.n == 0:
        raise DiversetError(f"{name} has no rows")
    table.notes.extend(notes or [])
    return table


def _from_frame(frame: Any) -> Table:
    if len(frame) == 0:
        raise DiversetError("the frame has no rows")
    series = {str(column): frame[column] for column in frame.columns}
    if len(series) < len(list(frame.columns)):
        raise DiversetError("the frame has two columns of one name; give columns different names")
    # Columns of NumPy's own types stay arrays; others become cells.
    kinds = {name: getattr(getattr(values, "dtype", None), "kind", None) for name, values in series.items()}
    arrays = {name: np.asarray(series[name]) for name, kind in kinds.items() if kind in ("i", "u", "f")}
    columns = _Columns(series, lambda column: list(series[column].to_list()))
    return Table("the frame", columns, len(frame), arrays=arrays)


def write_table(
    output: Path,
    columns: Mapping[str, Sequence[Any]],
    types: Mapping[str, Any] | None = None,
    *,
    raw_cells: bool = False,
) -> None:
    """Write columns as CSV (formulas get an apostrophe unless `raw_cells`), JSON lines or Parquet, atomically."""
    kind = output.suffix.lower()
    with atomic_write(output) as temporary:
        if kind == ".parquet":
            return write_parquet(temporary, columns, types or {}, as_text)
        with temporary.open("w", encoding="utf-8", errors="replace", newline="") as file:
            if kind == ".csv":
                file.write(csv_text(columns, raw_cells))
                return
            for row in zip(*columns.values(), strict=True):
                values = (None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in row)
                record = dict(zip(columns, values, strict=True))
                file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")


def csv_text(columns: Mapping[str, Sequence[Any]], raw_cells: bool) -> str:
    """Columns as CSV; unless `raw_cells`, what a spreadsheet would execute as a formula gets an apostrophe in front."""
    file = io.StringIO(newline="")
    rows = (columns, *zip(*columns.values(), strict=True))
    shown = as_text if raw_cells else _harmless
    csv.writer(file, lineterminator="\n").writerows([shown(cell) for cell in row] for row in rows)
    return file.getvalue()


def _typed(cells: list[Any]) -> list[Any]:
    """Text cells as numbers, if all of them are and can be written back unchanged."""
    texts = [cell for cell in cells if not (isinstance(cell, str) and not cell.strip())]
    if not texts or not all(isinstance(cell, str) and _PLAIN_NUMBER.fullmatch(cell) for cell in texts):
        return cells
    whole = all(re.fullmatch(r"-?\d{1,18}", cell) for cell in texts)
    return [None if not cell.strip() else (int(cell) if whole else float(cell)) for cell in cells]


def _harmless(cell: Any) -> str:
    """A cell for CSV that no spreadsheet executes."""
    text = as_text(cell)
    if isinstance(cell, str) and len(text) > 1 and _FORMULA.match(text) and as_number(text) is None:
        return f"'{text}"
    return text


def plain_cell(text: str) -> str:
    """A cell of a CSV file without the apostrophe that was put in front of a formula.

    >>> plain_cell("'=SUM(A1)"), plain_cell("'twas"), plain_cell("x")
    ('=SUM(A1)', "'twas", 'x')
    """
    return text[1:] if text[:1] == "'" and _FORMULA.match(text, 1) else text


def _read_csv(text: str, name: str) -> Table:
    first = next(line for line in text.splitlines() if line.strip())
    # The separator is the one that splits the header into most columns; of equals, the comma.
    try:
        delimiter = max(",;\t", key=lambda mark: len(_csv_rows(first, mark)[0][1]))
        rows = _csv_rows(text, delimiter)
    except csv.Error as error:
        raise DiversetError(f"{name} is not a CSV file: {error}") from error
    rows = [(line, row) for line, row in rows if any(cell and not cell.isspace() for cell in row)]
    if not rows:
        raise DiversetError(f"{name} has no header: all its fields are empty")
    header = [cell.strip() for cell in rows[0][1]]
    twice = next((cell for cell, count in Counter(header).items() if count > 1), None)
    if twice is not None:
        raise DiversetError(f"{name}: the header has the column {twice!r} twice; give columns different names")
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise DiversetError(
                f"{name}, line {line}: {plural(len(row), 'field')} where the header has {len(header)}; "
                "fields that contain the separator need quotes"
            )
    if len(rows) == 1:
        raise DiversetError(f"{name} has a header and no rows")
    columns = dict(zip(header, map(list, zip(*(row for _, row in rows[1:]), strict=True)), strict=True))
    return Table(name, columns, len(rows) - 1, lines=[line for line, _ in rows[1:]], untyped=True)


def _csv_rows(text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """Rows of a CSV file, each with the line it begins on; fields may have any length."""
    try:
        return list(_numbered_rows(text, delimiter))
    except csv.Error as error:
        if "field limit" not in str(error):
            raise
    # The limit is global in the csv module, so it is raised only for files that need it.
    with _FIELD_LIMIT:
        limit = csv.field_size_limit(len(text))
        try:
            return list(_numbered_rows(text, delimiter))
        finally:
            csv.field_size_limit(limit)


def _numbered_rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    begin = 1
    for row in reader:
        yield begin, row
        begin = reader.line_num + 1


def _read_json(text: str, name: str, *, lines: bool, plain_texts: bool) -> Table:
    """Rows of JSON lines, or of one JSON value: a list of objects, or an object of columns."""
    if lines:
        # Not splitlines: text may hold other characters that some call line ends.
        numbered = [(i, line) for i, line in enumerate(text.split("\n"), start=1) if line.strip()]
        numbers = [i for i, _ in numbered]
        records = [_loads(line, f"{name}, line {i}") for i, line in numbered]
    else:
        first = text.lstrip().partition("\n")[0].strip()
        if len(first) < len(text.strip()) and first.startswith("{") and first.endswith("}"):
            return _read_json(text, name, lines=True, plain_texts=plain_texts)  # JSON lines under another name
        whole = _loads(text, name)
        if isinstance(whole, dict) and whole and all(isinstance(value, list) for value in whole.values()):
            if len({len(value) for value in whole.values()}) == 1:
                return Table(name, whole, len(next(iter(whole.values()))))
        records = whole if isinstance(whole, list) else [whole]
        numbers = None
    if plain_texts:
        records = [{"text": record} if isinstance(record, str) else record for record in records]
    counts: Counter[str] = Counter()
    for i, record in enumerate(records):
        if not isinstance(record, dict):
            where = f"entry {i + 1}" if numbers is None else f"line {numbers[i]}"
            remedy = "a list of {...}" if numbers is None else "one {...} a line"
            raise DiversetError(f"{name}, {where}: {_shown(record)} is not an object; write {remedy}")
        counts.update(record.keys())
    # Where every row has keys of its own, looking at all columns would take quadratic time.
    common = [key for key, count in counts.items() if 50 * count >= len(records)]
    columns = _Columns(counts, lambda key: [record.get(key) for record in records])
    return Table(name, columns, len(records), lines=numbers, common=common)


def _loads(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "nested too deeply")
        raise DiversetError(f"{where}: not valid JSON ({reason})") from error


def _listed(names: Iterable[str]) -> str:
    words = [repr(name) for name in names]
    if len(words) > 20:
        words = [*words[:20], f"{len(words) - 20} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _shown(cell: Any) -> str:
    text = repr(cell) if isinstance(cell, str) else json.dumps(cell, default=str)
    return text if len(text) <= 40 else f"{text[:37]}..."
