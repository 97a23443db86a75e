"""Vectors and scores that LangChain's vector stores hold, through the stores' own public methods.

Stores are recognised by what they can do, so that none has to be imported:

===================  =========================================  =================================================
store                scores                                     vectors
===================  =========================================  =================================================
InMemoryVectorStore  cosines                                    ``store.store``
FAISS                distances, or products for an inner        ``index.reconstruct``
                     product index
Chroma               distances                                  ``get(ids, include=["embeddings"])``
QdrantVectorStore    cosines and products, or distances         ``client.retrieve(..., with_vectors=True)``
any other            cosine to the query, from embeddings       embedded
===================  =========================================  =================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["Store", "read_store"]


class Store:
    """Any vector store: its documents come without scores, and have to be embedded."""

    lower_is_better = False

    def __init__(self, store: Any) -> None:
        self.store = store

    def search(self, query: str, vector: Any, n: int, **options: Any) -> list[tuple[Any, float | None]]:
        """The n documents nearest to a query, best first, each with its score if the store tells it.

        `options` go to the store as they are, a metadata filter for instance.
        """
        try:
            found = self.store.similarity_search_by_vector(vector, k=n, **options)
        except NotImplementedError:
            found = self.store.similarity_search(query, k=n, **options)
        return [(document, None) for document in found]

    def vectors(self, documents: Sequence[Any]) -> list[Any]:
        """For each document its vector in the store, or None."""
        return [None] * len(documents)

    def key(self, document: Any) -> Any:
        """The id of a document in the store, or None."""
        return document.id


class InMemory(Store):
    """``langchain_core.vectorstores.InMemoryVectorStore``."""

    def search(self, query: str, vector: Any, n: int, **options: Any) -> list[tuple[Any, float | None]]:
        """The nearest documents, with cosines."""
        return list(self.store.similarity_search_with_score_by_vector(vector, k=n, **options))

    def vectors(self, documents: Sequence[Any]) -> list[Any]:
        """Vectors out of the store's dictionary."""
        rows = [self.store.store.get(document.id) for document in documents]
        return [None if row is None else row["vector"] for row in rows]


class FAISS(Store):
    """``langchain_community.vectorstores.FAISS``."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.lower_is_better = store.index.metric_type != 0  # faiss.METRIC_INNER_PRODUCT

    def search(self, query: str, vector: Any, n: int, **options: Any) -> list[tuple[Any, float | None]]:
        """The nearest documents, with the distances or products of the index.

        The store applies a filter to the nearest `fetch_k` documents only. They are increased until n pass it.
        """
        fetched = n
        while True:
            found = self.store.similarity_search_with_score_by_vector(vector, k=n, fetch_k=fetched, **options)
            if len(found) >= n or fetched >= self.store.index.ntotal or options.get("filter") is None:
                return [(document, float(score)) for document, score in found]
            fetched *= 4

    def vectors(self, documents: Sequence[Any]) -> list[Any]:
        """Vectors out of the index, if it can reconstruct them."""
        wanted = {document.id for document in documents} - {None}
        places = {key: place for place, key in self.store.index_to_docstore_id.items() if key in wanted}
        try:
            return [
                None if document.id not in places else self.store.index.reconstruct(places[document.id])
                for document in documents
            ]
        except RuntimeError:  # an index that keeps no vectors
            return [None] * len(documents)


class Chroma(Store):
    """``langchain_chroma.Chroma``."""

    lower_is_better = True

    def search(self, query: str, vector: Any, n: int, **options: Any) -> list[tuple[Any, float | None]]:
        """The nearest documents, with distances."""
        return list(self.store.similarity_search_by_vector_with_relevance_scores(vector, k=n, **options))

    def vectors(self, documents: Sequence[Any]) -> list[Any]:
        """Vectors out of the collection."""
        wanted = list({document.id for document in documents} - {None})
        rows = self.store.get(ids=wanted, include=["embeddings"]) if wanted else {"ids": [], "embeddings": []}
        found = dict(zip(rows["ids"], rows["embeddings"], strict=True))
        return [found.get(document.id) for document in documents]


class Qdrant(Store):
    """``langchain_qdrant.QdrantVectorStore``."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.lower_is_better = str(getattr(store.distance, "value", store.distance)) in ("Euclid", "Manhattan")

    def search(self, query: str, vector: Any, n: int, **options: Any) -> list[tuple[Any, float | None]]:
        """The nearest documents, with the collection's own scores."""
        return list(self.store.similarity_search_with_score_by_vector(vector, k=n, **options))

    def vectors(self, documents: Sequence[Any]) -> list[Any]:
        """Vectors out of the collection."""
        wanted = list({self.key(document) for document in documents} - {None})
        rows = self.store.client.retrieve(self.store.collection_name, wanted, with_payload=False, with_vectors=True)
        found = {row.id: row.vector for row in rows}
        chosen = [found.get(self.key(document)) for document in documents]
        return [row.get(self.store.vector_name) if isinstance(row, dict) else row for row in chosen]

    def key(self, document: Any) -> Any:
        """The id of a point."""
        return document.metadata.get("_id", document.id)


def read_store(store: Any) -> Store:
    """How to ask this store."""
    if hasattr(store, "index_to_docstore_id"):
        return FAISS(store)
    if hasattr(store, "similarity_search_by_vector_with_relevance_scores") and hasattr(store, "get"):
        return Chroma(store)
    if hasattr(store, "client") and hasattr(store, "collection_name") and hasattr(store, "vector_name"):
        return Qdrant(store)
    if isinstance(getattr(store, "store", None), dict) and hasattr(store, "similarity_search_with_score_by_vector"):
        return InMemory(store)
    return Store(store)
