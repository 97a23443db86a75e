r"""The quality model alone: structures without repulsion, as a baseline and for the best structures.

:math:`\Pr(y) \propto q(y)^{power}` is a Markov random field. Drawing from it independently, or listing its best
structures, is the usual way to get several structures without a model of sets.
"""

from __future__ import annotations

import heapq
import math
from functools import cached_property
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.numerics.validation import as_generator, check_positive, check_size
from diverset.structured.graph import FactorGraph
from diverset.structured.messages import Messages, check_possible, pass_both_ways, pass_up
from diverset.structured.model import StructureSpace
from diverset.structured.semirings import MaxProduct, SumProduct
from diverset.structured.tree import FactorTree, PairNode
from diverset.structured.walk import WalkPlan, draw_structures

__all__ = ["QualityModel"]


class QualityModel:
    r"""Distribution of one structure, proportional to a power of its quality.

    .. math::  \Pr(y) \propto q(y)^{power}.

    Parameters
    ----------
    graph : FactorGraph
        Its features are ignored.
    power : float
        1 by default; 2 is the law used in message passing for a structured DPP.
    max_states : int
        As for :class:`~diverset.StructuredDPP`.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> from diverset.structured import QualityModel
    >>> graph = dv.FactorGraph([2, 2])
    >>> graph.add_factor([0, 1], quality=[[4.0, 3.0], [0.0, 1.0]])
    >>> model = QualityModel(graph)
    >>> model.n_best(2).tolist(), np.exp(model.log_prob([[0, 0]]))
    ([[0, 0], [0, 1]], array([0.5]))
    """

    def __init__(self, graph: FactorGraph, power: float = 1.0, *, max_states: int = 10_000_000) -> None:
        self._space = StructureSpace(graph.copy(), check_positive(power, name="power"), max_states)

    def __repr__(self) -> str:
        return f"QualityModel({self._space.graph!r}, power={self._space.power:g})"

    @cached_property
    def log_normalizer(self) -> float:
        r""":math:`\log \sum_y q(y)^{power}`."""
        up = pass_up(self._space.tree, SumProduct())
        check_possible(up)
        return up.log_scale + math.log(up.total[0, 0])

    def log_prob(self, structures: Any) -> FloatArray:
        """Log-probability of each structure, of shape (n,)."""
        return np.asarray(self._space.power * self._space.graph.log_quality(structures) - self.log_normalizer)

    def part_marginals(self) -> list[FloatArray]:
        """Probability of each value of each part."""
        beliefs = pass_both_ways(self._space.tree, SumProduct())
        check_possible(beliefs.up)
        sums = [beliefs.belief(r)[:, 0] for r in range(len(self._space.tree.n_values))]
        sums = [b / b.sum() for b in sums]
        return [self._space.part_sums(r, sums) for r in range(self._space.graph.n_parts)]

    def sample(self, size: int = 1, *, rng: RNGLike = None) -> IntArray:
        """Independent structures, possibly alike, of shape (size, n_parts), in the order drawn."""
        tree = self._space.tree
        plan = WalkPlan.of(tree, np.zeros((tree.n_features, 1)))
        check_possible(plan.messages)
        n = np.zeros(check_size(size, name="size"), dtype=np.int64)
        # The constant function 1, whose square does not change the law.
        return self._space.decode(draw_structures(plan, n, as_generator(rng), constant=1.0))

    def best(self) -> IntArray:
        """The best structure, of shape (n_parts,)."""
        return np.asarray(self.n_best(1)[0])

    def n_best(self, n: int) -> IntArray:
        r"""The n best structures, best first; fewer where fewer are allowed.

        Notes
        -----
        Max-product messages give, for every choice at a factor, the loss of the best structure with that choice against
        the best structure of all, and these losses add up along the tree. A heap lists structures in the order of their
        total loss: the successors of a structure deviate at one more, later factor ([Lawler1972]_). One pass of
        messages, then O(R) candidates for each structure listed.
        """
        count = check_size(n, name="n")
        up = pass_up(self._space.tree, MaxProduct())
        check_possible(up)
        listing = _Listing(self._space.tree, up, max(count, 1))
        found = listing.first(count)
        if not found:
            return np.zeros((0, self._space.graph.n_parts), dtype=np.int64)
        return self._space.decode(np.array(found, dtype=np.int64).reshape(len(found), -1))


class _Listing:
    """Structures of a tree in descending order of their weight.

    Steps of the walk: the root is step 0, factor i step i + 1; each picks an option among the `limit` best.
    """

    def __init__(self, tree: FactorTree, up: Messages, limit: int) -> None:
        self.tree, self.up, self.limit = tree, up, limit
        self._options: dict[tuple[int, int], tuple[FloatArray, list[tuple[int, ...]]]] = {}

    def options(self, step: int, values: list[int]) -> tuple[FloatArray, list[tuple[int, ...]]]:
        """Shortfalls, ascending, of the options of a step, and the values they give to its parts."""
        parent = values[self.tree.nodes[step - 1].parent] if step else 0
        key = step, parent
        if key not in self._options:
            weights, choices = self._weigh(step, parent)
            order = np.argsort(-weights, kind="stable")[: self.limit]
            order = order[weights[order] > 0.0]
            shortfall = -np.log(weights[order] / weights[order[0]])
            self._options[key] = shortfall, [tuple(int(c[j]) for c in choices) for j in order]
        return self._options[key]

    def _weigh(self, step: int, parent: int) -> tuple[FloatArray, tuple[IntArray, ...]]:
        if step == 0:
            weights = self.up.parts[self.tree.root][:, 0]
            return weights, (np.arange(len(weights)),)
        node = self.tree.nodes[step - 1]
        if isinstance(node, PairNode):
            rows = node.operator.rows(np.array([parent]))
            weights = rows.weights
            choices: tuple[IntArray, ...] = (rows.columns,)
        else:
            here = slice(node.offsets[parent], node.offsets[parent + 1])
            weights, choices = node.weights[here], tuple(v[here] for v in node.at_children)
        for child, v in zip(node.children, choices, strict=True):
            weights = weights * self.up.parts[child][v, 0]
        return weights, choices

    def _complete(self, values: list[int], step: int, rank: int) -> list[int]:
        """Values with option `rank` at this step and the best one at all later steps."""
        values = list(values)
        for s in range(step, len(self.tree.nodes) + 1):
            chosen = self.options(s, values)[1][rank if s == step else 0]
            parts = (self.tree.root,) if s == 0 else self.tree.nodes[s - 1].children
            for r, v in zip(parts, chosen, strict=True):
                values[r] = v
        return values

    def first(self, n: int) -> list[list[int]]:
        """The n best."""
        start = self._complete([0] * len(self.tree.n_values), 0, 0)
        heap: list[tuple[float, int, list[int], int, int]] = [(0.0, 0, start, 0, 0)]
        found: list[list[int]] = []
        pushed = 0
        while heap and len(found) < n:
            cost, _, values, step, rank = heapq.heappop(heap)
            found.append(values)
            for s in range(step, len(self.tree.nodes) + 1):
                shortfall, _ = self.options(s, values)
                now = rank if s == step else 0
                if now + 1 < len(shortfall):
                    pushed += 1
                    worse = cost + float(shortfall[now + 1] - shortfall[now])
                    heapq.heappush(heap, (worse, pushed, self._complete(values, s, now + 1), s, now + 1))
        return found
