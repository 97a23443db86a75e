"""Rows of a file, read and turned into features; with ``--dask``, rows in blocks, of which only the picks are read."""

import os
import warnings
from collections.abc import Callable, Container, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import diverset as dv
from diverset._typing import Array, FloatArray, IntArray
from diverset.cli.select import Request
from diverset.errors import DiversetError, DiversetWarning, EnvironmentFault, MissingExtraError
from diverset.io import features as reading
from diverset.io.binary import load_npy
from diverset.io.files import kind_of, read_text
from diverset.io.tables import READABLE, Table, is_blank, plain_cell, read_table
from diverset.numerics.validation import check_fits_in_memory, is_sparse
from diverset.text.tfidf import tfidf

__all__ = ["Candidates", "connected", "find_rows", "pick_blocks", "read_candidates", "read_ids"]


@dataclass(eq=False)
class Candidates:
    """The rows that can be picked: their numbers in the table, and an entry of features and quality for each."""

    table: Table
    rows: IntArray
    features: Any
    similarity: str
    compared_by: str
    quality: FloatArray | None
    quality_name: str | None
    id_name: str | None
    text_name: str | None
    axes: tuple[str, str] | None = None
    notes: list[str] = field(default_factory=list)
    #: Number of rows of the file, if only some of them are in the table.
    total: int | None = None

    @property
    def n(self) -> int:
        """Number of rows that could be picked."""
        return len(self.rows) if self.total is None else self.total

    def size(self, request: Request) -> int:
        """How many rows to pick."""
        return request.size(self.table.n, len(self.rows), self.table.name)

    def label(self, position: int) -> str:
        """The id of a row, or its number."""
        row = int(self.rows[position])
        return str(row + 1) if self.id_name is None else str(self.table.columns[self.id_name][row])

    def text(self, position: int) -> str:
        """The text of a row, if there is a column of text."""
        if self.text_name is None:
            return ""
        cell = self.table.columns[self.text_name][int(self.rows[position])]
        return "" if is_blank(cell) else " ".join(str(cell).split())


def read_candidates(
    request: Request,
    *,
    reserved: Iterable[str | None] = (),
    within: str | None = None,
    step: Callable[[str], None] = lambda message: None,
) -> Candidates:
    """Read the file and turn its rows into features; remarks on guesses and skipped rows are in ``notes``.

    Columns in `reserved` are not guessed as features. Ids must differ in all rows with the same value of `within`.
    """
    table = read_table(request.file, encoding=request.encoding)
    quality = None if request.quality is None else table.numbers(request.quality)
    if request.id is not None:
        table.column(request.id)
    id_name = request.id or reading.guess_id(table, within)
    taken = {name for name in (request.quality, id_name, *reserved) if name is not None}
    notes = list(table.notes)
    text, columns = request.text, request.features
    if not (text or columns or request.embeddings or table.features is not None):
        text, columns, note = reading.guess_features(table, taken, request.model is not None)
        notes.append(note)
    features: Any = table.features
    by = "its features"
    keep = np.ones(table.n, dtype=bool)
    axes = None
    similarity = request.similarity or "cosine"
    if text is not None:
        step("Reading the texts")
        texts = table.texts(text)
        if request.model is None:
            features, by = tfidf(texts, sublinear=True, floor=2.0)[0], f"words of {text}"
        else:
            features, by = reading.embed(texts, request.model), f"embeddings by {request.model} of {text}"
        keep = reading.rows_with_words(table, text, texts, features, notes)
        features = features[keep]
        if similarity == "rbf" and is_sparse(features):
            features = features.toarray()
    elif columns is not None:
        names = reading.find_columns(table, columns)
        features, vectors = reading.columns_side_by_side(table, names)
        by = ", ".join(names) if len(names) <= 6 else f"{len(names)} columns, {names[0]} to {names[-1]}"
        if not vectors:
            similarity = request.similarity or "rbf"
            axes = (names[0], names[1]) if len(names) == 2 else None
            if similarity == "rbf":
                features = reading.standardized(features)
                by = f"{by} (standardised)"
    elif request.embeddings is not None:
        features, by = load_npy(request.embeddings), f"embeddings in {request.embeddings}"
        if len(features) != table.n:
            raise DiversetError(
                f"{request.embeddings} has {len(features)} rows and {table.name} has {table.n}; there must be one "
                "embedding for each row"
            )
    if similarity == "rbf":
        check_fits_in_memory(
            24 * len(features) ** 2,
            what=f"comparing {len(features)} rows with --similarity rbf",
            remedy="--similarity cosine needs no such matrix",
        )
    if similarity == "cosine" and text is None:
        notes += _without_direction(table, features)
    return Candidates(
        table=table,
        rows=np.flatnonzero(keep),
        features=features,
        similarity=similarity,
        compared_by=by,
        quality=None if quality is None else quality[keep],
        quality_name=request.quality,
        id_name=id_name,
        text_name=text or reading.guess_text(table, taken),
        axes=axes,
        notes=notes,
    )


