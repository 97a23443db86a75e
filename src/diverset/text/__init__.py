"""Summaries of several documents, and the functions they are built from.

========================================  =============================================================================
you want                                  start with
========================================  =============================================================================
a summary of articles about one thing     ``diverset.summarize(texts, max_words=100)``
to learn from your own summaries          :class:`Summarizer`, with a :class:`Cluster` for each example
something to compare with                 :class:`Begin`, :class:`LexRank`, :class:`Submodular`, :class:`RelevanceMMR`,
                                          :class:`Random`, :class:`Oracle`
to score summaries                        :func:`rouge`, :func:`pairwise_rouge`, :func:`mean_rouge`
sentences, words, centrality              :func:`split_sentences`, :func:`words`, :func:`lexrank`
========================================  =============================================================================
"""

from typing import TYPE_CHECKING

from diverset._on_use import names_on_use
from diverset.text.cluster import Budget, Cluster
from diverset.text.decode import mean_rouge, pairwise_rouge, word_counts
from diverset.text.rouge import Rouge, rouge, rouge_words
from diverset.text.summary import Summary
from diverset.text.tfidf import lexrank
from diverset.text.words import PRONOUNS, STOP_WORDS, content_words, split_sentences, stem, words

if TYPE_CHECKING:
    from diverset.text.rivals import Begin, LexRank, Oracle, Random, RelevanceMMR, Submodular
    from diverset.text.summarizer import Summarizer, default_summarizer, oracle_summary
else:  # a summary by the default model needs none of the learning modules
    __getattr__, __dir__ = names_on_use(
        __name__,
        {
            "rivals": ["Begin", "LexRank", "Oracle", "Random", "RelevanceMMR", "Submodular"],
            "summarizer": ["Summarizer", "default_summarizer", "oracle_summary"],
        },
    )

__all__ = [
    "PRONOUNS",
    "STOP_WORDS",
    "Begin",
    "Budget",
    "Cluster",
    "LexRank",
    "Oracle",
    "Random",
    "RelevanceMMR",
    "Rouge",
    "Submodular",
    "Summarizer",
    "Summary",
    "content_words",
    "default_summarizer",
    "lexrank",
    "mean_rouge",
    "oracle_summary",
    "pairwise_rouge",
    "rouge",
    "rouge_words",
    "split_sentences",
    "stem",
    "word_counts",
    "words",
]
