r"""Threads: diverse, salient paths through a directed graph ([KuleszaTaskar2012]_, section 6.6).

From a pile of dated documents to k threads of R documents each: chains of news articles that tell a story, lines of
research along citations.

`find_threads`, `FoundThreads`
    From documents to threads of different events, in one call; what it found.
`EventModel`, `EventPaths`
    Its law: a structured DPP over the paths of events, in which no document is in two threads.
`evaluate`, `hold_back`, `compare`, `ThreadScores`
    How good threads are: events told, coherence by held-back words, days reached.
`ThreadGraph`, `ThreadModel`, `ThreadsThrough`, `ThreadSet`
    The k-SDPP over the paths of any directed graph without cycles, as in the monograph.
`Corpus`, `document_graph`, `citation_graph`, `DocumentGraph`
    From texts, with times or citations, to such a graph.
`cluster_threads`, `kmeans_threads`, `density_threads`, `dots_threads`, `greedy_threads`, `dtm_threads` and others
    What people use instead.
`timeline_rouge`, `date_score`, `text_cosine`, `coherence`, `interlopers_found`, `story_score`, `bootstrap_mean`
    Single measures.
`tune`
    A search over settings.
"""

from diverset.threads.baselines import (
    cluster_threads,
    density_threads,
    dots_threads,
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
    "cluster_threads",
    "coherence",
    "compare",
    "date_score",
    "density_threads",
    "document_graph",
    "dots_threads",
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
