r"""Common alternatives to determinantal point processes, under one interface.

Every function takes the same arguments and returns a :class:`~diverset.inference.result.Selection`, so that only the
function's name changes in a comparison of methods:

========================================  ==============================================================
:func:`mmr`                               high quality, low similarity to the nearest earlier pick
:func:`max_sum`                           large mean distance between picks
:func:`max_min`                           large smallest distance between picks (farthest first)
:func:`facility_location`                 every item is similar to one of the picks
:func:`top_k`                             highest quality, regardless of similarity
:func:`random`                            a uniform random sample
========================================  ==============================================================

>>> from diverset import baselines
>>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.9, 0.9]]
>>> for method in (baselines.top_k, baselines.mmr, baselines.max_min):
...     print(method.__name__, method(X, 2, quality=[0.9, 0.8, 0.5, 0.6], diversity=0.7).indices)
top_k [0 1]
mmr [0 2]
max_min [0 2]

``diversity`` is 1 for most diverse and 0 for plain top-k, in every method. The paper on MMR and some tools weigh
relevance instead ([CarbonellGoldstein1998]_): their 0.7 is ``diversity=0.3`` here. :doc:`/selection` has a table.
"""

from diverset.baselines.methods import facility_location, max_min, max_sum, mmr, random, top_k

__all__ = ["facility_location", "max_min", "max_sum", "mmr", "random", "top_k"]
