r"""Point processes to compare with DPPs ([KuleszaTaskar2012]_, section 2.5).

In a :class:`Box`, with edges or closed to a torus: Poisson points, Matérn's three thinned processes, random sequential
adsorption, Gibbs processes, Halton and Sobol points, and DPPs in continuous space (:class:`ContinuousDPP`). On finite
ground sets: Gibbs processes, and sets weighted by permanents, immanants, :math:`\alpha`-determinants and
hyperdeterminants. Summary statistics compare them.

Only the DPP has a normaliser, marginals and exact draws at polynomial cost. The other processes are drawn by a direct
construction or a Markov chain, or, for a few items, by listing every subset (:class:`TabulatedProcess`).
"""

from diverset.theory.processes.birth_death import PatternChain, birth_death_chain
from diverset.theory.processes.continuous import ContinuousDPP
from diverset.theory.processes.finite import (
    AlphaPermanental,
    TabulatedProcess,
    alpha_determinantal,
    hyperdeterminantal,
    immanantal,
    permanental,
)
from diverset.theory.processes.gibbs import FiniteGibbs, GibbsProcess
from diverset.theory.processes.immanants import (
    alpha_determinant,
    character,
    class_size,
    hyperdeterminant,
    immanant,
    partitions,
    permanent,
)
from diverset.theory.processes.interactions import (
    AreaInteraction,
    Interaction,
    LinearCore,
    PairInteraction,
    SoftCore,
    Strauss,
    VerySoftCore,
)
from diverset.theory.processes.poisson import (
    adsorption,
    matern_intensity,
    matern_pair_correlation,
    matern_process,
    matern_survivors,
    poisson,
)
from diverset.theory.processes.pseudolikelihood import GibbsFit, fit_finite_gibbs, fit_gibbs
from diverset.theory.processes.quasirandom import (
    IntegrationErrors,
    discrepancy,
    halton,
    integration_errors,
    sobol,
    star_discrepancy,
)
from diverset.theory.processes.window import Box, nearest_neighbour_g, pair_correlation, ripley_k, ripley_l

__all__ = [
    "AlphaPermanental",
    "AreaInteraction",
    "Box",
    "ContinuousDPP",
    "FiniteGibbs",
    "GibbsFit",
    "GibbsProcess",
    "IntegrationErrors",
    "Interaction",
    "LinearCore",
    "PairInteraction",
    "PatternChain",
    "SoftCore",
    "Strauss",
    "TabulatedProcess",
    "VerySoftCore",
    "adsorption",
    "alpha_determinant",
    "alpha_determinantal",
    "birth_death_chain",
    "character",
    "class_size",
    "discrepancy",
    "fit_finite_gibbs",
    "fit_gibbs",
    "halton",
    "hyperdeterminant",
    "hyperdeterminantal",
    "immanant",
    "immanantal",
    "integration_errors",
    "matern_intensity",
    "matern_pair_correlation",
    "matern_process",
    "matern_survivors",
    "nearest_neighbour_g",
    "pair_correlation",
    "partitions",
    "permanent",
    "permanental",
    "poisson",
    "ripley_k",
    "ripley_l",
    "sobol",
    "star_discrepancy",
]
