"""The document compressor, with the real langchain-core."""

import asyncio

import pytest

import diverset as dv

pytest.importorskip("langchain_core", reason="langchain-core is not installed")

from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings

from diverset.integrations.langchain import DiverseReranker

VECTORS = {
    "cats": [1.0, 0.0, 0.0, 0.0],
    "cats again": [1.0, 0.0, 0.0, 0.0],
    "kittens": [0.9, 0.3, 0.0, 0.0],
    "dogs": [0.0, 1.0, 0.2, 0.0],
    "fish": [0.0, 0.1, 1.0, 0.3],
}


class Table(Embeddings):
    """Embeddings looked up in a table; counts what it is asked."""

    def __init__(self):
        self.asked = []

    def embed_documents(self, texts):
        self.asked.append(texts)
        return [VECTORS[text] for text in texts]

    def embed_query(self, text):
        self.asked.append(text)
        return [0.2, 1.0, 0.0, 0.0]


class AsyncTable(Table):
    """The same, with asynchronous methods only."""

    def embed_documents(self, texts):
        raise AssertionError("the asynchronous method was wanted")

    embed_query = embed_documents

    async def aembed_documents(self, texts):
        return Table.embed_documents(self, texts)

    async def aembed_query(self, text):
        return Table.embed_query(self, text)


def documents(scores=None, embedded=True):
    found = []
    for i, (text, vector) in enumerate(VECTORS.items()):
        metadata = {"source": f"page {i}"}
        if embedded:
            metadata["embedding"] = vector
        if scores is not None:
            metadata["relevance_score"] = scores[i]
        found.append(Document(text, metadata=metadata))
    return found


def texts(found):
    return [document.page_content for document in found]


def test_it_is_a_document_compressor():
    assert isinstance(DiverseReranker(), BaseDocumentCompressor)


def test_order_and_metadata():
    scores = [0.9, 0.9, 0.7, 0.4, 0.1]
    given = documents(scores)
    found = DiverseReranker(diversity=0.3).compress_documents(given, "pets")
    quality = [(s - 0.1) / 0.8 for s in scores]
    expected = dv.select(list(VECTORS.values()), 5, quality=quality, diversity=0.3)
    assert texts(found) == [list(VECTORS)[i] for i in expected]
    assert found[-1].page_content == "cats again"
    assert all(any(kept is document for document in given) for kept in found)
    assert found[0].metadata == {"source": "page 0", "embedding": VECTORS["cats"], "relevance_score": 0.9}


def test_k_and_the_dial():
    given = documents([0.9, 0.8, 0.7, 0.4, 0.1])
    assert texts(DiverseReranker(k=2, diversity=0.0).compress_documents(given, "pets")) == ["cats", "cats again"]
    assert texts(DiverseReranker(k=2).compress_documents(given, "pets")) == ["cats", "dogs"]
    assert len(DiverseReranker(k=None).compress_documents(given * 3, "pets")) == 15


def test_embeddings_object_embeds_documents_and_query():
    table = Table()
    found = DiverseReranker(k=3, embeddings=table).compress_documents(documents(embedded=False), "which pet barks?")
    assert table.asked == [list(VECTORS), "which pet barks?"]
    assert texts(found)[0] == "dogs"


def test_only_what_is_missing_is_embedded():
    table = Table()
    given = documents([0.9, 0.8, 0.7, 0.4, 0.1])
    del given[3].metadata["embedding"]
    DiverseReranker(embeddings=table).compress_documents(given, "pets")
    assert table.asked == [["dogs"]]


def test_asynchronous_use_gives_the_same():
    plain = DiverseReranker(k=3, embeddings=Table()).compress_documents(documents(embedded=False), "pets")
    reranker = DiverseReranker(k=3, embeddings=AsyncTable())
    found = asyncio.run(reranker.acompress_documents(documents(embedded=False), "pets"))
    assert texts(found) == texts(plain)


def test_other_keys():
    given = [Document("a", metadata={"v": [1.0, 0.0], "s": 1}), Document("b", metadata={"v": [0.0, 1.0], "s": 2})]
    reranker = DiverseReranker(embedding_key="v", score_key="s")
    assert texts(reranker.compress_documents(given, "")) == ["b", "a"]


def test_scores_of_none_leave_the_order_to_decide():
    assert texts(DiverseReranker(diversity=0.0).compress_documents(documents([None] * 5), "")) == list(VECTORS)


def test_nothing_gives_nothing():
    table = Table()
    assert DiverseReranker(embeddings=table).compress_documents([], "pets") == []
    assert asyncio.run(DiverseReranker(embeddings=table).acompress_documents([], "pets")) == []
    assert table.asked == []


def test_documents_without_embeddings_are_named():
    with pytest.raises(ValueError, match=r"document 0 of 5 has no embedding; store it as metadata\['embedding'\], or"):
        DiverseReranker().compress_documents(documents(embedded=False), "pets")


def test_misspelt_options_are_refused():
    with pytest.raises(ValueError, match="diversty"):
        DiverseReranker(diversty=0.3)
