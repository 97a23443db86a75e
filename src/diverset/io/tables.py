"""Tables as people keep them: CSV, JSON, JSON lines, Parquet, NPY and frames, read with errors that name the place.

Cells stay as they were read, so that a row written back is the row that came in; numbers are looked at only where a
column is used as numbers. Numbers of a Parquet file stay in arrays, and become Python objects only where asked for.
"""

import csv
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from diverset._typing import Array, FloatArray
from diverset.errors import DiversetError
from diverset.io.binary import load_npy, read_parquet, write_parquet
from diverset.io.files import (
    atomic_write,
    decode,
    kind_of,
    read_bytes,
    read_stdin,
)

__all__ = [
    "Table",
    "as_number",
    "as_text",
    "from_frame",
    "is_blank",
    "is_frame",
    "parse_table",
    "plain_cell",
    "read_table",
    "write_table",
]

#: Kinds of tables that are text, and may be compressed (``.csv.gz``).
TEXT_KINDS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
READABLE = (*TEXT_KINDS, ".parquet", ".npy")
DELIMITERS = ",;\t"
#: What people write where there is no value.
BLANKS = frozenset({"", "na", "n/a", "nan", "nil", "none", "null", "-", "?"})
#: Numbers that can be written without quotes and read back as they were; "007" is a name.
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
#: Cells that a spreadsheet would execute as a formula.
_FORMULA = re.compile(r"[=+\-@\t\r]")


