"""LangChain: a retriever and a document compressor whose documents do not repeat each other.

For a vector store, with its vectors and scores::

    from diverset.integrations.langchain import DiverseRetriever

    retriever = DiverseRetriever(vectorstore=store, k=8, fetch_k=100, diversity=0.4)
    chain = retriever | prompt | model

After any other retriever::

    from diverset.integrations.langchain import DiverseReranker

    chain = retriever | DiverseReranker(embeddings=embeddings, top_n=8) | prompt | model

Settings are those of :func:`diverset.select`. ``diversity`` is 1 for most diverse; LangChain's own ``lambda_mult`` has
the opposite direction.

Stores are recognised by their methods, so that none has to be imported:

===================  =========================================  =================================================
store                scores                                     vectors
===================  =========================================  =================================================
InMemoryVectorStore  cosines                                    ``store.store``
FAISS                distances, or products for an inner        ``index.reconstruct``
                     product index
Chroma               distances                                  ``get(ids, include=["embeddings"])``
QdrantVectorStore    cosines and products, or distances         ``client.retrieve(..., with_vectors=True)``
any other            cosine to the query                        documents are embedded
===================  =========================================  =================================================
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from diverset._extras import found, stand_in
from diverset.errors import DiversetError
from diverset.integrations._rerank import Candidate, Reranking, check_fetch, read_score

__all__ = ["DiverseReranker", "DiverseRetriever"]


class _Store:
    """Any vector store: its documents have no scores and must be embedded."""

    lower_is_better = False

    def __init__(self, store: Any) -> None:
        self.store = store

    def search(self, query: str, vector: Any, n: int, **options: Any) -> list[tuple[Any, float | None]]:
        """The n documents nearest to a query, best first, each with its score if the store returns one."""
        try:
            found = self.store.similarity_search_by_vector(vector, k=n, **options)
        except NotImplementedError:
            found = self.store.similarity_search(query, k=n, **options)
        return [(document, None) for document in found]

    def vectors(self, documents: Sequence[Any]) -> list[Any]:
        """The vector of each document in the store, or None."""
        return [None] * len(documents)

    def key(self, document: Any) -> Any:
        """The id of a document in the store, or None."""
        return document.id


class _InMemory(_Store):
    """``langchain_core.vectorstores.InMemoryVectorStore``."""

    def search(self, query: str, vector: Any, n: int, **options: Any) -> list[tuple[Any, float | None]]:
        return list(self.store.similarity_search_with_score_by_vector(vector, k=n, **options))

    def vectors(self, documents: Sequence[Any]) -> list[Any]:
        rows = [self.store.store.get(document.id) for document in documents]
        return [None if row is None else row["vector"] for row in rows]


class _FAISS(_Store):
    """``langchain_community.vectorstores.FAISS``."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.lower_is_better = store.index.metric_type != 0  # faiss.METRIC_INNER_PRODUCT

    def search(self, query: str, vector: Any, n: int, **options: Any) -> list[tuple[Any, float | None]]:
        # The store filters only the nearest `fetch_k` documents, so `fetch_k` grows until n documents pass the filter.
        fetched = n
        while True:
            found = self.store.similarity_search_with_score_by_vector(vector, k=n, fetch_k=fetched, **options)
            if len(found) >= n or fetched >= self.store.index.ntotal or options.get("filter") is None:
                return [(document, float(score)) for document, score in found]
            fetched *= 4

    def vectors(self, documents: Sequence[Any]) -> list[Any]:
        wanted = {document.id for document in documents} - {None}
        places = {key: place for place, key in self.store.index_to_docstore_id.items() if key in wanted}
        try:
            return [
                None if document.id not in places else self.store.index.reconstruct(places[document.id])
                for document in documents
            ]
        except RuntimeError:  # the index does not store vectors
            return [None] * len(documents)


class _Chroma(_Store):
    """``langchain_chroma.Chroma``."""

    lower_is_better = True

    def search(self, query: str, vector: Any, n: int, **options: Any) -> list[tuple[Any, float | None]]:
        return list(self.store.similarity_search_by_vector_with_relevance_scores(vector, k=n, **options))

    def vectors(self, documents: Sequence[Any]) -> list[Any]:
        wanted = list({document.id for document in documents} - {None})
        rows = self.store.get(ids=wanted, include=["embeddings"]) if wanted else {"ids": [], "embeddings": []}
        found = dict(zip(rows["ids"], rows["embeddings"], strict=True))
        return [found.get(document.id) for document in documents]


