"""The distributions: DPP, KDPP, SizedDPP, KDPPMixture, and what can be asked of them."""

from typing import TYPE_CHECKING

from diverset._on_use import names_on_use

if TYPE_CHECKING:
    from diverset.core.distribution import SetDistribution
    from diverset.core.dpp import DPP
    from diverset.core.information import Estimate, entropy, hellinger, kl_divergence, l1_distance, law, total_variation
    from diverset.core.kdpp import KDPP
    from diverset.core.mixture import KDPPMixture
    from diverset.core.nonsymmetric import NonsymmetricDPP
    from diverset.core.sized import SizedDPP
else:
    __getattr__, __dir__ = names_on_use(
        __name__,
        {
            "distribution": ["SetDistribution"],
            "dpp": ["DPP"],
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
    "hellinger",
    "kl_divergence",
    "l1_distance",
    "law",
    "total_variation",
]
