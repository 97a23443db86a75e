"""Every method at its default settings, nothing tuned: precision kept, and near-duplicates removed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from scipy.stats import rankdata

import diverset as dv
from diverset import baselines
from experiments.selection.data import Query, Texts, ambiguous
from experiments.selection.scores import DEPTH, METRICS, measure

__all__ = [
    "FACTORS", "MEASURES", "POOLS", "SCALES", "Found", "Setting", "default_methods", "factor_methods", "held_back",
    "run_defaults",
]  # fmt: skip

#: Two picks are near-duplicates from this cosine on.
NEAR = 0.9
#: Length of the vector that is added to all embeddings (of length 1): unrelated items then have a cosine of 0.7.
COMMON = 1.5
VECTORS = ("tf-idf", "SVD 200", "SVD 100")
MEASURES = (*METRICS, "near-duplicates", "overlap with top-k")
#: Numbers of candidates for which score scales are compared.
POOLS = (30, 100, 1000)
#: The same ranking in other units; items of equal score stay equal.
SCALES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "BM25": lambda q: q,
    "0.70 to 0.88": lambda q: 0.70 + 0.18 * _share(q),
    "logits": lambda q: np.log(0.01 + 0.98 * _share(q)) - np.log(0.99 - 0.98 * _share(q)),
    "reciprocal rank": lambda q: 1.0 / (60.0 + rankdata(-q)),
    "minus rank": lambda q: -rankdata(-q),
}
#: What each doubling of the rank may cost: the values among which the default was chosen.
FACTORS = (1.0, 1.1, 1.2, 1.3)
Method = Callable[[Query], Sequence[int]]


@dataclass(frozen=True)
class Setting:
    """What the methods were given: queries with subtopics (merged) or single ones, and which scores and vectors."""

    data: str
    merged: bool
    scorer: str
    vectors: str
    common: bool


#: Measures by setting and method, of shape (measure, query).
Found = dict[tuple[Setting, str], np.ndarray]


def default_methods() -> dict[str, Method]:
    """Our methods, and those peers that are installed; a missing one is named on the error stream."""
    found: dict[str, Method] = {
        "top-k": partial(_ours, baselines.top_k),
        "select": partial(_ours, dv.select),
        "select, standard scores": partial(_ours, dv.select, scale="standard"),
        "select, raw scores": partial(_ours, dv.select, scale=None),
        "select, normal scores": _with_normal_scores,
        "select, centred vectors": _with_centred_vectors,
        "select, keep=0.9": partial(_ours, dv.select, keep=0.9),
        "MMR": partial(_ours, baselines.mmr),
        "max-sum": partial(_ours, baselines.max_sum),
        "max-min": partial(_ours, baselines.max_min),
        "facility location": partial(_ours, baselines.facility_location),
    }
    try:
        from pyversity import Strategy, diversify

        for strategy in ("dpp", "mmr", "msd", "cover", "ssd"):
            found[f"pyversity {strategy.upper()}"] = partial(_pyversity, diversify, Strategy(strategy))
    except ImportError:
        print("pyversity: skipped: it is not installed (pip install pyversity)", file=sys.stderr)
    try:
        from langchain_core.vectorstores.utils import maximal_marginal_relevance

        found["LangChain MMR"] = partial(_langchain, maximal_marginal_relevance)
    except ImportError:
        print("LangChain: skipped: it is not installed (pip install langchain-core)", file=sys.stderr)
    return found


def factor_methods() -> dict[str, Method]:
    """top-k, and ``select`` with each of the `FACTORS`."""
    return {"top-k": partial(_ours, baselines.top_k)} | {f"{c:g}": partial(_with_factor, c) for c in FACTORS}


def _with_factor(factor: float, query: Query) -> list[int]:
    return _ours(dv.select, replace(query, quality=-factor * np.log2(rankdata(-query.quality))), scale=None)


def _ours(function: Callable[..., Any], query: Query, **options: Any) -> list[int]:
    return [int(i) for i in function(query.features, DEPTH, quality=query.quality, **options)]


def _with_normal_scores(query: Query) -> list[int]:
    """Ranks as quantiles of a normal distribution, times 3, which suits 100 candidates best."""
    shares = (rankdata(query.quality) - 0.375) / (len(query.quality) + 0.25)
    return _ours(dv.select, replace(query, quality=3.0 * ndtri(shares)), scale=None)


def _with_centred_vectors(query: Query) -> list[int]:
    """Rows of length 1 less their mean."""
    X = _dense(query.features)
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    return _ours(dv.select, replace(query, features=X - X.mean(axis=0)))


def _pyversity(diversify: Callable[..., Any], strategy: Any, query: Query) -> list[int]:
    found = diversify(_dense(query.features), query.quality, k=DEPTH, strategy=strategy)
    return [int(i) for i in found.indices]


def _langchain(maximal_marginal_relevance: Callable[..., list[int]], query: Query) -> list[int]:
    return maximal_marginal_relevance(query.vector, list(_dense(query.features)), k=DEPTH)


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def run_defaults(name: str, found: list[Query] | Texts, methods: Mapping[str, Method]) -> Found:
    """All methods on all settings of a data set; LangChain's is left out where the query has no vector."""
    results: Found = {}
    for setting in _settings(name, isinstance(found, Texts)):
        common = COMMON if setting.common else 0.0
        if isinstance(found, Texts) and not setting.merged:
            options = {"scorer": setting.scorer, "vectors": setting.vectors, "common": common}
            queries = [found.query(topic, **options) for topic in found.single]
        else:
            queries = ambiguous(found, vectors=setting.vectors, common=common)
        for method, pick in methods.items():
            if method == "LangChain MMR" and any(query.vector is None for query in queries):
                continue
            results[setting, method] = np.array([_measure(pick(query), query) for query in queries]).T
    return results


