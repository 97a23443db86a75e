"""``diverset.summarize``: what it promises about length, probabilities, order, quality, queries and updates."""

import subprocess
import sys
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError, MissingExtraError
from diverset.text import Cluster, LexRank
from diverset.text.decode import Draws, SummaryLaw, _Hits, covering_summary, given_read
from diverset.text.tfidf import Terms
from diverset.text.words import opens_dependent, stands_alone

REPORTS = [
    "The old bridge fell into the river on Tuesday after three days of rain. Nobody was hurt. The mayor closed a road.",
    "Engineers had warned about the old bridge two years ago. The county put off the repairs. They cost too much.",
    "Rain has fallen on the valley for three days. The river rose by two metres. A bridge fell into it on Tuesday.",
    'Shops in the old town stay open. "We are cut off, said a baker. Ferries run from the old town to the station.',
]


def made_up(seed=0, n_documents=5, n_sentences=12):
    rng = np.random.default_rng(seed)
    vocabulary = np.array([f"term{i}" for i in range(80)])
    weights = 1.0 / np.arange(1, 81)
    weights /= weights.sum()
    return Cluster(
        [
            [
                "Word " + " ".join(rng.choice(vocabulary, rng.integers(4, 15), p=weights)) + "."
                for _ in range(n_sentences)
            ]
            for _ in range(n_documents)
        ]
    )


def test_probabilities_are_frequencies_in_fresh_draws():
    summary = dv.summarize(made_up(0, 2, 8), 40)
    draws = summary.sample(5000, rng=99)
    frequency = np.zeros(len(summary.cluster))
    for items in draws:
        frequency[items] += 1 / 5000
        assert sum(len(summary.cluster.sentences[i].split()) for i in items) <= 40
    assert summary.n_accepted == 20_000 < summary.n_drawn
    np.testing.assert_allclose(summary.inclusion, frequency, atol=0.02)
    shown = [why["inclusion_probability"] for why in summary.explain()]
    np.testing.assert_array_equal(shown, summary.inclusion[summary.indices])
    # A twin: the DPP without the limit has other probabilities.
    unlimited = dv.DPP(summary.law.L).inclusion_probabilities
    assert np.abs(unlimited - frequency[summary.candidates]).max() > 0.02


def test_the_law_is_the_dpp_given_the_budget():
    """All subsets of a small cluster, from determinants alone."""
    cluster = Cluster([["Red dogs bark.", "Blue cats sleep all day.", "Red dogs sleep.", "Green birds sing in trees."]])
    summary = dv.summarize(cluster, 9)
    law = summary.law
    sets = [[i for i in range(4) if mask >> i & 1] for mask in range(1, 16)]
    weights = np.array([np.linalg.det(law.L[np.ix_(Y, Y)]) for Y in sets])
    cost = np.array([law.costs[Y].sum() for Y in sets])
    weights[(cost < law.low) | (cost > 9)] = 0.0
    expected = [sum(w for w, Y in zip(weights, sets, strict=True) if i in Y) / weights.sum() for i in range(4)]
    np.testing.assert_allclose(summary.inclusion, expected, atol=0.015)


def test_the_kernel_is_scaled_to_the_room():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 20))
    X /= np.linalg.norm(X, axis=1)[:, None]
    law = SummaryLaw(np.exp(rng.standard_normal(12)), X @ X.T, rng.integers(3, 9, 12), 25)
    assert dv.DPP(law.L).inclusion_probabilities @ law.costs == pytest.approx(0.85 * 25, rel=1e-6)


def test_sample_samples():
    texts = [dv.summarize(made_up(), 40, method="sample").text for _ in range(12)]
    assert len(set(texts)) > 8
    seeded = [dv.summarize(made_up(), 40, method="sample", rng=3).text for _ in range(2)]
    assert seeded[0] == seeded[1]
    with pytest.raises(DiversetError, match="no distribution"):
        LexRank().summarize(REPORTS).sample()


def test_the_default_gives_the_same_summary_each_time():
    assert dv.summarize(REPORTS, 30).text == dv.summarize(REPORTS, 30).text


@pytest.mark.parametrize("seed", range(6))
def test_no_sentence_of_the_worse_half(seed):
    summary = dv.summarize(made_up(seed), 40)
    assert all(why["quality_rank"] <= (len(summary.cluster) + 1) / 2 for why in summary.explain())
    assert (summary.quality[summary.indices] >= np.median(summary.quality[summary.candidates])).all()


def test_hits_are_expected_overlaps():
    """The score against one draw that holds every word once: ROUGE hits with halved stop words, plus half the pairs."""
    terms = Terms.of(["The red dog barks.", "A dog barks.", "Cats sleep."])
    hits = _Hits(Draws([np.array([1])], 1), terms)
    value, more = hits.scores([])
    assert value == 0.0
    human = 0.8 * 3
    assert more[0] == pytest.approx(2 * (2 + 0.5) / (4 + human))  # dog, barks, and their pair
    assert more[1] == pytest.approx(2 * (0.5 + 2 + 2 * 0.5) / (3 + human))  # a, dog, barks, and two pairs
    assert more[2] == 0.0
    own, after = hits.scores([0])
    assert own == pytest.approx(more[0])
    assert after[1] == pytest.approx(2 * (2 + 0.5 + 0.5 + 0.5) / (7 + human))  # "a" and "a dog" are new


