"""Greedy over blocks picks what greedy in memory picks, one for one."""

import numpy as np
import pytest

import diverset as dv
from diverset.distributed import greedy as engine
from diverset.errors import DiversetError, KernelError

da = pytest.importorskip("dask.array", reason="Dask is not installed")

N = 3000


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 12)) * (1.0 + rng.random((N, 1)))
    X[1500:1600] = X[:100]  # copies: ties
    return {
        "X": X,
        "quality": rng.random(N),
        "costs": rng.random(N) + 0.2,
        "groups": rng.integers(0, 40, N),
    }


CASES = {
    "plain": {"k": 8},
    "past the rank": {"k": 30},
    "dot": {"k": 20, "similarity": "dot"},
    "quality": {"k": 10, "quality": True},
    "much quality, past the rank": {"k": 25, "quality": True, "diversity": 0.1},
    "volume only": {"k": 10, "quality": True, "diversity": 1.0},
    "top": {"k": 10, "quality": True, "diversity": 0.0, "exclude": [4], "min_quality": 0.1},
    "given and excluded": {"k": 9, "quality": True, "given": [3, 2000], "exclude": [5, 6]},
    "given, past the rank": {"k": 15, "given": [3, 2000]},
    "budget": {"k": 30, "quality": True, "costs": True, "budget": 5.0},
    "groups": {"k": 50, "quality": True, "groups": True, "per_group": 1},
    "window": {"k": 6, "quality": True, "window": 2, "groups": True, "per_group": 1},
    "few above the bar": {"k": 9, "quality": True, "min_quality": 0.999},
    "none": {"k": 0},
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", CASES)
def test_picks_are_those_in_memory(data, case, dtype):
    X = data["X"].astype(dtype)
    arguments = {name: data[name] if value is True else value for name, value in CASES[case].items()}
    here = dv.select(X, **arguments)
    if "quality" in arguments:
        arguments["quality"] = da.from_array(arguments["quality"], chunks=999)
    there = dv.select(da.from_array(X, chunks=(431, 7)), **arguments)
    np.testing.assert_array_equal(there.indices, here.indices)
    np.testing.assert_array_equal(there.gains, here.gains)
    assert there.rank_spent == here.rank_spent
    assert there.objective == pytest.approx(here.objective, rel=1e-12)
    assert there.log_det == pytest.approx(here.log_det, rel=1e-12)


@pytest.mark.parametrize("change", [lambda d: d, lambda d: d.condition([5], [9, 2000]), lambda d: d.thin(0.4)])
@pytest.mark.parametrize("k", [5, 30, None])
def test_map_greedy(data, change, k):
    X, q = data["X"], 20.0 * data["quality"]
    here = dv.map_greedy(change(dv.DPP.from_features(X, q)), k)
    there = dv.map_greedy(change(dv.DPP.from_features(da.from_array(X, chunks=431), q)), k)
    np.testing.assert_array_equal(there.indices, here.indices)
    np.testing.assert_allclose(there.gains, here.gains, rtol=1e-12)
    assert there.log_prob == pytest.approx(here.log_prob, rel=1e-11)
    # Thinned, no item is more likely in than out.
    assert len(here) > 1 or k is None


@pytest.mark.parametrize("candidates", [1, 3])
def test_few_candidates_cost_round_trips_and_change_nothing(data, candidates, monkeypatch):
    expected = dv.select(data["X"], 10).indices
    lazy = da.from_array(data["X"], chunks=431)
    trips = []
    refresh = engine._Search._refresh
    monkeypatch.setattr(engine._Search, "_refresh", lambda self, *a: (trips.append(len(a[0])), refresh(self, *a))[1])
    np.testing.assert_array_equal(dv.select(lazy, 10).indices, expected)
    many = len(trips)
    monkeypatch.setattr(engine, "_POOL", 7 * candidates)
    trips.clear()
    np.testing.assert_array_equal(dv.select(lazy, 10).indices, expected)
    assert many <= len(trips) <= 10


def test_one_round_trip_serves_many_picks(data, monkeypatch):
    """With widely spread qualities the candidates stay above the rest, so no block is scanned again."""
    trips = []
    refresh = engine._Search._refresh
    monkeypatch.setattr(engine._Search, "_refresh", lambda self, *a: (trips.append(len(a[0])), refresh(self, *a))[1])
    q = 8.0 * np.random.default_rng(1).standard_normal(N)
    here = dv.select(data["X"], 10, quality=q)
    np.testing.assert_array_equal(dv.select(da.from_array(data["X"], chunks=431), 10, quality=q).indices, here.indices)
    assert trips == [7]


def test_sparse_blocks():
    import scipy.sparse

    X = scipy.sparse.random(600, 40, density=0.2, random_state=0, format="csr")
    X = X[np.flatnonzero(np.diff(X.indptr))]
    lazy = da.from_array(X.toarray(), chunks=(130, 40)).map_blocks(scipy.sparse.csr_matrix)
    q = np.random.default_rng(0).random(X.shape[0])
    for arguments in ({"k": 10, "quality": q}, {"k": 50, "similarity": "dot"}, {"k": 8, "given": [5, 500]}):
        here, there = dv.select(X, **arguments), dv.select(lazy, **arguments)
        np.testing.assert_array_equal(there.indices, here.indices)
        np.testing.assert_allclose(there.gains, here.gains, rtol=1e-9)
    assert len(dv.select(lazy, 4, quality=q, method="sample", rng=0)) == 4
    assert len(dv.distributed.greedi(lazy, 4)) == 4


def test_blocks_without_rows(data):
    X = data["X"][:500]
    lazy = da.from_array(X, chunks=((0, 200, 0, 300, 0), (12,)))
    np.testing.assert_array_equal(dv.select(lazy, 15).indices, dv.select(X, 15).indices)
    here, there = dv.DPP.from_features(X), dv.DPP.from_features(lazy)
    assert there.log_prob([3, 300]) == pytest.approx(here.log_prob([3, 300]), rel=1e-11)
    np.testing.assert_allclose(there.inclusion_probabilities.compute(), here.inclusion_probabilities, rtol=1e-12)
    whole = dv.DPP.from_features(da.from_array(X, chunks=100)).of_size(4).sample(20, rng=0)
    np.testing.assert_array_equal(np.stack(there.of_size(4).sample(20, rng=0)), np.stack(whole))
    nothing = da.zeros((0, 3))
    assert len(dv.select(nothing, 4)) == 0
    assert dv.DPP.from_features(nothing).log_normalizer == 0.0


def test_drawn_sets():
    rng = np.random.default_rng(0)
    X, q = rng.standard_normal((500, 5)), rng.random(500)
    lazy = da.from_array(X, chunks=90)
    found = dv.select(lazy, 4, quality=q, method="sample", rng=1, given=[7], exclude=[8])
    assert len(set(found.indices.tolist())) == 4
    np.testing.assert_array_equal(dv.select(lazy, 4, quality=q, method="sample", rng=1, given=[7], exclude=[8]), found)
    here = dv.select(X, 4, quality=q, given=[7])
    assert found.objective < here.objective
    more = dv.select(lazy, 8, quality=q, method="sample", rng=1, min_quality=0.3)
    assert more.rank_spent == 5
    assert len(set(more.indices.tolist())) == 8
    assert (q[more.indices] >= 0.3).all()


def test_drawn_sets_have_the_objective_s_law():
    import reference

    rng = np.random.default_rng(3)
    X, q = rng.standard_normal((6, 3)), rng.random(6)
    w = 0.3 / 0.7
    U = X / np.linalg.norm(X, axis=1, keepdims=True) * np.exp(0.5 * w * q)[:, None]
    law = reference.of_size(reference.law_from_L(U @ U.T), 2)
    kdpp = dv.selection_law(da.from_array(X, chunks=2), 2, quality=q, diversity=0.7, scale=None)
    for Y, p in law.items():
        if len(Y) == 2:
            assert np.exp(kdpp.log_prob(Y)) == pytest.approx(p, rel=1e-10)


def test_bad_input_is_named_by_its_place(data):
    X = data["X"].copy()
    X[1000] = 0.0
    with pytest.raises(KernelError, match=r"features\[1000\] is all zeros"):
        dv.select(da.from_array(X, chunks=431), 3, method="sample", rng=0)
    np.testing.assert_array_equal(dv.select(da.from_array(X, chunks=431), 3).indices, dv.select(X, 3).indices)
    X[1000, 5] = np.inf
    with pytest.raises(KernelError, match=r"features\[1000, 5\] is inf"):
        dv.select(da.from_array(X, chunks=431), 3)
    lazy = da.from_array(data["X"], chunks=431)
    q = data["quality"].copy()
    q[1234] = np.nan
    with pytest.raises(DiversetError, match=r"quality\[1234\] is nan"):
        dv.select(lazy, 3, quality=da.from_array(q, chunks=500))
    with pytest.raises(DiversetError, match="similarity is 'rbf'"):
        dv.select(lazy, 3, similarity="rbf")
    with pytest.raises(DiversetError, match="method is 'exact'"):
        dv.select(lazy, 3, method="exact")
    with pytest.raises(DiversetError, match="without quality"):
        dv.select(lazy, 3, min_quality=1.0)
    with pytest.raises(DiversetError, match="go together"):
        dv.select(lazy, 3, costs=data["costs"])
    with pytest.raises(KernelError, match="complex"):
        dv.select(lazy * 1j, 3)
