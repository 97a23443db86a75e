"""LlamaIndex: a node postprocessor that keeps good nodes which do not repeat each other.

Retrieved nodes seldom carry their embeddings, so give the model that made them::

    from diverset.integrations.llama_index import DiverseReranker

    reranker = DiverseReranker(top_n=8, diversity=0.4, embed_model=Settings.embed_model)
    engine = index.as_query_engine(similarity_top_k=50, node_postprocessors=[reranker])

``diversity`` is 1 for diverse; LlamaIndex's own ``mmr_threshold`` turns the other way.
"""

from typing import TYPE_CHECKING, Any

from diverset.integrations._extras import found, stand_in
from diverset.integrations._rerank import fill_gaps, rerank

__all__ = ["DiverseReranker"]

if TYPE_CHECKING or found("llama_index.core"):
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import Field, SerializeAsAny
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

    class DiverseReranker(BaseNodePostprocessor):
        """The best nodes that do not repeat each other, best first.

        Relevance is the score of each node; if no node has one, the cosine similarity to the query; without an
        embedding of the query, the order of the nodes, first best. It is brought to the range 0 to 1. Nodes are
        returned as they are, scores and metadata included.

        Parameters
        ----------
        top_n : int or None
            How many to keep; None keeps all, in the new order.
        diversity : float
            0 ranks by relevance alone, 1 by diversity alone.
        embed_model : BaseEmbedding, optional
            Embeds the nodes that carry no embedding, and the query if no node has a score.

        Examples
        --------
        >>> from llama_index.core.schema import NodeWithScore, TextNode
        >>> from diverset.integrations.llama_index import DiverseReranker
        >>> vectors = {"cats": [1.0, 0.0], "cats again": [1.0, 0.0], "dogs": [0.0, 1.0]}
        >>> nodes = [NodeWithScore(node=TextNode(text=text, embedding=vector)) for text, vector in vectors.items()]
        >>> [node.text for node in DiverseReranker().postprocess_nodes(nodes)]
        ['cats', 'dogs', 'cats again']
        """

        top_n: int | None = Field(default=10, description="How many nodes to keep; None keeps all.")
        diversity: float = Field(default=0.5, description="0 ranks by relevance alone, 1 by diversity alone.")
        embed_model: SerializeAsAny[BaseEmbedding] | None = Field(
            default=None, description="Embeds nodes without an embedding."
        )

        @classmethod
        def class_name(cls) -> str:
            """Name under which the postprocessor is serialised."""
            return "DiverseReranker"

        def _postprocess_nodes(
            self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
        ) -> list[NodeWithScore]:
            vectors = [node.node.embedding for node in nodes]
            query = None if query_bundle is None else query_bundle.embedding
            if self.embed_model is not None:
                texts = _texts_without(nodes)
                vectors = fill_gaps(vectors, self.embed_model.get_text_embedding_batch(texts) if texts else [])
                asked = _queries_to_embed(nodes, query_bundle)
                query = self.embed_model.get_agg_embedding_from_queries(asked) if asked else query
            return self._best(nodes, vectors, query)

        async def _apostprocess_nodes(
            self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
        ) -> list[NodeWithScore]:
            vectors = [node.node.embedding for node in nodes]
            query = None if query_bundle is None else query_bundle.embedding
            if self.embed_model is not None:
                texts = _texts_without(nodes)
                vectors = fill_gaps(vectors, await self.embed_model.aget_text_embedding_batch(texts) if texts else [])
                asked = _queries_to_embed(nodes, query_bundle)
                query = await self.embed_model.aget_agg_embedding_from_queries(asked) if asked else query
            return self._best(nodes, vectors, query)

        def _best(self, nodes: list[NodeWithScore], vectors: list[Any], query: Any) -> list[NodeWithScore]:
            order = rerank(
                vectors,
                [node.score for node in nodes],
                k=self.top_n,
                diversity=self.diversity,
                query=query,
                remedy="store nodes with their embedding, or pass embed_model=",
            )
            return [nodes[i] for i in order]

    def _texts_without(nodes: list[NodeWithScore]) -> list[str]:
        return [n.node.get_content(metadata_mode=MetadataMode.EMBED) for n in nodes if n.node.embedding is None]

    def _queries_to_embed(nodes: list[NodeWithScore], query: QueryBundle | None) -> list[str]:
        """Texts of the query, if its similarity is wanted and not known."""
        if query is None or query.embedding is not None or any(node.score is not None for node in nodes):
            return []
        return list(query.embedding_strs) if nodes else []

else:
    DiverseReranker = stand_in("DiverseReranker", needs="llama-index-core", extra="llama-index")
