"""diverset picks sets: diverse, high in quality, with exact probabilities.

Start with :class:`DPP` (a distribution over subsets) or :class:`KDPP` (over subsets of a fixed size).
``import diverset as dv`` loads nothing yet: every name is imported when it is first used.
"""

import os
from typing import TYPE_CHECKING

from diverset._on_use import names_on_use

if "DIVERSET_UNCOMPILED" in os.environ:
    from diverset import _uncompiled

    if _uncompiled.asked_for():
        _uncompiled.prefer_sources()

if TYPE_CHECKING:
    from diverset import baselines as baselines
    from diverset import core as core
    from diverset import distributed as distributed
    from diverset import errors as errors
    from diverset import images as images
    from diverset import inference as inference
    from diverset import integrations as integrations
    from diverset import kernels as kernels
    from diverset import learn as learn
    from diverset import metrics as metrics
    from diverset import numerics as numerics
    from diverset import plots as plots
    from diverset import poses as poses
    from diverset import sampling as sampling
    from diverset import structured as structured
    from diverset import text as text
    from diverset import theory as theory
    from diverset import threads as threads
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
    from diverset.images.pick import pick_images
    from diverset.inference import (
        Selection,
        map_budgeted,
        map_double_greedy,
        map_exact,
        map_greedy,
        map_local_search,
        map_nonmonotone,
        map_relaxed,
        map_upper_bound,
    )
    from diverset.inference.many import select_many
    from diverset.inference.select import select, selection_law
    from diverset.metrics.compare import Comparison, compare
    from diverset.numerics.projection import project, projection_bound, projection_dim
    from diverset.sampling.chain import Chain
    from diverset.sampling.intermediate import IntermediateSampler, sample_kernel
    from diverset.sampling.kernel_function import KernelFunction
    from diverset.sampling.mcmc import mcmc_chain
    from diverset.sampling.trace import SamplingTrace, sampling_trace
    from diverset.structured import FactorGraph, StructuredDPP, StructuredKDPP
    from diverset.text.verb import summarize
    from diverset.threads.find import find_threads
else:
    __getattr__, __dir__ = names_on_use(
        __name__,
        {
            "core": [
                "DPP", "KDPP", "Estimate", "KDPPMixture", "NonsymmetricDPP", "SetDistribution", "SizedDPP",
                "entropy", "extended_dpp", "hellinger", "kl_divergence", "kronecker_dpp", "l1_distance", "law",
                "total_variation",
            ],
            "inference": [
                "Selection", "map_budgeted",
                "map_double_greedy", "map_exact", "map_greedy", "map_local_search", "map_nonmonotone", "map_relaxed",
                "map_upper_bound",
            ],
            "images.pick": ["pick_images"],
            "inference.many": ["select_many"],
            "inference.select": ["select", "selection_law"],
            "metrics.compare": ["Comparison", "compare"],
            "threads.find": ["find_threads"],
            "numerics.projection": ["project", "projection_bound", "projection_dim"],
            "sampling.chain": ["Chain"],
            "sampling.intermediate": ["IntermediateSampler", "sample_kernel"],
            "sampling.kernel_function": ["KernelFunction"],
            "sampling.mcmc": ["mcmc_chain"],
            "sampling.trace": ["SamplingTrace", "sampling_trace"],
            "structured": ["FactorGraph", "StructuredDPP", "StructuredKDPP"],
            "text.verb": ["summarize"],
        },
        submodules=[
            "baselines", "core", "distributed", "errors", "images", "inference", "integrations",
            "kernels", "learn", "metrics", "numerics", "plots", "poses", 
            "sampling", "structured", "text", "theory", "threads",
        ],
    )  # fmt: skip

__version__ = "0.1.0"

__all__ = [
    "DPP",
    "KDPP",
    "Chain",
    "Comparison",
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
    "compare",
    "entropy",
    "errors",
    "extended_dpp",
    "find_threads",
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
    "pick_images",
    "project",
    "projection_bound",
    "projection_dim",
    "sample_kernel",
    "sampling_trace",
    "select",
    "select_many",
    "selection_law",
    "summarize",
    "total_variation",
]
