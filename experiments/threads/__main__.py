"""Run the experiment: ``python -m experiments.threads --data ../shared/data --out docs/images``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from diverset.apps.thread_page import day_of
from diverset.errors import DiversetError, MissingExtraError
from diverset.threads import ThreadModel, coherence, document_graph, interlopers_found, kmeans_threads, tune
from experiments.threads.data import DEVELOPMENT, read_aan, read_cora, read_reuters, read_timelines
from experiments.threads.piles import GRID as PILE_GRID
from experiments.threads.piles import make_piles, pile_score, pile_scores
from experiments.threads.report import (
    coherence_table,
    days_table,
    draw_map,
    draw_neighbours,
    draw_timeline,
    human_table,
    listing,
    piles_table,
    stories_table,
    write,
)
from experiments.threads.stories import invented_news, news_scores
from experiments.threads.systems import MEASURES, SYSTEMS, Settings, Trial, development_score, scores

GRID = {
    "beta": [0.25, 0.5, 1.0, 3.0, 6.0],
    "importance": [0.0, 0.5],
    "rho": [0.0, 4.0, 16.0, 64.0],
    "smoothing": [0, 2],
    "balance": [0.0, 0.5, 1.0],
    "threshold": [0.02, 0.05, 0.1, 0.2],
}
#: What the command has: the model tells regions of the graph apart, and none crowds out the others.
REGIONS: dict[str, Any] = {"smoothing": 2, "balance": 0.5}


def timelines(data: Path, out: Path) -> None:
    """Human timelines: settings from the collections of one event, scores on those of all others."""
    collections = read_timelines(data)
    development = [c for c in collections if c.name.startswith(DEVELOPMENT)]
    held_out = [c for c in collections if not c.name.startswith(DEVELOPMENT)]
    print(f"timeline17: {len(development)} collections choose the settings, {len(held_out)} are reported", flush=True)
    found = tune(
        lambda **settings: development_score(development, Settings(**settings)),
        GRID,
        output=out / "threads_search.json",
    )
    print(f"timeline17: {found.best}, mean cosine {found.score:.3f}", flush=True)
    stored = out / "threads_timeline17.json"
    results = json.loads(stored.read_text()) if stored.exists() else {}
    for name, system in SYSTEMS.items():
        if name in results:
            continue
        own: dict[str, list[float | None]] = {}
        begin = time.perf_counter()
        try:
            for collection in held_out:
                trial = Trial(collection, Settings(**found.best))
                draws = [scores(trial, threads) for threads in system(trial)]
                for measure in MEASURES:
                    mean = float(np.mean([draw[measure] for draw in draws])) if draws else None
                    own.setdefault(measure, []).append(mean)
        except MissingExtraError as error:
            print(f"{name}: skipped: {error}", file=sys.stderr)
            continue
        results[name] = own
        write(stored, json.dumps(results, indent=1) + "\n")
        print(f"timeline17: {name} in {time.perf_counter() - begin:.0f} s", flush=True)
    ordered = {name: results[name] for name in SYSTEMS if name in results}
    write(out / "threads_human.rst", human_table(ordered))
    write(out / "threads_days.rst", days_table(ordered))
    write(out / "threads_coherence.rst", coherence_table(ordered))


def stories(data: Path, out: Path) -> None:
    """The invented news of the package, which need no data: seven threads, six, and six without the weather."""
    names = {"purity": "purity", "matched": "one-to-one purity", "coverage": "stories told"}
    for file, k, routine in (("", 7, True), ("_six", 6, True), ("_without_weather", 6, False)):
        found = news_scores(*invented_news(routine=routine), k)
        write(out / f"threads_stories{file}.rst", stories_table(found, names))
        print(f"stories: {k} threads{'' if routine else ', without the weather'}", flush=True)


def piles(data: Path, out: Path) -> None:
    """Piles of articles about six events: settings from half of the articles, scores on the other half."""
    collections = read_timelines(data)
    chosen = make_piles(collections, 0, range(2))
    found = tune(lambda **settings: pile_score(chosen, **settings), PILE_GRID, output=out / "threads_piles_search.json")
    text = max(
        (row for row in found.tried if not row["smoothing"] and not row["balance"]), key=lambda row: row["score"]
    )
    plain = {name: value for name, value in text.items() if name != "score"}
    print(f"piles: {found.best}, one-to-one purity {found.score:.3f}; as in the text {plain}", flush=True)
    held_out = make_piles(collections, 1, range(2, 4))
    write(out / "threads_piles.rst", piles_table(pile_scores(held_out, found.best, plain)))


def reuters(data: Path, out: Path) -> None:
    """Seven weeks of newswire: ten threads of eight, and how long they take."""
    corpus = read_reuters(data)
    begin = time.perf_counter()
    # Bond issues and money market reports repeat each other word for word; edges between repeats are left out.
    graph = document_graph(corpus, threshold=0.15, max_similarity=0.5, min_documents=5)
    built = time.perf_counter()
    model = ThreadModel(graph.graph, length=8, k=10, beta=(0.0, 1.0), rng=0, **REGIONS)
    draws = model.sample(20, rng=0)
    drawn = time.perf_counter()
    best = sorted(model.best(), key=lambda thread: corpus.times[thread[0]])
    found = time.perf_counter()
    clusters = kmeans_threads(graph.vectors, corpus.times, k=10, length=8, rng=0)
    clustered = time.perf_counter()
    print(
        f"reuters: {graph.graph}; graph {built - begin:.1f} s, 20 sets {drawn - built:.1f} s, "
        f"best {found - drawn:.1f} s, k-means {clustered - found:.1f} s",
        flush=True,
    )
    draw_timeline(
        out / "threads_reuters.png", graph, best, "Reuters, 26 February to 13 April 1987: ten threads of eight"
    )
    # Of the threads, that with a middling number of edges, since the most are between repeats; of its articles the
    # best connected that has some before and after it.
    edges = graph.graph.edges
    degrees = np.diff(edges.indptr) + np.bincount(edges.indices, minlength=edges.shape[0])
    typical = sorted(best, key=lambda thread: degrees[thread].max())[len(best) // 2]
    hub = int(max(typical[2:-2], key=lambda i: degrees[i]))
    draw_neighbours(
        out / "threads_neighbours.png",
        graph,
        hub,
        corpus.titles,
        "One article of a thread, and the articles most like it",
    )
    write(out / "threads_reuters.rst", listing(graph, best, corpus.titles, [day_of(t)[5:10] for t in corpus.times]))
    for name, sets in {"k-SDPP, drawn": draws, "k-SDPP, best": [best], "k-means": [clusters]}.items():
        near = np.mean([coherence(graph.vectors, threads) for threads in sets])
        strangers = np.mean([interlopers_found(graph.vectors, threads, trials=5, rng=0) for threads in sets])
        print(f"reuters: {name}: coherence {near:.3f}, strangers found {strangers:.2f} of 2", flush=True)


def aan(data: Path, out: Path) -> None:
    """Computational linguistics along its citations."""
    graph, titles = read_aan(data)
    print(f"aan: {graph.graph}", flush=True)
    model = ThreadModel(graph.graph, length=5, k=4, beta=(0.0, 1.0), rng=0, **REGIONS)
    threads = list(model.best())
    draw_map(
        out / "threads_aan.png", graph, threads, f"ACL Anthology, {graph.graph.n_nodes:,} papers: four threads of five"
    )
    years = [str(int(t)) for t in graph.graph.times]
    write(out / "threads_aan.rst", listing(graph, threads, titles, years))


def cora(data: Path, out: Path) -> None:
    """The text's own source, in part: titles as bags of words."""
    graph, titles = read_cora(data)
    print(f"cora_titles: {graph.graph}", flush=True)
    model = ThreadModel(graph.graph, length=5, k=4, beta=(0.1, 1.0), rng=0, **REGIONS)
    threads = list(model.best())
    draw_map(out / "threads_cora.png", graph, threads, f"Cora, {graph.graph.n_nodes:,} papers: four threads of five")
    write(out / "threads_cora.rst", listing(graph, threads, titles, None))


PARTS: dict[str, Callable[[Path, Path], None]] = {
    "stories": stories,
    "timeline17": timelines,
    "piles": piles,
    "reuters21578": reuters,
    "aan": aan,
    "cora_titles": cora,
}


def main(arguments: list[str] | None = None) -> int:
    """Run the parts; one whose data are missing is named and left out."""
    parser = argparse.ArgumentParser(prog="python -m experiments.threads", description=__doc__)
    data = os.environ.get("DIVERSET_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of the public data (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="where tables go (%(default)s)")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS), metavar="NAME")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.parts:
        try:
            PARTS[name](options.data, options.out)
        except (DiversetError, MissingExtraError) as error:
            print(f"{name}: skipped: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
