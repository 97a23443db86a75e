"""Two sets of images with known poses: scenes drawn pixel by pixel, and maps around annotated people.

=========  ======================================================  ====================================================
set        what is real                                            what is made up
=========  ======================================================  ====================================================
scenes     the detector: filters run on noisy pixels               the pictures: stick figures, clutter, occlusion
pose_mpii  where people are and how they stand, in photos with     the detector's maps; by how much they miss is drawn
           several annotated people; a detector's errors           from those errors
=========  ======================================================  ====================================================

A pose is made of a torso (neck to the middle of the hips), a head (neck to top) and the upper arms. Everything is at
one scale, a torso of about 60 pixels. Springs are fitted to people of training images, and to people of photos with
one person, which are in no test set.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diverset.errors import DiversetError
from diverset.poses import LimbDetector, PoseGrid, Skeleton, draw_scene, simulate_maps

__all__ = ["DATA_SETS", "Images", "PoseImage", "read_images"]

#: Length of a torso in pixels.
TORSO = 60.0
#: Images to tune on, as many as in the source.
N_TRAIN = 13
#: Scenes to test on, as many as in the source.
N_TEST = 60
#: People of one photo may differ in head size by this factor ("people at similar scale", as in the source).
MOST_RATIO = 1.5
#: Values of a part in the largest photo, as in the source.
MOST_VALUES = 75_000


@dataclass(frozen=True, eq=False)
class PoseImage:
    """Detector output for one image, and who is in it."""

    name: str
    grid: PoseGrid
    log_scores: list[np.ndarray]
    poses: np.ndarray
    picture: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Images:
    """Training and test images with the skeleton fitted for them."""

    skeleton: Skeleton
    train: list[PoseImage]
    test: list[PoseImage]


def read_images(name: str, data: Path) -> Images:
    """A data set; one clear error if its file is missing."""
    if name == "scenes":
        return make_scenes()
    return read_mpii(Path(data) / "pose_mpii" / "mpii_val.npz")


def make_scenes(n_train: int = N_TRAIN, n_test: int = N_TEST, *, step: float = 12.0) -> Images:
    """Scenes with three to five people; the detector is calibrated on the training scenes."""
    body = Skeleton.upper_body(TORSO)
    scenes = [draw_scene(body, rng=[9, i]) for i in range(n_train + n_test)]
    height, width = scenes[0].image.shape
    grid = PoseGrid.over((0.0, 0.0), (width - 1.0, height - 1.0), step=step)
    skeleton = body.fitted(np.concatenate([scene.poses for scene in scenes[:n_train]]))
    detector = LimbDetector(body).calibrated(scenes[:n_train], grid, rng=0)
    images = [
        PoseImage(f"scene {i}", grid, detector.log_scores(scene.image, grid), scene.poses, scene.image)
        for i, scene in enumerate(scenes)
    ]
    return Images(skeleton, images[:n_train], images[n_train:])


def read_mpii(path: Path, n_train: int = N_TRAIN, *, step: float = 10.0) -> Images:
    """Photos with several annotated people at similar scale; maps are simulated.

    Joints that are not annotated (28%) are where the detector puts them, both for the maps and for the truth.
    """
    try:
        with np.load(path) as arrays:
            held = {key: arrays[key] for key in arrays}
    except FileNotFoundError as error:
        raise DiversetError(
            f"{path} is missing; say with --data where the public data are (or set DIVERSET_DATA)"
        ) from error
    seen = held["visible"].astype(bool)[:, :, None]
    names = [str(name) for name in held["part_names"]]
    estimate = held["detector_parts"].astype(np.float64)
    joints = np.where(seen, held["parts"], estimate)
    errors = np.where(seen, estimate - held["parts"], np.nan)
    photo, number, count = np.unique(held["image"], return_inverse=True, return_counts=True)
    size = held["head_size"].astype(np.float64)
    # Torsos are 2.65 head sizes long, by the median of the annotated ones.
    unit = TORSO / 2.65
    alone = (count == 1)[number]
    body = Skeleton.upper_body(TORSO)
    own = unit / size[:, None, None, None]
    skeleton = body.fitted((own * _limbs(np.where(seen, held["parts"], np.nan), names))[alone])
    misses = (own * _limbs(errors, names))[alone]
    misses = misses[np.isfinite(misses).all(axis=(1, 2, 3))]
    chosen = []
    for p in np.flatnonzero(count > 1):
        people = np.flatnonzero(number == p)
        if size[people].max() / size[people].min() > MOST_RATIO:
            continue
        poses = unit / size[people].mean() * _limbs(joints[people], names)
        low, high = poses.min(axis=(0, 1, 2)) - 0.5 * TORSO, poses.max(axis=(0, 1, 2)) + 0.5 * TORSO
        grid = PoseGrid.over((0.0, 0.0), tuple(high - low), step=step)
        if grid.n_values <= MOST_VALUES:
            chosen.append((str(photo[p]), grid, poses - low, int(p)))
    images = [
        PoseImage(name, grid, simulate_maps(poses, grid, rng=[4, p], errors=misses), poses)
        for name, grid, poses, p in chosen
    ]
    order = np.random.default_rng(0).permutation(len(images))
    return Images(skeleton, [images[i] for i in order[:n_train]], [images[i] for i in order[n_train:]])


def _limbs(joints: np.ndarray, names: list[str]) -> np.ndarray:
    """Both ends of torso, head, right and left upper arm, (n, 4, 2, 2), from joints, (n, n_joints, 2)."""

    def at(name: str) -> np.ndarray:
        return joints[:, names.index(name)]

    hips = 0.5 * (at("rhip") + at("lhip"))
    pairs = [(at("neck"), hips), (at("neck"), at("head")), (at("rsho"), at("relb")), (at("lsho"), at("lelb"))]
    return np.stack([np.stack(pair, axis=1) for pair in pairs], axis=1)


#: What each set is, for tables and titles.
DATA_SETS = {
    "scenes": "drawn scenes, a detector on their pixels",
    "pose_mpii": "annotated photos, simulated detector",
}
