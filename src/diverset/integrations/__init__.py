r"""Integrations of diverset with other tools.

=====================================================  ============================================  ===========
name                                                   what it does                                  extra
=====================================================  ============================================  ===========
:func:`d_optimal_design`                               rows of a D-optimal experimental design
:func:`diverse_split`                                  a diverse training part and a test part
:func:`inducing_points`                                points for a sparse Gaussian process
:func:`coreset`                                        weighted rows that represent all rows
``diverset.integrations.torch.DiverseBatchSampler``    diverse mini-batches for PyTorch
``diverset.integrations.sklearn.DiverseSelector``      training subsets, as an estimator             sklearn
``diverset.integrations.sklearn.SubsetFit``            any estimator, fitted on such a subset        sklearn
``diverset.integrations.langchain``                    retriever ``DiverseRetriever``, document      langchain
                                                       compressor ``DiverseReranker``
``diverset.integrations.llama_index``                  retriever ``DiverseRetriever``, node          llama-index
                                                       postprocessor ``DiverseReranker``
``diverset.integrations.haystack.DiverseReranker``     ranker component                              haystack
:mod:`diverset.integrations.stores`                    results of vector stores, as candidates
:mod:`diverset.integrations.curation`                  removal of near-duplicates from large data
=====================================================  ============================================  ===========

Rerankers and retrievers of all frameworks have the same settings, described on :doc:`/rag`.

A framework is loaded only when its module is imported. If the framework is not installed, the module can still be
imported, and its classes raise :class:`~diverset.errors.MissingExtraError` with the install command when used.

>>> from diverset.integrations import diverse_split
>>> X = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]
>>> train, test = diverse_split(X, train_size=2)
>>> train
[[1.0, 0.0], [0.0, 1.0]]
"""

from diverset.integrations.design import coreset, d_optimal_design, diverse_split, inducing_points

__all__ = ["coreset", "d_optimal_design", "diverse_split", "inducing_points"]
