r"""Three items: what a DPP and a pairwise MRF can say about them ([KuleszaTaskar2012]_, section 3.2.2).

Both models are node potentials times one ternary factor, :math:`\psi(Y) = \det S_Y` for a DPP with similarities S, and
:math:`\psi(Y) = \exp \sum_{i<j \in Y} w_{ij}` for an MRF. The factor is 1 on sets of fewer than two items; the four
other values (table 1) lie on a surface in three dimensions once :math:`\psi(\{1, 2, 3\})` is fixed (figure 11).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray
from diverset.errors import DiversetError, KernelError
from diverset.numerics.validation import as_hermitian, as_number

__all__ = ["dpp_slice", "dpp_ternary", "mrf_slice", "mrf_ternary", "transitivity_gap"]

Set = tuple[int, ...]
_ROUNDING = 1e-12
_SETS: list[Set] = [Y for k in range(4) for Y in combinations((1, 2, 3), k)]


def _three(values: Sequence[float], name: str) -> tuple[float, float, float]:
    numbers = [as_number(v, name=name) for v in values]
    if len(numbers) != 3 or not np.isfinite(numbers).all():
        raise DiversetError(f"{name} is {list(values)}; give three finite numbers, for the pairs 12, 13 and 23")
    return numbers[0], numbers[1], numbers[2]


def mrf_ternary(w: Sequence[float]) -> dict[Set, float]:
    r"""Ternary factor of an MRF for every set, as in table 1.

    :math:`e^{w_{ij}}` for pairs, and :math:`e^{w_{12}+w_{13}+w_{23}}` for all three.

    Parameters
    ----------
    w : sequence of 3 floats
        :math:`w_{12}, w_{13}, w_{23}`.

    Examples
    --------
    >>> psi = mrf_ternary([-1.0, -2.0, 0.0])
    >>> round(psi[1, 2], 4), round(psi[1, 2, 3], 4)
    (0.3679, 0.0498)
    """
    pairs = dict(zip(combinations((1, 2, 3), 2), _three(w, "w"), strict=True))
    logs = {Y: sum(pairs[p] for p in combinations(Y, 2)) for Y in _SETS}
    if max(logs.values()) > 700.0:
        raise DiversetError(f"w is {list(w)}; factors beyond exp(700) are beyond floats")
    return {Y: float(np.exp(log)) for Y, log in logs.items()}


def dpp_ternary(S: Sequence[float]) -> dict[Set, float]:
    r"""Ternary factor of a DPP for every set, as in table 1.

    :math:`1 - S_{ij}^2` for pairs, and
    :math:`1 + 2 S_{12}S_{13}S_{23} - S_{12}^2 - S_{13}^2 - S_{23}^2` for all three.

    Parameters
    ----------
    S : sequence of 3 floats
        Similarities :math:`S_{12}, S_{13}, S_{23}`, which must form a positive semidefinite matrix with unit diagonal.

    Examples
    --------
    >>> psi = dpp_ternary([0.5, 0.5, 0.5])
    >>> psi[1, 2], psi[1, 2, 3]
    (0.75, 0.5)
    """
    a, b, c = _three(S, "S")
    smallest = float(np.linalg.eigvalsh([[1.0, a, b], [a, 1.0, c], [b, c, 1.0]])[0])
    if smallest < -1e-12:
        raise KernelError(f"S has smallest eigenvalue {smallest:.6g}; similarities must be positive semidefinite")
    values = [1.0, 1.0, 1.0, 1.0, 1 - a * a, 1 - b * b, 1 - c * c, 1 + 2 * a * b * c - a * a - b * b - c * c]
    return dict(zip(_SETS, values, strict=True))


def _slice_value(value: float) -> float:
    v = as_number(value, name="value")
    if not 0.0 <= v <= 1.0:
        raise DiversetError(f"value is {v}; the factor of three items that repel lies between 0 and 1")
    return v


def _factors(psi_12: ArrayLike, psi_13: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Factors of two pairs, broadcast; between 0 and 1."""
    try:
        a, b = np.broadcast_arrays(np.asarray(psi_12, dtype=np.float64), np.asarray(psi_13, dtype=np.float64))
    except ValueError as error:
        raise DiversetError(f"psi_12 and psi_13 do not go together: {error}") from None
    for name, psi in (("psi_12", a), ("psi_13", b)):
        if psi.size and not ((psi >= 0.0) & (psi <= 1.0)).all():
            raise DiversetError(
                f"{name} runs from {psi.min()} to {psi.max()}; factors of items that repel lie in [0, 1]"
            )
    return a, b


