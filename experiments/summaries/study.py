"""Choose dials on development clusters, learn, and score every system on the test clusters."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from diverset._files import atomic_write
from diverset.text import (
    Begin,
    Cluster,
    LexRank,
    Oracle,
    Random,
    RelevanceMMR,
    Submodular,
    Summarizer,
    Summary,
    rouge,
    word_counts,
)
from diverset.text.budget import Budget
from diverset.text.decode import draw_between, greedy_summary, least_risk
from diverset.text.features import FEATURE_GROUPS
from experiments.summaries.data import Fold, Task
from experiments.summaries.packages import package_rivals

__all__ = ["ABLATIONS", "COLUMNS", "Study", "bootstrap", "run"]

COLUMNS = ("R-1F", "R-1P", "R-1R", "R-2F", "R-SU4F")
ABLATIONS: dict[str, tuple[str, ...]] = {
    "all but constant": ("constant",),
    "all but length": ("length",),
    "all but position": ("position",),
    "all but similarity": ("similarity",),
    "all but LexRank": ("lexrank",),
    "all but pronouns": ("pronouns",),
    "all but similarity, LexRank": ("similarity", "lexrank"),
}
SCALES = (1.0, 4.0, 16.0, 64.0, 256.0)
#: Dials of both learned models, chosen one after the other; the first setting of each is where the search begins.
GRIDS = {"oracle_scaling": (0.5, 0.0), "rho": (0.7, 0.35, 1.0), "prior_variance": (1.0, 0.1, 10.0, 100.0)}
ALPHAS = (0.1, 0.3, 0.5, 0.7, 0.9)
LAMBDAS = (1.0, 4.0, 10.0)
EXPONENTS = (0.0, 0.3, 1.0)
#: Draws of the largest pool, and the sizes of the smaller ones that it is cut into.
POOL, SIZES = 5000, (100, 1000, 5000)
_FIT = {"tol": 1e-3, "max_iter": 200}


@dataclass
class Study:
    """Scores of every system on every test cluster, seconds each took, and the dials chosen in each fold.

    ``drawing`` holds for every cluster how many draws were made, how many were in the window, and how many were used:
    more than were in the window where shorter ones had to help out.
    """

    scores: dict[str, dict[int, list[float]]] = field(default_factory=lambda: defaultdict(dict))
    seconds: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    dials: list[dict[str, Any]] = field(default_factory=list)
    drawing: dict[int, list[int]] = field(default_factory=dict)

    def add(self, other: Study) -> None:
        """Take over what another study found on other clusters."""
        for name, found in other.scores.items():
            self.scores[name].update(found)
        for name, spent in other.seconds.items():
            self.seconds[name].update(spent)
        self.dials += other.dials
        self.drawing |= other.drawing

    def to_json(self) -> str:
        """As text."""
        return json.dumps(
            {"scores": self.scores, "seconds": self.seconds, "dials": self.dials, "drawing": self.drawing}
        )

    @classmethod
    def from_json(cls, text: str) -> Study:
        """What :meth:`to_json` wrote; keys of JSON are texts, those of clusters numbers."""
        stored, study = json.loads(text), cls()
        for name, found in stored["scores"].items():
            study.scores[name] = {int(t): row for t, row in found.items()}
        for name, spent in stored["seconds"].items():
            study.seconds[name] = {int(t): value for t, value in spent.items()}
        study.dials = stored["dials"]
        study.drawing = {int(t): row for t, row in stored["drawing"].items()}
        return study


def score(text: str, references: Sequence[str]) -> list[float]:
    """The five numbers of the seed's table 4."""
    found = rouge(text, references, metrics=("rouge-1", "rouge-2", "rouge-su4"))
    one = found["rouge-1"]
    return [one.f, one.precision, one.recall, found["rouge-2"].f, found["rouge-su4"].f]


def mean_f(clusters: Iterable[Cluster], summarize: Callable[[Cluster], Summary]) -> float:
    """Mean ROUGE-1F, by which dials are chosen."""
    return float(np.mean([rouge(summarize(c).text, c.references, metrics=["rouge-1"])["rouge-1"].f for c in clusters]))


def mean_f_of_factors(model: Summarizer, clusters: Sequence[Cluster], max_bytes: int) -> list[float]:
    """Mean ROUGE-1F of greedy summaries for each of ``SCALES``; the kernel of a cluster is made once."""
    budget = Budget("bytes", max_bytes)
    found = np.zeros((len(clusters), len(SCALES)))
    for row, cluster in zip(found, clusters, strict=True):
        summary = model.summarize(cluster, max_bytes=max_bytes)
        costs = budget.costs([cluster.sentences[i] for i in summary.candidates])
        for s, scale in enumerate(SCALES):
            text = summary.text
            if summary.kernel is not None:
                chosen = summary.candidates[greedy_summary(scale * summary.kernel.L, costs, budget.room)]
                text = " ".join(cluster.sentences[i] for i in np.sort(chosen))
            row[s] = rouge(text, cluster.references, metrics=["rouge-1"])["rouge-1"].f
    means: list[float] = found.mean(axis=0).tolist()
    return means


