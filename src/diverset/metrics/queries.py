"""Candidates and judgements of one query or several, in the forms that people have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.inference.inputs import as_column, as_positions, read_items
from diverset.inference.problem import Problem, read_problem
from diverset.inference.similarity import SimilarityLike
from diverset.metrics.judgements import as_table
from diverset.numerics.validation import is_sparse, plain_array

__all__ = ["Query", "read_queries"]


@dataclass(frozen=True, eq=False)
class Query:
    """Candidates of one query, and their judgements.

    ``table`` holds grades of items (rows) for subtopics (columns), judged items that are no candidates included;
    ``row_of`` is the row of each candidate. Both are None without judgements.
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
    if _are_triples(features):
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
    shown, closed = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
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
    table = judgements if judgements is None or isinstance(judgements, Mapping) else _as_matrix(judgements, n)
    return [
        _query(
            name,
            X[np.ix_(rows, rows)] if options["similarity"] == "precomputed" else X[rows],
            k,
            None if scores is None else scores[rows],
            table.get(name, {}) if isinstance(table, Mapping) else None if table is None else table[rows],
            [called[i] for i in rows],
            shown[rows],
            closed[rows],
            options,
        )
        for name, rows in places.items()
    ]  # fmt: skip


def _are_triples(features: Any) -> bool:
    return (
        isinstance(features, (list, tuple))
        and len(features) > 0
        and all(isinstance(each, tuple) and len(each) == 3 and np.ndim(each[0]) != 0 for each in features)
    )


def _query(
    name: Any, features: Any, k: Any, quality: Any, judgements: Any, called: Any, given: Any, exclude: Any,
    options: dict[str, Any],
) -> Query:  # fmt: skip
    problem = read_problem(features, k, quality=quality, given=given, exclude=exclude, **options)
    n = problem.n
    if judgements is None:
        return Query(name, features, options["similarity"], problem, None, None)
    if not isinstance(judgements, Mapping):
        return Query(name, features, options["similarity"], problem, _as_matrix(judgements, n), np.arange(n))
    table, _, known = as_table(judgements)
    rows = np.array([known.get(item, -1) for item in (range(n) if called is None else called)], dtype=np.int64)
    # Each candidate without a judgement gets a row of zeros of its own, behind those of the judged items.
    unknown = rows < 0
    rows[unknown] = len(table) + np.arange(int(unknown.sum()))
    padded = np.vstack([table, np.zeros((int(unknown.sum()), table.shape[1]))])
    return Query(name, features, options["similarity"], problem, padded, rows)


def _as_matrix(judgements: Any, n: int) -> FloatArray:
    """Grades with one row for each item; a single column may come as a list."""
    grades = plain_array(judgements, name="judgements")
    if is_sparse(grades):
        grades = grades.toarray()
    if grades.ndim == 1:
        return np.maximum(as_column(grades, n, name="judgements"), 0.0)[:, None]
    if grades.ndim != 2 or len(grades) != n:
        raise DiversetError(f"judgements has shape {grades.shape}; give one row of grades for each of {n} items")
    return np.stack([np.maximum(as_column(column, n, name="judgements"), 0.0) for column in grades.T], axis=1)