class _Columns(Mapping[str, list[Any]]):
    """Columns that become lists of cells when they are first asked for."""

    def __init__(self, names: Iterable[str], cells: Callable[[str], list[Any]]) -> None:
        self._known: dict[str, list[Any] | None] = dict.fromkeys(names)
        self._cells = cells

    def __getitem__(self, name: str) -> list[Any]:
        found = self._known[name]
        if found is None:
            found = self._known[name] = self._cells(name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file, by columns.

    Parameters
    ----------
    name : str
        The file, as the user wrote it.
    columns : mapping of str to list
        Cells as they were read: text from a CSV file, anything JSON or Parquet can hold from those.
    n : int
        Number of rows.
    lines : list of int, optional
        Line of the file on which each row begins.
    features : ndarray of shape (n, n_features), optional
        What an NPY file holds; its only column is ``index``, counted from 0.
    types : dict, optional
        Arrow types of the columns, for writing Parquet as it was read.
    untyped : bool
        Whether the cells are text only because the format knows nothing else.
    arrays : dict of ndarray
        Columns of numbers, of shape (n,), and of vectors, of shape (n, length), of files that have types.
    common : list of str, optional
        Columns that enough rows have to be worth a guess; all of them by default.
    notes : list of str
        Remarks on how the file was read.
    """

    name: str
    columns: Mapping[str, list[Any]]
    n: int
    lines: list[int] | None = None
    features: Array | None = None
    types: Mapping[str, Any] | None = None
    untyped: bool = False
    arrays: dict[str, Array] = field(default_factory=dict)
    common: list[str] | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def guessable(self) -> list[str]:
        """Columns whose meaning may be guessed."""
        return list(self.columns) if self.common is None else self.common

    def column(self, name: str) -> list[Any]:
        """The cells of a column; an unknown name is answered with the names there are."""
        if name not in self.columns:
            if self.features is not None:
                raise DiversetError(f"{self.name} has no column {name!r}: an NPY file holds features only")
            raise DiversetError(f"{self.name} has no column {name!r}; its columns are {_listed(self.columns)}")
        return self.columns[name]

    def where(self, row: int) -> str:
        """How to find a row, for messages; people and editors count from 1."""
        if self.features is not None:
            return f"index {row}"
        line = "" if self.lines is None else f" (line {self.lines[row]})"
        return f"row {row + 1}{line}"

    def place(self, row: int) -> str:
        """The line or the number of a row, for names."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    def numbers(self, name: str) -> FloatArray:
        """A column as finite numbers; refuses the first cell that is none, naming row and value."""
        array = self.arrays.get(name)
        if array is not None and array.ndim == 1 and np.isfinite(array).all():
            return array.astype(np.float64)
        cells = self.column(name)
        column = _fast_numbers(cells)
        if column is not None:
            return column
        values = [as_number(cell) for cell in cells]
        wrong = [i for i, value in enumerate(values) if value is None]
        if not wrong:
            return np.array(values, dtype=np.float64)
        cell = cells[wrong[0]]
        what = "is blank" if cell is None or cell == "" else f"is {_shown(cell)}"
        also = f" (and {_plural(len(wrong) - 1, 'more row')} like it)" if len(wrong) > 1 else ""
        raise DiversetError(
            f"{self.name}, {self.where(wrong[0])}: column {name!r} {what}{also}; every row needs a finite number there"
        )

    def is_numeric(self, name: str) -> bool:
        """Whether every cell of a column is a finite number."""
        if name in self.arrays:
            return self.arrays[name].ndim == 1 and bool(np.isfinite(self.arrays[name]).all())
        cells = self.columns[name]
        if any(isinstance(cell, bool) for cell in cells):
            return False
        return _fast_numbers(cells) is not None or all(as_number(cell) is not None for cell in cells)

    def vectors(self, name: str) -> Array | None:
        """A column of lists of numbers, all of one length, as a matrix; None if it holds no lists."""
        array = self.arrays.get(name)
        if array is not None and (array.ndim == 1 or np.isfinite(array).all()):
            return None if array.ndim == 1 else array
        cells = self.column(name)
        if not all(isinstance(cell, list) for cell in cells):
            return None
        for i, cell in enumerate(cells):
            if len(cell) != len(cells[0]):
                raise DiversetError(
                    f"{self.name}, {self.where(i)}: column {name!r} has {len(cell)} numbers where "
                    f"{self.where(0)} has {len(cells[0])}; every list must have the same length"
                )
            for entry in cell:
                if not isinstance(entry, int | float) or not math.isfinite(entry):
                    raise DiversetError(
                        f"{self.name}, {self.where(i)}: column {name!r} holds {_shown(entry)}; "
                        "every entry must be a finite number"
                    )
        return np.array(cells, dtype=np.float64).reshape(len(cells), -1)

    def take(self, rows: Iterable[int], *, typed: bool) -> dict[str, list[Any]]:
        """The columns over some rows.

        With `typed`, a CSV column that holds only numbers comes as numbers, unless that would change how one is
        written (``007``).
        """
        wanted = list(rows)
        columns = {}
        for name in self.columns:
            if name in self.arrays:
                columns[name] = self.arrays[name][wanted].tolist()
                continue
            cells = self.columns[name]
            source = _typed(cells) if typed and self.untyped else cells
            columns[name] = [source[row] for row in wanted]
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
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool | list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return str(cell)


def is_blank(cell: Any) -> bool:
    """Whether a cell says that there is no value."""
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in BLANKS)


def read_table(
    source: Any,
    stdin: TextIO | None = None,
    *,
    encoding: str | None = None,
    max_bytes: int | None = None,
) -> Table:
    """Read a file by its extension, standard input, or a frame.

    Parameters
    ----------
    source : path-like, or pandas or polars frame
        ``.csv``, ``.tsv``, ``.json``, ``.jsonl``, each also with ``.gz``, ``.parquet`` or ``.npy``; ``-`` is standard
        input, which holds CSV, JSON or JSON lines.
    stdin : text stream, optional
        What ``-`` reads; the process's own by default.
    encoding : str, optional
        Encoding of text; see :func:`diverset.io.files.decode`.
    max_bytes : int, optional
        Largest size; see :func:`diverset.io.files.read_bytes`.

    Returns
    -------
    Table
        At least one row.
    """
    if is_frame(source):
        return from_frame(source)
    if not isinstance(source, str | os.PathLike):
        raise DiversetError(f"the input is of type {type(source).__name__}; give a path, or a pandas or polars frame")
    notes: list[str] = []
    name = os.fspath(source)
    if name == "-":
        text = decode(read_stdin(stdin, max_bytes=max_bytes), "standard input", encoding=encoding, notes=notes)
        return parse_table(text, _kind_by_content(text), "standard input", notes)
    kind = kind_of(name)
    if kind not in READABLE or (kind not in TEXT_KINDS and name.lower().endswith(".gz")):
        raise DiversetError(
            f"cannot tell what {name} holds by its name; it must end in {_listed(READABLE, last='or', quote=False)}"
        )
    if kind == ".npy":
        features = load_npy(name)
        table = Table(name, {"index": list(range(len(features)))}, len(features), features=features)
    elif kind == ".parquet":
        types, n, arrays, cells = read_parquet(name)
        table = Table(name, _Columns(types, cells), n, types=types, arrays=arrays)
    else:
        text = decode(read_bytes(name, max_bytes=max_bytes), name, encoding=encoding, notes=notes)
        return parse_table(text, kind, name, notes)
    if table.n == 0:
        raise DiversetError(f"{name} has no rows")
    return table


