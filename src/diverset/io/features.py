"""Rows of a table as vectors: guesses of what columns mean, columns of numbers as a matrix, embeddings of texts."""

import fnmatch
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray
from diverset.errors import DiversetError, MissingExtraError
from diverset.io.files import plural
from diverset.io.tables import Table, as_number, is_blank
from diverset.numerics.validation import is_sparse

__all__ = ["columns_side_by_side", "find_columns", "guess_features", "guess_id", "guess_text", "rows_with_words"]

#: Names of columns that hold the text of a document, in order of preference.
TEXTS = ("text", "body", "content", "article", "document", "sentences", "abstract")
#: Fewest numbered columns (e0, e1, ...) that are taken as the entries of a vector.
_ENTRIES = 16
#: Mean number of words from which a column of texts is preferred to columns of numbers.
_PROSE_WORDS = 4


def looks_like_id(name: str) -> bool:
    """Whether a column has the name of an id."""
    return name.lower() in ("", "id", "uuid", "index") or name.lower().endswith(("_id", " id"))


def guess_id(table: Table, within: str | None = None) -> str | None:
    """A column with the name of an id whose values differ in all rows, or in rows with equal values of `within`."""
    parts = [""] * table.n if within is None else [str(cell) for cell in table.column(within)]
    for name in table.guessable:
        if looks_like_id(name) and name != within:
            cells = table.columns[name]
            if not any(is_blank(cell) or isinstance(cell, list | dict) for cell in cells):
                if len(set(zip(parts, map(str, cells), strict=True))) == table.n:
                    return name
    return None


def guess_text(table: Table, reserved: set[str]) -> str | None:
    """A column with the name of a text, else the column with the longest texts, if there are any."""
    lengths = {}
    for name in table.guessable:
        if name in reserved or name in table.arrays:
            continue
        texts = [cell for cell in table.columns[name] if isinstance(cell, str) and not is_blank(cell)]
        if texts and any(as_number(cell) is None for cell in texts):
            lengths[name] = sum(map(len, texts)) / table.n
    named = (name for known in TEXTS for name in lengths if name.lower() == known)
    return next(named, max(lengths, key=lambda name: lengths[name], default=None))


def guess_features(table: Table, reserved: set[str], by_text: bool) -> tuple[str | None, str | None, str]:
    """What to compare rows by if the user names no column: a text, or columns of numbers; and a remark on the guess."""
    # In this order: vectors, numbered columns (an embedding), texts of several words, numbers, any text.
    text = guess_text(table, reserved)
    others = [name for name in table.guessable if name not in reserved and not looks_like_id(name)]
    if not by_text:
        for name in others:
            if table.vectors(name) is not None:
                return None, name, f"comparing rows by the vectors in {name}; --text or --features name others"
        numeric = [name for name in others if table.is_numeric(name)]
        numbered = [name for name in numeric if re.fullmatch(r".*\d", name)]
        if len(numbered) >= _ENTRIES:
            numeric = numbered
        if numeric and (len(numbered) >= _ENTRIES or text is None or not is_prose(table, text)):
            some = len(numeric) <= 8
            listed = ", ".join(numeric) if some else f"{len(numeric)} of them, {numeric[0]} to {numeric[-1]}"
            other = "--features names others" if text is None else f"--text {text} compares texts instead"
            return None, ",".join(numeric), f"comparing rows by the numeric columns: {listed}; {other}"
    if text is None:
        raise DiversetError(
            f"{table.name} has no column to compare rows by; name one with --text or --features, or give --embeddings"
        )
    return text, None, f"comparing rows by the words of {text}; --text or --features name other columns"


def is_prose(table: Table, name: str) -> bool:
    """Whether a column holds texts rather than names, by its own name or by the number of words."""
    texts = table.texts(name)
    return name.lower() in TEXTS or sum(len(text.split()) for text in texts) >= _PROSE_WORDS * len(texts)


