"""Selection at the edges of its input: limits met exactly, ties, few items, defaults, every form of similarity."""

import inspect
import itertools
import json
import math

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError, SizeError
from diverset.inference import map_budgeted, map_double_greedy, map_nonmonotone, map_relaxed

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 5))
Q = RNG.random(12)
WIDE = RNG.standard_normal((12, 9))


def cosines(rows):
    U = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return U @ U.T


# sizes and defaults ------------------------------------------------------------------------------------------


def test_default_arguments():
    common = {"k": 10, "diversity": 0.5, "scale": "rank", "similarity": "cosine"}
    defaults = {
        dv.select: common | {"method": "greedy", "zero_vectors": "unlike", "lower_is_better": False},
        dv.selection_law: common | {"zero_vectors": "unlike", "lower_is_better": False},
        dv.select_many: common | {"n_jobs": None},
        dv.map_exact: {"k": None, "time_limit": 60.0, "gap": 0.0},
        dv.map_local_search: {"k": None, "start": None, "max_iter": 10_000},
        map_relaxed: {"k": None, "max_iter": 100, "tol": 1e-6},
        map_nonmonotone: {"eps": 0.1},
        map_budgeted: {"rule": "probability", "fill": False},
        map_double_greedy: {"randomized": True},
    }
    for function, expected in defaults.items():
        found = inspect.signature(function).parameters
        assert {name: found[name].default for name in expected} == expected, function
    assert len(dv.select(X, quality=Q)) == 10


@pytest.mark.parametrize(
    ("k", "n", "expected"),
    [
        (0.5, 5, 2), (0.5, 4, 2), (1.0, 5, 5), (0.01, 5, 1), (0.2, 5, 1), (0.41, 5, 2), (np.float32(0.5), 4, 2),
        (0, 5, 0), (7, 5, 5), (0.5, 0, 0), (3, 0, 0),
    ],
)  # fmt: skip
def test_numbers_and_shares_of_items(k, n, expected):
    for quality in (None, np.arange(n, dtype=float)):
        assert len(dv.select(X[:n], k, quality=quality)) == expected


@pytest.mark.parametrize("k", [0.0, -0.5, 1.5, 2.0, math.nan])
def test_shares_outside_their_range(k):
    with pytest.raises(SizeError, match="a share of them above 0 and up to 1"):
        dv.select(X, k)


@pytest.mark.parametrize("diversity", [-0.01, 1.01, math.nan, None, "much"])
def test_dials_outside_their_range(diversity):
    for function in (dv.select, dv.selection_law):
        with pytest.raises(DiversetError, match="it lies between 0"):
            function(X, 2, quality=Q, diversity=diversity)
    with pytest.raises(DiversetError, match="it lies between 0"):
        dv.select_many([X], 2, diversity=diversity)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("similarity", ["cosine", "dot", "rbf"])
@pytest.mark.parametrize("method", ["greedy", "local-search", "exact", "sample"])
def test_few_items(n, similarity, method):
    found = dv.select(X[:n], 2, quality=Q[:n], similarity=similarity, method=method, rng=0)
    assert sorted(found) == sorted(set(found))
    assert len(found) == min(2, n)
    if n <= 2:
        assert sorted(found) == list(range(n))
        assert found.kept == pytest.approx(1.0)


@pytest.mark.parametrize("rows", [[[1.0, 2.0]] * 3, [[1.0, 2.0]], [[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]]])
def test_rbf_of_equal_rows_has_length_one(rows):
    """Equal rows have no typical distance; then the length is 1. Rows whose ends agree may still differ."""
    found = dv.select(rows, len(rows), similarity="rbf", diversity=1.0)
    assert len(found) == len(rows)
    S = np.array([[math.exp(-0.5 * math.dist(a, b) ** 2) for a in rows] for b in rows])
    assert found.redundancy == pytest.approx(0.0 if len(rows) < 2 else np.sort(S, axis=1)[:, -2].mean(), abs=1e-12)


