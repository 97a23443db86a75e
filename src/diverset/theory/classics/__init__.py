r"""Determinantal processes of classical mathematics ([KuleszaTaskar2012]_, section 2.1.1).

Each process comes in two forms: an exact sampler of the random object itself, which uses no kernel, and a DPP given by
its kernel, which uses no object.

===================================  ======================================  ==================================
:class:`Descents`                    descents of a random sequence           one-dependent, not symmetric
:class:`Carries`                     carries when random digits are added    the same
:class:`NonIntersectingWalks`        positions of non-intersecting walks     Karlin-McGregor, Eynard-Mehta
:class:`SpanningTrees`               edges of a random spanning tree         transfer currents, a projection
:class:`AztecDiamond`                particles of a random domino tiling     inverse Kasteleyn; Krawtchouk
:class:`PoissonizedPlancherel`       rows of a random partition              discrete Bessel
:class:`Ginibre`                     eigenvalues, in the plane               projection, powers of z
:class:`GUE`                         eigenvalues, on the line                projection, Hermite functions
:class:`CUE`                         eigenvalues, on the circle              projection, Fourier modes
:class:`MultivariateJacobi`          points in a cube, for integration       projection, Jacobi polynomials
===================================  ======================================  ==================================

The first six are finite: ``sample`` draws the object and derives the set, and ``dpp`` is a :class:`~diverset.DPP` or
:class:`~diverset.NonsymmetricDPP` with the same labels. Eigenvalues are points of a continuous space:
``sample_eigenvalues`` draws matrices, and ``sample`` uses the kernel. :class:`BetaHermite`, :class:`BetaLaguerre` and
:class:`BetaJacobi` draw eigenvalues with any power of their distances, from tridiagonal matrices.

>>> from diverset.theory import classics
>>> falls = classics.Descents(8, values=10)
>>> falls.sample(rng=0), falls.dpp.sample(rng=0)
(array([0, 1, 5]), array([1, 2, 3, 6]))
"""

from diverset.theory.classics.aztec import AztecDiamond, Tiling, krawtchouk_dpp
from diverset.theory.classics.base import Classic, ProjectionProcess
from diverset.theory.classics.jacobi import MultivariateJacobi
from diverset.theory.classics.matrices import CUE, GUE, BetaEnsemble, BetaHermite, BetaJacobi, BetaLaguerre, Ginibre
from diverset.theory.classics.sequences import Carries, Descents, PoissonizedPlancherel, one_dependent_kernel, rsk_shape
from diverset.theory.classics.trees import SpanningTrees
from diverset.theory.classics.walks import NonIntersectingWalks

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
