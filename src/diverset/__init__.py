"""diverset picks sets: diverse, high in quality, with exact probabilities.

Start with :class:`DPP` (a distribution over subsets) or :class:`KDPP` (over subsets of a fixed size).
``import diverset as dv`` is light: compiled loops, plotting and applications are imported on use.
"""

from importlib import import_module
from types import ModuleType

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
    hellinger,
    kl_divergence,
    law,
    total_variation,
)
from diverset.inference import (
    Selection,
    map_budgeted,
    map_double_greedy,
    map_exact,
    map_greedy,
    map_local_search,
    map_nonmonotone,
    map_relaxed,
    select,
)
from diverset.sampling.intermediate import IntermediateSampler, sample_kernel
from diverset.sampling.kernel_function import KernelFunction
from diverset.sampling.mcmc import Chain, mcmc_chain
from diverset.sampling.trace import SamplingTrace, sampling_trace

__version__ = "0.1.0"

#: Sub-packages imported when they are first used.
_ON_USE = ("baselines", "integrations", "learn", "metrics", "plots")

__all__ = [
    "DPP",
    "KDPP",
    "Chain",
    "Estimate",
    "IntermediateSampler",
    "KDPPMixture",
    "KernelFunction",
    "NonsymmetricDPP",
    "SamplingTrace",
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
    "map_budgeted",
    "map_double_greedy",
    "map_exact",
    "map_greedy",
    "map_local_search",
    "map_nonmonotone",
    "map_relaxed",
    "mcmc_chain",
    "sample_kernel",
    "sampling_trace",
    "select",
    "total_variation",
]


def __getattr__(name: str) -> ModuleType:
    if name in _ON_USE:
        return import_module(f"diverset.{name}")
    raise AttributeError(f"module 'diverset' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ON_USE])
