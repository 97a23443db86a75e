"""``dv.compare``: its numbers are those of the library, its intervals and advice follow from them."""

import math
import re

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError
from diverset.metrics import alpha_ndcg, ndcg, precision, read_qrels, subtopic_recall
from diverset.metrics.compare import DIALS, METHODS, Setting, _decide, _interval


@pytest.fixture(scope="module")
def items():
    rng = np.random.default_rng(4)
    return rng.normal(size=(40, 5)), rng.random(40)


@pytest.fixture(scope="module")
def queries():
    """Twelve queries: a relevant item is about one of four themes, and items of a theme are alike."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(12):
        theme = rng.integers(0, 4, 30)
        X = np.eye(4)[theme] + 0.3 * rng.normal(size=(30, 4))
        relevant = rng.random(30) < 0.4
        judgements = {i: {f"t{theme[i]}"} for i in np.flatnonzero(relevant).tolist()}
        found.append((X, relevant + rng.normal(size=30), judgements))
    return found


def setting(comparison, method, dial=None):
    return next(each for each in comparison if (each.method, each.dial) == (method, dial))


def test_settings_pick_what_the_functions_pick(items):
    X, quality = items
    found = dv.compare(X, 6, quality=quality, dials=[0.3, 0.8], given=[1], exclude=[2], rng=5)
    assert {each.method for each in found} == set(METHODS)
    assert len(found) == 5 * 2 + 2
    options = {"quality": quality, "given": [1], "exclude": [2]}
    for each in found:
        name = each.method.replace("-", "_")
        function = dv.select if name == "dpp" else getattr(dv.baselines, name)
        more = {"rng": 5} if name == "random" else {} if each.dial is None else {"diversity": each.dial}
        expected = function(X, 6, **options, **more)
        assert each.picks[0].tolist() == expected.indices.tolist(), each.name
        assert each.numbers["kept"] == pytest.approx(expected.kept)
        assert each.numbers["redundancy"] == pytest.approx(expected.redundancy)
        assert each.numbers["log_volume"] == pytest.approx(expected.log_det)
        assert each.numbers["vendi_score"] == pytest.approx(dv.metrics.vendi_score(X[expected.indices]))
        top = dv.baselines.top_k(X, 6, **options)
        assert each.numbers["overlap"] == pytest.approx(len(set(expected) & set(top)) / 6)


@pytest.mark.parametrize("change", [lambda q: 100 * q + 7, np.exp, lambda q: q / 1000 - 3])
def test_the_unit_of_the_scores_does_not_matter(items, change):
    X, quality = items
    one, other = (dv.compare(X, 6, quality=q, dials=[0.5]) for q in (quality, change(quality)))
    for a, b in zip(one, other, strict=True):
        assert a.picks[0].tolist() == b.picks[0].tolist()


def test_without_judgements_the_least_redundant_that_keeps_enough_is_chosen(items):
    X, quality = items
    found = dv.compare(X, 6, quality=quality, keep=0.8)
    enough = [each for each in found.curve("dpp") if each.numbers["kept"] >= 0.8]
    assert found.chosen.numbers["redundancy"] == min(each.numbers["redundancy"] for each in enough)
    dial = found.chosen.dial
    assert f"of the settings of dpp that keep 80% of quality, {dial:g} is the least redundant" in found.notes[-1]
    assert found.measure is None
    assert [each.dial for each in found.curve("dpp")] == list(DIALS)
    # Nothing but top-k keeps everything.
    found = dv.compare(X, 6, quality=quality, keep=1.0, dials=[1.0])
    assert found.chosen.method == "top-k"
    assert found.notes[-1] == "no setting of dpp keeps 100% of quality; top-k keeps 100%"


def test_without_quality_there_is_nothing_to_choose_by(items):
    found = dv.compare(items[0], 6)
    assert found.chosen is None
    assert {each.dial for each in found} == {1.0, None}
    assert found.columns == ["redundancy", "log_volume", "vendi_score", "overlap"]


def test_measures_from_judgements_are_those_of_the_metrics(queries):
    found = dv.compare(queries, 5, methods=["dpp", "mmr"], dials=[0.2, 0.6])
    assert found.measure == "alpha_ndcg"
    measures = {"alpha_ndcg": alpha_ndcg, "ndcg": ndcg, "subtopic_recall": subtopic_recall, "precision": precision}
    top = setting(found, "top-k")
    for each in found:
        for name, measure in measures.items():
            own, best = (
                np.array([measure(picks, J, 5) for picks, (_, _, J) in zip(chosen.picks, queries, strict=True)])
                for chosen in (each, top)
            )
            assert each.numbers[name] == pytest.approx(own.mean())
            mean, low, high = each.gains[name]
            assert mean == pytest.approx((own - best).mean(), abs=1e-12)
            # Normal theory is near at twelve queries, and far from the intervals of unpaired scores.
            width = 2 * 1.96 * (own - best).std() / math.sqrt(12)
            assert high - low == pytest.approx(width, rel=0.2, abs=1e-12)
            assert low <= mean <= high
    assert found.chosen.numbers["alpha_ndcg"] == max(each.numbers["alpha_ndcg"] for each in found)
    assert any("on the other half" in note for note in found.notes)


def test_a_choice_among_chance_is_not_called_a_gain():
    rng = np.random.default_rng(3)
    noise = [(rng.normal(size=(30, 4)), rng.random(30), rng.random(30) < 0.3) for _ in range(10)]
    found = dv.compare(noise, 5)
    assert found.chosen.gains["ndcg"][0] > 0.0  # the best of fifty by chance
    assert "may be chance" in found.notes[-1]


@pytest.mark.parametrize(("elsewhere", "chosen"), [(0.4, "top-k"), (0.48, "dpp")])
def test_a_setting_that_wins_by_one_query_loses_to_top_k_on_others(elsewhere, chosen):
    # Ten settings; each is perfect on a query of its own.
    scores = np.full((10, 10), elsewhere) + (1.0 - elsewhere) * np.eye(10)
    top = np.full(10, 0.45)
    gain = _interval(scores[0] - top)
    best, plain = (
        Setting(name, None, (), {"ndcg": float(mean)}, {"ndcg": own})
        for name, mean, own in (("dpp", scores[0].mean(), gain), ("top-k", 0.45, (0.0, 0.0, 0.0)))
    )
    assert gain[0] > 0.0
    found, notes = _decide(best, plain, scores, top, "ndcg")
    assert found.method == chosen
    assert ("so use top-k" in notes[-1]) == (chosen == "top-k")


def test_a_query_column_is_the_same_as_a_list_of_queries(queries):
    X = np.vstack([q[0] for q in queries])
    quality = np.concatenate([q[1] for q in queries])
    column = np.repeat([f"q{i}" for i in range(12)], 30)
    qrels = {f"q{i}": {f"d{j}": dict.fromkeys(s, 1) for j, s in J.items()} for i, (_, _, J) in enumerate(queries)}
    ids = [f"d{j}" for j in range(30)] * 12
    options = {"methods": ["dpp", "max-min"], "dials": [0.4]}
    one = dv.compare(X, 5, quality=quality, judgements=qrels, queries=column, ids=ids, **options)
    other = dv.compare(queries, 5, **options)
    for a, b in zip(one, other, strict=True):
        assert [p.tolist() for p in a.picks] == [p.tolist() for p in b.picks]
        # Ideal rankings break ties by name, which moves alpha-nDCG alone.
        assert a.numbers["ndcg"] == pytest.approx(b.numbers["ndcg"])
    assert one.queries == tuple(f"q{i}" for i in range(12))


def test_given_rows_belong_to_their_query(queries):
    X = np.vstack([q[0] for q in queries[:2]])
    quality = np.concatenate([q[1] for q in queries[:2]])
    found = dv.compare(X, 5, quality=quality, queries=[0] * 30 + [1] * 30, given=[3, 31], methods=["dpp"], dials=[0.5])
    for i, (shown, picks) in enumerate(zip((3, 1), found.settings[0].picks, strict=True)):
        expected = dv.select(queries[i][0], 5, quality=queries[i][1], given=[shown])
        assert picks.tolist() == expected.indices.tolist()


@pytest.mark.parametrize("kind", ["mapping", "matrix", "list"])
def test_forms_of_judgements(items, kind):
    X, quality = items
    relevant = np.arange(40) % 3 == 0
    judgements = {
        "mapping": {int(i): {"x"} for i in np.flatnonzero(relevant)},
        "matrix": relevant[:, None],
        "list": relevant.astype(int).tolist(),
    }[kind]
    found = dv.compare(X, 6, quality=quality, judgements=judgements, methods=["dpp"], dials=[0.5])
    assert found.measure == "ndcg"
    picks = found.settings[0].picks[0]
    assert found.settings[0].numbers["precision"] == pytest.approx(relevant[picks].mean())
    assert "on one query" in found.notes[-1]
    assert math.isnan(found.settings[0].gains["ndcg"][1])


def test_an_index_names_items_in_judgements(items):
    pandas = pytest.importorskip("pandas")
    X, quality = items
    frame = pandas.DataFrame(X, index=[f"d{i}" for i in range(40)])
    found = dv.compare(frame, 6, quality=quality, judgements={"d0": {1}, "d7": {2}, "elsewhere": {3}})
    assert setting(found, "top-k").numbers["precision"] == pytest.approx(
        np.isin(setting(found, "top-k").picks[0], [0, 7]).mean()
    )


def test_queries_without_relevant_items_are_left_out_and_said(queries):
    none = [(X, q, {}) for X, q, _ in queries[:2]]
    found = dv.compare([*queries, *none], 5, methods=["dpp"], dials=[0.5])
    assert "2 of 14 queries have no relevant item, and are left out of the scores" in found.notes
    assert found.settings[0].numbers["ndcg"] == dv.compare(queries, 5, dials=[0.5]).settings[0].numbers["ndcg"]


def test_methods_that_never_differ_from_top_k_are_named():
    X = np.eye(6)
    found = dv.compare(X, 3, quality=np.arange(6.0), methods=["dpp", "mmr"], dials=[0.1, 0.5])
    assert "every method picks the same items as top-k at every setting of the dial" in found.notes
    X = np.vstack([np.eye(6)[[0, 0, 0, 0]], np.eye(6)])
    found = dv.compare(X, 3, quality=-np.arange(10.0), methods=["dpp", "mmr"], dials=[0.3])
    assert "mmr picks the same items as top-k at every setting of the dial" in found.notes


def test_methods_of_all_pairs_must_be_asked_for_on_large_sets():
    rng = np.random.default_rng(0)
    X, quality = rng.normal(size=(5001, 3)).astype(np.float32), rng.random(5001)
    found = dv.compare(X, 3, quality=quality, dials=[0.5])
    assert "facility-location" not in {each.method for each in found}
    assert found.notes[0] == "facility-location is left out beyond 5,000 candidates; name it to try it"
    assert "facility-location" in {each.method for each in dv.compare(X[:5000], 3, quality=quality[:5000], dials=[0.5])}


def test_rows_and_frame_and_text(queries):
    pytest.importorskip("pandas")
    found = dv.compare(queries, 5, methods=["dpp"], dials=[0.5, 0.9])
    frame = found.to_frame()
    assert frame["method"].tolist() == ["dpp", "dpp", "top-k"]
    assert frame["chosen"].sum() == 1
    assert {"alpha_ndcg", "alpha_ndcg_gain", "alpha_ndcg_gain_low", "kept"} <= set(frame)
    assert frame.loc[2, "ndcg_gain"] == 0.0
    text = str(found)
    assert re.split("  +", text.splitlines()[0].strip())[1:4] == ["alpha-nDCG", "nDCG", "subtopic recall"]
    assert text.count("*") == 1
    assert max(map(len, text.splitlines()[:4])) < 140


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["magic"]}, "there is no method 'magic'; choose from dpp, mmr"),
        ({"methods": []}, "no methods named"),
        ({"dials": [2]}, "diversity is 2"),
        ({"keep": 1.5}, r"keep is 1\.5"),
        ({"judgements": [0] * 40}, "judgements name no relevant item"),
        ({"judgements": [1] * 3}, "judgements has 3 entries for 40 items"),
        ({"judgements": np.ones((3, 2))}, r"judgements has shape \(3, 2\)"),
        ({"measure": "ndcg"}, "there are no judgements"),
        ({"judgements": [1] * 40, "measure": "magic"}, "measure is 'magic'"),
        ({"queries": [1] * 3}, "queries has 3 entries for 40 items"),
        ({"ids": [1] * 3}, "ids has 3 entries for 40 items"),
    ],
)
def test_bad_arguments(items, options, message):
    X, quality = items
    with pytest.raises(DiversetError, match=message):
        dv.compare(X, 5, **({"quality": quality} | options))


def test_a_list_of_queries_says_it_all(queries):
    with pytest.raises(DiversetError, match="and quality is given as well"):
        dv.compare(queries, 5, quality=[1.0])


def test_ndcg_and_precision_by_hand():
    judged = {"a": {"s": 2, "t": 1}, "b": {"s": 1}, "c": {"t": 0}}
    ideal = 2 + 1 / math.log2(3)
    assert ndcg(["b", "c", "a"], judged) == pytest.approx((1 + 2 / 2) / ideal)
    assert ndcg(["b", "c", "a"], judged, 1) == pytest.approx(1 / 2)
    assert ndcg(["a", "b"], judged) == 1.0
    assert ndcg([], judged) == 0.0
    assert ndcg(["c"], {"c": {}}) == 0.0
    assert precision(["b", "c", "a"], judged) == pytest.approx(2 / 3)
    assert precision(["b"], judged, 4) == pytest.approx(1 / 4)
    assert precision([], judged) == 0.0


def test_ndcg_agrees_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    for _ in range(20):
        grades = rng.integers(0, 4, 12)
        grades[0] = 1
        order = rng.permutation(12)
        scores = np.empty(12)
        scores[order] = -np.arange(12.0)
        expected = metrics.ndcg_score([grades], [scores], k=5)
        assert ndcg(order, grades[:, None], 5) == pytest.approx(expected)


def test_qrels(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("\ufeff1 0 a 2\n1 0 b -2\n\n2\t1\tc\t1\n2 2 c 0\n", encoding="utf-8")
    assert read_qrels(path) == {"1": {"a": {"0": 2.0}, "b": {"0": -2.0}}, "2": {"c": {"1": 1.0, "2": 0.0}}}
    for text, message in {
        "1 0 a\n": "line 1: 3 fields",
        "1 0 a 1\n1 0 b high\n": "line 2: the grade is 'high'",
        "1 0 a nan\n": "the grade is 'nan'",
        "\n": "holds no judgements",
    }.items():
        path.write_text(text)
        with pytest.raises(DiversetError, match=message):
            read_qrels(path)
    path.write_bytes(b"1 0 \xff 1\n")
    with pytest.raises(DiversetError, match="not UTF-8"):
        read_qrels(path)
    with pytest.raises(DiversetError, match="cannot read"):
        read_qrels(tmp_path / "none.txt")
