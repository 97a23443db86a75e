"""Judgements of which item is about what: from Python objects, and from files of TREC."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError, LabelError
from diverset.io.files import read_text
from diverset.numerics.validation import (
    as_number,
    as_real_or_complex,
    check_count,
    check_finite,
    check_fits_in_memory,
    find_positions,
    is_sparse,
    plain_array,
)

__all__ = ["Judged", "as_table", "read_judgements", "read_qrels"]


def read_qrels(path: str | Path) -> dict[str, dict[str, dict[str, float]]]:
    r"""Read judgements in the format of TREC.

    Each line holds a topic, a subtopic (0 where there are none), a document and a grade, with blanks between.

    Parameters
    ----------
    path : str or Path
        The file, in UTF-8.

    Returns
    -------
    dict
        For every topic, the documents, each with a mapping from subtopics to grades: what the measures of
        :mod:`diverset.metrics` take as judgements of one topic.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.txt"
    ...     _ = path.write_text("51 1 d7 2\n51 2 d7 0\n51 2 d9 1\n")
    ...     read_qrels(path)
    {'51': {'d7': {'1': 2.0, '2': 0.0}, 'd9': {'2': 1.0}}}
    """
    text = read_text(path, encoding="UTF-8")
    topics: dict[str, dict[str, dict[str, float]]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 4:
            raise DiversetError(
                f"{path}, line {number}: {len(fields)} fields; a line holds a topic, a subtopic (0 if there are none), "
                "a document and a grade"
            )
        topic, subtopic, document, grade = fields
        try:
            value = float(grade)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise DiversetError(f"{path}, line {number}: the grade is {grade!r}; give a number")
        topics.setdefault(topic, {}).setdefault(document, {})[subtopic] = value
    if not topics:
        raise DiversetError(f"{path} holds no judgements")
    return topics


@dataclass(frozen=True, eq=False)
class Judged:
    """Judgements in the order that breaks ties, and those of the ranking."""

    grades: FloatArray  # (n_items, n_subtopics), subtopics with a relevant item only
    ranked: FloatArray  # (at most k, n_subtopics)
    k: int
    subtopics: list[Any]  # of the columns
    given_subtopics: int  # including those left out; -1 where subtopics have names

    @property
    def n_subtopics(self) -> int:
        """Number of subtopics with a relevant item."""
        return len(self.subtopics)


def read_judgements(ranking: Iterable[Any], judgements: Any, k: int | None) -> Judged:
    """Check a ranking and its judgements, and put the grades of both into tables."""
    depth = None if k is None else check_count(k, name="k")
    if isinstance(ranking, (str, bytes)):
        raise LabelError(f"ranking is the text {ranking!r}; pass a sequence of items")
    items = ranking.tolist() if isinstance(ranking, np.ndarray) else list(ranking)
    if isinstance(judgements, Mapping):
        grades, subtopics, row_of = as_table(judgements)
        _check_unique(items)
        rows = [row_of.get(item, -1) for item in items]
        columns = -1
    else:
        grades = _read_matrix(judgements)
        columns = grades.shape[1]
        find_positions(items, np.arange(len(grades)), name="ranking")
        subtopics, rows = list(range(columns)), items
    # Items without a judgement have row -1, the last one, which is zero.
    padded = np.vstack([grades, np.zeros((1, grades.shape[1]))])
    kept: IntArray = np.flatnonzero((grades > 0.0).any(axis=0))
    return Judged(
        grades=grades[:, kept],
        ranked=padded[np.array(rows[:depth], dtype=np.int64)][:, kept],
        k=len(items) if depth is None else depth,
        subtopics=[subtopics[column] for column in kept],
        given_subtopics=columns,
    )


def _check_unique(items: list[Any]) -> None:
    seen = set()
    for item in items:
        if item in seen:
            raise LabelError(f"ranking names item {item!r} more than once; a ranking holds each item once")
        seen.add(item)


def as_table(judgements: Mapping[Any, Any]) -> tuple[FloatArray, list[Any], dict[Any, int]]:
    """Grades of items (rows) for subtopics (columns), the subtopics, and the row of each item."""
    names = list(judgements)
    if all(isinstance(name, str) for name in names):
        names.sort(reverse=True)  # equal gains go to the first row
    column_of: dict[Any, int] = {}
    entries: list[tuple[int, int, float]] = []
    for row, name in enumerate(names):
        about = judgements[name]
        if isinstance(about, (str, bytes)) or not isinstance(about, Iterable):
            raise DiversetError(
                f"judgements[{name!r}] is {about!r}; give a set of subtopics, or a mapping from subtopics to grades"
            )
        for subtopic in about:
            grade = as_number(about[subtopic], name="grade") if isinstance(about, Mapping) else 1.0
            if not math.isfinite(grade):
                raise DiversetError(f"judgements[{name!r}][{subtopic!r}] is {grade}; grades must be finite")
            entries.append((row, column_of.setdefault(subtopic, len(column_of)), grade))
    check_fits_in_memory(8 * len(names) * len(column_of), what="a table of the judgements", remedy="judge fewer items")
    grades = np.zeros((len(names), len(column_of)))
    for row, column, grade in entries:
        grades[row, column] = grade
    return np.maximum(grades, 0.0), list(column_of), {name: row for row, name in enumerate(names)}


def _read_matrix(judgements: Any) -> FloatArray:
    matrix = plain_array(judgements, name="judgements")
    if is_sparse(matrix):
        check_fits_in_memory(8 * matrix.shape[0] * matrix.shape[1], what="the dense form of judgements")
        matrix = matrix.toarray()
    grades = as_real_or_complex(matrix, name="judgements", ndim=2)
    if np.iscomplexobj(grades):
        raise DiversetError("judgements are complex; grades are real numbers")
    check_finite(grades, name="judgements")
    return np.maximum(grades, 0.0).astype(np.float64)
