"""``find_threads`` on news whose events, copies and series are known, and the measures of a story."""

import json
from datetime import date, timedelta

import numpy as np
import pytest
from scipy.sparse import csr_array

import diverset as dv
import diverset.threads.find as find
from diverset.errors import DiversetError, LabelError, SizeError
from diverset.threads import Corpus, compare, evaluate, hold_back
from diverset.threads.corpus import headline
from diverset.threads.events import PileVectors, cluster, name_share, pile_vectors, similar_documents
from diverset.threads.find import _best_sizes, _importance, _news_factors
from diverset.threads.series import find_series, form_overlap, forms
from diverset.threads.steps import StepRules, event_paths, usual_similarity

START = date(2020, 1, 1)
EVENTS = {
    "flood": "river water town bank rain boat rescue bridge mud pump".split(),
    "comet": "comet probe orbit dust lander antenna launch signal tail ice".split(),
    "trial": "court judge lawyer jury witness verdict appeal charge plea cell".split(),
}


def pile(n=20, seed=0, weather=False, copies=False):
    rng = np.random.default_rng(seed)
    rows = []
    for event, words in EVENTS.items():
        for i in range(n):
            drift = words[max(0, i // 3 - 2) : i // 3 + 5]
            text = " ".join([event, *rng.choice(words, 8), *rng.choice(drift, 6), f"{event}{i}"])
            rows.append((START + timedelta(days=3 * i + int(rng.integers(3))), event, text))
    if copies:
        rows += [(day, event, f"{text} update") for day, event, text in rows[:5]]
    if weather:
        for i in range(15):
            t = rng.integers(1, 30, 5)
            form = "Wind from the north at {} knots. Sunrise at {} and sunset at {}. High tide at {}. Swell {} feet."
            rows.append((START + timedelta(days=4 * i), None, form.format(*t)))
    rows.sort(key=lambda row: (row[0], row[2]))
    corpus = Corpus([text for *_, text in rows], [day for day, *_ in rows], [f"d{i}" for i in range(len(rows))])
    return corpus, [event for _, event, _ in rows]


def test_each_event_is_told_once_and_in_order():
    corpus, events = pile()
    found = dv.find_threads(corpus, k=3, length=6)
    score = evaluate(found.places, corpus, events=events)
    assert score.one_to_one == pytest.approx(1.0)
    assert (score.told, score.repeats, score.chronology) == (3, 0, 1.0)
    assert [len(thread) for thread in found.threads] == [6, 6, 6]
    assert found.threads == [thread.tolist() for thread in found.places]
    assert found.settings["events"] == 3
    # The seed takes part in the choice of beta, so that the models are the same only with a given one.
    best, drawn = (dv.find_threads(corpus, k=3, length=6, beta=8.0, sample=draw, rng=1) for draw in (False, True))
    assert np.isfinite(best.log_prob)
    assert best.log_prob >= drawn.log_prob


def test_threads_end_where_no_related_document_follows():
    # One region of four documents about a flood, then eight about a comet: nothing related joins them.
    X = np.zeros((12, 3))
    X[:4, 0], X[4:, 1], X[:, 2] = 0.8, 0.8, 0.6
    X[4:, 2] = 0.0
    details = csr_array(X / np.linalg.norm(X, axis=1, keepdims=True) * 0.9)  # cosines below the limit for repeats
    F, days, nodes = csr_array((12, 5)), np.arange(12.0), np.arange(12)
    rules = StepRules(min_similarity=0.3)
    paths = event_paths(nodes, details, F, days, 10, rules, min_length=2)
    assert paths.length == 8
    assert paths.nodes[paths.best()[0]].tolist() == list(range(4, 12))
    draws = [paths.nodes[paths.sample(np.random.default_rng(seed))] for seed in range(20)]
    assert all((draw >= 4).all() for draw in draws)
    # Without the limit the thread crosses over; where nothing is long enough otherwise, it may.
    assert event_paths(nodes, details, F, days, 10, StepRules(), min_length=2).length == 10
    assert event_paths(nodes, details, F, days, 10, rules, min_length=10).length == 10


def test_the_limit_of_steps_follows_from_the_pile():
    corpus, _ = pile()
    found = dv.find_threads(corpus, k=3, length=6)
    X = found.vectors.details
    for thread in found._in_kept:
        steps = np.asarray(X[thread[:-1]].multiply(X[thread[1:]]).sum(axis=1)).ravel()
        assert steps.min() >= found.settings["min_similarity"] - 1e-3
    assert usual_similarity([np.arange(3)], csr_array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])) == pytest.approx(0.8)


