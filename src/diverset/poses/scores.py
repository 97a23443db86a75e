"""Score maps of part detectors: from pictures, and on the grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError, MissingExtraError
from diverset.numerics.validation import check_finite, check_positive
from diverset.poses.grid import PoseGrid

__all__ = ["maps_on_grid", "read_score_maps"]


def maps_on_grid(maps: Any, grid: PoseGrid) -> FloatArray:
    """Scores at every pixel, (height, width, orientations), read off at the positions of a grid, bilinearly.

    Positions outside of the picture take the score of its border.
    """
    array = np.asarray(maps, dtype=np.float64)
    if array.ndim != 3 or array.shape[2] != grid.n_orientations:
        raise DiversetError(
            f"the maps have shape {array.shape}; expected (height, width, {grid.n_orientations}), a map per orientation"
        )
    check_finite(array, name="maps")
    if array.size == 0:
        raise DiversetError(f"the maps have shape {array.shape}; they are empty")

    def corners(places: FloatArray, size: int) -> tuple[Any, Any, FloatArray]:
        at = np.clip(places, 0.0, size - 1.0)
        low = np.minimum(at.astype(int), max(size - 2, 0))
        return low, np.minimum(low + 1, size - 1), at - low

    i, i1, u = corners(grid.y, array.shape[0])
    j, j1, v = corners(grid.x, array.shape[1])
    u, v = u[:, None, None], v[None, :, None]
    top = (1.0 - v) * array[i][:, j] + v * array[i][:, j1]
    bottom = (1.0 - v) * array[i1][:, j] + v * array[i1][:, j1]
    return np.asarray((1.0 - u) * top + u * bottom)


def read_score_maps(
    files: Mapping[str, str | Path | Sequence[str | Path]], grid: PoseGrid, *, floor: float = 1e-3
) -> dict[str, FloatArray]:
    """Log-scores from grey pictures of detector output, on a grid.

    Parameters
    ----------
    files : dict
        For each part a picture per orientation, or a single one for a detector that does not tell orientations. Black
        is a score of 0, white of 1; 8 and 16 bits a pixel.
    grid : PoseGrid
        In pixels of the pictures.
    floor : float
        Added to every score before the logarithm: what black is worth.

    Returns
    -------
    dict of str to ndarray of shape (rows, columns, orientations)
        As :class:`PoseModel` takes them.
    """
    low = check_positive(floor, name="floor")
    found = {}
    for part, given in files.items():
        paths = [given] if isinstance(given, (str, Path)) else list(given)
        if len(paths) not in (1, grid.n_orientations):
            raise DiversetError(
                f"{part} has {len(paths)} pictures; give one per orientation, {grid.n_orientations}, or a single one"
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
    except Exception as error:  # decoders raise what they like
        raise DiversetError(f"{path} is damaged: {str(error).strip() or type(error).__name__}") from None
    return values / (65535.0 if deep else 255.0)
