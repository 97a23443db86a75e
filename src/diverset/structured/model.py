r"""Models over sets of structures: a law given by eigenvectors of the dual kernel and their weights.

Structured DPPs and k-DPPs draw a random set J of eigenvectors and then |J| structures. With
:math:`w_n = \Pr(n \in J)` a structure appears with probability

.. math::  \Pr(y \in Y) = q^2(y) \sum_n \frac{w_n}{\lambda_n} (\hat v_n^\top \phi(y))^2,

and sums of this over all structures with a given value of a part are second-order sums again
([KuleszaTaskar2012]_, section 6.3.1).
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.core.cache import Model, cached_property
from diverset.core.spectrum import Spectrum
from diverset.errors import LabelError
from diverset.numerics.validation import as_generator, check_size
from diverset.sampling.eigenvector_law import EigenvectorLaw
from diverset.structured.dual_kernel import dual_kernel
from diverset.structured.graph import FactorGraph
from diverset.structured.junction import JunctionTree, junction_tree
from diverset.structured.messages import pass_both_ways
from diverset.structured.semirings import SquaredNorm
from diverset.structured.sets import SetSampler
from diverset.structured.tree import FactorTree, tree_of

__all__ = ["StructureSpace", "StructureTrace", "StructuredModel", "structure_trace"]


@dataclass(frozen=True, eq=False)
class StructureSpace(Model):
    """The structures of a graph, with weights :math:`q^{power}`; the graph must not change any more.

    Models over the same graph share one space; each attribute is computed once, on first use. `max_states` limits the
    number of joint values of parts on a cycle.
    """

    graph: FactorGraph
    power: float = 2.0
    max_states: int = 10_000_000

    @cached_property
    def _joined(self) -> JunctionTree | None:
        return None if self.graph.is_forest else junction_tree(self.graph, max_states=self.max_states)

    @cached_property
    def tree(self) -> FactorTree:
        """The rooted tree for message passing."""
        return tree_of(self.graph if self._joined is None else self._joined.graph, self.power)

    @cached_property
    def _moment(self) -> tuple[FloatArray, float]:
        return dual_kernel(self.tree)

    @property
    def moment(self) -> FloatArray:
        """C/Z: the second moment of the features of one structure."""
        return self._moment[0]

    @property
    def log_Z(self) -> float:
        """Logarithm of the sum of all weights."""
        return self._moment[1]

    def decode(self, values: IntArray) -> IntArray:
        """Structures, (n, n_parts), from the values of all parts of the tree."""
        if self._joined is None:
            return np.ascontiguousarray(values[:, : self.graph.n_parts])
        return self._joined.decode(values)

    def part_sums(self, r: int, beliefs: list[FloatArray]) -> FloatArray:
        """For each value of part r, the sum over structures with it, from sums for the parts of the tree."""
        if self._joined is None:
            return beliefs[r]
        return self._joined.part_sums(r, beliefs)


class StructuredModel(Model, abc.ABC):
    """A random set of structures."""

    _space: StructureSpace
    _excluded: IntArray

    @property
    def graph(self) -> FactorGraph:
        """A copy of the factor graph, after projection and restriction."""
        return self._space.graph.copy()

    @property
    @abc.abstractmethod
    def _spectrum(self) -> Spectrum:
        """Eigenvalues of L."""

    @property
    @abc.abstractmethod
    def _vectors(self) -> FloatArray:
        """For each nonzero eigenvalue, v with sum of q^2(y)/Z (v^T phi(y))^2 = 1; of shape (D, rank)."""

    @abc.abstractmethod
    def _weights(self) -> FloatArray:
        """Probability of each eigenvector to take part in a draw."""

    @abc.abstractmethod
    def _law(self) -> EigenvectorLaw:
        """Law of the set of eigenvectors that take part."""

    def _structures(self, given: Any, name: str = "the set") -> IntArray:
        """Structures as rows, checked; a repeated one raises an error."""
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
        One pass of messages both ways for rank r, :math:`O(R|E|r)`: with features multiplied by the weighted
        eigenvectors, the sum over eigenvectors is a squared length. The monograph makes one pass for each eigenvector.
        """
        return self._part_sums(self._vectors * np.sqrt(self._weights()))

    def _part_sums(self, V: FloatArray) -> list[FloatArray]:
        r"""For each value of each part, the sum of :math:`q^2(y)/Z \|V^\top\phi(y)\|^2` over structures with it."""
        tree = self._space.tree.with_features(V)
        beliefs = pass_both_ways(tree, SquaredNorm(V.shape[1]))
        sums = []
        for r in range(len(tree.n_values)):
            x = beliefs.belief(r)
            sums.append(np.maximum(x[:, -1], 0.0) / x[:, 0].sum())
        graph, marginals = self._space.graph, []
        for r, n in enumerate(graph.n_values):
            mu = self._space.part_sums(r, sums)
            marginals.append(np.concatenate([mu, np.zeros(n - len(mu))]))
        # Message passing counts the excluded structures, too.
        x = graph.features(self._excluded) @ V
        mass = np.exp(2.0 * graph.log_quality(self._excluded) - self._space.log_Z) * (x * x).sum(axis=1)
        for y, p in zip(self._excluded, mass, strict=True):
            for r, mu in enumerate(marginals):
                mu[y[r]] = max(mu[y[r]] - p, 0.0)
        return marginals

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
            Number of sets; by default a single one, not in a list. Sets of one call share their messages.
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
        draws = sampler.draw(count, as_generator(rng), "rejection" if method == "auto" else method)
        return draws[0] if size is None else draws


@dataclass(frozen=True, eq=False)
class StructureTrace:
    """One draw, step by step.

    Parameters
    ----------
    structures : ndarray of shape (m, n_parts)
        In the order in which they were drawn.
    marginals : list of list of ndarray of shape (M_r,)
        Entry t belongs to the step before structure t is drawn: for each part and value, the expected number of
        remaining structures with that value. They sum to m - t.
    """

    structures: IntArray
    marginals: list[list[FloatArray]]

    def __len__(self) -> int:
        return len(self.structures)


def structure_trace(model: StructuredModel, rng: RNGLike = None) -> StructureTrace:
    r"""Draw one set by Algorithm 11 and keep the part marginals before every pick.

    .. math::  \mu_r(\hat y) = \sum_{y:\, y_r = \hat y} q^2(y) \sum_{v \in V} (v^\top \phi(y))^2

    with vectors V that span the remaining space. Divided by :math:`|V|` it is the law of part r of the next structure.

    Parameters
    ----------
    model : StructuredDPP or StructuredKDPP
        The distribution to draw from.
    rng : int, Generator or None
        Seed or generator (SPEC 7).

    Notes
    -----
    A pass of messages both ways for every structure, :math:`O(R|E|m)`.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> graph = dv.FactorGraph([4, 4])
    >>> for r in range(2):
    ...     graph.add_factor([r], features=np.eye(4))
    >>> trace = structure_trace(dv.StructuredDPP(graph).of_size(2), rng=0)
    >>> [float(step[0].sum().round(6)) for step in trace.marginals]
    [2.0, 1.0]
    """
    generator = as_generator(rng)
    law = model._law()
    sampler = SetSampler(model._space, law, model._vectors, model._excluded)
    structures, marginals = [], []
    for V, y in sampler.steps(law.draw(generator), generator):
        structures.append(y)
        marginals.append(model._part_sums(V))
    rows = np.array(structures, dtype=np.int64).reshape(len(structures), model._space.graph.n_parts)
    return StructureTrace(rows, marginals)
