"""Limbs that overlap, against pixels that both cover."""

import numpy as np
import pytest

from diverset.poses.skeleton import ends_of, point_distances, segment_distances


def brute(s, t, n=400):
    """Least distance between points taken densely from both segments."""
    u = np.linspace(0.0, 1.0, n)[:, None]
    p, q = s[0] + u * (s[1] - s[0]), t[0] + u * (t[1] - t[0])
    return np.sqrt(((p[:, None] - q[None]) ** 2).sum(-1)).min()


def test_distances_of_segments():
    rng = np.random.default_rng(0)
    s, t = rng.uniform(0, 10, (60, 2, 2)), rng.uniform(0, 10, (60, 2, 2))
    found = segment_distances(s, t)
    expected = np.array([brute(a, b) for a, b in zip(s, t, strict=True)])
    assert found == pytest.approx(expected, abs=0.03)
    assert 5 < (found == 0.0).sum() < 40
    assert segment_distances(t, s) == pytest.approx(found, abs=1e-12)


def test_points_and_segments_without_length():
    point = np.array([[3.0, 4.0], [3.0, 4.0]])
    assert segment_distances(point, np.array([[0.0, 0.0], [0.0, 0.0]])) == pytest.approx(5.0)
    assert point_distances(np.array([0.0, 2.0]), np.array([[-1.0, 0.0], [1.0, 0.0]])) == pytest.approx(2.0)
    assert point_distances(np.array([4.0, 4.0]), np.array([[-1.0, 0.0], [1.0, 0.0]])) == pytest.approx(5.0)


def test_overlap_is_common_pixels():
    """Rendered on a fine grid, limbs share a pixel if they overlap, up to a pixel's width."""
    rng = np.random.default_rng(1)
    x, y = np.meshgrid(np.arange(0, 40, 0.25), np.arange(0, 40, 0.25))
    pixels = np.stack([x, y], axis=-1)
    agree = []
    for _ in range(80):
        s, t = ends_of(rng.uniform(8, 32, (2, 2)), rng.uniform(0, 2 * np.pi, 2), np.array([9.0, 6.0]))
        common = ((point_distances(pixels, s) < 3.0) & (point_distances(pixels, t) < 2.0)).any()
        if abs(segment_distances(s, t) - 5.0) > 0.36:
            agree.append((bool(segment_distances(s, t) < 5.0), bool(common)))
    assert len(agree) > 60
    assert all(a == b for a, b in agree)
    assert {a for a, _ in agree} == {True, False}
