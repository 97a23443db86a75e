"""The document compressor and the retriever, with the real langchain-core and vector stores."""

import asyncio

import numpy as np
import pytest

import diverset as dv
from corpus_for_tests import QUERIES, SOURCES, TEXTS, VECTORS, Counter, nearest

pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, Runnable, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from pydantic import ValidationError

from diverset.integrations.langchain import DiverseReranker, DiverseRetriever

PETS = {
    "cats": [1.0, 0.0, 0.0, 0.0],
    "cats again": [1.0, 0.0, 0.0, 0.0],
    "kittens": [0.9, 0.3, 0.0, 0.0],
    "dogs": [0.0, 1.0, 0.2, 0.0],
    "fish": [0.0, 0.1, 1.0, 0.3],
}
SCORES = [0.9, 0.9, 0.7, 0.4, 0.1]


class Counting(Embeddings):
    """Vectors of the corpus; counts what it is asked. Its asynchronous methods are told apart."""

    def __init__(self):
        self.counter, self.asynchronous = Counter(), 0

    def embed_documents(self, texts):
        return self.counter.document_vectors(texts)

    def embed_query(self, text):
        return self.counter.query_vector(text)

    async def aembed_documents(self, texts):
        self.asynchronous += 1
        return self.embed_documents(texts)

    async def aembed_query(self, text):
        self.asynchronous += 1
        return self.embed_query(text)


class Table(Embeddings):
    """Vectors of the pets; keeps what it is asked."""

    def __init__(self):
        self.asked = []

    def embed_documents(self, texts):
        self.asked.append(texts)
        return [PETS[text] for text in texts]

    def embed_query(self, text):
        self.asked.append(text)
        return [0.2, 1.0, 0.0, 0.0]


def documents(scores=None, embedded=True, key="relevance_score"):
    found = []
    for i, (text, vector) in enumerate(PETS.items()):
        metadata = {"source": f"page {i % 2}"}
        if embedded:
            metadata["embedding"] = vector
        if scores is not None:
            metadata[key] = scores[i]
        found.append(Document(text, metadata=metadata))
    return found


def texts(found):
    return [document.page_content for document in found]


# the compressor -----------------------------------------------------------------------------------------------------


def test_it_is_a_document_compressor_and_can_be_piped():
    assert isinstance(DiverseReranker(), BaseDocumentCompressor)
    assert isinstance(DiverseReranker(), Runnable)


@pytest.mark.parametrize("key", ["relevance_score", "score"])
def test_order_and_metadata(key):
    given = documents(SCORES, key=key)
    found = DiverseReranker(diversity=0.3).compress_documents(given, "pets")
    expected = dv.select(list(PETS.values()), 5, quality=SCORES, diversity=0.3)
    assert texts(found) == expected.take(list(PETS))
    assert found[-1].page_content == "cats again"
    np.testing.assert_allclose([document.metadata["diverset_gain"] for document in found], expected.gains)
    assert {document.metadata["diverset_kept"] for document in found} == {expected.kept}
    assert found[0].metadata.items() >= given[0].metadata.items()
    assert "diverset_gain" not in given[0].metadata


def test_pairs_of_document_and_score():
    pairs = list(zip(documents(), SCORES, strict=True))
    found = DiverseReranker(top_n=3).compress_documents(pairs, "pets")
    assert texts(found) == dv.select(list(PETS.values()), 3, quality=SCORES).take(list(PETS))
    assert found[0].metadata["score"] == 0.9
    distances = [(document, 1.0 - score) for document, score in pairs]
    found = DiverseReranker(top_n=3, lower_is_better=True, score_key="distance").compress_documents(distances, "pets")
    expected = dv.select(list(PETS.values()), 3, quality=[1.0 - s for s in SCORES], lower_is_better=True)
    assert texts(found) == expected.take(list(PETS))
    assert found[0].metadata["distance"] == pytest.approx(0.1)


