"""Vector stores without a framework: search results as candidates for a selection.

==========================  =====================================  ==============================================
function                    takes                                  ask the store for
==========================  =====================================  ==============================================
:func:`from_faiss`          index, distances, ids                  ``index.search(query, 100)``
:func:`from_qdrant`         ``QueryResponse``, points or JSON      ``with_vectors=True``
:func:`from_chroma`         the dictionary of ``query``            ``include=["embeddings", "distances"]``
:func:`from_lancedb`        rows, Arrow table or pandas frame      nothing; rows have their vectors
:func:`from_elasticsearch`  the response of Elasticsearch or       ``"fields": ["embedding"]``, or the vector in
                            OpenSearch                             ``_source``
==========================  =====================================  ==============================================

Each function returns :class:`Candidates`, whose ``select`` picks among them. No store is imported here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray
from diverset.errors import DiversetError
from diverset.inference import Selection, select
from diverset.numerics.validation import as_finite

__all__ = ["Candidates", "from_chroma", "from_elasticsearch", "from_faiss", "from_lancedb", "from_qdrant"]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Results of a search in a vector store, best first.

    Parameters
    ----------
    features : ndarray of shape (n, n_features)
        The stored vectors.
    scores : ndarray of shape (n,)
        Similarities or distances to the query, as returned by the store.
    ids : list
        The store's ids.
    lower_is_better : bool
        Whether the scores are distances.

    Examples
    --------
    >>> from diverset.integrations.stores import from_chroma
    >>> vectors = [[1.0, 0.0], [1.0, 0.05], [0.0, 1.0]]
    >>> found = from_chroma({"ids": [["a", "b", "c"]], "distances": [[0.1, 0.2, 0.6]], "embeddings": [vectors]})
    >>> found.select(2).take(found.ids)
    ['a', 'c']
    """

    features: Array
    scores: FloatArray
    ids: list[Any]
    lower_is_better: bool

    def __len__(self) -> int:
        return len(self.ids)

    def select(self, k: int | float = 10, **settings: Any) -> Selection:
        """Pick among the candidates, by :func:`diverset.select` with any of its settings.

        ``found.select(10).take(found.ids)`` are the ids of the picks.
        """
        return select(self.features, k, quality=self.scores, lower_is_better=self.lower_is_better, **settings)


def from_faiss(index: Any, distances: Any, ids: Any, *, vectors: Any = None, query: int | None = None) -> Candidates:
    """Candidates from ``distances, ids = index.search(queries, n)``.

    Parameters
    ----------
    index : faiss.Index
        The index, for its metric and its vectors.
    distances, ids : array_like of shape (n_queries, n)
        Results of the search. Ids of -1, which mean that fewer items were found, are ignored.
    vectors : array_like of shape (n_queries, n, n_features), optional
        The third result of ``index.search_and_reconstruct``, for indexes that cannot reconstruct by id.
    query : int, optional
        Which query, if the search was for several.
    """
    at = _which(len(np.atleast_2d(ids)), query)
    keys = np.atleast_2d(ids)[at]
    found = keys >= 0
    if vectors is not None:
        rows = np.asarray(vectors)[at] if np.ndim(vectors) == 3 else np.asarray(vectors)
        rows = rows[found]
    else:
        try:
            rows = np.array([index.reconstruct(int(key)) for key in keys[found]])
        except RuntimeError as error:
            raise DiversetError(
                "the index gives no vectors by id; call index.make_direct_map() once, or search by "
                "index.search_and_reconstruct and pass its third result as vectors="
            ) from error
    # METRIC_INNER_PRODUCT is 0; all other metrics are distances.
    scores = np.atleast_2d(distances)[at][found]
    return _checked(rows, scores, keys[found].tolist(), lower_is_better=index.metric_type != 0)


def from_qdrant(answer: Any, *, vector_name: str | None = None) -> Candidates:
    """Candidates from ``client.query_points(..., with_vectors=True)``, or from the JSON response of the server.

    Qdrant returns the best point first, so increasing scores are distances (Euclid, Manhattan).

    Parameters
    ----------
    answer : QueryResponse, list of points, or dict
        Points as objects or dictionaries.
    vector_name : str, optional
        Name of the vector, if points have several named vectors.
    """
    points = getattr(answer, "points", answer)
    while isinstance(points, Mapping):
        points = points["result"] if "result" in points else _entry(points, "points", "the answer")
    rows = []
    for i, point in enumerate(points):
        row = _field(point, "vector")
        if isinstance(row, Mapping):
            if vector_name is None and len(row) > 1:
                raise DiversetError(f"points have vectors {', '.join(map(repr, row))}; say which with vector_name=")
            row = _entry(row, next(iter(row)) if vector_name is None else vector_name, f"point {i}")
        if row is None:
            raise DiversetError(f"point {i} of {len(points)} has no vector; search with with_vectors=True")
        rows.append(row)
    scores = [_field(point, "score") for point in points]
    rising = len(scores) > 1 and scores[-1] > scores[0]
    return _checked(rows, scores, [_field(point, "id") for point in points], lower_is_better=rising)


