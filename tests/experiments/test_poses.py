"""The experiment on poses: its readers on made-up people, tuning and scoring on small images, and the report."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from diverset.errors import DiversetError
from diverset.poses import PoseGrid, PoseModel, Skeleton, draw_pose, simulate_maps
from experiments import tables
from experiments.poses import data, report, scores
from experiments.poses.__main__ import main
from experiments.poses.data import Images, PoseImage

DATA = Path(os.environ.get("DIVERSET_DATA", Path(__file__).parents[3] / "shared" / "data"))
NAMES = ["rhip", "lhip", "neck", "head", "relb", "rsho", "lsho", "lelb"]


def person(x, y, u):
    """Joints of an upright person with a head size of u, the neck at (x, y)."""
    at = {"neck": (0, 0), "head": (0, -1.3), "rhip": (-0.5, 2.65), "lhip": (0.5, 2.65)}
    at |= {"rsho": (-0.8, 0.2), "relb": (-1, 1.5), "lsho": (0.8, 0.2), "lelb": (1, 1.5)}
    return np.array([[x + u * at[name][0], y + u * at[name][1]] for name in NAMES])


@pytest.fixture
def mpii(tmp_path):
    """Ten photos with one person, three with two; in the last of them the two differ in scale."""
    rng = np.random.default_rng(0)
    rows = [(f"one{i}", person(200, 100, 20 + i), 20.0 + i) for i in range(10)]
    rows += [(f"two{i}", person(300 + 90 * p, 150, 20), 20.0) for i in range(2) for p in range(2)]
    rows += [("far", person(300, 150, 20), 20.0), ("far", person(400, 150, 35), 35.0)]
    parts = np.array([joints for _, joints, _ in rows])
    visible = np.ones(parts.shape[:2], dtype=np.int8)
    hidden = 11, NAMES.index("relb")
    detector = parts + rng.normal(scale=2.0, size=parts.shape)
    visible[hidden], parts[hidden] = 0, 0.0
    folder = tmp_path / "pose_mpii"
    folder.mkdir()
    np.savez(
        folder / "mpii_val.npz",
        image=np.array([name for name, _, _ in rows]),
        parts=parts,
        visible=visible,
        head_size=np.array([size for _, _, size in rows]),
        detector_parts=detector,
        part_names=np.array(NAMES),
    )
    return tmp_path, parts, detector


def test_photos_are_brought_to_one_scale(mpii):
    folder, _, detector = mpii
    images = data.read_mpii(folder / "pose_mpii" / "mpii_val.npz", n_train=1)
    found = {image.name: image for image in images.train + images.test}
    assert sorted(found) == ["two0", "two1"]  # people of the third differ too much in size
    torso, head, right, left = images.skeleton.parts
    unit = 60.0 / 2.65
    assert torso.length == pytest.approx(60.0)
    assert head.length == pytest.approx(1.3 * unit)
    assert right.spring.offset == pytest.approx((0.2 * unit, 0.8 * unit))
    assert left.spring.offset == pytest.approx((0.2 * unit, -0.8 * unit))
    for image in found.values():
        assert image.poses.shape == (2, 4, 2, 2)
        assert image.log_scores[0].shape == image.grid.shape
        # The neighbour is 90 pixels, 4.5 head sizes, to the right.
        assert image.poses[1, 0, 0] - image.poses[0, 0, 0] == pytest.approx([4.5 * unit, 0.0])
        left_edge, right_edge, top, bottom = image.grid.box
        ends = image.poses.reshape(-1, 2)
        assert ((ends >= [left_edge, top]) & (ends <= [right_edge, bottom])).all()
    # The elbow that is not annotated is where the detector put it.
    hidden = found["two0"].poses[1, 2, 1] - found["two0"].poses[1, 2, 0]
    row = detector[11, NAMES.index("relb")] - person(390, 150, 20)[NAMES.index("rsho")]
    assert hidden == pytest.approx(row * unit / 20.0)


def test_missing_data_are_named(tmp_path, capsys):
    with pytest.raises(DiversetError, match=r"mpii_val\.npz is missing; say with --data"):
        data.read_images("pose_mpii", tmp_path)
    assert main(["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--sets", "pose_mpii"]) == 0
    assert "pose_mpii: skipped" in capsys.readouterr().err


@pytest.mark.skipif(not (DATA / "pose_mpii").exists(), reason="the public data are not there")
def test_the_real_photos():
    images = data.read_images("pose_mpii", DATA)
    assert (len(images.train), len(images.test)) == (13, 141)
    assert all(2 <= len(image.poses) <= 4 for image in images.test)
    assert max(image.grid.n_values for image in images.train + images.test) <= 75_000
    assert not {image.name for image in images.train} & {image.name for image in images.test}


def small_images(n):
    body = Skeleton.upper_body(60.0)
    grid = PoseGrid(10, 18, n_orientations=12, step=15.0)
    images = []
    for i in range(n):
        rng = np.random.default_rng(i)
        poses = np.array([draw_pose(body, (60.0 + 75.0 * p, 55.0), rng) for p in range(3)])
        images.append(PoseImage(str(i), grid, simulate_maps(poses, grid, rng=rng), poses))
    return Images(body, images[:2], images[2:])


@pytest.fixture(scope="module")
def result():
    patch = pytest.MonkeyPatch()
    for name, value in {
        "BETAS": (0.1, 0.5),
        "SIGMAS": (60.0,),
        "SIZES": (1.0, 1.5),
        "BASELINE_BETAS": {"non-max": (0.1, 3.2), "independent": (0.1, 3.2)},
        "N_TUNE": 2,
        "N_DRAWS": 3,
        "MOST_OWN": 4,
    }.items():
        patch.setattr(scores, name, value)
    said = []
    yield scores.run(small_images(5), step=said.append), said
    patch.undo()


def test_tuning_chooses_what_finds_people(result):
    found, said = result
    # Qualities raised to 0.1 are all but flat: poses lie anywhere.
    assert found.settings.beta == 0.5
    assert found.settings.baseline_betas == dict.fromkeys(("non-max", "independent", "non-max, own k"), 3.2)
    assert set(found.settings.own_k) == set(scores.OWN)
    assert all(2 <= k <= 4 for k in found.settings.own_k.values())
    assert len([line for line in said if line.startswith("beta")]) == 2


def test_scores_are_those_of_the_draws(result):
    found, _ = result
    assert found.f1["SDPP"].shape == (3, 3, len(scores.RADII))
    for method in scores.METHODS + scores.OWN:
        assert (np.diff(found.recall[method], axis=2) >= 0).all()
        p, r = found.precision[method], found.recall[method]
        harmonic = np.divide(2 * p * r, p + r, out=np.zeros_like(p), where=p + r > 0)
        assert found.f1[method] == pytest.approx(harmonic)
    mean, half = found.curve("recall", "SDPP")
    each = found.recall["SDPP"].mean(axis=1)
    assert mean == pytest.approx(each.mean(axis=0))
    assert half == pytest.approx(1.96 * each.std(axis=0, ddof=1) / np.sqrt(3))
    gap, _ = scores.difference(found, "recall", "independent")
    assert gap == pytest.approx(mean - found.curve("recall", "independent")[0])
    gap, _ = scores.difference(found, "f1", "non-max, own k")
    assert gap == pytest.approx(found.curve("f1", "SDPP, own k")[0] - found.curve("f1", "non-max, own k")[0])


def test_one_gamma_for_all_images():
    images = small_images(2)
    models = [PoseModel(image.log_scores, image.grid, images.skeleton, beta=0.3, sigma=60.0) for image in images.train]
    log_gamma = scores.common_gamma(models, 2.5)
    sizes = [model.scaled(log_gamma).dpp.expected_size for model in models]
    assert np.mean(sizes) == pytest.approx(2.5, abs=1e-4)
    assert sizes[0] != pytest.approx(sizes[1], abs=1e-3)


def test_report(result, tmp_path):
    results = {"scenes": result[0], "pose_mpii": result[0]}
    text = report.table(results)
    assert text.count("   * - ") == 1 + 2 * 3 * 5
    assert "beta 3.2 for non-max, 3.2 for independent" in text.replace("\n", " ")
    tables.write_csv(tmp_path / "poses.csv", report.HEADINGS, report.csv_rows(results))
    with (tmp_path / "poses.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 4 * (5 + 3) * len(scores.RADII)
    at = [r for r in rows if (r["score"], r["method"], r["radius_in_torsos"]) == ("f1", "SDPP", "0.5")]
    assert float(at[0]["mean"]) == pytest.approx(result[0].curve("f1", "SDPP")[0][4], abs=1e-4)
    report.draw(tmp_path / "poses.svg", results)
    assert (tmp_path / "poses.svg").read_text(encoding="utf-8").count("precision (dashed)") >= 1
