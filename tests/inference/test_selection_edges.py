"""The k-DPP behind a selection, the share kept, and similarities at their limits."""

import itertools
import math

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError, KernelError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 5))
Q = RNG.random(12)


def cosines(rows):
    U = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return U @ U.T


# the k-DPP behind a selection --------------------------------------------------------------------------------


@pytest.mark.parametrize("dial", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("options", [{}, {"given": [1]}, {"exclude": [0, 2]}, {"min_quality": 0.3}])
def test_law_of_selections_by_enumeration(dial, options):
    rows, scores = X[:7], Q[:7]
    law = dv.selection_law(rows, 3, quality=scores, scale="standard", diversity=dial, **options)
    z = (scores - scores.mean()) / scores.std()
    S = cosines(rows)
    shown = options.get("given", [])
    closed = {*shown, *options.get("exclude", [])} | set(np.flatnonzero(scores < options.get("min_quality", -1.0)))
    logs = {}
    for A in itertools.combinations([i for i in range(7) if i not in closed], 3):
        both = [*shown, *A]
        logs[A] = (1 - dial) / dial * z[list(A)].sum() + np.linalg.slogdet(S[np.ix_(both, both)])[1]
    total = np.logaddexp.reduce(list(logs.values()))
    for A, value in logs.items():
        assert law.log_prob(A) == pytest.approx(value - total, abs=1e-8)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_law_of_selections_with_scores_beyond_floats(k):
    """Weights of exp(1e6) are clipped, so that the best items stay certain and no entry overflows."""
    law = dv.selection_law(np.eye(4), k, quality=[0.0, 3e6, 2e6, 1e6], scale=None)
    expected = [0.0] * 4
    for i in (1, 2, 3, 0)[:k]:
        expected[i] = 1.0
    assert law.inclusion_probabilities == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("method", ["local-search", "exact", "sample"])
def test_whole_sets_past_the_rank_are_filled_up(method):
    rows = X[:6, :2]
    found = dv.select(rows, 4, quality=Q[:6], method=method, diversity=0.9, rng=0)
    assert len(set(found)) == 4
    assert found.rank_spent == 2
    assert found.upper_bound is None


# keep --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.8, 0.9, 0.97, 1.0])
def test_keep_is_at_least_its_share_and_the_dial_reproduces_it(share, seed):
    rng = np.random.default_rng(seed)
    rows, scores = rng.standard_normal((60, 8)), rng.random(60)
    found = dv.select(rows, 6, quality=scores, keep=share)
    mean, top = scores.mean(), np.sort(scores)[::-1][:6].mean()
    kept = (scores[found.indices].mean() - mean) / (top - mean)
    assert found.kept == pytest.approx(kept)
    assert kept >= share - 1e-12
    assert kept <= share + 0.02 + 1e-12 or any("of quality where" in note for note in found.notes)
    assert 0.0 <= found.diversity <= 1.0
    # A more diverse set along the dial keeps too little, unless the dial is at its end.
    further = [d for d in np.linspace(0.0, 1.0, 101) if d > found.diversity + 0.03]
    if found.diversity < 0.9 and not found.notes:
        assert any(dv.select(rows, 6, quality=scores, diversity=d).kept < share + 0.02 for d in further)


def test_keep_at_its_ends():
    scores = np.arange(12.0)
    everything = dv.select(X, 4, quality=scores, keep=1.0)
    assert sorted(everything) == [8, 9, 10, 11]
    assert everything.kept == pytest.approx(1.0)
    equal = dv.select(X, 4, quality=np.ones(12), keep=0.5)
    assert equal.diversity == 1.0
    assert equal.indices.tolist() == dv.select(X, 4, diversity=1.0).indices.tolist()
    for wrong in (-0.01, 1.01, math.nan):
        with pytest.raises(DiversetError, match="it is a share of quality, between 0 and 1"):
            dv.select(X, 4, quality=scores, keep=wrong)
    with pytest.raises(DiversetError, match="keep is given without quality"):
        dv.select(X, 4, keep=0.5)


# similarities ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e-30, 1.0, 1e30, 1e150, 1e200])
@pytest.mark.parametrize("sparse", [False, True])
def test_one_row_of_extreme_length_among_ordinary_ones(scale, sparse):
    """Under the cosine, the length of a row does not matter."""
    rows = X.copy()
    rows[[2, 5]] *= scale
    given = scipy.sparse.csr_array(rows) if sparse else rows
    plain = dv.select(X, 5, quality=Q)
    found = dv.select(given, 5, quality=Q)
    assert found.indices.tolist() == plain.indices.tolist()
    assert found.log_det == pytest.approx(plain.log_det, rel=1e-9)
    assert rows[2].tolist() == (X[2] * scale).tolist()  # the input stays as it is


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_beyond_floats_under_the_inner_product(sparse):
    rows = X.copy()
    rows[3] *= 1e200
    with pytest.raises(KernelError, match=r"features\[3\] has a norm beyond the range of floats"):
        dv.select(scipy.sparse.csr_array(rows) if sparse else rows, 3, similarity="dot")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("similarity", ["cosine", "dot", "rbf"])
def test_entries_that_are_not_finite_are_named(similarity, value):
    rows = X.copy()
    rows[4, 2] = value
    with pytest.raises(KernelError, match=r"features\[4, 2\] is"):
        dv.select(rows, 3, similarity=similarity)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 4095, 4097])
