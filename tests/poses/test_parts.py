"""Grids, skeletons, springs and features, each against its definition."""

import math

import numpy as np
import pytest

from diverset.errors import DiversetError, LabelError
from diverset.poses import (
    Part,
    PoseGrid,
    PoseModel,
    Skeleton,
    Spring,
    draw_pose,
    location_features,
    maps_on_grid,
    match_poses,
    mean_interval,
    reference_points,
    simulate_maps,
    spring_factor,
)
from diverset.poses.skeleton import ends_of
from diverset.structured.potential import Potential

GRID = PoseGrid(3, 4, n_orientations=6, step=7.0, origin=(2.0, -5.0))
TURNED = Spring((4.0, -6.0), 5.0, 0.8, 0.9)


def angle_between(a, b):
    return abs(math.atan2(math.sin(a - b), math.cos(a - b)))


def spring_by_definition(spring, grid, beta, reach=math.inf):
    """Q entry by entry, from positions and angles of the two values; nothing of the factor's own code."""
    n = grid.n_values
    Q = np.zeros((n, n))
    for i in range(n):
        p, theta = grid.positions([i])[0], grid.angles([i])[0]
        along = np.array([math.cos(theta), math.sin(theta)])
        across = np.array([-math.sin(theta), math.cos(theta)])
        target = p + spring.offset[0] * along + spring.offset[1] * across
        for j in range(n):
            miss = grid.positions([j])[0] - target
            turn = angle_between(grid.angles([j])[0], theta + spring.angle)
            if max(*np.abs(miss) / spring.spread, turn / spring.angle_spread) <= reach:
                energy = (miss @ miss) / (2 * spring.spread**2) + turn**2 / (2 * spring.angle_spread**2)
                Q[i, j] = math.exp(-beta * energy)
    return Q


@pytest.mark.parametrize("beta", [1.0, 0.3])
@pytest.mark.parametrize("reach", [math.inf, 2.0])
def test_spring_is_its_dense_twin(beta, reach):
    factor = spring_factor(TURNED, GRID, beta=beta, reach=reach)
    held = Potential.read((GRID.n_values,) * 2, factor, None, None, "spring")
    index = np.stack([i.ravel() for i in np.indices((GRID.n_values,) * 2)], axis=1)
    Q = np.exp(held.log_quality_at(index)).reshape((GRID.n_values,) * 2)
    expected = spring_by_definition(TURNED, GRID, beta, reach)
    assert Q == pytest.approx(expected, rel=1e-12, abs=1e-300)
    assert (expected == 0.0).any() == (reach == 2.0)


def test_spring_size_is_that_of_the_axes():
    grid = PoseGrid(56, 56, step=10.0)
    assert grid.n_values > 75_000
    stored = sum(A.size for A in spring_factor(TURNED, grid).matrices)
    assert stored == 24 * (56**2 + 56**2 + 24)


def test_stiff_spring_on_a_coarse_grid_leaves_a_neighbour():
    factor = spring_factor(Spring((3.0, 0.0), 0.1, 0.0, 0.01), PoseGrid(3, 3, 4, step=10.0))
    rows = [A.reshape(-1, A.shape[-1]).any(axis=1) for A in factor.matrices]
    assert all(row.all() for row in rows)


def test_grid_values_positions_and_back():
    values = np.arange(GRID.n_values)
    assert (GRID.nearest(GRID.positions(values), GRID.angles(values)) == values).all()
    i, j, t = 2, 1, 5
    value = np.ravel_multi_index((i, j, t), GRID.shape)
    assert GRID.positions(value).tolist() == [2.0 + 7.0 * j, -5.0 + 7.0 * i]
    assert GRID.angles(value) == pytest.approx(2 * np.pi * 5 / 6)
    # Beyond the border and around the circle.
    assert GRID.nearest([-100.0, 100.0], -2 * np.pi / 6) == np.ravel_multi_index((2, 0, 5), GRID.shape)


