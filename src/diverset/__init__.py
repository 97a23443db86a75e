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
        KDPPMixture,
        NonsymmetricDPP,
        SetDistribution,
        SizedDPP,
        entropy,
        kl_divergence,
        law,
        total_variation,
    )
    from diverset.images.pick import pick_images
    from diverset.inference import Selection, map_exact, map_greedy, map_local_search
    from diverset.inference.select import select, select_many, selection_law
    from diverset.metrics.compare import compare
    from diverset.sampling.intermediate import sample_kernel
    from diverset.structured import FactorGraph, StructuredDPP
    from diverset.text.summary import summarize
    from diverset.threads.find import find_threads
else:
    __getattr__, __dir__ = names_on_use(
        __name__,
        {
            "core": [
                "DPP", "KDPP", "KDPPMixture", "NonsymmetricDPP", "SetDistribution", "SizedDPP", "entropy",
                "kl_divergence", "law", "total_variation",
            ],
            "inference": ["Selection", "map_exact", "map_greedy", "map_local_search"],
            "images.pick": ["pick_images"],
            "inference.select": ["select", "select_many", "selection_law"],
            "metrics.compare": ["compare"],
            "threads.find": ["find_threads"],
            "sampling.intermediate": ["sample_kernel"],
            "structured": ["FactorGraph", "StructuredDPP"],
            "text.summary": ["summarize"],
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
    "FactorGraph",
    "KDPPMixture",
    "NonsymmetricDPP",
    "Selection",
    "SetDistribution",
    "SizedDPP",
    "StructuredDPP",
    "__version__",
    "compare",
    "entropy",
    "errors",
    "find_threads",
    "kernels",
    "kl_divergence",
    "law",
    "map_exact",
    "map_greedy",
    "map_local_search",
    "pick_images",
    "sample_kernel",
    "select",
    "select_many",
    "selection_law",
    "summarize",
    "total_variation",
]
