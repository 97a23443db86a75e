r"""Learning quality and similarity of items from observed sets.

====================================================  ===========================================================
you have                                              start with
====================================================  ===========================================================
many ground sets with item features, a set from each  :class:`QualityModel` (concave, with standard errors)
baskets over a few hundred items                      :class:`FullRankKernel`
baskets over thousands of items                       :class:`LowRankKernel`
baskets whose items also attract each other           :class:`NonsymmetricKernel`
pairs of sets, one better than the other              :class:`KDPPMixtureLearner` (convex)
a model that needs a baseline                         :class:`LogisticQuality`, :class:`IndependentItems`,
                                                      :class:`PoissonItems`, :class:`MMRMixtureLearner`
models to compare by next-item prediction             :func:`compare_next_item`
====================================================  ===========================================================

Learners are scikit-learn estimators if scikit-learn is installed, and work without it. Baskets are lists of item
names or numbers, a table of orders and items, or a sparse matrix (:mod:`diverset.learn.baskets`); ``score`` is the
mean log-likelihood per basket or instance.

>>> import diverset as dv
>>> model = dv.learn.FullRankKernel().fit([["tea", "milk"], ["beer", "milk"], ["tea"], ["beer"], ["milk"], []])
>>> model.recommend(["tea"], n=1)[0].item
'milk'
"""

from diverset.learn.basket_baselines import IndependentItems, PoissonItems
from diverset.learn.comparisons import Comparison, ComparisonTable, KDPPMixtureLearner, MMRMixtureLearner
from diverset.learn.files import load_model, save_model
from diverset.learn.full_rank import FullRankKernel
from diverset.learn.instances import Instance
from diverset.learn.low_rank import LowRankKernel, NonsymmetricKernel
from diverset.learn.next_item import NextItemReport, NextItemScores, compare_next_item
from diverset.learn.quality import LogisticQuality, QualityModel
from diverset.learn.quality_search import QualityModelCV

__all__ = [
    "Comparison",
    "ComparisonTable",
    "FullRankKernel",
    "IndependentItems",
    "Instance",
    "KDPPMixtureLearner",
    "LogisticQuality",
    "LowRankKernel",
    "MMRMixtureLearner",
    "NextItemReport",
    "NextItemScores",
    "NonsymmetricKernel",
    "PoissonItems",
    "QualityModel",
    "QualityModelCV",
    "compare_next_item",
    "load_model",
    "save_model",
]
