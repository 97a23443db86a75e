"""Pose models on tiny grids against lists of all poses, and the laws of the baselines."""

import tracemalloc
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

import diverset as dv
from diverset.errors import DiversetError, KernelError
from diverset.poses import Part, PoseGrid, PoseModel, Skeleton, Spring, location_features, reference_points
from diverset.poses.skeleton import ends_of, segment_distances

GRID = PoseGrid(2, 3, n_orientations=2, step=10.0)
BODY = Skeleton(
    [
        Part("torso", 6.0, 2.0, direction=(0.0, 2.0)),
        Part("head", 4.0, 2.0, "torso", Spring((5.0, 3.0), 9.0, 0.5, 2.0)),
        Part("arm", 5.0, 1.0, "torso", Spring((-2.0, 8.0), 7.0)),
    ]
)


def scores(seed=0, forbidden=True):
    rng = np.random.default_rng(seed)
    maps = [rng.normal(size=GRID.shape) for _ in BODY.parts]
    if forbidden:
        maps[1][0, 1, 0] = -np.inf
    return maps


def listed(maps, beta, log_gamma, sigma, reference=(2, 2)):
    """Quality and features of every pose, by the formulas of the model: no message passing, no separable factors."""
    poses = np.array(list(product(range(GRID.n_values), repeat=3)))
    position = [GRID.positions(poses[:, r]) for r in range(3)]
    angle = [GRID.angles(poses[:, r]) for r in range(3)]

    def around(a):
        return np.abs(np.angle(np.exp(1j * a)))

    energy = around(angle[0] - BODY.parts[0].direction[0]) ** 2 / (2 * BODY.parts[0].direction[1] ** 2)
    for r in (1, 2):
        spring = BODY.parts[r].spring
        along = np.stack([np.cos(angle[0]), np.sin(angle[0])], axis=1)
        across = np.stack([-np.sin(angle[0]), np.cos(angle[0])], axis=1)
        miss = position[r] - position[0] - spring.offset[0] * along - spring.offset[1] * across
        energy = energy + (miss**2).sum(1) / (2 * spring.spread**2)
        energy = energy + around(angle[r] - angle[0] - spring.angle) ** 2 / (2 * spring.angle_spread**2)
    log_q = sum(maps[r].reshape(-1)[poses[:, r]] for r in range(3)) - energy
    points = reference_points(GRID, reference)
    phi = sum(location_features(position[r], points, sigma) for r in range(3))
    return poses, np.exp(log_gamma + beta * log_q), phi


def model(maps, **options):
    options = {"beta": 0.7, "log_gamma": -0.4, "sigma": 8.0, "reference": (2, 2), "reach": np.inf} | options
    return PoseModel(maps, GRID, BODY, **options)


def test_model_is_the_list_of_all_poses():
    maps = scores()
    poses, q, phi = listed(maps, 0.7, -0.4, 8.0)
    B = q[:, None] * phi
    m = model(maps)
    assert m.dpp.dual_kernel == pytest.approx(B.T @ B, rel=1e-10)
    K = np.linalg.inv(B.T @ B + np.eye(4))
    assert m.dpp.log_normalizer == pytest.approx(np.linalg.slogdet(B.T @ B + np.eye(4))[1], rel=1e-10)
    inclusion = np.einsum("ij,jk,ik->i", B, K, B)
    assert m.dpp.inclusion_probability(poses) == pytest.approx(inclusion, rel=1e-9, abs=1e-15)
    for r, mu in enumerate(m.dpp.part_marginals()):
        assert mu == pytest.approx(np.bincount(poses[:, r], inclusion, minlength=GRID.n_values), rel=1e-9, abs=1e-15)
    law = np.exp(m.quality_model.log_prob(poses))
    assert law == pytest.approx(q / q.sum(), rel=1e-10)


def test_draws_are_seeded_and_allowed():
    m = model(scores(), log_gamma=2.0)
    sets = m.sample(20, rng=3)
    assert [y.tolist() for y in sets] == [y.tolist() for y in m.sample(20, rng=3)]
    assert all(np.isfinite(m.graph.log_quality(y)).all() for y in sets)
    assert np.mean([len(y) for y in sets]) == pytest.approx(m.dpp.expected_size, abs=0.6)


def test_gamma_and_expected_size():
    m = model(scores())
    other = m.scaled(1.5)
    assert other.dpp.dual_kernel == pytest.approx(model(scores(), log_gamma=1.5).dpp.dual_kernel, rel=1e-10)
    assert m.log_gamma == -0.4
    sized = m.rescale(2.5)
    assert sized.dpp.expected_size == pytest.approx(2.5)
    assert model(scores(), log_gamma=sized.log_gamma).dpp.expected_size == pytest.approx(2.5)


def touch(a, b):
    """Whether two poses overlap, limb by limb."""
    return any(
        segment_distances(a[r], b[s]) < BODY.parts[r].radius + BODY.parts[s].radius for r in range(3) for s in range(3)
    )


def ends(poses):
    return ends_of(GRID.positions(poses), GRID.angles(poses), np.tile(BODY.lengths, (len(poses), 1)))


def pair_law(maps, *, suppress=True):
    """Law of the first two poses of non-maximum suppression, from the list of all; None for no second pose."""
    poses, q, _ = listed(maps, 2.0, 0.0, 8.0)
    limbs, p = ends(poses), q / q.sum()
    likely = np.flatnonzero(p > 1e-6)
    law = {}
    for i in likely:
        free = np.array([not suppress or not touch(limbs[i], limbs[j]) for j in likely])
        weights = np.where(free, p[likely], 0.0)
        if not weights.any():
            law[int(i), None] = p[i]
            continue
        for j, w in zip(likely, weights / weights.sum(), strict=True):
            if w:
                law[int(i), int(j)] = p[i] * w
    return poses, law


