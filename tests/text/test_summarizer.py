"""The summarizer: features, oracles, learning, budgets to the byte, and input of every kind."""

import itertools
import json
import re
import time

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError
from diverset.text import (
    Begin,
    Budget,
    Cluster,
    LexRank,
    Oracle,
    Random,
    RelevanceMMR,
    Submodular,
    Summarizer,
    default_summarizer,
    lexrank,
    oracle_summary,
    rouge,
    rouge_words,
)
from diverset.text.quality import FEATURE_GROUPS, FEATURE_NAMES, columns_of, feature_matrix, write_model
from diverset.text.summarizer import (
    Example,
    accepted_sums,
    fit_given_budget,
    relative_likelihood,
    sentence_scores,
)
from diverset.text.tfidf import Terms

TOPICS = ["river flood town", "election vote party", "team match goal", "storm wind coast", "museum art painting"]
METHODS = ["coverage", "mbr", "sample", "greedy"]


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
    return Summarizer().fit(clusters[:8])


def terms_of(cluster):
    return Terms.of(cluster.sentences)


def test_features_have_names_and_groups():
    assert len(FEATURE_NAMES) == 23
    assert [int(columns_of([group]).sum()) for group in FEATURE_GROUPS] == [2, 3, 2, 2, 4, 2, 6, 2]
    with pytest.raises(DiversetError, match="colour"):
        columns_of(["colour"])


