"""The summarizer: features, oracles, learning, budgets to the byte, and input of every kind."""

import json
import re
import time

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError
from diverset.text import (
    PRONOUNS,
    Begin,
    Budget,
    Cluster,
    LexRank,
    Oracle,
    Random,
    RelevanceMMR,
    Submodular,
    Summarizer,
    Tfidf,
    default_summarizer,
    lexrank,
    oracle_summary,
    rouge,
    rouge_words,
    words,
)
from diverset.text.features import FEATURE_GROUPS, FEATURE_NAMES, QualityFeatures, columns_of, measure
from diverset.text.model_file import write_model

TOPICS = ["river flood town", "election vote party", "team match goal", "storm wind coast", "museum art painting"]
METHODS = ["greedy", "mbr", "sample", "map-local"]


def made_up_cluster(seed, n_documents=4, n_sentences=8):
    """Documents whose first sentences name the topic, which the reference is about."""
    rng = np.random.default_rng(seed)
    topic = TOPICS[seed % len(TOPICS)].split()
    other = [f"word{i}" for i in range(60)]
    documents = []
    for _ in range(n_documents):
        lead = [" ".join([*rng.permutation(topic), *rng.choice(other, 4)]) + "." for _ in range(2)]
        rest = [" ".join(rng.choice(other, rng.integers(3, 12))) + "." for _ in range(n_sentences - 2)]
        documents.append([*lead, *rest])
    reference = documents[0][0] + " " + documents[1][1]
    return Cluster(documents, [reference])


@pytest.fixture(scope="module")
def clusters():
    return [made_up_cluster(seed) for seed in range(12)]


@pytest.fixture(scope="module")
def model(clusters):
    return Summarizer(max_bytes=150).fit(clusters[:8])


def test_there_are_forty_features_in_six_groups():
    assert len(FEATURE_NAMES) == 40
    assert [int(columns_of([group]).sum()) for group in FEATURE_GROUPS] == [1, 5, 6, 16, 11, 1]
    with pytest.raises(DiversetError, match="colour"):
        columns_of(["colour"])


def test_features_by_hand():
    cluster = Cluster(
        [["He told her that they won.", "Storm hits coast.", "a", "b", "c", "d", "Storm on the coast again"]]
    )
    vectors = Tfidf({"storm": 1, "coast": 1}, 4).vectors(cluster.sentences).matrix
    measured = measure(cluster, vectors)
    S = (vectors @ vectors.T).toarray()
    np.testing.assert_allclose(measured.similarity, (S.sum(axis=1) - np.diagonal(S)) / 6, atol=1e-14)
    np.testing.assert_allclose(measured.lexrank, 7 * lexrank(S), atol=1e-10)
    assert measured.pronouns.tolist() == [3, 0, 0, 0, 0, 0, 0]
    assert measured.length.tolist() == [26, 17, 1, 1, 1, 1, 24]
    edges = np.array([1.0, 2.0, 3.0, 20.0])
    F = QualityFeatures(edges, np.array([0.0, 0.1, 0.2, 0.3]), np.array([0.2, 0.4, 0.6, 0.8])).matrix(measured)
    assert F.shape == (7, 40)
    assert F[:, 0].tolist() == [1] * 7
    # Of each binned group exactly one holds; edges belong to the bin above.
    for start, stop in [(1, 6), (6, 12), (13, 18), (18, 28), (29, 34), (34, 39)]:
        assert F[:, start:stop].sum(axis=1).tolist() == [1] * 7
    assert F[:, 1:6].argmax(axis=1).tolist() == [4, 3, 1, 1, 1, 1, 4]
    assert F[:, 6:12].argmax(axis=1).tolist() == [0, 1, 2, 3, 4, 5, 5]
    np.testing.assert_array_equal(F[:, 12], measured.similarity)
    np.testing.assert_array_equal(F[:, 39], measured.pronouns)


