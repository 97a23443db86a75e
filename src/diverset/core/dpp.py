"""The determinantal point process over a finite ground set."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, SupportsFloat, overload

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.core.dense_marginal import DenseMarginal
from diverset.core.distribution import SetDistribution
from diverset.core.eigenpairs import from_eigenpairs, likelihood_of_matrix
from diverset.core.factor import RowFactor, as_feature_rows
from diverset.core.likelihood import FORMULAS
from diverset.core.lowrank import LowRankLikelihood
from diverset.core.representation import Representation, open_positions
from diverset.core.spectrum import Spectrum
from diverset.errors import DiversetError, ImpossibleEventError, KernelError, SizeError
from diverset.numerics import poisson_binomial, symmetric
from diverset.numerics.linalg import squared_modulus
from diverset.numerics.projection import project
from diverset.numerics.rounding import EPS, SLACK, rounding_unit
from diverset.numerics.validation import (
    as_hermitian,
    as_number,
    as_quality,
    as_real,
    check_between_zero_and_identity,
    check_finite,
    check_fits_in_memory,
    check_positive,
    check_positive_semidefinite,
    is_blocked,
    is_positive_semidefinite,
    is_sparse,
)

if TYPE_CHECKING:
    from diverset.core.kdpp import KDPP
    from diverset.sampling.base import Sampler

__all__ = ["DPP"]

_LIKELIHOOD_REMEDY = "a likelihood kernel must be positive semidefinite (diverset.kernels.nearest_psd repairs one)"


class DPP(SetDistribution):
    r"""Determinantal point process, a distribution over the subsets of n items.

    .. math::

        \Pr(Y = A) = \frac{\det L_A}{\det(L + I)}, \qquad \Pr(A \subseteq Y) = \det K_A, \qquad
        K = L(L+I)^{-1},

    where :math:`L_A` holds the rows and columns of the items in A. Similar items (large :math:`|L_{ij}|`)
    rarely appear together, items with large :math:`L_{ii}` appear often ([KuleszaTaskar2012]_, section 2).

    ``DPP(L)`` takes the likelihood kernel. Other constructors: :meth:`from_marginal`, :meth:`from_features`,
    :meth:`from_quality_diversity`, :meth:`from_spectrum`.

    Parameters
    ----------
    L : array_like of shape (n_items, n_items)
        Real symmetric or complex Hermitian, positive semidefinite. Copied.

    Notes
    -----
    Immutable: conditioning, rescaling and the like return new objects, which keep the labels of the items
    they retain (``items``). Construction checks L by one Cholesky factorisation; the normaliser takes one
    more, the marginals an inverse, and the eigendecomposition is computed only if the spectrum is needed
    (sizes, k-DPPs, rescaling, spectral sampling). Each is computed once, on first use.

    Examples
    --------
    Three items, the first two similar: they seldom appear together.

    >>> import diverset as dv
    >>> dpp = dv.DPP([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> round(dpp.marginal([0, 1]), 4), round(dpp.marginal([0, 2]), 4)
    (0.0596, 0.1865)
    >>> dpp.condition(include=[0]).items
    array([1, 2])
    """

    def __init__(self, L: ArrayLike) -> None:
        kernel = as_hermitian(L, name="L")
        check_positive_semidefinite(kernel, name="L", given=L, remedy=_LIKELIHOOD_REMEDY)
        noise = rounding_unit(L) * np.diagonal(kernel).real
        self._set(likelihood_of_matrix(kernel, noise), np.arange(len(kernel), dtype=np.int64))

    def _set(self, representation: Representation, items: IntArray | range) -> None:
        self._representation = representation
        self._items = items
        if isinstance(items, np.ndarray):
            items.flags.writeable = False

    @classmethod
    def _wrap(cls, representation: Representation, items: IntArray | range | None = None) -> DPP:
        dpp = cls.__new__(cls)
        dpp._set(representation, np.arange(representation.n, dtype=np.int64) if items is None else items)
        return dpp

    def __repr__(self) -> str:
        return f"DPP(n_items={self.n_items}, {type(self._representation).__name__})"

    # constructors ----------------------------------------------------------------------------------------

    @classmethod
    def from_marginal(cls, K: ArrayLike) -> DPP:
        r"""DPP with a given marginal kernel: :math:`\Pr(A \subseteq Y) = \det K_A`.

        Parameters
        ----------
        K : array_like of shape (n_items, n_items)
            Hermitian with eigenvalues in [0, 1]. An eigenvalue equal to 1 is allowed: no L exists then,
            the empty set has probability 0, and everything but ``L`` is available.

        Examples
        --------
        A projection: exactly one item, each with probability one half.

        >>> dpp = DPP.from_marginal([[0.5, 0.5], [0.5, 0.5]])
        >>> dpp.size_distribution.round(12)
        array([0., 1.])
        """
        kernel = as_hermitian(K, name="K")
        check_between_zero_and_identity(kernel, given=K)
        return cls._wrap(DenseMarginal(kernel, rounding_unit(K) * np.maximum(np.diagonal(kernel).real, 0.0)))

    @classmethod
    def from_features(
        cls, features: Any, quality: ArrayLike | None = None, *, projection: int | None = None, rng: RNGLike = None
    ) -> DPP:
        r"""DPP with :math:`L = \mathrm{diag}(q)\,F F^*\,\mathrm{diag}(q)`, which is not formed when D < n.

        Parameters
        ----------
        features : array_like, scipy.sparse, memmap or dask array of shape (n_items, n_features)
            One row per item. float32 and memory-mapped features stay as they are and are read in blocks;
            arrays above 64 MiB are referenced, not copied, so do not change them afterwards. The blocks of a dask array
            stay where they are, see :mod:`diverset.distributed`.
        quality : array_like of shape (n_items,), optional
            Nonnegative factor per item, 1 by default; a dask array may go with one.
        projection : int, optional
            Project the features to this number of random dimensions first, see :func:`diverset.numerics.project`.
        rng : int, Generator or None
            Seed or generator of the projection.

        Notes
        -----
        The dual representation ([KuleszaTaskar2012]_, section 3.3): one pass over the features, :math:`O(nD^2)`,
        gives C = B*B; every question about a few items then takes time constant in n. With at least as
        many features as items the dense kernel is smaller, and is used.

        Examples
        --------
        >>> import numpy as np
        >>> F = np.random.default_rng(0).standard_normal((100_000, 8))
        >>> dpp = DPP.from_features(F)
        >>> dpp.rank, round(dpp.expected_size, 3)
        (8, 8.0)
        """
        if is_blocked(features):
            from diverset.distributed import likelihood_of

            return cls._wrap(
                *likelihood_of(features if projection is None else project(features, projection, rng), quality)
            )
        rows = as_feature_rows(features if projection is None else project(features, projection, rng))
        n, width = rows.shape
        factor = RowFactor(rows, quality=None if quality is None else as_quality(quality, n))
        if width < n:
            return cls._wrap(LowRankLikelihood.from_rows(factor))
        check_fits_in_memory(
            16 * n * n,
            what=f"the kernel of {n} items",
            remedy="project the features to fewer than n dimensions",
        )
        # A product of rounded features is positive semidefinite, so its eigenvalues err by the square of the rounding.
        L = factor.outer()
        return cls._wrap(likelihood_of_matrix(L, max(EPS, SLACK * factor.rounding**2) * np.diagonal(L).real))

    @classmethod
    def from_quality_diversity(cls, quality: ArrayLike, similarity: ArrayLike) -> DPP:
        r"""DPP with :math:`L_{ij} = q_i S_{ij} q_j` ([KuleszaTaskar2012]_, section 3.1).

        Parameters
        ----------
        quality : array_like of shape (n_items,)
            Quality of each item; nonnegative.
        similarity : array_like of shape (n_items, n_items)
            Similarity of two items; positive semidefinite, usually with unit diagonal.
        """
        S = as_hermitian(similarity, name="similarity")
        q = as_quality(quality, len(S))
        check_positive_semidefinite(
            S,
            name="similarity",
            given=similarity,
            remedy="a similarity must be positive semidefinite (diverset.kernels.nearest_psd repairs one)",
        )
        L = q[:, None] * S * q
        check_finite(L, name="quality * similarity * quality")
        return cls._wrap(likelihood_of_matrix(L, rounding_unit(similarity) * np.diagonal(L).real))

    @classmethod
    def from_spectrum(cls, eigenvalues: ArrayLike, eigenvectors: ArrayLike) -> DPP:
        r"""DPP with :math:`L = \sum_n \lambda_n v_n v_n^*`, without forming it.

        Parameters
        ----------
        eigenvalues : array_like of shape (m,)
            Eigenvalues of L, nonnegative, in any order; ``inf`` stands for an eigenvalue 1 of K, so that
            ``from_spectrum([inf, ...], V)`` is the projection DPP onto the columns of V.
        eigenvectors : array_like of shape (n_items, m)
            Orthonormal columns. Referenced, not copied, above 64 MiB.
        """
        V = as_feature_rows(eigenvectors)
        if is_sparse(V):
            V = V.toarray()
        lam = np.array(as_real(eigenvalues, name="eigenvalues", shape=(None,)))
        if len(lam) != V.shape[1] or len(lam) > V.shape[0]:
            raise KernelError(
                f"{len(lam)} eigenvalues for eigenvectors of shape {V.shape}; expected (n_items, {len(lam)}), "
                "no more columns than rows"
            )
        if np.isnan(lam).any() or (lam < 0.0).any():
            i = int(np.flatnonzero(np.isnan(lam) | (lam < 0.0))[0])
            raise KernelError(f"eigenvalues[{i}] is {lam[i]}; eigenvalues of a likelihood kernel are nonnegative")
        check_orthonormal(V)
        if (lam[1:] <= lam[:-1]).all():
            lam, V = lam[::-1].copy(), V[:, ::-1]  # descending: a view is enough
        elif (lam[1:] < lam[:-1]).any():
            order = np.argsort(lam, kind="stable")
            lam, V = lam[order], np.take(V, order, axis=1)  # V[:, order] would be Fortran-ordered, and slower
        return cls._wrap(from_eigenpairs(Spectrum.from_likelihood(lam, 0.0), V))

    # kernels and spectrum --------------------------------------------------------------------------------

    def _whole(self, what: str) -> IntArray:
        check_fits_in_memory(
            24 * self.n_items**2,
            what=f"the {what} of {self.n_items} items",
            remedy="ask for marginals of the items you need instead",
        )
        return np.arange(self.n_items)

    @property
    def L(self) -> Array:
        """Likelihood kernel, of shape (n_items, n_items); raises where K has an eigenvalue 1."""
        everything = self._whole("likelihood kernel")
        return np.array(self._representation.likelihood_block(everything, everything))

    @property
    def K(self) -> Array:
        """Marginal kernel, of shape (n_items, n_items)."""
        everything = self._whole("marginal kernel")
        return np.array(self._representation.marginal_block(everything, everything))

    @property
    def _spectrum(self) -> Spectrum:
        """Eigenvalues, computed with the eigenvectors that a k-DPP needs: a model is factorised once at most."""
        return self._representation.spectrum_with_vectors()

    @property
    def eigenvalues(self) -> FloatArray:
        """Eigenvalues of L, ascending; ``inf`` where K has eigenvalue 1.

        From features, only the n_features eigenvalues that can be nonzero.
        """
        return self._spectrum.likelihood

    @property
    def eigenvectors(self) -> Array:
        """Eigenvectors of the nonzero eigenvalues, of shape (n_items, rank), in their order."""
        check_fits_in_memory(8 * self.n_items * self.rank, what=f"{self.rank} eigenvectors")
        return np.array(self._representation.eigenvectors())

    @property
    def rank(self) -> int:
        """Rank of the kernel, the largest size a draw can have.

        For a dense kernel of full rank a Cholesky factorisation proves it. Otherwise it takes the eigendecomposition,
        which draws and k-DPPs then use as well.
        """
        return self._representation.rank

    @property
    def log_normalizer(self) -> float:
        r""":math:`\log\det(L + I)`; ``inf`` where K has eigenvalue 1."""
        return self._representation.log_normalizer

    # probabilities ---------------------------------------------------------------------------------------

    @overload
    def log_prob(self, Y: Iterable[int], *, formula: str = "auto") -> float: ...
    @overload
    def log_prob(self, Y: Sequence[Iterable[int]], *, formula: str = "auto") -> FloatArray: ...
    def log_prob(self, Y: Iterable[int] | Sequence[Iterable[int]], *, formula: str = "auto") -> float | FloatArray:
        r"""Log-probability that the random set is exactly `Y`; ``-inf`` where it is impossible.

        Parameters
        ----------
        Y : iterable of int, or sequence of them
            Items of one set, or a batch: a sequence of sets, or a boolean matrix of shape (m, n_items). An empty list
            is the empty set, ``[[]]`` a batch of one.
        formula : {"auto", "likelihood", "mixed-rows", "shifted-marginal"}
            The default costs :math:`O(|Y|^3)` once the normaliser is known. The others are the three formulas
            of [KuleszaTaskar2012]_, section 3.5, verbatim, in :math:`O(n^3)`; see
            ``diverset.core.likelihood``.

        Returns
        -------
        float, or ndarray of shape (m,) for a batch
            Sets of a batch are evaluated together, at a microsecond or two for ten items.
        """
        if formula == "auto":
            return self._evaluate(Y, self._log_prob, self._log_probs)
        if formula not in FORMULAS:
            raise DiversetError(f"formula is {formula!r}; choose one of auto, {', '.join(FORMULAS)}")
        evaluate, takes_likelihood = FORMULAS[formula]
        kernel = self.L if takes_likelihood else self.K
        return self._evaluate(
            Y, lambda Y: evaluate(kernel, Y), lambda sets: np.array([evaluate(kernel, Y) for Y in sets])
        )

    def _log_prob(self, inside: IntArray) -> float:
        return min(self._representation.log_prob(inside), 0.0)

    def _log_probs(self, sets: IntArray) -> FloatArray:
        return np.minimum(self._representation.log_probs(sets), 0.0)

    def _log_marginals(self, sets: IntArray) -> FloatArray:
        return np.minimum(self._representation.log_marginals(sets), 0.0)

    def _log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        return min(self._representation.log_event_probability(inside, outside), 0.0)

    @property
    def inclusion_probabilities(self) -> FloatArray:
        """Probability of each item to appear, the diagonal of K; of shape (n_items,).

        A dask array, not computed yet, if the features are one.
        """
        p = self._representation.inclusion()
        return np.array(p) if isinstance(p, np.ndarray) else p

    def pair_probabilities(self, pairs: Sequence[tuple[int, int]] | None = None) -> FloatArray:
        r"""Probabilities :math:`K_{ii}K_{jj} - |K_{ij}|^2` that two items appear together."""
        if pairs is None:
            single = self._representation.inclusion()
            everything = self._whole("pair probabilities")
            together = np.outer(single, single) - squared_modulus(
                self._representation.marginal_block(everything, everything)
            )
            np.fill_diagonal(together, single)
            return np.maximum(together, 0.0)
        left, right = self._pairs(pairs)
        named = np.union1d(left, right)
        K = self._representation.marginal_block(named, named)
        i, j = np.searchsorted(named, left), np.searchsorted(named, right)
        p = np.minimum(np.diagonal(K).real, 1.0)
        return np.asarray(np.maximum(p[i] * p[j] - squared_modulus(K[i, j]), 0.0))

    @property
    def expected_size(self) -> float:
        r"""Mean size, :math:`\sum_n \lambda_n/(1+\lambda_n) = \mathrm{tr} K`."""
        return self._spectrum.mean_size

    @property
    def size_variance(self) -> float:
        r"""Variance of the size, :math:`\sum_n \lambda_n/(1+\lambda_n)^2`."""
        return self._spectrum.size_variance

    @property
    def size_distribution(self) -> FloatArray:
        """Probability of every size 0..rank: a Poisson-binomial law, the eigenvalues of K its trials."""
        return poisson_binomial.pmf(self._spectrum.log_odds)

    def sampler(self, size: int = 1, *, method: str = "auto") -> Sampler:
        """The sampler that `size` draws use: the cheapest exact one the kernel's form offers, or one by name."""
        return self._representation.sampler(None, size, method)

    # new DPPs from this one ------------------------------------------------------------------------------

    def condition(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> DPP:
        r"""DPP of the other items, given that `include` appear and `exclude` do not.

        The result is over the items named in neither, with their labels
        ([KuleszaTaskar2012]_, section 2.4.3).

        Raises
        ------
        ImpossibleEventError
            If the event has probability zero.
        """
        inside, outside = self._assignment(include, exclude)
        try:
            representation = self._representation.condition(inside, outside)
        except ImpossibleEventError:
            raise self._impossible(inside, outside) from None
        return self._wrap(representation, self._labels(open_positions(inside, outside, self.n_items)))

    def restrict(self, A: Iterable[int]) -> DPP:
        r"""DPP of :math:`Y \cap A`, with marginal kernel :math:`K_A`."""
        keep = self._positions(A)
        return self._wrap(self._representation.restrict(keep), self._labels(keep))

    def complement(self) -> DPP:
        r"""DPP of the items that do not appear, with marginal kernel :math:`I - K`."""
        return self._wrap(self._representation.complement(), self._items)

    def thin(self, rate: SupportsFloat) -> DPP:
        r"""DPP after keeping each item of a draw independently with probability `rate`: K times `rate`."""
        gamma = as_number(rate, name="rate")
        if not 0.0 <= gamma <= 1.0:
            raise DiversetError(f"rate is {gamma}; the probability of keeping an item lies between 0 and 1")
        if gamma == 0.0:
            nothing = LowRankLikelihood.from_rows(RowFactor(np.zeros((self.n_items, 0))))
            return self._wrap(nothing, self._items)
        if gamma == 1.0:
            return self
        return self._wrap(self._representation.thin(gamma), self._items)

    def rescale(self, expected_size: SupportsFloat) -> DPP:
        r"""DPP with L multiplied by the number that gives draws this expected size.

        Solves :math:`\sum_n a\lambda_n/(1+a\lambda_n) = m` for a. The k-DPPs within (``of_size``) stay the same.

        Parameters
        ----------
        expected_size : float
            Above the number of eigenvalues 1 of K (usually none) and below the rank.
        """
        target = check_positive(expected_size, name="expected_size")
        spectrum = self._spectrum
        if not spectrum.n_certain < target < spectrum.rank:
            raise SizeError(
                f"expected_size is {target:g}; scaling this DPP reaches sizes strictly between "
                f"{spectrum.n_certain} and its rank, {spectrum.rank}"
            )
        finite = spectrum.log_odds[np.isfinite(spectrum.log_odds)]
        log_factor = symmetric.tilt(finite, target - spectrum.n_certain)
        return self._wrap(self._representation.scale(log_factor), self._items)

    def of_size(self, k: int) -> KDPP:
        """The k-DPP: this DPP conditioned on drawing exactly `k` items."""
        from diverset.core.kdpp import KDPP

        return KDPP(self, k)

    def dominates(self, other: DPP) -> bool:
        r"""Whether :math:`K_{other} \preceq K`: then every set of items is at least as likely to appear here.

        [KuleszaTaskar2012]_, section 2.3; differences within rounding count as zero. :math:`O(n^3)`.
        """
        if not isinstance(other, DPP) or not np.array_equal(self.items, other.items):
            raise DiversetError("dominates compares two DPPs over the same items")
        return is_positive_semidefinite(self.K - other.K, scale=1.0)


def check_orthonormal(V: Array) -> None:
    """Raise an error for columns that are not orthonormal, by one random combination of them: O(nm), not O(nm^2).

    If :math:`E = V^*V - I` is not zero, then :math:`Ex` is not zero for almost every x, and about as large as the
    Frobenius norm of E.
    """
    if V.shape[1] == 0:
        return
    x = np.random.default_rng(0).standard_normal(V.shape[1])
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(V.conj().T @ (V @ x) - x).max()
    tolerance = 64.0 * math.sqrt(V.shape[0]) * float(np.finfo(V.dtype).eps) * np.abs(x).max()
    if not error <= tolerance:
        check_finite(np.asarray(V), name="eigenvectors")
        raise KernelError(
            f"eigenvectors are not orthonormal (V*V differs from the identity by about {error:.3g}); "
            "numpy.linalg.eigh and numpy.linalg.qr give columns that are"
        )
