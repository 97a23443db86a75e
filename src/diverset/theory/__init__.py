"""The mathematics around determinantal point processes, for readers of the monograph.

======================================  =======================================================================
:mod:`~diverset.theory.classics`        exact DPPs of mathematics: spanning trees, Aztec diamonds, random matrices
:mod:`~diverset.theory.processes`       other point processes: Poisson, Gibbs, Matern, permanental, continuous DPPs
:mod:`~diverset.theory.mrf`             Markov random fields, and what they and DPPs can say about three items
:mod:`~diverset.theory.exact_cover`     exact cover as a DPP: why finding the most probable set is hard
:mod:`~diverset.theory.open_questions`  entropy along lines of kernels, power sums of determinants
======================================  =======================================================================

Nothing that picks sets needs this package.
"""

from typing import TYPE_CHECKING

from diverset._on_use import names_on_use

if TYPE_CHECKING:
    from diverset.theory import classics as classics
    from diverset.theory import exact_cover as exact_cover
    from diverset.theory import mrf as mrf
    from diverset.theory import open_questions as open_questions
    from diverset.theory import processes as processes
else:
    __getattr__, __dir__ = names_on_use(
        __name__, {}, submodules=["classics", "exact_cover", "mrf", "open_questions", "processes"]
    )

__all__ = ["classics", "exact_cover", "mrf", "open_questions", "processes"]