def test_settings_of_one_call():
    given = documents(SCORES)
    reranker = DiverseReranker(top_n=2)
    assert texts(reranker.compress_documents(given, "pets")) == ["cats", "dogs"]
    assert texts(reranker.compress_documents(given, "pets", diversity=0.0)) == ["cats", "cats again"]
    assert len(reranker.compress_documents(given * 3, "pets", top_n=None)) == 15
    found = reranker.compress_documents(given, "pets", top_n=5, groups="source", per_group=1)
    expected = dv.select(list(PETS.values()), 5, quality=SCORES, groups=[0, 1, 0, 1, 0], per_group=1)
    assert texts(found) == expected.take(list(PETS))
    found = reranker.compress_documents(given, "pets", given=[given[0]], min_quality=0.3)
    assert texts(found) == dv.select(list(PETS.values()), 2, quality=SCORES, given=[0], min_quality=0.3).take(
        list(PETS)
    )
    assert "cats" not in texts(found)


def test_pipes():
    search = RunnableLambda(lambda query: documents(SCORES))
    chain = search | DiverseReranker(top_n=2) | RunnableLambda(texts)
    assert chain.invoke("pets") == ["cats", "dogs"]
    assert asyncio.run(chain.ainvoke("pets")) == ["cats", "dogs"]
    assert chain.batch(["pets", "more"]) == [["cats", "dogs"]] * 2
    table = Table()
    reranker = DiverseReranker(top_n=1, embeddings=table)
    assert texts(reranker.invoke({"documents": documents(embedded=False), "query": "which barks?"})) == ["dogs"]
    assert texts(reranker.bind(top_n=3).invoke(documents(SCORES))) == texts(
        DiverseReranker(top_n=3).invoke(documents(SCORES))
    )
    with pytest.raises(ValueError, match="got a dictionary with 'context', 'query'; give 'documents' and 'query'"):
        reranker.invoke({"context": [], "query": ""})


def test_embeddings_are_asked_once_and_for_what_is_missing():
    table = Table()
    reranker = DiverseReranker(top_n=3, embeddings=table)
    found = reranker.compress_documents(documents(embedded=False), "which pet barks?")
    assert table.asked == [list(PETS), "which pet barks?"]
    assert texts(found)[0] == "dogs"
    reranker.compress_documents(documents(SCORES, embedded=False), "pets")
    assert len(table.asked) == 2
    given = documents(SCORES)
    del given[3].metadata["embedding"]
    forgetful = DiverseReranker(embeddings=table, cache_size=0)
    forgetful.compress_documents(given, "pets")
    forgetful.compress_documents(given, "pets")
    assert table.asked[2:] == [["dogs"], ["dogs"]]


def test_asynchronous_use_gives_the_same():
    found = [Document(text) for text in TEXTS[:50]]
    model = Counting()
    expected = DiverseReranker(top_n=7, embeddings=Counting()).compress_documents(found, "first question")
    reranker = DiverseReranker(top_n=7, embeddings=model)
    assert texts(asyncio.run(reranker.acompress_documents(found, "first question"))) == texts(expected)
    assert (model.asynchronous, model.counter.calls) == (2, 1)


def test_other_keys():
    given = [Document("a", metadata={"v": [1.0, 0.0], "s": 1}), Document("b", metadata={"v": [0.0, 1.0], "s": 2})]
    reranker = DiverseReranker(embedding_key="v", score_key="s")
    assert texts(reranker.compress_documents(given, "")) == ["b", "a"]


def test_scores_of_none_leave_the_order_to_decide():
    assert texts(DiverseReranker(diversity=0.0).compress_documents(documents([None] * 5), "")) == list(PETS)


def test_nothing_gives_nothing():
    table = Table()
    assert DiverseReranker(embeddings=table).compress_documents([], "pets") == []
    assert asyncio.run(DiverseReranker(embeddings=table).acompress_documents([], "pets")) == []
    assert table.asked == []


def test_documents_without_embeddings_are_named():
    with pytest.raises(ValueError, match=r"document 0 of 5 has no embedding; store it as metadata\['embedding'\], or"):
        DiverseReranker().compress_documents(documents(embedded=False), "pets")
    with pytest.raises(ValueError, match="got str; give documents"):
        DiverseReranker().compress_documents(["cats"], "pets")


