"""Structured DPPs: diverse sets of paths, trees and labelings ([KuleszaTaskar2012]_, section 6).

The ground set is all :math:`M^R` ways to give values to R parts, and is never listed. The model consists of factors
that say how good a structure is (qualities multiply) and what it is like (features add). Everything else is computed
from a D x D matrix and messages between neighbouring parts.

`FactorGraph`
    Parts and factors, as the user gives them; checked, with equal potentials stored once. A builder: models keep
    their own copy.
`StructuredDPP`, `StructuredKDPP`
    The distributions. They hold a space of structures, the directions of features left by conditioning, and a scale;
    conditioning and rescaling change one of these and share the rest, so that messages are passed once.
``tree.FactorTree``
    The graph prepared for message passing: rooted, factors of one part merged into it, components tied to a hub. All
    algorithms work on trees; `junction_tree` turns graphs with cycles into such trees.
``semirings.Semiring``, ``messages.pass_up``, ``messages.pass_both_ways``
    One engine for all sums over structures. Elements are rows of numbers and addition is mostly that of rows, so that
    passing a message through a factor without features is a matrix product, dense, sparse or separable
    (``operators``).
``dual_kernel.dual_kernel``
    C by expected features, without D x D messages.
``walk.draw_structures``, ``sets.SetSampler``
    Draws of one structure (Algorithm 10) and of sets (Algorithm 11, and the same law by rejection, in which all
    proposals share one pass of messages).
`QualityModel`
    Qualities without repulsion: independent draws, best and n-best structures, as baselines.
`best_set`, `diverse_labelings`, `loopy_belief_propagation`
    Heuristics, approximations and applications: a greedy set, diverse n-best lists, beliefs on loopy graphs.
"""

from diverset.structured.best import BestSet, best_set
from diverset.structured.graph import Factor, FactorGraph
from diverset.structured.junction import JunctionTree, junction_tree
from diverset.structured.ksdpp import StructuredKDPP
from diverset.structured.labelings import Labelings, chain_graph, diverse_labelings
from diverset.structured.loopy import LoopyBeliefs, loopy_belief_propagation
from diverset.structured.model import StructureTrace, structure_trace
from diverset.structured.potential import Separable
from diverset.structured.quality_model import QualityModel
from diverset.structured.sdpp import StructuredDPP

__all__ = [
    "BestSet",
    "Factor",
    "FactorGraph",
    "JunctionTree",
    "Labelings",
    "LoopyBeliefs",
    "QualityModel",
    "Separable",
    "StructureTrace",
    "StructuredDPP",
    "StructuredKDPP",
    "best_set",
    "chain_graph",
    "diverse_labelings",
    "junction_tree",
    "loopy_belief_propagation",
    "structure_trace",
]
