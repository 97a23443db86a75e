"""The node postprocessor, with the real llama-index-core."""

import asyncio
from typing import ClassVar

import pytest

import diverset as dv

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from diverset.integrations.llama_index import DiverseReranker

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
    expected = dv.select(list(VECTORS.values()), 5, quality=[(s - 0.1) / 0.8 for s in scores], diversity=0.3)
    assert texts(found) == [list(VECTORS)[i] for i in expected]
    assert texts(found)[-1] == "cats again"
    assert [node.score for node in found] == [scores[i] for i in expected]
    assert [node.metadata for node in found] == [{"page": i} for i in expected]


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
    with pytest.raises(ValueError, match="document 0 of 5 has no embedding; store nodes with their embedding, or pass"):
        DiverseReranker().postprocess_nodes(nodes(embedded=False))


def test_saved_and_loaded():
    copy = DiverseReranker.from_dict(DiverseReranker(top_n=3, diversity=0.6).to_dict())
    assert (copy.top_n, copy.diversity) == (3, 0.6)
