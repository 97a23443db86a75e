r"""Threads: diverse, salient paths through a directed graph ([KuleszaTaskar2012]_, section 6.6).

From a pile of dated documents, or any directed graph with weights and features, to k threads of R nodes each: chains
of news articles that tell a story, lines of research along citations.

The objects:

`ThreadGraph`
    Nodes with weights, features, labels and times; weighted directed edges. Checked once, without cycles.
`ThreadModel`, `ThreadsThrough`, `ThreadSet`
    The k-SDPP over the paths of a graph, the same given a thread through some nodes, and what they draw.
`Corpus`, `document_graph`, `citation_graph`, `DocumentGraph`
    From texts, with times or citations, to such a graph.
`kmeans_threads`, `dtm_threads`, `independent_threads`, `greedy_threads`
    What people use instead.
`timeline_rouge`, `date_score`, `text_cosine`, `coherence`, `interlopers_found`, `story_score`, `bootstrap_mean`
    How good threads are.
`tune`
    How to choose settings.
"""

from diverset.threads.baselines import (
    dtm_threads,
    greedy_threads,
    independent_threads,
    kmeans_threads,
    time_slices,
)
from diverset.threads.corpus import Corpus, example_news, is_noise
from diverset.threads.documents import DocumentGraph, citation_graph, document_graph
from diverset.threads.evaluation import (
    Bootstrap,
    Score,
    StoryScore,
    bootstrap_mean,
    coherence,
    date_score,
    interlopers_found,
    story_score,
    text_cosine,
    timeline_rouge,
)
from diverset.threads.find import find_threads
from diverset.threads.found import FoundThreads
from diverset.threads.graph import ThreadGraph
from diverset.threads.model import ThreadModel, ThreadSet
from diverset.threads.neighbours import Neighbourhoods, neighbourhoods, salient_terms, term_vectors
from diverset.threads.paths import EventModel, EventPaths
from diverset.threads.scores import ThreadScores, compare, evaluate, hold_back
from diverset.threads.search import Tuning, tune
from diverset.threads.series import Series
from diverset.threads.through import ThreadsThrough

__all__ = [
    "Bootstrap",
    "Corpus",
    "DocumentGraph",
    "EventModel",
    "EventPaths",
    "FoundThreads",
    "Neighbourhoods",
    "Score",
    "Series",
    "StoryScore",
    "ThreadGraph",
    "ThreadModel",
    "ThreadScores",
    "ThreadSet",
    "ThreadsThrough",
    "Tuning",
    "bootstrap_mean",
    "citation_graph",
    "coherence",
    "compare",
    "date_score",
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
    "neighbourhoods",
    "salient_terms",
    "story_score",
    "term_vectors",
    "text_cosine",
    "time_slices",
    "timeline_rouge",
    "tune",
]
