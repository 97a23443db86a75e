"""The structured DPP: a DPP over all structures of a factor graph, which are never listed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.core.cache import cached_property
from diverset.core.dpp import DPP
from diverset.core.spectrum import Spectrum
from diverset.errors import (
    DiversetError,
    ImpossibleEventError,
    KernelError,
    LabelError,
    SizeError,
    TooLargeError,
)
from diverset.numerics import poisson_binomial, symmetric
from diverset.numerics.graded import eigh_graded, graded_right_vectors, is_graded
from diverset.numerics.linalg import EPS, log_det_gram, null_basis, row_norms_squared
from diverset.numerics.symmetric import expit
from diverset.numerics.validation import check_count, check_positive
from diverset.sampling.eigenvector_law import EigenvectorLaw
from diverset.structured.graph import FactorGraph
from diverset.structured.model import StructuredModel, StructureSpace

if TYPE_CHECKING:
    from diverset.structured.best import BestSet
    from diverset.structured.ksdpp import StructuredKDPP

__all__ = ["StructuredDPP"]


class StructuredDPP(StructuredModel):
    r"""DPP over the structures of a factor graph, such as paths, sequences or trees.

    .. math::

        \Pr(Y) = \frac{\det L_Y}{\det(L + I)}, \qquad
        L_{yz} = q(y)\, \phi(y)^\top \phi(z)\, q(z), \qquad
        q(y) = \prod_\alpha q_\alpha(y_\alpha), \quad \phi(y) = \sum_\alpha \phi_\alpha(y_\alpha).

    There are :math:`M^R` structures; everything is computed from the D x D dual kernel
    :math:`C = \sum_y q^2(y)\phi(y)\phi(y)^\top`, by message passing ([KuleszaTaskar2012]_, section 6).

    Parameters
    ----------
    graph : FactorGraph
        A graph with features on some factor. Later additions to it do not change this model.
    projection : int, optional
        Project the features to this number of random dimensions first (section 3.4).
    rng : int, Generator or None
        Seed or generator of the projection.
    max_states : int
        Most joint values of parts that a cycle of the graph ties together; see
        :func:`~diverset.structured.junction_tree`.

    Notes
    -----
    Immutable. The dual kernel is computed on first use, in :math:`O(R(|E|D + MD^2))` for R factors with
    :math:`|E|` allowed entries; questions about k structures then cost :math:`O(kRD + kD^2)`.

    C is a sum over structures of all qualities, so eigenvalues below a few rounding units of its trace count as zero.
    If the graph has one part, small ones are relatively accurate whatever the range of qualities. They are also
    accurate if coordinates of the features differ in scale and are nonnegative or all on one factor.

    Examples
    --------
    Paths of three steps over four places, moving by at most one place, in sets of about two.

    >>> import numpy as np, diverset as dv
    >>> graph = dv.FactorGraph([4, 4, 4])
    >>> for r in range(3):
    ...     graph.add_factor([r], features=np.eye(4))
    >>> for r in range(2):
    ...     graph.add_factor([r, r + 1], quality=np.abs(np.subtract.outer(range(4), range(4))) <= 1)
    >>> paths = dv.StructuredDPP(graph).rescale(2.0)
    >>> round(paths.expected_size, 12), paths.size_distribution.round(3)
    (2.0, array([0.052, 0.25 , 0.396, 0.248, 0.053]))
    >>> round(paths.inclusion_probability([0, 1, 1]), 4)
    0.0655
    >>> paths.part_marginals()[0].round(3)
    array([0.428, 0.572, 0.572, 0.428])
    """

    def __init__(
        self,
        graph: FactorGraph,
        *,
        projection: int | None = None,
        rng: RNGLike = None,
        max_states: int = 10_000_000,
    ) -> None:
        if not isinstance(graph, FactorGraph):
            raise DiversetError(f"graph is a {type(graph).__name__}; build a FactorGraph and add its factors")
        if graph.n_features == 0:
            raise KernelError("no factor of the graph has features; without them no two structures differ")
        held = graph.copy() if projection is None else graph.project(projection, rng=rng)
        excluded = np.zeros((0, graph.n_parts), dtype=np.int64)
        self._set(StructureSpace(held, max_states=max_states), 0.0, None, excluded)

    def _set(
        self, space: StructureSpace, log_factor: float, basis: FloatArray | None, excluded: IntArray
    ) -> StructuredDPP:
        """Set the fields: `basis` spans the features left by conditioning, None for all; L is times exp(log_factor)."""
        self._space, self._log_factor, self._basis, self._excluded = space, log_factor, basis, excluded
        return self

    def _with(self, **changes: Any) -> StructuredDPP:
        fields: dict[str, Any] = {
            "space": self._space,
            "log_factor": self._log_factor,
            "basis": self._basis,
            "excluded": self._excluded,
        } | changes
        return StructuredDPP.__new__(StructuredDPP)._set(**fields)

    def __repr__(self) -> str:
        return f"StructuredDPP({self._space.graph!r})"

    # the dual kernel -------------------------------------------------------------------------------------

    def _features(self, rows: IntArray) -> FloatArray:
        phi = self._space.graph.features(rows)
        return phi if self._basis is None else phi @ self._basis

    @cached_property
    def _scaled_kernel(self) -> FloatArray:
        """Dual kernel divided by Z exp(log_factor)."""
        C = self._space.moment
        if len(self._excluded):
            rows = self._space.graph.features(self._excluded)
            weights = np.exp(2.0 * self._space.graph.log_quality(self._excluded) - self._space.log_Z)
            C = C - rows.T @ (weights[:, None] * rows)
        return C if self._basis is None else self._basis.T @ C @ self._basis

    @property
    def dual_kernel(self) -> FloatArray:
        r"""Dual kernel :math:`C = \sum_y q^2(y)\phi(y)\phi(y)^\top`, of shape (D, D).

        After conditioning on structures that appear it is in coordinates of the features that are left.
        """
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            C = np.exp(self._space.log_Z + self._log_factor) * self._scaled_kernel
        if not np.isfinite(C).all() or (not C.any() and self._scaled_kernel.any()):
            raise KernelError(
                f"the dual kernel is of the order of exp({self._space.log_Z + self._log_factor:.0f}), outside the "
                "range of floating-point numbers; rescale(expected_size) gives a model with a moderate one, and all "
                "other methods work without it"
            )
        return np.array(C)

    @cached_property
    def _eigen(self) -> tuple[Spectrum, FloatArray]:
        values, vectors, floor = self._eigenpairs()
        log_scale = self._space.log_Z + self._log_factor
        spectrum = Spectrum.from_likelihood(values, floor).shifted(log_scale)
        V = vectors / np.sqrt(values[len(values) - vectors.shape[1] :])
        return spectrum, V if self._basis is None else self._basis @ V

    def _eigenpairs(self) -> tuple[FloatArray, FloatArray, float]:
        """Eigenvalues of C in units of Z, ascending; the vectors of those above a floor; that floor."""
        graph = self._space.graph
        if graph.n_parts == 1:
            # The structures can be listed; their rows keep digits that C loses if qualities differ in scale.
            values = np.zeros(self._scaled_kernel.shape[0])
            sigma, vectors = graded_right_vectors(self._rows())
            squares = sigma**2
            values[len(values) - len(sigma) :] = squares
            return values, vectors[:, squares > 0.0], 0.0
        C = self._scaled_kernel
        C = (C + C.T) / 2.0
        if is_graded(np.diagonal(C)) and self._sums_positive_terms():
            values, vectors = eigh_graded(C, EPS * np.diagonal(C))
            return values, vectors, 0.0
        values, vectors = np.linalg.eigh(C)
        floor = 4.0 * max(len(C), 8) * EPS * float(np.trace(self._space.moment))
        return values, vectors[:, values > floor], floor

    def _rows(self) -> FloatArray:
        """Features of all values of the only part, times their qualities, in units of the root of Z."""
        graph = self._space.graph
        Y = np.arange(graph.n_values[0])[:, None]
        whole, phi = graph.features(Y), self._features(Y)
        # Rows in the span of the included structures have only rounding errors left.
        gone = row_norms_squared(phi) <= (64.0 * EPS) ** 2 * row_norms_squared(whole)
        with np.errstate(under="ignore"):
            q = np.exp(graph.log_quality(Y) - 0.5 * self._space.log_Z)
        q[gone | self._is_excluded(Y)] = 0.0
        return np.asarray(q[:, None] * phi, dtype=np.float64)

    def _sums_positive_terms(self) -> bool:
        """Whether entries of C are sums without cancellation, so that small ones are relatively accurate."""
        if self._basis is not None or len(self._excluded):
            return False
        held = [f.potential.features for f in self._space.graph.factors if f.potential.features is not None]
        return len(held) == 1 or all(float(f.min(initial=0.0)) >= 0.0 for f in held)

    @property
    def _spectrum(self) -> Spectrum:
        return self._eigen[0]

    @property
    def _vectors(self) -> FloatArray:
        return self._eigen[1]

    def _weights(self) -> FloatArray:
        return np.asarray(expit(self._spectrum.support))

    def _law(self) -> EigenvectorLaw:
        return EigenvectorLaw.of(self._spectrum.support)

    @property
    def eigenvalues(self) -> FloatArray:
        """The D eigenvalues of C, ascending: those of L that can be nonzero."""
        return self._spectrum.likelihood

    @property
    def rank(self) -> int:
        """Number of nonzero eigenvalues, the largest size of a draw."""
        return self._spectrum.rank

    @property
    def log_normalizer(self) -> float:
        r""":math:`\log\det(L + I) = \log\det(C + I)`."""
        return self._spectrum.log_normalizer

    @property
    def expected_size(self) -> float:
        """Mean number of structures in a draw."""
        return self._spectrum.mean_size

    @property
    def size_variance(self) -> float:
        """Variance of the number of structures in a draw."""
        return self._spectrum.size_variance

    @property
    def size_distribution(self) -> FloatArray:
        """Probability of every size 0..rank."""
        return poisson_binomial.pmf(self._spectrum.log_odds)

    # probabilities ---------------------------------------------------------------------------------------

    def _log_det(self, rows: IntArray) -> float:
        """Logarithm of det L_Y, in units of exp(log_factor) per structure."""
        if len(rows) == 0:
            return 0.0
        log_q = self._space.graph.log_quality(rows)
        if (log_q == -np.inf).any() or self._is_excluded(rows).any():
            return -math.inf
        phi = self._features(rows)
        # Features are sums over the factors, and after conditioning differences of such sums.
        whole = np.sqrt(row_norms_squared(self._space.graph.features(rows)))
        noise = 4.0 * EPS * len(self._space.graph.factors) * whole
        return log_det_gram(phi, noise) + 2.0 * float(log_q.sum())

    def log_prob(self, Y: Any) -> float:
        """Log-probability that the random set is exactly `Y`; ``-inf`` where it is impossible.

        Parameters
        ----------
        Y : array_like of int, of shape (k, n_parts)
            One structure per row, in any order; ``[]`` is the empty set.
        """
        rows = self._structures(Y)
        log_det = self._log_det(rows)
        return min(log_det + len(rows) * self._log_factor - self.log_normalizer, 0.0)

    def log_marginal(self, A: Any) -> float:
        r"""Logarithm of :meth:`marginal`."""
        rows = self._structures(A)
        if len(rows) == 0:
            return 0.0
        log_q = self._space.graph.log_quality(rows)
        if (log_q == -np.inf).any() or self._is_excluded(rows).any():
            return -math.inf
        phi = self._space.graph.features(rows)
        x = phi @ self._vectors * np.sqrt(self._weights())
        noise = 4.0 * EPS * len(self._space.graph.factors) * np.sqrt(row_norms_squared(x))
        log_det = log_det_gram(x, noise) + float((2.0 * log_q - self._space.log_Z).sum())
        return min(log_det, 0.0)

    def marginal(self, A: Any) -> float:
        r"""Probability that all structures of `A` appear, :math:`\det K_A`: one, a pair, or more."""
        return math.exp(self.log_marginal(A))

    def pair_probability(self, y: Any, z: Any) -> float:
        """Probability that two structures appear together."""
        return self.marginal([np.asarray(y), np.asarray(z)])

    def listed(self, max_structures: int = 5_000) -> tuple[DPP, IntArray]:
        """The same law as a plain DPP, and the structures of its items; for small spaces only.

        Parameters
        ----------
        max_structures : int
            Most structures to list.
        """
        total = math.prod(self._space.graph.n_values)
        if total > check_count(max_structures, name="max_structures"):
            raise TooLargeError(
                f"there are {total:,} structures; at most max_structures = {max_structures:,} are listed"
            )
        Y = np.stack([i.ravel() for i in np.indices(self._space.graph.n_values)], axis=1)
        log_q = np.where(self._is_excluded(Y), -np.inf, self._space.graph.log_quality(Y) + 0.5 * self._log_factor)
        return DPP.from_features(self._features(Y), quality=np.exp(log_q)), Y

    # new models from this one ----------------------------------------------------------------------------

    def condition(
        self, include: Any = (), exclude: Any = (), *, parts: Mapping[int | str, Any] | None = None
    ) -> StructuredDPP:
        r"""The law of the other structures, given included and excluded structures and values of parts.

        Parameters
        ----------
        include, exclude : array_like of int, of shape (n, n_parts)
            Structures that appear, and that do not. The result is about the structures beside `include`.
        parts : dict, optional
            Values that *every* structure of the set gives to some parts: ``{3: 7}``, or several, ``{3: [7, 8]}``; parts
            and values by number or name. No structure with another value appears.

        Notes
        -----
        Structures that appear take their directions out of the features, :math:`\phi \to N^\top\phi` with N
        orthogonal to theirs; excluded ones are subtracted from C, and their proposals are rejected by samplers; values
        of parts restrict the graph. Each is exact, and new messages are passed only for `parts`.

        Raises
        ------
        ImpossibleEventError
            If the event has probability zero.
        """
        inside, outside = self._structures(include, "include"), self._structures(exclude, "exclude")
        both = {tuple(row) for row in inside.tolist()} & {tuple(row) for row in outside.tolist()}
        if both:
            raise LabelError(f"structure {list(both.pop())} is in both include and exclude")
        model = self
        if parts is not None:
            restricted = StructureSpace(self._space.graph.restrict(parts), max_states=self._space.max_states)
            # An excluded structure that the restriction forbids is not in the sum, so it must not be subtracted.
            kept = restricted.graph.log_quality(self._excluded) > -np.inf
            model = self._with(space=restricted, excluded=self._excluded[kept])
        fresh = outside[(model._space.graph.log_quality(outside) > -np.inf) & ~model._is_excluded(outside)]
        model = model._with(excluded=np.concatenate([model._excluded, fresh]))
        if len(inside) == 0:
            return model
        if model._log_det(inside) == -math.inf:
            raise ImpossibleEventError(f"cannot condition on including {inside.tolist()}: its probability is 0")
        N = null_basis(model._features(inside))
        return model._with(basis=N if model._basis is None else model._basis @ N)

    def rescale(self, expected_size: SupportsFloat) -> StructuredDPP:
        r"""The model with L multiplied by the number that gives draws this expected size, below the rank.

        The laws of fixed size (``of_size``) stay the same.
        """
        target = check_positive(expected_size, name="expected_size")
        if not target < self.rank:
            raise SizeError(f"expected_size is {target:g}; it must be below the rank, {self.rank}")
        # Relative to the largest eigenvalue, whose logarithm may be in the millions for long chains.
        support = self._spectrum.support
        log_factor = symmetric.tilt(support - support[-1], target) - support[-1]
        return self._with(log_factor=self._log_factor + float(log_factor))

    def scale_quality(self, log_gamma: SupportsFloat) -> StructuredDPP:
        r"""The model with the quality of every structure multiplied by :math:`\gamma`, given by its logarithm.

        L is multiplied by :math:`\gamma^2`; messages are shared. ``rescale`` gives draws of different models the same
        expected size; one :math:`\gamma` for all lets the qualities determine the sizes.
        """
        given = float(log_gamma)
        if not math.isfinite(given):
            raise DiversetError(f"log_gamma is {given}; it must be finite")
        return self._with(log_factor=self._log_factor + 2.0 * given)

    def of_size(self, k: int) -> StructuredKDPP:
        """The k-DPP over structures: this model conditioned on drawing exactly `k`."""
        from diverset.structured.ksdpp import StructuredKDPP

        return StructuredKDPP(self, k)

    def best(self, k: int | None = None, *, n_starts: int = 16, rng: RNGLike = None) -> BestSet:
        """A set of high probability, grown greedily; see :func:`diverset.structured.best_set`."""
        from diverset.structured.best import best_set

        return best_set(self, k, n_starts=n_starts, rng=rng)
