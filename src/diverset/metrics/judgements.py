"""Judgements of which item is about what, from Python objects and files of TREC, and the candidates they belong to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError, LabelError
from diverset.inference.inputs import as_column, as_positions, read_items
from diverset.inference.problem import Problem, read_problem
from diverset.inference.similarity import SimilarityLike
from diverset.io.files import read_text
from diverset.numerics.validation import (
    as_number,
    as_real,
    check_count,
    check_finite,
    check_fits_in_memory,
    find_positions,
    is_sparse,
    plain_array,
)

__all__ = ["Judged", "Query", "read_judgements", "read_qrels", "read_queries"]


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
    topics: dict[str, dict[str, dict[str, float]]] = {}
    for number, line in enumerate(read_text(path, encoding="UTF-8").split("\n"), start=1):
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
    """Grades of all judged items, in the order that breaks ties, and of the first k ranked ones.

    Both tables have a column for each subtopic with a relevant item.
    """

    grades: FloatArray
    ranked: FloatArray
    k: int
    subtopics: list[Any]  # of the columns
    given_subtopics: int  # including those left out; -1 where subtopics have names


def read_judgements(ranking: Iterable[Any], judgements: Any, k: int | None) -> Judged:
    """Check a ranking and its judgements, and put the grades of both into tables."""
    depth = None if k is None else check_count(k, name="k")
    if isinstance(ranking, (str, bytes)):
        raise LabelError(f"ranking is the text {ranking!r}; pass a sequence of items")
    items = ranking.tolist() if isinstance(ranking, np.ndarray) else list(ranking)
    if isinstance(judgements, Mapping):
        grades, subtopics, row_of = _read_mapping(judgements)
        if len(set(items)) < len(items):
            twice = next(item for i, item in enumerate(items) if item in items[:i])
            raise LabelError(f"ranking names item {twice!r} more than once; a ranking holds each item once")
        rows = [row_of.get(item, -1) for item in items]
        columns = -1
    else:
        grades = _read_matrix(judgements)
        columns = grades.shape[1]
        find_positions(items, range(len(grades)), name="ranking")
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


def _read_mapping(judgements: Mapping[Any, Any]) -> tuple[FloatArray, list[Any], dict[Any, int]]:
    """Grades of items (rows) for subtopics (columns), the subtopics, and the row of each item."""
    names = list(judgements)
    if all(isinstance(name, str) for name in names):
        names.sort(reverse=True)  # equal gains go to the first row
    column_of: dict[Any, int] = {}
    entries: dict[tuple[int, int], float] = {}
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
            entries[row, column_of.setdefault(subtopic, len(column_of))] = grade
    check_fits_in_memory(8 * len(names) * len(column_of), what="a table of the judgements", remedy="judge fewer items")
    grades = np.zeros((len(names), len(column_of)))
    for place, grade in entries.items():
        grades[place] = grade
    return np.maximum(grades, 0.0), list(column_of), {name: row for row, name in enumerate(names)}


def _read_matrix(judgements: Any, n: int | None = None) -> FloatArray:
    """Grades of items (rows) for subtopics (columns); if there are n items, one column may be a flat sequence."""
    matrix = plain_array(judgements, name="judgements")
    if is_sparse(matrix):
        check_fits_in_memory(8 * matrix.shape[0] * matrix.shape[1], what="the dense form of judgements")
        matrix = matrix.toarray()
    if n is not None and matrix.ndim == 1:
        matrix = as_column(matrix, n, name="judgements")[:, None]
    grades = as_real(matrix, name="judgements", shape=(n, None))
    check_finite(grades, name="judgements")
    return np.maximum(grades, 0.0)


@dataclass(frozen=True, eq=False)
class Query:
    """Candidates of one query, and their judgements.

    `table` holds grades of items (rows) for subtopics (columns), with judged items that are not candidates; `row_of` is
    the row of each candidate. Both are None without judgements.
    """

    name: Any
    features: Any
    similarity: SimilarityLike
    problem: Problem
    table: FloatArray | None
    row_of: IntArray | None


def read_queries(
    features: Any, k: Any, quality: Any, judgements: Any, queries: Any, ids: Any, given: Any, exclude: Any,
    options: dict[str, Any],
) -> list[Query]:  # fmt: skip
    """Candidates query by query, from a list of queries, or from one table and the query of each row."""
    # A row of features is not a tuple of three that begins with a matrix.
    if (
        isinstance(features, (list, tuple))
        and features
        and all(isinstance(each, tuple) and len(each) == 3 and np.ndim(each[0]) != 0 for each in features)
    ):
        alone = {"quality": quality, "judgements": judgements, "queries": queries, "ids": ids, "given": given,
                 "exclude": exclude}  # fmt: skip
        named = next((name for name, value in alone.items() if value is not None), None)
        if named is not None:
            raise DiversetError(f"features is a list of (features, quality, judgements), and {named} is given as well")
        return [
            _query(i, own, k, scores, grades, None, None, None, options)
            for i, (own, scores, grades) in enumerate(features)
        ]
    items = read_items(features)
    X, n, labels = items.features, items.n, items.labels
    called = (range(n) if labels is None else labels) if ids is None else list(ids)
    if len(called) != n:
        raise DiversetError(f"ids has {len(called)} entries for {n} items; give one per item")
    higher = not options["lower_is_better"]
    scores = None if quality is None else as_column(quality, n, name="quality", labels=labels, infinite=higher)
    shown, closed = np.zeros((2, n), dtype=bool)
    shown[as_positions(given, n, name="given", labels=labels)] = True
    closed[as_positions(exclude, n, name="exclude", labels=labels)] = True
    if queries is None:
        return [_query(None, X, k, scores, judgements, called, shown, closed, options)]
    cells = np.asarray(queries.to_numpy() if hasattr(queries, "to_numpy") else queries).tolist()
    if len(cells) != n:
        raise DiversetError(f"queries has {len(cells)} entries for {n} items; give one per item")
    places: dict[Any, list[int]] = {}
    for i, cell in enumerate(cells):
        places.setdefault(cell, []).append(i)
    by_query = isinstance(judgements, Mapping)
    table: Any = judgements if judgements is None or by_query else _read_matrix(judgements, n)
    return [
        _query(
            name,
            X[np.ix_(rows, rows)] if options["similarity"] == "precomputed" else X[rows],
            k,
            None if scores is None else scores[rows],
            None if table is None else table.get(name, {}) if by_query else table[rows],
            [called[i] for i in rows],
            shown[rows],
            closed[rows],
            options,
        )
        for name, rows in places.items()
    ]


def _query(
    name: Any, features: Any, k: Any, quality: Any, judgements: Any, called: Any, given: Any, exclude: Any,
    options: dict[str, Any],
) -> Query:  # fmt: skip
    problem = read_problem(features, k, quality=quality, given=given, exclude=exclude, **options)
    n = problem.n
    table: FloatArray | None = None
    rows: IntArray | None = None
    if isinstance(judgements, Mapping):
        table, _, known = _read_mapping(judgements)
        rows = np.array([known.get(item, -1) for item in (range(n) if called is None else called)], dtype=np.int64)
        # Each candidate without a judgement gets a row of zeros of its own, behind those of the judged items.
        unknown = np.flatnonzero(rows < 0)
        rows[unknown] = len(table) + np.arange(len(unknown))
        table = np.vstack([table, np.zeros((len(unknown), table.shape[1]))])
    elif judgements is not None:
        table, rows = _read_matrix(judgements, n), np.arange(n)
    return Query(name, features, options["similarity"], problem, table, rows)
