import math
import re

import numpy as np
import pytest
from scipy import sparse, special

from diverset import kernels
from diverset.errors import DiversetError, KernelError
from diverset.kernels import stationary
from diverset.kernels._arrays import as_matrix
from diverset.kernels.stationary import pairwise_distances


def points(n=12, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def by_differences(X, Y):
    return np.sqrt(sum(np.subtract.outer(x, y) ** 2 for x, y in zip(X.T, Y.T, strict=True)))


# Distances -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 1), (40, 20), (1500, 2)])
def test_distances_are_those_of_the_definition(n, d):
    # 1500 rows take two blocks.
    X, Y = points(n, d), points(2 * n // 3 + 1, d, seed=1)
    D = pairwise_distances(X)
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_allclose(D, by_differences(X, X), rtol=1e-12)
    np.testing.assert_allclose(pairwise_distances(X, Y), by_differences(X, Y), rtol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.1, 1e6])
def test_identical_rows_are_at_distance_zero(shift):
    X = points(20, 65) + shift
    X[[4, 11, 19]] = X[2]
    for D in (pairwise_distances(X), pairwise_distances(X, X)):
        np.testing.assert_array_equal(D == 0.0, (X[:, np.newaxis] == X).all(axis=2))


def test_distances_far_from_the_origin_are_accurate():
    # Steps of 2^-10 are exact at 2^36, where |x|^2 + |y|^2 - 2 x.y has no correct digit left.
    steps = np.arange(40).reshape(20, 2) * 2.0**-10
    expected = by_differences(steps, steps)
    np.testing.assert_allclose(pairwise_distances(steps + 2.0**36), expected, rtol=1e-12)
    np.testing.assert_allclose(pairwise_distances(steps + 2.0**36, steps + 2.0**36), expected, rtol=1e-12)


def test_near_pairs_among_far_ones_are_accurate():
    X = np.repeat(points(5, 60) * 1e4, 6, axis=0) + points(30, 60, seed=3) * 1e-3
    np.testing.assert_allclose(pairwise_distances(X), by_differences(X, X), rtol=1e-12)


@pytest.mark.parametrize("factor", [2.0**-900, 1e-9, 1e200, 1e307])
def test_distances_scale_with_the_data(factor):
    X = points(15, 6)
    expected = by_differences(X, X)
    np.testing.assert_allclose(pairwise_distances(X * factor) / factor, expected, rtol=1e-12)


def test_rows_of_very_different_size_keep_their_distances():
    D = pairwise_distances(np.array([[1e200, 0.0], [1.0, 0.0], [1.0, 3e-170], [4e-170, 0.0]]))
    assert D[0, 1] == 1e200
    assert D[1, 2] == pytest.approx(3e-170, rel=1e-14, abs=0.0)
    assert D[1, 3] == 1.0
    # Here the squares of the small rows are subnormal, with few digits left.
    D = pairwise_distances(np.array([[1.0], [-1.0], [1e-160], [-1e-160]]))
    assert D[2, 3] == pytest.approx(2e-160, rel=1e-14, abs=0.0)


def test_distances_beyond_the_range_are_refused():
    far = [[1.5e308, 0.0], [-1.5e308, 1.0], [0.0, 0.0]]
    with pytest.raises(KernelError, match="the distance of items 0 and 1 is beyond the float64 range"):
        kernels.rbf(far, length_scale=1.0)
    far *= 10
    for max_pairs in (1000, 100):  # all pairs, and random ones
        with pytest.raises(KernelError, match=r"the distance of items \d+ and \d+ is beyond the float64 range"):
            kernels.median_heuristic(far, max_pairs=max_pairs)


# Median heuristic ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 447])
def test_median_is_exact_for_few_items(n):
    X = points(n, 3)
    expected = np.median(by_differences(X, X)[np.triu_indices(n, 1)])
    assert kernels.median_heuristic(X) == pytest.approx(expected, rel=1e-12)


def test_median_of_random_pairs_is_near_the_exact_one():
    X = np.random.default_rng(5).exponential(size=(300, 3))
    D = by_differences(X, X)[np.triu_indices(300, 1)]
    # 20,000 pairs: the quantile found has standard deviation 0.0035.
    for seed in range(5):
        found = kernels.median_heuristic(X, max_pairs=20_000, rng=seed)
        assert abs((found > D).mean() - 0.5) < 0.02
    assert kernels.median_heuristic(X, max_pairs=len(D)) == pytest.approx(np.median(D), rel=1e-12)


def test_random_pairs_are_the_same_on_every_call_unless_rng_is_given():
    X = points(600, 3)
    assert kernels.median_heuristic(X) == kernels.median_heuristic(X)
    draws = {kernels.median_heuristic(X, max_pairs=50, rng=seed) for seed in range(5)}
    assert len(draws) == 5
    a = kernels.median_heuristic(X, max_pairs=50, rng=np.random.default_rng(3))
    assert a == kernels.median_heuristic(X, max_pairs=50, rng=3)


def test_random_pairs_never_pair_an_item_with_itself_and_are_uniform():
    i, j = stationary._median_pairs(4, 5, 0)  # 6 pairs are more than 5
    assert len(i) == 5
    i, j = stationary._median_pairs(1000, 60_000, 0)
    assert (i != j).all()
    assert i.min() == j.min() == 0
    assert i.max() == j.max() == 999
    counts = np.bincount(((j - i) % 1000 - 1) // 111, minlength=9)
    expected = counts.sum() / 9
    assert special.chdtrc(8, np.sum((counts - expected) ** 2 / expected)) > 1e-4


def test_global_random_state_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    kernels.median_heuristic(points(600, 2))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_median_with_many_duplicates_is_that_of_the_others():
    X = np.zeros((30, 1))
    X[0], X[1] = 3.0, 4.0
    # Nonzero distances: 28 of 3, 28 of 4, one of 1.
    assert kernels.median_heuristic(X) == pytest.approx(3.0, rel=1e-12)
    assert kernels.median_heuristic(X, max_pairs=10) in (3.0, 4.0)


@pytest.mark.parametrize("odd", [0, 21])
def test_median_when_every_sampled_pair_is_a_duplicate(monkeypatch, odd):
    X = np.zeros((100, 1))
    X[odd] = 2.5
    assert kernels.median_heuristic(X, max_pairs=3) == 2.5
    monkeypatch.setattr(stationary, "_MAX_PAIRS", 3)
    assert kernels.rbf(X)[odd, 50] == pytest.approx(math.exp(-0.5))


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_median_of_a_memory_mapped_array(tmp_path, dtype):
    big = np.memmap(tmp_path / "features", dtype=dtype, mode="w+", shape=(20_000, 4))
    big[:] = np.round(10.0 * points(20_000, 4))
    expected = 10.0 * math.sqrt(2 * special.chdtri(4, 0.5))
    assert kernels.median_heuristic(big) == pytest.approx(expected, rel=0.01)
    assert np.shares_memory(as_matrix(big, name="X"), big)


def test_median_reads_only_the_rows_it_needs():
    X = points(500, 2)
    read = np.unique(stationary._median_pairs(500, 20, None))
    unread = np.setdiff1d(np.arange(500), read)
    expected = kernels.median_heuristic(X, max_pairs=20)
    X[unread] = np.nan
    assert kernels.median_heuristic(X, max_pairs=20) == expected


def test_median_near_the_end_of_the_range():
    assert kernels.median_heuristic([[1.5e308], [0.0], [1.5e308]]) == pytest.approx(1.5e308)
    assert kernels.median_heuristic([[0.0], [1.6e308], [0.0], [1.6e308]]) == pytest.approx(1.6e308)


@pytest.mark.parametrize("max_pairs", [100, 2])
def test_median_of_identical_rows_is_refused(max_pairs):
    with pytest.raises(KernelError, match=r"all rows of X are identical.*pass length_scale as a number"):
        kernels.median_heuristic(np.ones((10, 3)), max_pairs=max_pairs)


def test_median_of_sampled_rows_names_what_is_not_finite():
    X = points(30, 2)
    X[7:, 1] = np.nan
    with pytest.raises(KernelError, match=r"X\[\d+\]\[1\] is nan; every entry must be finite"):
        kernels.median_heuristic(X, max_pairs=100)
    with pytest.raises(KernelError, match=r"X\[7, 1\] is nan"):
        kernels.median_heuristic(X)


def test_median_arguments_are_checked():
    for value in (0, -3, 2.5, True, None):
        with pytest.raises(DiversetError, match=re.escape(f"max_pairs is {value!r}; it must be a whole number of at")):
            kernels.median_heuristic(points(3, 2), max_pairs=value)
    with pytest.raises(KernelError, match="X has 1 rows; a median distance needs at least 2"):
        kernels.median_heuristic([[1.0]])
    with pytest.raises(KernelError, match="X is complex"):
        kernels.median_heuristic([[1.0], [1j]])
    with pytest.raises(KernelError, match="X is sparse"):
        kernels.median_heuristic(sparse.csr_array(np.eye(3)))
