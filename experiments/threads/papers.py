"""Papers whose subject is known: venues of the ACL Anthology, and the seven classes of machine learning in Cora.

Every system chooses its settings on other subjects of the same collection, by one-to-one purity, and is scored once.
Texts are titles. Papers of the ACL Anthology have years. Those of Cora have none: a paper is dated by its level in the
graph of citations, one more than the highest level of the papers that it cites.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from diverset.errors import DiversetError
from diverset.threads import Corpus, evaluate
from experiments.threads.data import read_lines
from experiments.threads.piles import Pile
from experiments.threads.systems import DTM, SYSTEMS

__all__ = ["labelled_scores", "read_labelled"]

#: Subjects of venues, by their names: those that are scored, and those that settings are chosen on.
SCORED = {
    "dialogue": r"sigdial", "word senses": r"semeval|senseval|semantic evaluation",
    "Chinese": r"sighan|chinese language", "information extraction": r"message understanding",
    "biomedicine": r"biomedical|bionlp",
    "translation": r"statistical machine translation", "generation": r"natural language generation",
}  # fmt: skip
CHOOSING = {
    "parsing": r"parsing technolog", "speech": r"speech and natural language", "morphology": r"morphol|phonolog",
    "entailment": r"entailment", "teaching": r"educational",
}  # fmt: skip
#: Few venues have more years than this.
LENGTH = 4


def read_labelled(data: Path) -> dict[str, tuple[Pile, Pile]]:
    """For each collection the pile that settings are chosen on, and the pile that is scored."""
    papers = read_lines(data / "aan" / "aan_papers.jsonl.gz")
    years = [int(paper["year"]) for paper in papers]
    venues = (_venues(papers, subjects) for subjects in (CHOOSING, SCORED))
    aan = tuple(_pile("ACL Anthology", [paper["title"] for paper in papers], years, own) for own in venues)
    papers = read_lines(data / "cora_titles" / "cora_papers.jsonl.gz")
    with np.load(data / "cora_titles" / "cora_titles.npz", allow_pickle=False) as held:
        n = len(papers)
        cites = csr_array((np.ones(len(held["adj_indices"])), held["adj_indices"], held["adj_indptr"]), shape=(n, n))
    labels = [paper["label"] or "" for paper in papers]
    learning = [label if "/Machine_Learning/" in label else None for label in labels]
    largest = Counter(label for label, own in zip(labels, learning, strict=True) if label and own is None)
    others = {label for label, _ in largest.most_common(7)}
    groups = ([label if label in others else None for label in labels], learning)
    titles = [" ".join(map(str, paper["title_words"])) for paper in papers]
    cora = tuple(_pile("Cora", titles, _levels(cites), own) for own in groups)
    return {"ACL Anthology": (aan[0], aan[1]), "Cora": (cora[0], cora[1])}


def _venues(papers: list[dict[str, Any]], subjects: dict[str, str]) -> list[str | None]:
    return [
        next((name for name, pattern in subjects.items() if re.search(pattern, paper["venue"], re.I)), None)
        for paper in papers
    ]


def _pile(name: str, titles: list[str], times: list[int], labels: list[str | None]) -> Pile:
    kept = [i for i, label in enumerate(labels) if label is not None and titles[i].strip()]
    kept.sort(key=lambda i: times[i])
    corpus = Corpus([titles[i] for i in kept], [times[i] for i in kept])
    return Pile(name, corpus, tuple(str(labels[i]) for i in kept), {})


def _levels(cites: csr_array) -> list[int]:
    """Level of each paper: 0 without citations; citations within a circle are ignored."""
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(cites, connection="strong")
    start, end = cites.tocoo().coords
    start, end = component[start], component[end]
    start, end = start[start != end], end[start != end]
    level = np.zeros(len(component), dtype=np.int64)
    while True:
        before = level.copy()
        np.maximum.at(level, start, level[end] + 1)
        if (level == before).all():
            return [int(value) for value in level[component]]


def labelled_scores(data: Path) -> list[list[Any]]:
    """Rows of a table: collection, system, purity, one-to-one purity, subjects told."""
    rows = []
    for name, (choosing, scored) in read_labelled(data).items():
        for system, (threads, options) in SYSTEMS.items():
            if system == DTM:
                continue
            values = []
            for settings in options:
                try:
                    found = threads(choosing.corpus, choosing.k, LENGTH, **settings)
                    values.append(evaluate(found, choosing.corpus, events=choosing.events).one_to_one or 0.0)
                except DiversetError:  # too few edges for threads of this length
                    values.append(0.0)
            found = threads(scored.corpus, scored.k, LENGTH, **options[int(np.argmax(values))])
            score = evaluate(found, scored.corpus, events=scored.events)
            rows.append([name, system, f"{score.purity:.2f}", f"{score.one_to_one:.2f}", f"{score.told} of {scored.k}"])
            print(f"papers: {' '.join(map(str, rows[-1]))}", flush=True)
    return rows
