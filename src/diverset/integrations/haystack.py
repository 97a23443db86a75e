"""Haystack: a ranker component that keeps good documents which do not repeat each other.

Retrievers must return embeddings, which most leave out unless asked::

    from diverset.integrations.haystack import DiverseReranker

    pipeline.add_component("embedder", SentenceTransformersTextEmbedder())
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=100, return_embedding=True))
    pipeline.add_component("ranker", DiverseReranker(top_k=10, diversity=0.4))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    pipeline.connect("retriever.documents", "ranker.documents")

``diversity`` is 1 for diverse. Haystack 3 loads saved pipelines only from modules that are named as trusted::

    Pipeline.loads(text, allowed_modules=["diverset.integrations.haystack"])
"""

from typing import TYPE_CHECKING

from diverset.integrations._extras import found, stand_in
from diverset.integrations._rerank import rerank

__all__ = ["DiverseReranker"]

if TYPE_CHECKING or found("haystack"):
    from haystack import Document, component

    @component
    class DiverseReranker:
        """The best documents that do not repeat each other, best first.

        Relevance is the score of each document; if no document has one, the cosine similarity to the query embedding;
        without one, the order of the documents, first best. It is brought to the range 0 to 1. Documents are returned
        as they are, scores and metadata included.

        Parameters
        ----------
        top_k : int or None
            How many to keep; None keeps all, in the new order.
        diversity : float
            0 ranks by relevance alone, 1 by diversity alone.

        Examples
        --------
        >>> from haystack import Document
        >>> from diverset.integrations.haystack import DiverseReranker
        >>> vectors = {"cats": [1.0, 0.0], "cats again": [1.0, 0.0], "dogs": [0.0, 1.0]}
        >>> documents = [Document(content=text, embedding=vector) for text, vector in vectors.items()]
        >>> [d.content for d in DiverseReranker().run(documents)["documents"]]
        ['cats', 'dogs', 'cats again']
        """

        def __init__(self, top_k: int | None = 10, diversity: float = 0.5) -> None:
            self.top_k = top_k
            self.diversity = diversity

        @component.output_types(documents=list[Document])
        def run(
            self, documents: list[Document], query_embedding: list[float] | None = None, top_k: int | None = None
        ) -> dict[str, list[Document]]:
            """Keep the best documents that do not repeat each other.

            Parameters
            ----------
            documents : list of Document
                Retrieved documents, with embeddings.
            query_embedding : list of float, optional
                Used where no document has a score.
            top_k : int, optional
                In place of the component's own.

            Returns
            -------
            dict
                ``{"documents": [...]}``, best first.
            """
            order = rerank(
                [document.embedding for document in documents],
                [document.score for document in documents],
                k=self.top_k if top_k is None else top_k,
                diversity=self.diversity,
                query=query_embedding,
                remedy="ask the retriever for it (return_embedding=True), or embed the documents first",
            )
            return {"documents": [documents[i] for i in order]}

else:
    DiverseReranker = stand_in("DiverseReranker", needs="haystack-ai", extra="haystack")
