r"""Determinantal processes of classical mathematics ([KuleszaTaskar2012]_, section 2.1.1).

Each process comes in two forms: an exact sampler of the random object itself, which uses no kernel, and a DPP given by
its kernel, which uses no object.

Sets of items: :class:`Descents`, :class:`Carries`, :class:`NonIntersectingWalks`, :class:`SpanningTrees`,
:class:`AztecDiamond` and :class:`PoissonizedPlancherel`. ``sample`` draws the object and derives the set; ``dpp`` is a
:class:`~diverset.DPP` or :class:`~diverset.NonsymmetricDPP` with the same labels. Points of a continuous space:
:class:`Ginibre`, :class:`GUE`, :class:`CUE` and :class:`MultivariateJacobi`. ``sample`` uses the kernel, and
``sample_eigenvalues`` draws random matrices. :class:`BetaHermite`, :class:`BetaLaguerre` and :class:`BetaJacobi` draw
eigenvalues with any power of their distances, from tridiagonal matrices.

>>> from diverset.theory import classics
>>> falls = classics.Descents(8, values=10)
>>> falls.sample(rng=0), falls.dpp.sample(rng=0)
(array([0, 1, 5]), array([1, 2, 3, 6]))
"""

from diverset.theory.classics.base import Classic, ProjectionProcess
from diverset.theory.classics.jacobi import MultivariateJacobi
from diverset.theory.classics.lattices import AztecDiamond, NonIntersectingWalks, Tiling, krawtchouk_dpp
from diverset.theory.classics.matrices import CUE, GUE, BetaEnsemble, BetaHermite, BetaJacobi, BetaLaguerre, Ginibre
from diverset.theory.classics.sequences import Carries, Descents, PoissonizedPlancherel, one_dependent_kernel, rsk_shape
from diverset.theory.classics.trees import SpanningTrees

__all__ = [
    "CUE",
    "GUE",
    "AztecDiamond",
    "BetaEnsemble",
    "BetaHermite",
    "BetaJacobi",
    "BetaLaguerre",
    "Carries",
    "Classic",
    "Descents",
    "Ginibre",
    "MultivariateJacobi",
    "NonIntersectingWalks",
    "PoissonizedPlancherel",
    "ProjectionProcess",
    "SpanningTrees",
    "Tiling",
    "krawtchouk_dpp",
    "one_dependent_kernel",
    "rsk_shape",
]
