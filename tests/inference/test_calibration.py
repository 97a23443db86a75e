"""Scores on a common scale, the share of quality to keep, what the result says, and what people pass."""

import math
import pickle
import warnings
from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset import baselines
from diverset.errors import DiversetError, DiversetWarning, LabelError, SizeError
from diverset.inference import inputs

RNG = np.random.default_rng(0)
METHODS = {"select": dv.select, **{name: getattr(baselines, name) for name in baselines.__all__ if name != "random"}}


def clustered(n=120, D=16, seed=0):
    """Items in eight clusters, with scores that differ in size from 0.01 to 100."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, D))[rng.integers(0, 8, size=n)] + 0.4 * rng.standard_normal((n, D))
    return X, np.exp(2.0 * rng.standard_normal(n))


@pytest.mark.parametrize("scale", ["rank", "standard"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(5))
def test_picks_do_not_depend_on_the_unit_of_scores(method, scale, seed):
    X, q = clustered(seed=seed)
    pick = METHODS[method]
    expected = pick(X, 10, quality=q, scale=scale).indices.tolist()
    for changed in (100.0 * q + 7.0, q / 1000.0 - 3.0):
        assert pick(X, 10, quality=changed, scale=scale).indices.tolist() == expected
    if scale == "rank":
        order = np.argsort(np.argsort(q))
        for changed in (np.log(q), order, order - 200, -1.0 / q, 1.0 / (61.0 + 120.0 - order)):
            assert pick(X, 10, quality=changed, scale=scale).indices.tolist() == expected
    else:
        # The raw objective does depend on it: the test above can fail.
        picks = {tuple(pick(X, 10, quality=c * q, scale=None, diversity=0.7)) for c in (1e-3, 1.0, 1e3)}
        assert len(picks) > 1 or method == "top_k"


def test_the_law_does_not_depend_on_the_unit_either():
    X, q = clustered(12, 4)
    law = dv.selection_law(X, 3, quality=q)
    np.testing.assert_allclose(
        dv.selection_law(X, 3, quality=100.0 * q + 7.0).inclusion_probabilities, law.inclusion_probabilities, rtol=1e-12
    )


def test_the_scales_are_their_formulas():
    q = np.array([3.0, 1.0, 3.0, -math.inf, 7.0])
    np.testing.assert_allclose(inputs.calibrated(q, "rank"), -1.2 * np.log2([2.5, 4.0, 2.5, math.inf, 1.0]))
    known = q[q > -math.inf]
    expected = (q - known.mean()) / known.std()
    np.testing.assert_allclose(inputs.calibrated(q, "standard"), expected, rtol=1e-15)
    assert inputs.calibrated(q, None) is q
    for scale in ("rank", "standard"):
        np.testing.assert_array_equal(np.ptp(inputs.calibrated(np.full(4, 0.1), scale)), 0.0)
        assert len(inputs.calibrated(np.zeros(0), scale)) == 0
    huge = np.array([1e308, -1e308, 0.0])
    np.testing.assert_allclose(inputs.calibrated(huge, "standard"), np.array([1.0, -1.0, 0.0]) * math.sqrt(1.5))
    with pytest.raises(DiversetError, match="scale is 'z'"):
        dv.select(np.eye(3), 2, quality=[1, 2, 3], scale="z")


def test_standard_scores_are_scores_passed_by_hand():
    X, q = clustered()
    z = (q - q.mean()) / q.std()
    by_hand = dv.select(X, 10, quality=z, scale=None)
    np.testing.assert_array_equal(dv.select(X, 10, quality=q, scale="standard").indices, by_hand.indices)


@pytest.mark.parametrize("theirs", [0.1, 0.5, 0.9])
def test_pyversitys_dial_maps_to_ours(theirs):
    """Its DPP maximises 2 (1 - p) sum z + log det S for the dial p, with z the standardised scores."""
    X, q = clustered(60)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    weights = np.exp((1.0 - theirs) * (q - q.mean()) / q.std())
    L = weights[:, None] * (U @ U.T) * weights
    expected = dv.map_greedy(dv.DPP(L), 8).indices
    ours = dv.select(X, 8, quality=q, scale="standard", diversity=1.0 / (1.0 + 2.0 * (1.0 - theirs)))
    np.testing.assert_array_equal(ours.indices, expected)


# keep --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8, 0.9, 1.0])
def test_keep_is_met_or_explained(share):
    for seed in range(20):
        X, q = clustered(80, seed=seed)
        found = dv.select(X, 8, quality=q, keep=share)
        best = np.sort(q)[-8:].mean()
        assert found.kept == pytest.approx((q[found].mean() - q.mean()) / (best - q.mean()))
        assert found.kept >= share - 1e-12
        assert found.kept <= share + 0.02 or any("was requested" in note for note in found.notes)
        assert len(set(found)) == 8
        assert found.gains.sum() == pytest.approx(found.objective, abs=1e-12)


def test_keeping_less_is_more_diverse():
    X, q = clustered()
    volumes = [dv.select(X, 8, quality=q, keep=share).log_det for share in (1.0, 0.9, 0.7, 0.4)]
    assert volumes == sorted(volumes)
    np.testing.assert_array_equal(dv.select(X, 8, quality=q, keep=1.0).indices.tolist(), np.argsort(-q)[:8])
    shifted = dv.select(X, 8, quality=1000.0 * q - 5.0, keep=0.8)
    np.testing.assert_array_equal(shifted.indices, dv.select(X, 8, quality=q, keep=0.8).indices)


@pytest.mark.parametrize("seed", range(8))
def test_the_exchange_is_the_best_one(seed):
    """Of all sets that differ in one item and keep the share, the one of largest volume, by enumeration."""
    X, q = clustered(40, 6, seed=seed)
    problem = dv.inference.problem.read_problem(
        X, 5, quality=q, similarity="cosine", scale="rank", given=[7], exclude=[11]
    )
    picks = problem.greedy(0.9, 5, problem.given, problem.limits)
    share, width = problem.kept(picks.positions) + 0.05, 0.3
    found = problem.exchange(0.9, picks, share, width)
    S = dv.kernels.cosine(X)
    best, value = None, -math.inf
    for a in range(5):
        for j in set(range(40)) - set(picks.positions.tolist()) - {7, 11}:
            Y = np.where(np.arange(5) == a, j, picks.positions)
            base = [*Y.tolist(), 7]
            if share <= problem.kept(Y) <= share + width and np.linalg.slogdet(S[np.ix_(base, base)])[1] > value:
                best, value = Y, np.linalg.slogdet(S[np.ix_(base, base)])[1]
    np.testing.assert_array_equal(found.positions, best)
    assert problem.exchange(0.9, picks, 5.0, 0.1) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": 1.5, "quality": [1, 2, 3]}, "keep is 1.5"),
        ({"keep": 0.9}, "without quality"),
        ({"keep": 0.9, "quality": [1, 2, 3], "method": "exact"}, "keep needs method"),
        ({"query": [0.0, 0.0, 0.0]}, "query is all zeros"),
        ({"query": [1.0]}, "query has 1 entries for 3"),
        ({"query": [1.0, 0.0, 0.0], "quality": [1, 2, 3]}, "both given"),
        ({"given_features": [[1.0]]}, "given_features has 1 columns and features has 3"),
        ({"given_features": np.eye(3), "similarity": "precomputed"}, "given_features needs rows"),
        ({"quality": [1, 2, math.inf]}, r"quality\[2\] is inf; use -inf to exclude"),
        ({"quality": [1, "b", "c"]}, r"quality\[1\] is 'b'; every entry must be a number"),
        ({"quality": [1, None, 3]}, r"quality\[1\] is None; every entry must be a number"),
        ({"quality": [Decimal(1), 2, 3]}, "quality has dtype object; turn it into an array of floats"),
        ({"quality": [1j, 2, 3]}, "quality is complex; it must hold real numbers"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(DiversetError, match=message) as caught:
        dv.select(np.eye(3), 2, **options)
    if "quality" in options:
        assert type(caught.value) is DiversetError  # scores are no kernel


# one objective -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["greedy", "local-search", "exact", "sample"])
@pytest.mark.parametrize("given", [None, [2], [2, 7]])
@pytest.mark.parametrize("scale", ["rank", None])
def test_objective_gains_and_bound_agree(method, given, scale):
    X, q = clustered(14, 6, seed=1)
    d = 0.6
    found = dv.select(X, 4, quality=q, given=given, method=method, diversity=d, scale=scale, rng=0)
    S, z = dv.kernels.cosine(X), inputs.calibrated(q, scale)
    shown = [] if given is None else given
    both = [*found, *shown]
    volume = np.linalg.slogdet(S[np.ix_(both, both)])[1] - np.linalg.slogdet(S[np.ix_(shown, shown)])[1]
    assert found.objective == pytest.approx((1 - d) * z[found].sum() + d * volume, abs=1e-9)
    assert found.gains.sum() == pytest.approx(found.objective, abs=1e-12)
    if method == "exact":
        assert found.upper_bound >= found.objective
        assert found.gap < 1e-6


def test_the_bound_is_one():
    """No set exceeds the bound of an exact search, by enumeration, with an item shown."""
    from itertools import combinations

    X, q = clustered(9, 4, seed=2)
    found = dv.select(X, 3, quality=q, given=[2], method="exact", scale=None)
    S = dv.kernels.cosine(X)
    value = max(
        0.5 * q[list(Y)].sum() + 0.5 * np.linalg.slogdet(S[np.ix_([*Y, 2], [*Y, 2])])[1]
        for Y in combinations([i for i in range(9) if i != 2], 3)
    )
    assert found.objective == pytest.approx(value, abs=1e-9)
    assert found.upper_bound == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("level", [-740.0, -760.0, 0.0, 1e6])
def test_draws_do_not_depend_on_the_level_of_raw_scores(level):
    X = RNG.standard_normal((12, 5))
    q = level + np.arange(12) / 10.0
    draws = {tuple(dv.select(X, 3, quality=q, scale=None, method="sample", rng=seed)) for seed in range(20)}
    assert len(draws) > 10
    reference = [dv.select(X, 3, quality=q - level, scale=None, method="sample", rng=s).indices for s in range(5)]
    for seed, expected in enumerate(reference):
        found = dv.select(X, 3, quality=q, scale=None, method="sample", rng=seed)
        np.testing.assert_array_equal(found.indices, expected)


# what the result says ----------------------------------------------------------------------------------------------


def test_the_result_says_what_was_done():
    X, q = clustered()
    found = dv.select(X, 10, quality=q, diversity=0.9)
    top = dv.select(X, 10, quality=q, diversity=0.0)
    assert top.kept == 1.0
    assert found.kept < 1.0
    assert found.redundancy < found.redundancy_before == pytest.approx(top.redundancy)
    S = dv.kernels.cosine(X[found])
    np.fill_diagonal(S, -1.0)
    assert found.redundancy == pytest.approx(S.max(axis=1).mean())
    assert found.scale == "rank"
    assert found.diversity == 0.9
    assert "kept" in str(found)
    again = pickle.loads(pickle.dumps(found))
    assert (again.kept, again.redundancy, again.redundancy_before) == pytest.approx(
        (found.kept, found.redundancy, found.redundancy_before)
    )
    np.testing.assert_array_equal(again.indices, found.indices)
    assert len(pickle.dumps(found)) < X.nbytes / 4
    assert dv.select(X, 10).kept is None


def test_one_warning_where_diversity_had_no_effect(monkeypatch):
    monkeypatch.setattr(inputs, "_given", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        first = dv.select(np.eye(6), 2, quality=np.arange(6.0))
        second = dv.select(np.eye(6), 2, quality=np.arange(6.0))
        worst = dv.select(np.eye(6), 1, quality=[0, 1, 2, 3, 4, 5], diversity=1.0)
    assert [w.category for w in caught] == [DiversetWarning] * 2
    assert "best 2 by quality alone" in first.notes[0]
    assert second.notes == first.notes
    assert "no pick is among the better half" in worst.notes[0]


# what people pass --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, np.float32, scipy.sparse.csr_array])
@pytest.mark.parametrize("dial", [0.3, 1.0])
def test_a_row_of_zeros_is_unlike_every_other(form, dial):
    X = np.vstack([RNG.standard_normal((10, 4)), np.zeros((2, 4))])
    private = np.hstack([X, np.zeros((12, 2))])  # each row of zeros gets a direction of its own
    private[10, 4] = private[11, 5] = 1.0
    q = RNG.random(12)
    for k in (3, 6, 8, 12):
        found, expected = (dv.select(each, k, quality=q, diversity=dial) for each in (form(X), private))
        rank = expected.rank_spent or k
        assert found.indices[:rank].tolist() == expected.indices[:rank].tolist()
        np.testing.assert_allclose(found.gains[:rank], expected.gains[:rank], atol=1e-6)
        assert len(set(found)) == k
    assert any("2 items, item 10 the first, have a vector of zeros" in note for note in found.notes)
    with pytest.raises(DiversetError, match=r"features\[10\] is all zeros"):
        dv.select(form(X), 3, quality=q, zero_vectors="raise")
    shown = dv.select(form(X), 3, quality=q, given=[10])
    assert shown.indices.tolist() == dv.select(private, 3, quality=q, given=[10]).indices.tolist()
    sampled = dv.selection_law(form(X), 3, quality=q).inclusion_probabilities
    expected = dv.selection_law(private, 3, quality=q).inclusion_probabilities
    np.testing.assert_allclose(sampled, expected, atol=1e-6)
    for name in ("mmr", "max_sum", "max_min", "facility_location"):
        pick = getattr(baselines, name)
        assert pick(form(X), 5, quality=q).indices.tolist() == pick(private, 5, quality=q).indices.tolist()


@pytest.mark.parametrize("scale", [1e-160, 1e-200, 1e160, 1e200])
def test_rows_of_any_length_have_a_direction(scale):
    X = np.diag([scale, 1.0, scale, 1.0])
    assert sorted(dv.select(X, 3, quality=[4, 3, 2, 1])) == [0, 1, 2]
    assert sorted(dv.select(scipy.sparse.csr_array(X), 3, quality=[4, 3, 2, 1])) == [0, 1, 2]


def test_minus_infinity_excludes():
    X, q = clustered(20)
    q[[3, 5]] = -math.inf
    for k, options in ((18, {}), (10, {"diversity": 1.0}), (10, {"scale": None})):
        found = dv.select(X, k, quality=q, **options)
        assert len(found) == k
        assert not {3, 5} & set(found)
    kept = dv.select(X, 6, quality=q)
    np.testing.assert_array_equal(
        np.delete(np.arange(20), [3, 5])[dv.select(np.delete(X, [3, 5], 0), 6, quality=np.delete(q, [3, 5]))],
        kept.indices,
    )


def test_distances_are_better_when_lower():
    X, distance = clustered(30)
    expected = dv.select(X, 6, quality=-distance)
    np.testing.assert_array_equal(dv.select(X, 6, quality=distance, lower_is_better=True).indices, expected.indices)
    near = dv.select(X, 30, quality=distance, lower_is_better=True, min_quality=1.0)
    assert (distance[near] <= 1.0).all()
    assert len(near) == (distance <= 1.0).sum()


@pytest.mark.parametrize("form", [np.asarray, np.float32, scipy.sparse.csr_array])
def test_a_query_gives_the_quality(form):
    X, _ = clustered(30)
    query = RNG.standard_normal(16)
    cosine = (X @ query) / np.linalg.norm(X, axis=1)
    np.testing.assert_array_equal(dv.select(form(X), 6, query=query).indices, dv.select(X, 6, quality=cosine).indices)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("similarity", ["cosine", "dot", "rbf"])
def test_rows_shown_elsewhere_repel_like_items_shown(form, similarity):
    X, q = clustered(30)
    q[25:] = -math.inf
    inside = dv.select(form(X), 6, quality=q, given=[25, 26], similarity=similarity)
    if similarity == "rbf":
        scale = dv.kernels.median_heuristic(X[:27])
        similarity = lambda A, B: dv.kernels.rbf(A, B, length_scale=scale)  # noqa: E731
        inside = dv.select(X, 6, quality=q, given=[25, 26], similarity=similarity)
        form = np.asarray
    outside = dv.select(form(X)[:25], 6, quality=q[:25], given_features=form(X)[25:27], similarity=similarity)
    np.testing.assert_array_equal(outside.indices, inside.indices)
    np.testing.assert_allclose(outside.gains, inside.gains, atol=1e-9)


def test_masks_labels_and_shares():
    pd = pytest.importorskip("pandas")
    X, q = clustered(30)
    expected = dv.select(X, 6, quality=q, given=[1, 4], exclude=[9])
    mask = np.isin(np.arange(30), [1, 4])
    frame = pd.DataFrame(X, index=[f"item {i}" for i in range(30)])
    for given in (mask, mask.tolist(), pd.Series(mask), [1, 4], np.array([4, 1])):
        found = dv.select(X, 6, quality=q, given=given, exclude=[9])
        np.testing.assert_array_equal(found.indices, expected.indices)
    for given in (["item 1", "item 4"], frame.index[[1, 4]], np.array(["item 4", "item 1"])):
        found = dv.select(frame, 6, quality=q, given=given, exclude=["item 9"])
        np.testing.assert_array_equal(found.indices, expected.indices)
        assert found.labels.tolist() == [f"item {i}" for i in expected]
    with pytest.raises(LabelError, match="given names 'item 99'"):
        dv.select(frame, 6, given=["item 99"])
    with pytest.raises(LabelError, match="mask of 3 values for 30"):
        dv.select(X, 6, given=[True, False, True])
    assert len(dv.select(X, 0.2)) == 6
    assert len(dv.select(X, 0.001)) == 1
    with pytest.raises(SizeError, match=r"k is 1\.5"):
        dv.select(X, 1.5)


def test_columns_of_lists():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    X = clustered(12)[0].astype(np.float32)
    expected = dv.select(X, 4).indices
    lists = X.tolist()
    flat = pa.array(X.ravel())
    columns = [
        pd.Series(list(X)),
        pd.DataFrame({"vector": list(X)}),
        pl.Series(lists),
        pl.Series(lists, dtype=pl.Array(pl.Float32, 16)),
        pl.DataFrame({"vector": lists}),
        pa.array(lists),
        pa.chunked_array([pa.array(lists[:5]), pa.array(lists[5:])]),
        pa.FixedSizeListArray.from_arrays(flat, 16),
    ]
    for column in columns:
        np.testing.assert_array_equal(dv.select(column, 4).indices, expected)
    for ragged in (pd.Series([[1.0], [1.0, 2.0]]), pa.array([[1.0], [1.0, 2.0]])):
        with pytest.raises(DiversetError, match="length"):
            dv.select(ragged, 1)


def test_taking_rows():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    found = dv.select(np.eye(4), 2, quality=[1, 4, 2, 3])
    assert found.indices.tolist() == [1, 3]
    for data in (np.arange(4), list(range(4)), pd.Series(range(4)), pl.Series(range(4)), tuple(range(4))):
        assert [int(value) for value in found.take(data)] == [1, 3]
    assert found.take(pd.DataFrame({"x": range(4)}))["x"].tolist() == [1, 3]
    assert found.take(pl.DataFrame({"x": range(4)}))["x"].to_list() == [1, 3]
    assert found.take(pa.table({"x": range(4)}))["x"].to_pylist() == [1, 3]
    assert found.take(scipy.sparse.eye_array(4, format="csr")).toarray().argmax(axis=1).tolist() == [1, 3]


# many lists --------------------------------------------------------------------------------------------------------


# what peers promise ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lambda_mult", "expected"), [(0.0, [0, 2]), (1.0, [0, 1])])
def test_mmr_beside_a_vector_of_zeros(lambda_mult, expected):
    """Two copies of the query and a vector of zeros, as in LangChain's own tests of maximal_marginal_relevance."""
    query = RNG.random(5)
    found = baselines.mmr([query, query, np.zeros(5)], 2, quality=[1, 1, 0], diversity=1.0 - lambda_mult, scale=None)
    assert found.indices.tolist() == expected


