"""The structures of a factor graph: its tree, what its parts stand for, and the second moment of its features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.core.cache import Model, cached_property
from diverset.structured.dual_kernel import dual_kernel
from diverset.structured.graph import FactorGraph
from diverset.structured.junction import JunctionTree, junction_tree
from diverset.structured.tree import FactorTree, tree_of

__all__ = ["StructureSpace"]


@dataclass(frozen=True, eq=False)
class StructureSpace(Model):
    """What all models over the structures of one graph share; everything is computed once, on first use.

    Parameters
    ----------
    graph : FactorGraph
        As the user knows it; not changed any more.
    power : float
        Weights are qualities to this power.
    max_states : int
        Most joint values that parts joined by a cycle may have.
    """

    graph: FactorGraph
    power: float = 2.0
    max_states: int = 10_000_000

    @cached_property
    def _joined(self) -> JunctionTree | None:
        return None if self.graph.is_forest else junction_tree(self.graph, max_states=self.max_states)

    @cached_property
    def tree(self) -> FactorTree:
        """The rooted tree that messages pass over."""
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
        """For each value of part r, the sum over the structures that take it, from sums for the parts of the tree."""
        if self._joined is None:
            return beliefs[r]
        return self._joined.part_sums(r, beliefs)
