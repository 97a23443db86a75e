"""A part detector that looks at pixels: limbs brighter than what is beside them, at every place and orientation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.fft

from diverset._typing import FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import as_finite
from diverset.poses.geometry import ends_of, point_distances
from diverset.poses.grid import PoseGrid
from diverset.poses.scenes import Scene
from diverset.poses.skeleton import Skeleton

__all__ = ["LimbDetector"]

#: Pixels of the rim around a limb that it is compared with.
_RIM = 4.0
#: Places without the part that each picture gives to the calibration.
_NEGATIVES = 2_000
#: Intervals of responses in the calibration.
_INTERVALS = 10


def limb_template(angle: float, length: float, radius: float) -> tuple[FloatArray, FloatArray]:
    """Pixels of a limb and of the rim beside it, as two masks of shape (2n + 1, 2n + 1) around its reference point.

    The rim leaves out the ends, where limbs join.
    """
    reach = int(np.ceil(length + radius + _RIM)) + 1
    x, y = np.meshgrid(np.arange(-reach, reach + 1.0), np.arange(-reach, reach + 1.0))
    limb = ends_of([0.0, 0.0], angle, length)
    distance = point_distances(np.stack([x, y], axis=-1), limb)
    along = x * np.cos(angle) + y * np.sin(angle)
    rim = (distance > radius + 1.0) & (distance <= radius + 1.0 + _RIM) & (along >= 0.0) & (along <= length)
    return (distance <= radius).astype(np.float64), rim.astype(np.float64)


@dataclass(frozen=True, eq=False)
class LimbDetector:
    r"""Matched filters for the parts of a skeleton, with a calibration to log-odds.

    The response at a value is the correlation of the pixels of the limb and its rim with 1 on the limb and 0 beside it:

    .. math::  \frac{\sqrt{w(1 - w)}\,(m_1 - m_0)}{s},

    with :math:`m_1` and :math:`m_0` the mean grey on the limb and on the rim, s the standard deviation on both together
    and w the limb's share of the pixels. It does not change with the brightness or contrast of the picture.

    Parameters
    ----------
    skeleton : Skeleton
        Sizes of the parts. Parts of one size have one filter: left and right arms look alike.
    calibration : tuple of pairs of ndarray, optional
        For each part responses, ascending, and the log-odds they stand for, linear in between and constant beyond;
        :meth:`calibrated` finds them.

    Notes
    -----
    Filters are applied by fast Fourier transforms: :math:`O(T n \log n)` per part size for n pixels.
    """

    skeleton: Skeleton
    calibration: tuple[tuple[FloatArray, FloatArray], ...] | None = None

    def responses(self, image: FloatArray, grid: PoseGrid) -> list[FloatArray]:
        """Correlations at every value of every part: arrays of the grid's shape."""
        found: dict[tuple[float, float], FloatArray] = {}
        for part in self.skeleton.parts:
            key = part.length, part.radius
            if key not in found:
                found[key] = _filtered(image, grid, *key)
        return [found[part.length, part.radius] for part in self.skeleton.parts]

    def calibrated(self, scenes: Iterable[Scene], grid: PoseGrid, *, rng: RNGLike = None) -> LimbDetector:
        r"""The detector with log-odds from scenes with known poses.

        The log-odds of a response are :math:`\log f_1 - \log f_0`, its densities at annotated and at random values,
        counted in ten intervals that hold as many annotated ones each, and made to rise with the response.
        """
        generator = np.random.default_rng(rng)
        present: list[list[FloatArray]] = [[] for _ in self.skeleton.parts]
        absent: list[list[FloatArray]] = [[] for _ in self.skeleton.parts]
        for scene in scenes:
            along = scene.poses[:, :, 1] - scene.poses[:, :, 0]
            values = grid.nearest(scene.poses[:, :, 0], np.arctan2(along[..., 1], along[..., 0]))
            for r, maps in enumerate(self.responses(scene.image, grid)):
                present[r].append(maps.reshape(-1)[values[:, r]])
                absent[r].append(generator.choice(maps.reshape(-1), _NEGATIVES))
        if not present[0]:
            raise DiversetError("no scene was given to calibrate the detector with")
        curves = [_log_odds(np.concatenate(p), np.concatenate(a)) for p, a in zip(present, absent, strict=True)]
        return LimbDetector(self.skeleton, tuple(curves))

    def log_scores(self, image: FloatArray, grid: PoseGrid) -> list[FloatArray]:
        """Log-odds of every part at every value, as :class:`PoseModel` takes them."""
        if self.calibration is None:
            raise DiversetError("the detector is not calibrated; calibrated(scenes, grid) returns one that is")
        curves = zip(self.calibration, self.responses(image, grid), strict=True)
        return [np.interp(maps, *curve) for curve, maps in curves]