def test_pronouns_are_whole_words():
    sentences = ["I'm sure HE_said it, himself.", "Theory of the meter", "They're theirs", ""]
    expected = [sum(word in PRONOUNS for word in words(sentence)) for sentence in sentences]
    assert expected == [4, 0, 2, 0]
    vectors = Tfidf({}, 2).vectors(sentences).matrix
    found = measure(Cluster([sentences[:3]]), vectors[:3]).pronouns
    assert found.tolist() == expected[:3]


def test_global_bins_are_quintiles_of_the_training_sentences(clusters):
    tfidf = Tfidf.from_documents(document for c in clusters for document in c.documents)
    measured = [measure(c, tfidf.vectors(c.sentences).matrix) for c in clusters]
    features = QualityFeatures.from_measurements(measured)
    F = np.vstack([features.matrix(one) for one in measured])
    np.testing.assert_allclose(F[:, 13:18].mean(axis=0), 0.2, atol=0.01)
    np.testing.assert_allclose(F[:, 29:34].mean(axis=0), 0.2, atol=0.01)


def textbook_oracle(sentences, references, limit):
    """Algorithm 5 with words of each reference struck off one by one."""
    left = [rouge_words(reference) for reference in references]
    U, Y = [i for i, s in enumerate(sentences) if len(s.encode()) <= limit], []
    while U:

        def f(i):
            own = rouge_words(sentences[i])
            hits = sum(min(own.count(w), h.count(w)) for h in left for w in set(own))
            total = sum(map(len, left)) + len(left) * len(own)
            return 2 * hits / total / len(sentences[i].encode()) ** 0.5 if total else 0.0

        best = max(U, key=f)
        if f(best) == 0:
            break
        Y.append(best)
        for h in left:
            for word in rouge_words(sentences[best]):
                if word in h:
                    h.remove(word)
        spent = sum(len(sentences[i].encode()) + 1 for i in Y)
        U = [i for i in U if i != best and spent + len(sentences[i].encode()) <= limit]
    return Y


@pytest.mark.parametrize("seed", range(5))
def test_oracle_is_algorithm_5(seed):
    cluster = made_up_cluster(seed)
    references = [*cluster.references, "river town word3 word4 word4", "vote goal"]
    found = oracle_summary(cluster.sentences, references, Budget("bytes", 200))
    assert found.tolist() == textbook_oracle(cluster.sentences, references, 200)


def test_oracle_without_references_is_refused():
    with pytest.raises(DiversetError, match="no references"):
        oracle_summary(["a"], [], Budget("bytes", 10))


def test_learning_finds_what_the_references_took(clusters, model):
    """Held-out clusters: leads are about the topic, as the references are."""
    weights = dict(zip(FEATURE_NAMES, model.coef_, strict=True))
    assert max(weights["position 1"], weights["position 2"]) > weights["position 6 or later"]

    def mean_f(system):
        scores = [rouge(system.summarize(c, max_bytes=150).text, c.references)["rouge-1"].f for c in clusters[8:]]
        return np.mean(scores)

    random = np.mean(
        [
            rouge(Random().summarize(c, max_bytes=150, rng=seed).text, c.references)["rouge-1"].f
            for c in clusters[8:]
            for seed in range(10)
        ]
    )
    assert mean_f(Summarizer(max_bytes=150, greedy_scale=16.0).fit(clusters[:8])) > random + 0.05
    assert mean_f(Oracle()) > random + 0.05


def test_fit_is_the_maximum_likelihood_of_the_quality_model(clusters, model):
    assert model.quality_model_.convergence_.converged
    assert len(model.oracles_) == 8
    fewer = Summarizer(max_bytes=150, groups=("constant", "length")).fit(clusters[:8])
    assert fewer.coef_.shape == (6,)
    again = Summarizer(max_bytes=150).fit(clusters[:8], model.oracles_)
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-6)
    logistic = Summarizer(max_bytes=150, training="logistic").fit(clusters[:8])
    assert np.abs(logistic.coef_ - model.coef_).max() > 1e-3


