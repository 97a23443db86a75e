"""The logistic function, by NumPy alone: it would be all that many calls need of SciPy's special functions."""

from __future__ import annotations

import numpy as np

from diverset._typing import FloatArray

__all__ = ["expit"]


def expit(x: FloatArray) -> FloatArray:
    r"""Probability :math:`1 / (1 + e^{-x})` of log-odds x, to a few rounding units also where it is tiny.

    Examples
    --------
    >>> expit(np.array([-np.inf, -40.0, 0.0, np.inf]))
    array([0.00000000e+00, 4.24835426e-18, 5.00000000e-01, 1.00000000e+00])
    """
    with np.errstate(over="ignore"):  # an infinite denominator is right
        p: FloatArray = 1.0 / (1.0 + np.exp(-x))
    return p
