r"""Threads: diverse, salient paths through a directed graph ([KuleszaTaskar2012]_, section 6.6).

From a pile of dated documents, or any directed graph with weights and features, to k threads of R nodes each: chains
of news articles that tell a story, lines of research along citations.
"""

from diverset.threads.corpus import Corpus, is_noise
from diverset.threads.documents import DocumentGraph, citation_graph, document_graph
from diverset.threads.graph import ThreadGraph
from diverset.threads.model import ThreadModel, ThreadSet
from diverset.threads.neighbours import neighbourhoods, salient_terms, term_vectors
from diverset.threads.through import ThreadsThrough

__all__ = [
    "Corpus",
    "DocumentGraph",
    "ThreadGraph",
    "ThreadModel",
    "ThreadSet",
    "ThreadsThrough",
    "citation_graph",
    "document_graph",
    "is_noise",
    "neighbourhoods",
    "salient_terms",
    "term_vectors",
]
