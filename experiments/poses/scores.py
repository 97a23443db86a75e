"""Tune on training images, draw on test images, and score against the annotated poses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import brentq

from diverset.poses import PoseModel, match_poses, mean_interval
from experiments.poses.data import TORSO, Images, PoseImage

__all__ = ["METHODS", "OWN", "RADII", "TARGET", "Result", "Settings", "difference", "run"]

#: The baselines draw as many poses as the SDPP, as in the source.
METHODS = ("SDPP", "non-max", "independent")
#: The same number of poses for every image, chosen for each method separately.
OWN = ("SDPP, own k", "non-max, own k")
#: Radii of acceptance in pixels; a torso is 60 long.
RADII = TORSO * np.arange(0.1, 1.01, 0.1)
#: The radius that F1 is tuned at: half a torso.
TARGET = 0.5 * TORSO
#: What is tried: sharpness, width of the features, and expected sizes relative to the mean number of people.
BETAS = (0.3, 0.5, 0.8, 1.2)
SIGMAS = (0.5 * TORSO, 1.0 * TORSO, 1.5 * TORSO)
SIZES = (1.0, 1.5, 2.0)
BASELINE_BETAS = {"non-max": (1.6, 3.2, 6.4), "independent": (0.4, 0.8, 1.6, 3.2)}
MOST_OWN = 6
#: Sets drawn per image, to tune and to test.
N_TUNE, N_DRAWS = 4, 10
ARMS = (2, 3)


@dataclass(frozen=True)
class Settings:
    """What was chosen on the training images."""

    beta: float
    sigma: float
    log_gamma: float
    size: float
    baseline_betas: dict[str, float]
    own_k: dict[str, int]


@dataclass(frozen=True, eq=False)
class Result:
    """Scores on the test images: for each method arrays of shape (n_images, n_draws, n_radii)."""

    settings: Settings
    precision: dict[str, np.ndarray]
    recall: dict[str, np.ndarray]
    f1: dict[str, np.ndarray]
    arms: dict[str, np.ndarray]
    sizes: np.ndarray
    people: np.ndarray

    def curve(self, which: str, method: str) -> tuple[np.ndarray, np.ndarray]:
        """Mean over images at each radius, and half of its 95% interval; draws of an image are averaged first."""
        return mean_interval(getattr(self, which)[method].mean(axis=1))


def difference(result: Result, which: str, other: str) -> tuple[np.ndarray, np.ndarray]:
    """By how much the SDPP exceeds another method, image by image, with half of the 95% interval.

    A method with its own number of poses is held against the SDPP with its own.
    """
    scores = getattr(result, which)
    ours = scores[OWN[0] if other in OWN else METHODS[0]]
    return mean_interval(ours.mean(axis=1) - scores[other].mean(axis=1))


def common_gamma(models: Sequence[PoseModel], mean_size: float) -> float:
    r"""The :math:`\log\gamma` for all images at which their expected sizes have this mean."""
    logs = [np.log(model.dpp.eigenvalues[model.dpp.eigenvalues > 0.0]) for model in models]

    def excess(log_gamma: float) -> float:
        return float(np.mean([(1.0 / (1.0 + np.exp(-(lam + 2.0 * log_gamma)))).sum() for lam in logs])) - mean_size

    top = max(lam.max() for lam in logs)
    return float(brentq(excess, -0.5 * top - 50.0, -0.5 * top + 400.0, xtol=1e-6))


def _model(image: PoseImage, images: Images, beta: float, sigma: float = TORSO) -> PoseModel:
    return PoseModel(image.log_scores, image.grid, images.skeleton, beta=beta, sigma=sigma)


def _f1(model: PoseModel, poses: Sequence[np.ndarray], truth: np.ndarray) -> float:
    scores = [match_poses(model.ends(y), truth, [TARGET]).f1[0] for y in poses]
    return float(np.mean(scores))


def _baseline(model: PoseModel, method: str, sizes: Sequence[int], rng: np.random.Generator) -> list[np.ndarray]:
    draw = model.sample_independent if method == "independent" else model.sample_suppressed
    return [draw(k, rng=rng) for k in sizes]


def _tune_own(images: Images, step: Callable[[str], object]) -> tuple[float, int]:
    """Sharpness and number of poses of non-maximum suppression that stands on its own."""
    scores: dict[tuple[float, int], float] = {}
    for beta in BASELINE_BETAS["non-max"]:
        each = []
        for i, image in enumerate(images.train):
            model = _model(image, images, beta)
            runs = _baseline(model, "non-max", [MOST_OWN] * N_TUNE, np.random.default_rng(i))
            # The first k poses of a run are a run for k.
            each.append([_f1(model, [poses[:k] for poses in runs], image.poses) for k in range(1, MOST_OWN + 1)])
        mean = np.mean(each, axis=0)
        scores |= {(beta, k): float(mean[k - 1]) for k in range(1, MOST_OWN + 1)}
    best = max(scores, key=lambda key: scores[key])
    step(f"non-max, own k: F1 {scores[best]:.3f} with {best[1]} poses at beta {best[0]:g}")
    return best


def _own_size(images: Images, beta: float, sigma: float, step: Callable[[str], object]) -> int:
    """Number of poses of the k-DPP over poses, as sharp and as wide as the SDPP."""
    models = [_model(image, images, beta, sigma) for image in images.train]
    found = []
    for k in range(1, MOST_OWN + 1):
        scores = [
            _f1(model, model.dpp.of_size(k).sample(N_TUNE, rng=i), image.poses)
            for i, (model, image) in enumerate(zip(models, images.train, strict=True))
        ]
        found.append(float(np.mean(scores)))
    k = int(np.argmax(found)) + 1
    step(f"SDPP, own k: F1 {found[k - 1]:.3f} with {k} poses")
    return k


def tune(images: Images, step: Callable[[str], object] = print) -> Settings:
    """Settings with the best mean F1 on the training images; baselines draw as many poses as the SDPP did."""
    n_people = float(np.mean([len(image.poses) for image in images.train]))
    best: tuple[float, float, float, float, float] | None = None
    kept: list[list[int]] = []
    for beta, sigma in product(BETAS, SIGMAS):
        models = [_model(image, images, beta, sigma) for image in images.train]
        found = []
        for ratio in SIZES:
            log_gamma = common_gamma(models, ratio * n_people)
            scores, sizes = [], []
            for i, (model, image) in enumerate(zip(models, images.train, strict=True)):
                drawn = model.scaled(log_gamma).sample(N_TUNE, rng=i)
                scores.append(_f1(model, drawn, image.poses))
                sizes.append([len(y) for y in drawn])
            found.append((float(np.mean(scores)), ratio))
            if best is None or found[-1][0] > best[0]:
                best, kept = (found[-1][0], beta, sigma, log_gamma, ratio), sizes
        shown = ", ".join(f"{score:.3f} at {ratio:g}" for score, ratio in found)
        step(f"beta {beta:g}, sigma {sigma:g}: F1 {shown} of the number of people")
    assert best is not None
    _, beta, sigma, log_gamma, ratio = best
    chosen = {}
    for method in METHODS[1:]:
        scores = {}
        for value in BASELINE_BETAS[method]:
            each = []
            for i, (image, sizes) in enumerate(zip(images.train, kept, strict=True)):
                model = _model(image, images, value)
                drawn = _baseline(model, method, sizes, np.random.default_rng(i))
                each.append(_f1(model, drawn, image.poses))
            scores[value] = float(np.mean(each))
        chosen[method] = max(scores, key=lambda value: scores[value])
        step(f"{method}: " + ", ".join(f"F1 {s:.3f} at beta {b:g}" for b, s in scores.items()))
    chosen["non-max, own k"], alone = _tune_own(images, step)
    own_k = {"SDPP, own k": _own_size(images, beta, sigma, step), "non-max, own k": alone}
    return Settings(beta, sigma, log_gamma, ratio, chosen, own_k)


def _draw_suppressed(
    image: PoseImage, images: Images, settings: Settings, sizes: list[int], rng: np.random.Generator
) -> dict[str, list[np.ndarray]]:
    """Both kinds of suppression; they take their poses from one run where they are equally sharp."""
    k, betas = settings.own_k["non-max, own k"], settings.baseline_betas
    wanted = {"non-max": sizes, "non-max, own k": [k] * len(sizes)}
    if betas["non-max"] != betas["non-max, own k"]:
        return {m: _baseline(_model(image, images, betas[m]), m, wanted[m], rng) for m in wanted}
    longest = [max(size, k) for size in sizes]
    runs = _baseline(_model(image, images, betas["non-max"]), "non-max", longest, rng)
    return {m: [poses[:size] for poses, size in zip(runs, wanted[m], strict=True)] for m in wanted}


def run(images: Images, step: Callable[[str], object] = print) -> Result:
    """Tune, then draw sets of poses for every test image by every method."""
    settings = tune(images, step)
    step(str(settings))
    shape = (len(images.test), N_DRAWS, len(RADII))
    scores = {name: {m: np.zeros(shape) for m in METHODS + OWN} for name in ("precision", "recall", "f1", "arms")}
    sizes = np.zeros(shape[:2], dtype=int)
    for i, image in enumerate(images.test):
        rng = np.random.default_rng([1, i])
        model = _model(image, images, settings.beta, settings.sigma).scaled(settings.log_gamma)
        drawn = {"SDPP": model.sample(N_DRAWS, rng=rng)}
        sizes[i] = [len(y) for y in drawn["SDPP"]]
        drawn |= _draw_suppressed(image, images, settings, sizes[i].tolist(), rng)
        alone = _model(image, images, settings.baseline_betas["independent"])
        drawn["independent"] = _baseline(alone, "independent", sizes[i].tolist(), rng)
        drawn["SDPP, own k"] = model.dpp.of_size(settings.own_k["SDPP, own k"]).sample(N_DRAWS, rng=[2, i])
        for method, sets in drawn.items():
            for d, poses in enumerate(sets):
                found = match_poses(model.ends(poses), image.poses, RADII)
                scores["precision"][method][i, d] = found.precision
                scores["recall"][method][i, d] = found.recall
                scores["f1"][method][i, d] = found.f1
                scores["arms"][method][i, d] = match_poses(model.ends(poses), image.poses, RADII, parts=ARMS).f1
        step(f"{image.name}: {len(image.poses)} people, {sizes[i].mean():.1f} poses drawn")
    return Result(settings, **scores, sizes=sizes, people=np.array([len(image.poses) for image in images.test]))
