r"""Threads: diverse, salient paths through a directed graph ([KuleszaTaskar2012]_, section 6.6).

From a pile of dated documents to k threads of R documents each: chains of news articles that tell a story, lines of
research along citations.

`find_threads`, `FoundThreads`, `Series`
    From documents to threads of different events, in one call, and its result.
`EventModel`, `EventPaths`
    Its law: a structured DPP over the paths of events, in which no document is in two threads.
`evaluate`, `hold_back`, `compare`, `ThreadScores`
    How good threads are: events told, coherence by held-back words, days reached.
`coherence`, `interlopers_found`, `story_score`, `bootstrap_mean`
    Single measures.
`ThreadGraph`, `ThreadModel`, `ThreadSet`
    The monograph's k-SDPP over the paths of any directed graph without cycles.
`Corpus`, `document_graph`, `citation_graph`, `DocumentGraph`
    From texts, with times or citations, to such a graph.
`kmeans_threads`, `dtm_threads`, `independent_threads`, `greedy_threads`
    The monograph's baselines.
"""

from typing import TYPE_CHECKING

from diverset._on_use import names_on_use
from diverset.threads.corpus import Corpus, example_news, is_noise
from diverset.threads.documents import DocumentGraph, citation_graph, document_graph, salient_terms, term_vectors
from diverset.threads.find import find_threads
from diverset.threads.found import FoundThreads
from diverset.threads.graph import ThreadGraph
from diverset.threads.paths import EventModel, EventPaths
from diverset.threads.scores import (
    Bootstrap,
    StoryScore,
    ThreadScores,
    bootstrap_mean,
    coherence,
    compare,
    evaluate,
    hold_back,
    interlopers_found,
    story_score,
)
from diverset.threads.series import Series

if TYPE_CHECKING:
    from diverset.threads.baselines import dtm_threads, greedy_threads, independent_threads, kmeans_threads
    from diverset.threads.model import ThreadModel, ThreadSet
else:  # these load structured DPPs, which finding threads does not need
    __getattr__, __dir__ = names_on_use(
        __name__,
        {
            "baselines": ["dtm_threads", "greedy_threads", "independent_threads", "kmeans_threads"],
            "model": ["ThreadModel", "ThreadSet"],
        },
    )

__all__ = [
    "Bootstrap",
    "Corpus",
    "DocumentGraph",
    "EventModel",
    "EventPaths",
    "FoundThreads",
    "Series",
    "StoryScore",
    "ThreadGraph",
    "ThreadModel",
    "ThreadScores",
    "ThreadSet",
    "bootstrap_mean",
    "citation_graph",
    "coherence",
    "compare",
    "document_graph",
    "dtm_threads",
    "evaluate",
    "example_news",
    "find_threads",
    "greedy_threads",
    "hold_back",
    "independent_threads",
    "interlopers_found",
    "is_noise",
    "kmeans_threads",
    "salient_terms",
    "story_score",
    "term_vectors",
]