def find_rows(wanted: str | None, candidates: Candidates, option: str, encoding: str | None) -> IntArray:
    """Positions of the candidates named by a list of ids or a file of ids; see :func:`read_ids`."""
    table = candidates.table
    found = np.zeros(table.n, dtype=bool)
    if wanted is None:
        return np.flatnonzero(found)
    ids = read_ids(wanted, candidates.id_name, option, encoding)
    places: dict[str, list[int]] = {}
    names = range(1, table.n + 1) if candidates.id_name is None else table.columns[candidates.id_name]
    for row, name in enumerate(names):
        places.setdefault(str(name).strip(), []).append(row)
    refuse_unknown(ids, places, wanted, option, candidates.id_name, table.name, table.n)
    for name in ids:
        found[places.get(name, [])] = True
    return np.flatnonzero(found[candidates.rows])


def read_ids(wanted: str, id_name: str | None, option: str, encoding: str | None = None) -> list[str]:
    """Ids from a list with commas, or from a file: the id column of a table, or one id per line of any other file."""
    if not os.path.isfile(wanted):
        ids = wanted.split(",")
    elif kind_of(wanted) in READABLE:
        if id_name is None:
            raise DiversetError(f"{option} {wanted}: give the column of ids with --id")
        ids = [plain_cell(str(cell)) for cell in read_table(wanted, encoding=encoding).column(id_name)]
    else:
        ids = read_text(wanted, encoding=encoding).split("\n")
    return [name.strip() for name in ids if name.strip()]


def refuse_unknown(
    ids: list[str], known: Container[str], wanted: str, option: str, id_name: str | None, name: str, n: int
) -> None:
    """Raise an error for unknown ids in a list; warn of those in a file, which may contain older items."""
    unknown = [i for i in ids if i not in known]
    if not unknown:
        return
    if os.path.isfile(wanted):
        note = f"{option} {wanted}: {len(unknown)} of {len(ids)} ids are not in {name}"
        warnings.warn(note, DiversetWarning, stacklevel=2)  # becomes a note of the result
        return
    kind = f"no {id_name} of {name}" if id_name else f"no row of {name}"
    hint = "" if id_name else f" (rows are numbered 1 to {n}; --id names a column of ids)"
    raise DiversetError(f"{option}: {unknown[0]!r} is {kind}, and no file{hint}")