def best(candidates: Iterable[Any], value: Callable[[Any], float]) -> Any:
    """The first of the best candidates."""
    listed = list(candidates)
    return listed[int(np.argmax([value(candidate) for candidate in listed]))]


def tune(task: Task, fold: Fold, training: str, say: Callable[[str], None]) -> Summarizer:
    """Choose oracle, rho, prior and the factor of greedy decoding, one after the other, by ROUGE-1F of summaries."""
    learn, develop = ([task.clusters[t] for t in part] for part in (fold.learn, fold.develop))
    dials: dict[str, Any] = {name: grid[0] for name, grid in GRIDS.items()}
    cache: dict[Any, tuple[float, float]] = {}
    oracles: dict[float, list[Any]] = {}

    def value(trial: dict[str, Any]) -> float:
        key = tuple(sorted(trial.items()))
        if key not in cache:
            model = Summarizer(training=training, max_bytes=task.max_bytes, **trial, **_FIT)
            scaling = trial["oracle_scaling"]
            oracles[scaling] = model.fit(learn, oracles.get(scaling)).oracles_
            found = mean_f_of_factors(model, develop, task.max_bytes)
            cache[key] = max(found), SCALES[int(np.argmax(found))]
            say(f"{training} {trial}: {cache[key][0]:.4f} with factor {cache[key][1]:g}")
        return cache[key][0]

    for name, grid in GRIDS.items():
        dials = best(({**dials, name: setting} for setting in grid), value)
    value(dials)
    return Summarizer(
        training=training,
        max_bytes=task.max_bytes,
        greedy_scale=cache[tuple(sorted(dials.items()))][1],
        **dials,
        **_FIT,
    )


def run(
    task: Task,
    *,
    seed: int = 0,
    every: int = 1,
    say: Callable[[str], None] = print,
    keep: Path | None = None,
) -> Study:
    """All systems on all folds; minimum-Bayes-risk decoding, the slow one, on every so-manieth test cluster.

    With a folder to ``keep`` results in, what is there already is read and not run again: the systems of a fold, and
    every cluster that was decoded by risk. So a run with ``every=4`` may be followed by one with all clusters.
    """
    study = Study()
    for number, fold in enumerate(task.folds):
        path = None if keep is None else keep / f"{task.name}_fold{number}_seed{seed}.json"
        found = Study() if path is None or not path.exists() else Study.from_json(path.read_text(encoding="utf-8"))
        save = partial(_save, found, path)
        say(f"fold {number + 1} of {len(task.folds)}")
        if not found.dials:
            _compare(task, fold, found, seed, say)
            save()
        tested = [t for t in fold.test if t % every == 0]
        if left := [t for t in tested if t not in found.drawing]:
            model = Summarizer(**found.dials[0]["dpp"]).fit([task.clusters[t] for t in [*fold.learn, *fold.develop]])
            _decode_by_risk(task, left, model, found, seed, save)
        for size in SIZES:
            say(f"dpp-mbr{size}: {np.mean([found.scores[f'dpp-mbr{size}'][t][0] for t in tested]):.4f}")
        study.add(found)
    return study


def _save(study: Study, path: Path | None) -> None:
    if path is not None:
        with atomic_write(path) as temporary:
            temporary.write_text(study.to_json(), encoding="utf-8")


