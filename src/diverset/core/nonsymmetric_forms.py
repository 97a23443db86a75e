r"""Ways to hold a nonsymmetric kernel: as matrices or as the complement of another.

The low-rank form is in ``diverset.core.nonsymmetric_low_rank``.

Everything here is in positions 0..n-1. A form that holds a likelihood kernel L leaves items out by dropping their rows,
which cancels nothing:

.. math::  \Pr(A \subseteq Y, B \cap Y = \emptyset) = \frac{\det(I + L_{\bar B})}{\det(I + L)} \det K^{\bar B}_A,

with :math:`K^{\bar B}` the marginal kernel of the process without B. This is the route for rare events; for others
one determinant of entries of K and I - K is cheaper and as accurate.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.core.cache import Model, cached_property
from diverset.core.representation import no_likelihood_kernel
from diverset.numerics.accretive import (
    Resolvent,
    balanced,
    log_det_and_pivot,
    log_det_general,
    resolvent,
    rounding_of,
    size_law,
)
from diverset.numerics.linalg import positions_outside

__all__ = ["DenseForm", "Form", "OutsideForm", "log_det_of_set", "numerical_rank"]

#: Events rarer than this go by the likelihood kernel, where there is one: K and I - K have absolute errors.
RARE = math.log(1e-6)

#: Pivot of a scaled determinant below which the rank of the kernel is computed.
_SUSPECT = 1e-6

_NOTHING = np.zeros(0, dtype=np.int64)


class Form(Model, abc.ABC):
    """A determinantal process over positions 0..n-1, with its probabilities and conditional processes."""

    n: int
    #: Largest size that is possible.
    rank: int

    @property
    def holds_likelihood(self) -> bool:
        """Whether there is a likelihood kernel to restrict."""
        return False

    @property
    @abc.abstractmethod
    def log_normalizer(self) -> float:
        """Log-determinant of L + I; ``inf`` where there is no L."""

    @abc.abstractmethod
    def marginal_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Entries of K."""

    @abc.abstractmethod
    def outside_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Entries of I - K."""

    @abc.abstractmethod
    def marginal_diagonal(self) -> FloatArray:
        """Diagonal of K."""

    @abc.abstractmethod
    def marginal_entries(self, i: IntArray, j: IntArray) -> FloatArray:
        """Entries :math:`K_{ij}` of several pairs of positions."""

    @abc.abstractmethod
    def log_prob(self, inside: IntArray) -> float:
        """Log-probability of exactly this set."""

    @abc.abstractmethod
    def size_moments(self) -> tuple[float, float]:
        """Mean and variance of the size."""

    @abc.abstractmethod
    def size_law(self) -> FloatArray:
        """Probability of every size."""

    @abc.abstractmethod
    def excluding(self, outside: IntArray) -> Form:
        """Process given that some items are left out, over the others."""

    @abc.abstractmethod
    def including(self, inside: IntArray) -> Form:
        """Process given that some items appear, over the others."""

    @abc.abstractmethod
    def restricted(self, keep: IntArray) -> Form:
        """Process of the items in `keep`, whatever the others do."""

    def complemented(self) -> Form:
        """Process of the items that do not appear."""
        return OutsideForm(self)

    def likelihood_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Entries of L."""
        if self.log_normalizer == math.inf:
            raise no_likelihood_kernel()
        everything = np.arange(self.n)
        K, Kc = (block(everything, everything) for block in (self.marginal_block, self.outside_block))
        L = np.asarray(np.linalg.solve(Kc.T, K.T).T, dtype=np.float64)
        return L[np.ix_(rows, columns)]

    def log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        """Log-probability that all of `inside` and none of `outside` appear."""
        found = log_det_general(self._mixed(inside, outside))
        if found < RARE and len(inside) > self.rank:
            return -math.inf
        if self.holds_likelihood and len(outside) and found < RARE:
            found = self._rare(inside, outside)
        return min(found, 0.0)

    def _rare(self, inside: IntArray, outside: IntArray) -> float:
        """The same by leaving out rows of L; see the module docstring."""
        rest = self.excluding(outside)
        found = rest.log_normalizer - self.log_normalizer
        if len(inside):
            A = inside - np.searchsorted(np.sort(outside), inside)
            found += log_det_general(rest.marginal_block(A, A))
        return found

    def _mixed(self, inside: IntArray, outside: IntArray) -> FloatArray:
        r"""The matrix whose determinant is the probability that all of A and none of B appear.

        :math:`\begin{pmatrix} K_A & K_{AB} \\ -K_{BA} & \bar K_B \end{pmatrix}`, which needs no inverse.
        """
        items = np.concatenate([inside, outside])
        mixed = self.marginal_block(items, items)
        mixed[len(inside) :] *= -1.0
        mixed[len(inside) :, len(inside) :] = self.outside_block(outside, outside)
        return mixed


