"""What summaries of real clusters cost: ``python -m experiments.summaries.runtime --data ../shared/data``.

Of each data set the clusters of middle size; of the news also whole articles, about 250 sentences, as in the runtimes
of the seed. Times are medians over three clusters, with the default model, from texts (so that cutting them into
sentences counts); tf-idf vectors and LexRank get the sentences. Alone on the machine, or the figures mean little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from diverset._files import atomic_write
from diverset.errors import DiversetError
from diverset.text import Cluster, LexRank, default_summarizer
from experiments.summaries.data import BUDGETS, DATA_SETS, read_task
from experiments.summaries.packages import package_rivals
from experiments.summaries.report import list_table

__all__ = ["main", "rows"]

CLUSTERS, REPEATS = 3, 5
#: Clusters from which rivals count words, which is not part of their time.
LEARN = 30


def middle(clusters: list[Cluster], size: int | None) -> list[Cluster]:
    """Those whose number of sentences is nearest to this, or to the median."""
    sizes = np.array([len(cluster) for cluster in clusters])
    wanted = np.median(sizes) if size is None else size
    return [clusters[t] for t in np.argsort(np.abs(sizes - wanted), kind="stable")[:CLUSTERS]]


def seconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """The shortest of a few runs, after one to warm up."""
    if repeats > 1:
        call()
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return min(taken)


def times(texts: list[str], rivals: dict[str, Any], limit: dict[str, int]) -> dict[str, float]:
    """Seconds for one cluster, by the name of the row."""
    model, sentences = default_summarizer(), list(Cluster(texts).sentences)
    found = {"sentences": float(len(sentences))}
    found["tf-idf vectors"] = seconds(lambda: model.tfidf_.vectors(sentences))
    found["greedy"] = seconds(lambda: model.summarize(texts, **limit))
    model.summarize(texts, method="mbr", n_samples=10, rng=0, **limit)
    for R in (100, 1000, 5000):
        risk = partial(model.summarize, texts, method="mbr", n_samples=R, rng=0, **limit)
        found[f"minimum Bayes risk, R = {R:,}"] = seconds(risk, 1)
    for name, rival in rivals.items():
        found[name] = seconds(partial(rival.summarize, Cluster([sentences]), **limit), 2)
    return found


def rows(clusters: list[Cluster], learn: list[Cluster], max_bytes: int, say: Callable[[str], None]) -> dict[str, str]:
    """Medians over the clusters, as text, by the name of the row."""
    rivals: dict[str, Any] = {"LexRank, ours": LexRank().fit(learn)}
    rivals |= {f"LexRank, package {name.split('-')[0]}": one.fit(learn) for name, one in package_rivals(say).items()}
    found: dict[str, list[float]] = {}
    for cluster in clusters:
        texts = [" ".join(document) for document in cluster.documents]
        for name, value in times(texts, rivals, {"max_bytes": max_bytes}).items():
            found.setdefault(name, []).append(value)
    middle_of = {name: statistics.median(values) for name, values in found.items()}
    cells = {name: _time(value) for name, value in middle_of.items() if name != "sentences"}
    ratio = middle_of["greedy"] / middle_of["tf-idf vectors"]
    cells["greedy"] += f" ({ratio:.1f} x tf-idf)"
    return {"sentences": f"{middle_of['sentences']:.0f}"} | cells


def _time(value: float) -> str:
    return f"{value:.2f} s" if value >= 0.1 else f"{1000 * value:.1f} ms"


def main(arguments: list[str] | None = None) -> int:
    """Time every data set that is there, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.summaries.runtime", description=__doc__)
    data = os.environ.get("DIVERSET_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of the public data (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="where the table goes (%(default)s)")
    options = parser.parse_args(arguments)
    columns: dict[str, dict[str, str]] = {}
    for name in DATA_SETS:
        try:
            clusters = read_task(name, options.data).clusters
            whole = read_task(name, options.data, most=10_000).clusters if name == "t17_daily" else []
        except DiversetError as error:
            print(f"{name}: skipped: {error}", file=sys.stderr)
            continue
        columns[name] = rows(middle(clusters, None), clusters[:LEARN], BUDGETS[name], print)
        if whole:
            columns["t17_daily, whole articles"] = rows(middle(whole, 250), clusters[:LEARN], 665, print)
        print(name, columns[name], flush=True)
    if columns:
        names = list(dict.fromkeys(row for column in columns.values() for row in column))
        table = [["", *columns], *([row, *(column.get(row, "") for column in columns.values())] for row in names)]
        with atomic_write(options.out / "summaries_runtime.rst") as temporary:
            temporary.write_text(list_table(table), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
