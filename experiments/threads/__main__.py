"""Run the experiment: ``python -m experiments.threads --data ../shared/data --out docs/images``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diverset.errors import DiversetError, MissingExtraError
from diverset.threads import ThreadModel, ThreadScores
from diverset.threads.found import day_of
from experiments.tables import write
from experiments.threads.data import DEVELOPMENT, read_aan, read_cora, read_timelines
from experiments.threads.newswire import (
    END,
    FIRST,
    FRESH_END,
    FRESH_FIRST,
    FRESH_LARGE,
    FRESH_WEEKS,
    LARGE,
    WEEKS,
    code_scores,
    weeks,
)
from experiments.threads.papers import labelled_scores
from experiments.threads.piles import make_piles, read_events
from experiments.threads.report import (
    codes_table,
    coherence_table,
    days_table,
    draw_map,
    human_table,
    listing,
    papers_table,
    piles_tables,
)
from experiments.threads.search import tune
from experiments.threads.systems import OURS, score_piles, tuned
from experiments.threads.systems import SYSTEMS as PILE_SYSTEMS
from experiments.threads.timelines import MEASURES, SYSTEMS, Settings, Trial, development_score, scores

GRID: dict[str, Sequence[Any]] = {
    "beta": [0.25, 0.5, 1.0, 3.0, 6.0],
    "importance": [0.0, 0.5],
    "rho": [0.0, 4.0, 16.0, 64.0],
    "smoothing": [0, 2],
    "balance": [0.0, 0.5, 1.0],
    "threshold": [0.02, 0.05, 0.1, 0.2],
}
#: Piles that settings were chosen on, of even articles, and piles of odd articles that are scored.
DEVELOPMENT_SEEDS, HELD_OUT_SEEDS = range(3), range(6, 9)
#: Threads of one region repel each other, and no region crowds out the others.
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


def piles(data: Path, out: Path) -> None:
    """Piles of several events: settings are chosen on even articles; new piles of odd articles are scored once.

    Scores of baselines are kept in ``threads_development.json`` and ``threads_piles.json``: delete these files to run
    the baselines again.
    """
    events = read_events(data)
    development, held_out = make_piles(events, 0, DEVELOPMENT_SEEDS), make_piles(events, 1, HELD_OUT_SEEDS)
    stored = out / "threads_piles_search.json"
    known = json.loads(stored.read_text()) if stored.exists() else {}
    for part, own in (("development", development), ("piles", held_out)):
        results, scores = {}, out / f"threads_{part}.json"
        before = json.loads(scores.read_text()) if scores.exists() else {}
        for name in PILE_SYSTEMS:
            if name != OURS and name in before:
                results[name] = [row and ThreadScores(**row) for row in before[name]]
                continue
            begin = time.perf_counter()
            settings = tuned(name, development, known)
            write(stored, json.dumps(known, indent=0) + "\n")
            results[name] = score_piles(name, settings, own)
            print(f"{part}: {name} in {time.perf_counter() - begin:.0f} s", flush=True)
        assert next(iter(results)) == OURS
        rows = {name: [score and score.to_dict() for score in found] for name, found in results.items()}
        write(scores, json.dumps(rows) + "\n")
        for name, table in zip((part, f"{part}_differences"), piles_tables(results), strict=True):
            write(out / f"threads_{name}.rst", table)


def reuters(data: Path, out: Path) -> None:
    """Newswire: purity by topic code, weeks with events named beforehand, threads; then once for other weeks."""
    for events in (LARGE, FRESH_LARGE):
        missed = [event for event, share, _ in weeks(data, events) if share <= 0.5]
        print(f"reuters: {len(events) - len(missed)} of {len(events)} large events are told, not {missed}", flush=True)
    for part, first, end, events in (("", FIRST, END, WEEKS), ("_fresh", FRESH_FIRST, FRESH_END, FRESH_WEEKS)):
        rows, found = code_scores(data, first, end)
        write(out / f"threads_codes{part}.rst", codes_table(rows))
        for event, share, name in weeks(data, events):
            print(f"reuters: {event}: {share:.0%} of the items of the thread {name!r} tell it", flush=True)
        titles, times = found.corpus.titles, found.corpus.times
        lines = ["::", ""]
        for t, thread in enumerate(found.places):
            lines.append(f"   {t + 1}  {found.names[t]}")
            lines += [f"      {day_of(times[i])[5:10]}  {titles[i][:90]}" for i in thread.tolist()]
        write(out / f"threads_reuters{part}.rst", "\n".join(lines) + "\n")


def papers(data: Path, out: Path) -> None:
    """Papers with known subjects: purity by venue and by class."""
    write(out / "threads_papers.rst", papers_table(labelled_scores(data)))


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
    "timeline17": timelines,
    "piles": piles,
    "reuters21578": reuters,
    "papers": papers,
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