def test_many_rows_past_their_rank(n, dtype):
    """Past the rank, picks are by leverage, which is computed in blocks of rows."""
    rows = np.random.default_rng(n).standard_normal((n, 2)).astype(dtype)
    found = dv.select(rows, 4, diversity=1.0)
    U = rows.astype(float) / np.linalg.norm(rows.astype(float), axis=1, keepdims=True)
    assert len(found) == min(n, 4)
    for t in range(2, len(found)):
        M = np.linalg.inv(U[found.indices[:t]].T @ U[found.indices[:t]])
        leverage = np.einsum("ij,jk,ik->i", U, M, U)
        leverage[found.indices[:t]] = -1.0
        assert found.gains[t] == pytest.approx(math.log1p(leverage.max()), rel=1e-4)
        assert leverage[found.indices[t]] == pytest.approx(leverage.max(), rel=1e-4)


def test_lists_in_more_chunks_than_one():
    """128 lists are a chunk; the last one is not full."""
    rng = np.random.default_rng(3)
    lists = [rng.standard_normal((int(rng.integers(1, 9)), 3)) for _ in range(130)]
    scores = [rng.random(len(rows)) for rows in lists]
    found = dv.select_many(lists, 2, quality=scores, n_jobs=2)
    assert len(found) == 130
    for rows, q, picks in zip(lists, scores, found, strict=True):
        assert picks.indices.tolist() == dv.select(rows, 2, quality=q).indices.tolist()
    assert dv.select_many([], 2) == []
    assert [len(picks) for picks in dv.select_many(lists[:3], 0)] == [0, 0, 0]


@pytest.mark.parametrize("zeros", [[], [3], [0, 2], [1, 3, 5]])
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_zeros_are_counted_in_the_notes(zeros, sparse):
    rows = X[:6].copy()
    rows[zeros] = 0.0
    notes = dv.select(scipy.sparse.csr_array(rows) if sparse else rows, 3).notes
    if not zeros:
        assert notes == ()
    elif len(zeros) == 1:
        assert notes[0].startswith("item 3 has a vector of zeros")
    else:
        assert notes[0].startswith(f"{len(zeros)} items, item {zeros[0]} the first, have a vector of zeros")
    if zeros:
        with pytest.raises(KernelError, match=rf"features\[{zeros[0]}\] is all zeros"):
            dv.select(rows, 3, zero_vectors="raise")


def test_map_greedy_says_when_the_rank_is_spent():
    rows = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    for dpp in (dv.DPP.from_features(rows), dv.DPP(rows @ rows.T)):
        assert dv.map_greedy(dpp, 2).rank_spent is None
        assert dv.map_greedy(dpp, 3).rank_spent == 2
    # Without a size, picking stops because no item adds to the determinant, not because of the rank.
    assert dv.map_greedy(dv.DPP(np.diag([1.0, 2.0, 0.5, 3.0]))).rank_spent is None