class DenseForm(Form):
    """Matrices: either L, or K and I - K, since neither of these gives the other accurately where it is small.

    L is `accretive` if its symmetric part is positive semidefinite; `rounding` is the relative error of its entries,
    `largest` the rank, if it is known.
    """

    def __init__(
        self,
        L: FloatArray | None = None,
        K: FloatArray | None = None,
        Kc: FloatArray | None = None,
        *,
        accretive: bool = True,
        rounding: float | None = None,
        largest: int | None = None,
    ) -> None:
        self.L, self.accretive, self.rounding, self._largest = L, accretive, rounding, largest
        if L is None:
            assert K is not None  # built from L or from both others
            assert Kc is not None
            self._given_resolvent: Resolvent | None = Resolvent(K, Kc, math.nan, None)
            self.n = len(K)
        else:
            self._given_resolvent = None
            self.n = len(L)

    @cached_property
    def _resolvent(self) -> Resolvent:
        if self._given_resolvent is not None:
            return self._given_resolvent
        assert self.L is not None
        return resolvent(self.L, accretive=self.accretive, rounding=self.rounding)

    @property
    def K(self) -> FloatArray:
        """Marginal kernel."""
        return self._resolvent.K

    @property
    def Kc(self) -> FloatArray:
        """Marginal kernel of the complement."""
        return self._resolvent.Kc

    @property
    def holds_likelihood(self) -> bool:
        """Whether L was given."""
        return self.L is not None

    @cached_property
    def log_normalizer(self) -> float:
        """Log-determinant of L + I; ``inf`` where K has eigenvalue 1."""
        return self._resolvent.log_det if self.holds_likelihood else -log_det_general(self.Kc)

    @cached_property
    def rank(self) -> int:
        """Largest size that is possible, from the singular values of the scaled L."""
        if self.L is None or self.n == 0:
            return self.n if self._largest is None else min(self._largest, self.n)
        if self._resolvent.rank is not None:
            return self._resolvent.rank
        return numerical_rank(self.L, rounding_of(self.n) if self.rounding is None else self.rounding)

    def likelihood_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Entries of L."""
        return super().likelihood_block(rows, columns) if self.L is None else self.L[np.ix_(rows, columns)]

    def marginal_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Entries of K."""
        return self.K[np.ix_(rows, columns)]

    def outside_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Entries of I - K."""
        return self.Kc[np.ix_(rows, columns)]

    def marginal_diagonal(self) -> FloatArray:
        """Diagonal of K."""
        return np.diagonal(self.K)

    def marginal_entries(self, i: IntArray, j: IntArray) -> FloatArray:
        """Some entries of K."""
        return self.K[i, j]

    def log_prob(self, inside: IntArray) -> float:
        """Log-probability of exactly this set."""
        if self.L is None:
            return self.log_event_probability(inside, positions_outside(inside, self.n))
        return min(log_det_of_set(self.L[np.ix_(inside, inside)], lambda: self.rank) - self.log_normalizer, 0.0)

    def size_moments(self) -> tuple[float, float]:
        """Traces of K and of K (I - K)."""
        return float(np.trace(self.K)), float(np.einsum("ij,ji->", self.K, self.Kc))

    def size_law(self) -> FloatArray:
        """Probability of every size, 0 to n; zero beyond the rank."""
        pmf = size_law(self.K)
        pmf[self.rank + 1 :] = 0.0
        law: FloatArray = pmf / pmf.sum()
        return law

    def excluding(self, outside: IntArray) -> Form:
        """Without these rows and columns of L; else a Schur complement."""
        keep = positions_outside(outside, self.n)
        if self.L is not None:
            return DenseForm(self.L[np.ix_(keep, keep)], accretive=self.accretive, rounding=self.rounding)
        return self._given(_NOTHING, outside, keep)

    def including(self, inside: IntArray) -> Form:
        """A Schur complement of K."""
        # Not one of L: an item may be possible though no set holds it alone, L_ii = 0.
        return self._given(inside, _NOTHING, positions_outside(inside, self.n))

    def _given(self, inside: IntArray, outside: IntArray, keep: IntArray) -> Form:
        K = _conditioned(self.K, self.Kc, inside, outside, keep)
        largest = self.rank - len(inside)
        return DenseForm(K=K, Kc=_conditioned(self.Kc, self.K, outside, inside, keep), largest=largest)

    def restricted(self, keep: IntArray) -> Form:
        """Blocks of both marginal kernels."""
        return DenseForm(K=self.marginal_block(keep, keep), Kc=self.outside_block(keep, keep), largest=self.rank)

    def complemented(self) -> Form:
        """The marginal kernels swapped."""
        return DenseForm(K=self.Kc, Kc=self.K)


def _conditioned(K: FloatArray, Kc: FloatArray, inside: IntArray, outside: IntArray, keep: IntArray) -> FloatArray:
    """Marginal kernel of the items in `keep`, given the others: a Schur complement of the mixed matrix."""
    rest: FloatArray = K[np.ix_(keep, keep)]
    given = np.concatenate([inside, outside])
    if len(given) == 0:
        return rest
    right = K[np.ix_(given, keep)]
    right[len(inside) :] *= -1.0
    rest -= K[np.ix_(keep, given)] @ np.linalg.solve(DenseForm(K=K, Kc=Kc)._mixed(inside, outside), right)
    return rest


def log_det_of_set(a: FloatArray, rank: Callable[[], int], width: int = 0) -> float:
    """Log-determinant of a block of L; -inf if it has more items than the rank, or they are dependent.

    Rounding can hide this only if a pivot is small. Then the singular values of the scaled block decide, as for the
    rank of the kernel.
    """
    found, pivot = log_det_and_pivot(a, width)
    if found > -math.inf and pivot < _SUSPECT:
        m = len(a)
        if m > rank() or numerical_rank(a, rounding_of(max(m, width))) < m:
            return -math.inf
    return found


def numerical_rank(L: FloatArray, rounding: float) -> int:
    """Rank of a square matrix after scaling, if its entries have this relative error."""
    sigma = np.linalg.svd(balanced(L, rounding)[0], compute_uv=False)
    return int(np.count_nonzero(sigma > rounding * sigma[0]))


class OutsideForm(Form):
    """The items that a draw of another form leaves out."""

    def __init__(self, base: Form) -> None:
        self.base, self.n = base, base.n
        self.rank = self.n

    @cached_property
    def log_normalizer(self) -> float:
        """Minus the log-probability that the base draws everything."""
        return -self.base.log_prob(np.arange(self.n))

    def marginal_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Entries of I - K of the base."""
        return self.base.outside_block(rows, columns)

    def outside_block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Entries of K of the base."""
        return self.base.marginal_block(rows, columns)

    def marginal_diagonal(self) -> FloatArray:
        """One minus that of the base."""
        return 1.0 - self.base.marginal_diagonal()

    def marginal_entries(self, i: IntArray, j: IntArray) -> FloatArray:
        """Entries of I - K of the base."""
        return np.asarray((i == j) - self.base.marginal_entries(i, j), dtype=np.float64)

    def log_prob(self, inside: IntArray) -> float:
        """That of drawing all others from the base."""
        return self.base.log_prob(positions_outside(inside, self.n))

    def log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        """With the two sets swapped."""
        return self.base.log_event_probability(outside, inside)

    def size_moments(self) -> tuple[float, float]:
        """Mean n minus that of the base; the same variance."""
        mean, variance = self.base.size_moments()
        return self.n - mean, variance

    def size_law(self) -> FloatArray:
        """That of the base, reversed."""
        pmf = self.base.size_law()
        return np.pad(pmf, (0, self.n + 1 - len(pmf)))[::-1].copy()

    def excluding(self, outside: IntArray) -> Form:
        """The base includes."""
        return OutsideForm(self.base.including(outside))

    def including(self, inside: IntArray) -> Form:
        """The base excludes."""
        return OutsideForm(self.base.excluding(inside))

    def restricted(self, keep: IntArray) -> Form:
        """The base is restricted."""
        return OutsideForm(self.base.restricted(keep))

    def complemented(self) -> Form:
        """The base."""
        return self.base