LIMITS = [{"max_bytes": b} for b in (1, 7, 40, 66, 150, 665, 10_000)]
LIMITS += [{"max_words": 1}, {"max_words": 13}, {"max_sentences": 1}, {"max_sentences": 3}]


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_budgets_are_kept_to_the_byte(clusters, model, method, limit):
    cluster = clusters[9]
    summary = model.summarize(cluster, method=method, n_samples=20, rng=0, **limit)
    ((unit, most),) = limit.items()
    size = {
        "max_bytes": len(summary.text.encode()),
        "max_words": len(summary.text.split()),
        "max_sentences": len(summary.indices),
    }
    assert 0 < size[unit] <= most
    assert (np.diff(summary.indices) > 0).all()  # the order of the documents
    if summary.text == " ".join(summary.sentences):
        assert len(set(summary.indices.tolist())) == len(summary.indices)
    else:
        assert summary.notes
        assert " ".join(summary.sentences).startswith(summary.text)


@pytest.mark.parametrize(
    "rival", [Begin(), Random(), LexRank(), Submodular(), Oracle()], ids=lambda r: type(r).__name__
)
@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_rivals_keep_budgets(clusters, rival, limit):
    summary = rival.summarize(clusters[9], rng=0, **limit)
    ((unit, most),) = limit.items()
    size = {"max_bytes": len(summary.text.encode()), "max_words": len(summary.text.split())}
    assert size.get(unit, 1) <= most
    assert summary.text


def test_mmr_with_learned_quality(clusters):
    rival = RelevanceMMR(Summarizer(training="logistic", max_bytes=150), alpha=0.7).fit(clusters[:8])
    summary = rival.summarize(clusters[9], max_bytes=150)
    S = Tfidf.from_documents(clusters[0].documents).vectors(summary.sentences).matrix
    assert (S @ S.T).toarray()[np.triu_indices(len(summary.indices), 1)].max() < 0.999
    top = RelevanceMMR(rival.summarizer, alpha=1.0).summarize(clusters[9], max_sentences=3)
    quality = rival.summarizer.quality_of(clusters[9])
    assert set(top.indices.tolist()) == set(np.argsort(-quality, kind="stable")[:3].tolist())
    with pytest.raises(DiversetError, match="no fitted"):
        RelevanceMMR().summarize(clusters[9])


def test_submodular_is_the_graph_cut(clusters):
    """The greedy choice by the set function itself."""
    cluster = clusters[9]
    rival = Submodular(redundancy=2.0, scaling=0.3)
    V = Tfidf.from_documents(cluster.documents).vectors(cluster.sentences).matrix
    S = (V @ V.T).toarray()

    def f(Y):
        out = [i for i in range(len(S)) if i not in Y]
        pairs = sum(S[i, j] for i in Y for j in Y if i != j)
        return S[np.ix_(out, Y)].sum() - 2.0 * pairs

    costs = Budget("bytes", 150).costs(cluster.sentences)
    Y, U = [], list(range(len(S)))
    while U:
        i = max(U, key=lambda i: (f([*Y, i]) - f(Y)) / costs[i] ** 0.3)
        if f([*Y, i]) > f(Y) and costs[[*Y, i]].sum() <= 151:
            Y.append(i)
        U.remove(i)
    assert rival.summarize(cluster, max_bytes=150).indices.tolist() == sorted(Y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "documents",
    [
        [],
        [""],
        ["", "   \n\n "],
        ["One sentence."],
        ["...", "!!"],
        ["Same words here."] * 5,
        [["Same words here."] * 30],
        ["これは最初の文です。東京で大雨が降りました。学校は休みです。", "東京は大雨でした。電車は動いています。"],
        ["Это первое предложение. Дождь шёл всю ночь.", "Дождь шёл. Школы закрыты."],
        ["أمطرت السماء في المدينة. أغلقت المدارس."],
        ["यह वाक्य है। बारिश हुई। स्कूल बंद हैं।"],
        ["word " * 500],
        ["He. She. It. They were."],
        ["Nul \x00 and \ud800 surrogates. Another one."],
    ],
    ids=str,
)
def test_any_input_gives_sensible_output(documents, method):
    summary = default_summarizer().summarize(documents, max_bytes=80, method=method, n_samples=10, rng=0)
    assert len(summary.text.encode("utf-8", "replace")) <= 80
    has_words = any(sentence for document in Cluster(documents).documents for sentence in document)
    assert bool(summary.text) == has_words
    assert len(summary.sentences) == len(set(summary.sentences))  # no copies
    assert len(summary.explain()) == len(summary.indices)


