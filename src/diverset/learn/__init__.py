r"""Learning from observed sets: what makes items good, and what makes them alike.

====================================================  ===========================================================
you have                                              start with
====================================================  ===========================================================
many inputs, features of items, a chosen set each     :class:`QualityModel` (concave, with standard errors)
baskets over a few hundred items                      :class:`FullRankKernel`
baskets over thousands of items                       :class:`LowRankKernel`
baskets whose items also attract each other           :class:`NonsymmetricKernel`
pairs of sets, one better than the other              :class:`KDPPMixtureLearner` (convex)
something to compare with                             :class:`LogisticQuality`, :class:`IndependentItems`,
                                                      :class:`PoissonItems`, :class:`MMRMixtureLearner`
====================================================  ===========================================================

Learners are scikit-learn estimators where scikit-learn is installed, and work without it. A basket is a sequence of
item numbers from 0; ``score`` is the mean log-likelihood per basket or instance.

>>> import diverset as dv
>>> model = dv.learn.FullRankKernel().fit([[0, 2], [1, 2], [0], [1], [2], []], n_items=3)
>>> model.recommend([0], k=1)
array([2])
"""

from diverset.learn.basket_baselines import IndependentItems, PoissonItems
from diverset.learn.comparisons import Comparison, ComparisonTable, KDPPMixtureLearner, MMRMixtureLearner
from diverset.learn.files import load_model, save_model
from diverset.learn.full_rank import FullRankKernel
from diverset.learn.instances import Instance
from diverset.learn.low_rank import LowRankKernel, NonsymmetricKernel
from diverset.learn.quality import QualityModel
from diverset.learn.quality_baselines import LogisticQuality
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
    "NonsymmetricKernel",
    "PoissonItems",
    "QualityModel",
    "QualityModelCV",
    "load_model",
    "save_model",
]