# the result --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["rank", "standard", None])
@pytest.mark.parametrize("method", ["greedy", "local-search", "exact"])
@pytest.mark.parametrize("options", [{}, {"given": [3, 7]}, {"exclude": [0]}, {"given_features": WIDE[:2] + 0.5}])
def test_numbers_of_a_selection_are_their_definitions(scale, method, options):
    found = dv.select(WIDE, 4, quality=Q, scale=scale, method=method, diversity=0.6, **options)
    Y = found.indices
    shown = [*options.get("given", [])]
    available = [i for i in range(12) if i not in shown and i not in options.get("exclude", [])]
    rows = np.vstack([WIDE, options.get("given_features", WIDE[:0])])
    shown += range(12, len(rows))
    if scale == "rank":
        z = -1.2 * np.log2(1.0 + (Q[:, None] < Q).sum(axis=1))
    elif scale == "standard":
        z = (Q - Q.mean()) / Q.std()
    else:
        z = Q
    S = cosines(rows)
    together = [*shown, *Y]
    volume = np.linalg.slogdet(S[np.ix_(together, together)])[1] - np.linalg.slogdet(S[np.ix_(shown, shown)])[1]
    assert found.objective == pytest.approx(0.4 * z[Y].sum() + 0.6 * volume, rel=1e-9)
    assert found.gains.sum() == pytest.approx(found.objective, rel=1e-12)
    assert found.log_det == pytest.approx(np.linalg.slogdet(S[np.ix_(Y, Y)])[1], rel=1e-9)
    q = Q[available]
    top = np.sort(q)[::-1][:4].mean()
    assert found.kept == pytest.approx((Q[Y].mean() - q.mean()) / (top - q.mean()), rel=1e-9)

    def redundancy(items):
        block = S[np.ix_(items, items)] - 2.0 * np.eye(len(items))
        return np.clip(block.max(axis=1), 0.0, 1.0).mean()

    assert found.redundancy == pytest.approx(redundancy(Y), rel=1e-9)
    best = sorted(available, key=lambda i: -Q[i])[:4]
    assert found.redundancy_before == pytest.approx(redundancy(best), rel=1e-9)
    if method == "exact":
        values = []
        for A in itertools.combinations(available, 4):
            both = [*shown, *A]
            volume = np.linalg.slogdet(S[np.ix_(both, both)])[1] - np.linalg.slogdet(S[np.ix_(shown, shown)])[1]
            values.append(0.4 * z[list(A)].sum() + 0.6 * volume)
        assert found.objective == pytest.approx(max(values), rel=1e-9)
        assert found.upper_bound == pytest.approx(max(values), rel=1e-9)
        assert found.gap == pytest.approx(0.0, abs=1e-9)


FORMS = {
    "cosine": (WIDE, "cosine", cosines(WIDE)),
    "dot": (WIDE, "dot", WIDE @ WIDE.T),
    "float32": (WIDE.astype(np.float32), "cosine", cosines(WIDE.astype(np.float32).astype(float))),
    "sparse cosine": (scipy.sparse.csr_array(WIDE), "cosine", cosines(WIDE)),
    "sparse dot": (scipy.sparse.csr_array(WIDE), "dot", WIDE @ WIDE.T),
    "precomputed": (WIDE @ WIDE.T, "precomputed", WIDE @ WIDE.T),
    "callable": (WIDE, lambda A, B: (1.0 + A @ B.T) ** 2, (1.0 + WIDE @ WIDE.T) ** 2),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ["greedy", "local-search", "sample"])
