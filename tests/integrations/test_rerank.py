"""What the rerankers share, without any framework."""

import pickle

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError, KernelError
from diverset.integrations._rerank import GAIN, KEPT, Candidate, Choice, Reranking, VectorCache, name_error, read_score


def candidates(vectors, scores=None, sources=None):
    return [
        Candidate(
            item=i,
            id=f"id {i}",
            text=f"text {i}",
            vector=vector,
            score=None if scores is None else scores[i],
            metadata={} if sources is None else {"source": sources[i]},
        )
        for i, vector in enumerate(vectors)
    ]


def picks(found, query=None, vectors=(), **settings):
    return Reranking(Choice(**settings), found, lambda item: item).finish(vectors, query, "embed it")


def order(vectors, scores=None, k=None, query=None, **settings):
    return [item for item, _ in picks(candidates(vectors, scores), query, k=k, **settings)]


@pytest.fixture
def pages():
    return np.random.default_rng(0).normal(size=(12, 20))


@pytest.fixture
def scores():
    return np.random.default_rng(1).uniform(20.0, 35.0, size=12).tolist()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"diversity": 0.3},
        {"keep": 0.8},
        {"scale": "standard"},
        {"scale": None},
        {"lower_is_better": True},
        {"min_quality": 28.0},
        {"min_quality": 28.0, "lower_is_better": True},
    ],
)
def test_picks_are_those_of_select(pages, scores, settings):
    for k in (None, 1, 5, 40):
        expected = dv.select(pages, 12 if k is None else k, quality=scores, **settings)
        found = picks(candidates(pages, scores), k=k, **settings)
        assert [item for item, _ in found] == list(expected)
        np.testing.assert_allclose([more[GAIN] for _, more in found], expected.gains, rtol=1e-12)
        assert {more[KEPT] for _, more in found} == {expected.kept}


def test_groups_by_metadata_and_by_values(pages, scores):
    sources = [i % 3 for i in range(12)]
    expected = list(dv.select(pages, 6, quality=scores, groups=sources, per_group=2))
    for groups in ("source", sources, np.array(sources)):
        found = picks(candidates(pages, scores, sources), k=6, groups=groups, per_group=2)
        assert [item for item, _ in found] == expected
    with pytest.raises(DiversetError, match=r"groups is 'author', and document 0 has no such entry.*it has 'source'"):
        picks(candidates(pages, scores, sources), groups="author", per_group=2)


def test_what_was_shown_is_named_in_several_ways(pages, scores):
    items = candidates(pages, scores)
    expected = list(dv.select(pages, 4, quality=scores, given=[2, 5]))
    for given in ([2, 5], ["id 2", "id 5"], [items[2], "id 5"], np.array([2, 5])):
        assert [item for item, _ in picks(items, k=4, given=given)] == expected
    elsewhere = Candidate(item=None, id="other", text="other", vector=pages[0] + 0.01)
    expected = list(dv.select(pages, 4, quality=scores, given=[2], given_features=[pages[0] + 0.01]))
    assert [item for item, _ in picks(items, k=4, given=["id 2", elsewhere])] == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["id 77"], "given holds the id 'id 77', which none of the 12 documents has; give the document itself"),
        ([12], "given holds position 12, and there are 12 documents"),
        ("id 3", "given is 'id 3'; give a list"),
        (3, "given is 3; give a list"),
    ],
)
def test_what_was_shown_must_be_found(pages, given, message):
    with pytest.raises(DiversetError, match=message):
        picks(candidates(pages), given=given)


def test_documents_without_a_score_count_as_the_least_relevant(pages):
    some = [0.5, None, 0.9, 0.2, *[0.3] * 8]
    assert order(pages, some) == order(pages, [0.2 if s is None else s for s in some])
    assert order(pages, some, lower_is_better=True) == order(
        pages, [0.9 if s is None else s for s in some], lower_is_better=True
    )
    assert 1 not in order(pages, some, min_quality=0.1)
    assert 1 not in order(pages, some, min_quality=0.95, lower_is_better=True)
    assert len(order(pages, some, min_quality=0.95, lower_is_better=True)) == 11


def test_without_scores_similarity_to_the_query_decides(pages):
    query = np.random.default_rng(4).normal(size=20)
    for settings in ({"diversity": 0.0}, {}, {"lower_is_better": True}):
        expected = dv.select(pages, 12, query=query, diversity=settings.get("diversity", 0.5))
        assert order(pages, query=query.tolist(), **settings) == list(expected)


def test_without_scores_and_query_the_order_decides(pages):
    assert order(pages, diversity=0.0) == list(range(12))
    assert order(pages)[0] == 0
    with pytest.raises(DiversetError, match="min_quality is given, and no document has a score"):
        order(pages, min_quality=0.3)


def test_nothing_gives_nothing():
    assert order([]) == []
    assert order([[1.0, 2.0]]) == [0]