def parse_table(text: str, kind: str, name: str, notes: list[str] | None = None, *, plain_texts: bool = False) -> Table:
    """A table from text of one of the kinds ``.csv``, ``.tsv``, ``.json`` and ``.jsonl``; at least one row.

    With `plain_texts`, a JSON string in place of an object is a row with a column ``text``.
    """
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


def _kind_by_content(text: str) -> str:
    return {"{": ".jsonl", "[": ".json"}.get(text.lstrip()[:1], ".csv")


def is_frame(source: Any) -> bool:
    """Whether an object is a frame of pandas or polars, by what it can do."""
    return hasattr(source, "columns") and hasattr(source, "__len__") and hasattr(source, "__getitem__")


def from_frame(frame: Any, name: str = "the frame") -> Table:
    """A table from a pandas or polars frame."""
    if len(frame) == 0:
        raise DiversetError(f"{name} has no rows")
    series = {str(column): frame[column] for column in frame.columns}
    if len(series) < len(list(frame.columns)):
        raise DiversetError(f"{name} has two columns of one name; give columns different names")
    arrays = {}
    for column, values in series.items():
        kind = getattr(getattr(values, "dtype", None), "kind", None)
        if kind in ("i", "u", "f"):  # NumPy's own types; others become cells
            arrays[column] = np.asarray(values)
    columns = _Columns(series, lambda column: list(series[column].to_list()))
    return Table(name, columns, len(frame), arrays=arrays)