def test_each_event_takes_the_size_at_which_it_weighs_most():
    coarse, fine = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2, 2, 2, 3])
    weighed = [([0, 1], np.array([1.0, 5.0])), ([0, 1, 2], np.array([3.0, 2.0, 4.0]))]
    labels = _best_sizes([coarse, fine], weighed)  # the large event is whole, the light one is cut in two
    assert len(set(labels.tolist())) == 3
    assert all(len(set(labels[part].tolist())) == 1 for part in (slice(0, 2), slice(2, 4), slice(4, 9)))
    # An event that is three quarters free takes these documents only; one that is half free takes none, and what is
    # left over keeps the events of the first division.
    weighed = [([], np.array([])), ([0, 1], np.array([2.0, 1.0]))]
    crossing = np.array([0, 0, 0, 1, 0, 1, 1, 1, 2])
    found = _best_sizes([coarse, fine, crossing], [*weighed, ([0, 1], np.array([1.5, 0.5]))])
    assert found.tolist() == [0, 0, 1, 1, 3, 2, 2, 2, 3]


def test_events_weigh_more_with_a_word_of_their_own():
    # Two events with the same days and cosines. Every document has the word of its event; that of the second one is
    # in documents of a third region, too.
    t = np.tile(np.arange(4.0), 3)
    X = np.zeros((12, 15))
    X[np.arange(12), 3 + np.arange(12)] = 1.0
    X[:4, 0], X[4:12, 1] = 1.0, 1.0
    details, labels = csr_array(X / np.sqrt(2.0)), np.repeat([0, 1, 2], 4)
    nodes = [np.arange(4), np.arange(4, 8)]
    paths = [event_paths(own, details, csr_array((12, 5)), t, 4, StepRules()) for own in nodes]
    weights = _importance(paths, labels, [0, 1], details, t)
    # F-measures: 1 for a word in these four documents only, 2/3 for one in four others as well.
    assert weights[1] / weights[0] == pytest.approx(2.0 / 3.0)


def test_routine_reports_weigh_less():
    t, labels = np.tile(np.arange(4.0), 5), np.repeat(np.arange(5), 4)
    nodes = [np.arange(4 * e, 4 * e + 4) for e in range(5)]
    # All documents of an event share one term: a name but in the third event.
    X, names = np.zeros((20, 5)), np.array([True, True, False, True, True])
    X[np.arange(20), labels] = 1.0
    # Documents of the fourth event share ten of eleven phrases, and of the others none.
    F = np.zeros((20, 60))
    F[12:16, :10] = 1.0
    F[np.arange(20), 10 + np.arange(20)] = 1.0
    # Function words of the events: 45%, 37%, 42%, 45% and 40%.
    prose = np.repeat([0.45, 0.37, 0.42, 0.45, 0.4], 4) + np.tile([-0.02, 0.02, 0.01, -0.01], 5)
    vectors = PileVectors(None, csr_array(X), list("abcde"), names, prose)
    rules = StepRules(max_similarity=np.inf)
    paths = [event_paths(own, vectors.details, csr_array(F), t, 4, rules) for own in nodes]
    found = _news_factors(paths, labels, [0, 1, 2, 3, 4], csr_array(F), vectors)
    # Each 1% of function words below 42%, and each 7% of names below 4%, multiplies the odds of a routine report by e.
    odds = np.exp([-3.0 - 96 / 7, 5.0 - 96 / 7, 4 / 7, -3.0 - 96 / 7, 2.0 - 96 / 7])
    np.testing.assert_allclose(found, [1, 1, 1, 0.01, 1] / (1.0 + odds))
    # In a pile with few English function words neither these nor names count.
    found = _news_factors(paths, labels, [0, 1, 2, 3, 4], csr_array(F), vectors._replace(prose=prose - 0.15))
    np.testing.assert_allclose(found, [1, 1, 1, 0.01, 1])


