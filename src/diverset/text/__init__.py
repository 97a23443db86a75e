"""Summaries of several documents, and what they are made of.

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
from diverset.text.lexrank import lexrank
from diverset.text.rouge import Rouge, rouge, rouge_words
from diverset.text.sentences import split_sentences
from diverset.text.summary import Summary
from diverset.text.words import PRONOUNS, STOP_WORDS, content_words, stem, words

if TYPE_CHECKING:
    from diverset.text.learning import oracle_summary
    from diverset.text.rivals import Begin, LexRank, Oracle, Random, RelevanceMMR, Submodular
    from diverset.text.summarizer import Summarizer, default_summarizer
else:  # learning is not loaded for a summary by the model that comes with the package
    __getattr__, __dir__ = names_on_use(
        __name__,
        {
            "learning": ["oracle_summary"],
            "rivals": ["Begin", "LexRank", "Oracle", "Random", "RelevanceMMR", "Submodular"],
            "summarizer": ["Summarizer", "default_summarizer"],
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