def test_grid_over_a_box_is_centred():
    grid = PoseGrid.over((10.0, 0.0), (47.0, 21.0), step=10.0)
    assert grid.shape == (3, 4, 24)
    assert grid.x.tolist() == [13.5, 23.5, 33.5, 43.5]
    assert grid.y.tolist() == [0.5, 10.5, 20.5]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PoseGrid(0, 3), "rows"),
        (lambda: PoseGrid(2, 3, step=0.0), "step is 0"),
        (lambda: PoseGrid(2, 3, origin=(0.0, math.nan)), "origin"),
        (lambda: PoseGrid.over((5.0, 0.0), (1.0, 2.0), step=1.0), "negative side"),
        (lambda: Spring((0.0, math.inf), 1.0), "finite"),
        (lambda: Spring((0.0, 0.0), -1.0), "spread is -1"),
        (lambda: Spring((0.0, 0.0), 1.0, angle_spread=0.0), "angle_spread is 0"),
        (lambda: Part("arm", 0.0, 1.0), "length of arm is 0"),
        (lambda: Part("arm", 1.0, 1.0, parent="torso"), "both a parent and a spring"),
        (lambda: Skeleton([]), "one Part or more"),
        (lambda: spring_factor(TURNED, GRID, beta=0.0), "beta is 0"),
        (lambda: location_features([[0.0, 0.0]], np.zeros((1, 2)), 0.0), "sigma is 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(DiversetError, match=message):
        call()


def test_bad_skeletons_are_named():
    torso, arm = Part("torso", 2.0, 1.0), Part("arm", 1.0, 1.0, "torso", TURNED)
    with pytest.raises(LabelError, match="each name must be unique"):
        Skeleton([torso, arm, arm])
    with pytest.raises(LabelError, match="hangs on 'leg'"):
        Skeleton([torso, Part("arm", 1.0, 1.0, "leg", TURNED)])
    with pytest.raises(DiversetError, match="only the first part"):
        Skeleton([torso, Part("head", 1.0, 1.0)])


def test_fitted_skeleton_finds_the_springs_that_drew_the_poses():
    # A skeleton that is not symmetric, with a part that hangs on a part that is not the root.
    body = Skeleton(
        [
            Part("torso", 60.0, 10.0, direction=(1.3, 0.2)),
            Part("arm", 30.0, 5.0, "torso", Spring((5.0, 17.0), 4.0, 0.7, 0.4)),
            Part("hand", 9.0, 3.0, "arm", Spring((30.0, 1.0), 2.0, -0.5, 0.3)),
        ]
    )
    rng = np.random.default_rng(0)
    poses = np.array([draw_pose(body, tuple(rng.uniform(0, 100, 2)), rng) for _ in range(4_000)])
    poses[::7, 2] = np.nan  # not annotated
    found = body.fitted(poses)
    assert found.lengths == pytest.approx(body.lengths)
    assert found.parts[0].direction == pytest.approx((1.3, 0.2), abs=0.02)
    for part, truth in zip(found.parts[1:], body.parts[1:], strict=True):
        assert part.spring.offset == pytest.approx(truth.spring.offset, abs=0.3)
        assert part.spring.spread == pytest.approx(truth.spring.spread, rel=0.04)
        assert part.spring.angle == pytest.approx(truth.spring.angle, abs=0.03)
        assert part.spring.angle_spread == pytest.approx(truth.spring.angle_spread, rel=0.05)


def test_parts_annotated_at_one_point_get_the_least_spread():
    body = Skeleton([Part("torso", 50.0, 9.0), Part("head", 20.0, 9.0, "torso", TURNED)])
    pose = ends_of(np.zeros((3, 2, 2)), np.array([[1.5, -1.5], [1.6, -1.4], [1.4, -1.7]]), np.array([[50.0, 20.0]] * 3))
    assert body.fitted(pose).parts[1].spring.spread == 1.0
    assert body.fitted(pose, least_spread=2.5).parts[1].spring.spread == 2.5
    pose_of_one = pose.copy()
    pose_of_one[1:, 1] = np.nan
    with pytest.raises(DiversetError, match="1 poses show head"):
        body.fitted(pose_of_one)
    with pytest.raises(DiversetError, match=r"expected \(n, 2, 2, 2\)"):
        body.fitted(pose[:, :1])


def test_features_by_the_formula():
    rng = np.random.default_rng(1)
    points = reference_points(GRID, (2, 3))
    # Cells of equal size: 28 by 21 pixels around the positions, from -1.5 and -8.5.
    assert points[:3] == pytest.approx(np.array([[-1.5 + 28 / 6 * i, -8.5 + 21 / 4] for i in (1, 3, 5)]))
    positions = rng.uniform(-10, 30, (5, 2))
    phi = location_features(positions, points, 8.0)
    plain = np.exp(-((positions[:, None] - points) ** 2).sum(-1) / (2 * 64.0))
    assert phi == pytest.approx(plain / np.linalg.norm(plain, axis=1, keepdims=True), rel=1e-12)


def test_features_far_from_every_point_are_not_lost():
    points = np.array([[0.0, 0.0], [10.0, 0.0]])
    phi = location_features([[1e4, 0.0], [4.0, 3.0]], points, sigma=0.01)
    assert phi.tolist() == [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda z: GRID.nearest(np.full((1, 2), z), [0.0]),
        lambda z: PoseGrid.over((0.0, z), (9.0, 9.0), step=1.0),
        lambda z: PoseGrid(2, 2, origin=(z, 0.0)),
        lambda z: Spring((z, 0.0), 1.0),
        lambda z: Skeleton.upper_body(60.0).fitted(z * np.arange(48.0).reshape(3, 4, 2, 2)),
        lambda z: match_poses(np.full((1, 2, 2, 2), z), np.ones((1, 2, 2, 2)), [1.0]),
        lambda z: match_poses(np.ones((1, 2, 2, 2)), np.full((1, 2, 2, 2), z), [1.0]),
        lambda z: mean_interval([z, 1.0]),
        lambda z: maps_on_grid(np.full((3, 3, GRID.n_orientations), z), GRID),
        lambda z: simulate_maps(np.full((1, 4, 2, 2), z), GRID),
        lambda z: PoseModel([np.full(GRID.shape, z)] * 4, GRID, Skeleton.upper_body(60.0)),
    ],
)
def test_complex_numbers_are_refused(call):
    assert call(2.0) is not None
    with pytest.raises(DiversetError, match="complex"):
        call(2.0 + 1.0j)
