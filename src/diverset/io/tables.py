"""Tables as people keep them: CSV, JSON lines, Parquet and NPY, read with errors that name the place.

Cells stay as they were read, so that a row written back is the row that came in; numbers are looked at only where a
column is asked for as numbers.
"""

import csv
import io
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from diverset._typing import Array, FloatArray
from diverset.errors import DiversetError, MissingExtraError
from diverset.io.files import atomic_write, check_writable

__all__ = ["Table", "as_number", "as_text", "check_output", "is_blank", "load_npy", "read_table", "write_table"]

READABLE = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".npy")
WRITABLE = (".csv", ".jsonl", ".parquet", ".html")
DELIMITERS = ",;\t"
#: What people write where there is no value.
BLANKS = frozenset({"", "na", "n/a", "nan", "nil", "none", "null", "-", "?"})
#: Numbers that can be written without quotes and read back as they were; "007" is a name.
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file, by columns.

    Parameters
    ----------
    name : str
        The file, as the user wrote it.
    columns : dict of list
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
    """

    name: str
    columns: dict[str, list[Any]]
    n: int
    lines: list[int] | None = None
    features: Array | None = None
    types: Mapping[str, Any] | None = None
    untyped: bool = False

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

    def numbers(self, name: str) -> FloatArray:
        """A column as finite numbers; refuses the first cell that is none, naming row and value."""
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
        cells = self.columns[name]
        if any(isinstance(cell, bool) for cell in cells):
            return False
        return _fast_numbers(cells) is not None or all(as_number(cell) is not None for cell in cells)

    def vectors(self, name: str) -> FloatArray | None:
        """A column of lists of numbers, all of one length, as a matrix; None if it holds no lists."""
        cells = self.column(name)
        if not cells or not all(isinstance(cell, list) for cell in cells):
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
        for name, cells in self.columns.items():
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


def read_table(name: str, stdin: TextIO | None = None) -> Table:
    """Read a file by its extension, or CSV or JSON lines from standard input.

    Parameters
    ----------
    name : str
        Path of the file; ``-`` is standard input.
    stdin : text stream, optional
        What ``-`` reads; the process's own by default.

    Returns
    -------
    Table
        At least one row.
    """
    if name == "-":
        stream = sys.stdin if stdin is None else stdin
        raw = stream.buffer.read() if hasattr(stream, "buffer") else stream.read().encode()
        text = _decode(raw, "standard input")
        first = text.lstrip()[:1]
        table = _read_jsonl(text, "standard input") if first == "{" else _read_csv(text, "standard input")
    else:
        path = Path(name)
        kind = path.suffix.lower()
        if kind not in READABLE:
            raise DiversetError(
                f"cannot tell what {name} holds by its name; it must end in {_listed(READABLE, last='or', quote=False)}"
            )
        if kind == ".npy":
            features = load_npy(path)
            table = Table(name, {"index": list(range(len(features)))}, len(features), features=features)
        elif kind == ".parquet":
            table = _read_parquet(path)
        else:
            text = _decode(_bytes_of(path), name)
            table = _read_jsonl(text, name) if kind in (".jsonl", ".ndjson") else _read_csv(text, name)
    if table.n == 0:
        raise DiversetError(f"{table.name} has no rows")
    return table


def load_npy(path: Path) -> Array:
    """A matrix of real numbers, mapped from an NPY file; one row per item, every entry finite."""
    with _reading(path):
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except OSError:
            raise
        except Exception as error:  # NumPy parses the header of a damaged file with Python's own parser
            if "bject" in str(error):
                raise DiversetError(
                    f"{path} holds pickled Python objects, which could run any code when read; "
                    "save a plain array of numbers"
                ) from error
            raise DiversetError(f"{path} is not an NPY file, or is damaged") from error
    if not isinstance(array, np.ndarray):
        array.close()
        raise DiversetError(f"{path} is an archive of arrays; save one array with numpy.save")
    if array.ndim != 2:
        raise DiversetError(f"{path} has shape {array.shape}; it must be (n_items, n_features)")
    if array.dtype.kind not in "biuf":
        raise DiversetError(f"{path} holds {array.dtype} entries; they must be real numbers")
    if array.shape[1] == 0:
        raise DiversetError(f"{path} has shape {array.shape}: no features")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    step = max(1, (1 << 22) // array.shape[1])
    for start in range(0, len(array), step):
        wrong = np.argwhere(~np.isfinite(array[start : start + step]))
        if len(wrong):
            i, j = wrong[0]
            raise DiversetError(
                f"{path}: entry [{start + i}, {j}] is {array[start + i, j]}; every entry must be finite"
            )
    matrix: Array = array
    return matrix


def check_output(output: Path, kinds: Sequence[str] = WRITABLE) -> None:
    """Refuse a file name that cannot be written, before the work and not after it."""
    kind = output.suffix.lower()
    if kind not in kinds:
        raise DiversetError(f"cannot write {output}: its name must end in {_listed(kinds, last='or', quote=False)}")
    if kind == ".parquet":
        _pyarrow()
    check_writable(output)


def write_table(output: Path, columns: Mapping[str, Sequence[Any]], types: Mapping[str, Any] | None = None) -> None:
    """Write columns as CSV, JSON lines or Parquet by the extension; the file appears whole or not at all.

    Parameters
    ----------
    output : Path
        The file.
    columns : mapping of str to sequence
        Cells, all columns of one length.
    types : mapping of str to pyarrow.DataType, optional
        Types of Parquet columns; found out where not given.
    """
    kind = output.suffix.lower()
    with atomic_write(output) as temporary:
        if kind == ".csv":
            with temporary.open("w", encoding="utf-8", errors="replace", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(columns)
                writer.writerows([as_text(cell) for cell in row] for row in zip(*columns.values(), strict=True))
        elif kind == ".jsonl":
            with temporary.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
                for row in zip(*columns.values(), strict=True):
                    record = {name: _jsonable(cell) for name, cell in zip(columns, row, strict=True)}
                    file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
        else:
            _write_parquet(temporary, columns, types or {})


def _typed(cells: list[Any]) -> list[Any]:
    """Text cells as numbers, if all of them are and can be written back unchanged."""
    texts = [cell for cell in cells if not (isinstance(cell, str) and not cell.strip())]
    if not texts or not all(isinstance(cell, str) and _PLAIN_NUMBER.fullmatch(cell) for cell in texts):
        return cells
    whole = all(re.fullmatch(r"-?\d{1,18}", cell) for cell in texts)
    return [None if not cell.strip() else (int(cell) if whole else float(cell)) for cell in cells]


def _jsonable(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _write_parquet(path: Path, columns: Mapping[str, Sequence[Any]], types: Mapping[str, Any]) -> None:
    pa = _pyarrow()
    import pyarrow.parquet as parquet

    arrays = {}
    for name, cells in columns.items():
        try:
            arrays[name] = pa.array(cells, type=types.get(name))
        except (pa.ArrowException, OverflowError):
            # Parquet columns have one type; JSON's need not.
            arrays[name] = pa.array([None if cell is None else as_text(cell) for cell in cells])
    parquet.write_table(pa.table(arrays), path)


def _read_csv(text: str, name: str) -> Table:
    if not text.strip():
        raise DiversetError(f"{name} is empty")
    with _long_fields():
        try:
            rows = list(_csv_rows(text))
        except csv.Error as error:
            raise DiversetError(f"{name} is not a CSV file: {error}") from error
    if not rows:
        raise DiversetError(f"{name} has no header: all its fields are empty")
    header = [cell.strip() for cell in rows[0][1]]
    twice = next((cell for i, cell in enumerate(header) if cell in header[:i]), None)
    if twice is not None:
        raise DiversetError(f"{name}: the header has the column {twice!r} twice; give columns different names")
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


def _csv_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not empty, each with the line it begins on."""
    first = next(line for line in text.splitlines() if line.strip())
    # The separator is the one that splits the header into most columns; of equals, the comma.
    delimiter = max(DELIMITERS, key=lambda mark: len(next(csv.reader([first], delimiter=mark))))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    begin = 1
    for row in reader:
        if row and any(cell.strip() for cell in row):
            yield begin, row
        begin = reader.line_num + 1


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let fields be longer than the csv module's 128 KiB, and put its limit back."""
    before = csv.field_size_limit(1 << 30)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _read_jsonl(text: str, name: str) -> Table:
    if not text.strip():
        raise DiversetError(f"{name} is empty")
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    # Not splitlines: text may hold other characters that some call line ends.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "nested too deeply")
            raise DiversetError(f"{name}, line {number}: not valid JSON ({reason})") from error
        if not isinstance(record, dict):
            raise DiversetError(f"{name}, line {number}: {_shown(record)} is not an object; write one {{...}} a line")
        records.append(record)
        lines.append(number)
    names = list(dict.fromkeys(key for record in records for key in record))
    return Table(name, {key: [record.get(key) for record in records] for key in names}, len(records), lines=lines)


