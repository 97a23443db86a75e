"""The ranker component, with the real Haystack."""

import inspect

import pytest

import diverset as dv

pytest.importorskip("haystack", reason="haystack-ai is not installed")

from haystack import Document, Pipeline
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
    expected = dv.select(list(VECTORS.values()), 5, quality=[(s - 0.1) / 0.8 for s in scores], diversity=0.3)
    assert texts(result) == [list(VECTORS)[i] for i in expected]
    assert texts(result)[-1] == "cats again"
    assert [document.score for document in result["documents"]] == [scores[i] for i in expected]
    assert [document.meta for document in result["documents"]] == [{"page": i} for i in expected]
    assert [document.content for document in given] == list(VECTORS)


def test_top_k_of_the_component_and_of_the_call():
    given = documents([0.9, 0.8, 0.7, 0.4, 0.1])
    ranker = DiverseReranker(top_k=2)
    assert texts(ranker.run(given)) == ["cats", "dogs"]
    assert texts(ranker.run(given, top_k=1)) == ["cats"]
    assert texts(DiverseReranker(top_k=2, diversity=0.0).run(given)) == ["cats", "cats again"]
    assert len(DiverseReranker(top_k=None).run(given * 3)["documents"]) == 15


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