class _Qdrant(_InMemory):
    """``langchain_qdrant.QdrantVectorStore``."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.lower_is_better = str(getattr(store.distance, "value", store.distance)) in ("Euclid", "Manhattan")

    def vectors(self, documents: Sequence[Any]) -> list[Any]:
        wanted = list({self.key(document) for document in documents} - {None})
        rows = self.store.client.retrieve(self.store.collection_name, wanted, with_payload=False, with_vectors=True)
        found = {row.id: row.vector for row in rows}
        chosen = [found.get(self.key(document)) for document in documents]
        return [row.get(self.store.vector_name) if isinstance(row, dict) else row for row in chosen]

    def key(self, document: Any) -> Any:
        return document.metadata.get("_id", document.id)


def _read_store(store: Any) -> _Store:
    """Wrap a store in the class that fits its methods."""
    if hasattr(store, "index_to_docstore_id"):
        return _FAISS(store)
    if hasattr(store, "similarity_search_by_vector_with_relevance_scores") and hasattr(store, "get"):
        return _Chroma(store)
    if hasattr(store, "client") and hasattr(store, "collection_name") and hasattr(store, "vector_name"):
        return _Qdrant(store)
    if isinstance(getattr(store, "store", None), dict) and hasattr(store, "similarity_search_with_score_by_vector"):
        return _InMemory(store)
    return _Store(store)


if TYPE_CHECKING or found("langchain_core"):
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableConfig, RunnableSerializable
    from langchain_core.runnables.config import run_in_executor
    from langchain_core.vectorstores import VectorStore
    from pydantic import Field, PrivateAttr, model_validator

    from diverset.integrations._settings import RerankSettings

    class DiverseReranker(BaseDocumentCompressor, RunnableSerializable[Any, list[Document]], RerankSettings):
        """Document compressor: the best documents that do not repeat each other, best first.

        Documents may be ``(document, score)`` pairs; otherwise the score is read from the metadata. The reranker can be
        piped: ``retriever | reranker`` takes the documents, or a dictionary with ``documents`` and ``query``. Relevance
        and the metadata of the result are described on :doc:`/rag`.

        Parameters
        ----------
        top_n : int or None
            Number of documents to keep; None keeps all, in the new order.
        diversity, keep, scale, given, groups, per_group, min_quality, lower_is_better, cache_size
            As for :func:`diverset.select`; `given` may also contain documents or their ids, and `groups` may name a
            metadata entry. `cache_size` is the number of embedded texts whose vectors are cached. See :doc:`/rag`.
        embeddings : Embeddings, optional
            Embeds the documents without a vector, in one call, and the query if no document has a score.
        embedding_key : str
            Metadata entry with the vector of a document.
        score_key : str, optional
            Metadata entry with the relevance of a document; ``relevance_score`` or ``score`` by default.

        Examples
        --------
        >>> from langchain_core.documents import Document
        >>> from diverset.integrations.langchain import DiverseReranker
        >>> vectors = {"cats": [1.0, 0.0], "cats again": [1.0, 0.0], "dogs": [0.0, 1.0]}
        >>> documents = [Document(text, metadata={"embedding": vector}) for text, vector in vectors.items()]
        >>> [d.page_content for d in DiverseReranker().compress_documents(documents, "pets")]
        ['cats', 'dogs', 'cats again']
        """

        top_n: int | None = 10
        lower_is_better: bool = False
        embeddings: Embeddings | None = None
        embedding_key: str = "embedding"
        score_key: str | None = None

        def compress_documents(
            self, documents: Sequence[Any], query: str | None = None, callbacks: Any = None, **settings: Any
        ) -> list[Document]:
            """Keep the best documents that do not repeat each other.

            `settings` override those of the reranker for this call: `top_n`, `diversity`, `keep`, `scale`, `given`,
            `groups`, `per_group`, `min_quality`. `callbacks` are not used.
            """
            work = self._work(documents, settings)
            vectors: Sequence[Any] = []
            query_vector = None
            if self.embeddings is not None:
                vectors = self.embeddings.embed_documents(work.texts) if work.texts else []
                if work.needs_query and query is not None:
                    query_vector = self.embeddings.embed_query(query)
            return self._picks(work, vectors, query_vector)

        async def acompress_documents(
            self, documents: Sequence[Any], query: str | None = None, callbacks: Any = None, **settings: Any
        ) -> list[Document]:
            """As :meth:`compress_documents`, with the asynchronous methods of `embeddings`."""
            work = self._work(documents, settings)
            vectors: Sequence[Any] = []
            query_vector = None
            if self.embeddings is not None:
                vectors = await self.embeddings.aembed_documents(work.texts) if work.texts else []
                if work.needs_query and query is not None:
                    query_vector = await self.embeddings.aembed_query(query)
            return self._picks(work, vectors, query_vector)

        def invoke(self, input: Any, config: RunnableConfig | None = None, **settings: Any) -> list[Document]:
            """Rerank in a chain; the input is documents, or a dictionary with ``documents`` and ``query``."""

            def run(value: Any) -> list[Document]:
                return self.compress_documents(*_documents_and_query(value), **settings)

            result: list[Document] = self._call_with_config(run, input, config)
            return result

        async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **settings: Any) -> list[Document]:
            """As :meth:`invoke`, with the asynchronous methods of `embeddings`."""

            async def run(value: Any) -> list[Document]:
                return await self.acompress_documents(*_documents_and_query(value), **settings)

            result: list[Document] = await self._acall_with_config(run, input, config)
            return result

        def _work(self, documents: Sequence[Any], settings: dict[str, Any]) -> Reranking:
            return Reranking(
                self._choice(**settings), [self._read(each) for each in documents], self._read, self._cache
            )

        def _read(self, each: Any) -> Candidate:
            document, score = each if isinstance(each, tuple) and len(each) == 2 else (each, None)
            if not isinstance(document, Document):
                raise DiversetError(f"got {type(document).__name__}; give documents, or (document, score) pairs")
            metadata = document.metadata
            if score is None:
                score = read_score(metadata, self.score_key)
            else:
                document = _with_metadata(document, {self.score_key or "score": float(score)})
            key = document.page_content if document.id is None else document.id
            return Candidate(document, key, document.page_content, metadata.get(self.embedding_key), score, metadata)

        def _picks(self, work: Reranking, vectors: Sequence[Any], query: Any) -> list[Document]:
            remedy = f"store it as metadata[{self.embedding_key!r}], or pass embeddings="
            return [_with_metadata(document, more) for document, more in work.finish(vectors, query, remedy)]

    class DiverseRetriever(BaseRetriever, RerankSettings):
        """Retriever for a vector store: fetches `fetch_k` documents and returns `k` that do not repeat each other.

        ``InMemoryVectorStore``, ``FAISS``, ``Chroma`` and ``QdrantVectorStore`` provide vectors and scores. For other
        stores the documents are embedded, in one call, and the relevance is the cosine similarity to the query. The
        query is embedded once. The metadata of the result also contain the ``score`` of the store.

        Parameters
        ----------
        vectorstore : VectorStore
            The store of the documents.
        k : int or None
            Number of documents to return; None returns all fetched documents, in the new order.
        fetch_k : int
            Number of documents to fetch.
        filter : optional
            Metadata filter, in the format of the store.
        search_kwargs : dict
            Further arguments of the store's search.
        diversity, keep, scale, given, groups, per_group, min_quality
            As for :class:`DiverseReranker`. `min_quality` is in the unit of the store's scores; if these are
            distances, it is the largest distance allowed.
        embeddings : Embeddings, optional
            Embeds the query, and documents whose vectors the store does not provide; by default those of the store.
        cache_size : int
            As for :class:`DiverseReranker`.

        Examples
        --------
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> from diverset.integrations.langchain import DiverseRetriever
        >>> store = InMemoryVectorStore.from_texts(["cats", "cats", "dogs"], DeterministicFakeEmbedding(size=8))
        >>> sorted(d.page_content for d in DiverseRetriever(vectorstore=store, k=2, fetch_k=3).invoke("cats"))
        ['cats', 'dogs']
        """

        size_name = "k"

        vectorstore: VectorStore
        k: int | None = 10
        fetch_k: int = 100
        filter: Any = None
        search_kwargs: dict[str, Any] = Field(default_factory=dict)
        embeddings: Embeddings | None = None
        _store: _Store = PrivateAttr()

        @model_validator(mode="before")
        @classmethod
        def _check_search(cls, settings: Any) -> Any:
            check_fetch("k", settings.get("k", 10), settings.get("fetch_k", 100))
            options = settings.get("search_kwargs") or {}
            for name in ("k", "fetch_k", "lambda_mult"):
                if name in options:
                    instead = "diversity=" if name == "lambda_mult" else f"{name}="
                    raise ValueError(f"search_kwargs holds {name}; pass {instead} to DiverseRetriever itself")
            if "filter" in options and settings.get("filter") is not None:
                raise ValueError("filter is given twice, also in search_kwargs; give it once")
            if "vectorstore" in settings and settings.get("embeddings") is None:
                if getattr(settings["vectorstore"], "embeddings", None) is None:
                    raise ValueError(f"{type(settings['vectorstore']).__name__} has no embeddings; pass embeddings=")
            return settings

        def model_post_init(self, context: Any) -> None:
            """Determine the type of the store."""
            self._store = _read_store(self.vectorstore)

        @property
        def _model(self) -> Embeddings:
            return self.vectorstore.embeddings if self.embeddings is None else self.embeddings

        def _get_relevant_documents(self, query: str, *, run_manager: Any, **settings: Any) -> list[Document]:
            query_vector = self._model.embed_query(query)
            work = self._work(query, query_vector, settings)
            vectors = self._model.embed_documents(work.texts) if work.texts else []
            return self._picks(work, vectors, query_vector)

        async def _aget_relevant_documents(self, query: str, *, run_manager: Any, **settings: Any) -> list[Document]:
            query_vector = await self._model.aembed_query(query)
            work = await run_in_executor(None, self._work, query, query_vector, settings)
            vectors = await self._model.aembed_documents(work.texts) if work.texts else []
            return self._picks(work, vectors, query_vector)

        def _work(self, query: str, query_vector: Any, settings: dict[str, Any]) -> Reranking:
            """Fetch documents with their vectors and scores; `settings` are those of this call."""
            fetch_k = settings.pop("fetch_k", self.fetch_k)
            wanted = settings.pop("filter", self.filter)
            choice = self._choice(**settings)
            check_fetch("k", choice.k, fetch_k)
            options = self.search_kwargs if wanted is None else {**self.search_kwargs, "filter": wanted}
            found = self._store.search(query, query_vector, fetch_k, **options)
            shown = [document for document in choice.given if isinstance(document, Document)]
            documents = [document for document, _ in found]
            vectors = self._store.vectors(documents + shown)
            known = {self._key(document): vector for document, vector in zip(documents + shown, vectors, strict=True)}

            def read(document: Any, score: float | None = None) -> Candidate:
                if not isinstance(document, Document):
                    raise DiversetError(f"given holds a {type(document).__name__}; give documents, ids or positions")
                key, text = self._key(document), document.page_content
                return Candidate(document, key, text, known.get(key), score, document.metadata)

            candidates = [
                read(document if score is None else _with_metadata(document, {"score": score}), score)
                for document, score in found
            ]
            choice = replace(choice, lower_is_better=self._store.lower_is_better)
            return Reranking(choice, candidates, read, self._cache)

        def _key(self, document: Document) -> Any:
            key = self._store.key(document)
            return document.page_content if key is None else key

        def _picks(self, work: Reranking, vectors: Sequence[Any], query: Any) -> list[Document]:
            picks = work.finish(vectors, query, "pass embeddings=")
            return [_with_metadata(document, more) for document, more in picks]

    def _with_metadata(document: Document, more: dict[str, Any]) -> Document:
        """A copy with further metadata; the original may belong to the store and is not changed."""
        result: Document = document.model_copy(update={"metadata": {**document.metadata, **more}})
        return result

    def _documents_and_query(value: Any) -> tuple[Any, Any]:
        """Input of a chain: documents, or a dictionary with documents and query."""
        if not isinstance(value, Mapping):
            return value, None
        unknown = set(value) - {"documents", "query"}
        if unknown or "documents" not in value:
            raise DiversetError(
                f"got a dictionary with {', '.join(sorted(map(repr, value)))}; give 'documents' and 'query'"
            )
        return value["documents"], value.get("query")

else:
    DiverseReranker = stand_in("DiverseReranker", needs="langchain-core", extra="langchain")
    DiverseRetriever = stand_in("DiverseRetriever", needs="langchain-core", extra="langchain")
