"""The page of a summary: the text, reasons for each sentence, and the documents with the sentences marked."""

from collections import defaultdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diverset._typing import BoolArray
from diverset.pages.base import file_link, web_link

if TYPE_CHECKING:
    from diverset.text import Summary

__all__ = ["markdown", "page"]

#: In a cluster with more sentences, those further than `_AROUND` from all chosen ones are folded.
MOST_SENTENCES = 300
_AROUND = 3


def page(summary: "Summary", output: Path) -> dict[str, Any]:
    """Values for the template."""
    cluster = summary.cluster
    n, documents = len(cluster), len(cluster.documents)
    asked = {
        "Documents": f"{documents:,}",
        "Sentences": f"{n:,}",
        "Limit": f"{summary.budget.limit:,} {summary.budget.unit}",
        "Method": summary.method,
        "Draws within the limit": f"{summary.n_accepted:,} of {summary.n_drawn:,}",
    }
    return {
        "title": f"{len(summary.indices)} of {n:,} sentences of {documents} document{'s' * (documents != 1)}",
        "summary": summary,
        "asked": asked,
        "picks": _picks(summary),
        "ranks": {int(i): rank for rank, i in enumerate(summary.indices, start=1)},
        "documents": _documents(summary, output),
    }


def markdown(summary: "Summary") -> str:
    """The summary alone."""
    return summary.text + "\n"


def _picks(summary: "Summary") -> list[dict[str, Any]]:
    """Each chosen sentence with three bars, and the places of identical sentences."""
    cluster = summary.cluster
    top = max(float(summary.quality.max(initial=0.0)), 1e-300)
    places: dict[str, list[int]] = defaultdict(list)
    for i, sentence in enumerate(cluster.sentences):
        places[" ".join(sentence.lower().split())].append(i)
    picks = []
    for i, why in zip(summary.indices.tolist(), summary.explain(), strict=True):
        same = places[" ".join(cluster.sentences[i].lower().split())]
        bars = [
            (f"Quality: no. {why['quality_rank']} of {len(cluster):,}", why["quality"] / top),
            (f"New: {why['novelty']:.0%}", why["novelty"]),
            (f"Probability: {why['inclusion_probability']:.0%}", why["inclusion_probability"]),
        ]
        copies = [
            f"{cluster.names[cluster.document_of[j]]}, sentence {cluster.position[j] + 1}" for j in same if j != i
        ]
        bars = [(words, min(max(share, 0.0), 1.0)) for words, share in bars]
        picks.append({**why, "number": i, "bars": bars, "copies": copies})
    return picks


def _documents(summary: "Summary", output: Path) -> list[dict[str, Any]]:
    """Sentences of each document in blocks; in a large cluster, blocks far from chosen sentences are folded."""
    cluster = summary.cluster
    near: BoolArray = np.full(len(cluster), len(cluster) <= MOST_SENTENCES)
    for i in summary.indices.tolist():
        near[max(0, i - _AROUND) : i + _AROUND + 1] = True
    found, start = [], 0
    for name, document in zip(cluster.names, cluster.documents, strict=True):
        numbers = range(start, start + len(document))
        start += len(document)
        blocks = [(shown, list(block)) for shown, block in groupby(numbers, key=lambda i: bool(near[i]))]
        found.append({"name": name, "href": web_link(name) or file_link(name, output), "blocks": blocks})
    return found
