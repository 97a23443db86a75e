"""Answers of vector stores as candidates: the real packages where they are installed, recorded answers for servers."""

import numpy as np
import pytest

import diverset as dv
from corpus_for_tests import QUERIES, TEXTS, VECTORS, nearest
from diverset.errors import DiversetError
from diverset.integrations.stores import (
    from_chroma,
    from_elasticsearch,
    from_faiss,
    from_lancedb,
    from_qdrant,
)

QUERY = "first question"
VECTOR = QUERIES[QUERY].astype(np.float32)


@pytest.fixture(scope="module")
def expected():
    """Positions of the 60 nearest, and of the picks among them."""
    positions, cosines = nearest(QUERY, 60)
    return positions, positions[dv.select(VECTORS[positions], 8, quality=cosines)].tolist()


def check(found, expected, *, lower_is_better):
    positions, picks = expected
    assert [int(key) for key in found.ids] == positions.tolist()
    assert found.lower_is_better is lower_is_better
    np.testing.assert_allclose(found.features, VECTORS[positions], atol=1e-6)
    assert [int(key) for key in found.select(8).take(found.ids)] == picks
    direct = dv.select(found.features, 5, quality=found.scores, lower_is_better=lower_is_better, diversity=0.8)
    assert list(found.select(5, diversity=0.8)) == list(direct)


# real packages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["IndexFlatL2", "IndexFlatIP"])
def test_faiss(metric, expected):
    faiss = pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    index = getattr(faiss, metric)(VECTORS.shape[1])
    index.add(VECTORS.astype(np.float32))
    distances, ids = index.search(VECTOR[None], 60)
    check(from_faiss(index, distances, ids), expected, lower_is_better=metric == "IndexFlatL2")
    both = index.search(np.stack([VECTOR[::-1], VECTOR]), 60)
    check(from_faiss(index, *both, query=1), expected, lower_is_better=metric == "IndexFlatL2")
    with pytest.raises(DiversetError, match="the answer is for 2 queries; say which with query=0 to 1"):
        from_faiss(index, *both)


def test_faiss_with_less_than_was_asked_for_and_without_vectors():
    faiss = pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    index = faiss.IndexFlatL2(VECTORS.shape[1])
    index.add(VECTORS[:5].astype(np.float32))
    found = from_faiss(index, *index.search(VECTOR[None], 60))
    assert sorted(found.ids) == [0, 1, 2, 3, 4]
    inverted = faiss.index_factory(VECTORS.shape[1], "IVF4,Flat")
    inverted.train(VECTORS[:400].astype(np.float32))
    inverted.add(VECTORS[:400].astype(np.float32))
    distances, ids, vectors = inverted.search_and_reconstruct(VECTOR[None], 20)
    with pytest.raises(DiversetError, match=r"call index\.make_direct_map\(\) once"):
        from_faiss(inverted, distances, ids)
    found = from_faiss(inverted, distances, ids, vectors=vectors)
    inverted.make_direct_map()
    again = from_faiss(inverted, distances, ids)
    np.testing.assert_allclose(found.features, again.features)
    assert found.ids == again.ids


@pytest.mark.parametrize("distance", ["Cosine", "Dot", "Euclid"])
def test_qdrant(distance, expected):
    package = pytest.importorskip("qdrant_client", reason="qdrant-client is not installed")
    client = package.QdrantClient(":memory:")
    models = package.models
    size = VECTORS.shape[1]
    client.create_collection("documents", models.VectorParams(size=size, distance=models.Distance(distance)))
    client.upload_collection("documents", vectors=VECTORS.astype(np.float32), ids=range(len(TEXTS)))
    answer = client.query_points("documents", VECTOR.tolist(), limit=60, with_vectors=True)
    check(from_qdrant(answer), expected, lower_is_better=distance == "Euclid")
    check(from_qdrant(answer.points), expected, lower_is_better=distance == "Euclid")
    check(from_qdrant(answer.model_dump()), expected, lower_is_better=distance == "Euclid")
    bare = client.query_points("documents", VECTOR.tolist(), limit=3)
    with pytest.raises(DiversetError, match="point 0 of 3 has no vector; search with with_vectors=True"):
        from_qdrant(bare)


def test_chroma(expected):
    chromadb = pytest.importorskip("chromadb", reason="chromadb is not installed")
    client = chromadb.EphemeralClient()
    options = {"hnsw:search_ef": 400, "hnsw:construction_ef": 200}
    collection = client.create_collection("plain", metadata=options, embedding_function=None)
    for start in range(0, len(TEXTS), 5_000):
        ids = [str(i) for i in range(start, start + 5_000)]
        collection.add(ids=ids, embeddings=VECTORS[start : start + 5_000].tolist())
    answer = collection.query(query_embeddings=[VECTOR], n_results=60, include=["embeddings", "distances"])
    check(from_chroma(answer), expected, lower_is_better=True)
    with pytest.raises(DiversetError, match="the answer has no embeddings; search with include="):
        from_chroma(collection.query(query_embeddings=[VECTOR], n_results=3))


def test_lancedb(expected, tmp_path):
    lancedb = pytest.importorskip("lancedb", reason="lancedb is not installed")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    vectors = pa.FixedSizeListArray.from_arrays(VECTORS.astype(np.float32).ravel(), VECTORS.shape[1])
    data = pa.table({"id": np.arange(len(TEXTS)), "vector": vectors})
    table = lancedb.connect(str(tmp_path)).create_table("documents", data)
    search = table.search(VECTOR).limit(60)
    check(from_lancedb(search.to_list()), expected, lower_is_better=True)
    check(from_lancedb(search.to_arrow()), expected, lower_is_better=True)
    check(from_lancedb(search.to_pandas()), expected, lower_is_better=True)


