"""All systems by one protocol, which is that of the command: whole sentences within a limit in words, nothing cut.

Scores are ROUGE-1F and ROUGE-2F with stemming, as ``diverset.text.rouge`` gives them. A model is never tested on a
cluster that it learned from: reviews and opinions are tested in five folds, news by the model of all reviews and
opinions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from diverset import summarize
from diverset.io.files import atomic_write
from diverset.text import Oracle, Random, Summarizer, rouge
from diverset.text.quality import FEATURE_GROUPS, FEATURE_NAMES
from experiments.summaries.data import FOLDS, KINDS, LEARNED, Item, some_news

__all__ = ["DEFAULT", "learn", "own_systems", "run", "score_system"]

DEFAULT = "diverset summarize"
#: Draws for the systems that are compared with the default: fewer, to save processor time.
FEWER_DRAWS = 5000
Scores = dict[str, list[float]]
System = Callable[[Item], Any]


def key(item: Item) -> str:
    return f"{item.kind}/{item.name}"


def score_system(system: System, items: Iterable[Item]) -> Scores:
    """ROUGE-1F, ROUGE-2F and the share of the limit that is used, for each cluster."""
    found = {}
    for item in items:
        text = system(item).text
        scores = rouge(text, item.cluster.references, metrics=["rouge-1", "rouge-2"])
        found[key(item)] = [scores["rouge-1"].f, scores["rouge-2"].f, len(text.split()) / KINDS[item.kind]]
    return found


def learn(items: list[Item], kinds: tuple[str, ...] = LEARNED, **settings: Any) -> Callable[[Item], Summarizer]:
    """Models by fold; each kind weighs the same."""
    models: dict[tuple[str, int], Summarizer] = {}

    def fit(kind: str, fold: int) -> Summarizer:
        used = [item for item in items if item.kind in kinds and (item.kind, item.fold) != (kind, fold)]
        sizes = {name: sum(item.kind == name for item in used) for name in kinds}
        return Summarizer(**settings).fit(
            [item.cluster for item in used],
            weights=[1.0 / sizes[item.kind] for item in used],
            limits=[KINDS[item.kind] for item in used],
        )

    def model(item: Item) -> Summarizer:
        place = (item.kind, item.fold) if item.kind in kinds else ("", FOLDS)
        if place not in models:
            models[place] = fit(*place)
        return models[place]

    return model


def ours(model: Callable[[Item], Summarizer], **options: Any) -> System:
    return lambda item: summarize(item.cluster, KINDS[item.kind], model=model(item), **options)


def own_systems(items: list[Item]) -> dict[str, Callable[[], System]]:
    """Ours: the default, random sentences and the oracle as bounds, then what was changed in the default."""
    few = {"n_draws": FEWER_DRAWS}
    systems: dict[str, Callable[[], System]] = {DEFAULT: lambda: ours(learn(items))}
    for bound in (Random(), Oracle()):
        systems[type(bound).__name__.lower()] = lambda bound=bound: (
            lambda item: bound.summarize(item.cluster, KINDS[item.kind], rng=0)
        )
    for method in ("mbr", "greedy", "sample"):
        systems[f"--method {method}"] = lambda method=method: ours(learn(items), method=method, **few)
    for training in ("regression", "dpp", "logistic", "dpp-budget"):
        for method in ("coverage", "mbr"):
            systems[f"{training}, {method}"] = lambda training=training, method=method: ours(
                learn(items, training=training, max_iter=60), method=method, **few
            )
    systems["learned from another kind"] = lambda: another_kind(items)
    systems["all qualities alike"] = lambda: ours(alike, **few)
    systems["no weight on position"] = lambda: ours(learn(items, late=0.0), **few)
    for group in FEATURE_GROUPS:
        rest = tuple(name for name in FEATURE_GROUPS if name != group)
        systems[f"without {group}"] = lambda rest=rest: ours(learn(items, groups=rest), **few)
    return systems


def another_kind(items: list[Item]) -> System:
    """Reviews by a model of opinions, opinions by a model of reviews, news by both."""
    models = {kind: learn(items, tuple(name for name in LEARNED if name != kind)) for kind in KINDS}
    return lambda item: ours(models[item.kind], n_draws=FEWER_DRAWS)(item)


def alike(item: Item) -> Summarizer:
    model = Summarizer(training="dpp", late=0.0)
    model.coef_ = np.zeros(1 + len(FEATURE_NAMES))
    return model


def run(items: list[Item], keep: Path, say: Callable[[str], None] = print) -> dict[str, Scores]:
    """Score every system; finished ones are kept in a folder and not run again."""
    found: dict[str, Scores] = {}

    def finish(name: str, tested: list[Item], build: Callable[[], System]) -> None:
        path = keep / f"{name.replace(' ', '_').replace(',', '').replace('-', '')}.json"
        if not path.exists():
            with atomic_write(path) as temporary:
                temporary.write_text(json.dumps(score_system(build(), tested)), encoding="utf-8")
        found[name] = json.loads(path.read_text(encoding="utf-8"))
        means = [np.mean([row[0] for k, row in found[name].items() if k.startswith(kind)]) for kind in KINDS]
        say(f"{name}: " + ", ".join(f"{100 * value:.2f}" for value in means))

    for name, build in own_systems(items).items():
        finish(name, items if name in (DEFAULT, "random", "oracle") else some_news(items), build)
    return found
