r"""Points without interaction: the Poisson process ([KuleszaTaskar2012]_, section 2.5.1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diverset._typing import FloatArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import check_fits_in_memory, check_nonnegative
from diverset.theory.processes.window import Box

__all__ = ["poisson"]


def poisson(
    box: Box,
    intensity: float | Callable[[FloatArray], FloatArray],
    *,
    bound: float | None = None,
    rng: RNGLike = None,
) -> FloatArray:
    r"""Draw a Poisson process: what happens in disjoint regions is independent.

    The number of points in a region B is Poisson with mean :math:`\int_B \lambda(x)\,dx`. On a finite ground set the
    process is one coin for each item, which is the DPP with a diagonal marginal kernel:
    ``DPP.from_marginal(numpy.diag(p))``.

    Parameters
    ----------
    box : Box
        Where.
    intensity : float or callable
        Expected number of points per unit of volume: :math:`\lambda`, or a function from points (n, dim) to their
        intensities (n,).
    bound : float, optional
        A number that a callable intensity never exceeds. Needed with a callable.
    rng : int, Generator or None
        Seed or generator.

    Returns
    -------
    points : ndarray of shape (n, dim)

    Notes
    -----
    Exact. A varying intensity is had by thinning: of a process with the intensity `bound`, a point at x is kept with
    probability :math:`\lambda(x) / \text{bound}`.

    Examples
    --------
    >>> poisson(Box.unit(2), 100.0, rng=0).shape
    (104, 2)
    """
    generator = np.random.default_rng(rng)
    if not callable(intensity):
        rate = check_nonnegative(intensity, name="intensity")
        return box.uniform(_count(rate * box.volume, generator), rng=generator)
    if bound is None:
        raise DiversetError("a varying intensity needs bound=, a number that it never exceeds")
    top = check_nonnegative(bound, name="bound")
    points = box.uniform(_count(top * box.volume, generator), rng=generator)
    values = np.asarray(intensity(points), dtype=np.float64)
    if values.shape != (len(points),):
        raise DiversetError(
            f"intensity gave shape {values.shape} for {len(points)} points; it must give one number each"
        )
    wrong = ~((values >= 0.0) & (values <= top))
    if wrong.any():
        i = int(wrong.argmax())
        raise DiversetError(
            f"intensity is {values[i]:.6g} at {points[i].tolist()}; it must lie between 0 and bound={top}"
        )
    kept: FloatArray = points[generator.random(len(points)) * top < values]
    return kept


def _count(mean: float, rng: np.random.Generator) -> int:
    """A Poisson number of points, of a mean that memory can hold."""
    check_fits_in_memory(int(min(16.0 * mean, 1e18)), what=f"about {mean:.3g} points", remedy="lower the intensity")
    return int(rng.poisson(mean))