@pytest.mark.parametrize("given", [None, [4]])
def test_every_form_of_similarity_has_the_same_definitions(form, method, given):
    features, similarity, S = FORMS[form]
    found = dv.select(
        features, 4, quality=Q, scale=None, similarity=similarity, method=method, diversity=0.3, given=given, rng=1
    )
    Y, shown = found.indices.tolist(), given or []
    tolerance = 1e-4 if form == "float32" else 1e-8
    assert len(set(Y) - set(shown)) == 4
    assert found.log_det == pytest.approx(np.linalg.slogdet(S[np.ix_(Y, Y)])[1], rel=tolerance)
    for t in range(4):
        before, after = [*shown, *Y[:t]], [*shown, *Y[: t + 1]]
        volume = np.linalg.slogdet(S[np.ix_(after, after)])[1] - np.linalg.slogdet(S[np.ix_(before, before)])[1]
        assert found.gains[t] == pytest.approx(0.7 * Q[Y[t]] + 0.3 * volume, rel=tolerance)
    root = np.sqrt(np.diag(S))
    block = (S / np.outer(root, root))[np.ix_(Y, Y)] - 2.0 * np.eye(4)
    assert found.redundancy == pytest.approx(np.clip(block.max(axis=1), 0.0, 1.0).mean(), rel=tolerance)
    law = dv.selection_law(features, 4, quality=Q, scale=None, similarity=similarity, diversity=0.3, given=given)
    other = [i for i in range(12) if i not in Y and i not in shown][:4]
    logs = []
    for A in (Y, other):
        both = [*shown, *A]
        logs.append(0.7 / 0.3 * Q[A].sum() + np.linalg.slogdet(S[np.ix_(both, both)])[1])
    assert law.log_prob(sorted(Y)) - law.log_prob(other) == pytest.approx(logs[0] - logs[1], rel=100 * tolerance)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "float32"])
@pytest.mark.parametrize("given", [None, [4, 9]])
def test_similarities_of_all_items_to_the_picks(form, given):
    """By two baselines, which read the matrix by columns: maximal marginal relevance and max-sum, by definition."""
    features, similarity, S = FORMS[form]
    options = {"quality": Q, "scale": None, "similarity": similarity, "diversity": 0.4, "given": given}
    found = dv.baselines.mmr(features, 4, **options)
    picked, shown = [], given or []
    for t in range(4):
        before = [*shown, *picked]
        scores = {
            i: 0.6 * Q[i] - 0.4 * (max(S[i, j] for j in before) if before else 0.0)
            for i in range(12)
            if i not in before
        }
        picked.append(max(scores, key=scores.get))
        assert found.gains[t] == pytest.approx(scores[picked[-1]], rel=1e-9)
    assert found.indices.tolist() == picked
    spread = dv.baselines.max_sum(features, 4, **options)
    Y = spread.indices.tolist()
    pairs = [(i, j) for i, j in itertools.combinations([*shown, *Y], 2) if not (i in shown and j in shown)]
    distance = np.mean([1.0 - S[i, j] for i, j in pairs])
    assert spread.objective == pytest.approx(0.6 * Q[Y].mean() + 0.4 * distance, rel=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "limits",
    [
        {"costs": 1.0 + Q, "budget": 4.5},
        {"groups": np.arange(12) % 3, "per_group": 1},
        {"groups": np.arange(12) % 3, "per_group": 2, "costs": 1.0 + Q, "budget": 6.0, "min_quality": 0.2},
        {"exclude": [0, 11], "given": [5], "window": 2},
    ],
)
def test_rows_shown_elsewhere_beside_every_limit(limits, sparse):
    """The same as items of a longer list that were shown, which no limit concerns."""
    shown = np.random.default_rng(8).standard_normal((3, 9))
    rows, more = (scipy.sparse.csr_array(A) if sparse else A for A in (WIDE, np.vstack([WIDE, shown])))
    found = dv.select(rows, 5, quality=Q, scale=None, given_features=shown, **limits)
    longer = dict(limits)
    longer["given"] = [*limits.get("given", []), 12, 13, 14]
    for name, value in (("costs", 1.0), ("groups", 9)):
        if name in limits:
            longer[name] = np.append(limits[name], [value] * 3)
    expected = dv.select(more, 5, quality=np.append(Q, [0.0] * 3), scale=None, **longer)
    assert found.indices.tolist() == expected.indices.tolist()
    assert found.gains == pytest.approx(expected.gains, rel=1e-9)
    assert len(found) > 1


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_scores_and_costs_that_are_not_finite_are_named(value):
    bad = Q.copy()
    bad[[3, 7]] = value
    with pytest.raises(DiversetError, match=r"quality\[3\] is .*use -inf to exclude an item"):
        dv.select(X, 3, quality=bad)
    for wrong in (value, -math.inf):
        costs = np.ones(12)
        costs[5] = wrong
        with pytest.raises(DiversetError, match=r"costs\[5\] is .*every entry must be finite"):
            dv.select(X, 3, quality=Q, costs=costs, budget=3.0)
    for wrong in (Q[:11], np.append(Q, 1.0)):
        with pytest.raises(DiversetError, match=f"quality has {len(wrong)} entries for 12 items"):
            dv.select(X, 3, quality=wrong)
    with pytest.raises(DiversetError, match="quality is complex"):
        dv.select(X, 3, quality=Q + 1j)