@lru_cache(maxsize=8)
def _spectra(
    length: float, radius: float, n_orientations: int, shape: tuple[int, int]
) -> list[tuple[float, float, Any, Any]]:
    """For each orientation, pixels of the limb and of its rim, and the conjugate spectra of both masks."""
    found = []
    for t in range(n_orientations):
        limb, rim = limb_template(2.0 * np.pi * t / n_orientations, length, radius)
        # Single precision: responses have three digits at most.
        masks = [np.conj(scipy.fft.rfft2(mask.astype(np.float32), shape)) for mask in (limb, rim)]
        found.append((float(limb.sum()), float(rim.sum()), masks[0], masks[1]))
    return found


def _filtered(image: FloatArray, grid: PoseGrid, length: float, radius: float) -> FloatArray:
    """Correlations of a limb of this size with the picture, at every value."""
    image = as_finite(image, name="image", shape=(None, None))
    if image.size == 0:
        raise DiversetError(f"the image has shape {image.shape}; it is empty")
    rows = np.clip(np.rint(grid.y).astype(int), 0, image.shape[0] - 1)[:, None]
    columns = np.clip(np.rint(grid.x).astype(int), 0, image.shape[1] - 1)
    reach = len(limb_template(0.0, length, radius)[0]) // 2
    # The picture goes on beyond its border as it ends there; around its mean, for the sake of the differences below.
    padded = np.pad(image - image.mean(), reach, mode="edge").astype(np.float32)
    height, width = (scipy.fft.next_fast_len(n, real=True) for n in padded.shape)
    grey, square = (scipy.fft.rfft2(x, (height, width)) for x in (padded, padded**2))

    def sums(spectrum: Any) -> FloatArray:
        # The padding puts the reference point, in the middle of a mask, where it was.
        return np.asarray(scipy.fft.irfft2(spectrum, (height, width))[rows, columns], dtype=np.float64)

    maps = np.zeros(grid.shape)
    for t, (n1, n0, limb, rim) in enumerate(_spectra(length, radius, grid.n_orientations, (height, width))):
        inside, beside = sums(grey * limb), sums(grey * rim)
        mean = (inside + beside) / (n1 + n0)
        variance = sums(square * (limb + rim)) / (n1 + n0) - mean**2
        share = n1 / (n1 + n0)
        contrast = np.sqrt(share * (1.0 - share)) * (inside / n1 - beside / n0)
        maps[:, :, t] = contrast / np.sqrt(np.maximum(variance, 1e-9))
    return maps


def _log_odds(present: FloatArray, absent: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Responses and their log-odds: ten intervals by the quantiles of `present`, and one below them."""
    cuts = np.quantile(present, np.linspace(0.0, 1.0, _INTERVALS + 1))
    n1, n0 = (np.histogram(x, np.concatenate([[-np.inf], cuts[:-1], [np.inf]]))[0] for x in (present, absent))
    # Half a count more, so that an empty interval has finite odds.
    odds = np.log((n1 + 0.5) / len(present)) - np.log((n0 + 0.5) / len(absent))
    middle = np.concatenate([[2.0 * cuts[0] - cuts[1]], 0.5 * (cuts[:-1] + cuts[1:])])
    return middle, np.maximum.accumulate(odds)
