"""From embeddings and scores to an order, without any framework."""

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError, KernelError
from diverset.integrations._rerank import fill_gaps, rerank


def order(embeddings, scores=None, k=None, diversity=0.5, query=None):
    scores = [None] * len(embeddings) if scores is None else scores
    return rerank(embeddings, scores, k=k, diversity=diversity, query=query, remedy="embed it")


@pytest.fixture
def pages():
    return np.random.default_rng(0).normal(size=(12, 20))


def test_order_is_that_of_select_with_scores_from_zero_to_one(pages):
    scores = np.random.default_rng(1).uniform(20.0, 35.0, size=12)
    quality = (scores - scores.min()) / (scores.max() - scores.min())
    for k in (None, 1, 5, 40):
        expected = dv.select(pages, 12 if k is None else k, quality=quality, diversity=0.3)
        assert order(pages, scores.tolist(), k=k, diversity=0.3) == list(expected)


def test_scale_of_scores_does_not_matter(pages):
    scores = np.random.default_rng(2).normal(size=12)
    expected = order(pages, scores.tolist())
    for scale in (1e-12, 1.0, 1e6, 1e300):
        assert order(pages, (scale * (scores + 3.0)).tolist()) == expected


def test_ends_of_the_dial(pages):
    scores = np.random.default_rng(3).normal(size=12).tolist()
    assert order(pages, scores, diversity=0.0) == np.argsort(scores)[::-1].tolist()
    assert order(pages, scores, diversity=1.0) == list(dv.select(pages, 12, diversity=1.0))


def test_copies_come_last(pages):
    doubled = np.vstack([pages, pages[:3]])
    scores = [1.0, 0.9, 0.8, *np.linspace(0.5, 0.1, 9), 1.0, 0.9, 0.8]
    assert set(order(doubled, scores)[-3:]) == {12, 13, 14}


def test_missing_scores_count_as_the_lowest(pages):
    scores = [0.5, None, 0.9, 0.2, *[0.3] * 8]
    assert order(pages, scores) == order(pages, [0.2 if s is None else s for s in scores])


def test_without_scores_similarity_to_the_query_decides(pages):
    query = np.random.default_rng(4).normal(size=20)
    cosine = pages @ query / np.linalg.norm(pages, axis=1)
    assert order(pages, query=query.tolist(), diversity=0.0) == np.argsort(-cosine).tolist()
    assert order(pages, query=query) == order(pages, cosine.tolist())


def test_without_scores_and_query_the_order_decides(pages):
    assert order(pages, diversity=0.0) == list(range(12))
    assert order(pages)[0] == 0


def test_scores_that_are_all_equal(pages):
    assert order(pages, [0.7] * 12) == list(dv.select(pages, 12))
    assert order(pages, [0.0] * 12) == list(dv.select(pages, 12))


def test_nothing_gives_nothing():
    assert order([]) == []
    assert order([[1.0, 2.0]]) == [0]
    assert order([[1.0, 2.0]], k=0) == []


@pytest.mark.parametrize(
    ("embeddings", "scores", "query", "error", "message"),
    [
        ([[1.0], None], None, None, DiversetError, "document 1 of 2 has no embedding; embed it"),
        ([[1.0, 2.0], [1.0]], None, None, DiversetError, r"document 1 has shape \(1,\), that of document 0 \(2,\)"),
        ([[1.0], [np.nan]], None, None, KernelError, r"\[1, 0\] is nan"),
        ([[1.0], [2.0]], [1.0, np.nan], None, DiversetError, r"quality\[1\] is nan"),
        ([[1.0], [2.0]], None, [1.0, 2.0], DiversetError, "query has 2 entries for 1"),
        ([[1.0], [2.0]], None, [0.0], DiversetError, "query is all zeros"),
    ],
)
def test_bad_input_is_named(embeddings, scores, query, error, message):
    with pytest.raises(error, match=message):
        order(embeddings, scores, query=query)


def test_gaps_are_filled_in_turn():
    assert fill_gaps([None, 1, None], [7, 8]) == [7, 1, 8]
    assert fill_gaps([None], []) == [None]
