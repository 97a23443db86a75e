"""From pixels to picks: folders in which several classes are mixed, and how many of them a dozen picks show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import diverset as dv
from diverset import baselines
from diverset.errors import DiversetError
from diverset.images import FEATURES, ImageFeatures, combine, extract, near_duplicates
from diverset.images.pick import COMPARED_BY, choose_images

__all__ = ["Mixed", "mixed_folders", "run_caltech"]

FOLDERS = 60
CLASSES = 6
#: Images of each class in a mixed folder, drawn evenly: some classes are rare.
LEAST, MOST = 5, 40
PICKS = 12


@dataclass(frozen=True, eq=False)
class Mixed:
    """Class recall by method, one number for each folder; and what was found on the way."""

    recall: dict[str, np.ndarray]
    by_feature: dict[str, np.ndarray]
    images: int
    skipped: int
    copies: list[tuple[str, str]]


def mixed_folders(labels: np.ndarray, *, number: int = FOLDERS, seed: int = 0) -> list[np.ndarray]:
    """Positions of the images of each folder."""
    rng = np.random.default_rng(seed)
    folders = []
    for _ in range(number):
        classes = rng.choice(np.unique(labels), CLASSES, replace=False)
        sizes = rng.integers(LEAST, MOST + 1, size=CLASSES)
        folders.append(
            np.concatenate(
                [
                    rng.choice(np.flatnonzero(labels == one), size, replace=False)
                    for one, size in zip(classes, sizes, strict=True)
                ]
            )
        )
    return folders


def run_caltech(folder: Path, *, cache: Path | None = None, n_folders: int = FOLDERS) -> Mixed:
    """Features of all images, then picks from every mixed folder by several methods."""
    if not (folder / "images").is_dir():
        raise DiversetError(f"{folder / 'images'} is missing; say with --data where the public data are")
    found = extract(folder / "images", cache=cache, progress=True)
    labels = np.array([path.parent.name for path in found.paths])
    methods: dict[str, Callable[[ImageFeatures, int], np.ndarray]] = {
        "diverset images": lambda part, seed: choose_images(part, PICKS).picks,
        "a draw of the k-DPP": lambda part, seed: choose_images(part, PICKS, method="sample", rng=seed).picks,
        "the same by cosine": lambda part, seed: dv.select(combine(part, COMPARED_BY), PICKS).indices,
        "MMR": lambda part, seed: baselines.mmr(combine(part, COMPARED_BY), PICKS, diversity=1.0).indices,
        "max-sum": lambda part, seed: baselines.max_sum(combine(part, COMPARED_BY), PICKS, diversity=1.0).indices,
        "facility location": lambda part, seed: (
            baselines.facility_location(combine(part, COMPARED_BY), PICKS, diversity=1.0).indices
        ),
        "random": lambda part, seed: np.random.default_rng(seed).permutation(len(part.paths))[:PICKS],
    }
    recall: dict[str, list[float]] = {name: [] for name in methods}
    by_feature: dict[str, list[float]] = {name: [] for name in FEATURES}
    for seed, rows in enumerate(mixed_folders(labels, number=n_folders)):
        part = _rows(found, rows)
        for name, method in methods.items():
            recall[name].append(len(set(labels[rows][method(part, seed)])) / CLASSES)
        for name in FEATURES:
            picks = dv.select(combine(part, [name]), PICKS, similarity="rbf").indices
            by_feature[name].append(len(set(labels[rows][picks])) / CLASSES)
    same = near_duplicates(found)
    copies = [(_name(found.paths[i]), _name(found.paths[j])) for i, j in enumerate(same.tolist()) if i != j]
    return Mixed(
        {name: np.array(values) for name, values in recall.items()},
        {name: np.array(values) for name, values in by_feature.items()},
        len(found.paths),
        len(found.skipped),
        copies,
    )


def _rows(found: ImageFeatures, rows: np.ndarray) -> ImageFeatures:
    return ImageFeatures(
        [found.paths[i] for i in rows],
        found.sizes[rows],
        {name: matrix[rows] for name, matrix in found.items()},
        [],
    )


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
