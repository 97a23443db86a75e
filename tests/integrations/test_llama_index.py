"""The node postprocessor and the retriever, with the real llama-index-core and vector stores."""

import asyncio
import warnings
from typing import ClassVar

import numpy as np
import pytest

import diverset as dv
from corpus_for_tests import QUERIES, SOURCES, TEXTS, Counter, nearest, vector_of
from corpus_for_tests import VECTORS as CORPUS

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")

from llama_index.core import Settings, StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters
from pydantic import ValidationError

from diverset.integrations.llama_index import DiverseReranker, DiverseRetriever

VECTORS = {
    "cats": [1.0, 0.0, 0.0, 0.0],
    "cats again": [1.0, 0.0, 0.0, 0.0],
    "kittens": [0.9, 0.3, 0.0, 0.0],
    "dogs": [0.0, 1.0, 0.2, 0.0],
    "fish": [0.0, 0.1, 1.0, 0.3],
}
QUERY = [0.2, 1.0, 0.0, 0.0]


class Table(BaseEmbedding):
    """Embeddings looked up in a table; counts what it is asked."""

    asked: ClassVar[list[str]] = []

    def _get_text_embedding(self, text):
        self.asked.append(text)
        return VECTORS[text]

    def _get_query_embedding(self, query):
        self.asked.append(query)
        return QUERY

    async def _aget_text_embedding(self, text):
        self.asked.append(f"async {text}")
        return VECTORS[text]

    async def _aget_query_embedding(self, query):
        self.asked.append(f"async {query}")
        return QUERY


@pytest.fixture
def table():
    Table.asked.clear()
    return Table()


def nodes(scores=None, embedded=True):
    return [
        NodeWithScore(
            node=TextNode(
                text=text,
                embedding=vector if embedded else None,
                metadata={"page": i},
                excluded_embed_metadata_keys=["page"],
            ),
            score=None if scores is None else scores[i],
        )
        for i, (text, vector) in enumerate(VECTORS.items())
    ]


def texts(found):
    return [node.text for node in found]


def test_order_scores_and_metadata():
    scores = [0.9, 0.9, 0.7, 0.4, 0.1]
    found = DiverseReranker(diversity=0.3).postprocess_nodes(nodes(scores), query_str="pets")
    expected = dv.select(list(VECTORS.values()), 5, quality=scores, diversity=0.3)
    assert texts(found) == [list(VECTORS)[i] for i in expected]
    assert texts(found)[-1] == "cats again"
    assert [node.score for node in found] == [scores[i] for i in expected]
    assert [node.metadata["page"] for node in found] == list(expected)
    np.testing.assert_allclose([node.metadata["diverset_gain"] for node in found], expected.gains)
    assert {node.metadata["diverset_kept"] for node in found} == {expected.kept}
    assert found[0].node.get_content(metadata_mode=MetadataMode.LLM) == "page: 0\n\ncats"


def test_top_n_and_the_dial():
    given = nodes([0.9, 0.8, 0.7, 0.4, 0.1])
    assert texts(DiverseReranker(top_n=2).postprocess_nodes(given)) == ["cats", "dogs"]
    assert texts(DiverseReranker(top_n=2, diversity=0.0).postprocess_nodes(given)) == ["cats", "cats again"]
    assert len(DiverseReranker(top_n=None).postprocess_nodes(given * 3)) == 15


def test_model_embeds_what_is_missing_and_the_query_only_without_scores(table):
    reranker = DiverseReranker(embed_model=table, top_n=3)
    reranker.postprocess_nodes(nodes([0.9, 0.8, 0.7, 0.4, 0.1], embedded=False), query_str="which barks?")
    assert table.asked == list(VECTORS)
    table.asked.clear()
    assert texts(reranker.postprocess_nodes(nodes(), query_str="which barks?"))[0] == "dogs"
    assert table.asked == ["which barks?"]


def test_asynchronous_use_gives_the_same(table):
    reranker = DiverseReranker(embed_model=table, top_n=3)
    plain = reranker.postprocess_nodes(nodes(embedded=False), query_str="which barks?")
    table.asked.clear()
    reranker = DiverseReranker(embed_model=table, top_n=3)
    found = asyncio.run(reranker.apostprocess_nodes(nodes(embedded=False), query_str="which barks?"))
    assert texts(found) == texts(plain)
    assert len(table.asked) == 6
    assert all(asked.startswith("async ") for asked in table.asked)


def test_embedding_of_the_query_bundle_is_used():
    bundle = QueryBundle("which barks?", embedding=QUERY)
    assert texts(DiverseReranker().postprocess_nodes(nodes(), query_bundle=bundle))[0] == "dogs"


def test_scores_of_none_leave_the_order_to_decide():
    assert texts(DiverseReranker(diversity=0.0).postprocess_nodes(nodes(), query_str="pets")) == list(VECTORS)


