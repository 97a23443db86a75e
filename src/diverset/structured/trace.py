r"""How a set of structures comes about: part marginals before every pick ([KuleszaTaskar2012]_, figure 22)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.structured.model import StructuredModel
from diverset.structured.sets import SetSampler

__all__ = ["StructureTrace", "structure_trace"]


@dataclass(frozen=True, eq=False)
class StructureTrace:
    """One draw, step by step.

    Parameters
    ----------
    structures : ndarray of shape (m, n_parts)
        In the order they were drawn.
    marginals : list of list of ndarray of shape (M_r,)
        Entry t is about the moment before structure t is drawn: for each part, the expected number of structures still
        to come that give it each value. They sum to m - t.
    """

    structures: IntArray
    marginals: list[list[FloatArray]]

    def __len__(self) -> int:
        return len(self.structures)


def structure_trace(model: StructuredModel, rng: RNGLike = None) -> StructureTrace:
    r"""Draw one set by Algorithm 11 and keep the part marginals before every pick.

    .. math::  \mu_r(\hat y) = \sum_{y:\, y_r = \hat y} q^2(y) \sum_{v \in V} (v^\top \phi(y))^2

    over the vectors V of the span that is left; divided by :math:`|V|` it is the law of that part of the next one.

    Parameters
    ----------
    model : StructuredDPP or StructuredKDPP
        What to draw from.
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
    generator = np.random.default_rng(rng)
    law = model._law()
    sampler = SetSampler(model._space, law, model._vectors, model._excluded)
    structures, marginals = [], []
    for V, y in sampler.steps(law.draw(generator), generator):
        structures.append(y)
        marginals.append(model._part_sums(V))
    rows = np.array(structures, dtype=np.int64).reshape(len(structures), model._space.graph.n_parts)
    return StructureTrace(rows, marginals)