def mrf_slice(psi_12: ArrayLike, psi_13: ArrayLike, value: float) -> FloatArray:
    r"""The third pair's factor of an MRF, given two pairs' and that of all three; NaN where none exists.

    .. math::  \psi_{23} = \frac{\psi_{123}}{\psi_{12}\psi_{13}} \le 1

    Parameters
    ----------
    psi_12, psi_13 : array_like
        Factors in (0, 1], broadcast.
    value : float
        :math:`\psi_{123}`, between 0 and 1.
    """
    v = _slice_value(value)
    a, b = _factors(psi_12, psi_13)
    product = a * b
    with np.errstate(divide="ignore", invalid="ignore"):
        third = v / product
        exists = (product > 0.0) & (third <= 1.0 + _ROUNDING)
        return np.asarray(np.where(exists, np.minimum(third, 1.0), np.nan), dtype=np.float64)


def dpp_slice(
    psi_12: ArrayLike, psi_13: ArrayLike, value: float, *, nonnegative: bool = False
) -> tuple[FloatArray, FloatArray]:
    r"""The third pair's factors of a DPP, given two pairs' and that of all three; NaN where none exist.

    Solving the last row of table 1 for :math:`S_{23}` gives two sheets,

    .. math::

        \psi_{23} = 1 - \left( \sqrt{(1-\psi_{12})(1-\psi_{13})} \pm \sqrt{\psi_{12}\psi_{13} - \psi_{123}} \right)^2 .

    Parameters
    ----------
    psi_12, psi_13 : array_like
        Factors in [0, 1], broadcast.
    value : float
        :math:`\psi_{123}`, between 0 and 1.
    nonnegative : bool
        Keep only what similarities :math:`S_{ij} \ge 0` can reach (figure 11a); otherwise they may be negative, which
        closes the surface away from the origin (figure 11c).

    Returns
    -------
    lower, upper : ndarray
        The sheets with the plus and with the minus sign.
    """
    v = _slice_value(value)
    a, b = _factors(psi_12, psi_13)
    with np.errstate(invalid="ignore"):
        overlap = np.sqrt((1.0 - a) * (1.0 - b))
        # At the rim both sheets meet, and rounding must not tear them.
        inside = a * b - v
        root = np.sqrt(np.where(inside > -_ROUNDING, np.maximum(inside, 0.0), np.nan))
        lower, upper = 1.0 - (overlap + root) ** 2, 1.0 - (overlap - root) ** 2
        if nonnegative:
            upper = np.where(overlap >= root - _ROUNDING, upper, np.nan)
    return np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)


def transitivity_gap(S: ArrayLike) -> tuple[float, tuple[int, int, int]]:
    r"""How far similarities are from breaking transitivity, and the triple that is closest to it.

    .. math::  \min_{i,j,k} \sqrt{1-S_{ij}} + \sqrt{1-S_{jk}} - \sqrt{1-S_{ik}}

    is not negative for any DPP (the triangle inequality of the diversity features, [KuleszaTaskar2012]_, section
    3.2.2): items alike to a third are alike. It is necessary, and not sufficient, for S to be positive semidefinite.

    Parameters
    ----------
    S : array_like of shape (n, n)
        Symmetric with unit diagonal and entries in [-1, 1], n at least 3; need not be positive semidefinite.

    Returns
    -------
    gap : float
        The smallest slack; negative where some triple breaks the inequality.
    triple : (int, int, int)
        Where: i, j, k.

    Notes
    -----
    O(n^3).

    Examples
    --------
    Item 1 is like both others, which are not like each other: no DPP has such similarities.

    >>> gap, triple = transitivity_gap([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> round(gap, 4), triple
    (-0.3675, (0, 1, 2))
    """
    matrix = as_hermitian(S, name="S")
    n = len(matrix)
    if n < 3:
        raise DiversetError(f"S is of {n} items; transitivity is about three")
    if np.iscomplexobj(matrix) or np.abs(np.diagonal(matrix) - 1.0).max() > 1e-9 or np.abs(matrix).max() > 1.0 + 1e-9:
        raise KernelError("S must be real with ones on the diagonal and entries between -1 and 1")
    distance = np.sqrt(np.maximum(1.0 - matrix, 0.0))
    best, at = np.inf, (0, 1, 2)
    for j in range(n):
        slack = distance[:, j][:, None] + distance[j] - distance
        slack[j] = slack[:, j] = np.inf
        np.fill_diagonal(slack, np.inf)
        i, k = np.unravel_index(int(slack.argmin()), slack.shape)
        if slack[i, k] < best:
            best, at = float(slack[i, k]), (int(i), j, int(k))
    return best, at
