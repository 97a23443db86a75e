"""What the rerankers share: from embeddings and scores to an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.inference import select
from diverset.inference.inputs import as_column

__all__ = ["fill_gaps", "rerank"]


def fill_gaps(vectors: Sequence[Any], computed: Sequence[Any]) -> list[Any]:
    """Vectors with the computed ones, in turn, in place of each None; None stays where they run out."""
    rest = iter(computed)
    return [next(rest, None) if vector is None else vector for vector in vectors]


def rerank(
    embeddings: Sequence[Any],
    scores: Sequence[float | None],
    *,
    k: int | None,
    diversity: float,
    query: Any = None,
    remedy: str,
) -> list[int]:
    """Positions of the best k documents, best first; all of them if k is None.

    Parameters
    ----------
    embeddings : sequence of array_like
        One vector per document; None where there is none, which is refused.
    scores : sequence of float or None
        Relevance of each document. Those without one count as the least relevant; if none has one, cosine similarity
        to the query decides, and without a query the order of the documents, first best.
    k : int or None
        How many.
    diversity : float
        The dial of :func:`diverset.select`.
    query : array_like, optional
        Embedding of the query.
    remedy : str
        What to do about a document without an embedding, for the message.
    """
    if len(embeddings) == 0:
        return []
    for i, vector in enumerate(embeddings):
        if vector is None:
            raise DiversetError(f"document {i} of {len(embeddings)} has no embedding; {remedy}")
    vectors = [np.asarray(vector) for vector in embeddings]
    for i, vector in enumerate(vectors):
        if vector.shape != vectors[0].shape:
            raise DiversetError(
                f"the embedding of document {i} has shape {vector.shape}, that of document 0 {vectors[0].shape}; "
                "use the same model for all"
            )
    X = np.stack(vectors)
    quality = _unit_range(_relevance(X, scores, query))
    return list(select(X, len(X) if k is None else k, quality=quality, diversity=diversity))


def _relevance(X: Any, scores: Sequence[float | None], query: Any) -> FloatArray:
    present = [score for score in scores if score is not None]
    if present:
        lowest = min(present)
        return as_column([lowest if score is None else score for score in scores], len(X), name="scores")
    if query is None:
        return np.arange(len(X), 0.0, -1.0)
    q = as_column(query, X.shape[1], name="the embedding of the query")
    if not q.any():
        raise DiversetError("the embedding of the query is all zeros, and a zero vector has no direction")
    rows = X.astype(np.float64)
    # Zero rows are refused by select, with their position; here they only must not divide by zero.
    norms = np.maximum(np.linalg.norm(rows, axis=1), np.finfo(np.float64).tiny)
    return np.asarray(rows @ (q / np.linalg.norm(q)) / norms)


def _unit_range(values: FloatArray) -> FloatArray:
    """Values moved and scaled to 0..1: retrievers score on scales from cosines near 0.8 to BM25 in the tens."""
    values = values / max(np.abs(values).max(), np.finfo(np.float64).tiny)
    spread = values.max() - values.min()
    return (values - values.min()) / spread if spread > 0.0 else np.zeros(len(values))