def test_coverage_ends_where_no_step_helps_and_beats_the_draws():
    cluster = made_up(3)
    summary = dv.summarize(cluster, 40, n_draws=500)
    own = Terms.of([cluster.sentences[i] for i in summary.candidates])
    hits = _Hits(summary.draws, own)
    law = summary.law
    found = covering_summary(summary.draws, own, law.costs, law.room).tolist()
    value = hits.scores(found)[0]
    assert value >= max(hits.scores(items.tolist())[0] for items in summary.draws.sets)
    for dropped in [None, *found]:
        rest = [i for i in found if i != dropped]
        fits = law.costs <= law.room - law.costs[rest].sum()
        fits[rest] = False
        assert hits.scores(rest)[1][fits].max(initial=0.0) <= value + 1e-6


def test_filler_is_left_out():
    """A sentence that shares nothing with the others is not taken, although it fits."""
    facts = [
        "The bridge fell into the river on Tuesday.",
        "The old bridge fell on Tuesday.",
        "A bridge fell into the river.",
    ]
    summary = dv.summarize([[*facts, "Penguins juggle marmalade."]], 100)
    assert "Penguins" not in summary.text


def test_rules_for_sentences():
    for text in ("The bridge fell.", '"It fell," he said.', "Cafés (two of them) closed.", "東京は大雨でした。"):
        assert stands_alone(text)
    bad = [
        "By Jane Smith in Cairo.",
        "AZUZ : The place is here.",
        "Who did it?",
        "(see page 3.",
        "No full stop here",
        "It.",
    ]
    for text in [*bad, ", and is great.", "and it is great.", "He said “no."]:
        assert not stands_alone(text)
    assert stands_alone("the hotel is clean.", lower_case=True)
    assert opens_dependent(["these", "are"])
    assert not opens_dependent(["these", "shoes", "fit"])
    assert not opens_dependent([])


def test_pronouns_and_quotes_stay_out_unless_they_are_resolved():
    for words in (15, 30, 60, 120):
        summary = dv.summarize(REPORTS, words)
        assert "We are cut off" not in summary.text
        if "They cost too much." in summary.sentences:
            place = summary.sentences.index("They cost too much.")
            assert summary.sentences[place - 1] == "The county put off the repairs."


def test_a_pronoun_is_worse_than_a_sentence_of_the_worse_half():
    summary = dv.summarize("One short text is here. It has two sentences about rain in town.", 8)
    assert summary.text == "One short text is here."


def test_a_sentence_follows_the_one_that_it_needs():
    draws = Draws([np.array([0, 1]), np.array([0, 1])], 2)
    terms = Terms.of(["The county put off repairs.", "They cost too much.", "Dogs bark."])
    costs = np.array([5, 4, 2])
    needs = np.array([-1, 0, -1])
    assert covering_summary(draws, terms, costs, 9, needs=needs).tolist() == [0, 1]
    assert covering_summary(draws, terms, costs, 4, needs=needs).tolist() == []
    assert covering_summary(draws, terms, costs, 4).tolist() == [1]


def test_order_is_by_date_then_by_first_mention():
    late, early = "The bridge was opened again by the mayor.", "The bridge was closed by the county."
    dated = Cluster([[late], [early]], dates=[datetime(2020, 3, 1, tzinfo=UTC), "2020-01-31"])
    assert dv.summarize(dated, 100, method="mbr").sentences[0] == early
    plain = Cluster([[late], [early]])
    assert dv.summarize(plain, 100, method="mbr").sentences[0] == late
    part = Cluster([[late], [early]], dates=[None, "2020-01-31"])
    assert dv.summarize(part, 100, method="mbr").sentences[0] == late


def test_a_query_moves_the_summary():
    plain, asked = dv.summarize(REPORTS, 12), dv.summarize(REPORTS, 12, query="ferries to the station")
    assert "Ferries" not in plain.text
    assert "Ferries" in asked.text
    nothing = dv.summarize(REPORTS, 12, query="penguins")
    assert nothing.text == plain.text
    assert "'penguins'" in nothing.notes[0]


def test_an_update_says_what_is_new():
    known = REPORTS[:1]
    summary = dv.summarize(REPORTS, 30, update_since=known)
    assert not set(summary.sentences) & set(Cluster(known).sentences)
    nothing = dv.summarize(REPORTS, 30, update_since=REPORTS)
    assert "every sentence repeats what was read" in nothing.notes[0]
    assert dv.summarize(REPORTS, 30, update_since=[]).text == dv.summarize(REPORTS, 30).text


