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

**Direction of the dial.** Here ``diversity`` is 1 for most diverse and 0 for plain top-k, in every method. The paper
on MMR gives relevance the weight :math:`\lambda` and diversity the weight :math:`1 - \lambda`, and other tools use
either direction:

==============================  ===================  ============  =======  ======================================
tool                            argument             most diverse  default  documented at
==============================  ===================  ============  =======  ======================================
diverset                        ``diversity``        1             0.5      here
[CarbonellGoldstein1998]_       :math:`\lambda`      0
LangChain                       ``lambda_mult``      0             0.5      ``VectorStore`` (langchain-core 1.7)
Qdrant                          ``diversity``        1             0.5      ``Mmr`` (qdrant-client 1.20)
Weaviate (from 1.37)            ``balance``          0                      ``Diversity.mmr`` (weaviate-client 4.23)
Elasticsearch (from 9.3)        ``lambda``           0                      "Diversify retriever"
OpenSearch (from 3.3)           ``diversity``        1                      "Vector search with MMR reranking"
==============================  ===================  ============  =======  ======================================

So ``diversity=0.3`` here corresponds to 0.3 in Qdrant and OpenSearch and to 0.7 in LangChain, Weaviate and
Elasticsearch, if the scores have the same scale.
"""

from diverset.baselines.methods import facility_location, max_min, max_sum, mmr, random, top_k

__all__ = ["facility_location", "max_min", "max_sum", "mmr", "random", "top_k"]
