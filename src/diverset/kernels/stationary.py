"""Similarities that fall with the distance of two items: the rbf and Matérn kernels."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.kernels._arrays import mirror
from diverset.kernels.distances import scaled_distances
from diverset.numerics.validation import as_number

__all__ = ["matern", "rbf"]

_LARGEST_NU = 100.0


def rbf(X: ArrayLike, Y: ArrayLike | None = None, *, length_scale: float | Literal["median"] = "median") -> FloatArray:
    r"""Gaussian (radial basis function) kernel.

    .. math::  k(x, y) = \exp\!\left(-\frac{\lVert x - y \rVert^2}{2 \ell^2}\right).

    The usual choice when a distance between items makes sense. Distinct rows give full rank.

    Parameters
    ----------
    X : array_like of shape (n, d)
        One item per row.
    Y : array_like of shape (m, d), optional
        Items to compare with; ``X`` itself if left out.
    length_scale : float or "median"
        The length :math:`\ell > 0`. ``"median"`` takes :func:`median_heuristic` of ``X``, also when
        ``Y`` is given, so that ``rbf(X)`` and ``rbf(X, Y)`` belong together.

    Returns
    -------
    S : ndarray of shape (n, n) or (n, m)
        Entries in [0, 1], exactly 1 where two rows are identical. Exactly symmetric without ``Y``.

    See Also
    --------
    matern : heavier tails and rougher functions.

    Notes
    -----
    O(nmd) time, O(nm) memory. Distances are accurate to about 1e-13 of their size, however far the
    data lie from the origin. If all rows of ``X`` are identical every length scale gives the same
    matrix of ones, and ``"median"`` returns it.

    Examples
    --------
    >>> rbf([[0.0], [1.0], [3.0]], length_scale=1.0).round(4)
    array([[1.    , 0.6065, 0.0111],
           [0.6065, 1.    , 0.1353],
           [0.0111, 0.1353, 1.    ]])
    """
    return _gaussian(scaled_distances(X, Y, length_scale), symmetric=Y is None)


def matern(
    X: ArrayLike,
    Y: ArrayLike | None = None,
    *,
    nu: float = 1.5,
    length_scale: float | Literal["median"] = "median",
) -> FloatArray:
    r"""Matérn kernel, from rough (small ``nu``) to smooth (``nu = inf``, the rbf kernel).

    .. math::  k(x, y) = \frac{2^{1 - \nu}}{\Gamma(\nu)}\, z^\nu K_\nu(z),
               \qquad z = \sqrt{2 \nu}\, \lVert x - y \rVert / \ell,

    with :math:`K_\nu` the modified Bessel function of the second kind. Closed forms:
    :math:`e^{-z}` for :math:`\nu = 1/2`, :math:`(1 + z) e^{-z}` for 3/2,
    :math:`(1 + z + z^2/3) e^{-z}` for 5/2.

    Use it when the rbf kernel makes near items too alike: with a small ``nu`` their rows are less nearly
    dependent, and the kernel better conditioned.

    Parameters
    ----------
    X : array_like of shape (n, d)
        One item per row.
    Y : array_like of shape (m, d), optional
        Items to compare with; ``X`` itself if left out.
    nu : float
        Smoothness, in (0, 100] or ``inf``. At 100 the kernel is within 0.0025 of the rbf kernel.
    length_scale : float or "median"
        As in :func:`rbf`.

    Returns
    -------
    S : ndarray of shape (n, n) or (n, m)
        Entries in [0, 1], exactly 1 where two rows are identical. Exactly symmetric without ``Y``.

    Notes
    -----
    O(nmd) time, O(nm) memory. A ``nu`` without a closed form costs a Bessel function per entry, some
    hundred times an exponential, and is accurate to about 1e-13.

    Examples
    --------
    >>> matern([[0.0], [1.0], [3.0]], nu=0.5, length_scale=1.0).round(4)
    array([[1.    , 0.3679, 0.0498],
           [0.3679, 1.    , 0.1353],
           [0.0498, 0.1353, 1.    ]])
    """
    nu = as_number(nu, name="nu")
    if not nu >= 1e-6:
        raise DiversetError(f"nu is {nu!r}; the smoothness must be positive (1e-6 or more), for example 1.5")
    if _LARGEST_NU < nu < math.inf:
        raise DiversetError(
            f"nu is {nu!r}; above {_LARGEST_NU:g} the Bessel function overflows and the kernel is all but "
            "the rbf kernel: use nu=inf"
        )
    R = scaled_distances(X, Y, length_scale)
    if nu == math.inf:
        return _gaussian(R, symmetric=Y is None)
    rows = max(1, 2**17 // max(R.shape[1], 1))
    with np.errstate(over="ignore", under="ignore"):
        for start in range(0, len(R), rows):  # by blocks, so that temporary arrays stay in the cache
            block = R[start : start + rows]
            block[...] = _matern_similarity(math.sqrt(2.0 * nu) * block, nu)
    return mirror(R) if Y is None else R


def _gaussian(R: FloatArray, *, symmetric: bool) -> FloatArray:
    """exp(-R^2 / 2), in place."""
    with np.errstate(over="ignore", under="ignore"):
        np.multiply(R, R, out=R)
        R *= -0.5
        np.exp(R, out=R)
    return mirror(R) if symmetric else R


def _matern_similarity(z: FloatArray, nu: float) -> FloatArray:
    # Every form below has underflowed well before this, and an infinite z would give inf * 0.
    z = np.minimum(z, 2000.0)
    if nu == 0.5:
        return np.exp(-z)
    if nu == 1.5:
        return (1.0 + z) * np.exp(-z)
    if nu == 2.5:
        return (1.0 + z + z * z / 3.0) * np.exp(-z)
    return _matern_bessel(z, nu)


def _matern_bessel(z: FloatArray, nu: float) -> FloatArray:
    """Matérn similarity for any nu, in logarithms: z^nu and K_nu(z) overflow long before their product."""
    from scipy import special

    S = np.ones_like(z)
    positive = z > 0.0
    x = np.maximum(z[positive], 1e-300)
    log_bessel = np.log(special.kve(nu, x)) - x
    log_s = (1.0 - nu) * math.log(2.0) - special.gammaln(nu) + nu * np.log(x) + log_bessel
    values = np.minimum(np.exp(log_s), 1.0)
    # Near z = 0 the Bessel function overflows and the logarithms are large. There a series in z^2 / 4 is
    # exact to rounding in three terms; for nu <= 5, where its later terms mix with powers z^(2 nu), in one.
    if nu > 5.0:
        near = np.isinf(log_bessel) | (x * x < 4e-4 * (nu - 4.0))
        t = x[near] ** 2 / 4.0
        values[near] = 1.0 - t / (nu - 1.0) * (1.0 - t / (2.0 * (nu - 2.0)) * (1.0 - t / (3.0 * (nu - 3.0))))
    else:
        values[np.isinf(log_bessel) | (x < 10.0 ** (-10.0 / min(nu, 1.0)))] = 1.0
    S[positive] = values
    return S