def test_conditioning_on_what_was_read_is_the_schur_complement():
    """Two routes: the DPP over all sentences, conditioned on the read ones."""
    terms = Terms.of([*Cluster(REPORTS).sentences])
    S = (terms.vectors @ terms.vectors.T).toarray()
    A, rest = [0, 3], [i for i in range(len(S)) if i not in (0, 3)]
    joint = S.copy()
    joint[A, A] += 0.1
    expected = dv.DPP(joint).condition(include=A).L
    np.testing.assert_allclose(given_read(terms.vectors[rest], terms.vectors[A]), expected, atol=1e-10)


def test_results_print_and_export(tmp_path):
    summary = dv.summarize(REPORTS, 30)
    assert str(summary) == summary.text == " ".join(summary.sentences)
    report = summary.to_dict()
    assert report["summary"] == summary.text
    assert report["limit"] == {"words": 30}
    assert report["draws"]["within_limit"] == 20_000
    assert list(summary.to_frame()["sentence"]) == summary.sentences
    page = dv.summarize([["<b>Bold</b> claims were made today."]])._repr_html_()
    assert "<b>Bold" not in page
    assert "&lt;b&gt;Bold" in page
    for name in ("s.txt", "s.json", "s.html"):
        summary.save(tmp_path / name)
        assert summary.sentences[0][:20] in (tmp_path / name).read_text(encoding="utf-8")
    with pytest.raises(DiversetError, match="must end in"):
        summary.save(tmp_path / "s.pdf")


def test_models_are_given_as_objects_or_files(tmp_path):
    model = dv.text.default_summarizer()
    model.save(tmp_path / "m.json")
    texts = {dv.summarize(REPORTS, 20, model=given).text for given in (None, model, tmp_path / "m.json")}
    assert texts == {model.summarize(REPORTS, 20).text}


def test_a_summary_loads_no_learning():
    code = "import sys, diverset as dv; dv.summarize(['A b c d. E f g h.']); print('diverset.learn' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_embeddings_say_what_is_alike(monkeypatch):
    sentences = Cluster(REPORTS).sentences
    rng = np.random.default_rng(0)
    E = rng.standard_normal((len(sentences), 6)) * rng.uniform(1, 9, (len(sentences), 1))
    summary = dv.summarize(REPORTS, 30, embeddings=E)
    unit = E / np.linalg.norm(E, axis=1)[:, None]
    picked = unit[summary.candidates]
    np.testing.assert_allclose(summary.law.similarity, picked @ picked.T, atol=1e-12)

    class Model:
        def __init__(self, name, local_files_only):
            assert local_files_only
            if name != "there":
                raise OSError("no such folder")

        def encode(self, texts):
            return np.vstack([E, E[: len(texts) - len(E)]])

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Model))
    assert dv.summarize(REPORTS, 30, embeddings="there").text == summary.text
    since = dv.summarize(REPORTS, 30, embeddings="there", update_since=REPORTS[:1])
    assert not set(since.sentences) & set(Cluster(REPORTS[:1]).sentences)
    with pytest.raises(DiversetError, match="'elsewhere'"):
        dv.summarize(REPORTS, embeddings="elsewhere")
    with pytest.raises(DiversetError, match=r"shape \(2, 6\); expected \(12, n\)"):
        dv.summarize(REPORTS, embeddings=E[:2])
    with pytest.raises(DiversetError, match="vectors of what was read"):
        dv.summarize(REPORTS, embeddings=E, update_since=REPORTS[:1])
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match="pip install sentence-transformers"):
        dv.summarize(REPORTS, embeddings="there")


@pytest.mark.parametrize("kind", ["folder", "path", "pandas", "polars"])
def test_files_and_frames_are_summarised_as_texts_are(kind, tmp_path):
    texts = ["The old bridge fell on Tuesday. Nobody was hurt.", "On Tuesday the old bridge fell. Shops are open."]
    for name, text in zip(("2020-01-02-a", "2020-01-01-b"), texts, strict=True):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    columns = {"title": ["a", "b"], "body": texts, "date": ["2020-01-02", "2020-01-01"]}
    if kind in ("pandas", "polars"):
        given = pytest.importorskip(kind).DataFrame(columns)
    else:
        given = str(tmp_path) if kind == "folder" else tmp_path
    found = dv.summarize(given, max_words=20)
    order = [0, 1] if kind in ("pandas", "polars") else [1, 0]
    expected = Cluster([texts[i] for i in order], dates=[columns["date"][i] for i in order])
    assert found.cluster.sentences == expected.sentences
    assert found.cluster.dates == expected.dates
    assert found.text == dv.summarize(expected, max_words=20).text


def test_missing_cells_of_a_frame_are_left_out():
    frame = pytest.importorskip("pandas").DataFrame({"text": ["It rained.", float("nan"), "It poured."], "body": "-"})
    assert dv.summarize(frame).cluster.documents[0] == ("It rained.",)
    with pytest.raises(DiversetError, match="the frame has no text"):
        dv.summarize(frame[["body"]].rename(columns={"body": "other"}))