def find_columns(table: Table, wanted: str) -> list[str]:
    """Columns named by a list with commas, in which ``e*`` is a prefix and ``e0:e9`` a range."""
    part = wanted.strip()
    if part in table.columns:
        return [part]
    if "," in wanted:
        return list(dict.fromkeys(name for each in wanted.split(",") for name in find_columns(table, each)))
    names = list(table.columns)
    first, colon, last = part.partition(":")
    if colon and first in table.columns and last in table.columns:
        i, j = names.index(first), names.index(last)
        if i > j:
            raise DiversetError(f"--features {part}: {first!r} comes after {last!r} in {table.name}")
        return names[i : j + 1]
    found = [name for name in names if "*" in part and fnmatch.fnmatchcase(name, part)]
    return found or table.column(part)  # raises an error that lists the columns


def columns_side_by_side(table: Table, names: Sequence[str]) -> tuple[Array, bool]:
    """Columns as one matrix, and whether they hold vectors rather than single numbers."""
    arrays = [table.arrays.get(name) for name in names]
    block = arrays[0].base if arrays[0] is not None else None
    if block is not None and block.ndim == 2 and block.dtype.kind == "f" and all(a is not None for a in arrays):
        # Adjacent columns of a file with types are adjacent in memory, so no copy is needed.
        step = block.strides[1]
        start = (arrays[0].ctypes.data - block.ctypes.data) // step  # type: ignore[union-attr]
        wanted = block[:, start : start + len(names)]
        if wanted.shape[1] == len(names) and all(
            a.ndim == 1 and a.base is block and a.ctypes.data == block.ctypes.data + (start + j) * step  # type: ignore[union-attr]
            for j, a in enumerate(arrays)
        ):
            for name in names:
                table.numbers(name)  # raises if a number is not finite
            return wanted, False
    found = {name: table.vectors(name) for name in names}
    blocks = [table.numbers(name)[:, np.newaxis] if block is None else block for name, block in found.items()]
    return blocks[0] if len(blocks) == 1 else np.hstack(blocks), any(block is not None for block in found.values())


def standardized(X: Array) -> FloatArray:
    """Columns scaled to mean 0 and standard deviation 1; constant ones become 0."""
    largest = np.abs(X).max(axis=0)
    X = X / np.where(largest > 0.0, largest, 1.0)  # so that no square overflows
    X = X - X.mean(axis=0)
    deviation = np.sqrt((X**2).mean(axis=0))
    return np.where(deviation > 1e-14, X / np.where(deviation > 1e-14, deviation, 1.0), 0.0)


def _transformer(needed: str) -> Any:
    try:
        return import_module("sentence_transformers").SentenceTransformer
    except ImportError as error:
        raise MissingExtraError(f"{needed}: pip install sentence-transformers") from error


def embed(texts: list[str], model: str) -> Array:
    """Embeddings of texts by a sentence-transformers model."""
    try:
        encoder = _transformer("--model needs sentence-transformers")(model)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise DiversetError(f"cannot load the model {model}: {reason}") from error
    show = len(texts) > 200 and sys.stderr.isatty()
    return np.asarray(encoder.encode(texts, show_progress_bar=show, convert_to_numpy=True), dtype=np.float32)


def encode_installed(items: Sequence[Any], model: str) -> FloatArray:
    """Embeddings of texts or images by an installed sentence-transformers model; nothing is downloaded."""
    try:
        encoder = _transformer("embeddings by name need")(model, local_files_only=True)
    except (OSError, ValueError) as error:
        raise DiversetError(f"there is no installed sentence-transformers model {model!r}: {error}") from None
    return np.asarray(encoder.encode(items), dtype=np.float64)


def rows_with_words(table: Table, name: str, texts: list[str], features: Any, notes: list[str]) -> BoolArray:
    """Which rows have words; a remark gives the number of the others, which cannot be compared."""
    words = np.diff(features.indptr) > 0 if is_sparse(features) else np.any(features, axis=1)
    keep = np.array([bool(text) for text in texts]) & words
    silent = int((~keep).sum())
    if silent == table.n:
        raise DiversetError(f"{table.name}: column {name!r} has no words in any row")
    if silent:
        first = table.where(int(np.argmin(keep))) + " is the first" * (silent > 1)
        notes.append(f"{plural(silent, 'row')} left out, since they have no words in {name}: {first}")
    return np.asarray(keep, dtype=bool)