def _settings(name: str, texts: bool) -> list[Setting]:
    """With and without a common vector; for texts also by kind of vector and, for single queries, of score."""
    kinds = [(True, "cosine"), (False, "cosine"), (False, "BM25")]
    if not texts:
        return [Setting(name, True, "own", "own", common) for common in (False, True)]
    return [Setting(name, *kind, v, common) for kind in kinds for v in VECTORS for common in (False, True)]


def _measure(picks: Sequence[int], query: Query) -> list[float]:
    X = query.features if query.plain is None else query.plain
    S = dv.kernels.cosine(X[list(picks)])
    np.fill_diagonal(S, 0.0)
    best = np.argsort(-query.quality, kind="stable")[:DEPTH]
    same = len(set(picks) & set(best.tolist())) / DEPTH
    return [*measure(picks, query), float((S >= NEAR).any(axis=1).sum()), same]


def held_back(n: int) -> np.ndarray:
    """The queries that took no part in the choice of the defaults: half of them, by a fixed seed."""
    mask = np.ones(n, dtype=bool)
    mask[np.random.default_rng(20).permutation(n)[: n // 2]] = False
    return mask


def over_scales(texts: Texts, methods: Mapping[str, Method]) -> dict[tuple[int, str, str], float]:
    """Mean overlap with top-k by number of candidates, method and scale of the scores (BM25, 200 dimensions of SVD)."""
    found: dict[tuple[int, str, str], list[float]] = {}
    for topic in texts.single:
        for n in POOLS:
            query = texts.query(topic, n=n, scorer="BM25", vectors="SVD 200")
            for scale, change in SCALES.items():
                changed = replace(query, quality=change(query.quality))
                for method, pick in methods.items():
                    found.setdefault((n, method, scale), []).append(_measure(pick(changed), changed)[3])
    return {key: float(np.mean(values)) for key, values in found.items()}


def along_the_dial(
    texts: Texts, functions: Mapping[str, Callable[..., Any]], dials: Sequence[float]
) -> dict[tuple[str, str, bool, float], float]:
    """Mean overlap with top-k by method, vectors, common vector and dial (single queries, cosine scores)."""
    found: dict[tuple[str, str, bool, float], list[float]] = {}
    for topic in texts.single:
        for vectors in VECTORS:
            for common in (False, True):
                query = texts.query(topic, vectors=vectors, common=COMMON if common else 0.0)
                for method, function in functions.items():
                    for dial in dials:
                        picks = _ours(function, query, diversity=dial)
                        found.setdefault((method, vectors, common, dial), []).append(_measure(picks, query)[3])
    return {key: float(np.mean(values)) for key, values in found.items()}


def _share(q: np.ndarray) -> np.ndarray:
    """Scores as shares of the way from the lowest to the highest."""
    return (q - q.min()) / max(float(np.ptp(q)), 1e-12)