@pytest.mark.parametrize(("factors", "finer"), [((1.0, 1.0, 0.1), False), ((1.0, 0.5, 0.4), True)])
def test_many_routine_reports_let_finer_divisions_compete(monkeypatch, factors, finer):
    corpus, _ = pile()
    asked = []
    monkeypatch.setattr(find, "_news_factors", lambda paths, *_: np.resize(factors, len(paths)))
    monkeypatch.setattr(find, "_best_sizes", lambda divisions, weighed: asked.append(len(weighed)) or divisions[0])
    dv.find_threads(corpus, k=3, length=6, beta=8.0)
    assert bool(asked) == finer
    assert all(count > 1 for count in asked)


def test_series_that_are_kept_have_their_full_weight(monkeypatch):
    corpus, _ = pile(weather=True)
    monkeypatch.setattr(find, "_news_factors", lambda paths, *_: np.full(len(paths), 1e-6))

    def weight(**options):
        return np.trace(dv.find_threads(corpus, k=3, length=6, beta=8.0, **options).model.events.dpp.L)

    assert weight() < 1e-6 < 1e-3 < weight(keep_series=True)


def test_function_words_and_names_of_a_text():
    texts = ["The Thames rose over the bridge, and Kew was flooded.", "TIN 419.8", "", "Thames flood: no Kew at all"]
    vectors = pile_vectors([*texts, "a tin bridge over the flooded Thames", "flood flooded"])
    assert vectors.prose[:4].tolist() == pytest.approx([5 / 10, 0.0, 0.0, 3 / 6])
    named = {term for term, name in zip(vectors.terms, vectors.names, strict=True) if name}
    assert named == {"thames", "kew"}  # no headline in capitals, no word that is mostly written small


def test_share_of_similarity_that_comes_from_names():
    X = csr_array([[0.6, 0.8, 0.0], [0.6, 0.0, 0.8], [0.6, 0.8, 0.0]])
    vectors = PileVectors(None, X, ["kew", "flood", "tin"], np.array([True, False, False]), np.zeros(3))
    # The cosines are 0.36 from the name for all three pairs, and 0.64 from another word for one.
    assert name_share(vectors, np.arange(3)) == pytest.approx(3 * 0.36 / (3 * 0.36 + 0.64))
    assert name_share(vectors, np.arange(1)) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_events_are_found_without_chance(seed):
    # Many rows near one direction, and two near another: with random rows, or the first ones, as centres k-means ends
    # with two clusters for one of the directions.
    rng, sizes = np.random.default_rng(seed), np.array([300, 120, 60, 20, 8, 4, 3, 2])
    true, k = np.repeat(np.arange(8), sizes), 8
    plane = np.eye(k)[true] / np.sqrt(sizes)[true][:, None] + 0.002 * rng.standard_normal((sizes.sum(), k))
    turned, _ = np.linalg.qr(rng.standard_normal((k, k)))
    for rows in (plane, plane @ turned):  # eigenvectors of equal eigenvalues may be turned
        pairs = zip(cluster(rows).tolist(), true.tolist(), strict=True)
        assert len(set(pairs)) == k
    np.testing.assert_array_equal(cluster(np.zeros((3, 2))), 0)  # documents that are like no other


def test_threads_share_documents_if_allowed():
    corpus, _ = pile()
    rng = np.random.default_rng(4)
    mixed = [
        " ".join(rng.permutation([f"both{i}", *rng.choice(EVENTS["flood"], 8), *rng.choice(EVENTS["trial"], 8)]))
        for i in range(8)
    ]
    days = [START + timedelta(days=7 * i + 3) for i in range(8)]
    whole = Corpus([*corpus.texts, *mixed], [*corpus.times.astype("datetime64[D]").tolist(), *days])

    def events_of(shared):
        found = dv.find_threads(whole, k=3, length=6, events=3, beta=0.0, shared=shared)
        assert found.settings["shared"] is shared
        assert np.isfinite(found.log_prob)
        return found, np.bincount(found.kept[np.concatenate([event.nodes for event in found.model.paths])])

    assert events_of(False)[1].max() == 1
    found, events = events_of(True)
    assert events.max() == 2
    assert (np.flatnonzero(events == 2) >= len(corpus)).all()
    # Some draw has a document twice.
    draws = [np.concatenate(found.model.sample(rng=seed)) for seed in range(200)]
    assert any(len(np.unique(draw)) < len(draw) for draw in draws)