def test_features_are_standardised_within_the_cluster(clusters):
    F = feature_matrix(clusters[0])
    varying = F.std(axis=0) > 0
    assert varying.sum() > 8
    clipped = np.abs(F).max(axis=0) >= 4.0
    np.testing.assert_allclose(F[:, varying & ~clipped].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(F[:, varying & ~clipped].std(axis=0), 1.0, atol=1e-12)
    assert np.abs(F).max() <= 4.0


def test_features_by_hand():
    sentences = [
        "He told her that they won!",
        "Storm hits coast.",
        "A Storm at sea",
        "Is the storm here?",
        "i saw 3 ships.",
    ]
    cluster = Cluster([sentences, ["Storm hits town."]])
    terms = terms_of(cluster)
    F = dict(zip(FEATURE_NAMES, feature_matrix(cluster).T, strict=True))

    def marked(name):
        return np.flatnonzero(F[name] > 0).tolist()

    assert marked("dependent opening") == [0]
    assert marked("exclamation") == [0]
    assert marked("question") == [3]
    assert marked("lower case") == [4]
    assert marked("numbers") == [4]
    assert marked("first person") == [4]
    assert marked("capitals") == [2]
    assert np.flatnonzero(F["ending"] < 0).tolist() == [2]
    assert F["early"].argmax() in (0, 5)
    S = (terms.vectors @ terms.vectors.T).toarray()
    assert F["lexrank"].argmax() == lexrank(S).argmax()
    # "storm hit" is in two sentences of two documents, no other pair is in two.
    assert marked("pair documents") == [1, 5]
    assert not feature_matrix(Cluster([["Same words."] * 3]))[:, 0].any()
    assert feature_matrix(Cluster([])).shape == (0, 23)


def test_vectors_in_the_coordinates_of_a_cluster():
    terms = Terms.of(["The river rose.", "The river fell again.", "Dogs bark."])
    np.testing.assert_allclose(terms.vectors_of(["The river rose."]).toarray(), terms.vectors[:1].toarray(), atol=1e-15)
    assert terms.vectors_of(["The cat."]).nnz == 0
    short = terms.vectors_of(["A cat barks."]).toarray()
    assert np.linalg.norm(short) == pytest.approx(1 / np.sqrt(2))  # half of it is known
    idf = np.log(4 / np.array([2.0, 1.0]))
    np.testing.assert_allclose(np.sort(terms.vectors[0].data), np.sort(idf / np.linalg.norm(idf)), atol=1e-15)


def test_sentence_scores_by_hand():
    scores = sentence_scores(Cluster([["The cats sat.", "Dogs bark."]], ["A cat sat on the mat.", "The cat sat."]))
    # Against the first: the, cat, sat and the pair (cat, sat); against the second all of it; mean length 4.5.
    assert scores[0] == pytest.approx(((3 + 2) + (3 + 4)) / 2 / (3 + 0.35 * 4.5))
    assert scores[1] == 0.0


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


@pytest.mark.parametrize("training", ["regression", "dpp", "logistic", "dpp-budget"])
def test_learning_finds_what_the_references_took(clusters, training):
    """Held-out clusters: leads are about the topic, as the references are."""
    model = Summarizer(training=training, max_bytes=150, late=0.0).fit(clusters[:8])
    for cluster in clusters[8:]:
        quality = model.quality_of(cluster)
        assert quality[cluster.position < 2].mean() > quality[cluster.position >= 2].mean()

    def mean_f(system, **options):
        scores = [
            rouge(system.summarize(c, max_bytes=150, **options).text, c.references)["rouge-1"].f for c in clusters[8:]
        ]
        return np.mean(scores)

    random = np.mean([mean_f(Random(), rng=seed) for seed in range(10)])
    assert mean_f(model) > random + 0.05
    assert mean_f(Oracle()) > random + 0.05


def test_regression_is_the_ridge_solution(clusters):
    """Two routes: the normal equations of all sentences at once."""
    shares = np.arange(1.0, 5.0)
    model = Summarizer().fit(clusters[:4], weights=shares)
    rows, targets = [], []
    for cluster, share in zip(clusters[:4], shares / shares.sum(), strict=True):
        y = sentence_scores(cluster)
        root = np.sqrt(share / len(cluster))
        rows.append(root * feature_matrix(cluster))
        targets.append(root * (y - y.mean()) / y.std())
    A = np.vstack([*rows, np.sqrt(0.05) * np.eye(23)])
    expected = np.linalg.lstsq(A, np.concatenate([*targets, np.zeros(23)]), rcond=None)[0]
    np.testing.assert_allclose(model.coef_[1:], expected, atol=1e-10)
    assert model.coef_[0] == 0.0
    fewer = Summarizer(groups=("length", "person")).fit(clusters[:4])
    assert fewer.coef_.shape == (7,)
    with pytest.raises(DiversetError, match="2 weights for 4"):
        Summarizer().fit(clusters[:4], weights=[1, 2])


def test_late_sentences_lose_in_clusters_of_several_documents(clusters, model):
    early = Summarizer(**{**model.get_params(), "late": 0.0})
    early.coef_ = model.coef_
    ratio = model.quality_of(clusters[9]) / early.quality_of(clusters[9])
    place = clusters[9].position + 1
    np.testing.assert_allclose(ratio, np.maximum(1.0, place / 5.0) ** -0.5, rtol=1e-12)
    single = Cluster([clusters[9].documents[0] * 2])
    np.testing.assert_allclose(model.quality_of(single), early.quality_of(single), rtol=1e-12)


LIMITS = [{"max_bytes": b} for b in (1, 7, 40, 66, 150, 665, 10_000)]
LIMITS += [{"max_words": 1}, {"max_words": 13}, {"max_sentences": 1}, {"max_sentences": 3}]


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_budgets_are_kept_to_the_byte(clusters, model, method, limit):
    cluster = clusters[9]
    summary = model.summarize(cluster, method=method, n_draws=100, rng=0, **limit)
    ((unit, most),) = limit.items()
    size = {
        "max_bytes": len(summary.text.encode()),
        "max_words": len(summary.text.split()),
        "max_sentences": len(summary.indices),
    }
    assert 0 < size[unit] <= most
    if summary.text == " ".join(summary.sentences):
        assert len(set(summary.indices.tolist())) == len(summary.indices)
    else:
        assert summary.notes
        assert " ".join(summary.sentences).startswith(summary.text)


def test_lead_and_random_sentences():
    assert Begin().summarize(["One two. Three four.", "Five six."], max_words=3).text == "One two."
    assert Random().summarize(["One. Two. Three."], max_sentences=1, rng=0).text == "Three."


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
    S = Terms.of(summary.sentences).vectors
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
    V = terms_of(cluster).vectors
    S = (V @ V.T).toarray()

    def f(Y):
        out = [i for i in range(len(S)) if i not in Y]
        pairs = sum(S[i, j] for i in Y for j in Y if i != j)
        return S[np.ix_(out, Y)].sum() - 2.0 * pairs

    costs = Budget("bytes", 150).costs(cluster.sentences)
    Y, U = [], list(range(len(S)))
    while U:
        i = max(U, key=lambda i: round((f([*Y, i]) - f(Y)) / costs[i] ** 0.3, 9))
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
    summary = default_summarizer().summarize(documents, max_bytes=80, method=method, n_draws=50, rng=0)
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
        asked = {"max_bytes": 90, "method": method, "n_draws": 50, "rng": 0}
        assert not headings & set(default_summarizer().summarize([text], **asked).sentences)
    # A sentence of its own fits in no 14 bytes, and a heading does.
    assert (
        default_summarizer().summarize(["Storm at sea\n\nA storm hit the coast."], max_bytes=14).text == "Storm at sea"
    )
    # Without full stops, or in lists of sentences, nothing is a heading.
    assert not Cluster(["one line\n\nanother line\n\na third\n\nIt ends."]).is_heading.any()
    assert not Cluster([]).is_heading.any()
    assert Cluster([text]) == Cluster([list(Cluster([text]).sentences)])


def test_of_very_many_sentences_short_ones_are_looked_at_too(monkeypatch):
    """Long sentences are better here, but short ones fill what is left."""
    monkeypatch.setattr("diverset.text.summary.MOST_CANDIDATES", 20)
    rng = np.random.default_rng(0)
    lengths = [*[20] * 60, *[6] * 60]
    sentences = [" ".join(f"w{i}" for i in rng.integers(0, 3000, size)) + "." for size in lengths]
    summary = dv.summarize([sentences], 32, n_draws=100)
    assert len(summary.candidates) == 20
    assert 0 < (summary.candidates < 60).sum() < 20
    assert "the 20 of highest quality" in summary.notes[0]


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


def test_models_are_saved_and_read_back(clusters, model, tmp_path):
    path = tmp_path / "model.json"
    model.save(path, card="made up")
    read = Summarizer.load(path)
    assert read.card_ == "made up"
    for method in ("coverage", "mbr"):
        asked = {"max_bytes": 150, "method": method, "n_draws": 100, "rng": 1}
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
        ({"coef": [1.0]}, "1 weights for 24 features"),
        ({"coef": ["a"] * 24}, "its entry 'coef' is"),
        ({"coef": ["1.0"] * 24}, "its entry 'coef' is"),
        ({"coef": [True] * 24}, "its entry 'coef' is"),
        ({"coef": [1e300] * 24}, "its entry 'coef' is"),
        ({"coef": [[1.0] * 24]}, "its entry 'coef' is"),
        ({"coef": [0.0] * 101}, "its entry 'coef' is"),
        ({"coef": {"a": 1.0}}, "its entry 'coef' is"),
        ({"card": ["a"]}, "its entry 'card' is"),
        ({"max_words": 10.5}, "max_words"),
        ({"max_words": True}, "its entry 'max_words' is"),
        ({"late": [1.0]}, "its entry 'late' is"),
        ({"groups": ["position", "position"]}, "named twice"),
        ({"groups": [["position"]]}, "its entry 'groups' is"),
        ({"more": 1}, "its entry 'more' is"),
        ({"coef": None}, "coef"),
        ({"groups": ["colour"]}, "colour"),
        ({"groups": 3}, "damaged"),
        ({"training": "none"}, "none"),
        ({"late": -1.0}, "late is -1"),
        ({"late": "much"}, "much"),
        ({"prior_variance": 0.0}, "prior_variance"),
        ({"max_words": -5}, "max_words"),
        ({"max_bytes": 5}, "one limit"),
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
        (lambda text: text.replace('"late": 1.0', '"late": 0.8'), "checksum"),
        (lambda text: text.replace('"late": 1.0', '"late": NaN'), "its entry 'late' is 'nan'"),
        (lambda text: text.replace('"late": 1.0', '"late": 1.0,\n"more": 1'), "its entry 'more' is '1'"),
        (lambda text: re.sub(r'"sha256": "\w+"', '"sha256": 3', text), "its entry 'sha256' is '3'"),
        (lambda text: text.replace('"late": 1.0', '"late": ' + "[" * 900 + "]" * 900), "its entry 'late' is"),
        (lambda text: text.replace("summarizer 3", "summarizer 2"), "summarizer 2'; this diverset reads"),
        (lambda text: text.replace("diverset summarizer 3", "other"), "its format is 'other'"),
        (lambda text: '["diverset summarizer 3"]', "its format is 'None'"),
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
    assert "Apache" in model.card_
    assert model.coef_.shape == (24,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_bytes": 10, "max_words": 3}, "one limit"),
        ({"max_words": 0}, "0"),
        ({"method": "best"}, "best"),
        ({"method": "mbr", "n_draws": 0}, "n_draws"),
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
    with pytest.raises(DiversetError, match="2 dates for 1"):
        Cluster(["a"], dates=["2020-01-01", None])
    with pytest.raises(DiversetError, match="'soon' is not understood"):
        Cluster(["a"], dates=["soon"])
    with pytest.raises(DiversetError, match="2 names for 1"):
        Cluster(["a"], names=["x", "y"])


def test_cropping_cuts_no_word():
    assert Budget("bytes", 9).crop("one two three") == "one two"
    assert Budget("bytes", 7).crop("one two three") == "one two"
    assert Budget("bytes", 2).crop("one two") == "on"
    assert Budget("bytes", 4).crop("日本語") == "日"
    assert Budget("words", 2).crop("one two three") == "one two"
    assert Budget("words", 2).crop("東京都は雨") == "東京都"


def enumerated(example, theta, low):
    """Sets that cost from `low` to the room, with determinants and feature sums, for a kernel of scale one."""
    score = example.features @ theta - example.offset
    L = np.exp(0.5 * score)[:, None] * example.similarity * np.exp(0.5 * score)
    n = len(L)
    sets = [list(Y) for k in range(n + 1) for Y in itertools.combinations(range(n), k)]
    sets = [Y for Y in sets if low <= example.costs[Y].sum() <= example.room]
    return sets, L, np.array([example.features[Y].sum(axis=0) for Y in sets])


@pytest.fixture
def example():
    rng = np.random.default_rng(4)
    n, d = 8, 3
    phi = rng.random((n, 5))
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    chosen = np.array([1, 4, 6])
    costs = np.array([2, 20, 3, 12, 4, 25, 5, 9])
    features = rng.standard_normal((n, d))
    features[:, 0] = (costs - costs.mean()) / costs.std()  # the limit changes its mean
    return Example(features, 0.3 * rng.random(n), phi @ phi.T, costs, 30, chosen)


def test_gradient_given_the_budget_is_that_of_enumeration(example):
    """Two steps: finite differences of the enumerated likelihood, and the mean of accepted draws."""
    theta = np.array([0.4, -0.3, 0.2])
    law = example.law(theta)

    def log_likelihood(weights):
        sets, L, _ = enumerated(example, weights, law.low)
        dets = np.array([np.linalg.det(law.scale * L[np.ix_(Y, Y)]) for Y in sets])
        own = law.scale * L[np.ix_(example.chosen, example.chosen)]
        return np.linalg.slogdet(own)[1] - np.log(dets.sum())

    sets, L, sums = enumerated(example, theta, law.low)
    dets = np.array([np.linalg.det(law.scale * L[np.ix_(Y, Y)]) for Y in sets])
    own = example.features[example.chosen].sum(axis=0)
    exact = own - dets @ sums / dets.sum()
    step = 1e-5
    differences = [
        (log_likelihood(theta + step * e) - log_likelihood(theta - step * e)) / (2 * step) for e in np.eye(3)
    ]
    np.testing.assert_allclose(exact, differences, rtol=1e-6)
    drawn = accepted_sums(example, theta, 20_000, np.random.default_rng(0))
    value, gradient = relative_likelihood(np.zeros(3), own, drawn)
    assert value == 0.0
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(gradient - exact) < 4.5 * error).all()
    # Draws before any are rejected have another mean, which this test can see.
    unlimited = dv.DPP(law.L).inclusion_probabilities @ example.features
    assert (np.abs(own - unlimited - exact) > 10 * error).any()
    # Near these weights the draws also give the change of the likelihood.
    near = theta + np.array([0.1, -0.05, 0.1])
    change, slope = relative_likelihood(near - theta, own, drawn)
    assert change == pytest.approx(log_likelihood(near) - log_likelihood(theta), abs=0.02)
    numeric = [(log_likelihood(near + step * e) - log_likelihood(near - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(slope, numeric, atol=0.05)


def test_weights_given_the_budget_are_found_again(example):
    """Summaries drawn with known weights, and the weights that make them most probable."""
    rng = np.random.default_rng(1)
    truth = np.array([1.0, -0.5, 0.0])
    examples = []
    for _ in range(100):
        other = example._replace(features=rng.standard_normal(example.features.shape))
        chosen = other.law(truth).draw(1, rng).sets[0]
        examples.append(other._replace(chosen=np.sort(chosen)))
    found = fit_given_budget(examples, np.ones(100), 100.0, d=3)
    np.testing.assert_allclose(found, truth, atol=0.4)
    assert np.abs(fit_given_budget(examples[:1], np.ones(1), 1e-9, d=3)).max() < 1e-6  # the prior holds


def test_each_cluster_may_have_a_limit_of_its_own(clusters):
    model = Summarizer(training="dpp-budget").fit(clusters[:4], limits=[6, 30, 30, 6])
    for cluster, limit, chosen in zip(clusters[:4], [6, 30, 30, 6], model.oracles_, strict=True):
        assert sum(len(cluster.sentences[i].split()) for i in chosen) <= limit
    with pytest.raises(DiversetError, match="3 limits for 4 clusters"):
        Summarizer(training="dpp").fit(clusters[:4], limits=[1, 2, 3])