WRONG = [
    ({"diversity": 3}, "diversity is 3"),
    ({"diversty": 0.3}, "did you mean diversity"),
    ({"lambda_mult": 0.3}, "takes diversity, which is 1 - lambda_mult"),
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
        ({"k": 3}, "takes top_n, not k"),
        ({"top_n": -3}, "top_n is -3"),
    ],
)
def test_wrong_settings_of_the_compressor(settings, message):
    with pytest.raises(ValidationError, match=message):
        DiverseReranker(**settings)
    with pytest.raises((TypeError, ValueError), match="takes top_n, not top_k"):
        DiverseReranker().compress_documents(documents(), "pets", top_k=3)


# the retriever ------------------------------------------------------------------------------------------------------


class Plain(VectorStore):
    """A store that gives documents, and neither scores nor vectors."""

    def __init__(self, model, by_vector=True):
        self.model, self.by_vector, self.options = model, by_vector, []

    @property
    def embeddings(self):
        return self.model

    def _documents(self, query, k, options):
        self.options.append(options)
        return [Document(TEXTS[i], metadata={"source": SOURCES[i]}) for i in nearest(query, k)[0]]

    def similarity_search_by_vector(self, embedding, k=4, **options):
        if not self.by_vector:
            raise NotImplementedError
        query = next(name for name, vector in QUERIES.items() if np.allclose(vector, embedding))
        return self._documents(query, k, options)

    def similarity_search(self, query, k=4, **options):
        return self._documents(query, k, options)

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **options):
        raise NotImplementedError


def in_memory(model):
    store = InMemoryVectorStore(model)
    store.add_texts(TEXTS, [{"source": source} for source in SOURCES], ids=[str(i) for i in range(len(TEXTS))])
    return store


def faiss(model, strategy="EUCLIDEAN_DISTANCE"):
    pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    stores = pytest.importorskip("langchain_community.vectorstores", reason="langchain-community is not installed")
    metadata, ids = [{"source": source} for source in SOURCES], [str(i) for i in range(len(TEXTS))]
    return stores.FAISS.from_texts(TEXTS, model, metadata, ids=ids, distance_strategy=strategy)


def faiss_products(model):
    return faiss(model, "MAX_INNER_PRODUCT")


def chroma(model):
    chromadb = pytest.importorskip("chromadb", reason="chromadb is not installed")
    stores = pytest.importorskip("langchain_chroma", reason="langchain-chroma is not installed")
    store = stores.Chroma(
        client=chromadb.EphemeralClient(),
        collection_name="documents",
        embedding_function=model,
        collection_metadata={"hnsw:search_ef": 400, "hnsw:construction_ef": 200},
    )
    store.reset_collection()
    for start in range(0, len(TEXTS), 5_000):
        part = slice(start, start + 5_000)
        ids = [str(i) for i in range(*part.indices(len(TEXTS)))]
        store.add_texts(TEXTS[part], [{"source": source} for source in SOURCES[part]], ids=ids)
    return store


def qdrant(model, distance="Cosine"):
    package = pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")
    stores = pytest.importorskip("langchain_qdrant", reason="langchain-qdrant is not installed")
    client = package.QdrantClient(":memory:")
    kind = package.models.Distance(distance)
    client.create_collection("documents", package.models.VectorParams(size=VECTORS.shape[1], distance=kind))
    # The check of the collection would embed a text of its own.
    store = stores.QdrantVectorStore(client, "documents", model, distance=kind, validate_collection_config=False)
    store.add_texts(TEXTS, [{"source": source} for source in SOURCES], ids=list(range(len(TEXTS))))
    return store


def qdrant_distances(model):
    return qdrant(model, "Euclid")


STORES = [in_memory, faiss, faiss_products, chroma, qdrant, qdrant_distances]


@pytest.fixture(scope="module", params=STORES, ids=lambda make: make.__name__)
def stored(request):
    """A store of 10,000 documents, and its model, which was asked once for each."""
    model = Counting()
    store = request.param(model)
    assert sorted(model.counter.documents) == sorted(TEXTS)
    return request.param.__name__, store, model


