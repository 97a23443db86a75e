"""The values that a body part can take, their location features, and detector scores on them.

A value of a part is a position on a grid over the image and an orientation. Values are numbered in C order over rows,
columns and orientations, so score arrays of shape (rows, columns, orientations) can be flattened directly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError, LabelError, MissingExtraError
from diverset.numerics.validation import as_finite, as_real, check_count, check_finite, check_positive

__all__ = ["PoseGrid", "location_features", "maps_on_grid", "read_score_maps", "reference_points"]


@dataclass(frozen=True)
class PoseGrid:
    r"""Positions and orientations that parts can take.

    Parameters
    ----------
    rows, columns : int
        Positions: :math:`(x_0 + j\,\text{step},\ y_0 + i\,\text{step})` for column j and row i; y points down.
    n_orientations : int
        Directions at angles :math:`2\pi t/T`, from the x axis towards the y axis: a quarter turn points down.
    step : float
        Pixels between neighbouring positions.
    origin : tuple of float
        First position :math:`(x_0, y_0)`, in pixels.

    Examples
    --------
    >>> grid = PoseGrid(3, 4, n_orientations=8, step=10.0)
    >>> grid.n_values, grid.shape
    (96, (3, 4, 8))
    >>> grid.positions([5 * 8 + 2]), grid.angles([5 * 8 + 2])
    (array([[10., 10.]]), array([1.57079633]))
    """

    rows: int
    columns: int
    n_orientations: int = 24
    step: float = 1.0
    origin: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        for name in ("rows", "columns", "n_orientations"):
            check_count(getattr(self, name), name=name)
        check_positive(self.step, name="step")
        if not np.isfinite(as_real(self.origin, name="origin", shape=(2,))).all():
            raise DiversetError(f"origin is {self.origin!r}; give a position (x, y) in pixels")

    @classmethod
    def over(
        cls, low: tuple[float, float], high: tuple[float, float], *, step: float, n_orientations: int = 24
    ) -> PoseGrid:
        """Return the grid with this step that covers the box from (x, y) `low` to `high` and is centred on it."""
        corner = as_real(low, name="low", shape=(2,))
        size = as_real(high, name="high", shape=(2,)) - corner
        if not (size >= 0.0).all():
            raise DiversetError(f"the box from {low} to {high} has a negative side; give its least corner first")
        columns, rows = (int(n) + 1 for n in np.floor(size / check_positive(step, name="step") + 1e-9))
        x, y = corner + 0.5 * (size - step * np.array([columns - 1, rows - 1]))
        return cls(rows, columns, n_orientations, float(step), (float(x), float(y)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns, orientations."""
        return self.rows, self.columns, self.n_orientations

    @property
    def n_values(self) -> int:
        """Number of values of a part."""
        return self.rows * self.columns * self.n_orientations

    @property
    def x(self) -> FloatArray:
        """Horizontal position of each column."""
        return np.asarray(self.origin[0] + self.step * np.arange(self.columns))

    @property
    def y(self) -> FloatArray:
        """Vertical position of each row."""
        return np.asarray(self.origin[1] + self.step * np.arange(self.rows))

    @property
    def orientations(self) -> FloatArray:
        """Angle of each orientation."""
        return np.asarray(2.0 * np.pi * np.arange(self.n_orientations) / self.n_orientations)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, right, top and bottom edge of the covered area: half a step beyond the outermost positions."""
        h = 0.5 * self.step
        return self.x[0] - h, self.x[-1] + h, self.y[0] - h, self.y[-1] + h

    def positions(self, values: Any) -> FloatArray:
        """Positions (x, y) of values, of shape (..., 2)."""
        i, j, _ = np.unravel_index(self._checked(values), self.shape)
        return np.stack([self.x[j], self.y[i]], axis=-1)

    def angles(self, values: Any) -> FloatArray:
        """Angles of values."""
        return np.asarray(self.orientations[self._checked(values) % self.n_orientations])

    def _checked(self, values: Any) -> IntArray:
        array = np.asarray(values)
        if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= self.n_values):
            raise LabelError(f"values are {values!r}; they must be whole numbers from 0 to {self.n_values - 1}")
        return array.astype(np.int64)

    def nearest(self, positions: Any, angles: Any) -> IntArray:
        """Values nearest to positions, (..., 2), and angles, (...); positions outside go to the border."""
        p, turns = as_real(positions, name="positions"), as_real(angles, name="angles")
        if p.ndim == 0 or p.shape[-1] != 2 or p.shape[:-1] != turns.shape:
            raise DiversetError(f"positions have shape {p.shape} and angles {turns.shape}; expected (..., 2) and (...)")
        check_finite(p, name="positions")
        check_finite(turns, name="angles")
        with np.errstate(over="ignore"):
            j = np.clip(np.rint((p[..., 0] - self.origin[0]) / self.step), 0, self.columns - 1)
            i = np.clip(np.rint((p[..., 1] - self.origin[1]) / self.step), 0, self.rows - 1)
        t = np.rint(turns * self.n_orientations / (2.0 * np.pi)) % self.n_orientations
        return np.asarray(np.ravel_multi_index((i.astype(int), j.astype(int), t.astype(int)), self.shape))


def reference_points(grid: PoseGrid, shape: tuple[int, int] = (4, 8)) -> FloatArray:
    """Points (x, y) spaced evenly over the image, of shape (rows * columns, 2): centres of equal cells."""
    if len(shape) != 2:
        raise DiversetError(f"the reference grid is {shape!r}; give its rows and columns")
    rows, columns = (check_count(n, name="a side of the reference grid") for n in shape)
    left, right, top, bottom = grid.box
    x = left + (right - left) * (np.arange(columns) + 0.5) / columns
    y = top + (bottom - top) * (np.arange(rows) + 0.5) / rows
    return np.stack([i.ravel() for i in np.meshgrid(x, y)], axis=1)


def location_features(positions: Any, points: FloatArray, sigma: float) -> FloatArray:
    r"""Unit-length diversity features of positions, one per reference point ([KuleszaTaskar2012]_, section 6.4.1).

    .. math::  \phi_l(p) \propto \exp\big( -\|p - x_l\|^2 / 2\sigma^2 \big)

    Features have unit length, so a position between reference points has the same quality as one on a point. The
    nearest point has a positive feature for any `sigma`.

    Parameters
    ----------
    positions : array_like of shape (n, 2)
        In pixels.
    points : ndarray of shape (D, 2)
        Reference points :math:`x_l`.
    sigma : float
        Width in pixels. A larger width makes parts at a given distance more similar.

    Examples
    --------
    >>> points = np.array([[0.0, 0.0], [10.0, 0.0]])
    >>> phi = location_features([[0.0, 0.0], [2.0, 0.0], [10.0, 0.0]], points, sigma=5.0)
    >>> (phi @ phi.T).round(3)[0]
    array([1.   , 0.988, 0.266])
    """
    from scipy.spatial.distance import cdist

    p, x = as_finite(positions, name="positions", shape=(None, 2)), as_finite(points, name="points", shape=(None, 2))
    width = check_positive(sigma, name="sigma")
    if len(x) == 0:
        raise DiversetError("there are no reference points; give at least one")
    squared = cdist(p, x, "sqeuclidean")
    # Relative to the nearest point, whose feature is then 1 before normalising: no row underflows to zero.
    with np.errstate(over="ignore"):
        phi = np.exp(-0.5 * ((squared - squared.min(axis=1, keepdims=True)) / width / width))
    return np.asarray(phi / np.linalg.norm(phi, axis=1, keepdims=True))


def maps_on_grid(maps: Any, grid: PoseGrid) -> FloatArray:
    """Interpolate per-pixel scores, (height, width, orientations), bilinearly at the positions of a grid.

    Positions outside the picture take the score of its border.
    """
    from scipy.ndimage import map_coordinates

    array = as_real(maps, name="maps", shape=("height", "width", grid.n_orientations))
    check_finite(array, name="maps")
    if array.size == 0:
        raise DiversetError(f"the maps have shape {array.shape}; they are empty")
    places = np.meshgrid(grid.y, grid.x, np.arange(grid.n_orientations), indexing="ij")
    return np.asarray(map_coordinates(array, places, order=1, mode="nearest"))


def read_score_maps(
    files: Mapping[str, str | Path | Sequence[str | Path]], grid: PoseGrid, *, floor: float = 1e-3
) -> dict[str, FloatArray]:
    """Log-scores of each part on a grid, as :class:`PoseModel` takes them, from grey pictures of detector output.

    Parameters
    ----------
    files : dict
        For each part one picture per orientation, or a single picture for a detector that ignores orientation. Black
        is a score of 0, white of 1; 8 or 16 bits per pixel.
    grid : PoseGrid
        In pixels of the pictures.
    floor : float
        Added to every score before the logarithm, so that black has a finite log-score.
    """
    low = check_positive(floor, name="floor")
    found = {}
    for part, given in files.items():
        paths = [given] if isinstance(given, (str, Path)) else list(given)
        if len(paths) not in (1, grid.n_orientations):
            raise DiversetError(
                f"{part} has {len(paths)} pictures; give one, or one per orientation: {grid.n_orientations}"
            )
        pictures = [_grey(Path(path)) for path in paths]
        if len({picture.shape for picture in pictures}) > 1:
            raise DiversetError(f"the pictures of {part} differ in size: {sorted({p.shape[::-1] for p in pictures})}")
        maps = np.repeat(np.stack(pictures, axis=2), grid.n_orientations // len(pictures), axis=2)
        found[part] = np.log(low + maps_on_grid(maps, grid))
    return found


def _grey(path: Path) -> FloatArray:
    """A picture as grey values from 0 to 1."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise MissingExtraError('reading pictures needs Pillow: pip install "diverset[poses]"') from error
    try:
        with Image.open(path, formats=("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP")) as picture:
            deep = picture.mode.startswith("I")
            values = np.asarray(picture if deep else picture.convert("L"), dtype=np.float64)
    except FileNotFoundError:
        raise DiversetError(f"there is no picture {path}") from None
    except UnidentifiedImageError:
        raise DiversetError(f"{path} is no picture that Pillow can read") from None
    except Exception as error:  # decoders raise exceptions of many types
        raise DiversetError(f"{path} is damaged: {str(error).strip() or type(error).__name__}") from None
    return values / (65535.0 if deep else 255.0)
