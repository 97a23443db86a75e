"""Readers: clusters of documents with human summaries, and how they are split.

=================  ==================================  ==========  ========================  =======================
set                what                                limit       development clusters      learned from
=================  ==================================  ==========  ========================  =======================
t17_daily          news of one or two days on one      100 words   four of the six events    never: research only
                   event; journalists' lines
review_summaries   8 reviews of a product or a place   60 words    every second one          in five folds
opinosis           review sentences on one aspect      25 words    every second one          in five folds
=================  ==================================  ==========  ========================  =======================
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diverset.errors import DiversetError
from diverset.text import Cluster

__all__ = ["KINDS", "LEARNED", "Item", "read_items", "some_news"]

#: Kinds of text, each with its limit in words.
KINDS = {"t17_daily": 100, "review_summaries": 60, "opinosis": 25}
#: Sets whose licences allow weights learned from them to be shipped.
LEARNED = ("review_summaries", "opinosis")
DEVELOPMENT_EVENTS = frozenset({"IraqWar", "LibyaWar", "EgyptianProtest", "H1N1"})
FOLDS = 5


@dataclass(frozen=True)
class Item:
    """A cluster with its kind, its fold, and whether settings may be chosen on it."""

    kind: str
    name: str
    cluster: Cluster
    fold: int
    develops: bool


def read_items(folder: Path, kinds: tuple[str, ...] = tuple(KINDS)) -> list[Item]:
    """Read all clusters of the named kinds, whole documents."""
    items = []
    for kind in kinds:
        path = folder / kind / f"{kind}.jsonl.gz"
        if not path.exists():
            raise DiversetError(f"{path} is not there")
        with gzip.open(path, "rt", encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        folds = np.random.default_rng(0).permutation(np.arange(len(records)) % FOLDS)
        for t, record in enumerate(records):
            develops = record["topic"] in DEVELOPMENT_EVENTS if "topic" in record else t % 2 == 0
            cluster = Cluster(record["documents"], record["references"])
            items.append(Item(kind, str(record["id"]), cluster, int(folds[t]), develops))
    return items


def some_news(items: list[Item]) -> list[Item]:
    """All clusters of the kinds that are learned from, and every third of the others, to save time."""
    learned = [item for item in items if item.kind in LEARNED]
    return learned + [item for item in items if item.kind not in LEARNED][::3]