def from_chroma(answer: Mapping[str, Any], *, query: int | None = None) -> Candidates:
    """Candidates from ``collection.query(..., include=["embeddings", "distances"])``.

    Parameters
    ----------
    answer : dict
        Dictionary with ``ids``, ``distances`` and ``embeddings``, one list per query.
    query : int, optional
        Which query, if the search was for several.
    """
    ids = _entry(answer, "ids", "the answer")
    at = _which(len(ids), query)
    parts = {}
    for name in ("embeddings", "distances"):
        if answer.get(name) is None:
            raise DiversetError(f'the answer has no {name}; search with include=["embeddings", "distances"]')
        if len(answer[name]) != len(ids):
            raise DiversetError(f"the answer has {name} for {len(answer[name])} queries and ids for {len(ids)}")
        parts[name] = answer[name][at]
    return _checked(parts["embeddings"], parts["distances"], list(ids[at]), lower_is_better=True)


def from_lancedb(answer: Any, *, vector: str = "vector", id: str | None = "id") -> Candidates:
    """Candidates from ``table.search(query).limit(n)``, converted by ``to_list``, ``to_arrow`` or ``to_pandas``.

    Vector searches return distances. Hybrid and text searches return scores; higher is better.

    Parameters
    ----------
    answer : list of dict, pyarrow.Table or DataFrame
        One row per document.
    vector : str
        Name of the column of vectors.
    id : str or None
        Name of the column of ids; None numbers the rows.
    """
    if hasattr(answer, "to_pylist"):
        answer = answer.to_pylist()
    elif hasattr(answer, "to_dict"):
        answer = answer.to_dict("records")
    if not len(answer):
        return _checked([], [], [], lower_is_better=True)
    score = next((name for name in ("_distance", "_relevance_score", "_score") if name in answer[0]), None)
    if score is None:
        raise DiversetError(f"rows have no _distance and no score; they have {', '.join(answer[0])}")
    ids = list(range(len(answer))) if id is None else [_entry(row, id, "a row") for row in answer]
    rows = [_entry(row, vector, "a row") for row in answer]
    return _checked(rows, [row[score] for row in answer], ids, lower_is_better=score == "_distance")


def from_elasticsearch(answer: Mapping[str, Any], *, field: str) -> Candidates:
    """Candidates from a k-NN search of Elasticsearch or OpenSearch.

    In both, a higher score is better for every metric of the index. Elasticsearch 9.2 and later do not include vectors
    in ``_source``; request them by ``"fields": ["embedding"]``.

    Parameters
    ----------
    answer : dict
        The response, with ``hits.hits``.
    field : str
        Name of the field with the vectors, with dots for nested fields.
    """
    hits = _entry(_entry(answer, "hits", "the answer"), "hits", "its hits")
    rows = []
    for i, hit in enumerate(hits):
        row = hit.get("fields", {}).get(field)
        if row is None:
            row = hit.get("_source", {})
            for name in field.split("."):
                row = row.get(name) if isinstance(row, Mapping) else None
        if row is None:
            raise DiversetError(
                f'hit {i} of {len(hits)} has no field {field!r}; ask for it with "fields": [{field!r}], or keep it in '
                "_source"
            )
        rows.append(row)
    return _checked(rows, [hit["_score"] for hit in hits], [hit["_id"] for hit in hits], lower_is_better=False)


def _which(n: int, query: int | None) -> int:
    """Number of the requested query."""
    if query is None:
        if n != 1:
            raise DiversetError(f"the answer is for {n} queries; say which with query=0 to {n - 1}")
        return 0
    if not 0 <= query < n:
        raise DiversetError(f"query is {query}, and the answer is for {n} queries; count from 0")
    return query


def _field(point: Any, name: str) -> Any:
    return point.get(name) if isinstance(point, Mapping) else getattr(point, name, None)


def _entry(row: Mapping[str, Any], name: str, what: str) -> Any:
    if name not in row:
        raise DiversetError(f"{what} has no {name!r}; it has {', '.join(map(repr, row))}")
    return row[name]


def _checked(rows: Any, scores: Any, ids: Sequence[Any], *, lower_is_better: bool) -> Candidates:
    lengths = {np.shape(row) for row in rows}
    if len(lengths) > 1:
        raise DiversetError(f"vectors have shapes {sorted(lengths)}; all must have the same length")
    features = np.asarray(rows) if len(rows) else np.zeros((0, 0))
    return Candidates(features, as_finite(scores, name="scores", shape=(len(ids),)), list(ids), lower_is_better)
