r"""Classics of mathematics that turn out to be determinantal ([KuleszaTaskar2012]_, section 2.1.1).

Each is here twice: as an exact sampler of the object itself, which knows no kernel, and as a DPP with its kernel, which
knows no object.

===================================  ======================================  ==================================
:class:`Descents`                    places where a random sequence falls    one-dependent, not symmetric
:class:`Carries`                     carries in adding up random digits      the same
:class:`NonIntersectingWalks`        places of walks that never meet         Karlin-McGregor, Eynard-Mehta
:class:`SpanningTrees`               edges of a random spanning tree         transfer currents, a projection
:class:`AztecDiamond`                particles of a random domino tiling     inverse Kasteleyn; Krawtchouk
:class:`PoissonizedPlancherel`       rows of a random partition              discrete Bessel
:class:`Ginibre`                     eigenvalues, in the plane               projection, powers of z
:class:`GUE`                         eigenvalues, on the line                projection, Hermite functions
:class:`CUE`                         eigenvalues, on the circle              projection, Fourier modes
:class:`MultivariateJacobi`          points in a cube, for integration       projection, Jacobi polynomials
===================================  ======================================  ==================================

The first six are finite: ``sample`` makes the object and reads the set off it, ``dpp`` is a :class:`~diverset.DPP` or
:class:`~diverset.NonsymmetricDPP` over the same labels. Eigenvalues are points of a continuous space: there
``sample_eigenvalues`` goes by matrices, and ``sample`` by the kernel. :class:`BetaHermite`, :class:`BetaLaguerre` and
:class:`BetaJacobi` draw eigenvalues with any power of their distances, from tridiagonal matrices.

>>> from diverset.theory import classics
>>> falls = classics.Descents(8, values=10)
>>> falls.sample(rng=0), falls.dpp.sample(rng=0)
(array([0, 1, 5]), array([1, 2, 3, 6]))
"""

from diverset.theory.classics.aztec import AztecDiamond, Tiling, krawtchouk_dpp
from diverset.theory.classics.base import Classic
from diverset.theory.classics.beta import BetaEnsemble, BetaHermite, BetaJacobi, BetaLaguerre
from diverset.theory.classics.descents import Carries, Descents, one_dependent_kernel
from diverset.theory.classics.jacobi import MultivariateJacobi
from diverset.theory.classics.matrices import CUE, GUE, Ginibre
from diverset.theory.classics.plancherel import PoissonizedPlancherel, rsk_shape
from diverset.theory.classics.projection import ProjectionProcess
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
