"""The ranker component, with the real Haystack."""

import inspect
import json
from dataclasses import replace

import numpy as np
import pytest

import diverset as dv
from corpus_for_tests import QUERIES, SOURCES, TEXTS, Counter, nearest, vector_of
from corpus_for_tests import VECTORS as CORPUS

pytest.importorskip("haystack", reason="haystack-ai is not installed")

from haystack import Document, Pipeline, component
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from diverset.integrations.haystack import DiverseReranker

VECTORS = {
    "cats": [1.0, 0.0, 0.0, 0.0],
    "cats again": [1.0, 0.0, 0.0, 0.0],
    "kittens": [0.9, 0.3, 0.0, 0.0],
    "dogs": [0.0, 1.0, 0.2, 0.0],
    "fish": [0.0, 0.1, 1.0, 0.3],
}


def documents(scores=None, embedded=True):
    return [
        Document(
            content=text,
            embedding=vector if embedded else None,
            score=None if scores is None else scores[i],
            meta={"page": i},
        )
        for i, (text, vector) in enumerate(VECTORS.items())
    ]


def texts(result):
    return [document.content for document in result["documents"]]


def test_order_scores_and_metadata():
    scores = [0.9, 0.9, 0.7, 0.4, 0.1]
    given = documents(scores)
    result = DiverseReranker(diversity=0.3).run(given)
    expected = dv.select(list(VECTORS.values()), 5, quality=scores, diversity=0.3)
    assert texts(result) == [list(VECTORS)[i] for i in expected]
    assert texts(result)[-1] == "cats again"
    assert [document.score for document in result["documents"]] == [scores[i] for i in expected]
    metas = [document.meta for document in result["documents"]]
    assert [meta["page"] for meta in metas] == list(expected)
    np.testing.assert_allclose([meta["diverset_gain"] for meta in metas], expected.gains)
    assert {meta["diverset_kept"] for meta in metas} == {expected.kept}
    assert [document.id for document in result["documents"]] == [given[i].id for i in expected]
    assert all("diverset_gain" not in document.meta for document in given)
    assert [document.content for document in given] == list(VECTORS)


def test_top_k_of_the_component_and_of_the_call():
    given = documents([0.9, 0.8, 0.7, 0.4, 0.1])
    ranker = DiverseReranker(top_k=2)
    assert texts(ranker.run(given)) == ["cats", "dogs"]
    assert texts(ranker.run(given, top_k=1)) == ["cats"]
    assert texts(DiverseReranker(top_k=2, diversity=0.0).run(given)) == ["cats", "cats again"]
    assert len(DiverseReranker(top_k=None).run(given * 3)["documents"]) == 15


def test_settings_of_one_run():
    scores = [0.9, 0.8, 0.7, 0.4, 0.1]
    given, X = documents(scores), list(VECTORS.values())
    ranker = DiverseReranker(top_k=3, keep=0.9)
    for settings in ({}, {"diversity": 0.8}, {"keep": 0.2}, {"min_quality": 0.3}, {"scale": "standard"}):
        expected = dv.select(X, 3, quality=scores, **({"keep": 0.9} if "diversity" not in settings else {}) | settings)
        assert texts(ranker.run(given, query="pets", **settings)) == expected.take(list(VECTORS))
    found = ranker.run(given, groups=["a", "a", "b", "b", "b"], per_group=1, diversity=0.5)
    expected = dv.select(X, 3, quality=scores, groups=["a", "a", "b", "b", "b"], per_group=1)
    assert texts(found) == expected.take(list(VECTORS))
    found = ranker.run(given[1:], given=[given[0], given[2].id], diversity=0.5)
    expected = dv.select(X[1:], 3, quality=scores[1:], given=[1], given_features=X[:1])
    assert texts(found) == expected.take(list(VECTORS)[1:])


def test_scores_in_the_meta():
    given = [replace(document, meta={"score": 1.0 - i / 10}) for i, document in enumerate(documents())]
    expected = dv.select(list(VECTORS.values()), 3, quality=[1.0 - i / 10 for i in range(5)])
    assert texts(DiverseReranker(top_k=3).run(given)) == expected.take(list(VECTORS))


def test_scores_of_none():
    assert texts(DiverseReranker(diversity=0.0).run(documents())) == list(VECTORS)
    assert texts(DiverseReranker().run(documents(), query_embedding=[0.2, 1.0, 0.0, 0.0]))[0] == "dogs"


def test_nothing_gives_nothing():
    assert DiverseReranker().run([]) == {"documents": []}


def test_documents_without_embeddings_are_named():
    with pytest.raises(
        ValueError, match=r"document 0 of 5 has no embedding; ask the retriever .*return_embedding=True"
    ):
        DiverseReranker().run(documents(embedded=False))


def test_in_a_pipeline_saved_and_loaded():
    pipeline = Pipeline()
    pipeline.add_component("ranker", DiverseReranker(top_k=3, diversity=0.6))
    options = {}
    if "allowed_modules" in inspect.signature(Pipeline.loads).parameters:  # from Haystack 3
        options["allowed_modules"] = ["diverset.integrations.haystack"]
    copy = Pipeline.loads(pipeline.dumps(), **options)
    ranker = copy.get_component("ranker")
    assert isinstance(ranker, DiverseReranker)
    assert ranker.to_dict() == pipeline.get_component("ranker").to_dict()
    assert (ranker.top_k, ranker.diversity) == (3, 0.6)
    result = copy.run({"ranker": {"documents": documents([0.9, 0.8, 0.7, 0.4, 0.1])}})
    assert len(result["ranker"]["documents"]) == 3


