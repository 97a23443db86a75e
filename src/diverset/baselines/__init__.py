r"""What people use instead of a determinantal point process, under one interface.

Every function takes the same arguments and returns a :class:`~diverset.inference.result.Selection`, so that
methods are compared by changing one word:

========================================  ==============================================================
:func:`mmr`                               good, and unlike the most similar item already there
:func:`max_sum`                           far apart on average
:func:`max_min`                           even the nearest two far apart (farthest first)
:func:`facility_location`                 every item near one of the picks
:func:`top_k`                             the best, whatever they resemble
:func:`random`                            any items at all
========================================  ==============================================================

>>> from diverset import baselines
>>> X = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.9, 0.9]]
>>> for method in (baselines.top_k, baselines.mmr, baselines.max_min):
...     print(method.__name__, method(X, 2, quality=[0.9, 0.8, 0.5, 0.6], diversity=0.7).indices)
top_k [0 1]
mmr [0 2]
max_min [0 2]

**Which way the dial turns.** Here ``diversity`` is 1 for diverse and 0 for plain top-k, in every method. The
paper that MMR comes from weighs relevance by :math:`\lambda` and diversity by :math:`1 - \lambda`, and the tools
that offer it do not agree:

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

So ``diversity=0.3`` here is 0.3 in Qdrant and OpenSearch and 0.7 in LangChain, Weaviate and Elasticsearch, as far
as their scores are alike.
"""

from diverset.baselines.methods import facility_location, max_min, max_sum, mmr, random, top_k

__all__ = ["facility_location", "max_min", "max_sum", "mmr", "random", "top_k"]
