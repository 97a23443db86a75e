"""The softmax extension: its formula, its gradient, what rounding keeps, and the sets it leads to."""

import math
from itertools import chain, combinations

import numpy as np
import pytest

import diverset as dv
from diverset.inference import submodular
from diverset.inference.submodular import (
    _conditional_gradient,
    _round_free,
    map_relaxed,
    softmax_extension,
    softmax_gradient,
)
from kernels_for_tests import LIKELIHOOD_KERNELS, duplicated, wishart


def subsets(n):
    return chain.from_iterable(combinations(range(n), k) for k in range(n + 1))


def det_of(L, Y):
    return float(np.linalg.det(L[np.ix_(Y, Y)]).real) if len(Y) else 1.0


@pytest.mark.parametrize("complex_", [False, True])
def test_extension_is_the_log_of_a_mean_determinant(complex_):
    L = 2.0 * wishart(6, 8, 0, complex_=complex_)
    x = np.random.default_rng(1).random(6)
    mean = sum(det_of(L, Y) * np.prod([x[i] if i in Y else 1.0 - x[i] for i in range(6)]) for Y in subsets(6))
    assert softmax_extension(L, x) == pytest.approx(math.log(mean))
    assert softmax_extension(L, np.array([1.0, 0, 1, 0, 0, 1])) == pytest.approx(math.log(det_of(L, [0, 2, 5])))


@pytest.mark.parametrize("complex_", [False, True])
def test_gradient_is_that_of_differences(complex_):
    L = wishart(7, 9, 2, complex_=complex_)
    x = np.random.default_rng(3).uniform(0.1, 0.9, 7)
    h = 1e-6
    numerical = [(softmax_extension(L, x + h * e) - softmax_extension(L, x - h * e)) / (2.0 * h) for e in np.eye(7)]
    np.testing.assert_allclose(softmax_gradient(L, x), numerical, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_extension_is_concave_along_nonnegative_directions(seed):
    rng = np.random.default_rng(seed)
    L = 2.0 * wishart(6, 8, seed)
    x, v = 0.5 * rng.random(6), 0.5 * rng.random(6)
    values = [softmax_extension(L, x + t * v) for t in np.linspace(0.0, 1.0, 21)]
    assert (np.diff(values, 2) <= 1e-10).all()


@pytest.mark.parametrize("seed", range(10))
def test_rounding_without_size_never_lowers_the_value(seed):
    rng = np.random.default_rng(seed)
    L = rng.uniform(0.5, 3.0) * wishart(8, 11, seed)
    x = rng.random(8)
    Y = _round_free(L, x)
    assert math.log(det_of(L, Y)) >= softmax_extension(L, x) - 1e-10


@pytest.mark.parametrize("seed", range(10))
def test_result_is_above_the_relaxed_point_and_a_quarter_of_the_best(seed):
    L = wishart(9, 12, seed) * 2.0 + np.eye(9)
    found = map_relaxed(dv.DPP(L))
    best = max(math.log(det_of(L, Y)) for Y in subsets(9))
    assert found.objective >= 0.25 * best - 1e-9
    x = _conditional_gradient(L, np.zeros(9), lambda g: np.where(g > 0.0, 1.0, 0.0), 100, 1e-6)
    assert found.objective >= softmax_extension(L, x) - 1e-9


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
def test_free_size_is_close_to_the_best_on_kernels_that_are_not_monotone(seed, scale):
    L = scale * wishart(9, 12, seed)
    found = map_relaxed(dv.DPP(L))
    best = max(math.log(max(det_of(L, Y), 1e-300)) for Y in subsets(9))
    assert 0.0 <= found.objective <= best + 1e-9
    # No guarantee here; a wrong gradient or a wrong rounding falls well below.
    assert found.objective >= 0.7 * best - 1e-9


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 3, 6, 9])
def test_sized_result_has_k_items_and_is_near_the_best(seed, k):
    L = wishart(10, 12, seed)
    dpp = dv.DPP(L)
    found = map_relaxed(dpp, k)
    assert len(found) == k
    values = sorted(math.log(det_of(L, Y)) for Y in combinations(range(10), k))
    assert found.objective == pytest.approx(math.log(det_of(L, found.indices)))
    # Among the best tenth of all sets of this size, and at most one unit below the best.
    assert found.objective >= values[int(0.9 * (len(values) - 1))] - 1e-9
    assert found.objective >= values[-1] - 1.0