def test_behind_a_retriever():
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(documents())
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, return_embedding=True))
    pipeline.add_component("ranker", DiverseReranker(top_k=3))
    pipeline.connect("retriever.documents", "ranker.documents")
    result = pipeline.run({"retriever": {"query_embedding": [1.0, 0.1, 0.0, 0.0]}})["ranker"]
    assert len({"cats", "cats again"} & set(texts(result))) == 1


# the corpus of 10,000 -----------------------------------------------------------------------------------------------

COUNTER = Counter()


@component
class Documents:
    """Embeds documents of the corpus; counts them."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]):
        COUNTER.document_vectors([document.content for document in documents])
        return {"documents": [replace(document, embedding=vector_of(document.content)) for document in documents]}


@component
class Text:
    """Embeds questions; counts them."""

    @component.output_types(embedding=list[float])
    def run(self, text: str):
        return {"embedding": COUNTER.query_vector(text)}


@pytest.fixture(scope="module")
def store():
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(
        [
            Document(content=text, embedding=vector_of(text), meta={"source": source})
            for text, source in zip(TEXTS, SOURCES, strict=True)
        ]
    )
    return store


def test_store_of_10000_documents_embeds_nothing_but_the_query(store):
    COUNTER.clear()
    pipeline = Pipeline()
    pipeline.add_component("embedder", Text())
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=60, return_embedding=True))
    pipeline.add_component("ranker", DiverseReranker(document_embedder=Documents(), groups="source", per_group=2))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    pipeline.connect("retriever.documents", "ranker.documents")
    for query in QUERIES:
        result = pipeline.run({"embedder": {"text": query}, "ranker": {"query": query, "top_k": 8, "diversity": 0.6}})
        positions, cosines = nearest(query, 60)
        groups = [SOURCES[i] for i in positions]
        expected = dv.select(CORPUS[positions], 8, quality=cosines, diversity=0.6, groups=groups, per_group=2)
        assert texts(result["ranker"]) == [TEXTS[i] for i in positions[expected]]
    assert (COUNTER.documents, COUNTER.queries) == ([], list(QUERIES))


def test_embedders_embed_what_is_missing_once(store):
    COUNTER.clear()
    ranker = DiverseReranker(top_k=8, text_embedder=Text(), document_embedder=Documents())
    ranker.warm_up()
    wanted = set()
    for query in (*QUERIES, "first question"):
        positions, _ = nearest(query, 40)
        given = [Document(content=TEXTS[i]) for i in positions]
        expected = dv.select(CORPUS[positions], 8, query=QUERIES[query])
        assert texts(ranker.run(given, query=query)) == [TEXTS[i] for i in positions[expected]]
        wanted |= {TEXTS[i] for i in positions}
    assert sorted(COUNTER.documents) == sorted(wanted)
    assert COUNTER.calls == 3
    assert COUNTER.queries == [*QUERIES, "first question"]


def test_given_documents_are_taken_at_construction_and_saved():
    found = documents([0.9, 0.8, 0.7, 0.4, 0.1])
    ranker = DiverseReranker(given=[found[0], 1, found[2].id])
    expected = DiverseReranker().run(found, given=[0, 1, 2])
    assert texts(ranker.run(found)) == texts(expected)
    saved = json.loads(json.dumps(ranker.to_dict()))
    assert texts(DiverseReranker.from_dict(saved).run(found)) == texts(expected)
    assert len(ranker.run(found, given=[])["documents"]) == 5  # of the run, in place of the component's own


def test_embedders_are_saved_and_loaded():
    embedders = pytest.importorskip("haystack.components.embedders")
    if not hasattr(embedders, "MockTextEmbedder"):
        pytest.skip("this Haystack has no embedder that needs no model")
    ranker = DiverseReranker(text_embedder=embedders.MockTextEmbedder(), keep=0.8)
    copy = DiverseReranker.from_dict(ranker.to_dict())
    assert isinstance(copy.text_embedder, embedders.MockTextEmbedder)
    assert copy.to_dict() == ranker.to_dict()
    assert (copy.keep, copy.document_embedder) == (0.8, None)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"top_k": -3}, ValueError, "top_k is -3"),
        ({"top_k": 0}, ValueError, "top_k is 0"),
        ({"diversity": 3}, ValueError, "diversity is 3"),
        ({"diversity": 0.3, "keep": 0.9}, ValueError, "give one of the two"),
        ({"scale": "minmax"}, ValueError, "scale is 'minmax'"),
        ({"groups": "source"}, ValueError, "groups and per_group go together"),
        ({"cache_size": -1}, ValueError, "cache_size is -1"),
        ({"top_n": 3}, TypeError, "takes top_k, not top_n"),
        ({"k": 3}, TypeError, "takes top_k, not k"),
        ({"diversty": 0.3}, TypeError, "did you mean diversity"),
        ({"given": "cats"}, ValueError, "given is 'cats'"),
        ({"score_key": 5}, ValueError, "score_key is 5"),
        ({"text_embedder": 5}, ValueError, "text_embedder is 5"),
        ({"document_embedder": "mini"}, ValueError, "document_embedder is 'mini'"),
    ],
)
def test_wrong_settings(settings, error, message):
    with pytest.raises(error, match=message):
        DiverseReranker(**settings)


def test_wrong_settings_of_a_run():
    with pytest.raises(ValueError, match="top_k is -3"):
        DiverseReranker().run(documents(), top_k=-3)
    with pytest.raises(ValueError, match="diversity is 3"):
        DiverseReranker().run(documents(), diversity=3)
    with pytest.raises(ValueError, match="got str; give documents"):
        DiverseReranker().run(["cats"])
