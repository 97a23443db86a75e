"""Tables 7 and 8: which of two candidates adds more, by single kernels and by learned mixtures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from diverset.core import KDPP
from diverset.kernels import add_constant
from diverset.learn import ComparisonTable, KDPPMixtureLearner, MMRMixtureLearner
from experiments.images.instances import PARTIAL, Collection, Instance
from experiments.tables import interval

__all__ = ["METHODS", "RHOS", "Outcome", "Tables", "read_tables", "run_splits", "significance"]

#: Constants added to all entries of a kernel; MMR does not notice them.
RHOS = (0.0, 0.1, 1.0, 10.0)
#: How hard mistakes are punished; from 10 to 300 it made no difference on instances of another seed.
GAMMA = 30.0
#: The same where probabilities are in units of the largest of all, most of which are tiny; and its rho.
GLOBAL_GAMMA = 1e4
GLOBAL_RHO = 1.0
#: Steps for MMR, whose loss is not smooth: near a kink a line search halves its step many times, which is slow.
MMR_STEPS = 60
TEST_SHARE = 0.25
METHODS = {
    "best MMR": "single kernel, chosen on the training part",
    "best k-DPP": "single kernel and rho, chosen on the training part",
    "mixture MMR": "learned weights, similarities added up",
    "mixture k-DPP": "learned weights, probabilities in units of the larger set's",
    "mixture k-DPP, global scale": "learned weights, probabilities as they are (the formula to the letter), rho 1",
    "uniform MMR": "equal weights",
    "uniform k-DPP": "equal weights, rho chosen on the training part",
}


@dataclass(frozen=True, eq=False)
class Tables:
    """Comparisons, read once: for every rho the experts' log-probabilities, and similarities for MMR."""

    experts: list[str]
    query: np.ndarray
    by_rho: dict[float, ComparisonTable]
    global_scale: ComparisonTable
    mmr: ComparisonTable


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of the splits.

    Attributes
    ----------
    accuracy : dict of str to ndarray of shape (splits,)
        Share of the test part decided rightly.
    per_instance : dict of str to ndarray of shape (instances,)
        Share of the test parts with the instance in which it was decided rightly; NaN if in none.
    weights : dict of str to ndarray of shape (splits, experts)
        Learned weights of the two mixtures.
    """

    accuracy: dict[str, np.ndarray]
    per_instance: dict[str, np.ndarray]
    weights: dict[str, np.ndarray]


def read_tables(collections: Sequence[Collection], instances: Sequence[Instance]) -> Tables:
    """Probabilities of both sets under each expert over the relevant photos, for each rho.

    What ``KDPPMixtureLearner.table`` would give, with the determinants of a query's instances taken all at once.
    """
    experts = list(collections[0].kernels)
    query = np.array([one.collection for one in instances])
    logs = {rho: np.empty((2, len(instances), len(experts))) for rho in RHOS}
    costs = np.empty((2, len(instances), PARTIAL, len(experts)))
    for t, collection in enumerate(collections):
        mine = np.flatnonzero(query == t)
        if not len(mine):
            continue
        partial = np.array([instances[i].partial for i in mine])
        candidates = [[instances[i].better for i in mine], [instances[i].worse for i in mine]]
        relevant = np.ix_(collection.relevant, collection.relevant)
        for e, S in enumerate(collection.kernels.values()):
            for side, added in enumerate(candidates):
                Y = np.column_stack([partial, added])
                costs[side, mine, :, e] = S[np.array(added)[:, None], partial]
                for rho in RHOS:
                    sign, log_det = np.linalg.slogdet(S[Y[:, :, None], Y[:, None, :]] + rho)
                    logs[rho][side, mine, e] = np.where(sign > 0, log_det, -np.inf)
            for rho in RHOS:
                L = S[relevant]
                logs[rho][:, mine, e] -= KDPP(add_constant(L, rho) if rho else L, PARTIAL + 1).log_normalizer
    m = len(experts)
    by_rho = {}
    for rho, (better, worse) in logs.items():
        largest = np.maximum(better.max(axis=1), worse.max(axis=1))
        by_rho[rho] = ComparisonTable(_learner(KDPPMixtureLearner, scaling="pair")._kind(), m, (better, worse, largest))
    better, worse = logs[GLOBAL_RHO]
    scale = np.full(len(query), max(better.max(), worse.max()))
    global_scale = ComparisonTable(_learner(KDPPMixtureLearner, scaling="global")._kind(), m, (better, worse, scale))
    mmr = ComparisonTable(_learner(MMRMixtureLearner)._kind(), m, (costs[0], costs[1]))
    return Tables(experts, query, by_rho, global_scale, mmr)


def _learner(kind: Callable[..., object], **options: object) -> object:
    return kind(**({"gamma": GAMMA, "max_iter": 200, "tol": 1e-6} | options))


def run_splits(
    tables: Tables,
    *,
    splits: int = 100,
    queries: Sequence[int] | None = None,
    step: Callable[[int], None] = lambda s: None,
) -> Outcome:
    """Random splits, three quarters for training; everything is chosen on the training part."""
    inside = np.arange(len(tables.query)) if queries is None else np.flatnonzero(np.isin(tables.query, queries))
    accuracy: dict[str, list[float]] = {name: [] for name in METHODS}
    right = {name: np.zeros(len(tables.query)) for name in METHODS}
    times = np.zeros(len(tables.query))
    weights: dict[str, list[np.ndarray]] = {"mixture MMR": [], "mixture k-DPP": []}
    for split in range(splits):
        step(split)
        order = np.random.default_rng([7, split]).permutation(inside)
        cut = round(TEST_SHARE * len(order))
        test, train = order[:cut], order[cut:]
        found = _one_split(tables, train, test, weights)
        times[test] += 1
        for name, decided in found.items():
            accuracy[name].append(float(decided.mean()))
            right[name][test] += decided
    with np.errstate(invalid="ignore"):
        per_instance = {name: total / times for name, total in right.items()}
    return Outcome(
        {name: np.array(values) for name, values in accuracy.items()},
        per_instance,
        {name: np.array(values) for name, values in weights.items()},
    )


def _one_split(
    tables: Tables, train: np.ndarray, test: np.ndarray, weights: dict[str, list[np.ndarray]]
) -> dict[str, np.ndarray]:
    """Decisions on the test part: 1 right, 0 wrong, 1/2 for a tie."""
    found: dict[str, np.ndarray] = {}
    m = len(tables.experts)
    mmr = _learner(MMRMixtureLearner, max_iter=MMR_STEPS)
    single = _singles_mmr(tables.mmr.take(train))
    found["best MMR"] = _singles_mmr(tables.mmr.take(test))[:, single.mean(axis=0).argmax()]
    mmr.fit(tables.mmr.take(train))
    weights["mixture MMR"].append(mmr.weights_)
    found["mixture MMR"] = mmr._right(tables.mmr.take(test).arrays, mmr.weights_)
    found["uniform MMR"] = mmr._right(tables.mmr.take(test).arrays, np.full(m, 1 / m))

    best_single, best_uniform = (-1.0, None), (-1.0, None)
    for table in tables.by_rho.values():
        inside, outside = table.take(train), table.take(test)
        shares = _singles(inside).mean(axis=0)
        if shares.max() > best_single[0]:
            best_single = (shares.max(), _singles(outside)[:, shares.argmax()])
        model = _learner(KDPPMixtureLearner, scaling="pair")
        share = model._right(inside.arrays, np.full(m, 1 / m)).mean()
        if share > best_uniform[0]:
            best_uniform = (share, model._right(outside.arrays, np.full(m, 1 / m)))
    found["best k-DPP"], found["uniform k-DPP"] = best_single[1], best_uniform[1]
    best = (-1.0, None, None)
    for table in tables.by_rho.values():
        model = _learner(KDPPMixtureLearner, scaling="pair").fit(table.take(train))
        share = model._right(table.take(train).arrays, model.weights_).mean()
        if share > best[0]:
            best = (share, model._right(table.take(test).arrays, model.weights_), model.weights_)
    found["mixture k-DPP"] = best[1]
    weights["mixture k-DPP"].append(best[2])
    model = _learner(KDPPMixtureLearner, scaling="global", gamma=GLOBAL_GAMMA).fit(tables.global_scale.take(train))
    found["mixture k-DPP, global scale"] = model._right(tables.global_scale.take(test).arrays, model.weights_)
    return found


def _singles(table: ComparisonTable) -> np.ndarray:
    better, worse, _ = table.arrays
    return np.where(better > worse, 1.0, np.where(better == worse, 0.5, 0.0))


def _singles_mmr(table: ComparisonTable) -> np.ndarray:
    better, worse = (side.max(axis=1) for side in table.arrays)
    return np.where(better < worse, 1.0, np.where(better == worse, 0.5, 0.0))


def significance(
    outcome: Outcome, query: np.ndarray, ours: str, other: str, *, over: str
) -> tuple[float, float, float]:
    """Mean difference of two methods with its 99% bootstrap interval.

    Resampled are ``"instances"``, whole ``"queries"`` with all their instances, or ``"splits"``; the last takes the
    instances as given: it covers the choice of the splits alone.
    """
    if over == "splits":
        difference = outcome.accuracy[ours] - outcome.accuracy[other]
        group = np.arange(len(difference))
    else:
        difference = outcome.per_instance[ours] - outcome.per_instance[other]
        known = np.isfinite(difference)
        difference = difference[known]
        group = query[known] if over == "queries" else np.arange(len(difference))
    _, group = np.unique(group, return_inverse=True)
    sums, sizes = np.bincount(group, difference), np.bincount(group)
    low, high = interval(sums / sizes, weights=sizes, level=0.99)
    return float(difference.mean()), low, high
