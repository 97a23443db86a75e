"""LangChain: a document compressor that keeps good documents which do not repeat each other.

With embeddings computed on the spot, around any retriever::

    from langchain_classic.retrievers import ContextualCompressionRetriever
    from diverset.integrations.langchain import DiverseReranker

    reranker = DiverseReranker(embeddings=OpenAIEmbeddings(), k=8, diversity=0.4)
    retriever = ContextualCompressionRetriever(base_compressor=reranker, base_retriever=store.as_retriever())

Or with vectors and scores that the documents carry in their metadata::

    DiverseReranker(embedding_key="vector", score_key="relevance_score").compress_documents(documents, query)

``diversity`` is 1 for diverse; LangChain's own ``lambda_mult`` turns the other way.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from diverset.integrations._extras import found, stand_in
from diverset.integrations._rerank import fill_gaps, rerank

__all__ = ["DiverseReranker"]

if TYPE_CHECKING or found("langchain_core"):
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from pydantic import ConfigDict

    class DiverseReranker(BaseDocumentCompressor):
        """The best documents that do not repeat each other, best first.

        Relevance is the score in the metadata; if no document has one, the cosine similarity to the query under
        `embeddings`; without `embeddings`, the order of the documents, first best. It is brought to the range 0 to 1.
        Documents are returned as they are, with their metadata.

        Parameters
        ----------
        k : int or None
            How many to keep; None keeps all, in the new order.
        diversity : float
            0 ranks by relevance alone, 1 by diversity alone.
        embeddings : Embeddings, optional
            Embeds the documents that carry no vector, and the query if no document has a score.
        embedding_key : str
            Metadata entry with a document's vector.
        score_key : str
            Metadata entry with a document's relevance.

        Examples
        --------
        >>> from langchain_core.documents import Document
        >>> from diverset.integrations.langchain import DiverseReranker
        >>> vectors = {"cats": [1.0, 0.0], "cats again": [1.0, 0.0], "dogs": [0.0, 1.0]}
        >>> documents = [Document(text, metadata={"embedding": vector}) for text, vector in vectors.items()]
        >>> [d.page_content for d in DiverseReranker().compress_documents(documents, "pets")]
        ['cats', 'dogs', 'cats again']
        """

        model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

        k: int | None = 10
        diversity: float = 0.5
        embeddings: Embeddings | None = None
        embedding_key: str = "embedding"
        score_key: str = "relevance_score"

        def compress_documents(
            self, documents: Sequence[Document], query: str, callbacks: Any = None
        ) -> list[Document]:
            """Keep the best documents that do not repeat each other.

            Parameters
            ----------
            documents : sequence of Document
                Retrieved documents.
            query : str
                What they were retrieved for.
            callbacks : optional
                Not used.

            Returns
            -------
            list of Document
                At most k of the documents, best first.
            """
            vectors, query_vector = self._carried(documents), None
            if self.embeddings is not None:
                texts = [d.page_content for d, vector in zip(documents, vectors, strict=True) if vector is None]
                vectors = fill_gaps(vectors, self.embeddings.embed_documents(texts) if texts else [])
                if self._needs_query(documents):
                    query_vector = self.embeddings.embed_query(query)
            return self._best(documents, vectors, query_vector)

        async def acompress_documents(
            self, documents: Sequence[Document], query: str, callbacks: Any = None
        ) -> list[Document]:
            """As :meth:`compress_documents`, with the asynchronous methods of `embeddings`."""
            vectors, query_vector = self._carried(documents), None
            if self.embeddings is not None:
                texts = [d.page_content for d, vector in zip(documents, vectors, strict=True) if vector is None]
                vectors = fill_gaps(vectors, await self.embeddings.aembed_documents(texts) if texts else [])
                if self._needs_query(documents):
                    query_vector = await self.embeddings.aembed_query(query)
            return self._best(documents, vectors, query_vector)

        def _carried(self, documents: Sequence[Document]) -> list[Any]:
            return [document.metadata.get(self.embedding_key) for document in documents]

        def _scores(self, documents: Sequence[Document]) -> list[float | None]:
            return [document.metadata.get(self.score_key) for document in documents]

        def _needs_query(self, documents: Sequence[Document]) -> bool:
            return len(documents) > 0 and all(score is None for score in self._scores(documents))

        def _best(self, documents: Sequence[Document], vectors: list[Any], query_vector: Any) -> list[Document]:
            order = rerank(
                vectors,
                self._scores(documents),
                k=self.k,
                diversity=self.diversity,
                query=query_vector,
                remedy=f"store it as metadata[{self.embedding_key!r}], or pass embeddings=",
            )
            return [documents[i] for i in order]

else:
    DiverseReranker = stand_in("DiverseReranker", needs="langchain-core", extra="langchain")
