"""Haystack: a ranker component that returns relevant documents that do not repeat each other.

Retrievers must return embeddings; most do so only on request::

    from diverset.integrations.haystack import DiverseReranker

    pipeline.add_component("embedder", SentenceTransformersTextEmbedder())
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=100, return_embedding=True))
    pipeline.add_component("ranker", DiverseReranker(top_k=10, diversity=0.4))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    pipeline.connect("retriever.documents", "ranker.documents")
    pipeline.run({"embedder": {"text": query}, "ranker": {"query": query, "top_k": 5}})

Settings are those of :func:`diverset.select`; ``diversity`` is 1 for most diverse. Haystack 3 loads components of saved
pipelines only from modules that are listed as trusted::

    Pipeline.loads(text, allowed_modules=["diverset.integrations.haystack"])
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from diverset._extras import found, stand_in
from diverset.errors import DiversetError
from diverset.integrations._rerank import Candidate, Choice, Reranking, VectorCache, name_error, read_score
from diverset.numerics.validation import check_size

__all__ = ["DiverseReranker"]

_SETTINGS = (
    "top_k", "diversity", "keep", "scale", "given", "groups", "per_group", "min_quality", "lower_is_better",
    "score_key", "cache_size",
)  # fmt: skip
_EMBEDDERS = ("text_embedder", "document_embedder")

if TYPE_CHECKING or found("haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.core.serialization import component_to_dict
    from haystack.utils.deserialization import deserialize_component_inplace

    @component
    class DiverseReranker:
        """Ranker: the best documents that do not repeat each other, best first.

        Relevance is the score of a document, or the score in its meta. The page :doc:`/rag` describes the other cases,
        and the entries added to the meta.

        Parameters
        ----------
        top_k : int or None
            Number of documents to keep; None keeps all, in the new order.
        diversity, keep, scale, given, groups, per_group, min_quality, lower_is_better, cache_size
            As for :func:`diverset.select`; `given` may also contain documents or their ids, and `groups` may name a
            metadata entry. `cache_size` is the number of embedded texts whose vectors are cached. See :doc:`/rag`.
        score_key : str, optional
            Meta field with the relevance of documents without a score; ``relevance_score`` or ``score`` by default.
        text_embedder : component, optional
            Embeds the query if no document has a score and no embedding of the query is given.
        document_embedder : component, optional
            Embeds the documents without an embedding, in one call.

        Examples
        --------
        >>> from haystack import Document
        >>> from diverset.integrations.haystack import DiverseReranker
        >>> vectors = {"cats": [1.0, 0.0], "cats again": [1.0, 0.0], "dogs": [0.0, 1.0]}
        >>> documents = [Document(content=text, embedding=vector) for text, vector in vectors.items()]
        >>> [d.content for d in DiverseReranker().run(documents=documents)["documents"]]
        ['cats', 'dogs', 'cats again']
        """

        given: Any
        score_key: Any
        text_embedder: Any
        document_embedder: Any

        def __init__(
            self,
            top_k: int | None = 10,
            diversity: float = 0.5,
            *,
            keep: float | None = None,
            scale: str | None = "rank",
            given: list[Any] | None = None,
            groups: Any = None,
            per_group: int | None = None,
            min_quality: float | None = None,
            lower_is_better: bool = False,
            score_key: str | None = None,
            text_embedder: Any = None,
            document_embedder: Any = None,
            cache_size: int = 10_000,
            **unknown: Any,
        ) -> None:
            settings = {name: value for name, value in locals().items() if name in (*_SETTINGS, *_EMBEDDERS)}
            for name in unknown:
                raise TypeError(name_error("DiverseReranker", name, settings))
            vars(self).update(settings)
            check_size(cache_size, name="cache_size")
            if score_key is not None and not isinstance(score_key, str):
                raise DiversetError(f"score_key is {score_key!r}; name a field of the meta")
            for name in _EMBEDDERS:
                embedder = settings[name]
                if embedder is not None and not hasattr(embedder, "run"):
                    raise DiversetError(f"{name} is {embedder!r}; give a component, such as an embedder of Haystack")
            Choice.of(self.__dict__, "top_k")
            self._cache = VectorCache(cache_size)

        def to_dict(self) -> dict[str, Any]:
            """The settings, for a saved pipeline."""
            settings = {name: getattr(self, name) for name in _SETTINGS}
            if self.given is not None:
                settings["given"] = [each.to_dict() if isinstance(each, Document) else each for each in self.given]
            for name in _EMBEDDERS:
                embedder = getattr(self, name)
                settings[name] = None if embedder is None else component_to_dict(embedder, name)
            result: dict[str, Any] = default_to_dict(self, **settings)
            return result

        @classmethod
        def from_dict(cls, data: dict[str, Any]) -> "DiverseReranker":
            """Create the component from the settings of a saved pipeline."""
            given = data["init_parameters"].get("given")
            if given is not None:
                shown = [Document.from_dict(each) if isinstance(each, dict) else each for each in given]
                data = {**data, "init_parameters": {**data["init_parameters"], "given": shown}}
            for name in _EMBEDDERS:
                if data["init_parameters"].get(name) is not None:
                    deserialize_component_inplace(data["init_parameters"], key=name)
            result: DiverseReranker = default_from_dict(cls, data)
            return result

        def warm_up(self) -> None:
            """Load the models of the embedders."""
            for embedder in (self.text_embedder, self.document_embedder):
                if hasattr(embedder, "warm_up"):
                    embedder.warm_up()

        @component.output_types(documents=list[Document])
        def run(
            self,
            documents: list[Document],
            query: str | None = None,
            query_embedding: list[float] | None = None,
            top_k: int | None = None,
            diversity: float | None = None,
            keep: float | None = None,
            scale: str | None = None,
            given: list[Any] | None = None,
            groups: Any = None,
            per_group: int | None = None,
            min_quality: float | None = None,
        ) -> dict[str, list[Document]]:
            """Keep the best documents that do not repeat each other.

            Parameters
            ----------
            documents : list of Document
                Retrieved documents, with embeddings.
            query : str, optional
                The query, which `text_embedder` embeds if no document has a score. If documents have scores, the query
                is not used.
            query_embedding : list of float, optional
                Embedding of the query, used if no document has a score.
            top_k, diversity, keep, scale, given, groups, per_group, min_quality : optional
                Settings for this run. None means the setting of the component.

            Returns
            -------
            dict
                ``{"documents": [...]}``, best first.
            """
            changes = {name: value for name, value in locals().items() if name in _SETTINGS and value is not None}
            choice = Choice.of(self.__dict__, "top_k").but("DiverseReranker", **changes)
            work = Reranking(choice, [self._read(document) for document in documents], self._read, self._cache)
            if work.needs_query and query_embedding is None and query is not None and self.text_embedder is not None:
                query_embedding = self.text_embedder.run(text=query)["embedding"]
            vectors: Sequence[Any] = []
            if work.texts and self.document_embedder is not None:
                wanted = set(work.texts)
                missing = [each for each in (*documents, *choice.given) if getattr(each, "id", None) in wanted]
                by_id = {document.id: document for document in missing}
                found = self.document_embedder.run(documents=[by_id[key] for key in work.texts])["documents"]
                vectors = [document.embedding for document in found]
            remedy = "ask the retriever for it (return_embedding=True), or pass document_embedder="
            picks = work.finish(vectors, query_embedding, remedy)
            return {"documents": [replace(document, meta={**document.meta, **more}) for document, more in picks]}

        def _read(self, document: Any) -> Candidate:
            if not isinstance(document, Document):
                raise DiversetError(f"got {type(document).__name__}; give documents")
            score = read_score(document.meta, self.score_key) if document.score is None else document.score
            # The id replaces the text: embedders take documents, and may also embed some of the meta.
            return Candidate(document, document.id, document.id, document.embedding, score, document.meta)

else:
    DiverseReranker = stand_in("DiverseReranker", needs="haystack-ai", extra="haystack")
