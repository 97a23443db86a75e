"""What the rerankers share: from embeddings and scores to an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from diverset.errors import DiversetError
from diverset.inference import select

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
    relevance: dict[str, Any] = {"query": query}
    present = [score for score in scores if score is not None]
    if present:
        lowest = min(present)
        relevance = {"quality": [lowest if score is None else score for score in scores]}
    elif query is None:
        relevance = {"quality": np.arange(len(X), 0.0, -1.0)}
    return list(select(X, len(X) if k is None else k, diversity=diversity, **relevance))