@pytest.fixture(scope="module")
def few():
    """Scores that leave a handful of poses, so that pairs can be listed."""
    rng = np.random.default_rng(2)
    maps = []
    for _ in BODY.parts:
        m = np.full(GRID.shape, -np.inf)
        for value in rng.choice(GRID.n_values, 3, replace=False):
            m.reshape(-1)[value] = rng.normal(scale=0.5)
        maps.append(m)
    return maps


def counts_of(m, poses, n):
    place = {tuple(y): i for i, y in enumerate(poses.tolist())}
    rng = np.random.default_rng(5)
    found = Counter()
    for _ in range(n):
        drawn = [place[tuple(y)] for y in m.sample_suppressed(2, rng=rng).tolist()]
        found[drawn[0], drawn[1] if len(drawn) > 1 else None] += 1
    return found


def p_value(found, law, n):
    """Chi-square on counts; rare pairs are taken together."""
    common = [pair for pair, p in law.items() if n * p >= 8]
    expected = np.array([n * law[pair] for pair in common])
    seen = np.array([found[pair] for pair in common])
    rest = n - expected.sum()
    return (
        chisquare([*seen, n - seen.sum()], [*expected, rest]).pvalue if rest > 1 else chisquare(seen, expected).pvalue
    )


def test_suppressed_poses_follow_their_law(few):
    m, n = model(few, beta=2.0), 300
    poses, law = pair_law(few)
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-4)
    assert len(law) > 10
    found = counts_of(m, poses, n)
    assert set(found) <= set(law)
    assert p_value(found, law, n) > 1e-3
    # The test tells it from poses drawn without the rule.
    assert p_value(found, pair_law(few, suppress=False)[1], n) < 1e-6


def test_suppression_stops_where_no_place_is_left(few):
    m = model(few, beta=2.0)
    drawn = m.sample_suppressed(30, rng=0)
    assert 1 <= len(drawn) < 10
    limbs = ends(drawn)
    assert not any(touch(limbs[i], limbs[j]) for i in range(len(drawn)) for j in range(i))
    assert m.sample_suppressed(0, rng=0).shape == (0, 3)


def test_independent_poses_follow_the_quality(few):
    m, n = model(few, beta=2.0), 4_000
    poses, q, _ = listed(few, 2.0, 0.0, 8.0)
    law = {tuple(y): p for y, p in zip(poses.tolist(), q / q.sum(), strict=True) if p > 0}
    found = Counter(map(tuple, m.sample_independent(n, rng=1).tolist()))
    assert p_value(found, law, n) > 1e-3
    flat = {y: 1 / len(law) for y in law}
    assert p_value(found, flat, n) < 1e-6


def test_ends_and_clouds():
    m = model(scores())
    pose = np.array([[np.ravel_multi_index((1, 2, 1), GRID.shape), 0, 3]])
    found = m.ends(pose)
    assert found.shape == (1, 3, 2, 2)
    assert found[0, 0] == pytest.approx(np.array([[20.0, 10.0], [14.0, 10.0]]))
    clouds = m.clouds(m.dpp.part_marginals())
    assert clouds.shape == (3, 2, 3)
    assert clouds.sum(axis=(1, 2)) == pytest.approx(np.full(3, m.dpp.expected_size))
    marginals = m.dpp.part_marginals()
    assert clouds == pytest.approx(np.array(marginals).reshape(3, *GRID.shape).sum(axis=3))
    # A limb of 6 pixels, more than half a step, that points left from (1, 2): its end is nearest to (1, 1).
    one = np.zeros(GRID.n_values)
    one[pose[0, 0]] = 1.0
    moved = m.clouds([one, one, one], along=1.0)
    assert moved[0, 1, 1] == moved.sum(axis=(1, 2))[0] == 1.0
    # Beyond the border it is left out.
    gone = np.zeros(GRID.n_values)
    gone[np.ravel_multi_index((1, 2, 0), GRID.shape)] = 1.0
    assert m.clouds([gone, gone, gone], along=1.0)[0].sum() == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model(scores()[:2]), "2 arrays for 3 parts"),
        (lambda: model({"torso": scores()[0], "head": scores()[1]}), "no array for arm"),
        (lambda: model([*scores()[:2], np.zeros((2, 2, 2))]), "scores of arm have shape"),
        (lambda: model(scores(), beta=-1.0), "beta is -1"),
        (lambda: model(scores(), sigma=0.0), "sigma is 0"),
        (lambda: model(scores()).sample_suppressed(-1), "k is -1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((KernelError, DiversetError), match=message):
        call()


def test_scores_by_name_and_untouched_input():
    maps = scores()
    before = [m.copy() for m in maps]
    named = dict(zip(BODY.names, maps, strict=True))
    assert model(named).dpp.dual_kernel == pytest.approx(model(maps).dpp.dual_kernel)
    assert all((a == b).all() for a, b in zip(maps, before, strict=True))


def test_lazily_loaded():
    assert dv.poses.PoseModel is PoseModel


def test_memory_of_a_whole_image():
    """4 parts of 20,736 values: one dense spring would take 3.4 GB, messages take some megabytes each."""
    grid = PoseGrid(24, 36, step=10.0)
    rng = np.random.default_rng(0)
    m = PoseModel(rng.normal(size=(4, *grid.shape)), grid, Skeleton.upper_body(60.0), beta=0.5)
    tracemalloc.start()
    try:
        m.rescale(4.0).sample(3, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2e8
