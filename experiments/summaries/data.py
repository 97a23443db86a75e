"""Readers: clusters of documents with human summaries, and how they are split.

=================  =================================  ========  =====================================================
set                what                               budget    split
=================  =================================  ========  =====================================================
t17_daily          news of one or two days on an      400 B     by topic, in two halves: each is the test of a model
                   event, journalists' lines                    trained on the other, whose dials are chosen on topics
                                                                of the training half
review_summaries   8 reviews of a product or place    300 B     five folds
opinosis           review sentences on one aspect     120 B     five folds
=================  =================================  ========  =====================================================

The budgets are about as long as the human summaries.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diverset.errors import DiversetError
from diverset.text import Cluster

__all__ = ["DATA_SETS", "Fold", "Task", "read_task"]

BUDGETS = {"t17_daily": 400, "review_summaries": 300, "opinosis": 120}
DATA_SETS = tuple(BUDGETS)
#: Sentences of each document at most, to bound the processor time: transcripts run to thousands.
FIRST_SENTENCES = 12
#: The halves of t17_daily, each with the topics on which dials are chosen.
HALVES = (
    ({"bpoil", "H1N1", "EgyptianProtest"}, {"H1N1", "EgyptianProtest"}),
    ({"IraqWar", "LibyaWar", "Finan"}, {"LibyaWar"}),
)
FOLDS = 5


@dataclass(frozen=True)
class Fold:
    """Numbers of clusters: to learn from while dials are chosen, to choose them on, and to test on.

    The tested model is learned from the first two together.
    """

    learn: list[int]
    develop: list[int]
    test: list[int]


@dataclass(frozen=True)
class Task:
    """A data set with its budget in bytes and its folds; every cluster is tested once."""

    name: str
    clusters: list[Cluster]
    max_bytes: int
    folds: list[Fold]


def read_task(name: str, folder: Path, *, most: int | None = None) -> Task:
    """Read a data set from the folder of the public data, with so many sentences of each document at most."""
    path = folder / name / f"{name}.jsonl.gz"
    if not path.exists():
        raise DiversetError(f"{path} is not there")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    first = _most(name) if most is None else most
    clusters = [Cluster(record["documents"], record["references"]).restrict(first) for record in records]
    topics = [record.get("topic", "") for record in records]
    return Task(name, clusters, BUDGETS[name], by_topic(topics) if name == "t17_daily" else at_random(len(clusters)))


def _most(name: str) -> int:
    # Sentences of opinosis are in no order, and all in one document.
    return FIRST_SENTENCES if name == "t17_daily" else 10_000


def by_topic(topics: list[str]) -> list[Fold]:
    """Each half tested by the other."""
    folds = []
    for learned, develop in HALVES:
        inside = [t for t, topic in enumerate(topics) if topic in learned]
        folds.append(
            Fold(
                [t for t in inside if topics[t] not in develop],
                [t for t in inside if topics[t] in develop],
                [t for t, topic in enumerate(topics) if topic not in learned],
            )
        )
    return folds


def at_random(n: int, seed: int = 0) -> list[Fold]:
    """Five folds; the fold after the tested one serves to choose dials."""
    part = np.random.default_rng(seed).permutation(np.arange(n) % FOLDS)
    folds = []
    for f in range(FOLDS):
        develop = (f + 1) % FOLDS
        folds.append(
            Fold(
                np.flatnonzero((part != f) & (part != develop)).tolist(),
                np.flatnonzero(part == develop).tolist(),
                np.flatnonzero(part == f).tolist(),
            )
        )
    return folds
