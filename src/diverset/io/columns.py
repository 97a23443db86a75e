"""Which columns of a table mean what: those named by the user, and guesses where nobody said."""

import fnmatch
from collections.abc import Sequence

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.io.tables import Table, as_number, is_blank

__all__ = [
    "columns_side_by_side",
    "find_columns",
    "guess_features",
    "guess_id",
    "guess_text",
    "looks_like_id",
    "standardized",
]


def looks_like_id(name: str) -> bool:
    """Whether a column is called an id."""
    return name.lower() in ("", "id", "uuid", "index") or name.lower().endswith(("_id", " id"))


def guess_id(table: Table, within: str | None = None) -> str | None:
    """A column that is called an id and tells all rows apart, or those with the same value of the column `within`."""
    parts = [""] * table.n if within is None else [str(cell) for cell in table.column(within)]
    for name, cells in table.columns.items():
        if looks_like_id(name) and not any(is_blank(cell) or isinstance(cell, list | dict) for cell in cells):
            if name != within and len(set(zip(parts, map(str, cells), strict=True))) == table.n:
                return name
    return None


def guess_text(table: Table, reserved: set[str]) -> str | None:
    """The column with the longest texts, if any holds texts."""
    lengths = {}
    for name, cells in table.columns.items():
        texts = [cell for cell in cells if isinstance(cell, str) and not is_blank(cell)]
        if name not in reserved and texts and any(as_number(cell) is None for cell in texts):
            lengths[name] = sum(map(len, texts)) / table.n
    return max(lengths, key=lambda name: lengths[name]) if lengths else None


def guess_features(table: Table, reserved: set[str], by_text: bool) -> tuple[str | None, str | None, str]:
    """What rows are compared by when nobody said: column of text, columns of numbers, and a remark about it."""
    text = guess_text(table, reserved)
    others = [name for name in table.columns if name not in reserved and not looks_like_id(name)]
    if not by_text:
        for name in others:
            if table.vectors(name) is not None:
                return None, name, f"comparing rows by the vectors in {name}; --text or --features name others"
        numeric = [name for name in others if table.is_numeric(name)]
        if numeric:
            listed = (
                ", ".join(numeric) if len(numeric) <= 8 else f"{len(numeric)} of them, {numeric[0]} to {numeric[-1]}"
            )
            other = "--features names others" if text is None else f"--text {text} compares texts instead"
            return None, ",".join(numeric), f"comparing rows by the numeric columns: {listed}; {other}"
    if text is None:
        raise DiversetError(
            f"{table.name} has no column to compare rows by; name one with --text or --features, or give --embeddings"
        )
    return text, None, f"comparing rows by the words of {text}, the column with the longest texts"


def find_columns(table: Table, wanted: str) -> list[str]:
    """Columns named by a list with commas, in which ``e*`` is a prefix and ``e0:e9`` a range."""
    if wanted in table.columns or "," not in wanted:
        return _find_some(table, wanted)
    return list(dict.fromkeys(name for part in wanted.split(",") for name in _find_some(table, part.strip())))


def _find_some(table: Table, part: str) -> list[str]:
    names = list(table.columns)
    if part in names:
        return [part]
    first, colon, last = part.partition(":")
    if colon and first in names and last in names:
        i, j = names.index(first), names.index(last)
        if i > j:
            raise DiversetError(f"--features {part}: {first!r} comes after {last!r} in {table.name}")
        return names[i : j + 1]
    if "*" in part:
        found = [name for name in names if fnmatch.fnmatchcase(name, part)]
        if found:
            return found
    table.column(part)  # raises, naming the columns there are
    return []


def columns_side_by_side(table: Table, names: Sequence[str]) -> tuple[FloatArray, bool]:
    """Columns side by side, and whether they are vectors rather than single numbers."""
    blocks = []
    vectors = False
    for name in names:
        block = table.vectors(name)
        vectors |= block is not None
        blocks.append(table.numbers(name)[:, np.newaxis] if block is None else block)
    return np.hstack(blocks), vectors


def standardized(X: FloatArray) -> FloatArray:
    """Columns of mean 0 and standard deviation 1, so that all count alike; constant ones become 0."""
    largest = np.abs(X).max(axis=0)
    X = X / np.where(largest > 0.0, largest, 1.0)  # so that no square overflows
    X = X - X.mean(axis=0)
    deviation = np.sqrt((X**2).mean(axis=0))
    return np.where(deviation > 1e-14, X / np.where(deviation > 1e-14, deviation, 1.0), 0.0)
