r"""Determinantal processes with a nonsymmetric kernel: items may attract as well as repel.

A symmetric kernel gives :math:`\Pr(i, j \in Y) = K_{ii}K_{jj} - K_{ij}^2`, never more than independence would. If
:math:`K_{ij}` and :math:`K_{ji}` differ in sign the second term is positive, and the two items come together *more*
often. [KuleszaTaskar2012]_, section 7.3, asks whether such kernels are worthwhile, and [GartrellEtAl2019]_ find
that they are, for product baskets. The spectral theory does not apply. The kernel defines a distribution if and
only if no principal minor of L is negative, which takes :math:`2^n` determinants to check; but it is sufficient that
:math:`L + L^T` is positive semidefinite, whatever the skew-symmetric part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray, IntArray
from diverset.core.distribution import SetDistribution
from diverset.core.nonsymmetric_checks import (
    MAX_ENUMERATED,
    as_square,
    check_atoms,
    check_minors,
    check_name,
    check_reflected,
    check_symmetric_part,
)
from diverset.core.nonsymmetric_forms import DenseForm, Form
from diverset.core.nonsymmetric_low_rank import factored_form, gram_if_tall
from diverset.core.representation import open_positions
from diverset.numerics.linalg import add_to_diagonal
from diverset.numerics.validation import LARGEST, as_finite, as_real, check_fits_in_memory, check_squares

if TYPE_CHECKING:
    from diverset.sampling.base import Sampler

__all__ = ["NonsymmetricDPP"]


class NonsymmetricDPP(SetDistribution):
    r"""Random set with :math:`\Pr(Y = A) = \det L_A / \det(L + I)` for an L that need not be symmetric.

    As for a DPP, :math:`\Pr(A \subseteq Y) = \det K_A` with :math:`K = L(L+I)^{-1}`.

    Parameters
    ----------
    L : array_like of shape (n_items, n_items)
        Real. Copied.
    check : {"auto", "minors", "none"}
        How to check that L defines a distribution. ``"auto"`` requires that :math:`L + L^T` is positive semidefinite,
        which is sufficient, in :math:`O(n^3)`. ``"minors"`` checks the necessary condition, that no principal minor is
        negative, by enumeration, for up to 15 items. ``"none"`` checks nothing.

    Notes
    -----
    Immutable, and labelled as a :class:`DPP` is. Sizes follow no Poisson-binomial law, since the eigenvalues of K
    may be complex; their law comes from determinants on the unit circle.

    K is computed at any scale of L (``diverset.numerics.accretive``). For large kernels that passed ``check="auto"``,
    the rank of L is decided after scaling its rows and columns to unit size. Singular values below 8n rounding units
    of the largest count as zero, so that a kernel of low rank may be multiplied by 1e12. The remaining errors are of
    the order of rounding times the condition number of the scaled kernel; rounding L itself causes errors of this size.
    Kernels accepted by ``"minors"`` or ``"none"`` use one LU factorisation of L + I.

    Examples
    --------
    With only a skew-symmetric part, neither of the two items ever appears alone.

    >>> pair = NonsymmetricDPP([[0.0, 1.0], [-1.0, 0.0]])
    >>> [round(pair.probability(include=A, exclude={0, 1} - A), 12) for A in (set(), {0}, {0, 1})]
    [0.5, 0.0, 0.5]
    """

    _items: IntArray

    def __init__(self, L: ArrayLike, *, check: str = "auto") -> None:
        kernel, rounding = as_square(L, name="L")
        check_name(check)
        if check == "minors":
            check_minors(kernel, rounding)
        elif check == "auto":
            check_symmetric_part(kernel, rounding)
        self._set(
            np.arange(len(kernel), dtype=np.int64), DenseForm(kernel, accretive=check == "auto", rounding=rounding)
        )

    @classmethod
    def from_low_rank(cls, V: ArrayLike, B: ArrayLike, D: ArrayLike) -> NonsymmetricDPP:
        r"""Process with :math:`L = VV^T + B(D - D^T)B^T`, never formed.

        Every such kernel defines a distribution, since its symmetric part :math:`VV^T` is positive semidefinite
        ([GartrellEtAl2021]_).

        Parameters
        ----------
        V : array_like of shape (n_items, rank)
            Factor of the symmetric part. Copied.
        B : array_like of shape (n_items, rank_skew)
            Factor of the skew-symmetric part. Copied.
        D : array_like of shape (rank_skew, rank_skew)
            Any matrix; only its skew-symmetric part counts.

        Notes
        -----
        With r the columns of V and B together: set-up takes one Gram matrix, :math:`nr^2` operations, where the columns
        of (V, B) are far from dependent, else a QR factorisation. All inclusion probabilities take :math:`2nr^2`,
        ``log_prob`` and ``marginal`` of m items :math:`O(mr^2 + m^2r + m^3)`, given pairs :math:`O(r^2)` each, the size
        law :math:`O(r^3)`, conditioning on m items :math:`O(nr^2)`. Memory is that of the factors and at most one more
        array of their size. ``K``, ``L`` and the probabilities of all pairs are n x n arrays, formed only on request.
        With r at least n the kernel is held as a matrix.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> V, B, D = rng.random((10_000, 8)), rng.random((10_000, 4)), rng.random((4, 4))
        >>> dpp = NonsymmetricDPP.from_low_rank(V, B, D)
        >>> round(dpp.expected_size, 2), dpp.size_distribution.shape
        (11.99, (13,))
        >>> bool(np.isclose(dpp.marginal([3, 5]), dpp.pair_probabilities([(3, 5)])[0]))
        True
        """
        left = as_real(V, name="V", shape=(None, None))
        right = as_real(B, name="B", shape=(len(left), None))
        middle = as_finite(D, name="D", shape=(right.shape[1], right.shape[1]))
        check_fits_in_memory(8 * (left.size + right.size), what="a copy of V and B")
        # By rows, as every pass over the items reads them.
        width = left.shape[1]
        rows = np.empty((len(left), width + right.shape[1]))
        rows[:, :width], rows[:, width:] = left, right
        G = gram_if_tall(rows)
        # Finite sums of squares have finite terms: for tall factors, the Gram matrix shows this.
        if G is None or not np.diagonal(G).max(initial=0.0) <= LARGEST:
            check_squares(left, name="V")
            check_squares(right, name="B")
        core = np.zeros((rows.shape[1], rows.shape[1]))
        core[:width, :width] = np.eye(width)
        core[width:, width:] = middle - middle.T
        return cls._wrap(np.arange(len(rows), dtype=np.int64), factored_form(rows, core, G))

    @classmethod
    def from_marginal(cls, K: ArrayLike, *, check: str = "auto") -> NonsymmetricDPP:
        r"""Process with :math:`\Pr(A \subseteq Y) = \det K_A` for every A.

        Parameters
        ----------
        K : array_like of shape (n_items, n_items)
            Real; eigenvalue 1 is allowed, and then there is no L.
        check : {"auto", "minors", "none"}
            ``"minors"`` requires that no set has negative probability :math:`|\det(K - I_{\bar A})|`, by enumeration,
            for up to 15 items. ``"auto"`` does this for small ground sets; beyond, it requires that no singular
            value of :math:`I - 2K` exceeds 1, which is sufficient: it means that :math:`L + L^T` is positive
            semidefinite if L exists, and for symmetric K that :math:`0 \preceq K \preceq I`.

        Examples
        --------
        >>> dpp = NonsymmetricDPP.from_marginal([[0.5, 0.4], [-0.4, 0.5]])
        >>> round(dpp.marginal([0, 1]), 12), round(dpp.marginal([0]) * dpp.marginal([1]), 12)
        (0.41, 0.25)
        """
        kernel, rounding = as_square(K, name="K")
        check_name(check)
        if check == "minors" or (check == "auto" and len(kernel) <= MAX_ENUMERATED):
            check_atoms(kernel, rounding)
        elif check == "auto":
            check_reflected(kernel, rounding)
        form = DenseForm(K=kernel, Kc=add_to_diagonal(-kernel, 1.0))
        return cls._wrap(np.arange(len(kernel), dtype=np.int64), form)

    def _set(self, items: IntArray, form: Form) -> None:
        self._items = items
        self._items.flags.writeable = False
        self._form = form

    @classmethod
    def _wrap(cls, items: IntArray, form: Form) -> NonsymmetricDPP:
        dpp = cls.__new__(cls)
        dpp._set(items, form)
        return dpp

    def __repr__(self) -> str:
        return f"NonsymmetricDPP(n_items={self.n_items})"

    # kernels ---------------------------------------------------------------------------------------------

    def _dense(self, what: str) -> IntArray:
        check_fits_in_memory(24 * self.n_items**2, what=f"{what} of {self.n_items} items")
        return np.arange(self.n_items)

    @property
    def L(self) -> FloatArray:
        """Likelihood kernel, of shape (n_items, n_items); raises where K has an eigenvalue 1."""
        everything = self._dense("L")
        return self._form.likelihood_block(everything, everything)

    @property
    def K(self) -> FloatArray:
        """Marginal kernel, of shape (n_items, n_items)."""
        everything = self._dense("K")
        return self._form.marginal_block(everything, everything)

    @property
    def log_normalizer(self) -> float:
        r""":math:`\log\det(L + I) = -\log\Pr(Y = \emptyset)`; ``inf`` where K has eigenvalue 1."""
        return self._form.log_normalizer

    # probabilities ---------------------------------------------------------------------------------------

    def _log_prob(self, inside: IntArray) -> float:
        return self._form.log_prob(inside)

    def _log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        return self._form.log_event_probability(inside, outside)

    @property
    def inclusion_probabilities(self) -> FloatArray:
        """Probability of each item to appear, the diagonal of K; of shape (n_items,)."""
        return np.clip(self._form.marginal_diagonal(), 0.0, 1.0)

    def pair_probabilities(self, pairs: Sequence[tuple[int, int]] | None = None) -> FloatArray:
        r"""Probabilities :math:`K_{ii}K_{jj} - K_{ij}K_{ji}` that two items appear together.

        More than the product of the two where the off-diagonal entries differ in sign.
        """
        entries = self._form.marginal_entries
        if pairs is None:
            everything = self._dense("the pair probabilities")
            K = self._form.marginal_block(everything, everything)
            p = np.diagonal(K)
            together = np.outer(p, p) - K * K.T
            np.fill_diagonal(together, p)
        else:
            i, j = self._pairs(pairs)
            together = entries(i, i) * entries(j, j) - entries(i, j) * entries(j, i)
        return np.clip(together, 0.0, 1.0)

    @property
    def expected_size(self) -> float:
        r"""Mean size, :math:`\mathrm{tr} K`."""
        return self._form.size_moments()[0]

    @property
    def size_variance(self) -> float:
        r"""Variance of the size, :math:`\mathrm{tr} K - \mathrm{tr} K^2`; may exceed the mean."""
        return self._form.size_moments()[1]

    @property
    def size_distribution(self) -> FloatArray:
        r"""Probability of every size, 0 to n_items, or to the rank in low-rank form.

        The generating function :math:`\mathrm{E} z^{|Y|} = \det(I + (z-1)K)` at the roots of unity, by determinants of
        a Hessenberg matrix similar to K, then a Fourier transform: errors near 1e-15 absolute. :math:`O(n^3)`, or
        :math:`O(r^3)` in low-rank form.
        """
        return self._form.size_law()

    def sampler(self, size: int = 1, *, method: str = "auto") -> Sampler:
        """Sampler of one of the methods "sequential" and, in low-rank form, "rejection"."""
        from diverset.sampling.base import take
        from diverset.sampling.nonsymmetric import offers

        offer = take(offers(self._form, size), method)
        return self._cache.recent(offer.name, offer.prepare)

    # new processes from this one -------------------------------------------------------------------------

    def condition(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> NonsymmetricDPP:
        """Process of the other items, given that `include` appear and `exclude` do not; labels are kept.

        Raises
        ------
        ImpossibleEventError
            If the event has probability zero.
        """
        inside, outside = self._assignment(include, exclude)
        keep = open_positions(inside, outside, self.n_items)
        if self._log_event_probability(inside, outside) == -math.inf:
            raise self._impossible(inside, outside)
        form = self._form
        if form.holds_likelihood or not len(inside):
            # Leaving rows of L out cancels nothing.
            form = form.excluding(outside) if len(outside) else form
            inside = inside - np.searchsorted(np.sort(outside), inside)
            outside = outside[:0]
        if len(inside):
            outside = outside - np.searchsorted(np.sort(inside), outside)
            form = form.including(inside)
        return self._wrap(self._items[keep], form.excluding(outside) if len(outside) else form)

    def restrict(self, A: Iterable[int]) -> NonsymmetricDPP:
        r"""Process of :math:`Y \cap A`, with marginal kernel :math:`K_A`."""
        keep = self._positions(A)
        return self._wrap(self._items[keep], self._form.restricted(keep))

    def complement(self) -> NonsymmetricDPP:
        r"""Process of the items that do not appear, with marginal kernel :math:`I - K`."""
        return self._wrap(self._items, self._form.complemented())