def test_mmr_changes_its_second_pick_where_langchain_does():
    """Vectors at 30, 45 and 75 degrees from the query: the third comes second while 0.71 l - 0.97 (1 - l) is less."""
    angles = np.radians([30.0, 45.0, 75.0])
    X, relevance = np.column_stack([np.cos(angles), np.sin(angles)]), np.cos(angles)
    gap = math.cos(math.radians(15)) - math.cos(math.radians(45))  # what the second is nearer to the first by
    turn = gap / (gap + relevance[1] - relevance[2])
    for lambda_mult, expected in ((turn - 0.001, [0, 2]), (turn + 0.001, [0, 1])):
        found = baselines.mmr(X, 2, quality=relevance, diversity=1.0 - lambda_mult, scale=None)
        assert found.indices.tolist() == expected


@pytest.mark.parametrize("theirs", [0.0, 0.5, 1.0])
def test_select_holds_what_pyversity_tests_of_its_dpp(theirs):
    """Between 1 and k picks, gains that fall, nothing from nothing; orthogonal items come by score."""
    dial = 0.0 if theirs == 0.0 else 1.0 / (1.0 + 2.0 * (1.0 - theirs))
    options = {"scale": "standard", "diversity": dial}
    X, q = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=np.float32), np.array([0.1, 0.2, 0.3], dtype=np.float32)
    for k in (2, 3):
        found = dv.select(X, k, quality=q, **options)
        assert len(found) == k
        if found.rank_spent is None:
            assert (np.diff(found.gains) <= 1e-7).all()
    assert len(dv.select(np.empty((0, 3), dtype=np.float32), 3, quality=[], **options)) == 0
    by_score = dv.select(np.eye(4, dtype=np.float32), 2, quality=[0.3, 0.7, 0.1, 0.5], **options)
    assert by_score.indices.tolist() == ([1, 3] if theirs < 1.0 else [0, 1])


def test_the_share_kept_is_within_reach_or_the_note_says_what_it_is():
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(6, 40))
        X, q = rng.standard_normal((n, 4)), rng.random(n)
        for share in (0.6, 0.8, 0.9):
            found = dv.select(X, 4, quality=q, keep=share)
            noted = [note for note in found.notes if note.startswith("the picks keep")]
            assert len(noted) == (not share <= found.kept <= share + 0.02)
            assert all(f"keep {found.kept:.2f} of quality where {share:.2f}" in note for note in noted)


def test_the_law_of_selections_needs_some_diversity():
    X, q = np.random.default_rng(3).standard_normal((8, 4)), np.arange(8.0)
    with pytest.raises(DiversetError, match="diversity is 0"):
        dv.selection_law(X, 3, quality=q, diversity=0.0)
    # At 1 the scores do not count.
    law = dv.selection_law(X, 3, quality=q, diversity=1.0)
    plain = dv.selection_law(X, 3, diversity=1.0)
    np.testing.assert_allclose(law.inclusion_probabilities, plain.inclusion_probabilities, atol=1e-12)