def test_nothing_gives_nothing(table):
    reranker = DiverseReranker(embed_model=table)
    assert reranker.postprocess_nodes([], query_str="pets") == []
    assert asyncio.run(reranker.apostprocess_nodes([], query_str="pets")) == []
    assert table.asked == []


def test_nodes_without_embeddings_are_named():
    with pytest.raises(ValueError, match="got str; give nodes"):
        DiverseReranker().postprocess_nodes(["cats"])


def test_the_model_of_the_settings_embeds(table, monkeypatch):
    monkeypatch.setattr(Settings, "_embed_model", table)
    found = DiverseReranker(top_n=2).postprocess_nodes(nodes(embedded=False), query_str="which barks?")
    assert texts(found)[0] == "dogs"
    assert table.asked == [*VECTORS, "which barks?"]


def test_other_settings():
    scores, X, names = [0.9, 0.8, 0.7, 0.4, 0.1], list(VECTORS.values()), list(VECTORS)
    given = nodes(scores)
    for settings in ({"keep": 0.5}, {"scale": "standard"}, {"min_quality": 0.3}, {"lower_is_better": True}):
        found = DiverseReranker(top_n=3, **settings).postprocess_nodes(given)
        assert texts(found) == dv.select(X, 3, quality=scores, **settings).take(names)
    found = DiverseReranker(top_n=3, groups=[0, 0, 1, 1, 1], per_group=1).postprocess_nodes(given)
    assert texts(found) == dv.select(X, 3, quality=scores, groups=[0, 0, 1, 1, 1], per_group=1).take(names)
    found = DiverseReranker(top_n=3, given=[given[0], given[2].node]).postprocess_nodes(given[1:])
    assert texts(found) == dv.select(X[1:], 3, quality=scores[1:], given=[1], given_features=X[:1]).take(names[1:])


WRONG = [
    ({"diversity": 3}, "diversity is 3"),
    ({"keep": 0.9, "diversity": 0.3}, "give one of the two"),
    ({"scale": "minmax"}, "scale is 'minmax'"),
    ({"per_group": 2}, "groups and per_group go together"),
    ({"cache_size": -1}, "cache_size is -1"),
]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *WRONG,
        ({"top_k": 3}, "takes top_n, not top_k"),
        ({"top_n": -3}, "top_n is -3"),
        ({"mmr_threshold": 0.3}, "takes diversity, which is 1 - mmr_threshold"),
        ({"diversty": 0.3}, "did you mean diversity"),
    ],
)
def test_wrong_settings_of_the_postprocessor(settings, message):
    with pytest.raises(ValidationError, match=message):
        DiverseReranker(**settings)


def test_saved_and_loaded():
    copy = DiverseReranker.from_dict(DiverseReranker(top_n=3, diversity=0.6).to_dict())
    assert (copy.top_n, copy.diversity) == (3, 0.6)
    full = DiverseReranker(keep=0.7, groups="source", per_group=2, min_quality=0.1, cache_size=5)
    assert DiverseReranker.from_dict(full.to_dict()).to_dict() == full.to_dict()


# the retriever ------------------------------------------------------------------------------------------------------


class Counting(BaseEmbedding):
    """Vectors of the corpus; counts what it is asked."""

    counter: ClassVar[Counter] = Counter()

    def _get_text_embedding(self, text):
        return self.counter.document_vectors([text])[0]

    def _get_text_embeddings(self, texts):
        return self.counter.document_vectors(texts)

    def _get_query_embedding(self, query):
        return self.counter.query_vector(query)

    async def _aget_query_embedding(self, query):
        return self.counter.query_vector(query)


def simple():
    return None, {}


def faiss_store():
    faiss = pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    stores = pytest.importorskip(
        "llama_index.vector_stores.faiss", reason="llama-index-vector-stores-faiss is not installed"
    )
    return stores.FaissVectorStore(faiss.IndexFlatL2(CORPUS.shape[1])), {"lower_is_better": True}


def chroma():
    chromadb = pytest.importorskip("chromadb", reason="chromadb is not installed")
    stores = pytest.importorskip(
        "llama_index.vector_stores.chroma", reason="llama-index-vector-stores-chroma is not installed"
    )
    client = chromadb.EphemeralClient()
    metadata = {"hnsw:search_ef": 400, "hnsw:construction_ef": 200}
    collection = client.create_collection("nodes", metadata=metadata, embedding_function=None)
    return stores.ChromaVectorStore(chroma_collection=collection), {}


def qdrant():
    package = pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")
    stores = pytest.importorskip(
        "llama_index.vector_stores.qdrant", reason="llama-index-vector-stores-qdrant is not installed"
    )
    return stores.QdrantVectorStore(client=package.QdrantClient(":memory:"), collection_name="nodes"), {}


