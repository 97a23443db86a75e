"""Threads at the size of the monograph's news corpus, beside k-means, a dynamic topic model, and plain sparse products.

The synthetic graph has 34,500 nodes in order of time and 3.5 million edges that lead forward; the features of a node
are 1,000 neighbours, binary. As in the monograph, the time is that of projection, C, and one set of ten threads of
eight. The reference is 7 products of the edges with a block of 50 vectors, by SciPy.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse

from benchmarks.harness import Row, at_most, compare, peak_gib, reset_peak, state
from diverset.threads import ThreadGraph, ThreadModel, dtm_threads, kmeans_threads

M, EDGES, NEIGHBOURS, LENGTH, K, D = 34_500, 3_500_000, 1_000, 8, 10, 50
#: Documents and words of the topic model, which takes hours at full size.
TOPIC_DOCUMENTS, TOPIC_WORDS = 200, 100


def news_graph(n: int = M, n_edges: int = EDGES) -> ThreadGraph:
    """Nodes in order of time; edges to some that follow within a window, neighbours on both sides."""
    rng = np.random.default_rng(0)
    per_row = round(1.08 * n_edges / n)  # some are drawn twice, some lead beyond the end
    start = np.repeat(np.arange(n), per_row)
    end = start + rng.integers(1, 8 * per_row, size=len(start))
    inside = end < n
    edges = scipy.sparse.coo_array((np.ones(inside.sum()), (start[inside], end[inside])), shape=(n, n)).tocsr()
    edges.sum_duplicates()
    edges.data = rng.uniform(0.1, 1.0, size=edges.nnz)
    near = (np.arange(n)[:, None] + rng.integers(-4_000, 4_000, size=(n, NEIGHBOURS))) % n
    near.sort(axis=1)
    indptr = np.arange(n + 1, dtype=np.int32) * NEIGHBOURS
    ones = np.ones(n * NEIGHBOURS, dtype=np.float32)
    features = scipy.sparse.csr_array((ones, near.ravel().astype(np.int32), indptr), shape=(n, n))
    return ThreadGraph(edges, features, weights=rng.uniform(0.0, 1.0, size=n), times=np.arange(n))


def news_vectors(n: int = M, n_terms: int = 36_000, per_document: int = 120) -> scipy.sparse.csr_array:
    """Unit tf-idf vectors of as many documents, words drawn by Zipf's law."""
    rng = np.random.default_rng(1)
    columns = np.minimum(rng.zipf(1.2, size=n * per_document), n_terms) - 1
    rows = np.repeat(np.arange(n), per_document)
    X = scipy.sparse.coo_array((rng.uniform(0.5, 2.0, size=len(rows)), (rows, columns)), shape=(n, n_terms)).tocsr()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return scipy.sparse.csr_array(scipy.sparse.diags_array(1.0 / norms) @ X).astype(np.float32)


def at_full_size() -> Iterator[Row]:
    """Projection, C and one set of threads, beside SciPy's products."""
    graph = news_graph()
    X = np.random.default_rng(2).standard_normal((M, D))

    def products() -> None:
        for _ in range(LENGTH - 1):
            graph.edges @ X

    yield compare(
        f"projection, C and one set, M = {M:,}, {graph.n_edges:,} edges, k = {K}, R = {LENGTH}, d = {D}",
        lambda: ThreadModel(graph, length=LENGTH, k=K, projection=D, rng=0).sample(),
        products,
        name=f"{LENGTH - 1} products with M x {D} by SciPy",
        bar=at_most(2.5),
    )
    model = ThreadModel(graph, length=LENGTH, k=K, projection=D, rng=0)
    model.sample()
    start = time.perf_counter()
    model.best()
    yield state("the most probable set found, same graph", f"{time.perf_counter() - start:.1f} s")


def clusters() -> Iterator[Row]:
    """K-means at full size."""
    X = news_vectors()
    start = time.perf_counter()
    kmeans_threads(X, np.arange(M), k=K, length=LENGTH, rng=0)
    yield state(f"k-means in {LENGTH} time slices, {M:,} documents", f"{time.perf_counter() - start:.1f} s")


def topics() -> Iterator[Row]:
    """The dynamic topic model on a part, since it takes hours for the whole."""
    rng = np.random.default_rng(3)
    documents = [[f"w{j}" for j in rng.integers(TOPIC_WORDS, size=60)] for _ in range(TOPIC_DOCUMENTS)]
    start = time.perf_counter()
    try:
        dtm_threads(documents, np.arange(TOPIC_DOCUMENTS), k=K, length=LENGTH, iterations=1, rng=0)
    except ImportError as error:
        yield state("dynamic topic model", f"left out: {error}")
        return
    yield state(
        f"dynamic topic model, {TOPIC_DOCUMENTS} documents of {TOPIC_WORDS} words, 1 iteration",
        f"{time.perf_counter() - start:.1f} s",
    )


def graph_building() -> Iterator[Row]:
    """The graph of 15,000 Reuters stories: time, and peak memory of the process."""
    import gzip
    import json

    from diverset.threads import Corpus, document_graph, find_threads

    path = Path(os.environ.get("DIVERSET_DATA", "../shared/data")) / "reuters21578" / "reuters21578.jsonl.gz"
    if not path.exists():
        yield state("graph of 15,000 Reuters stories", f"left out: {path} is missing")
        return
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file][:15_000]
    corpus = Corpus([f"{r['title']}. {r['body']}" for r in rows], [r["date"] for r in rows], [r["id"] for r in rows])
    reset_peak()
    start = time.perf_counter()
    graph = document_graph(corpus, threshold=0.1).graph
    seconds = time.perf_counter() - start
    peak = peak_gib()
    row = state(
        f"graph of {len(rows):,} Reuters stories, {graph.n_edges:,} edges", f"{seconds:.1f} s, peak {peak:.1f} GiB"
    )
    row.bar, row.met = "≤ 120 s and 4 GiB", seconds <= 120.0 and peak <= 4.0
    yield row
    reset_peak()
    start = time.perf_counter()
    found = find_threads(corpus)
    seconds = time.perf_counter() - start
    peak = peak_gib()
    shown = f"{seconds:.1f} s, {found.settings['events']} events, peak {peak:.1f} GiB"
    row = state(f"find_threads, {len(rows):,} Reuters stories", shown)
    row.bar, row.met = "≤ 21 s and 1.5 GiB", seconds <= 21.0 and peak <= 1.5
    yield row


CASES = (graph_building, at_full_size, clusters, topics)
