"""Rows of a file, read and turned into features."""

import warnings
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.cli.request import Request
from diverset.errors import DiversetError, DiversetWarning
from diverset.io.binary import load_npy
from diverset.io.features import (
    columns_side_by_side,
    embed,
    find_columns,
    guess_features,
    guess_id,
    guess_text,
    rows_with_words,
    standardized,
)
from diverset.io.files import kind_of, read_text
from diverset.io.tables import READABLE, Table, is_blank, plain_cell, read_table
from diverset.numerics.validation import check_fits_in_memory, is_sparse
from diverset.text.tfidf import tfidf

__all__ = ["Candidates", "find_rows", "read_candidates", "read_ids", "refuse_unknown"]


@dataclass(eq=False)
class Candidates:
    """The rows that can be picked.

    ``rows`` are their numbers in the table; ``features`` (an array, or a sparse matrix of words) and ``quality`` have
    one entry for each of them.
    """

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

    Columns in `reserved` are not features unless the user names them. Ids must differ in all rows, or in all rows with
    the same value of the column `within`. `step` is called with a description of each step.
    """
    table = read_table(request.file, encoding=request.encoding)
    quality = None if request.quality is None else table.numbers(request.quality)
    if request.id is not None:
        table.column(request.id)
    id_name = request.id or guess_id(table, within)
    taken = {name for name in (request.quality, id_name, *reserved) if name is not None}
    notes = list(table.notes)
    text, columns = request.text, request.features
    if not (text or columns or request.embeddings or table.features is not None):
        text, columns, note = guess_features(table, taken, request.model is not None)
        notes.append(note)
    features: Any
    keep = np.ones(table.n, dtype=bool)
    axes = None
    similarity = request.similarity or "cosine"
    if text is not None:
        step("Reading the texts")
        texts = table.texts(text)
        features = tfidf(texts, sublinear=True, floor=2.0)[0] if request.model is None else embed(texts, request.model)
        words = "words" if request.model is None else f"embeddings by {request.model}"
        by = f"{words} of {text}"
        keep = rows_with_words(table, text, texts, features, notes)
        features = features[keep]
        if similarity == "rbf" and is_sparse(features):
            features = features.toarray()
    elif columns is not None:
        names = find_columns(table, columns)
        features, vectors = columns_side_by_side(table, names)
        by = ", ".join(names) if len(names) <= 6 else f"{len(names)} columns, {names[0]} to {names[-1]}"
        if not vectors:
            similarity = request.similarity or "rbf"
            axes = (names[0], names[1]) if len(names) == 2 else None
            if similarity == "rbf":
                features = standardized(features)
                by = f"{by} (standardised)"
    elif request.embeddings is not None:
        features, by = load_npy(request.embeddings), f"embeddings in {request.embeddings}"
        if len(features) != table.n:
            raise DiversetError(
                f"{request.embeddings} has {len(features)} rows and {table.name} has {table.n}; there must be one "
                "embedding for each row"
            )
    else:
        assert table.features is not None
        features, by = table.features, "its features"
    if similarity == "rbf":
        check_fits_in_memory(
            24 * len(features) ** 2,
            what=f"comparing {len(features)} rows with --similarity rbf",
            remedy="--similarity cosine needs no such matrix",
        )
    if similarity == "cosine" and text is None:
        notes += _without_direction(table, features)
    text_name = text or guess_text(table, taken)
    return Candidates(
        table=table,
        rows=np.flatnonzero(keep),
        features=features,
        similarity=similarity,
        compared_by=by,
        quality=None if quality is None else quality[keep],
        quality_name=request.quality,
        id_name=id_name,
        text_name=text_name,
        axes=axes,
        notes=notes,
    )


def find_rows(wanted: str | None, candidates: Candidates, option: str) -> IntArray:
    """Positions of the candidates named by a list of ids or a file of ids; see :func:`read_ids`."""
    table = candidates.table
    found = np.zeros(table.n, dtype=bool)
    if wanted is None:
        return np.flatnonzero(found)
    ids = read_ids(wanted, candidates.id_name, option)
    places: dict[str, list[int]] = {}
    for row in range(table.n):
        name = str(row + 1) if candidates.id_name is None else str(table.columns[candidates.id_name][row]).strip()
        places.setdefault(name, []).append(row)
    refuse_unknown(ids, places, wanted, option, candidates.id_name, table.name, table.n)
    for name in ids:
        found[places.get(name, [])] = True
    return np.flatnonzero(found[candidates.rows])


def read_ids(wanted: str, id_name: str | None, option: str) -> list[str]:
    """Ids from a list with commas, or from a file: the id column of a table, or one id per line of any other file."""
    if not _is_file(wanted):
        ids = wanted.split(",")
    elif kind_of(wanted) in READABLE:
        if id_name is None:
            raise DiversetError(f"{option} {wanted}: name the column that tells rows apart with --id")
        ids = [plain_cell(str(cell)) for cell in read_table(wanted).column(id_name)]
    else:
        ids = read_text(wanted).split("\n")
    return [name.strip() for name in ids if name.strip()]


def _is_file(wanted: str) -> bool:
    try:
        return Path(wanted).is_file()
    except (OSError, ValueError):  # too long for a name
        return False


def refuse_unknown(
    ids: list[str], known: Container[str], wanted: str, option: str, id_name: str | None, name: str, n: int
) -> None:
    """Raise an error for unknown ids in a list; warn of those in a file, which may contain older items."""
    unknown = [i for i in ids if i not in known]
    if not unknown:
        return
    if _is_file(wanted):
        note = f"{option} {wanted}: {len(unknown)} of {len(ids)} ids are not in {name}"
        warnings.warn(note, DiversetWarning, stacklevel=2)  # becomes a note of the result
        return
    kind = f"no {id_name} of {name}" if id_name else f"no row of {name}"
    hint = "" if id_name else f" (rows are numbered 1 to {n}; --id names a column of ids)"
    raise DiversetError(f"{option}: {unknown[0]!r} is {kind}, and no file{hint}")


def _without_direction(table: Table, features: Array) -> list[str]:
    """A remark about rows of zeros."""
    empty = np.flatnonzero(~np.any(features, axis=1))
    if not len(empty):
        return []
    which = table.where(int(empty[0]))
    if len(empty) == 1:
        return [f"{which} has 0 for all features; it counts as unlike every other row"]
    return [f"{len(empty)} rows have 0 for all features, {which} is the first; they count as unlike every other row"]
