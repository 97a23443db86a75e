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

Rerankers and retrievers of all frameworks share these settings, with the meaning they have for :func:`diverset.select`:

===========================  ========================================================================================
``diversity``                0 ranks by relevance alone, 1 by diversity alone.
``keep``                     Share of relevance to keep, between 0 and 1, instead of `diversity`.
``scale``                    How scores are calibrated: ``"rank"``, ``"standard"`` or None.
``given``                    Documents shown before, or their ids or positions; not picked again, and picks differ from
                             them.
``groups``, ``per_group``    Metadata entry (or one value per document), and how many picks may share a value of it.
``min_quality``              Documents with a lower score are left out.
``lower_is_better``          Whether scores are distances.
``cache_size``               Number of embedded texts whose vectors are remembered, so that the next query does not
                             embed them again. 10,000 vectors of 768 numbers take 61 MB.
===========================  ========================================================================================

Relevance is the score of a document. If no document has one, it is the cosine similarity to the query; without an
embedding of the query, the order of the documents, first best. If only some have a score, the rest count as the least
relevant, and are left out if `min_quality` is set. Copies of the documents are returned. Their metadata have
``diverset_gain``, what each added to the objective, and ``diverset_kept``, the share of relevance that all keep.

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
