"""The distributions: DPP, KDPP, SizedDPP, KDPPMixture, and what can be asked of them."""

from diverset.core.distribution import SetDistribution
from diverset.core.dpp import DPP
from diverset.core.extended import extended_dpp
from diverset.core.information import Estimate, entropy, hellinger, kl_divergence, l1_distance, law, total_variation
from diverset.core.kdpp import KDPP
from diverset.core.kronecker import kronecker_dpp
from diverset.core.mixture import KDPPMixture
from diverset.core.nonsymmetric import NonsymmetricDPP
from diverset.core.sized import SizedDPP

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