def test_records_and_text_of_a_selection():
    found = dv.select(X, 3, quality=Q)
    rows = found.records()
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert [row["index"] for row in rows] == found.indices.tolist()
    assert [row["gain"] for row in rows] == found.gains.tolist()
    shown = found.to_dict()
    assert json.loads(json.dumps(shown))["picks"] == rows
    assert shown["kept"] == found.kept
    wide = np.random.default_rng(1).standard_normal((30, 25))
    for k in (20, 21):
        text = str(dv.select(wide, k)).splitlines()[0]
        assert text.startswith(f"{k} picks: ")
        assert text.endswith(", ...") == (k > 20)
        assert text.count(",") == (19 if k == 20 else 20)
    over = dv.select(X[:, :2], 4)
    assert over.log_det == -math.inf
    assert over.to_dict()["log_det"] is None
    assert over.gap == math.inf
    assert np.asarray(found).tolist() == list(found) == found.indices.tolist()


@pytest.mark.parametrize(
    ("n", "k", "scores", "expected"),
    [
        (4, 2, [4.0, 3.0, 2.0, 1.0], "the picks are the best 2"),
        (2, 2, [4.0, 3.0], None),  # all items are picked
        (4, 1, [2.0, 3.0, 1.0, 0.0], None),  # one of four is above
        (4, 1, [2.0, 4.0, 3.0, 1.0], "no pick is among the better half"),  # two of four are above
        (5, 1, [3.0, 5.0, 4.0, 2.0, 1.0], None),  # two of five are above
        (1, 1, [3.0], None),
    ],
)
def test_notes_about_the_places_of_the_picks(n, k, scores, expected):
    """Only item 0 has a direction of its own, or a larger norm: it is picked first for its volume."""
    rows = np.eye(n)
    rows[0] *= 1e6
    for similarity in ("dot", "precomputed"):
        S = rows if similarity == "dot" else rows @ rows.T
        found = dv.select(S, k, quality=scores, similarity=similarity, scale=None, diversity=0.5)
        assert found.indices[0] == 0
        assert [note for note in found.notes if expected and note.startswith(expected)] == list(found.notes)
        assert bool(found.notes) == (expected is not None)


