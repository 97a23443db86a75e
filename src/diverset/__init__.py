"""diverset picks sets: diverse, high in quality, with exact probabilities.

Start with :class:`DPP` (a distribution over subsets) or :class:`KDPP` (over subsets of a fixed size).
``import diverset as dv`` is light: compiled loops, plotting and applications are imported on use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from diverset import errors, kernels
from diverset.core import (
    DPP,
    KDPP,
    Estimate,
    KDPPMixture,
    NonsymmetricDPP,
    SetDistribution,
    SizedDPP,
    entropy,
    extended_dpp,
    hellinger,
    kl_divergence,
    kronecker_dpp,
    l1_distance,
    law,
    total_variation,
)
from diverset.inference import (
    Selection,
    exact_cover_dpp,
    find_exact_cover,
    has_exact_cover,
    map_budgeted,
    map_double_greedy,
    map_exact,
    map_greedy,
    map_local_search,
    map_nonmonotone,
    map_relaxed,
    map_upper_bound,
    random_x3c,
    select,
    selection_law,
)
from diverset.numerics.projection import project, projection_bound, projection_dim
from diverset.sampling.chain import Chain
from diverset.sampling.intermediate import IntermediateSampler, sample_kernel
from diverset.sampling.kernel_function import KernelFunction
from diverset.sampling.mcmc import mcmc_chain
from diverset.sampling.trace import SamplingTrace, sampling_trace

if TYPE_CHECKING:
    from diverset.structured import FactorGraph, StructuredDPP, StructuredKDPP

__version__ = "0.1.0"

#: Sub-packages imported when they are first used, and names at the top that come from one of them.
_ON_USE = (
    "baselines",
    "classics",
    "distributed",
    "images",
    "integrations",
    "learn",
    "metrics",
    "mrf",
    "open_questions",
    "plots",
    "poses",
    "processes",
    "structured",
    "text",
    "threads",
)
_NAMES_ON_USE = {name: "structured" for name in ("FactorGraph", "StructuredDPP", "StructuredKDPP")}

__all__ = [
    "DPP",
    "KDPP",
    "Chain",
    "Estimate",
    "FactorGraph",
    "IntermediateSampler",
    "KDPPMixture",
    "KernelFunction",
    "NonsymmetricDPP",
    "SamplingTrace",
    "Selection",
    "SetDistribution",
    "SizedDPP",
    "StructuredDPP",
    "StructuredKDPP",
    "__version__",
    "entropy",
    "errors",
    "exact_cover_dpp",
    "extended_dpp",
    "find_exact_cover",
    "has_exact_cover",
    "hellinger",
    "kernels",
    "kl_divergence",
    "kronecker_dpp",
    "l1_distance",
    "law",
    "map_budgeted",
    "map_double_greedy",
    "map_exact",
    "map_greedy",
    "map_local_search",
    "map_nonmonotone",
    "map_relaxed",
    "map_upper_bound",
    "mcmc_chain",
    "project",
    "projection_bound",
    "projection_dim",
    "random_x3c",
    "sample_kernel",
    "sampling_trace",
    "select",
    "selection_law",
    "total_variation",
]


def __getattr__(name: str) -> Any:
    if name in _ON_USE:
        return import_module(f"diverset.{name}")
    if name in _NAMES_ON_USE:
        return getattr(import_module(f"diverset.{_NAMES_ON_USE[name]}"), name)
    raise AttributeError(f"module 'diverset' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ON_USE, *_NAMES_ON_USE])