def _compare(task: Task, fold: Fold, study: Study, seed: int, say: Callable[[str], None]) -> None:
    """All systems of a fold but those that decode by risk."""
    limit = {"max_bytes": task.max_bytes}
    develop = [task.clusters[t] for t in fold.develop]
    everything = [task.clusters[t] for t in [*fold.learn, *fold.develop]]

    def test(name: str, summarize: Callable[[Cluster], Summary]) -> None:
        for t in fold.test:
            started = time.perf_counter()
            text = summarize(task.clusters[t]).text
            study.seconds[name][t] = time.perf_counter() - started
            study.scores[name][t] = score(text, task.clusters[t].references)
        say(f"{name}: {np.mean([study.scores[name][t][0] for t in fold.test]):.4f}")

    test("oracle", lambda c: Oracle().summarize(c, **limit))
    test("begin", lambda c: Begin().summarize(c, **limit))
    test("random", lambda c: Random().summarize(c, rng=seed, **limit))
    central = LexRank().fit(everything)
    test("lexrank", lambda c: central.summarize(c, **limit))
    for name, rival in package_rivals(say).items():
        rival.fit(everything)
        chosen = best(
            map(rival.at, rival.thresholds), lambda trial: mean_f(develop, lambda c: trial.summarize(c, **limit))
        )
        test(name, lambda c, chosen=chosen: chosen.summarize(c, **limit))
    cut = Submodular().fit(everything)
    pair = best(
        ((weight, power) for weight in LAMBDAS for power in EXPONENTS),
        lambda pair: mean_f(
            develop, lambda c: cut.set_params(redundancy=pair[0], scaling=pair[1]).summarize(c, **limit)
        ),
    )
    cut.set_params(redundancy=pair[0], scaling=pair[1])
    test("submod1", lambda c: cut.summarize(c, **limit))
    logistic = tune(task, fold, "logistic", say)
    small = Summarizer(**logistic.get_params()).fit([task.clusters[t] for t in fold.learn])
    alpha = best(ALPHAS, lambda a: mean_f(develop, lambda c: RelevanceMMR(small, alpha=a).summarize(c, **limit)))
    logistic.fit(everything)
    marginal = RelevanceMMR(logistic, alpha=alpha)
    test("lr+mmr", lambda c: marginal.summarize(c, **limit))
    test("lr+dpp", lambda c: logistic.summarize(c, **limit))
    model = tune(task, fold, "dpp", say)
    dials = {"lr": logistic.get_params(), "dpp": model.get_params(), "alpha": alpha, "submod1": list(pair)}
    model.fit(everything)
    test("dpp-greedy", lambda c: model.summarize(c, **limit))
    test("dpp-map-local", lambda c: model.summarize(c, method="map-local", **limit))
    printed = model.greedy_scale
    model.set_params(greedy_scale=1.0)
    test("dpp-algorithm-6", lambda c: model.summarize(c, **limit))
    model.set_params(greedy_scale=printed)
    for name, without in ABLATIONS.items():
        groups = tuple(group for group in FEATURE_GROUPS if group not in without)
        less = Summarizer(**{**model.get_params(), "groups": groups}).fit(everything)
        test(name, lambda c, less=less: less.summarize(c, **limit))
    study.dials.append(dials)


def _decode_by_risk(
    task: Task, tested: list[int], model: Summarizer, study: Study, seed: int, save: Callable[[], None]
) -> None:
    """MBR from one pool of draws per cluster, cut into as many smaller pools as it holds; scores are means of those.

    Draws of 99 to 102% of the budget are kept, as the seed's 660 to 680 of 665 bytes, and the summary is cut at it.
    """
    budget = Budget("bytes", task.max_bytes)
    low, high = round(0.9925 * task.max_bytes) + 1, round(1.0225 * task.max_bytes) + 1
    for t in tested:
        cluster = task.clusters[t]
        started = time.perf_counter()
        kernel, candidates, costs = _kernel(model, cluster, high, budget)
        counts = word_counts([cluster.sentences[i] for i in candidates])
        draws = draw_between(kernel.dpp(costs, None), costs, low, high, POOL, rng=seed)
        drawing = time.perf_counter() - started
        for size in SIZES:
            pools = [draws.sets[i : i + size] for i in range(0, len(draws.sets) - size + 1, size)] or [draws.sets]
            found = []
            started = time.perf_counter()
            for pool in pools:
                if not pool:
                    found.append(score(model.summarize(cluster, max_bytes=task.max_bytes).text, cluster.references))
                    continue
                chosen = np.sort(candidates[pool[least_risk(pool, counts)[0]]])
                text = " ".join(cluster.sentences[i] for i in chosen).encode()[: task.max_bytes]
                found.append(score(text.decode("utf-8", "ignore"), cluster.references))
            study.scores[f"dpp-mbr{size}"][t] = np.mean(found, axis=0).tolist()
            spent = (time.perf_counter() - started) / len(pools) + drawing * min(1.0, size / POOL)
            study.seconds[f"dpp-mbr{size}"][t] = spent
        inside = sum(int(costs[items].sum()) >= low for items in draws.sets)
        study.drawing[t] = [draws.n_drawn, inside, len(draws.sets)]
        save()


def _kernel(model: Summarizer, cluster: Cluster, high: int, budget: Budget) -> tuple[Any, Any, Any]:
    summary = model.summarize(cluster, max_bytes=high)
    costs = budget.costs([cluster.sentences[i] for i in summary.candidates])
    return summary.kernel, summary.candidates, costs


def bootstrap(values: Sequence[float], *, seed: int = 0, rounds: int = 2000) -> tuple[float, float]:
    """95% interval of a mean, by resampling clusters."""
    array = np.asarray(values)
    rng = np.random.default_rng(seed)
    means = array[rng.integers(0, len(array), (rounds, len(array)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
