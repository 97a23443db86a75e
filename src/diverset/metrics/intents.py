"""Judgements of which items are relevant to which subtopics, and measures of rankings by them, as in TREC Web Tracks.

:func:`read_judgements` puts judgements of one ranking into tables for the measures, :func:`read_queries` those of the
candidates of several queries for :func:`diverset.compare`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError, LabelError
from diverset.inference.inputs import as_column, as_positions, read_items
from diverset.inference.problem import Problem, read_problem
from diverset.inference.similarity import SimilarityLike
from diverset.io.files import read_text
from diverset.numerics import validation
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import (
    as_number,
    as_real,
    check_count,
    check_fits_in_memory,
    find_positions,
    is_sparse,
)

if TYPE_CHECKING:
    from diverset.kernels._arrays import Features

    Judgements: TypeAlias = Mapping[Any, Any] | Features

__all__ = ["alpha_ndcg", "err_ia", "ndcg", "precision", "precision_ia", "read_qrels", "read_queries", "subtopic_recall"]


def subtopic_recall(ranking: Iterable[Any], judgements: Judgements, k: int | None = None) -> float:
    r"""Share of the subtopics that the first k items cover ([ZhaiCohenLafferty2003]_).

    .. math::  \frac{1}{|T|} \Bigl| \bigcup_{r \le k} T(d_r) \Bigr|,

    where T(d) are the subtopics item d is relevant to, and T those of all judged items. It is 0 if nothing is relevant.

    Parameters
    ----------
    ranking : iterable
        Items, best first: keys of ``judgements``, or row numbers if it is a matrix. Items without a judgement are not
        relevant.
    judgements : mapping or array_like of shape (n_items, n_subtopics)
        For each item a set of subtopics, or a mapping from subtopics to grades; or a matrix of booleans or grades. A
        grade of 0 or below is not relevant. Subtopics without a relevant item are ignored.
    k : int, optional
        Depth; by default the length of the ranking.

    Examples
    --------
    >>> judgements = {"a": {"jaguar, cat"}, "b": {"jaguar, cat"}, "c": {"jaguar, car"}}
    >>> subtopic_recall(["a", "b", "c"], judgements, k=2)
    0.5
    """
    judged = read_judgements(ranking, judgements, k)
    return float((judged.ranked > 0.0).any(axis=0).mean()) if judged.subtopics else 0.0


def alpha_ndcg(ranking: Iterable[Any], judgements: Judgements, k: int | None = None, alpha: float = 0.5) -> float:
    r"""Novelty-biased gain, discounted by rank and compared with that of an ideal ranking.

    .. math::  \mathrm{DCG} = \sum_{r=1}^{k} \frac{1}{\log_2(1 + r)} \sum_{t \in T(d_r)} (1 - \alpha)^{c_{t, r}},
               \qquad \alpha\text{-nDCG} = \mathrm{DCG} / \mathrm{DCG}_{\text{ideal}},

    where T(d) are the subtopics item d is relevant to, and :math:`c_{t, r}` counts the items relevant to t before rank
    r: another item about the same subtopic gains less. `alpha` is from 0 (repetition costs nothing) to 1 (only the
    first item about a subtopic counts). The other parameters are those of :func:`subtopic_recall`; grades only count as
    relevant or not. The score is 1 for the greedy ranking, and 0 if nothing is relevant.

    Notes
    -----
    The ideal ranking is found greedily, the item of highest gain first, as in [ClarkeKolla2008]_ and the program ndeval
    of the TREC Web Track; the best one is NP-hard to find. If items are relevant to several subtopics, a score can
    therefore exceed 1, but never :math:`1 / (1 - 1/e) \approx 1.58`. Equal gains go to the greatest name, as in ndeval,
    if all names are text; otherwise to the item that comes first in ``judgements``. O(k n_items n_subtopics) time.

    Examples
    --------
    >>> judgements = {"a": {1}, "b": {1}, "c": {2}}
    >>> alpha_ndcg(["a", "c", "b"], judgements)
    1.0
    >>> round(alpha_ndcg(["a", "b", "c"], judgements), 6)
    0.965195
    """
    alpha = as_number(alpha, name="alpha")
    if not 0.0 <= alpha <= 1.0:
        raise DiversetError(f"alpha is {alpha}; it must be between 0 and 1")
    judged = read_judgements(ranking, judgements, k)
    ideal = _alpha_dcg(_ideal_order(judged.grades > 0.0, judged.k, alpha), alpha)
    return _alpha_dcg(judged.ranked > 0.0, alpha) / ideal if ideal > 0.0 else 0.0


def err_ia(
    ranking: Iterable[Any],
    judgements: Judgements,
    k: int | None = None,
    *,
    weights: Mapping[Any, float] | ArrayLike | None = None,
    max_grade: float | None = None,
    normalized: bool = False,
) -> float:
    r"""Intent-aware expected reciprocal rank ([ChapelleJiLiao2011]_).

    .. math::  \sum_t w_t \sum_{r=1}^{k} \frac{1}{r} R_{tr} \prod_{s < r} (1 - R_{ts}), \qquad
               R_{tr} = \frac{2^{g_{tr}} - 1}{2^{g_{\max}}}:

    a reader who means subtopic t, with probability :math:`w_t`, goes down the ranking and is satisfied at rank r with
    probability :math:`R_{tr}`, by the grade :math:`g_{tr}` of the item there. The score is between 0 and 1.

    Parameters
    ----------
    ranking, judgements, k
        As in :func:`subtopic_recall`. Membership in a set, or True, is grade 1.
    weights : mapping or array_like of shape (n_subtopics,), optional
        How probable each subtopic is, up to a factor: by subtopic if ``judgements`` is a mapping, else by column. Equal
        by default. Weights of subtopics without a relevant item are dropped.
    max_grade : float, optional
        The highest possible grade; by default the highest in ``judgements``. Give it to compare queries.
    normalized : bool
        Divide by the score of a ranking in which every item has the highest grade for every subtopic. With grades 0 and
        1 and equal weights this is the ERR-IA of ndeval at its default alpha of 0.5, for k > 1.

    Examples
    --------
    >>> err_ia(["a", "c"], {"a": {1}, "b": {1}, "c": {2}})
    0.375
    """
    judged = read_judgements(ranking, judgements, k)
    if not judged.subtopics:
        return 0.0
    highest = float(judged.grades.max())
    top = highest if max_grade is None else as_number(max_grade, name="max_grade")
    if not highest <= top < math.inf:
        raise DiversetError(f"max_grade is {top}; there is a grade of {highest:g}, and none may be higher")
    satisfied = np.where(judged.ranked > 0.0, np.exp2(judged.ranked - top) - np.exp2(-top), 0.0)
    score = float(_weights(weights, judged) @ _expected_reciprocal_rank(satisfied))
    if normalized and judged.k:
        best = np.full((judged.k, 1), 1.0 - 2.0**-top)
        score /= float(_expected_reciprocal_rank(best)[0])
    return score


def precision_ia(
    ranking: Iterable[Any],
    judgements: Judgements,
    k: int | None = None,
    *,
    weights: Mapping[Any, float] | ArrayLike | None = None,
) -> float:
    r"""Intent-aware precision: the share of relevant items, averaged over subtopics ([AgrawalGollapudi2009]_).

    .. math::  \sum_t w_t\, \frac{1}{k} \bigl| \{ r \le k : t \in T(d_r) \} \bigr|,

    where T(d) are the subtopics item d is relevant to. The parameters are those of :func:`err_ia`; grades only count as
    relevant or not. If a ranking is shorter than k, its missing ranks are not relevant.

    Examples
    --------
    >>> precision_ia(["a", "b"], {"a": {1}, "b": {1}, "c": {2}})
    0.5
    """
    judged = read_judgements(ranking, judgements, k)
    if not judged.subtopics or not judged.k:
        return 0.0
    return float(_weights(weights, judged) @ (judged.ranked > 0.0).sum(axis=0)) / judged.k


def ndcg(ranking: Iterable[Any], judgements: Judgements, k: int | None = None) -> float:
    r"""Gain discounted by rank, compared with that of the best ranking; repetition costs nothing.

    .. math::  \mathrm{DCG} = \sum_{r=1}^{k} \frac{g(d_r)}{\log_2(1 + r)}, \qquad
               \mathrm{nDCG} = \mathrm{DCG} / \mathrm{DCG}_{\text{ideal}},

    where g(d) is the highest grade that item d has for any subtopic, and 0 without a judgement. The gain is the grade
    itself, as in the program trec_eval ([JarvelinKekalainen2002]_). The parameters are those of
    :func:`subtopic_recall`; membership in a set, or True, is grade 1.

    Examples
    --------
    >>> round(ndcg(["b", "a"], {"a": {"x": 2}, "b": {"x": 1}}), 6)
    0.859719
    """
    judged = read_judgements(ranking, judgements, k)
    if not judged.subtopics or not judged.k:
        return 0.0
    ideal = np.sort(judged.grades.max(axis=1))[::-1][: judged.k]
    return _dcg(judged.ranked.max(axis=1)) / _dcg(ideal)


def precision(ranking: Iterable[Any], judgements: Judgements, k: int | None = None) -> float:
    """Share of the first k items that are relevant to any subtopic.

    The parameters are those of :func:`subtopic_recall`. If a ranking is shorter than k, its missing ranks are not
    relevant.

    Examples
    --------
    >>> precision(["a", "x"], {"a": {1, 2}, "b": {1}})
    0.5
    """
    judged = read_judgements(ranking, judgements, k)
    return float((judged.ranked > 0.0).any(axis=1).sum()) / judged.k if judged.k else 0.0


def _dcg(gains: FloatArray) -> float:
    """Sum of gains, each divided by the logarithm of its rank."""
    return math.fsum(gains / np.log2(np.arange(2.0, len(gains) + 2.0)))


def _expected_reciprocal_rank(satisfied: FloatArray) -> FloatArray:
    """Of each column: probabilities of being satisfied at each rank, if that is reached."""
    going_on = np.ones_like(satisfied)
    np.cumprod(1.0 - satisfied[:-1], axis=0, out=going_on[1:])
    result: FloatArray = (satisfied * going_on / np.arange(1.0, len(satisfied) + 1.0)[:, None]).sum(axis=0)
    return result


def _alpha_dcg(relevant: Any, alpha: float) -> float:
    """Discounted novelty-biased gain of ranked rows of relevance."""
    seen = np.cumsum(relevant, axis=0) - relevant
    return _dcg(np.where(relevant, (1.0 - alpha) ** seen, 0.0).sum(axis=1))


def _ideal_order(relevant: Any, k: int, alpha: float) -> Any:
    """Rows of relevance in the order of highest gain first; of equals, the first."""
    worth = np.ones(relevant.shape[1])
    left = relevant.any(axis=1)
    order: list[int] = []
    for _ in range(min(k, int(left.sum()))):
        gain = np.where(left, relevant @ worth, -1.0)
        best = int(np.argmax(gain >= gain.max() * (1.0 - 64.0 * EPS)))
        order.append(best)
        left[best] = False
        worth[relevant[best]] *= 1.0 - alpha
    return relevant[order]


def _weights(weights: Any, judged: Judged) -> FloatArray:
    """Probability of each subtopic that has a relevant item."""
    subtopics = judged.subtopics
    if weights is None:
        return np.full(len(subtopics), 1.0 / len(subtopics))
    if judged.given_subtopics < 0:
        if not isinstance(weights, Mapping):
            raise DiversetError("weights must be a mapping from subtopics to numbers, as judgements is one from items")
        for subtopic in subtopics:
            if subtopic not in weights:
                raise DiversetError(f"weights has no entry for subtopic {subtopic!r}")
        w = np.array([as_number(weights[subtopic], name=f"weights[{subtopic!r}]") for subtopic in subtopics])
    else:
        w = as_real(weights, name="weights", shape=(None,))
        if len(w) != judged.given_subtopics:
            raise DiversetError(f"weights has {len(w)} entries for {judged.given_subtopics} subtopics")
        w = w[subtopics]
    for subtopic, weight in zip(subtopics, w.tolist(), strict=True):
        if not 0.0 <= weight < math.inf:
            raise DiversetError(f"the weight of subtopic {subtopic!r} is {weight}; it must be 0 or more")
    if not w.any():
        raise DiversetError("the weights of all subtopics with a relevant item are 0; give one a positive weight")
    return w / float(w.sum())


def read_qrels(path: str | Path) -> dict[str, dict[str, dict[str, float]]]:
    r"""Read judgements in the format of TREC.

    Each line of the file, in UTF-8, holds a topic, a subtopic (0 if there are none), a document and a grade.

    The result maps every topic to its documents, and each of these to its subtopics and their grades: the measures of
    :mod:`diverset.metrics` accept it as judgements of one topic.

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