def _read_parquet(path: Path) -> Table:
    pa = _pyarrow()
    import pyarrow.parquet as parquet

    with _reading(path):
        data = _bytes_of(path)
        if not data:
            raise DiversetError(f"{path} is empty")
        try:
            table = parquet.read_table(pa.BufferReader(data))
            types = {field.name: field.type for field in table.schema}
            columns = (
                {name: table.column(name).to_pylist() for name in types} if len(types) == table.num_columns else {}
            )
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise DiversetError(f"{path} is not a Parquet file, or is damaged") from error
    if len(types) < table.num_columns:
        raise DiversetError(f"{path} has two columns of one name; give columns different names")
    return Table(str(path), columns, table.num_rows, types=types)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError('Parquet files need pyarrow: pip install "diverset[tables]"') from error
    return pyarrow


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say what could not be read in words."""
    try:
        yield
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else (error.strerror or str(error))
        raise DiversetError(f"cannot read {path}: {reason[:1].lower() + reason[1:]}") from error


def _bytes_of(path: Path) -> bytes:
    with _reading(path):
        return path.read_bytes()


def _decode(raw: bytes, name: str) -> str:
    mark = raw[:2]
    encoding = "utf-16" if mark in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"  # as spreadsheets save
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DiversetError(f"{name}, line {line}: not UTF-8 text; save the file as UTF-8") from error


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
