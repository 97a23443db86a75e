"""Where a part can be: positions on a grid over the image, and orientations.

A value of a part is a position and a direction. Values are numbered in C order over rows, columns and orientations, so
that arrays of scores of shape (rows, columns, orientations) need no renumbering.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError, LabelError
from diverset.numerics.validation import check_count, check_positive

__all__ = ["PoseGrid"]


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
        Position :math:`(x_0, y_0)` of the first, in pixels.

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
        if len(self.origin) != 2 or not np.isfinite(self.origin).all():
            raise DiversetError(f"origin is {self.origin!r}; give a position (x, y) in pixels")

    @classmethod
    def over(
        cls, low: tuple[float, float], high: tuple[float, float], *, step: float, n_orientations: int = 24
    ) -> PoseGrid:
        """The grid of this step that covers the box from (x, y) `low` to `high`, centred on it."""
        size = np.asarray(high, dtype=np.float64) - np.asarray(low, dtype=np.float64)
        if not (size >= 0.0).all():
            raise DiversetError(f"the box from {low} to {high} has a negative side; give its least corner first")
        columns, rows = (int(n) + 1 for n in np.floor(size / check_positive(step, name="step") + 1e-9))
        x, y = np.asarray(low) + 0.5 * (size - step * np.array([columns - 1, rows - 1]))
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
        """Left, right, top and bottom edge of the area of all positions, half a step around the outermost."""
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
        if array.size == 0:
            return array.astype(np.int64)
        if array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= self.n_values:
            raise LabelError(f"values are {values!r}; they must be whole numbers from 0 to {self.n_values - 1}")
        return array.astype(np.int64)

    def nearest(self, positions: Any, angles: Any) -> IntArray:
        """Values nearest to positions, (..., 2), and angles, (...)."""
        p, turns = np.asarray(positions, dtype=np.float64), np.asarray(angles, dtype=np.float64)
        if p.ndim == 0 or p.shape[-1] != 2 or p.shape[:-1] != turns.shape:
            raise DiversetError(f"positions have shape {p.shape} and angles {turns.shape}; expected (..., 2) and (...)")
        if not (np.isfinite(p).all() and np.isfinite(turns).all()):
            raise DiversetError("positions and angles must be finite")
        with np.errstate(over="ignore"):  # far outside is at the border
            j = np.clip(np.rint((p[..., 0] - self.origin[0]) / self.step), 0, self.columns - 1)
            i = np.clip(np.rint((p[..., 1] - self.origin[1]) / self.step), 0, self.rows - 1)
        t = np.rint(turns * self.n_orientations / (2.0 * np.pi)) % self.n_orientations
        return np.asarray(np.ravel_multi_index((i.astype(int), j.astype(int), t.astype(int)), self.shape))
