"""Near-duplicates: what is promised about kept and dropped rows, from all pairs of cosines."""

import numpy as np
import pytest

from diverset.errors import DiversetError, DiversetWarning, KernelError
from diverset.integrations import curation
from diverset.integrations.curation import drop_near_duplicates


def planted(n, D=32, share=0.25, lowest=0.95, rng=0, dtype=np.float64):
    """Random directions, of which a share are near-copies of others, at cosines from `lowest` to 1, in random order."""
    rng = np.random.default_rng(rng)
    X = rng.normal(size=(n, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    copies = int(share * n)
    original = rng.integers(copies, n, size=copies)
    step = rng.normal(size=(copies, D))
    step -= np.einsum("ij,ij->i", step, X[original])[:, None] * X[original]
    step /= np.linalg.norm(step, axis=1, keepdims=True)
    cosine = rng.uniform(lowest, 1.0, size=(copies, 1))
    X[:copies] = cosine * X[original] + np.sqrt(1.0 - cosine**2) * step
    return (X[rng.permutation(n)] * rng.uniform(0.1, 10.0, size=(n, 1))).astype(dtype)


def cosines(X):
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return X @ X.T


def plain(X, threshold, order=None):
    """The same by two loops."""
    S, kept, groups = cosines(X), [], np.arange(len(X))
    for i in range(len(X)) if order is None else order:
        near = [j for j in kept if S[i, j] >= threshold]
        if near:
            groups[i] = max(near, key=lambda j, i=i: S[i, j])
        else:
            kept.append(i)
    return np.sort(kept), groups


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(curation, "_BLOCK", 64)


@pytest.mark.parametrize("threshold", [0.7, 0.95, 0.99])
def test_exact_is_what_two_loops_give(threshold, small_blocks):
    X = planted(500)
    kept, groups = plain(X, threshold)
    found = drop_near_duplicates(X, threshold, method="exact")
    np.testing.assert_array_equal(found.kept, kept)
    # Any kept row that is near enough may stand for a row; within and before its block it is the nearest.
    S = cosines(X)
    assert (S[np.arange(500), found.groups] >= threshold - 1e-12).all()
    np.testing.assert_array_equal(found.dropped, np.flatnonzero(groups != np.arange(500)))
    np.testing.assert_allclose(found.similarity, S[np.arange(500), found.groups], atol=1e-12)


def test_the_best_of_a_group_is_kept(small_blocks):
    X = planted(500)
    quality = np.random.default_rng(5).normal(size=500)
    found = drop_near_duplicates(X, quality=quality)
    np.testing.assert_array_equal(found.kept, plain(X, 0.95, order=np.argsort(-quality))[0])
    assert (quality[found.groups] >= quality).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hashing_finds_what_it_says(dtype, small_blocks):
    X = planted(4000, dtype=dtype)
    exact = drop_near_duplicates(X, method="exact")
    found = drop_near_duplicates(X, method="hash")
    assert (found.method, exact.method) == ("hash", "exact")
    assert found.recall >= 0.99
    # Nothing is dropped that is not near to a kept row.
    S = cosines(X.astype(np.float64))
    assert (S[np.arange(4000), found.groups] >= 0.95 - 1e-5).all()
    np.testing.assert_array_equal(found.groups[found.kept], found.kept)
    assert set(found.groups) == set(found.kept)
    # Most pairs are closer than the threshold, so more than the recall is found.
    near = np.triu(S >= 0.95, 1)
    both = np.isin(np.arange(4000), found.kept)
    missed = int(near[np.ix_(both, both)].sum())
    assert missed <= 0.02 * int(near.sum())


def test_recall_at_the_threshold_is_as_stated():
    """Pairs at the threshold alone: the share found lies within four standard errors of the recall."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 48))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    step = rng.normal(size=X.shape)
    step -= np.einsum("ij,ij->i", step, X)[:, None] * X
    Y = 0.9501 * X + np.sqrt(1.0 - 0.9501**2) * step / np.linalg.norm(step, axis=1, keepdims=True)
    for recall in (0.5, 0.9):
        # The copies come in other blocks than the originals.
        found = drop_near_duplicates(np.vstack([X, np.zeros((2000, 48)) + X[0], Y]), method="hash", recall=recall)
        share = (found.groups[5000:] == np.arange(3000)).mean()
        error = np.sqrt(recall * (1.0 - recall) / 3000)
        # The blocks that hold both are compared in full, so the last rows of X may gain a little.
        assert found.recall - 4.0 * error - 0.03 < share
        assert share < found.recall + 4.0 * error + 0.03


def test_results_repeat(small_blocks):
    X = planted(2000)
    first, second = (drop_near_duplicates(X, method="hash") for _ in range(2))
    np.testing.assert_array_equal(first.groups, second.groups)


def test_copies_zeros_and_long_chains(small_blocks):
    X = np.vstack([planted(300), np.zeros((50, 32)), np.tile(planted(1), (400, 1))])
    for method in ("exact", "hash"):
        found = drop_near_duplicates(X, 1.0, method=method)
        assert (found.groups[300:350] == 300).all()
        assert (found.groups[350:] == 350).all()
        assert len(found.kept) == 302
        np.testing.assert_array_equal(found.members(300), np.arange(300, 350))


def test_nothing_but_copies(small_blocks):
    X = np.tile(planted(1, share=0.0), (300, 1))
    for threshold in (0.95, 1.0):
        assert drop_near_duplicates(X, threshold, method="hash").kept.tolist() == [0]


def cone(n, d=32):
    rng = np.random.default_rng(0)
    rows = 3.0 * rng.standard_normal(d) + rng.standard_normal((n // 2, d))
    return rng.permutation(np.vstack([rows, rows + 0.2 * rng.standard_normal((n // 2, d))]))


def test_a_narrow_cone_ends_with_a_lower_recall(monkeypatch, small_blocks):
    """With a budget that allows neither the recall nor all pairs, the report says what was reached."""
    X = cone(3000)
    exact = drop_near_duplicates(X, 0.99, method="exact")
    monkeypatch.setattr(curation, "_BUDGET", 1.2e4)
    with pytest.warns(DiversetWarning, match="recall of 0.99 would take too long; it is 0"):
        found = drop_near_duplicates(X, 0.99)
    assert found.method == "hash"
    assert 0.1 < found.recall < 0.99
    assert f"probability {found.recall:.3f}" in str(found)
    assert (found.similarity >= 0.99 - 1e-12).all()
    assert len(exact.dropped) * found.recall * 0.8 < len(found.dropped) <= len(exact.dropped) * 1.05
    assert drop_near_duplicates(X, 0.99, method="hash").recall >= 0.99  # as asked for, whatever the time


@pytest.mark.parametrize("directions", [1, 2, 8])
def test_digits_are_the_closest_directions(directions):
    projected = np.random.default_rng(0).standard_normal((50, 3 * directions))
    found = curation._digits(projected, directions)
    for row, digits in zip(projected.reshape(50, 3, directions), found, strict=True):
        for group, digit in zip(row, digits, strict=True):
            both = [sign * value for value in group for sign in (-1.0, 1.0)]
            assert digit == int(np.argmax(both))


def test_auto_is_exact_for_few_rows():
    assert drop_near_duplicates(planted(1000)).method == "exact"
    assert drop_near_duplicates(planted(1000).astype(np.float32)).method == "exact"


def test_extreme_lengths():
    X = planted(100)
    scale = np.where(np.arange(100) % 2, 1e-200, 1e200)[:, None]
    np.testing.assert_array_equal(drop_near_duplicates(X * scale).groups, drop_near_duplicates(X).groups)


def test_report():
    lines = str(drop_near_duplicates(np.eye(3)[[0, 1, 1, 2, 1]])).splitlines()
    assert lines == [
        "5 rows: 3 kept, 2 dropped (cosine 0.95 or more)",
        "kept rows that stand for others: 1; largest groups: 3 (row 1)",
        "similarity of dropped rows to the row kept: lowest 1.000, median 1.000",
    ]
    assert str(drop_near_duplicates(np.eye(3))) == "3 rows: 3 kept, 0 dropped (cosine 0.95 or more)"
    assert "probability 0.99" in str(drop_near_duplicates(planted(5000), method="hash"))


def test_edges():
    assert len(drop_near_duplicates(np.zeros((0, 3))).kept) == 0
    assert drop_near_duplicates([[2.0, 1.0]]).kept.tolist() == [0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"threshold": 0.0}, DiversetError, "threshold is 0.0; it is a cosine above 0"),
        ({"threshold": 95}, DiversetError, "threshold is 95"),
        ({"recall": 1.0}, DiversetError, "recall is 1.0"),
        ({"method": "lsh"}, DiversetError, "method is 'lsh'"),
        ({"quality": [1.0]}, DiversetError, "quality has 1 entries for 2 items"),
        ({"X": [[1.0, np.nan], [0.0, 1.0]]}, KernelError, "X.* is nan"),
    ],
)
def test_bad_input_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        drop_near_duplicates(**{"X": [[1.0, 0.0], [0.0, 1.0]], **arguments})
