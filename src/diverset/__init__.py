"""diverset picks sets: diverse, high in quality, with exact probabilities.

Start with :class:`DPP` (a distribution over subsets) or :class:`KDPP` (over subsets of a fixed size).
``import diverset as dv`` is light: compiled loops, plotting and applications are imported on use.
"""

from diverset import errors, kernels
from diverset.core import (
    DPP,
    KDPP,
    Estimate,
    KDPPMixture,
    SetDistribution,
    SizedDPP,
    entropy,
    hellinger,
    kl_divergence,
    law,
    total_variation,
)
from diverset.inference import Selection, map_greedy

__version__ = "0.1.0"

__all__ = [
    "DPP",
    "KDPP",
    "Estimate",
    "KDPPMixture",
    "Selection",
    "SetDistribution",
    "SizedDPP",
    "__version__",
    "entropy",
    "errors",
    "hellinger",
    "kernels",
    "kl_divergence",
    "law",
    "map_greedy",
    "total_variation",
]
