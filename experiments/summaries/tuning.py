"""The same tuning for every system: a grid of settings, chosen on some clusters and scored on others.

Every system, ours included, has a grid of settings. Each setting is scored once on every cluster; choosing and testing
then only read that table (:func:`tuned`). A setting serves all kinds of text.

* *Halves*: the setting with the highest mean ROUGE-1F over the kinds on one half of the clusters is scored on the other
  half, and the other way round. The halves share no news event.
* *Leave one kind out*: the setting is chosen on all clusters of two kinds and scored on the third. Models of ours then
  learned nothing from the third kind either.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.linalg import svds

from diverset import summarize
from diverset._typing import IntArray
from diverset.io.files import atomic_write
from diverset.text import Cluster, Summarizer, decode, lexrank, quality, rouge
from diverset.text.tfidf import Terms
from experiments.summaries.data import KINDS, LEARNED, Item, some_news
from experiments.summaries.packages import PackageRival, package_rivals
from experiments.summaries.study import FEWER_DRAWS, key, learn

__all__ = ["GRIDS", "OTHER", "OWN", "Table", "run_grids", "score_grid", "tuned"]

#: Scores of each setting on each cluster: ROUGE-1F, ROUGE-2F, share of the limit.
Table = dict[str, dict[str, list[float]]]
#: Summaries of a cluster, or their sentences, by the name of the setting.
Settings = Callable[[Item], Iterator[Any]]
#: Names of the tables of ours: models that never saw the fold, and models that never saw the kind.
OWN, OTHER = "diverset, tuned", "diverset, other kinds"
#: TextRank, LSA and KL-sum see the first sentences of a cluster.
MOST = 1500
#: Shares of the limit that a rival may fill: the default stops early, so rivals may, too.
SHARES = (0.6, 0.8, 1.0)
REDUNDANCIES = (0.3, 0.5, 0.7, 1.0)
#: LexRank by packages loops over all pairs of sentences in Python, so it is run on clusters of at most this size.
MOST_FOR_PACKAGES = 150


def fill(order: IntArray, cluster: Cluster, vectors: Any, redundancy: float, room: float) -> list[int]:
    """Sentences of a ranking that fit and have no cosine above `redundancy` to a chosen one."""
    sizes = np.array([len(cluster.sentences[i].split()) for i in range(vectors.shape[0])])
    nearest = np.zeros(vectors.shape[0])
    chosen = []
    for i in order.tolist():
        if sizes[i] <= room and nearest[i] <= redundancy:
            chosen.append(i)
            room -= sizes[i]
            if room < sizes.min():
                break
            np.maximum(nearest, (vectors @ vectors[i].T).toarray().ravel(), out=nearest)
    return sorted(chosen)


def _fillings(rank: Any, name: str, item: Item, vectors: Any, redundancies: Any = REDUNDANCIES) -> Iterator[Any]:
    """Summaries by one ranking, for each redundancy and share of the limit."""
    order = np.argsort(-rank, kind="stable")
    for redundancy, share in product(redundancies, SHARES):
        room = share * KINDS[item.kind]
        yield f"{name}redundancy {redundancy}, share {share}", fill(order, item.cluster, vectors, redundancy, room)


def terms_of(cluster: Cluster, most: int = MOST) -> Terms:
    """Stems of the first sentences."""
    return Terms(cluster.terms.stems[:most])


def lead_settings(item: Item) -> Iterator[Any]:
    rank = -np.arange(len(item.cluster), dtype=float)
    yield from _fillings(rank, "", item, item.cluster.terms.vectors, (1.0,))


def lexrank_settings(item: Item) -> Iterator[Any]:
    vectors = item.cluster.terms.vectors
    for damping in (0.15, 0.5):
        yield from _fillings(lexrank(features=vectors, damping=damping), f"damping {damping}, ", item, vectors)


def textrank_settings(item: Item) -> Iterator[Any]:
    terms = terms_of(item.cluster)
    held = terms.counts.sign().astype(np.float64)
    size = np.log(np.maximum(terms.lengths, 1))
    total = size[:, None] + size
    weights = np.where(total > 0.0, (held @ held.T).toarray() / np.maximum(total, 1e-9), 0.0)
    np.fill_diagonal(weights, 0.0)
    degree = weights.sum(axis=1)
    weights /= np.where(degree > 0.0, degree, 1.0)[:, None]
    for damping in (0.15, 0.5):
        rank = np.full(len(size), 1.0 / len(size))
        for _ in range(60):
            rank = damping / len(size) + (1.0 - damping) * rank @ weights
        yield from _fillings(rank, f"damping {damping}, ", item, terms.vectors)


def lsa_settings(item: Item) -> Iterator[Any]:
    vectors = terms_of(item.cluster).vectors
    for topics in (1, 3, 10):
        k = min(topics, min(vectors.shape) - 1)
        rank = np.ones(vectors.shape[0])
        if k >= 1:
            U, s, _ = svds(vectors, k=k, random_state=0)
            rank = np.sqrt(U**2 @ s**2)
        yield from _fillings(rank, f"{topics} topics, ", item, vectors, (0.5, 1.0))


def kl_settings(item: Item) -> Iterator[Any]:
    terms = terms_of(item.cluster)
    sizes = np.array([len(sentence.split()) for sentence in item.cluster.sentences[: len(terms.stems)]])
    for stops, smoothing, share in product((False, True), (0.001, 0.01, 0.1, 1.0), SHARES):
        M = terms.counts if stops else terms.counts[:, ~terms.is_stop]
        whole = np.asarray(M.sum(axis=0)).ravel() / max(M.sum(), 1.0)
        words = np.asarray(M.sum(axis=1)).ravel()
        rows = np.repeat(np.arange(len(sizes)), np.diff(M.indptr))
        room = share * KINDS[item.kind]
        free = (sizes <= room) & (words > 0)
        spoken, chosen = np.zeros(M.shape[1]), []
        while free.any():
            # Only the words of a sentence change the sum of whole * log(count + smoothing) when it is added.
            before = spoken[M.indices] + smoothing
            gain = np.bincount(rows, whole[M.indices] * np.log1p(M.data / before), minlength=len(sizes))
            score = gain - np.log(spoken.sum() + words + smoothing * M.shape[1])
            best = int(np.where(free, score, -np.inf).argmax())
            chosen.append(best)
            spoken += M[best].toarray().ravel()
            room -= sizes[best]
            free[best] = False
            free &= sizes <= room
        yield f"{'all words' if stops else 'content words'}, smoothing {smoothing}, share {share}", sorted(chosen)


def submodular_settings(item: Item) -> Iterator[Any]:
    vectors = item.cluster.terms.vectors
    S = (vectors @ vectors.T).toarray()
    degree = S.sum(axis=1) - np.diagonal(S)
    sizes = np.maximum([len(sentence.split()) for sentence in item.cluster.sentences], 1)
    for weight, scaling, share in product((1.0, 2.0, 4.0, 8.0), (0.0, 0.3, 0.6, 1.0), SHARES):
        room, scale = share * KINDS[item.kind], sizes**scaling
        gain, value, chosen = degree.copy(), 0.0, []
        free = fits = sizes <= room
        while free.any():
            best = int(np.where(free, gain / scale, -np.inf).argmax())
            if gain[best] <= 0.0:
                break
            chosen.append(best)
            value += gain[best]
            room -= sizes[best]
            gain = gain - (2.0 + 2.0 * weight) * S[best]
            free = free & (sizes <= room)
            free[best] = False
        single = int(np.where(fits, degree, -np.inf).argmax())
        if fits.any() and degree[single] > value:
            chosen = [single]
        yield f"weight {weight}, scaling {scaling}, share {share}", sorted(chosen)


def package_settings(rival: PackageRival, thresholds: tuple[float | None, ...]) -> Settings:
    """LexRank of an installed package."""

    def settings(item: Item) -> Iterator[Any]:
        if len(item.cluster) > MOST_FOR_PACKAGES:
            return
        vectors = item.cluster.terms.vectors
        for threshold in thresholds:
            rival.threshold = threshold
            order = rival.rank(item.cluster)
            rank = np.zeros(len(item.cluster))
            rank[order] = -np.arange(len(order))
            yield from _fillings(rank, f"threshold {threshold}, ", item, vectors, (0.5, 1.0))

    return settings


#: Settings of ours, one changed at a time: training, or a constant of a module.
OURS: dict[str, tuple[Any, str, Any]] = {
    "as shipped": (None, "", None),
    "trained by dpp": (None, "training", "dpp"),
    "trained by logistic": (None, "training", "logistic"),
    "trained by dpp-budget": (None, "training", "dpp-budget"),
    "no weight on position": (None, "late", 0.0),
    "half the weight on position": (None, "late", 0.5),
    "twice the weight on position": (None, "late", 2.0),
    "half the sharpness": (quality, "_SHARPNESS", 0.25),
    "twice the sharpness": (quality, "_SHARPNESS", 1.0),
    "stop words 0.25": (decode, "_STOP_WEIGHT", 0.25),
    "stop words 1": (decode, "_STOP_WEIGHT", 1.0),
    "pairs 0.25": (decode, "_PAIR_WEIGHT", 0.25),
    "pairs 1": (decode, "_PAIR_WEIGHT", 1.0),
    "human length 0.6": (decode, "_HUMAN_LENGTH", 0.6),
    "human length 1": (decode, "_HUMAN_LENGTH", 1.0),
    "expected cost 0.7": (decode, "_EXPECTED", 0.7),
}


def our_settings(items: list[Item], *, other_kind: bool = False) -> Settings:
    """Ours; `other_kind`: by models that learned nothing from the kind of the cluster."""
    models: dict[Any, Callable[[Item], Summarizer]] = {}

    def model(item: Item, settings: tuple[tuple[str, Any], ...]) -> Summarizer:
        kinds = tuple(kind for kind in LEARNED if not (other_kind and kind == item.kind))
        if (settings, kinds) not in models:
            models[settings, kinds] = learn(items, kinds, **dict(settings))
        return models[settings, kinds](item)

    def settings(item: Item) -> Iterator[Any]:
        for name, (module, attribute, value) in OURS.items():
            changed = ((attribute, value), ("max_iter", 60)) if module is None and attribute else ()
            with constant(module, attribute, value):
                summary = summarize(item.cluster, KINDS[item.kind], model=model(item, changed), n_draws=FEWER_DRAWS)
            yield name, summary.text

    return settings


@contextlib.contextmanager
def constant(module: Any, name: str, value: Any) -> Iterator[None]:
    """Change a constant of a module for a while."""
    if module is None:
        yield
        return
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


GRIDS: dict[str, Settings] = {
    "lead": lead_settings,
    "LexRank": lexrank_settings,
    "TextRank": textrank_settings,
    "LSA": lsa_settings,
    "KL-sum": kl_settings,
    "submodular": submodular_settings,
}


def score_grid(settings: Settings, items: list[Item], path: Path) -> Table:
    """Scores of every setting on every cluster; a file that is there is read instead."""
    if path.exists():
        table: Table = json.loads(path.read_text(encoding="utf-8"))
        return table
    table = {}
    for item in items:
        for name, found in settings(item):
            text = found if isinstance(found, str) else " ".join(item.cluster.sentences[i] for i in found)
            scores = rouge(text, item.cluster.references, metrics=["rouge-1", "rouge-2"])
            row = [scores["rouge-1"].f, scores["rouge-2"].f, len(text.split()) / KINDS[item.kind]]
            table.setdefault(name, {})[key(item)] = row
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(table), encoding="utf-8")
    return table


def run_grids(items: list[Item], keep: Path, say: Callable[[str], None] = print) -> dict[str, Table]:
    """Tables of all systems; finished ones are kept in a folder and not run again."""
    jobs: dict[str, tuple[Settings, list[Item]]] = {name: (settings, items) for name, settings in GRIDS.items()}
    for name, rival in package_rivals(say).items():
        thresholds = (0.03, 0.1, None) if "lexrank" in name else (0.05, 0.1, 0.2)
        rival.fit([item.cluster for item in items if item.kind in LEARNED])
        jobs[name] = (package_settings(rival, thresholds), items)
    jobs[OWN] = (our_settings(items), some_news(items))
    jobs[OTHER] = (our_settings(items, other_kind=True), [item for item in items if item.kind in LEARNED])
    found = {}
    for name, (settings, tested) in jobs.items():
        found[name] = score_grid(settings, tested, keep / f"grid {name}.json")
        say(f"{name}: {len(found[name])} settings")
    return found


def tuned(table: Table, chosen_on: list[Item], tested_on: list[Item]) -> tuple[str, dict[str, list[float]]]:
    """The setting that is best on some clusters by the mean over their kinds, and its scores on others."""

    def value(name: str) -> float:
        by_kind: dict[str, list[float]] = {}
        for item in chosen_on:
            if key(item) in table[name]:
                by_kind.setdefault(item.kind, []).append(table[name][key(item)][0])
        return float(np.mean([np.mean(scores) for scores in by_kind.values()]))

    best = max(table, key=value)
    return best, {key(item): table[best][key(item)] for item in tested_on if key(item) in table[best]}
