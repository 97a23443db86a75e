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
    from diverset import classics as classics
    from diverset import core as core
    from diverset import distributed as distributed
    from diverset import errors as errors
    from diverset import images as images
    from diverset import inference as inference
    from diverset import integrations as integrations
    from diverset import kernels as kernels
    from diverset import learn as learn
    from diverset import metrics as metrics
    from diverset import mrf as mrf
    from diverset import numerics as numerics
    from diverset import open_questions as open_questions
    from diverset import plots as plots
    from diverset import poses as poses
    from diverset import processes as processes
    from diverset import sampling as sampling
    from diverset import structured as structured
    from diverset import text as text
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
    )
    from diverset.inference.select import select, selection_law
    from diverset.numerics.projection import project, projection_bound, projection_dim
    from diverset.sampling.chain import Chain
    from diverset.sampling.intermediate import IntermediateSampler, sample_kernel
    from diverset.sampling.kernel_function import KernelFunction
    from diverset.sampling.mcmc import mcmc_chain
    from diverset.sampling.trace import SamplingTrace, sampling_trace
    from diverset.structured import FactorGraph, StructuredDPP, StructuredKDPP
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
                "Selection", "exact_cover_dpp", "find_exact_cover", "has_exact_cover", "map_budgeted",
                "map_double_greedy", "map_exact", "map_greedy", "map_local_search", "map_nonmonotone", "map_relaxed",
                "map_upper_bound", "random_x3c",
            ],
            "inference.select": ["select", "selection_law"],
            "threads.find": ["find_threads"],
            "numerics.projection": ["project", "projection_bound", "projection_dim"],
            "sampling.chain": ["Chain"],
            "sampling.intermediate": ["IntermediateSampler", "sample_kernel"],
            "sampling.kernel_function": ["KernelFunction"],
            "sampling.mcmc": ["mcmc_chain"],
            "sampling.trace": ["SamplingTrace", "sampling_trace"],
            "structured": ["FactorGraph", "StructuredDPP", "StructuredKDPP"],
        },
        submodules=[
            "baselines", "classics", "core", "distributed", "errors", "images", "inference", "integrations",
            "kernels", "learn", "metrics", "mrf", "numerics", "open_questions", "plots", "poses", "processes",
            "sampling", "structured", "text", "threads",
        ],
    )  # fmt: skip

__version__ = "0.1.0"

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
    "find_threads",
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
