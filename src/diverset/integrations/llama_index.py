"""LlamaIndex: a retriever and a node postprocessor whose nodes do not repeat each other.

For an index, with the vectors and scores of its store::

    from diverset.integrations.llama_index import DiverseRetriever

    retriever = DiverseRetriever(index, similarity_top_k=8, fetch_k=100, diversity=0.4)
    engine = RetrieverQueryEngine.from_args(retriever)

After any other retriever::

    from diverset.integrations.llama_index import DiverseReranker

    engine = index.as_query_engine(similarity_top_k=50, node_postprocessors=[DiverseReranker(top_n=8)])

Settings are those of :func:`diverset.select`. ``diversity`` is 1 for most diverse; LlamaIndex's own ``mmr_threshold``
has the opposite direction.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from diverset._extras import found, stand_in
from diverset.errors import DiversetError
from diverset.integrations._rerank import GAIN, KEPT, Candidate, Choice, Reranking, VectorCache, check_fetch
from diverset.numerics.validation import check_size

__all__ = ["DiverseReranker", "DiverseRetriever"]

if TYPE_CHECKING or found("llama_index.core"):
    from llama_index.core import Settings
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import Field, SerializeAsAny
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle

    from diverset.integrations._settings import RerankSettings

    class DiverseReranker(BaseNodePostprocessor, RerankSettings):
        """Node postprocessor: the best nodes that do not repeat each other, best first.

        Relevance and the metadata of the result are described on :doc:`/rag`. Prompts and embeddings do not include the
        added metadata.

        Parameters
        ----------
        top_n : int or None
            Number of nodes to keep; None keeps all, in the new order.
        diversity, keep, scale, given, groups, per_group, min_quality, lower_is_better, cache_size
            As for :func:`diverset.select`; `given` may also contain nodes or their ids, and `groups` may name a
            metadata entry. `cache_size` is the number of embedded texts whose vectors are cached. See :doc:`/rag`.
        embed_model : BaseEmbedding, optional
            Embeds the nodes without an embedding, in one call, and the query if no node has a score. By default
            ``Settings.embed_model``, if a node has no embedding.

        Examples
        --------
        >>> from llama_index.core.schema import NodeWithScore, TextNode
        >>> from diverset.integrations.llama_index import DiverseReranker
        >>> vectors = {"cats": [1.0, 0.0], "cats again": [1.0, 0.0], "dogs": [0.0, 1.0]}
        >>> nodes = [NodeWithScore(node=TextNode(text=text, embedding=vector)) for text, vector in vectors.items()]
        >>> [node.text for node in DiverseReranker().postprocess_nodes(nodes)]
        ['cats', 'dogs', 'cats again']
        """

        added_names = frozenset({"class_name"})

        top_n: int | None = Field(default=10, description="How many nodes to keep; None keeps all.")
        lower_is_better: bool = Field(default=False, description="Whether scores are distances.")
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
            work = self._work(nodes)
            model = _model_for(work, self.embed_model)
            return _picks(work, *_embedded(work, model, query_bundle))

        async def _apostprocess_nodes(
            self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
        ) -> list[NodeWithScore]:
            work = self._work(nodes)
            model = _model_for(work, self.embed_model)
            return _picks(work, *await _aembedded(work, model, query_bundle))

        def _work(self, nodes: Sequence[NodeWithScore]) -> Reranking:
            return Reranking(self._choice(), [_candidate(node) for node in nodes], _candidate, self._cache)

    class DiverseRetriever(BaseRetriever):
        """Retriever for an index: fetches `fetch_k` nodes and returns nodes that do not repeat each other.

        The in-memory ``SimpleVectorStore``, ``FaissVectorStore``, ``ChromaVectorStore``, and stores whose ``get_nodes``
        returns embeddings (``QdrantVectorStore``) provide the vectors. Nodes of other stores are embedded, in one call.
        The query is embedded once.

        Parameters
        ----------
        index : VectorStoreIndex
            The index of the nodes.
        similarity_top_k : int or None
            Number of nodes to return; None returns all fetched nodes, in the new order.
        fetch_k : int
            Number of nodes to fetch.
        filters : MetadataFilters, optional
            Filters for the store.
        retriever_kwargs : dict, optional
            Further arguments of ``index.as_retriever``, such as ``doc_ids`` or ``vector_store_kwargs``.
        diversity, keep, scale, given, groups, per_group, min_quality
            As for :class:`DiverseReranker`.
        lower_is_better : bool
            Whether the scores of the store are distances, as those of ``FaissVectorStore`` over ``IndexFlatL2``.
        embed_model : BaseEmbedding, optional
            Embeds the query, and nodes whose vectors the store does not provide; by default the model of the index.
        cache_size : int
            As for :class:`DiverseReranker`.

        Examples
        --------
        >>> from llama_index.core import MockEmbedding, VectorStoreIndex
        >>> from llama_index.core.schema import TextNode
        >>> from diverset.integrations.llama_index import DiverseRetriever
        >>> vectors = {"cats": [1.0, 0.0], "cats again": [1.0, 0.0], "dogs": [0.0, 1.0]}
        >>> nodes = [TextNode(text=text, embedding=vector) for text, vector in vectors.items()]
        >>> index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=2))
        >>> sorted(n.text[:4] for n in DiverseRetriever(index, similarity_top_k=2).retrieve("pets"))
        ['cats', 'dogs']
        """

        def __init__(
            self,
            index: Any,
            similarity_top_k: int | None = 10,
            *,
            fetch_k: int = 100,
            lower_is_better: bool = False,
            filters: Any = None,
            retriever_kwargs: Mapping[str, Any] | None = None,
            embed_model: BaseEmbedding | None = None,
            cache_size: int = 10_000,
            callback_manager: Any = None,
            **settings: Any,
        ) -> None:
            choice = Choice(similarity_top_k, lower_is_better=lower_is_better, size_name="similarity_top_k")
            self._choice = choice.but("DiverseRetriever", "fetch_k", "filters", "retriever_kwargs", **settings)
            check_fetch("similarity_top_k", similarity_top_k, fetch_k)
            if not hasattr(index, "as_retriever") or not hasattr(index, "vector_store"):
                raise TypeError(f"index is a {type(index).__name__}; give a VectorStoreIndex")
            if embed_model is not None and not isinstance(embed_model, BaseEmbedding):
                raise TypeError(f"embed_model is {embed_model!r}; give an embedding model of LlamaIndex")
            options = dict(retriever_kwargs or {})
            if embed_model is not None:
                options["embed_model"] = embed_model
            self._fetch = index.as_retriever(similarity_top_k=fetch_k, filters=filters, **options)
            self._index = index
            self._model = embed_model or getattr(index, "_embed_model", None)
            self._cache = VectorCache(check_size(cache_size, name="cache_size"))
            super().__init__(callback_manager=callback_manager)

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            work = self._work(self._fetch.retrieve(query_bundle))
            model = _model_for(work, self._model)
            return _picks(work, *_embedded(work, model, query_bundle))

        async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            work = self._work(await self._fetch.aretrieve(query_bundle))
            model = _model_for(work, self._model)
            return _picks(work, *await _aembedded(work, model, query_bundle))

        def _work(self, nodes: Sequence[NodeWithScore]) -> Reranking:
            scores = [node.score for node in nodes if node.score is not None]
            if len(scores) > 1 and (scores[0] > scores[-1] if self._choice.lower_is_better else scores[0] < scores[-1]):
                raise DiversetError(
                    f"the scores go from {scores[0]:g} for the best node to {scores[-1]:g} for the last one; pass "
                    f"lower_is_better={not self._choice.lower_is_better}"
                )
            shown = [_inner(each) for each in self._choice.given if isinstance(each, (NodeWithScore, BaseNode))]
            vectors = _stored_vectors(self._index, [node.node for node in nodes] + shown)

            def read(each: Any) -> Candidate:
                return _candidate(each, vectors)

            return Reranking(self._choice, [read(node) for node in nodes], read, self._cache)

    def _inner(each: Any) -> BaseNode:
        node = each.node if isinstance(each, NodeWithScore) else each
        if not isinstance(node, BaseNode):
            raise DiversetError(f"got {type(node).__name__}; give nodes")
        return node

    def _candidate(each: Any, vectors: Mapping[str, Any] | None = None) -> Candidate:
        node = _inner(each)
        vector = node.embedding if node.embedding is not None else (vectors or {}).get(node.node_id)
        text = node.get_content(metadata_mode=MetadataMode.EMBED)
        return Candidate(each, node.node_id, text, vector, getattr(each, "score", None), node.metadata)

    def _model_for(work: Reranking, model: BaseEmbedding | None) -> BaseEmbedding | None:
        """The given model; without one, ``Settings.embed_model`` if there is a text to embed."""
        return Settings.embed_model if model is None and work.texts else model

    def _embedded(work: Reranking, model: Any, query: QueryBundle | None) -> tuple[list[Any], Any]:
        """Embeddings of the texts, and of the query if no node has a score."""
        vectors = model.get_text_embedding_batch(work.texts) if work.texts else []
        if query is None or query.embedding is not None or not work.needs_query or model is None:
            return vectors, None if query is None else query.embedding
        return vectors, model.get_agg_embedding_from_queries(query.embedding_strs)

    async def _aembedded(work: Reranking, model: Any, query: QueryBundle | None) -> tuple[list[Any], Any]:
        vectors = await model.aget_text_embedding_batch(work.texts) if work.texts else []
        if query is None or query.embedding is not None or not work.needs_query or model is None:
            return vectors, None if query is None else query.embedding
        return vectors, await model.aget_agg_embedding_from_queries(query.embedding_strs)

    def _picks(work: Reranking, vectors: Sequence[Any], query: Any) -> list[NodeWithScore]:
        picks = work.finish(vectors, query, "store nodes with their embedding, or pass embed_model=")
        return [NodeWithScore(node=_with_metadata(each.node, more), score=each.score) for each, more in picks]

    def _with_metadata(node: BaseNode, more: dict[str, Any]) -> BaseNode:
        """A copy with further metadata, which prompts and embeddings do not include."""
        update: dict[str, Any] = {"metadata": {**node.metadata, **more}}
        for name in ("excluded_llm_metadata_keys", "excluded_embed_metadata_keys"):
            update[name] = list(dict.fromkeys([*getattr(node, name), GAIN, KEPT]))
        result: BaseNode = node.model_copy(update=update)
        return result

    def _stored_vectors(index: Any, nodes: Sequence[BaseNode]) -> dict[str, Any]:
        """Vectors of nodes, by node id, that the store of the index provides."""
        store = index.vector_store
        wanted = [node.node_id for node in nodes if node.embedding is None]
        if not wanted:
            return {}
        table = getattr(getattr(store, "data", None), "embedding_dict", None)
        if table is not None:  # SimpleVectorStore
            return {key: table[key] for key in wanted if key in table}
        client: Any = getattr(store, "client", None)
        if hasattr(client, "reconstruct"):  # FaissVectorStore, whose ids are positions
            places = {key: int(place) for place, key in index.index_struct.nodes_dict.items()}
            return {key: client.reconstruct(places[key]) for key in wanted if key in places}
        if hasattr(client, "get") and hasattr(client, "query"):  # ChromaVectorStore
            rows = client.get(ids=wanted, include=["embeddings"])
            return dict(zip(rows["ids"], rows["embeddings"], strict=True))
        get_nodes: Callable[..., Any] | None = getattr(store, "get_nodes", None)
        try:
            rows = [] if get_nodes is None else get_nodes(node_ids=wanted)
        except NotImplementedError:
            rows = []
        return {node.node_id: node.embedding for node in rows if node.embedding is not None}

else:
    DiverseReranker = stand_in("DiverseReranker", needs="llama-index-core", extra="llama-index")
    DiverseRetriever = stand_in("DiverseRetriever", needs="llama-index-core", extra="llama-index")
