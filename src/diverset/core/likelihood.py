r"""Three formulas for the probability of a set, as the monograph writes them ([KuleszaTaskar2012]_, section 3.5).

.. math::

    \Pr(Y) = \frac{\det L_Y}{\det(L+I)}
           = \det\left(I_Y K + I_{\bar Y}(I-K)\right)
           = \left|\det(K - I_{\bar Y})\right|,

where :math:`I_Y` has ones on the diagonal at the items of Y. The first needs L; the other two need only K, so
they hold with eigenvalue 1 as well, and cost a determinant of all n items. ``DPP.log_prob`` is faster and more
accurate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diverset._typing import Array, IntArray

__all__ = ["FORMULAS", "by_likelihood", "by_mixed_rows", "by_shifted_marginal"]


def by_likelihood(L: Array, inside: IntArray) -> float:
    r""":math:`\log\det L_Y - \log\det(L+I)`, equation (L_ensemble)."""
    Z = np.linalg.slogdet(L + np.eye(len(L)))[1]
    return float(np.linalg.slogdet(L[np.ix_(inside, inside)])[1] - Z)


def by_mixed_rows(K: Array, inside: IntArray) -> float:
    r""":math:`\log\det(I_Y K + I_{\bar Y}(I-K))`, equation (altlike1): rows of K for Y, of I - K for the rest."""
    mixed = np.eye(len(K)) - K
    mixed[inside] = K[inside]
    return float(np.linalg.slogdet(mixed)[1])


def by_shifted_marginal(K: Array, inside: IntArray) -> float:
    r""":math:`\log|\det(K - I_{\bar Y})|`, equation (altlike2): symmetric, though indefinite."""
    shifted = K - np.eye(len(K))
    shifted[inside, inside] += 1.0
    return float(np.linalg.slogdet(shifted)[1])


#: Formula by name, and whether it takes L (True) or K.
FORMULAS: dict[str, tuple[Callable[[Array, IntArray], float], bool]] = {
    "likelihood": (by_likelihood, True),
    "mixed-rows": (by_mixed_rows, False),
    "shifted-marginal": (by_shifted_marginal, False),
}