class Judged(NamedTuple):
    """Grades of all judged items, in the order that breaks ties, and of the first k ranked ones.

    Both tables have a column for each subtopic with a relevant item.
    """

    grades: FloatArray
    ranked: FloatArray
    k: int
    subtopics: list[Any]  # of the columns
    given_subtopics: int  # including those without a relevant item; -1 if subtopics have names


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
    ranked = padded[np.array(rows[:depth], dtype=np.int64)][:, kept]
    named = [subtopics[column] for column in kept]
    return Judged(grades[:, kept], ranked, len(items) if depth is None else depth, named, columns)


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
    matrix = validation.plain_array(judgements, name="judgements")
    if is_sparse(matrix):
        check_fits_in_memory(8 * matrix.shape[0] * matrix.shape[1], what="the dense form of judgements")
        matrix = matrix.toarray()
    if n is not None and matrix.ndim == 1:
        matrix = as_column(matrix, n, name="judgements")[:, None]
    grades = as_real(matrix, name="judgements", shape=(n, None))
    validation.check_finite(grades, name="judgements")
    return np.maximum(grades, 0.0)


class Query(NamedTuple):
    """Candidates of one query, and their judgements.

    `table` holds grades of items (rows) for subtopics (columns), including judged items that are not candidates;
    `row_of` is the row of each candidate. Both are None without judgements.
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
    triples = isinstance(features, (list, tuple)) and (isinstance(f, tuple) and len(f) == 3 for f in features)
    if triples and features and all(triples) and all(np.ndim(own) for own, _, _ in features):
        names = ("quality", "judgements", "queries", "ids", "given", "exclude")
        for name, value in zip(names, (quality, judgements, queries, ids, given, exclude), strict=True):
            if value is not None:
                raise DiversetError(
                    f"features is a list of (features, quality, judgements), and {name} is given as well"
                )
        return [_query(i, X, k, q, grades, None, None, None, options) for i, (X, q, grades) in enumerate(features)]
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