def test_no_home_is_needed(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "missing"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert len(dv.find_threads(pile()[0], k=3, length=6)) == 3
    assert list(tmp_path.iterdir()) == []


def test_draws_follow_the_seed():
    corpus, events = pile()
    draws = [dv.find_threads(corpus, k=3, length=6, sample=True, rng=seed).threads for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    for threads in draws:
        assert len({i for thread in threads for i in thread}) == 18
        assert evaluate(threads, corpus, events=events).told == 3


def test_series_are_left_out_and_counted():
    corpus, events = pile(weather=True)
    found = dv.find_threads(corpus, k=3, length=6)
    assert sum(map(len, found.series)) == 15
    assert {events[i] for series in found.series for i in series.documents} == {None}
    assert "series left out: 15 documents" in repr(found)
    kept = dv.find_threads(corpus, k=4, length=6, keep_series=True)
    assert kept.series == ()
    assert any({events[i] for i in thread} == {None} for thread in kept.threads)
    with pytest.raises(DiversetError, match="belongs to a formulaic series"):
        dv.find_threads(corpus, k=3, length=6, through=f"d{found.series[0].documents[0]}")


def test_forms_ignore_numbers_and_names():
    form = "net profit rose {} pct to {} mln dlrs at {} in the quarter, or {} cts a share"
    other = "the river rose at night and took the bridge with it, so that nobody could leave the town"
    texts = [form.format(3, 12, "Acme Corp", 5), form.format(7, 99, "Bolt", 8), other]
    F = forms(texts)
    overlap = form_overlap(F, np.array([0, 0]), np.array([1, 2]))
    assert overlap.tolist() == [1.0, 0.0]
    corpus, _ = pile()
    days = np.arange(len(corpus), dtype=float)
    similar = similar_documents(pile_vectors(corpus.texts).subjects, days)
    assert find_series(corpus.texts, forms(corpus.texts), similar, days) == []


def test_a_series_may_be_smaller_than_the_list_of_similar_documents():
    corpus, _ = pile()
    form = "Wind from the north at {} knots. Sunrise at {}. High tide at {}. Swell {} feet. River water rain and mud"
    rng = np.random.default_rng(0)
    texts = [*corpus.texts, *(form.format(*rng.integers(1, 30, 4)) for _ in range(7))]
    days = np.append(np.arange(len(corpus)), 5.0 * np.arange(7))
    similar = similar_documents(pile_vectors(texts).subjects, days)
    # Most of the 20 documents most similar to a report tell of the flood, and are much less similar.
    assert (np.bincount(similar.rows)[-7:] == 20).all()
    found = find_series(texts, forms(texts), similar, days)
    assert [series.documents.tolist() for series in found] == [list(range(len(corpus), len(texts)))]


def test_bursts_are_measured_in_the_rhythm_of_the_event():
    # Three days lie between the documents of the first month, and twenty between the later ones.
    days = np.append(np.arange(0.0, 31.0, 3.0), np.arange(50.0, 211.0, 20.0))
    details = csr_array(np.ones((20, 1)))
    paths = event_paths(
        np.arange(20), details, csr_array((20, 5)), days, 8, StepRules(burst=2.0, max_similarity=np.inf)
    )
    dense, sparse = paths.weights[2:9], paths.weights[12:]
    assert dense.min() > sparse.max() + 1.0
    # A burst of hours in an event of three days is not spread over a whole day.
    hours = np.append(np.arange(8) / 24.0, [1.0, 1.5, 2.0, 2.5, 3.0])
    paths = event_paths(np.arange(13), details[:13], csr_array((13, 5)), hours, 8, StepRules(max_similarity=np.inf))
    assert paths.weights[:8].min() > paths.weights[8:].max()


def test_copies_stand_behind_the_first():
    corpus, _ = pile(copies=True)
    found = dv.find_threads(corpus, k=3, length=6)
    assert sum(map(len, found.copies.values())) == 5
    behind = {int(i) for own in found.copies.values() for i in own}
    assert not behind & {i for thread in found.threads for i in thread}
    document = min(behind)
    forced = dv.find_threads(corpus, k=3, length=6, through=corpus.ids[document])
    assert any(document in thread for thread in forced.threads)


def test_a_thread_through_a_document():
    corpus, _ = pile()
    first = dv.find_threads(corpus, k=3, length=6).threads
    outside = min(set(range(len(corpus))) - {i for thread in first for i in thread})
    for sample in (False, True):
        found = dv.find_threads(corpus, k=3, length=6, through=f"d{outside}", sample=sample)
        assert any(outside in thread for thread in found.threads)
    with pytest.raises(LabelError, match="no document has the id 'x'; ids are such as 'd0'"):
        dv.find_threads(corpus, k=3, length=6, through="x")


def test_steps_keep_to_the_rhythm_of_the_event():
    """A thread does not jump from a lone early article to the event a year later."""
    corpus, _ = pile()
    early = Corpus(
        [*corpus.texts, "flood river water town bank rain"],
        [*corpus.times.astype("datetime64[D]").tolist(), date(2018, 6, 1)],
    )
    found = dv.find_threads(early, k=3, length=6)
    assert len(early) - 1 not in {i for thread in found.threads for i in thread}


def test_frames_and_files_give_the_same(tmp_path):
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    corpus, _ = pile()
    rows = {"when": [str(t)[:10] for t in corpus.times], "story": list(corpus.texts), "id": list(corpus.ids)}
    rows = {name: [*values[:7], "no date" if name == "when" else "x1" if name == "id" else "flood", *values[7:]]
            for name, values in rows.items()}  # fmt: skip
    frame = pd.DataFrame(rows).sample(frac=1.0, random_state=0).reset_index(drop=True)
    frame.to_csv(tmp_path / "news.csv", index=False)
    columns = {"k": 3, "length": 6, "time": "when", "text": "story"}
    found = [dv.find_threads(given, **columns) for given in (frame, pl.from_pandas(frame), str(tmp_path / "news.csv"))]
    assert found[0].threads == found[1].threads == found[2].threads
    # Positions are rows of the frame, also behind rows that were skipped.
    for thread, items in zip(found[0].threads, found[0].places, strict=True):
        assert frame["id"].iloc[thread].tolist() == [found[0].corpus.ids[i] for i in items]
    assert "1 document left out: the frame, row 18" in found[0].notes[0]
    table = found[0].to_frame()
    assert list(table.columns) == ["thread", "name", "position", "row", "id", "time", "title"]
    assert len(table) == 18


def test_what_was_found_can_be_written(tmp_path):
    corpus, _ = pile(weather=True, copies=True)
    found = dv.find_threads(corpus, k=3, length=6)
    whole = json.loads(json.dumps(found.to_dict(), default=str))
    assert len(whole["threads"]) == 3
    assert whole["copies"] == 5
    assert whole["settings"]["beta"] in (4.0, 8.0, 16.0)
    assert len(found.names[0].split(", ")) == 3
    for kind in ("html", "json", "md"):
        found.save(tmp_path / f"x.{kind}")
        assert (tmp_path / f"x.{kind}").stat().st_size > 500
    assert "<table>" in found._repr_html_()


def test_bad_questions():
    corpus, _ = pile()
    with pytest.raises(SizeError, match="k is 40, but only"):
        dv.find_threads(corpus, k=40)
    with pytest.raises(SizeError, match="min_length is 9, more than length, 8"):
        dv.find_threads(corpus, k=3, min_length=9)
    with pytest.raises(SizeError, match="events is 2, fewer than the 3 threads"):
        dv.find_threads(corpus, k=3, events=2)
    with pytest.raises(DiversetError, match="the corpus has no times"):
        dv.find_threads(Corpus(["a b", "b c"]), k=1)
    with pytest.raises(DiversetError, match="cannot read a: there is no such file"):
        dv.find_threads(["a", "b"], k=1)


def test_an_event_of_few_documents_gets_a_short_thread():
    corpus, _ = pile(n=5)
    found = dv.find_threads(corpus, k=3, length=8)
    assert all(4 <= len(thread) <= 5 for thread in found.threads)


def test_one_day_is_enough():
    """Items of one day, without hours, still make a thread in their order."""
    corpus, _ = pile(n=10)
    same = Corpus(corpus.texts, [START] * len(corpus))
    found = dv.find_threads(same, k=3, length=4)
    assert [len(thread) for thread in found.threads] == [4, 4, 4]


def test_edges_follow_the_rules():
    corpus, events = pile()
    vectors = pile_vectors(corpus.texts)
    days = corpus.times.astype("datetime64[s]").astype(float) / 86400
    own = np.flatnonzero([event == "flood" for event in events])
    rules = StepRules(beta=2.0, max_gap=2.0)
    paths = event_paths(own, vectors.details, forms(corpus.texts), days, 6, rules)
    t, X = days[paths.nodes], vectors.details[paths.nodes]
    beat = np.ptp(np.quantile(t, [0.05, 0.95])) / 5
    start, end = paths.edges.nonzero()
    gap = t[end] - t[start]
    assert (gap >= 1.0).all()
    assert (gap <= 2.0 * beat + 1e-9).all()
    S = np.asarray(X[start].multiply(X[end]).sum(axis=1)).ravel()
    expected = 2.0 * S - 0.5 * np.maximum(gap / beat - 1.0, 0.0)
    np.testing.assert_allclose(paths.edges.tocoo().data, expected, atol=1e-5)


def test_headlines_end_at_a_word():
    assert headline("The mayor of St. Ives spoke at length. Then he left.") == "The mayor of St. Ives spoke at length"
    long = "word " * 60
    assert headline(long) == ("word " * 20).strip() + " …"


# measures -------------------------------------------------------------------------------------------------


def test_measures_by_hand():
    texts = ["red fox runs far away", "red fox runs far home", "blue whale swims", "blue whale dives", "red whale"]
    days = [date(2020, 1, d) for d in (1, 2, 1, 3, 4)]
    corpus = Corpus(texts, days)
    events = ["fox", "fox", "whale", "whale", None]
    named = {"fox": [date(2020, 1, 1), date(2020, 1, 2)], "whale": [date(2020, 1, 3), date(2020, 1, 9)]}
    good = evaluate([[0, 1], [2, 3]], corpus, events=events, days=named)
    assert (good.one_to_one, good.told, good.days, good.repeats, good.chronology) == (1.0, 2, 1.0, 0, 1.0)
    assert good.redundancy == pytest.approx(0.5 / 1)  # one of two phrases of the second item; short ones have none
    bad = evaluate([[1, 0], [0, 4]], corpus, events=events, days=named)
    assert (bad.one_to_one, bad.told, bad.repeats, bad.chronology) == (0.5, 1, 1, 0.5)
    assert bad.days == pytest.approx(2 / 3)
    assert good.coherence > bad.coherence - 1.0
    gap = compare([good, good], [bad, bad])
    assert gap["one_to_one"][:3] == (0.5, 0.5, 0.5)
    with pytest.raises(DiversetError, match="nothing to score"):
        evaluate([], corpus)


def test_held_back_words_are_out_of_sight():
    corpus, _ = pile()
    rest, judge = hold_back(corpus, rng=1)
    seen = {word for text in rest.texts for word in text.split()}
    everything = {word for text in corpus.texts for word in text.split()}
    assert 0.3 < len(seen) / len(everything) < 0.7
    assert judge.shape[0] == len(corpus)
    assert judge.shape[1] <= len(everything - seen)
    with pytest.raises(DiversetError, match="share is 1"):
        hold_back(corpus, share=1.0)
