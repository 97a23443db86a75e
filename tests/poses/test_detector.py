"""Scenes, the detector that looks at their pixels, simulated maps, and maps read from pictures."""

import numpy as np
import pytest

from diverset.errors import DiversetError
from diverset.poses import (
    DetectorNoise,
    LimbDetector,
    PoseGrid,
    Skeleton,
    draw_pose,
    draw_scene,
    maps_on_grid,
    read_score_maps,
    simulate_maps,
)
from diverset.poses.simulate import limb_template
from diverset.poses.skeleton import point_distances

BODY = Skeleton.upper_body(30.0)
GRID = PoseGrid(9, 11, n_orientations=8, step=8.0, origin=(6.0, 5.0))


@pytest.fixture(scope="module")
def scene():
    return draw_scene(BODY, rng=3, size=(80, 100), n_people=2)


def test_scenes_are_seeded_and_their_people_inside(scene):
    again = draw_scene(BODY, rng=3, size=(80, 100), n_people=2)
    assert (scene.image == again.image).all()
    assert (scene.poses == again.poses).all()
    assert (draw_scene(BODY, rng=4, size=(80, 100), n_people=2).image != scene.image).any()
    assert scene.poses.shape == (2, 4, 2, 2)
    necks = scene.poses[:, 0, 0]
    assert ((necks >= 0) & (necks <= [100, 80])).all()
    counts = {len(draw_scene(BODY, rng=i).poses) for i in range(20)}
    assert counts == {3, 4, 5}


def test_people_are_seen_where_they_are():
    """Without clutter, pixels on the axis of a limb are brighter than the background by the contrast."""
    many = [draw_scene(BODY, rng=i, size=(120, 160), n_people=1, n_clutter=0, n_occluders=0) for i in range(10)]
    x, y = np.meshgrid(np.arange(160.0), np.arange(120.0))
    for one in many:
        distance = np.min([point_distances(np.stack([x, y], axis=-1), limb) for limb in one.poses[0]], axis=0)
        on, off = one.image[distance < 1.5], one.image[distance > 12]
        assert on.mean() > off.mean() + 0.08


def test_responses_are_correlations(scene):
    """Each is the correlation of pixels under limb and rim with a mask; taken one by one here."""
    found = LimbDetector(BODY).responses(scene.image, GRID)
    rng = np.random.default_rng(0)
    for r, part in enumerate(BODY.parts):
        for _ in range(15):
            i, j, t = (int(rng.integers(n)) for n in GRID.shape)
            limb, rim = limb_template(float(GRID.orientations[t]), part.length, part.radius)
            n = len(limb) // 2
            padded = np.pad(scene.image, n, mode="edge")
            row, column = int(np.rint(GRID.y[i])), int(np.rint(GRID.x[j]))
            window = padded[row : row + 2 * n + 1, column : column + 2 * n + 1]
            used = (limb + rim) > 0
            expected = np.corrcoef(window[used], limb[used])[0, 1]
            assert found[r][i, j, t] == pytest.approx(expected, abs=2e-4)
    assert found[2] is found[3]  # arms look alike


def test_responses_ignore_brightness_and_contrast(scene):
    plain = LimbDetector(BODY).responses(scene.image, GRID)
    other = LimbDetector(BODY).responses(3.0 * scene.image + 7.0, GRID)
    assert np.array(other) == pytest.approx(np.array(plain), abs=2e-3)


def test_template_covers_the_limb():
    limb, rim = limb_template(0.7, 20.0, 4.0)
    assert limb.sum() == pytest.approx(20.0 * 8.0 + np.pi * 16.0, rel=0.03)
    assert not (limb * rim).any()
    assert rim.sum() == pytest.approx(2 * 4.0 * 20.0, rel=0.06)


def test_calibrated_scores_rise_with_responses_and_tell_limbs_apart():
    body = Skeleton.upper_body(50.0)
    grid = PoseGrid.over((0, 0), (239, 179), step=6.0)
    scenes = [draw_scene(body, rng=i, size=(180, 240)) for i in range(8)]
    detector = LimbDetector(body).calibrated(scenes[:6], grid, rng=0)
    for responses, odds in detector.calibration:
        assert (np.diff(responses) > 0).all()
        assert (np.diff(odds) >= 0).all()
        assert odds[-1] > odds[0] + 2.0
    # On scenes it has not seen, log-odds are higher at the parts than anywhere on average.
    for scene in scenes[6:]:
        along = scene.poses[:, :, 1] - scene.poses[:, :, 0]
        values = grid.nearest(scene.poses[:, :, 0], np.arctan2(along[..., 1], along[..., 0]))
        maps = detector.log_scores(scene.image, grid)
        gain = [m.reshape(-1)[values[:, r]].mean() - m.mean() for r, m in enumerate(maps)]
        assert min(gain) > 1.0
    with pytest.raises(DiversetError, match="not calibrated"):
        LimbDetector(BODY).log_scores(scenes[0].image, grid)
    with pytest.raises(DiversetError, match="no scene was given"):
        LimbDetector(BODY).calibrated([], grid)