def _without_direction(table: Table, features: Array) -> list[str]:
    """A remark about rows of zeros."""
    empty = [table.where(i) for i in np.flatnonzero(~np.any(features, axis=1)).tolist()]
    if len(empty) < 2:
        return [f"{which} has 0 for all features; it counts as unlike every other row" for which in empty]
    return [f"{len(empty)} rows have 0 for all features, {empty[0]} is the first; they count as unlike every other row"]


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Let Dask compute on the cluster at `address`, or on threads of this process."""
    if address == "here":
        yield
        return
    try:
        import distributed
    except ImportError as error:
        raise MissingExtraError('--dask needs Dask: pip install "diverset[dask]"') from error
    connect: Any = distributed.Client
    try:
        client = connect(address, timeout=10)
    except ValueError as error:
        raise DiversetError(f"--dask {address}: not an address of a scheduler ({error})") from error
    except OSError as error:
        raise EnvironmentFault(f"--dask {address}: no scheduler answers there ({error})") from error
    try:
        yield
    except EnvironmentFault:
        raise
    except (OSError, TimeoutError, CancelledError, distributed.KilledWorker) as error:
        reason = str(error) or type(error).__name__
        raise EnvironmentFault(f"--dask {address}: the scheduler or its workers were lost ({reason})") from error
    except RuntimeError as error:
        if client.status == "running":
            raise
        raise EnvironmentFault(f"--dask {address}: the scheduler was lost ({error})") from error
    finally:
        with suppress(OSError, TimeoutError, RuntimeError):
            client.close(timeout=2)


def pick_blocks(request: Request, step: Callable[[str], None]) -> tuple[Candidates, dv.Selection, IntArray, int]:
    """Pick rows of a Parquet, NPY or Zarr file in blocks.

    Returns the picks and the given rows as candidates, the positions of both among these, and the number to pick.
    """
    for name in ("text", "embeddings", "model"):
        if getattr(request, name) is not None:
            raise DiversetError(
                f"--{name} cannot be combined with --dask, which compares rows by numbers in the file; write "
                "embeddings into a column of lists once, and name it with --features"
            )
    if request.similarity == "rbf":
        raise DiversetError(
            "--similarity rbf cannot be combined with --dask; cosine and dot need no matrix of all pairs"
        )
    step("Looking at the file")
    rows: Any = None
    notes: list[str] = []
    if request.file.lower().endswith((".npy", ".zarr")):
        features, by = dv.distributed.read(request.file), "its features"
        if request.quality or request.features or request.cost or request.group:
            raise DiversetError(f"{request.file} has no columns; Parquet has them")
    else:
        rows = dv.distributed.ParquetRows(request.file)
        names, notes = _features(rows, request)
        features, by = rows.features(names), names[0] if len(names) == 1 else f"{len(names)} columns"
    quality, costs, groups = (
        None if name is None else rows.column(name) for name in (request.quality, request.cost, request.group)
    )
    step("Picking")
    n = int(features.shape[0])
    k = request.size(n, n, request.file)
    similarity = request.similarity or "cosine"
    shown = _rows_named(request.given, rows, request, n, "--given")
    found = dv.select(
        features,
        k,
        quality=quality,
        similarity=similarity,
        given=shown,
        exclude=_rows_named(request.exclude, rows, request, n, "--exclude"),
        costs=costs,
        groups=groups,
        **request.calibration,
        **request.search,
    )
    step("Fetching the picks")
    fetched = np.concatenate([found.indices, shown])
    columns = {} if rows is None else rows.take(fetched)
    types = None if rows is None else {field.name: field.type for field in rows.schema}
    picked = Table(request.file, columns, len(fetched), types=types)
    id_name = request.id or reading.guess_id(picked)
    if id_name is None:
        # Numbers of rows in the file, not positions among the picks.
        columns["row"] = (fetched + 1).tolist()
        id_name = "row"
    picked.column(id_name)
    own = None if request.quality is None else np.array(columns[request.quality], dtype=np.float64)
    candidates = Candidates(
        table=picked,
        rows=np.arange(len(fetched)),
        features=dv.distributed.rows_of(features, fetched),
        similarity=similarity,
        compared_by=by,
        quality=own,
        quality_name=request.quality,
        id_name=id_name,
        text_name=reading.guess_text(picked, {request.quality or id_name, id_name}),
        notes=notes,
        total=n,
    )
    # copy() evaluates the share of quality kept, which needs the old positions.
    selection = replace(copy(found), indices=np.arange(len(found)))
    return candidates, selection, np.arange(len(found), len(fetched)), k


def _rows_named(wanted: str | None, rows: Any, request: Request, n: int, option: str) -> IntArray:
    """Rows named by a list of ids or a file of ids; the ids are looked up in the blocks."""
    if wanted is None:
        return np.zeros(0, dtype=np.int64)
    columns = [] if rows is None else rows.names
    id_name = request.id or next((name for name in columns if reading.looks_like_id(name)), None)
    ids = read_ids(wanted, id_name, option, request.encoding)
    if id_name is None:
        known = {i: [int(i) - 1] for i in ids if i.isascii() and i.isdecimal() and 0 < int(i) <= n}
    elif rows is None:
        raise DiversetError(f"{request.file} has no columns, and so no {id_name}; rows are numbered from 1")
    else:
        known = rows.find(id_name, ids)
    refuse_unknown(ids, known, wanted, option, id_name, request.file, n)
    several = next((i for i, places in known.items() if len(places) > 1), None)
    if several is not None and request.id is None:
        raise DiversetError(f"{option}: {several!r} is the {id_name} of several rows; give --id")
    return np.unique(np.array([place for i in ids for place in known.get(i, [])], dtype=np.int64))


def _features(rows: Any, request: Request) -> tuple[list[str], list[str]]:
    """Columns that rows are compared by, and a remark if they were guessed."""
    if request.features is not None:
        return reading.find_columns(Table(request.file, {name: [] for name in rows.names}, 0), request.features), []
    taken = {request.quality, request.id, request.cost, request.group}
    lists = [field.name for field in rows.schema if hasattr(field.type, "value_type") and field.name not in taken]
    if lists:
        return lists[:1], [f"comparing rows by the vectors in {lists[0]}; --features names others"]
    raise DiversetError(f"{request.file} has no column of vectors; name columns of numbers with --features")
