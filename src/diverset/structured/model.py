r"""What a structured DPP and its k-DPPs share: a law over sets of structures, given by eigenvectors and their weights.

Both draw a random set J of eigenvectors of the dual kernel and then |J| structures, so that with
:math:`w_n = \Pr(n \in J)` a structure appears with probability

.. math::  \Pr(y \in Y) = q^2(y) \sum_n \frac{w_n}{\lambda_n} (\hat v_n^\top \phi(y))^2,

and sums of this over all structures with a given value of a part are second-order sums again
([KuleszaTaskar2012]_, section 6.3.1).
"""

from __future__ import annotations

import abc
from typing import Any, overload

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.core.cache import Model
from diverset.core.spectrum import Spectrum
from diverset.errors import LabelError
from diverset.numerics.validation import check_size
from diverset.sampling.eigenvectors import EigenvectorLaw
from diverset.structured.graph import FactorGraph
from diverset.structured.messages import pass_both_ways
from diverset.structured.semirings import SquaredNorm
from diverset.structured.sets import SetSampler
from diverset.structured.space import StructureSpace

__all__ = ["StructuredModel"]


class StructuredModel(Model, abc.ABC):
    """A random set of structures."""

    _space: StructureSpace
    _excluded: IntArray

    @property
    def graph(self) -> FactorGraph:
        """A copy of the factor graph of the structures, as projected or restricted."""
        return self._space.graph.copy()

    @property
    @abc.abstractmethod
    def _spectrum(self) -> Spectrum:
        """Eigenvalues of L."""

    @property
    @abc.abstractmethod
    def _vectors(self) -> FloatArray:
        """For each nonzero eigenvalue, v with sum of q^2(y)/Z (v^T phi(y))^2 equal to 1; of shape (D, rank)."""

    @abc.abstractmethod
    def _weights(self) -> FloatArray:
        """Probability of each of them to take part in a draw."""

    @abc.abstractmethod
    def _law(self) -> EigenvectorLaw:
        """Law of the set of eigenvectors that take part."""

    def _structures(self, given: Any, name: str = "the set") -> IntArray:
        """Structures as rows, each once."""
        rows = self._space.graph.structures(given)
        distinct, counts = np.unique(rows, axis=0, return_counts=True)
        if len(distinct) < len(rows):
            twice = distinct[counts > 1][0].tolist()
            raise LabelError(f"{name} names structure {twice} more than once; a set holds each structure once")
        return rows

    def _is_excluded(self, rows: IntArray) -> Any:
        hidden = {tuple(row) for row in self._excluded.tolist()}
        return np.array([tuple(row) in hidden for row in rows.tolist()], dtype=bool)

    def _relative_weights(self, rows: IntArray) -> FloatArray:
        """q^2(y)/Z, 0 for excluded structures."""
        log_weight = 2.0 * self._space.graph.log_quality(rows) - self._space.log_Z
        return np.where(self._is_excluded(rows), 0.0, np.exp(log_weight))

    def inclusion_probability(self, structure: Any) -> Any:
        r"""Probability that a structure appears, :math:`K_{yy}`.

        Parameters
        ----------
        structure : array_like of int, of shape (n_parts,) or (n, n_parts)
            One structure, or several.

        Returns
        -------
        float, or ndarray of shape (n,)
        """
        rows = self._space.graph.structures(structure)
        x = self._space.graph.features(rows) @ self._vectors
        p = np.clip(self._relative_weights(rows) * (x * x @ self._weights()), 0.0, 1.0)
        return float(p[0]) if np.ndim(structure) == 1 and len(rows) == 1 else p

    def part_marginals(self) -> list[FloatArray]:
        r"""Expected number of structures in a draw that give each value to each part.

        .. math::  \mu_r(\hat y) = \sum_{y:\, y_r = \hat y} \Pr(y \in Y)

        ([KuleszaTaskar2012]_, section 6.3.1). Each sums to the expected size.

        Returns
        -------
        list of ndarray of shape (M_r,)

        Notes
        -----
        One pass both ways with features turned so that the sum over eigenvectors becomes a squared length:
        :math:`O(R|E|r)` for rank r, where the text has a pass for each eigenvector.
        """
        return self._part_sums(self._vectors * np.sqrt(self._weights()))

    def _part_sums(self, V: FloatArray) -> list[FloatArray]:
        r"""For each value of each part, the sum of :math:`q^2(y)/Z \|V^\top\phi(y)\|^2` over what takes it."""
        tree = self._space.tree.with_features(V)
        beliefs = pass_both_ways(tree, SquaredNorm(V.shape[1]))
        sums = []
        for r in range(len(tree.n_values)):
            x = beliefs.belief(r)
            sums.append(np.maximum(x[:, -1], 0.0) / x[:, 0].sum())
        marginals = [self._padded(r, self._space.part_sums(r, sums)) for r in range(self._space.graph.n_parts)]
        for y, p in zip(self._excluded, self._excluded_mass(V), strict=True):
            for r, mu in enumerate(marginals):
                mu[y[r]] = max(mu[y[r]] - p, 0.0)
        return marginals

    def _padded(self, r: int, mu: FloatArray) -> FloatArray:
        return np.concatenate([mu, np.zeros(self._space.graph.n_values[r] - len(mu))])

    def _excluded_mass(self, V: FloatArray) -> FloatArray:
        """What message passing counts for the excluded structures."""
        x = self._space.graph.features(self._excluded) @ V
        log_weight = 2.0 * self._space.graph.log_quality(self._excluded) - self._space.log_Z
        return np.asarray(np.exp(log_weight) * (x * x).sum(axis=1))

    @overload
    def sample(self, size: None = None, *, rng: RNGLike = None, method: str = "auto") -> IntArray: ...
    @overload
    def sample(self, size: int, *, rng: RNGLike = None, method: str = "auto") -> list[IntArray]: ...
    def sample(
        self, size: int | None = None, *, rng: RNGLike = None, method: str = "auto"
    ) -> IntArray | list[IntArray]:
        """Draw one set of structures, or a list of `size` independent sets.

        Parameters
        ----------
        size : int, optional
            How many sets; a single one, not in a list, by default. Sets of one call share their messages.
        rng : int, Generator or None
            Seed or generator (SPEC 7).
        method : {"auto", "rejection", "walk", "naive"}
            All exact; ``auto`` is ``rejection``. ``walk`` is Algorithm 11 with Algorithm 10 of [KuleszaTaskar2012]_,
            ``naive`` the same with Algorithm 9; see ``diverset.structured.sets``.

        Returns
        -------
        ndarray of int64 of shape (k, n_parts), or list of them
            One structure per row, rows in ascending order.
        """
        count = 1 if size is None else check_size(size, name="size")
        sampler = SetSampler(self._space, self._law(), self._vectors, self._excluded)
        draws = sampler.draw(count, np.random.default_rng(rng), "rejection" if method == "auto" else method)
        return draws[0] if size is None else draws
