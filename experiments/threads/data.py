"""Readers: collections with human timelines, a newswire, and two citation graphs."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from diverset.errors import DiversetError
from diverset.threads import Corpus, DocumentGraph, citation_graph

__all__ = ["DEVELOPMENT", "Collection", "read_aan", "read_cora", "read_lines", "read_timelines"]

#: Collections of this event choose the settings; those of all other events are reported.
DEVELOPMENT = "bpoil"
#: Sentences of an article that stand for it on a timeline.
LEAD = 2


@dataclass(frozen=True, eq=False)
class Collection:
    """Articles about one event, and what journalists wrote about it day by day."""

    name: str
    corpus: Corpus
    leads: tuple[list[str], ...]
    timeline: dict[date, list[str]]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Rows of a compressed file of JSON lines."""
    if not path.exists():
        raise DiversetError(f"{path} is missing")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_timelines(data: Path) -> list[Collection]:
    """The collections of Timeline17; articles of 40 words or more."""
    articles = read_lines(data / "timeline17" / "articles.jsonl.gz")
    timelines = {row["collection"]: row for row in read_lines(data / "timeline17" / "timelines.jsonl.gz")}
    found = []
    for name, gold in timelines.items():
        own = sorted((row for row in articles if row["collection"] == name), key=lambda row: (row["date"], row["id"]))
        corpus = Corpus(
            [" ".join(row["sentences"]) for row in own],
            [row["date"] for row in own],
            [row["id"] for row in own],
            [row["sentences"][0][:120] for row in own],
        )
        entries = {date.fromisoformat(entry["date"]): entry["sentences"] for entry in gold["entries"]}
        found.append(Collection(name, corpus, tuple(row["sentences"][:LEAD] for row in own), entries))
    return found


def read_aan(data: Path) -> tuple[DocumentGraph, list[str]]:
    """Papers of the ACL Anthology Network that are cited or cite, in order of their year, and their titles."""
    papers = read_lines(data / "aan" / "aan_papers.jsonl.gz")
    with np.load(data / "aan" / "aan_citations.npz") as held:
        shape = tuple(held["shape"])
        cites = csr_array((np.ones(len(held["indices"])), held["indices"], held["indptr"]), shape=shape)
    # As in the text: papers without citations of their own, or without a title, are left out.
    kept = np.flatnonzero((np.diff(cites.indptr) > 0) & np.array([bool(p["title"].strip()) for p in papers]))
    titles = [papers[i]["title"] for i in kept]
    graph = citation_graph(cites[kept][:, kept], titles, times=[papers[i]["year"] for i in kept], threshold=0.2)
    return graph, titles


def read_cora(data: Path) -> tuple[DocumentGraph, list[str]]:
    """Papers of Cora with citations of their own, by the words of their titles; no dates."""
    papers = read_lines(data / "cora_titles" / "cora_papers.jsonl.gz")
    with np.load(data / "cora_titles" / "cora_titles.npz", allow_pickle=False) as held:
        n = len(papers)
        cites = csr_array((np.ones(len(held["adj_indices"])), held["adj_indices"], held["adj_indptr"]), shape=(n, n))
        terms = [str(term) for term in held["terms"]]
        words = csr_array((held["attr_data"], held["attr_indices"], held["attr_indptr"]), shape=(n, len(terms)))
    kept = np.flatnonzero((np.diff(cites.indptr) > 0) & (np.diff(words.indptr) > 0))
    titles = [" ".join(_as_list(papers[i]["title_words"])) for i in kept]
    graph = citation_graph(cites[kept][:, kept], words[kept], terms=terms, threshold=0.2)
    return graph, titles


def _as_list(words: Any) -> list[str]:
    return words.split() if isinstance(words, str) else list(words)