# limits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dial", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("form", ["dense", "sparse", "precomputed"])
def test_budgets_caps_and_thresholds_that_are_met_exactly(form, dial):
    """Items 0 to 3 are orthogonal, so that each pick is the best one that the limits allow."""
    S = np.eye(4)
    rows = {"dense": S, "sparse": scipy.sparse.csr_array(S), "precomputed": S}[form]
    options = {
        "quality": [4.0, 3.0, 2.0, 1.0], "diversity": dial, "scale": None,
        "similarity": "precomputed" if form == "precomputed" else "cosine",
    }  # fmt: skip

    def picked(**more):
        return sorted(dv.select(rows, 4, **options, **more))

    assert picked(costs=[1.0, 1.0, 1.0, 1.0], budget=2.0) == [0, 1]
    assert picked(costs=[1.0, 1.0, 1.0, 1.0], budget=1.999) == [0]
    assert picked(costs=[5.0, 5.0, 5.0, 5.0], budget=4.0) == []
    assert picked(costs=[5.0, 4.0, 5.0, 5.0], budget=4.0) == [1]
    assert picked(groups=["a", "a", "b", "b"], per_group=1) == [0, 2]
    assert picked(groups=["a", "a", "b", "b"], per_group=2) == [0, 1, 2, 3]
    assert picked(min_quality=2.0) == [0, 1, 2]
    assert picked(min_quality=2.0, lower_is_better=True) == [2, 3]
    assert picked(min_quality=4.5) == []
    assert picked(exclude=[0], given=[1]) == [2, 3]
    for wrong in ({"costs": [1.0, 0.0, 1.0, 1.0], "budget": 1.0}, {"costs": [1.0, 1.0, 1.0, -1.0], "budget": 1.0}):
        with pytest.raises(DiversetError, match="costs must be positive"):
            picked(**wrong)
    for wrong in ({"costs": np.ones(4)}, {"budget": 1.0}, {"groups": "abcd"}, {"per_group": 1}):
        with pytest.raises(DiversetError, match="give both or neither"):
            picked(**wrong)


@pytest.mark.parametrize("form", ["dense", "sparse", "precomputed", "function"])
def test_items_are_ranked_by_gain_minus_log_cost(form):
    S = np.eye(3)
    rows = {"sparse": scipy.sparse.csr_array(S)}.get(form, S)
    similarity = {"precomputed": "precomputed", "function": lambda A, B: A @ B.T}.get(form, "cosine")
    costs = np.array([8.0, 1.0, 2.0])
    found = dv.select(
        rows, 3, quality=[1.0, 0.0, 0.5], scale=None, similarity=similarity, costs=costs, budget=11.0, diversity=0.5
    )
    keys = 0.5 * np.array([1.0, 0.0, 0.5]) - 0.5 * np.log(costs)
    assert found.indices.tolist() == np.argsort(-keys).tolist()
    # The gains are those of the objective, without the costs.
    assert found.gains == pytest.approx(0.5 * np.array([1.0, 0.0, 0.5])[found.indices])


@pytest.mark.parametrize("window", [0, 1, 2, 5])
def test_windows_by_hand(window):
    d = 0.7
    found = dv.select(X, 5, quality=Q, scale=None, diversity=d, window=window)
    S = cosines(X)
    picked = []
    for _ in range(5):
        recent = picked[max(len(picked) - window, 0) :] if window else []
        gains = {}
        for i in range(12):
            if i not in picked:
                both = [*recent, i]
                volume = np.linalg.slogdet(S[np.ix_(both, both)])[1] - np.linalg.slogdet(S[np.ix_(recent, recent)])[1]
                gains[i] = (1 - d) * Q[i] + d * volume
        best = max(gains, key=gains.get)
        picked.append(best)
        assert found.gains[len(picked) - 1] == pytest.approx(gains[best], abs=1e-9)
    assert found.indices.tolist() == picked


def test_minus_infinity_and_ties_in_ranks():
    scores = np.array([2.0, -np.inf, 2.0, 1.0, 5.0])
    found = dv.select(np.eye(5), 5, quality=scores, diversity=0.5)
    assert sorted(found) == [0, 2, 3, 4]
    # Ranks 1, 2.5, 2.5, 4: equal scores share their mean rank.
    expected = {4: 0.0, 0: -1.2 * math.log2(2.5), 2: -1.2 * math.log2(2.5), 3: -2.4}
    assert found.gains == pytest.approx([0.5 * expected[i] for i in found])