@pytest.fixture(scope="module", params=[simple, faiss_store, chroma, qdrant], ids=lambda make: make.__name__)
def stored(request):
    """An index of 10,000 nodes, each of which was embedded once."""
    Counting.counter.clear()
    store, settings = request.param()
    ids = [f"00000000-0000-0000-0000-{i:012d}" for i in range(len(TEXTS))]
    found = [
        TextNode(
            id_=key,
            text=text,
            metadata={"source": source},
            excluded_embed_metadata_keys=["source"],
        )
        for key, text, source in zip(ids, TEXTS, SOURCES, strict=True)
    ]
    context = None if store is None else StorageContext.from_defaults(vector_store=store)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Payload indexes have no effect in the local Qdrant")
        index = VectorStoreIndex(found, storage_context=context, embed_model=Counting(embed_batch_size=2048))
    assert sorted(Counting.counter.documents) == sorted(TEXTS)
    return request.param.__name__, index, settings


def test_index_of_10000_nodes_embeds_nothing_but_the_query(stored):
    name, index, settings = stored
    retriever = DiverseRetriever(index, similarity_top_k=8, fetch_k=60, **settings)
    counter = Counting.counter
    for query in QUERIES:
        counter.clear()
        found = retriever.retrieve(query)
        assert (counter.documents, counter.queries) == ([], [query])
        positions, cosines = nearest(query, 60)
        expected = dv.select(CORPUS[positions], 8, quality=cosines)
        assert texts(found) == [TEXTS[i] for i in positions[expected]]
        gains = [node.metadata["diverset_gain"] for node in found]
        np.testing.assert_allclose(gains, expected.gains, rtol=1e-4, atol=1e-5)
        if name != "chroma":  # whose scores are exponentials
            assert found[0].metadata["diverset_kept"] == pytest.approx(expected.kept, rel=1e-3)
        counter.clear()
        if name != "qdrant":  # which needs a client of its own for asynchronous use
            assert texts(asyncio.run(retriever.aretrieve(query))) == texts(found)
            assert (counter.documents, counter.queries) == ([], [query])


def test_retriever_takes_all_settings(stored):
    name, index, more = stored
    query = "second question"
    positions, cosines = nearest(query, 40)
    groups = [SOURCES[i] for i in positions]
    shown = DiverseRetriever(index, 1, fetch_k=40, **more).retrieve("first question")
    others = CORPUS[[TEXTS.index(text) for text in texts(shown)]]
    Counting.counter.clear()
    for settings, arguments in (
        ({"diversity": 0.8}, {"diversity": 0.8}),
        ({"groups": "source", "per_group": 1}, {"groups": groups, "per_group": 1}),
        ({"given": shown}, {"given_features": others}),
    ):
        found = DiverseRetriever(index, 5, fetch_k=40, **settings, **more).retrieve(query)
        expected = dv.select(CORPUS[positions], 5, quality=cosines, **arguments)
        assert texts(found) == [TEXTS[i] for i in positions[expected]]
    assert Counting.counter.documents == []
    if name != "faiss_store":  # which knows no filters
        filters = MetadataFilters(filters=[ExactMatchFilter(key="source", value="paper 3")])
        found = DiverseRetriever(index, 5, fetch_k=40, filters=filters, **more).retrieve(query)
        positions, cosines = nearest(query, 40, allowed=lambda i: SOURCES[i] == "paper 3")
        expected = dv.select(CORPUS[positions], 5, quality=cosines)
        assert texts(found) == [TEXTS[i] for i in positions[expected]]


def test_distances_are_not_taken_for_similarities(stored):
    _, index, settings = stored
    wrong = not settings.get("lower_is_better", False)
    with pytest.raises(ValueError, match=f"for the last one; pass lower_is_better={not wrong}"):
        DiverseRetriever(index, lower_is_better=wrong).retrieve("first question")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        *((settings, ValueError, message) for settings, message in WRONG),
        ({"similarity_top_k": -3}, ValueError, "similarity_top_k is -3"),
        ({"similarity_top_k": 300}, ValueError, "similarity_top_k is 300 and fetch_k is 100"),
        ({"fetch_k": 0}, ValueError, "fetch_k is 0"),
        ({"top_k": 3}, TypeError, "takes similarity_top_k, not top_k"),
        ({"embed_model": 3}, TypeError, "embed_model is 3; give an embedding model"),
        ({"diversty": 0.3}, TypeError, "did you mean diversity"),
    ],
)
def test_wrong_settings_of_the_retriever(settings, error, message):
    index = VectorStoreIndex([TextNode(text=TEXTS[0], embedding=vector_of(TEXTS[0]))], embed_model=Counting())
    with pytest.raises(error, match=message):
        DiverseRetriever(index, **settings)
