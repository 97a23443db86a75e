r"""Drawing sets of structures ([KuleszaTaskar2012]_, section 6.3.2, Algorithm 11).

Given eigenvectors J of the dual kernel, scaled to vectors v with :math:`\sum_y q^2(y)(v^\top\phi(y))^2 = 1`, structures
are drawn one after the other with probability :math:`\frac1m \sum_v q^2(y)(v^\top\phi(y))^2`, and the span of the m
vectors is then cut down to what is orthogonal to the drawn one. The law of one structure is a uniform mixture over v,
so that one v is drawn and three numbers per value suffice. Three ways, the same law:

``rejection``
    Structures are proposed from the *first* m vectors throughout, and one is kept with probability
    :math:`\|x^\perp\|^2/\|x\|^2`, :math:`x = (v^\top\phi(y))_v` and :math:`x^\perp` its part orthogonal to those kept
    before: :math:`mH_m` proposals are expected. All of them, of all sets of a call, share one pass of messages.
``walk``
    Algorithm 11 with Algorithm 10: a pass of messages for every structure, for one vector of the current span.
``naive``
    Algorithm 11 with Algorithm 9: a pass both ways for every part of every structure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.numerics.linalg import null_basis
from diverset.sampling.eigenvector_law import EigenvectorLaw
from diverset.structured.messages import pass_both_ways
from diverset.structured.semirings import SquaredNorm
from diverset.structured.walk import WalkPlan, draw_structures, pick

if TYPE_CHECKING:
    from diverset.structured.model import StructureSpace

__all__ = ["METHODS", "NaiveWalk", "SetSampler"]

METHODS = ("rejection", "walk", "naive")

#: Largest number of bytes of messages that the draws of one call share.
_SHARED_BYTES = 1 << 29
#: Relative squared residual below which a structure counts as dependent on those kept.
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class NaiveWalk:
    r"""State of Algorithm 9: parts are drawn in their order, each by message passing with those before held fixed.

    The law is that of all columns of V at once, :math:`\frac1m\sum_v q^2(y)(v^\top\phi(y))^2`.
    """

    space: StructureSpace
    V: FloatArray
    fixed: tuple[int, ...] = ()

    @property
    def done(self) -> bool:
        """Whether all parts are drawn."""
        return len(self.fixed) == len(self.space.tree.n_values)

    def weights(self) -> FloatArray:
        """Probability of each value of the next part."""
        tree = self.space.tree.with_features(self.V)
        beliefs = pass_both_ways(tree, SquaredNorm(self.V.shape[1]), fixed=dict(enumerate(self.fixed)))
        mass = np.maximum(beliefs.belief(len(self.fixed))[:, -1], 0.0)
        return np.asarray(mass / mass.sum())

    def pick(self, value: int) -> NaiveWalk:
        """State after this value."""
        return NaiveWalk(self.space, self.V, (*self.fixed, int(value)))


class SetSampler:
    """Draws sets of structures, none of them among `excluded`, (e, n_parts).

    The law says which columns of V, (D, r), take part: eigenvectors scaled as above, of a DPP or k-DPP.
    """

    def __init__(self, space: StructureSpace, law: EigenvectorLaw, V: FloatArray, excluded: IntArray) -> None:
        self.space, self.law, self.V = space, law, V
        self.excluded = {tuple(row) for row in excluded.tolist()}

    def draw(self, size: int, rng: np.random.Generator, method: str) -> list[IntArray]:
        """`size` sets, each an array (k, n_parts) with rows in ascending order."""
        if method == "rejection":
            return self._by_rejection(size, rng)
        if method in ("walk", "naive"):
            n_parts = self.space.graph.n_parts
            return [_sorted([y for _, y in self.steps(self.law.draw(rng), rng, method)], n_parts) for _ in range(size)]
        raise DiversetError(f"method is {method!r}; choose one of auto, {', '.join(METHODS)}")

    # Algorithm 11 ----------------------------------------------------------------------------------------

    def steps(
        self, J: IntArray, rng: np.random.Generator, method: str = "walk"
    ) -> Iterator[tuple[FloatArray, IntArray]]:
        """Algorithm 11: yields the vectors of the span before each structure, (D, m), and the structure."""
        V = self.V[:, J]
        while V.shape[1]:
            y = self._structure(V, rng, method)
            if tuple(y.tolist()) in self.excluded:
                continue
            yield V, y
            x = self.space.graph.features(y)[0] @ V
            V = V @ null_basis(x[None])

    def _structure(self, V: FloatArray, rng: np.random.Generator, method: str) -> IntArray:
        """One structure with probability (1/m) sum over v of its mass."""
        if method == "walk":
            v = int(rng.integers(V.shape[1])) if not self.excluded else self._by_mass(V, rng)
            plan = WalkPlan.of(self.space.tree, V[:, [v]])
            return np.asarray(self.space.decode(draw_structures(plan, np.zeros(1, dtype=np.int64), rng))[0])
        state = NaiveWalk(self.space, V)
        while not state.done:
            weights = state.weights()
            state = state.pick(int(pick(weights, np.array([0, len(weights)]), rng.random(1))[0]))
        return np.asarray(self.space.decode(np.array([state.fixed]))[0])

    def _by_mass(self, V: FloatArray, rng: np.random.Generator) -> int:
        """A column of V with probability proportional to its mass, which differs from 1 after exclusions."""
        mass = np.einsum("in,ij,jn->n", V, self.space.moment, V)
        return int(rng.choice(len(mass), p=mass / mass.sum()))

    # proposals from the first vectors --------------------------------------------------------------------

    def _by_rejection(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        chosen = [self.law.draw(rng) for _ in range(size)]
        draws: list[IntArray] = []
        start = 0
        while start < size:
            # As many sets, at least one, as have messages that fit in memory together.
            columns: IntArray = chosen[start]
            stop = start + 1
            while stop < size and self._fits(len(together := np.union1d(columns, chosen[stop]))):
                columns = together
                stop += 1
            draws += self._propose(chosen[start:stop], columns, rng)
            start = stop
        return draws

    def _fits(self, m: int) -> bool:
        return 8 * (1 + 2 * m) * sum(self.space.tree.n_values) <= _SHARED_BYTES

    def _propose(self, chosen: list[IntArray], columns: IntArray, rng: np.random.Generator) -> list[IntArray]:
        """Sets for these choices of eigenvectors, all among `columns`."""
        if len(columns) == 0:
            return [np.zeros((0, self.space.graph.n_parts), dtype=np.int64) for _ in chosen]
        plan = WalkPlan.of(self.space.tree, self.V[:, columns])
        mass = plan.masses()
        places = [np.searchsorted(columns, J) for J in chosen]
        kept: list[list[IntArray]] = [[] for _ in chosen]
        basis: list[list[FloatArray]] = [[] for _ in chosen]
        active = [s for s, J in enumerate(chosen) if len(J)]
        while active:
            # Half of the expected proposals; those left when the set is full are ignored.
            counts = [_proposals(len(chosen[s]), len(kept[s])) for s in active]
            functions = []
            for s, count in zip(active, counts, strict=True):
                shares = mass[places[s]]
                functions.append(rng.choice(places[s], size=count, p=shares / shares.sum()))
            values = draw_structures(plan, np.concatenate(functions), rng)
            structures = self.space.decode(values)
            X = self.space.graph.features(structures) @ self.V[:, columns]
            uniforms = rng.random(len(X))
            at = 0
            for s, count in zip(active, counts, strict=True):
                for i in range(at, at + count):
                    self._consider(structures[i], X[i, places[s]], uniforms[i], kept[s], basis[s])
                at += count
            active = [s for s in active if len(kept[s]) < len(chosen[s])]
        return [_sorted(k, self.space.graph.n_parts) for k in kept]

    def _consider(
        self, y: IntArray, x: FloatArray, uniform: float, kept: list[IntArray], basis: list[FloatArray]
    ) -> None:
        """Keep a proposal with probability equal to the share of its squared length that is new."""
        if len(kept) == len(x) or tuple(y.tolist()) in self.excluded:
            return
        length = float(x @ x)
        rest = x
        # Twice is enough: once more removes what rounding left of the first pass.
        for _ in range(2):
            for b in basis:
                rest = rest - (b @ rest) * b
        new = float(rest @ rest)
        if new > _SAME * length and uniform * length < new:
            kept.append(y)
            basis.append(rest / math.sqrt(new))


def _proposals(m: int, kept: int) -> int:
    """Half of the expected number of proposals until m structures are kept, given how many are kept now."""
    return math.ceil(0.5 * m * sum(1.0 / j for j in range(1, m - kept + 1)))


def _sorted(rows: list[IntArray], n_parts: int) -> IntArray:
    """Rows in lexicographic order, of shape (len(rows), n_parts)."""
    Y = np.array(rows, dtype=np.int64).reshape(len(rows), n_parts)
    return Y[np.lexsort(Y.T[::-1])]
