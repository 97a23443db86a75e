"""Many lists in one call: the picks, gains and notes of one selection after the other."""

import math

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError, SizeError

pytestmark = [
    pytest.mark.filterwarnings("ignore::diverset.errors.DiversetWarning"),
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),  # uncompiled, from -inf - -inf
]


def same(found, alone):
    assert found.indices.tolist() == alone.indices.tolist()
    np.testing.assert_allclose(found.gains, alone.gains, rtol=1e-12, atol=1e-12)
    assert found.objective == pytest.approx(alone.objective, abs=1e-9)
    assert found.log_det == pytest.approx(alone.log_det, abs=1e-5)
    assert found.kept == pytest.approx(alone.kept)
    assert found.redundancy == pytest.approx(alone.redundancy)
    assert found.redundancy_before == pytest.approx(alone.redundancy_before)
    for name in ("notes", "scale", "diversity", "rank_spent"):
        assert getattr(found, name) == getattr(alone, name), name


def check(lists, k, quality, **options):
    """Both routes: exclude=[] is an option, so that `select` takes the general way."""
    many = dv.select_many(lists, k, quality=quality, **options)
    options.pop("n_jobs", None)
    for i, (X, found) in enumerate(zip(lists, many, strict=True)):
        own = None if quality is None else quality[i]
        same(found, dv.select(X, k, quality=own, exclude=[], **options))
    return many


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_many_lists_like_one_after_the_other(n_jobs):
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 60, size=300)
    lists = [rng.standard_normal((n, 8)).astype(np.float32) for n in lengths]
    lists[5] = lists[5].astype(float)
    lists[6] = lists[6].tolist()
    lists[7] = np.vstack([lists[7], np.zeros((1, 8), dtype=np.float32)])
    lists[8] = np.asfortranarray(lists[8])
    quality = [rng.random(len(X)) for X in lists]
    quality[9][0] = -math.inf
    for options in ({}, {"scale": "standard"}, {"diversity": 0.0}, {"k": 12}, {"keep": 0.8}):
        k = options.pop("k", 6)
        check(lists, k, quality, n_jobs=n_jobs, **options)
    assert dv.select_many([], 3) == []
    shown = dv.select_many(lists[:3], 2, quality=quality[:3], given=[[0], None, [0]])
    assert 0 not in [*shown[0], *shown[2]]
    with pytest.raises(DiversetError, match="quality has 2 entries for 3 lists"):
        dv.select_many(lists[:3], 2, quality=quality[:2])
    with pytest.raises(DiversetError, match=r"^list 1: quality\[0\] is nan"):
        dv.select_many(lists[:3], 2, quality=[quality[0], np.full(lengths[1], np.nan), quality[2]])
    bad = [lists[0], np.full((3, 8), np.nan, dtype=np.float32)]
    with pytest.raises(DiversetError, match=r"^list 1: features\[0, 0\] is nan"):
        dv.select_many(bad, 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", ["rank", "standard", None])
@pytest.mark.parametrize("diversity", [0.1, 0.5, 0.95, 1.0])
def test_scales_and_precisions(dtype, scale, diversity):
    rng = np.random.default_rng(5)
    lists = [rng.standard_normal((n, 6)).astype(dtype) for n in (1, 2, 7, 40, 200, 1999)]
    quality = [3.0 * rng.standard_normal(len(X)) for X in lists]
    check(lists, 5, quality, scale=scale, diversity=diversity)


@pytest.mark.parametrize("scale", ["rank", "standard", None])
def test_ties_in_scores_and_in_rows(scale):
    rng = np.random.default_rng(6)
    lists = [rng.integers(-1, 2, size=(n, 4)) + np.array([5.0, 0.0, 0.0, 0.0]) for n in (3, 9, 30, 90)]
    quality = [rng.integers(0, 3, size=len(X)).astype(float) for X in lists]
    check(lists, 3, quality, scale=scale)
    check(lists, 3, [np.ones(len(X)) for X in lists], scale=scale)
    check(lists, 3, None)
    copies = [np.ones((5, 3)), np.repeat(np.eye(3), 4, axis=0)]
    assert [found.indices.tolist() for found in check(copies, 2, None)] == [[0, 1], [0, 4]]


def test_lists_that_need_the_general_way():
    rng = np.random.default_rng(7)
    lists = [rng.standard_normal((12, 3)) for _ in range(6)]
    lists[1][4] = 0.0  # no direction
    lists[2] *= 1e-170  # squared norms underflow
    lists[3] = lists[3][:0].reshape(0, 3)
    quality = [rng.random(len(X)) for X in lists]
    quality[4][:10] = -math.inf  # fewer candidates than picks
    quality[5] = quality[5].tolist()
    for k in (0, 2, 3, 5, 20, 0.25):  # 5 is past the rank, 20 past the length
        check(lists, k, quality)
    assert len(dv.select_many(lists, 5, quality=quality)[4]) == 2


def test_minus_infinity_excludes_and_does_not_count():
    rng = np.random.default_rng(8)
    lists = [rng.standard_normal((20, 8)) for _ in range(3)]
    quality = [rng.random(20) for _ in lists]
    quality[1][rng.permutation(20)[:14]] = -math.inf
    for scale in ("rank", "standard", None):
        check(lists, 5, quality, scale=scale)
        check(lists, 6, quality, scale=scale)  # all that is left of the second list


def test_errors_name_the_list():
    lists = [np.eye(3), np.eye(3), np.eye(4)]
    for bad, message in (
        (math.nan, r"^list 1: quality\[2\] is nan"),
        (math.inf, r"^list 1: quality\[2\] is inf"),
    ):
        with pytest.raises(DiversetError, match=message):
            dv.select_many(lists, 2, quality=[[1.0, 2.0, 3.0], np.array([1.0, 2.0, bad]), np.ones(4)])
    with pytest.raises(DiversetError, match=r"^list 2: quality has 3 entries for 4 items"):
        dv.select_many(lists, 2, quality=[np.ones(3)] * 3)
    with pytest.raises(DiversetError, match=r"^list 0: quality is complex"):
        dv.select_many(lists, 2, quality=[np.ones(3) + 1j, np.ones(3), np.ones(4)])
    with pytest.raises(SizeError, match="k is -1"):
        dv.select_many(lists, -1)
    lists[2] = lists[2].copy()
    lists[2][3, 1] = math.inf
    with pytest.raises(DiversetError, match=r"^list 2: features\[3, 1\] is inf"):
        dv.select_many(lists, 2)


def test_inputs_stay_as_they_are():
    rng = np.random.default_rng(9)
    lists = [rng.standard_normal((30, 5)) for _ in range(4)]
    quality = [rng.random(30) for _ in lists]
    before = [X.copy() for X in lists], [q.copy() for q in quality]
    for array in (*lists, *quality):
        array.flags.writeable = False
    found = dv.select_many(lists, 5, quality=quality)
    np.testing.assert_array_equal(lists, before[0])
    np.testing.assert_array_equal(quality, before[1])
    found[0].indices[:] = 0  # results share no memory that a caller could see
    same(found[1], dv.select(lists[1], 5, quality=quality[1], exclude=[]))