def a_filter(name, source):
    """A metadata filter, in the form of a store."""
    if name == "in_memory":
        return lambda document: document.metadata["source"] == source
    if name.startswith("qdrant"):
        from qdrant_client import models

        match = models.MatchValue(value=source)
        return models.Filter(must=[models.FieldCondition(key="metadata.source", match=match)])
    return {"source": source}


def test_store_of_10000_documents_embeds_nothing_but_the_query(stored):
    name, store, model = stored
    retriever = DiverseRetriever(vectorstore=store, k=8, fetch_k=60)
    for query in QUERIES:
        model.counter.clear()
        found = retriever.invoke(query)
        assert (model.counter.documents, model.counter.queries) == ([], [query])
        # Vectors have length 1: all scores order documents as the cosine does, and all but distances that are not
        # squared are linear in it.
        positions, cosines = nearest(query, 60)
        expected = dv.select(VECTORS[positions], 8, quality=cosines)
        assert texts(found) == [TEXTS[i] for i in positions[expected]]
        gains = [document.metadata["diverset_gain"] for document in found]
        np.testing.assert_allclose(gains, expected.gains, rtol=1e-4, atol=1e-5)
        if name != "qdrant_distances":
            assert found[0].metadata["diverset_kept"] == pytest.approx(expected.kept, rel=1e-4)
        assert "score" in found[0].metadata
        assert texts(asyncio.run(retriever.ainvoke(query))) == texts(found)


def test_retriever_takes_all_settings(stored):
    name, store, model = stored
    query = "second question"
    retriever = DiverseRetriever(vectorstore=store, k=5, fetch_k=50, filter=a_filter(name, "paper 3"))
    first = retriever.invoke(query)
    positions, cosines = nearest(query, 50, allowed=lambda i: SOURCES[i] == "paper 3")
    X = VECTORS[positions]
    assert texts(first) == [TEXTS[i] for i in positions[dv.select(X, 5, quality=cosines)]]
    assert {document.metadata["source"] for document in first} == {"paper 3"}
    model.counter.clear()
    # The next page: away from what was shown, among the candidates or from another question.
    elsewhere = DiverseRetriever(vectorstore=store, k=1, fetch_k=50).invoke("first question")
    model.counter.clear()
    second = retriever.invoke(query, given=[*first, *elsewhere], diversity=0.7)
    assert model.counter.documents == []
    shown = [list(positions).index(TEXTS.index(text)) for text in texts(first)]
    others = VECTORS[[TEXTS.index(text) for text in texts(elsewhere)]]
    expected = dv.select(X, 5, quality=cosines, given=shown, given_features=others, diversity=0.7)
    assert texts(second) == [TEXTS[i] for i in positions[expected]]
    # Other settings, with the call.
    positions, cosines = nearest(query, 40)
    X = VECTORS[positions]
    groups = [SOURCES[i] for i in positions]
    for settings in ({"keep": 0.9}, {"k": 3, "diversity": 0.8}, {"groups": "source", "per_group": 1}):
        found = retriever.invoke(query, filter=None, fetch_k=40, **settings)
        settings = {**settings, "groups": groups} if "groups" in settings else settings
        if "keep" in settings and name == "qdrant_distances":
            continue  # a share of these distances is not that of the cosines
        expected = dv.select(X, settings.pop("k", 5), quality=cosines, **settings)
        assert texts(found) == [TEXTS[i] for i in positions[expected]]


def test_the_least_quality_is_in_the_unit_of_the_store(stored):
    _, store, _ = stored
    retriever = DiverseRetriever(vectorstore=store, k=50, fetch_k=50)
    scores = [document.metadata["score"] for document in retriever.invoke("first question")]
    bound = float(np.median(scores))
    kept = [document.metadata["score"] for document in retriever.invoke("first question", min_quality=bound)]
    lower = retriever._store.lower_is_better
    assert sorted(kept) == sorted(score for score in scores if (score <= bound if lower else score >= bound))


