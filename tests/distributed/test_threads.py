"""Graphs of documents built on a cluster are those built here."""

import numpy as np

import diverset as dv
from diverset.threads import documents, example_news


def test_documents_are_compared_on_the_workers(cluster, monkeypatch):
    corpus, _ = example_news()
    monkeypatch.setattr(documents, "_BLOCK_BYTES", 4 * len(corpus) * 40)  # four blocks
    here = dv.threads.document_graph(corpus)
    there = dv.threads.document_graph(corpus, client=cluster)
    assert here.graph.n_edges == there.graph.n_edges
    assert (here.graph.edges != there.graph.edges).nnz == 0
    assert (here.graph.features != there.graph.features).nnz == 0
    assert np.array_equal(here.graph.weights, there.graph.weights)
