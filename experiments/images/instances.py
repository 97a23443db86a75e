"""Comparison instances as in section 5.3.2 of the monograph, from clusters that people made.

A partial set of five photos is drawn by a k-DPP on one kernel, so that it is diverse; two candidates are drawn from the
rest. Where one of them is of a cluster that the five do not have, and the other is not, the first is the better
addition. That takes the place of the votes of five judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import diverset as dv
from experiments.selection.data import div400_topics

__all__ = ["DESCRIPTORS", "Collection", "Instance", "draw_instances", "read_collections"]

#: Descriptors of div400: colour moments, names and structure, run lengths, gradients, binary patterns.
DESCRIPTORS = ("CM", "CM3x3", "CN", "CN3x3", "CSD", "GLRLM", "GLRLM3x3", "HOG", "LBP", "LBP3x3")
#: The one that partial sets are drawn by; the monograph's is SIFT, to which it is the nearest.
DRAWN_BY = "HOG"
PARTIAL = 5
PER_QUERY = 20


@dataclass(frozen=True, eq=False)
class Collection:
    """Photos of one query.

    Attributes
    ----------
    name : str
        The query.
    split : str
        ``devset`` or ``testset``, as the task had it.
    kernels : dict of str to ndarray of shape (n, n)
        The 55 experts over all photos, without rho.
    clusters : list
        Cluster of every photo, or None if it is not relevant.
    """

    name: str
    split: str
    kernels: dict[str, np.ndarray]
    clusters: list[str | None]

    @property
    def relevant(self) -> np.ndarray:
        """Positions of relevant photos."""
        return np.array([i for i, cluster in enumerate(self.clusters) if cluster is not None])


@dataclass(frozen=True)
class Instance:
    """A partial set and two candidates, as positions in the collection; the better one brings a new cluster."""

    collection: int
    partial: tuple[int, ...]
    better: int
    worse: int


def read_collections(folder: Path) -> list[Collection]:
    """All queries of div400 with their expert kernels."""
    return [
        Collection(
            topic["query"],
            topic["split"],
            dv.images.expert_kernels(descriptors),
            [photo["cluster"] for photo in topic["photos"]],
        )
        for topic, descriptors in div400_topics(folder, DESCRIPTORS)
    ]


def draw_instances(collections: Sequence[Collection], *, per_query: int = PER_QUERY, seed: int = 0) -> list[Instance]:
    """The same number of instances for every query, among its relevant photos."""
    found = []
    for t, collection in enumerate(collections):
        rng = np.random.default_rng([seed, t])
        relevant = collection.relevant
        clusters = np.array([collection.clusters[i] for i in relevant])
        L = collection.kernels[DRAWN_BY][np.ix_(relevant, relevant)]
        partial_sets = dv.KDPP(L, PARTIAL)
        count = 0
        while count < per_query:
            Y = partial_sets.sample(rng=rng)
            covered = set(clusters[Y])
            i, j = rng.choice(np.setdiff1d(np.arange(len(relevant)), Y), 2, replace=False)
            news = [clusters[candidate] not in covered for candidate in (i, j)]
            if news[0] == news[1]:
                continue
            better, worse = (i, j) if news[0] else (j, i)
            found.append(Instance(t, tuple(int(relevant[y]) for y in Y), int(relevant[better]), int(relevant[worse])))
            count += 1
    return found