@pytest.mark.parametrize("by_vector", [True, False])
def test_other_stores_are_embedded_once(by_vector):
    model = Counting()
    store = Plain(model, by_vector)
    retriever = DiverseRetriever(vectorstore=store, k=8, fetch_k=60, search_kwargs={"filter": "mine"})
    wanted = set()
    for query in (*QUERIES, "first question"):
        positions, _ = nearest(query, 60)
        expected = dv.select(VECTORS[positions], 8, query=QUERIES[query])
        assert texts(retriever.invoke(query)) == [TEXTS[i] for i in positions[expected]]
        wanted |= {TEXTS[i] for i in positions}
    assert sorted(model.counter.documents) == sorted(wanted)
    assert model.counter.calls == 3
    assert store.options[-1] == {"filter": "mine"}


def test_other_stores_asynchronously():
    model = Counting()
    retriever = DiverseRetriever(vectorstore=Plain(model), k=4, fetch_k=30)
    found = asyncio.run(retriever.ainvoke("first question"))
    assert found == DiverseRetriever(vectorstore=Plain(Counting()), k=4, fetch_k=30).invoke("first question")
    assert (model.asynchronous, model.counter.calls) == (2, 1)


def test_retriever_in_chains():
    retriever = DiverseRetriever(vectorstore=Plain(Counting()), k=4, fetch_k=30)
    assert isinstance(retriever, BaseRetriever)
    chain = retriever | RunnableLambda(texts)
    assert chain.invoke("first question") == texts(retriever.invoke("first question"))
    assert len(chain.batch(list(QUERIES))) == 3
    assert texts(retriever.bind(k=2).invoke("first question")) == chain.invoke("first question")[:2]


def test_settings_of_a_chain_can_be_configured():
    retriever = DiverseRetriever(vectorstore=Plain(Counting()), k=4, fetch_k=30)
    chain = retriever.configurable_fields(k=ConfigurableField(id="k"))
    assert len(chain.invoke("first question", config={"configurable": {"k": 2}})) == 2
    assert DiverseReranker(keep=0.8).model_copy(deep=True).keep == 0.8


def test_behind_a_compression_retriever():
    classic = pytest.importorskip("langchain_classic.retrievers", reason="langchain-classic is not installed")
    reranker = DiverseReranker(top_n=2)
    base = RunnableLambda(lambda query: documents(SCORES))
    retriever = classic.ContextualCompressionRetriever(base_compressor=reranker, base_retriever=base)
    assert texts(retriever.invoke("pets")) == ["cats", "dogs"]


def test_an_empty_store():
    assert DiverseRetriever(vectorstore=InMemoryVectorStore(Table())).invoke("pets") == []


class Bare(Plain):
    """A store without a model."""

    embeddings = None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        *WRONG,
        ({"top_k": 3}, "takes k, not top_k"),
        ({"top_n": 3}, "takes k, not top_n"),
        ({"k": -3}, "k is -3"),
        ({"k": 300}, "k is 300 and fetch_k is 100; raise fetch_k to at least 300"),
        ({"fetch_k": 0}, "fetch_k is 0"),
        ({"store": 0}, "did you mean vectorstore"),
        ({"search_kwargs": {"k": 3}}, "search_kwargs holds k; pass k="),
        ({"search_kwargs": {"lambda_mult": 0.3}}, "search_kwargs holds lambda_mult; pass diversity="),
        ({"search_kwargs": {"filter": 1}, "filter": 2}, "filter is given twice"),
        ({"vectorstore": Bare(None)}, "Bare has no embeddings; pass embeddings="),
    ],
)
def test_wrong_settings_of_the_retriever(settings, message):
    with pytest.raises(ValidationError, match=message):
        DiverseRetriever(**{"vectorstore": Plain(Counting()), **settings})


def test_wrong_settings_of_a_call():
    retriever = DiverseRetriever(vectorstore=Plain(Counting()))
    with pytest.raises(TypeError, match="takes k, not top_k"):
        retriever.invoke("first question", top_k=3)
    with pytest.raises(ValueError, match="k is 10 and fetch_k is 5"):
        retriever.invoke("first question", fetch_k=5)
    with pytest.raises(ValueError, match="given holds a list; give documents"):
        retriever.invoke("first question", given=[[1.0]])
