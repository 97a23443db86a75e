r"""Descents in random sequences, and carries in addition ([BorodinDiaconisFulman2010]_).

Both are *one-dependent*: what happens before a place and what happens after it are independent. Any such random set
is determinantal. Let :math:`F_{ij}`, :math:`0 \le i \le j \le n`, be the probability that all items
:math:`i, \dots, j-1` appear. Runs that do not touch are independent, so that F says everything, and

.. math::  K_{ij} = -(F^{-1})_{i, j+1}, \qquad 0 \le i, j < n.

F is upper triangular with unit diagonal; hence :math:`K_{i+1,i} = -1`, everything below is 0, and K is not symmetric.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from diverset._typing import FloatArray, IntArray
from diverset.core import NonsymmetricDPP
from diverset.errors import DiversetError
from diverset.numerics.symmetric import log_elementary_symmetric_all
from diverset.numerics.validation import as_probability_vector, check_count
from diverset.theory.classics.base import Classic

__all__ = ["Carries", "Descents", "one_dependent_kernel"]


def one_dependent_kernel(runs: ArrayLike) -> FloatArray:
    r"""Marginal kernel of a one-dependent random set, from the probabilities of runs.

    .. math::  K_{ij} = -(F^{-1})_{i,j+1}, \qquad F_{ij} = \Pr(\{i, \dots, j-1\} \subseteq Y)

    Parameters
    ----------
    runs : array_like of shape (n_items + 1, n_items + 1)
        F; only entries above the diagonal are read.

    Returns
    -------
    K : ndarray of shape (n_items, n_items)
        Upper Hessenberg, with -1 below the diagonal.

    Notes
    -----
    [BorodinDiaconisFulman2010]_. Expanding the determinant of an interval along its first row gives the
    recursion that inverts F; between items that do not touch, :math:`K_A` is block triangular. :math:`O(n^3)`.

    Examples
    --------
    Independent items are one-dependent; the kernel need not be diagonal to say so.

    >>> import numpy as np
    >>> p = np.array([0.5, 0.2])
    >>> one_dependent_kernel([[1.0, 0.5, 0.1], [0.0, 1.0, 0.2], [0.0, 0.0, 1.0]])
    array([[ 0.5,  0. ],
           [-1. ,  0.2]])
    """
    F = np.asarray(runs, dtype=np.float64)
    if F.ndim != 2 or F.shape[0] != F.shape[1] or len(F) == 0:
        raise DiversetError(f"runs has shape {F.shape}; n items need an (n + 1, n + 1) matrix of run probabilities")
    if not (np.abs(F) <= 1.0 + 1e-9).all():
        i, j = np.argwhere(~(np.abs(F) <= 1.0 + 1e-9))[0]
        raise DiversetError(f"runs[{i}, {j}] is {F[i, j]}; a probability lies between 0 and 1")
    inverse = scipy.linalg.solve_triangular(F, np.eye(len(F)), unit_diagonal=True)
    return np.asarray(0.0 - inverse[:-1, 1:], dtype=np.float64)


class Descents(Classic[IntArray]):
    r"""Places where a sequence of independent, identically distributed values falls.

    Item i is in the set if value i + 1 of the sequence is less than value i. A run of m descents is a falling sequence
    of m + 1 values, and every choice of m + 1 different values falls in one order only:

    .. math::  \Pr(x_i > x_{i+1} > \dots > x_{i+m}) = e_{m+1}(p_1, \dots, p_b),

    the elementary symmetric polynomial of the values' probabilities ([KuleszaTaskar2012]_, section 2.1.1;
    [BorodinDiaconisFulman2010]_).

    Parameters
    ----------
    length : int
        Length of the sequence, at least 1; there are ``length - 1`` items.
    values : int or array_like of shape (b,)
        How many values there are, all equally likely (10 for digits), or their probabilities, in the order of
        the values.

    Notes
    -----
    The kernel is not symmetric. Falls repel: after one the value is likely to be small.

    Examples
    --------
    >>> falls = Descents(5, values=10)
    >>> sequence = falls.sample_objects(rng=0)
    >>> sequence, falls.items_of(sequence)
    (array([6, 2, 0, 0, 8]), array([0, 1]))
    >>> falls.dpp.inclusion_probabilities.round(6)
    array([0.45, 0.45, 0.45, 0.45])
    >>> round(falls.dpp.marginal([0, 1]), 6)  # three digits falling: 120 of 1,000
    0.12
    """

    def __init__(self, length: int, values: int | ArrayLike = 10) -> None:
        self.length = check_count(length, name="length")
        if np.ndim(values) == 0:
            b = check_count(values, name="values")
            self.probabilities: FloatArray = np.full(b, 1.0 / b)
        else:
            self.probabilities = as_probability_vector(values, name="values")
        self.probabilities.flags.writeable = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}(length={self.length}, {len(self.probabilities)} values)"

    @cached_property
    def kernel(self) -> FloatArray:
        """Marginal kernel, of shape (length - 1, length - 1)."""
        n, b = self.length, len(self.probabilities)
        with np.errstate(divide="ignore"):
            log_e = log_elementary_symmetric_all(np.log(self.probabilities), min(n, b))
        falling = np.zeros(n)  # entry m: a run of m descents
        falling[: len(log_e) - 1] = np.exp(log_e[1:])
        falling[0] = 1.0
        return one_dependent_kernel(scipy.linalg.toeplitz(np.eye(1, n)[0], falling))

    @cached_property
    def dpp(self) -> NonsymmetricDPP:
        """The determinantal process of the descents."""
        return NonsymmetricDPP.from_marginal(self.kernel, check="none")

    def _make(self, rng: np.random.Generator) -> IntArray:
        return rng.choice(len(self.probabilities), size=self.length, p=self.probabilities)

    def items_of(self, thing: IntArray) -> IntArray:
        """Places where a sequence falls."""
        return np.flatnonzero(np.diff(thing) < 0)


class Carries(Descents):
    r"""Carries when a column of random digits is added up.

    Digits are added one after another, and only the last digit of the sum is kept; item i is in the set if adding digit
    i + 1 makes a carry. The digits of the running sum are independent and uniform, since each new digit is, and a carry
    is where that digit falls: the set has the law of :class:`Descents` ([BorodinDiaconisFulman2010]_).

    Parameters
    ----------
    length : int
        How many digits are added, at least 1; there are ``length - 1`` items.
    base : int
        Of the number system, at least 2.

    Examples
    --------
    7 + 4 carries (11, keep 1), then 1 + 8 does not, then 9 + 2 does:

    >>> import numpy as np
    >>> Carries(4).items_of(np.array([7, 4, 8, 2]))
    array([0, 2])
    >>> round(Carries(4, base=2).dpp.marginal([0, 1]), 12)  # in base 2 never twice in a row
    0.0
    """

    def __init__(self, length: int, base: int = 10) -> None:
        if check_count(base, name="base") < 2:
            raise DiversetError(f"base is {base}; a number system has at least two digits")
        super().__init__(length, base)
        self.base = len(self.probabilities)

    def items_of(self, thing: IntArray) -> IntArray:
        """Places where adding the next digit makes a carry."""
        total, carries = int(thing[0]), []
        for i, digit in enumerate(thing[1:].tolist()):
            total += digit
            if total >= self.base:
                total -= self.base
                carries.append(i)
        return np.array(carries, dtype=np.int64)
