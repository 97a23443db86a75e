"""From documents to graphs, against plain dense computations."""

import json
import math
from collections import Counter

import numpy as np
import pytest
import scipy.sparse

from diverset.errors import DiversetError, LabelError
from diverset.text import lexrank
from diverset.threads import (
    Corpus,
    citation_graph,
    document_graph,
    documents,
    example_news,
    is_noise,
    salient_terms,
    term_vectors,
)
from diverset.threads.corpus import content_terms


@pytest.fixture(scope="module")
def news():
    return example_news()


def dense_vectors(texts, least, share):
    """Tf-idf from the definition."""
    found = [Counter(content_terms(text)) for text in texts]
    n = len(texts)
    df = Counter(word for words in found for word in words)
    terms = [word for word, count in df.items() if least <= count <= share * n]
    X = np.array([[words[t] * math.log((1 + n) / df[t]) for t in terms] for words in found])
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1.0), terms


def test_term_vectors(news):
    texts = news[0].texts
    X, terms = dense_vectors(texts, 3, 0.1)
    matrix, found = term_vectors(texts, min_documents=3, max_share=0.1)
    assert found == terms
    np.testing.assert_allclose(matrix.toarray(), X, atol=1e-6)


def test_the_graph_is_what_the_text_says(news, monkeypatch):
    corpus = news[0]
    monkeypatch.setattr(documents, "_BLOCK_BYTES", 40_000)  # several blocks
    told = []
    made = document_graph(
        corpus, threshold=0.12, max_similarity=0.6, neighbours=12, progress=lambda *stage: told.append(stage)
    )
    X, _ = dense_vectors(corpus.texts, 2, 0.15)
    S = X @ X.T
    later = corpus.times[:, None] < corpus.times[None, :]
    wanted = np.where((S >= 0.12) & (S <= 0.6) & later, S, 0.0)
    np.testing.assert_allclose(made.graph.edges.toarray(), wanted, atol=1e-6)
    off = S - np.diag(np.diag(S))
    binary = (off >= 0.12).astype(float)
    np.testing.assert_allclose(made.graph.weights, len(corpus) * lexrank(binary, damping=0.15), rtol=1e-9)
    nearest = made.graph.features.toarray()
    np.fill_diagonal(S, 2.0)
    for i in range(len(corpus)):
        worst = S[i][nearest[i] > 0].min()
        assert nearest[i].sum() <= 12
        assert (S[i][nearest[i] == 0] <= worst + 1e-6).all()
    assert len({done for stage, done, _ in told if stage == "comparing documents"}) > 2


def test_noise_filters():
    rng = np.random.default_rng(0)
    plain = [" ".join(rng.choice(["red", "green", "blue"], size=50)) for _ in range(40)]
    texts = [*plain, "too short", " ".join(["long"] * 500), " ".join(["12", "7.5"] * 20) + " x" * 10]
    assert np.flatnonzero(is_noise(texts, min_words=10)).tolist() == [40, 41, 42]
    corpus = Corpus(texts, range(len(texts)))
    assert len(corpus.without_noise(min_words=10)) == 40
    with pytest.raises(DiversetError, match=r"no document of the corpus has 900 words"):
        corpus.without_noise(min_words=900)


def test_citations_lead_forward_and_never_return():
    texts = [
        "parsing trees",
        "parsing graphs",
        "parsing trees and graphs",
        "speech sounds",
        "speech and parsing sounds",
    ]
    # 1 cites 0; 2 cites 0 and 1; 4 cites 3 and 2; 0 "cites" the later 2; 3 and 4 cite each other.
    cites = scipy.sparse.coo_array((np.ones(7), ([1, 2, 2, 4, 4, 0, 3], [0, 0, 1, 3, 2, 2, 4])), shape=(5, 5))
    dated = citation_graph(cites, texts, times=[1990, 1991, 1993, 1993, 1995], max_share=1.0).graph
    assert set(zip(*dated.edges.nonzero(), strict=True)) == {(0, 1), (0, 2), (1, 2), (2, 4), (3, 4)}
    X, _ = dense_vectors(texts, 2, 1.0)
    assert dated.edges[1, 2] == pytest.approx(X[1] @ X[2], abs=1e-6)
    undated = citation_graph(cites, texts, max_share=1.0).graph
    assert set(zip(*undated.edges.nonzero(), strict=True)) == {(2, 4)}
    given = citation_graph(cites, scipy.sparse.csr_array(X), times=[1990, 1991, 1993, 1993, 1995])
    assert given.graph.edges[1, 2] == pytest.approx(X[1] @ X[2], abs=1e-6)


def test_words_of_a_thread(news):
    matrix, terms = term_vectors(news[0].texts)
    bridge = np.flatnonzero([story == "bridge" for story in news[1]])
    assert set(salient_terms(matrix, terms, bridge, 3)) <= {"bridge", "kestrel", "ellery", "port", "girders"}


def test_bad_corpora():
    with pytest.raises(DiversetError, match=r"document 2 \('b'\) has an empty text"):
        Corpus(["x y", "  "], [1, 2], ["a", "b"])
    with pytest.raises(DiversetError, match=r"document 1 is nan, a float; texts are strings"):
        Corpus([math.nan, "a"], [1, 2])
    with pytest.raises(LabelError, match=r"documents 1 and 3 are both called 'a'"):
        Corpus(["x", "y", "z"], [1, 2, 3], ["a", "b", "a"])
    with pytest.raises(DiversetError, match=r"no documents"):
        Corpus([])
    with pytest.raises(DiversetError, match=r"no times"):
        document_graph(Corpus(["x y", "y z"]))
    with pytest.raises(DiversetError, match=r"no word is in 2 documents or more and in at most 15% of 3"):
        document_graph(Corpus(["x y", "y z", "x z"], [1, 2, 3]))
    with pytest.raises(DiversetError, match=r"no word is in 2 documents"):
        document_graph(Corpus(["aa", "bb", "cc"], [1, 2, 3]), max_share=1.0)


def test_the_news_are_well_formed(news):
    corpus, stories = news
    assert len(corpus) == 230
    assert len(set(corpus.titles)) == 230
    assert (corpus.times[1:] >= corpus.times[:-1]).all()
    counts = Counter(stories)
    assert len(counts) == 7
    assert min(counts.values()) >= 17
    assert json.dumps(corpus.texts[0])
    assert all(20 <= len(text.split()) <= 80 for text in corpus.texts)