def test_each_text_is_embedded_once(pages):
    cache = VectorCache(3)
    found = candidates([None, pages[1], None, None])
    found[3] = Candidate(item=3, id="id 3", text="text 0")
    work = Reranking(Choice(), found, lambda item: item, cache)
    assert work.texts == ["text 0", "text 2"]
    expected = list(dv.select(pages[[0, 1, 2, 0]], 4, quality=[4.0, 3.0, 2.0, 1.0]))
    assert [item for item, _ in work.finish(pages[[0, 2]], None, "")] == expected
    assert Reranking(Choice(), found, lambda item: item, cache).texts == []
    with pytest.raises(DiversetError, match="the embedding model gave 1 vectors for 2 texts"):
        Reranking(Choice(), found, lambda item: item).finish(pages[:1], None, "")


def test_the_cache_forgets_what_was_not_used_for_longest():
    cache = VectorCache(2)
    cache.keep({"a": 1, "b": 2})
    cache.find({"a"})
    cache.keep({"c": 3})
    assert cache.find({"a", "b", "c"}) == {"a": 1, "c": 3}
    copy = pickle.loads(pickle.dumps(cache))
    assert (copy.size, copy.find({"a"})) == (2, {})
    empty = VectorCache(0)
    empty.keep({"a": 1})
    assert empty.find({"a"}) == {}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": -3}, "top_n is -3; it must be a whole number of at least 1"),
        ({"k": 0}, "top_n is 0"),
        ({"k": 2.5}, "top_n is 2.5"),
        ({"k": True}, "top_n is True"),
        ({"diversity": 3}, "diversity is 3"),
        ({"diversity": None}, "diversity is None"),
        ({"keep": 1.5}, "keep is 1.5"),
        ({"keep": 0.9, "diversity": 0.3}, "diversity is 0.3 and keep is 0.9; give one of the two"),
        ({"scale": "minmax"}, "scale is 'minmax'"),
        ({"per_group": 2}, "groups and per_group go together"),
        ({"groups": "source"}, "groups and per_group go together"),
        ({"groups": "source", "per_group": 0}, "per_group is 0"),
        ({"groups": 3, "per_group": 1}, "groups is 3; name a metadata entry"),
        ({"min_quality": "high"}, "min_quality is 'high'"),
        ({"lower_is_better": "yes"}, "lower_is_better is 'yes'"),
    ],
)
def test_settings_are_checked_when_they_are_made(settings, message):
    with pytest.raises(DiversetError, match=message):
        Choice(**settings, size_name="top_n")


def test_settings_of_one_call_replace_the_others():
    choice = Choice.of({"top_n": 4, "keep": 0.9, "verbose": True}, "top_n")
    assert (choice.k, choice.keep, choice.diversity) == (4, 0.9, 0.5)
    assert choice.but("Mine") == choice
    changed = choice.but("Mine", top_n=3, diversity=0.2, scale=None, given=None)
    assert changed == Choice(k=3, diversity=0.2, scale=None, size_name="top_n")
    assert changed.but("Mine", keep=0.7) == Choice(k=3, keep=0.7, scale=None, size_name="top_n")
    with pytest.raises(DiversetError, match=r"diversity is 0\.2 and keep is 0\.7"):
        choice.but("Mine", diversity=0.2, keep=0.7)
    with pytest.raises(TypeError, match="Mine takes top_n, not top_k"):
        choice.but("Mine", top_k=3)
    with pytest.raises(TypeError, match="Mine takes k, not top_k"):
        Choice().but("Mine", top_k=3)


def test_wrong_names_lead_to_the_right_ones():
    known = ("top_n", "diversity", "keep")
    assert name_error("Mine", "top_k", known) == "Mine takes top_n, not top_k"
    assert name_error("Mine", "lambda_mult", known) == "Mine takes diversity, which is 1 - lambda_mult, not lambda_mult"
    assert name_error("Mine", "diversty", known) == "Mine has no setting diversty; did you mean diversity?"
    assert name_error("Mine", "xyz", known) == "Mine has no setting xyz; it has diversity, keep, top_n"


def test_scores_are_found_in_the_metadata():
    assert read_score({"score": 1.0, "relevance_score": 2.0}, None) == 2.0
    assert read_score({"score": 0.0, "relevance_score": None}, None) == 0.0
    assert read_score({"score": 1.0}, "mine") is None
    assert read_score({"score": 1.0, "mine": 3.0}, "mine") == 3.0


@pytest.mark.parametrize(
    ("vectors", "scores", "query", "error", "message"),
    [
        ([[1.0], None], None, None, DiversetError, "document 1 of 2 has no embedding; embed it"),
        ([[1.0, 2.0], [1.0]], None, None, DiversetError, r"document 1 has shape \(1,\), that of document 0 \(2,\)"),
        ([[1.0], [np.nan]], None, None, KernelError, r"\[1, 0\] is nan"),
        ([[1.0], [2.0]], [1.0, np.nan], None, DiversetError, r"quality\[1\] is nan"),
        ([[1.0], [2.0]], None, [1.0, 2.0], DiversetError, "query has 2 entries for 1"),
        ([[1.0], [2.0]], None, [0.0], DiversetError, "query is all zeros"),
    ],
)
def test_bad_input_is_named(vectors, scores, query, error, message):
    with pytest.raises(error, match=message):
        order(vectors, scores, query=query)