def test_headings_are_left_out_unless_there_is_nothing_else():
    text = "Storm hits coast\n\nA storm hit the coast on Sunday. Two ferries are late.\n\nWhat now\n\nSchools close."
    cluster = Cluster([text, ["Storm hits coast"]])
    assert cluster.is_heading.tolist() == [True, False, False, True, False, False]
    headings = {"Storm hits coast", "What now"}
    for method in METHODS:
        asked = {"max_bytes": 90, "method": method, "n_samples": 20, "rng": 0}
        assert not headings & set(default_summarizer().summarize([text], **asked).sentences)
    # A sentence of its own fits in no 14 bytes, and a heading does.
    assert (
        default_summarizer().summarize(["Storm at sea\n\nA storm hit the coast."], max_bytes=14).text == "Storm at sea"
    )
    # Without full stops, or in lists of sentences, nothing is a heading.
    assert not Cluster(["one line\n\nanother line\n\na third\n\nIt ends."]).is_heading.any()
    assert not Cluster([]).is_heading.any()
    assert Cluster([text]) == Cluster([list(Cluster([text]).sentences)])


@pytest.mark.parametrize("method", ["greedy", "mbr"])
def test_of_very_many_sentences_short_ones_are_looked_at_too(monkeypatch, method):
    """Long sentences are better here, but with them alone a third of the limit would stay empty."""
    monkeypatch.setattr("diverset.text.summarizer.MOST_CANDIDATES", 20)
    monkeypatch.setattr("diverset.text.summarizer.MOST_TO_DRAW_FROM", 20)
    rng = np.random.default_rng(0)
    lengths = [*[20] * 60, *[6] * 60]
    sentences = [" ".join(f"w{i}" for i in rng.integers(0, 3000, size)) + "." for size in lengths]
    summary = default_summarizer().summarize([sentences], max_words=32, method=method, n_samples=20, rng=0)
    assert len(summary.candidates) == 20
    assert set(summary.quality[:60]) != {0.0}
    assert set(summary.quality[60:]) != {0.0}
    assert 30 <= len(summary.text.split()) <= 32


def test_bullets_are_no_part_of_sentences():
    cluster = Cluster(["Rain fell all day. It was cold.\n- Two ferries were late\n* Schools close.\n\n3 - 2 is 1."])
    assert cluster.sentences[2:] == ("Two ferries were late", "Schools close.", "3 - 2 is 1.")
    assert not cluster.is_heading.any()


@pytest.mark.slow
def test_ten_megabytes_are_summarised():
    sentence = "Line {} of the log of station {} says that sensor {} measured {} degrees on day {}. "
    rng = np.random.default_rng(0)
    text = "".join(sentence.format(*rng.integers(0, 5000, 5)) for _ in range(100_000))
    started = time.perf_counter()
    summary = default_summarizer().summarize([text[:10_000_000]], max_words=60)
    assert time.perf_counter() - started < 120
    assert 0 < len(summary.text.split()) <= 60
    assert "highest quality" in summary.notes[0]


def test_draws_are_seeded_and_counted(clusters, model):
    a, b = (model.summarize(clusters[10], max_bytes=150, method="mbr", n_samples=50, rng=3) for _ in range(2))
    assert a.text == b.text
    assert a.n_accepted == 50 < a.n_drawn
    texts = {model.summarize(clusters[10], max_bytes=150, method="sample", rng=seed).text for seed in range(5)}
    assert len(texts) > 1