def write_table(
    output: Path,
    columns: Mapping[str, Sequence[Any]],
    types: Mapping[str, Any] | None = None,
    *,
    raw_cells: bool = False,
) -> None:
    """Write columns as CSV, JSON lines or Parquet by the extension; the file appears whole or not at all.

    Parameters
    ----------
    output : Path
        The file.
    columns : mapping of str to sequence
        Cells, all columns of one length.
    types : mapping of str to pyarrow.DataType, optional
        Types of Parquet columns; found out where not given.
    raw_cells : bool
        Write texts to CSV as they are. By default, a text that a spreadsheet would execute as a formula, since it
        begins with ``=``, ``+``, ``-``, ``@`` or a tab and is no number, gets an apostrophe in front.
    """
    shown = as_text if raw_cells else _harmless
    kind = output.suffix.lower()
    with atomic_write(output) as temporary:
        if kind == ".csv":
            with temporary.open("w", encoding="utf-8", errors="replace", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow([shown(name) for name in columns])
                writer.writerows([shown(cell) for cell in row] for row in zip(*columns.values(), strict=True))
        elif kind == ".jsonl":
            with temporary.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
                for row in zip(*columns.values(), strict=True):
                    record = {name: _jsonable(cell) for name, cell in zip(columns, row, strict=True)}
                    file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
        else:
            write_parquet(temporary, columns, types or {}, as_text)


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
    """A cell of a CSV file as it was before an apostrophe was put in front of a formula.

    >>> plain_cell("'=SUM(A1)"), plain_cell("'twas"), plain_cell("x")
    ('=SUM(A1)', "'twas", 'x')
    """
    return text[1:] if text[:1] == "'" and _FORMULA.match(text, 1) else text


def _jsonable(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _read_csv(text: str, name: str) -> Table:
    first = next(line for line in text.splitlines() if line.strip())
    # The separator is the one that splits the header into most columns; of equals, the comma.
    delimiter = max(DELIMITERS, key=lambda mark: sum(1 for _ in _fields(first, mark)))
    try:
        try:
            rows = _filled(_plain_rows(text, delimiter))
        except csv.Error as error:
            if "field limit" not in str(error):
                raise
            rows = _filled(_long_rows(text, delimiter))
    except csv.Error as error:
        raise DiversetError(f"{name} is not a CSV file: {error}") from error
    if not rows:
        raise DiversetError(f"{name} has no header: all its fields are empty")
    header = [cell.strip() for cell in rows[0][1]]
    seen: set[str] = set()
    for cell in header:
        if cell in seen:
            raise DiversetError(f"{name}: the header has the column {cell!r} twice; give columns different names")
        seen.add(cell)
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise DiversetError(
                f"{name}, line {line}: {_plural(len(row), 'field')} where the header has {len(header)}; "
                "fields that contain the separator need quotes"
            )
    if len(rows) == 1:
        raise DiversetError(f"{name} has a header and no rows")
    columns = dict(zip(header, map(list, zip(*(row for _, row in rows[1:]), strict=True)), strict=True))
    return Table(name, columns, len(rows) - 1, lines=[line for line, _ in rows[1:]], untyped=True)


def _filled(rows: Iterable[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    return [(line, row) for line, row in rows if any(cell and not cell.isspace() for cell in row)]


def _plain_rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows of a CSV file, each with the line it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    begin = 1
    for row in reader:
        yield begin, row
        begin = reader.line_num + 1


def _long_rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """:func:`_plain_rows` for fields longer than the limit of the csv module, which belongs to the whole process."""
    begin = line = 1
    row: list[str] = []
    for cell, end, lines in _fields(text, delimiter):
        row.append(cell)
        line += lines
        if end != delimiter:
            yield begin, row if row != [""] else []
            begin, row = line, []


def _fields(text: str, delimiter: str) -> Iterator[tuple[str, str, int]]:
    """Fields of a CSV file: the cell, the separator or line end after it, and the number of line ends passed."""
    field_or_quoted = re.compile(
        rf'(?:"((?:[^"]++|"")*+)"?([^{delimiter}\r\n]*+)|([^{delimiter}\r\n]*+))({delimiter}|\r\n|\r|\n|\Z)'
    )
    at = 0
    while True:
        match = field_or_quoted.match(text, at)
        assert match is not None  # every text matches
        quoted, rest, plain, end = match.groups()
        cell = plain if quoted is None else quoted.replace('""', '"') + rest
        lines = (0 if quoted is None else len(re.findall(r"\r\n|\r|\n", quoted))) + (end not in ("", delimiter))
        yield cell, end, lines
        at = match.end()
        if not end or (at == len(text) and end != delimiter):
            return


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
    counts: dict[str, int] = {}
    for i, record in enumerate(records):
        if not isinstance(record, dict):
            where = f"entry {i + 1}" if numbers is None else f"line {numbers[i]}"
            remedy = "a list of {...}" if numbers is None else "one {...} a line"
            raise DiversetError(f"{name}, {where}: {_shown(record)} is not an object; write {remedy}")
        for key in record:
            counts[key] = counts.get(key, 0) + 1
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


def _fast_numbers(cells: list[Any]) -> FloatArray | None:
    """Finite numbers without a look at each cell; None where there may be something else."""
    if not isinstance(cells[0], str | int | float) or cells[0] == "":
        return None
    try:
        column = np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return column if column.ndim == 1 and np.isfinite(column).all() else None


def _listed(names: Iterable[str], *, last: str = "and", quote: bool = True) -> str:
    words = [repr(name) if quote else name for name in names]
    if quote and len(words) > 20:
        words = [*words[:20], f"{len(words) - 20} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _shown(cell: Any, width: int = 40) -> str:
    text = repr(cell) if isinstance(cell, str) else json.dumps(cell, default=str)
    return text if len(text) <= width else f"{text[: width - 3]}..."