# recorded answers, as the vendors document them -----------------------------------------------------------------------

ELASTICSEARCH = {
    "took": 3,
    "timed_out": False,
    "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
    "hits": {
        "total": {"value": 3, "relation": "eq"},
        "max_score": 0.95,
        "hits": [
            {"_index": "pages", "_id": "a", "_score": 0.95, "fields": {"embedding": [1.0, 0.0]}},
            {"_index": "pages", "_id": "b", "_score": 0.94, "fields": {"embedding": [1.0, 0.05]}},
            {"_index": "pages", "_id": "c", "_score": 0.60, "fields": {"embedding": [0.0, 1.0]}},
        ],
    },
}
OPENSEARCH = {
    "took": 5,
    "timed_out": False,
    "hits": {
        "total": {"value": 3, "relation": "eq"},
        "max_score": 0.95,
        "hits": [
            {"_index": "pages", "_id": "a", "_score": 0.95, "_source": {"text": "x", "page": {"vector": [1.0, 0.0]}}},
            {"_index": "pages", "_id": "b", "_score": 0.94, "_source": {"text": "y", "page": {"vector": [1.0, 0.05]}}},
            {"_index": "pages", "_id": "c", "_score": 0.60, "_source": {"text": "z", "page": {"vector": [0.0, 1.0]}}},
        ],
    },
}
QDRANT = {
    "usage": None,
    "time": 0.0002,
    "status": "ok",
    "result": {
        "points": [
            {"id": "a", "version": 3, "score": 0.95, "payload": None, "vector": {"text": [1.0, 0.0], "image": [2.0]}},
            {"id": "b", "version": 3, "score": 0.94, "payload": None, "vector": {"text": [1.0, 0.05], "image": [2.0]}},
            {"id": "c", "version": 3, "score": 0.60, "payload": None, "vector": {"text": [0.0, 1.0], "image": [2.0]}},
        ]
    },
}


@pytest.mark.parametrize(
    "found",
    [
        lambda: from_elasticsearch(ELASTICSEARCH, field="embedding"),
        lambda: from_elasticsearch(OPENSEARCH, field="page.vector"),
        lambda: from_qdrant(QDRANT, vector_name="text"),
        lambda: from_qdrant(QDRANT["result"]["points"], vector_name="text"),
    ],
)
def test_recorded_answers(found):
    candidates = found()
    assert (candidates.ids, candidates.lower_is_better, len(candidates)) == (["a", "b", "c"], False, 3)
    assert candidates.scores.tolist() == [0.95, 0.94, 0.60]
    assert candidates.features.tolist() == [[1.0, 0.0], [1.0, 0.05], [0.0, 1.0]]
    assert candidates.select(2).take(candidates.ids) == ["a", "c"]


def test_qdrant_distances_are_told_by_their_order():
    points = [{"id": i, "score": score, "vector": [1.0, float(i)]} for i, score in enumerate([0.1, 0.4, 0.4])]
    assert from_qdrant({"result": points}).lower_is_better
    assert not from_qdrant({"result": points[1:]}).lower_is_better


def test_lancedb_scores():
    rows = [{"key": "a", "v": [1.0], "_relevance_score": 0.9}, {"key": "b", "v": [2.0], "_relevance_score": 0.1}]
    found = from_lancedb(rows, vector="v", id="key")
    assert (found.ids, found.lower_is_better, found.scores.tolist()) == (["a", "b"], False, [0.9, 0.1])
    assert from_lancedb(rows, vector="v", id=None).ids == [0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_elasticsearch({"error": {}}, field="v"), "the answer has no 'hits'; it has 'error'"),
        (
            lambda: from_elasticsearch(ELASTICSEARCH, field="vector"),
            "hit 0 of 3 has no field 'vector'; ask for it with \"fields\"",
        ),
        (lambda: from_elasticsearch(OPENSEARCH, field="text.vector"), "hit 0 of 3 has no field 'text.vector'"),
        (lambda: from_qdrant(QDRANT), "points have vectors 'text', 'image'; say which with vector_name="),
        (lambda: from_qdrant(QDRANT, vector_name="audio"), "point 0 has no 'audio'; it has 'text', 'image'"),
        (lambda: from_qdrant({"status": "error"}), "the answer has no 'points'; it has 'status'"),
        (
            lambda: from_lancedb([{"id": 1, "vector": [1.0]}]),
            "rows have no _distance and no score; they have id, vector",
        ),
        (
            lambda: from_lancedb([{"_distance": 1.0, "vector": [1.0]}]),
            "a row has no 'id'; it has '_distance', 'vector'",
        ),
        (
            lambda: from_chroma(
                {"ids": [["a"], ["b"]], "embeddings": [[[1.0]]] * 2, "distances": [[1.0]] * 2}, query=2
            ),
            "query is 2, and the answer is for 2 queries",
        ),
        (
            lambda: from_chroma({"ids": [["a", "b"]], "embeddings": [[[1.0], [1.0, 2.0]]], "distances": [[1.0, 2.0]]}),
            r"vectors have shapes \[\(1,\), \(2,\)\]",
        ),
    ],
)
def test_answers_that_lack_something(call, message):
    with pytest.raises(DiversetError, match=message):
        call()


def test_nothing_found():
    for found in (from_qdrant([]), from_lancedb([]), from_elasticsearch({"hits": {"hits": []}}, field="v")):
        assert len(found) == len(found.select(3)) == 0
