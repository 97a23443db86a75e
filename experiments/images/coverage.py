"""Table 9: virtual users, each after one photo of the collection, and which method shows something nearer to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import diverset as dv
from diverset.kernels import add_constant
from experiments.images.instances import Collection

__all__ = ["Coverage", "run_coverage"]

SHOWN = 10


@dataclass(frozen=True, eq=False)
class Coverage:
    """Shares of users for whom the k-DPP's photos are nearer, a tie counting half, by kernel and query.

    ``single`` has shape (experts, queries); ``uniform`` and ``mmr`` have shape (queries,); ``users`` counts them.
    """

    single: np.ndarray
    uniform: np.ndarray
    mmr: np.ndarray
    users: np.ndarray


def run_coverage(
    collections: Sequence[Collection], kdpp_weights: np.ndarray, mmr_weights: np.ndarray, *, rho: float, seed: int = 0
) -> Coverage:
    """Ten photos by the mixture of k-DPPs and ten by the mixture MMR for each user, at random but for MMR's rule."""
    single, uniform, mmr, users = [], [], [], []
    for t, collection in enumerate(collections):
        rng = np.random.default_rng([seed, t])
        relevant = collection.relevant
        n = len(relevant)
        S = np.array([kernel[np.ix_(relevant, relevant)] for kernel in collection.kernels.values()])
        learned = np.tensordot(mmr_weights, S, axes=1)
        used = np.flatnonzero(kdpp_weights > 0)
        size = min(SHOWN, n)
        mixture = dv.KDPPMixture([dv.KDPP(add_constant(S[e], rho), size) for e in used], kdpp_weights[used])
        drawn = mixture.sample(n, rng=rng)
        ahead = np.empty((len(S) + 2, n))
        judges = np.concatenate([S, S.mean(axis=0)[None], learned[None]])
        for target in range(n):
            by_mmr = _mmr(learned, int(rng.integers(n)), size)
            ours = judges[:, target, drawn[target]].max(axis=1)
            theirs = judges[:, target, by_mmr].max(axis=1)
            ahead[:, target] = np.where(ours > theirs, 1.0, np.where(ours == theirs, 0.5, 0.0))
        single.append(ahead[:-2].mean(axis=1))
        uniform.append(ahead[-2].mean())
        mmr.append(ahead[-1].mean())
        users.append(n)
    return Coverage(np.array(single).T, np.array(uniform), np.array(mmr), np.array(users))


def _mmr(S: np.ndarray, first: int, size: int) -> list[int]:
    """MMR without relevance: the next photo is the one least like the nearest of those before."""
    chosen = [first]
    nearest = S[first].copy()
    while len(chosen) < size:
        nearest[chosen] = np.inf
        chosen.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, S[chosen[-1]])
    return chosen