def test_another_budget_shifts_the_lengths_of_draws(clusters, model):
    """Trained for 150 bytes, asked for 400: draws would hardly ever be as long."""
    summary = model.summarize(clusters[10], max_bytes=400, method="mbr", n_samples=50, rng=3)
    assert 380 <= len(summary.text) <= 400
    assert summary.n_drawn < 50 * 100


def test_a_window_beyond_the_limit_cuts_at_it(clusters, model):
    summary = model.summarize(clusters[10], max_bytes=150, method="mbr", n_samples=50, window=(151 - 2, 160), rng=3)
    assert 140 <= len(summary.text) <= 150
    with pytest.raises(DiversetError, match="within the limit"):
        model.summarize(clusters[10], max_bytes=150, method="mbr", window=(151, 160))


def test_reasons_are_probabilities_of_the_model(clusters, model):
    summary = model.summarize(clusters[10], max_bytes=150)
    kernel = summary.kernel
    dpp = dv.DPP(kernel.L)
    np.testing.assert_allclose(summary.inclusion[summary.candidates], dpp.inclusion_probabilities, atol=1e-10)
    chosen = [int(np.searchsorted(summary.candidates, i)) for i in summary.indices]
    S = kernel.similarity()
    for place, i in enumerate(chosen):
        rest = [j for j in chosen if j != i]
        whole = np.linalg.det(S[np.ix_(chosen, chosen)]) / np.linalg.det(S[np.ix_(rest, rest)]) / S[i, i]
        assert summary.novelty[place] == pytest.approx(whole, abs=1e-10)


def test_models_are_saved_and_read_back(clusters, model, tmp_path):
    path = tmp_path / "model.json"
    model.save(path, card="made up")
    read = Summarizer.load(path)
    assert read.card_ == "made up"
    for method in ("greedy", "mbr"):
        asked = {"max_bytes": 150, "method": method, "n_samples": 20, "rng": 1}
        assert read.summarize(clusters[9], **asked).text == model.summarize(clusters[9], **asked).text