def test_simulated_maps_peak_at_the_parts():
    clear = DetectorNoise(person_spread=0.0, part_spread=0.0, miss_rate=0.0, false_alarms=0.0, noise=0.0)
    pose = draw_pose(BODY, (51.0, 40.0), rng=1)
    maps = simulate_maps(pose[None], GRID, rng=0, noise=clear)
    angle = np.arctan2(*(pose[:, 1] - pose[:, 0]).T[::-1])
    values = GRID.nearest(pose[:, 0], angle)
    for r, m in enumerate(maps):
        assert int(m.argmax()) == values[r]
        assert m.min() == pytest.approx(-8.0, abs=0.01)
    # The bump by its formula, at one value beside the peak.
    i, j, t = 4, 6, 3
    miss = GRID.positions(np.ravel_multi_index((i, j, t), GRID.shape)) - pose[0, 0]
    turn = np.angle(np.exp(1j * (GRID.orientations[t] - angle[0])))
    bump = np.exp(-(miss @ miss) / (2 * 8.0**2) - turn**2 / (2 * 0.3**2))
    assert maps[0][i, j, t] == pytest.approx(np.log(np.exp(-8.0) + bump))


def test_simulated_maps_err_as_told():
    clear = {"person_spread": 0.0, "part_spread": 0.0, "miss_rate": 0.0, "false_alarms": 0.0, "noise": 0.0}
    pose = draw_pose(BODY, (51.0, 40.0), rng=1)[None]
    shift = np.full((1, 4, 2, 2), [16.0, -8.0])
    moved = simulate_maps(pose, GRID, rng=0, noise=DetectorNoise(**clear), errors=shift)
    there = simulate_maps(pose + shift, GRID, rng=0, noise=DetectorNoise(**clear))
    assert np.array(moved) == pytest.approx(np.array(there))
    missed = simulate_maps(pose, GRID, rng=0, noise=DetectorNoise(**clear | {"miss_rate": 1.0}))
    seen = simulate_maps(pose, GRID, rng=0, noise=DetectorNoise(**clear))
    assert seen[0].max() - missed[0].max() == pytest.approx(3.0, abs=0.05)
    alarms = simulate_maps(pose, GRID, rng=0, noise=DetectorNoise(**clear | {"false_alarms": 20.0}))
    assert (alarms[0] > -2).sum() > 3 * (seen[0] > -2).sum()
    noisy = simulate_maps(pose, GRID, rng=0, noise=DetectorNoise(**clear | {"noise": 0.5}))
    assert np.std(noisy[0] - seen[0]) == pytest.approx(0.5, rel=0.01)
    with pytest.raises(DiversetError, match="every entry must be finite"):
        simulate_maps(pose * np.nan, GRID)


def test_maps_on_a_grid_are_bilinear():
    y, x, t = np.meshgrid(np.arange(30), np.arange(40), np.arange(2), indexing="ij")
    grid = PoseGrid(3, 4, n_orientations=2, step=7.3, origin=(1.4, 2.2))
    found = maps_on_grid(2.0 * y - 3.0 * x + 100.0 * t, grid)
    expected = 2.0 * grid.y[:, None, None] - 3.0 * grid.x[:, None] + 100.0 * np.arange(2)
    assert found == pytest.approx(expected)
    outside = maps_on_grid(1.0 * y, PoseGrid(2, 2, n_orientations=2, step=100.0, origin=(-50.0, -50.0)))
    assert outside[:, 0, 0].tolist() == [0.0, 29.0]
    with pytest.raises(DiversetError, match=r"expected \(height, width, 8\)"):
        maps_on_grid(np.zeros((4, 4, 2)), GRID)


@pytest.mark.parametrize("bits", [8, 16])
def test_maps_from_pictures(tmp_path, bits):
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    top = 2**bits - 1
    values = rng.integers(0, top + 1, (2, 20, 30)).astype(np.uint8 if bits == 8 else np.uint16)
    paths = [tmp_path / f"{t}.png" for t in range(2)]
    for path, picture in zip(paths, values, strict=True):
        image.fromarray(picture).save(path)
    grid = PoseGrid(3, 4, n_orientations=2, step=6.0, origin=(1.0, 2.0))
    found = read_score_maps({"torso": paths, "head": paths[0]}, grid, floor=0.01)
    at = np.ix_(grid.y.astype(int), grid.x.astype(int))
    for t in range(2):
        assert found["torso"][:, :, t] == pytest.approx(np.log(0.01 + values[t][at] / top))
        assert found["head"][:, :, t] == pytest.approx(found["torso"][:, :, 0])


def test_bad_pictures_are_named(tmp_path):
    image = pytest.importorskip("PIL.Image")
    grid = PoseGrid(2, 2, n_orientations=2, step=1.0)
    with pytest.raises(DiversetError, match=r"no picture .*none\.png"):
        read_score_maps({"torso": tmp_path / "none.png"}, grid)
    (tmp_path / "text.png").write_text("no picture", encoding="utf-8")
    with pytest.raises(DiversetError, match=r"text\.png is no picture"):
        read_score_maps({"torso": tmp_path / "text.png"}, grid)
    for name, shape in (("a.png", (3, 4)), ("b.png", (4, 3))):
        image.fromarray(np.zeros(shape, dtype=np.uint8)).save(tmp_path / name)
    with pytest.raises(DiversetError, match="torso differ in size"):
        read_score_maps({"torso": [tmp_path / "a.png", tmp_path / "b.png"]}, grid)
    with pytest.raises(DiversetError, match="torso has 3 pictures"):
        read_score_maps({"torso": [tmp_path / "a.png"] * 3}, grid)
