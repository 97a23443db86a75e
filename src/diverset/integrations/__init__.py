r"""diverset inside the tools people already use.

=====================================================  ============================================  ===========
name                                                   what it does                                  extra
=====================================================  ============================================  ===========
:func:`d_optimal_design`                               rows with the largest information matrix
:func:`diverse_split`                                  training and test parts, the first diverse
:func:`inducing_points`                                points for a sparse Gaussian process
:func:`coreset`                                        rows with weights that stand for all of them
``diverset.integrations.torch.DiverseBatchSampler``    diverse mini-batches for PyTorch
``diverset.integrations.sklearn.DiverseSelector``      training subsets, as an estimator             sklearn
``diverset.integrations.sklearn.SubsetFit``            any estimator, fitted on such a subset        sklearn
``diverset.integrations.langchain``                    retriever ``DiverseRetriever``, document      langchain
                                                       compressor ``DiverseReranker``
``diverset.integrations.llama_index``                  retriever ``DiverseRetriever``, node          llama-index
                                                       postprocessor ``DiverseReranker``
``diverset.integrations.haystack.DiverseReranker``     ranker component                              haystack
:mod:`diverset.integrations.stores`                    answers of vector stores, as candidates
:mod:`diverset.integrations.curation`                  near-duplicates out of large collections
=====================================================  ============================================  ===========

Rerankers and retrievers of all frameworks share their settings, which are described on :doc:`/rag`.

Nothing here loads a framework until its module is imported. Where the framework is absent the module still imports,
and its classes raise :class:`~diverset.errors.MissingExtraError`, with the install command, when they are used.

>>> from diverset.integrations import diverse_split
>>> X = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]
>>> train, test = diverse_split(X, train_size=2)
>>> train
[[1.0, 0.0], [0.0, 1.0]]
"""

from diverset.integrations.design import coreset, d_optimal_design, diverse_split, inducing_points

__all__ = ["coreset", "d_optimal_design", "diverse_split", "inducing_points"]