def rewrite(path, change):
    """A file that was altered by somebody who knows how its checksum is made."""
    entries = json.loads(path.read_text(encoding="utf-8")) | change
    for key in ("format", "sha256"):
        entries.pop(key)
    write_model(path, {key: value for key, value in entries.items() if value is not None})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coef": [1.0]}, "1 weights for 40 features"),
        ({"coef": ["a"] * 40}, "could not convert"),
        ({"coef": None}, "coef"),
        ({"document_counts": 3}, "damaged"),
        ({"document_counts": {"word": 10**9}}, "'word' is in 1000000000"),
        ({"document_counts": {"word": -1}}, "'word' is in -1"),
        ({"n_documents": 0}, "n_documents"),
        ({"groups": ["colour"]}, "colour"),
        ({"length_edges": [3.0, 2.0, 1.0, 0.0]}, "ascending"),
        ({"lexrank_edges": [[1.0]]}, "ascending"),
        ({"training": "none"}, "none"),
        ({"rho": -1.0}, "rho is -1"),
        ({"greedy_scale": "much"}, "much"),
        ({"max_bytes": -5}, "max_bytes"),
        ({"max_words": 5}, "one limit"),
    ],
)
def test_hostile_models_are_refused(model, tmp_path, change, message):
    path = tmp_path / "model.json"
    model.save(path)
    rewrite(path, {})
    Summarizer.load(path)
    rewrite(path, change)
    with pytest.raises(DiversetError, match=re.escape(str(path))) as error:
        Summarizer.load(path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: "{", "not a summarizer file, or is damaged"),
        (lambda text: text[: len(text) // 2], "not a summarizer file, or is damaged"),
        (lambda text: text.replace('"rho": 0.7', '"rho": 0.8'), "checksum"),
        (lambda text: text.replace('"rho": 0.7', '"rho": NaN'), "NaN is no number"),
        (lambda text: text.replace('"rho": 0.7', '"rho": 0.7,\n"more": 1'), "checksum"),
        (lambda text: re.sub(r'"sha256": "\w+"', '"sha256": 3', text), "checksum"),
        (lambda text: text.replace("summarizer 2", "summarizer 1"), "summarizer 1'; this diverset reads"),
        (lambda text: text.replace("diverset summarizer 2", "other"), "its format is 'other'"),
        (lambda text: '["diverset summarizer 2"]', "its format is 'None'"),
        (lambda text: "[" * 100_000, "not a summarizer file, or is damaged"),
        (lambda text: "\ufeff\udcff", "not a summarizer file, or is damaged"),
    ],
)
def test_damaged_models_are_refused(model, tmp_path, damage, message):
    path = tmp_path / "model.json"
    model.save(path)
    text = path.read_text(encoding="utf-8")
    path.write_bytes(damage(text).encode("utf-8", "surrogateescape"))
    assert path.read_bytes() != text.encode()
    with pytest.raises(DiversetError) as error:
        Summarizer.load(path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_every_altered_digit_of_a_model_is_noticed(model, tmp_path):
    path = tmp_path / "model.json"
    model.save(path, card="made up")
    raw = path.read_bytes()
    digits = [place for place, byte in enumerate(raw) if chr(byte).isdigit()]
    for place in digits[:: max(1, len(digits) // 60)]:
        path.write_bytes(raw[:place] + (b"1" if raw[place] != ord("1") else b"2") + raw[place + 1 :])
        with pytest.raises(DiversetError):
            Summarizer.load(path)


def test_the_layout_of_a_model_does_not_matter(model, tmp_path):
    path = tmp_path / "model.json"
    model.save(path)
    stored = json.loads(path.read_text(encoding="utf-8"))
    path.write_bytes(json.dumps(dict(sorted(stored.items())), indent=4).replace("\n", "\r\n").encode())
    np.testing.assert_array_equal(Summarizer.load(path).coef_, model.coef_)


def test_fitting_the_default_model_anew_changes_no_other():
    documents = ["The bridge is shut. Ferries run instead.", "Ferries run while the bridge is shut. Shops lose money."]
    before = default_summarizer().summarize(documents, max_words=5).text
    default_summarizer().fit([Cluster(documents, "The bridge is shut.")])
    assert "MIT licence" in default_summarizer().card_
    assert default_summarizer().summarize(documents, max_words=5).text == before


def test_the_default_model_has_its_card_and_no_texts():
    model = default_summarizer()
    assert "MIT licence" in model.card_
    assert model.coef_.shape == (40,)
    assert all(" " not in word and count > 1 for word, count in model.tfidf_.document_counts.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_bytes": 10, "max_words": 3}, "one limit"),
        ({"max_words": 0}, "0"),
        ({"method": "best"}, "best"),
        ({"method": "mbr", "n_samples": 0}, "n_samples"),
    ],
)
def test_bad_arguments(model, arguments, message):
    with pytest.raises(DiversetError, match=message):
        model.summarize(["A text."], **arguments)


def test_bad_training():
    with pytest.raises(DiversetError, match="no clusters"):
        Summarizer().fit([])
    with pytest.raises(DiversetError, match="cluster 0 is a list"):
        Summarizer().fit([["a"]])
    with pytest.raises(DiversetError, match="not been fitted"):
        Summarizer().summarize(["a"])
    with pytest.raises(DiversetError, match="no references"):
        Summarizer().fit([Cluster(["A text."])])
    with pytest.raises(DiversetError, match="document 1 is a int"):
        Cluster(["a", 3])
    with pytest.raises(DiversetError, match="2 names for 1"):
        Cluster(["a"], names=["x", "y"])


def test_cropping_cuts_no_word():
    assert Budget("bytes", 9).crop("one two three") == "one two"
    assert Budget("bytes", 7).crop("one two three") == "one two"
    assert Budget("bytes", 2).crop("one two") == "on"
    assert Budget("bytes", 4).crop("日本語") == "日"
    assert Budget("words", 2).crop("one two three") == "one two"
    assert Budget("words", 2).crop("東京都は雨") == "東京都"
