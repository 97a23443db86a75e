"""The distributions (DPP, KDPP, SizedDPP, KDPPMixture, NonsymmetricDPP) and their entropy and distances."""

from typing import TYPE_CHECKING

from diverset._on_use import names_on_use

if TYPE_CHECKING:
    from diverset.core.distribution import SetDistribution
    from diverset.core.dpp import DPP
    from diverset.core.extended import extended_dpp
    from diverset.core.information import Estimate, entropy, hellinger, kl_divergence, l1_distance, law, total_variation
    from diverset.core.kdpp import KDPP
    from diverset.core.kronecker import kronecker_dpp
    from diverset.core.mixture import KDPPMixture
    from diverset.core.nonsymmetric import NonsymmetricDPP
    from diverset.core.sized import SizedDPP
else:
    __getattr__, __dir__ = names_on_use(
        __name__,
        {
            "distribution": ["SetDistribution"],
            "dpp": ["DPP"],
            "extended": ["extended_dpp"],
            "information": [
                "Estimate",
                "entropy",
                "hellinger",
                "kl_divergence",
                "l1_distance",
                "law",
                "total_variation",
            ],
            "kdpp": ["KDPP"],
            "kronecker": ["kronecker_dpp"],
            "mixture": ["KDPPMixture"],
            "nonsymmetric": ["NonsymmetricDPP"],
            "sized": ["SizedDPP"],
        },
    )

__all__ = [
    "DPP",
    "KDPP",
    "Estimate",
    "KDPPMixture",
    "NonsymmetricDPP",
    "SetDistribution",
    "SizedDPP",
    "entropy",
    "extended_dpp",
    "hellinger",
    "kl_divergence",
    "kronecker_dpp",
    "l1_distance",
    "law",
    "total_variation",
]