@pytest.mark.parametrize("name", sorted(LIKELIHOOD_KERNELS))
def test_edges_of_every_kernel(name):
    dpp = dv.DPP(LIKELIHOOD_KERNELS[name])
    assert map_relaxed(dpp).objective >= 0.0
    for k in {0, min(1, dpp.rank), dpp.rank}:
        found = map_relaxed(dpp, k)
        assert len(found) == k
        assert found.objective > -math.inf
    with pytest.raises(dv.errors.SizeError, match=f"k is {dpp.rank + 1}.* {dpp.rank} items"):
        map_relaxed(dpp, dpp.rank + 1)


def test_duplicates_scale_and_labels():
    assert len({0, 1, 2} & set(map_relaxed(dv.DPP(duplicated(7, 0)), 4))) <= 1
    L = wishart(9, 12, 1)
    sets = [map_relaxed(dv.DPP(c * L), 4).indices.tolist() for c in (1e-9, 1.0, 1e9)]
    assert sets[0] == sets[1] == sets[2]
    dpp = dv.DPP(L).condition(exclude=[0, 1])
    assert set(map_relaxed(dpp, 3)) <= set(dpp.items.tolist())


@pytest.mark.parametrize("seed", range(6))
def test_rounding_with_a_size_keeps_the_sum(seed):
    rng = np.random.default_rng(seed)
    L = wishart(8, 11, seed)
    x = rng.random(8)
    x *= 3.0 / x.sum()
    x = np.minimum(x, 1.0)
    x[0] += 3.0 - x.sum()
    rounded = submodular._round_sized(L, x)
    assert rounded.sum() == pytest.approx(3.0)
    assert np.sort(rounded).tolist() == pytest.approx([0.0] * 5 + [1.0] * 3, abs=1e-8)
    two = submodular._round_sized(L, np.array([1.0, 0.3, 0.7, 0.0, 0.0, 0.0, 0.0, 0.0]))
    ends = [np.eye(8)[[0, i]].sum(axis=0) for i in (1, 2)]
    assert two.tolist() == max(ends, key=lambda end: softmax_extension(L, end)).tolist()


def test_the_search_starts_where_every_kernel_has_a_gradient():
    # All items at once have determinant 0: the search begins with none of them, or with k items in all.
    L = 2.0 * np.ones((4, 4))
    found = map_relaxed(dv.DPP(L))
    assert found.objective == pytest.approx(math.log(2.0))
    assert len(found) == 1
    starts = []

    def noted(L, x, *options):
        starts.append(x)
        return _conditional_gradient(L, x, *options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(submodular, "_conditional_gradient", noted)
        map_relaxed(dv.DPP(wishart(9, 12, 1)), 4)
        assert len(starts) == 2
        for x in starts:
            assert x.sum() == pytest.approx(4.0)
            assert (x >= 0.0).all()
            assert (x <= 1.0 + 1e-12).all()
        starts.clear()
        map_relaxed(dv.DPP(wishart(9, 12, 1)))
    assert [x.tolist() for x in starts] == [[0.0] * 9] * 2


def test_refusals_name_the_value():
    with pytest.raises(dv.errors.DiversetError, match="max_iter is 0"):
        map_relaxed(dv.DPP(np.eye(2)), max_iter=0)
    with pytest.raises(dv.errors.DiversetError, match="tol is 0"):
        map_relaxed(dv.DPP(np.eye(2)), tol=0.0)
    with pytest.raises(dv.errors.NoLikelihoodKernelError, match="map_relaxed needs"):
        map_relaxed(dv.DPP.from_marginal(np.eye(2)))
