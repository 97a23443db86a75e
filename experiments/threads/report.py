"""Tables with intervals, and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diverset.io.files import atomic_write
from diverset.pages.threads import COLOURS, thread_plane
from diverset.threads import DocumentGraph, ThreadScores, bootstrap_mean, compare
from experiments.tables import list_table

__all__ = [
    "Results",
    "codes_table",
    "coherence_table",
    "days_table",
    "draw_map",
    "human_table",
    "listing",
    "papers_table",
    "piles_tables",
]

#: For every system and measure, one number per collection, the mean over its draws; None where a system was not run.
Results = Mapping[str, Mapping[str, Sequence[float | None]]]
OURS = "k-SDPP, drawn"
ROUGE = ("rouge-1", "rouge-2", "rouge-su4")
DAYS = ("date F1", "concat R1", "agree R1", "align R1")


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _name(system: str, values: Sequence[float | None]) -> str:
    count = len(_known(values))
    return system if count == len(values) else f"{system} ({count} collections)"


def _cell(values: Sequence[float | None], digits: int) -> str:
    b = bootstrap_mean(_known(values))
    return f"{b.mean:.{digits}f} ({b.low:.{digits}f} to {b.high:.{digits}f})"


def _table(rows: Sequence[Sequence[str]]) -> str:
    return list_table(rows, ":widths: auto")


def human_table(results: Results) -> str:
    """The counterpart of table 10: similarity to human timelines, and drawn threads less each baseline."""
    rows = [["system", "cosine", *(f"{m.upper()} F, P / R" for m in ROUGE)]]
    for system, found in results.items():
        cells = [_cell(found["cosine"], 1)]
        for metric in ROUGE:
            both = " / ".join(f"{np.mean(_known(found[f'{metric} {part}'])):.1f}" for part in ("precision", "recall"))
            cells.append(f"{_cell(found[f'{metric} f'], 1)}, {both}")
        rows.append([_name(system, found["cosine"]), *cells])
    return _table(rows + _differences(results, ("cosine", *(f"{m} f" for m in ROUGE))))


def days_table(results: Results) -> str:
    """Scores of days: date F1 and date-aware ROUGE-1, and drawn threads less each baseline."""
    rows = [["system", *DAYS]]
    for system, found in results.items():
        rows.append([_name(system, found["cosine"]), *(_cell(found[name], 1) for name in DAYS)])
    return _table(rows + _differences(results, DAYS))


def _differences(results: Results, names: Sequence[str]) -> list[list[str]]:
    """Drawn threads less each baseline, collection by collection."""
    rows = []
    for system in results:
        if system.startswith("k-SDPP"):
            continue
        cells = []
        for name in names:
            pairs = zip(results[OURS][name], results[system][name], strict=True)
            b = bootstrap_mean([a - x for a, x in pairs if a is not None and x is not None])
            cells.append(f"{b.mean:+.1f} ({b.low:+.1f} to {b.high:+.1f})")
        rows.append([f"drawn less {_name(system, results[system]['cosine'])}", *cells])
    return rows


def coherence_table(results: Results) -> str:
    """The counterpart of table 11: coherence, and strangers found of 2."""
    rows = [["system", "mean similarity along threads", "strangers found, of 2"]]
    rows += [
        [_name(system, found["coherence"]), _cell(found["coherence"], 3), _cell(found["strangers found"], 2)]
        for system, found in results.items()
    ]
    return _table(rows)


MEASURES = {
    "one_to_one": ("one-to-one purity", 2), "told": ("events told", 2), "coherence": ("coherence", 3),
    "recurrence": ("recurrence", 3), "days": ("days reached", 3), "redundancy": ("redundancy", 3),
    "strangers": ("strangers found", 2), "chronology": ("chronology", 2),
}  # fmt: skip


def piles_tables(results: Mapping[str, Sequence[ThreadScores | None]]) -> tuple[str, str]:
    """Means of every system over the piles it was run on, and the first system less each other, with intervals."""
    names = list(MEASURES)
    means = [["system", *(MEASURES[name][0] for name in names)]]
    for system, scores in results.items():
        found = [score for score in scores if score is not None]
        cells = []
        for name in names:
            known = _known([getattr(score, name) for score in found])
            cells.append(f"{np.mean(known):.{MEASURES[name][1]}f}" if known else "")
        means.append([system if len(found) == len(scores) else f"{system} ({len(found)} piles)", *cells])
    first, *others = results
    gaps = [[f"{first} less", *(MEASURES[name][0] for name in names[:5])]]
    for system in others:
        pairs = [pair for pair in zip(results[first], results[system], strict=True) if None not in pair]
        differences = compare([a for a, _ in pairs if a is not None], [b for _, b in pairs if b is not None])
        cells = []
        for name in names[:5]:
            b, digits = differences.get(name), MEASURES[name][1]
            shown = "" if b is None else f"{b.mean:+.{digits}f} ({b.low:+.{digits}f} to {b.high:+.{digits}f})"
            cells.append(shown)
        gaps.append([system, *cells])
    return _table(means), _table(gaps)


def codes_table(rows: Sequence[Sequence[Any]]) -> str:
    """Systems on the newswire: purity by topic code, codes told, formulaic threads, repeated documents."""
    head = ["system", "purity by code", "one-to-one", "codes told", "formulaic threads of 10", "documents twice"]
    return _table([head, *([str(cell) for cell in row] for row in rows)])


def papers_table(rows: Sequence[Sequence[Any]]) -> str:
    """Systems on papers with known subjects."""
    return _table([["papers", "system", "purity", "one-to-one", "subjects told"], *rows])


def listing(graph: DocumentGraph, threads: Sequence[Any], titles: Sequence[str], days: Sequence[str] | None) -> str:
    """Threads with their words, dates and titles, as a literal block."""
    lines = ["::", ""]
    for t, thread in enumerate(threads, start=1):
        lines.append(f"   {t}. {' '.join(graph.words(thread))}")
        for i in thread.tolist():
            when = "" if days is None else f"{days[i]}  "
            lines.append(f"      {when}{titles[i][:95]}")
        lines.append("")
    return "\n".join(lines)


def draw_map(path: Path, graph: DocumentGraph, threads: Sequence[Any], title: str) -> None:
    """Documents in the plane of the threads' centroids, threads in colour with their words (figure 26)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6.5), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    plane = thread_plane(graph.vectors, threads)
    shown = np.random.default_rng(0).permutation(len(plane))[:3000]
    axes.plot(*plane[shown].T, ".", color="#b8bec6", markersize=2.5, alpha=0.6, zorder=1)
    axes.margins(0.24, 0.16)
    for t, thread in enumerate(threads):
        axes.plot(*plane[thread].T, "o-", color=COLOURS[t % len(COLOURS)], markersize=7, linewidth=1.2, zorder=3)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    step = 0.075 * (high - low)
    places = _label_places([plane[thread] for thread in threads], 0.3 * (right - left), step)
    for t, ((x, y), thread) in enumerate(zip(places, threads, strict=True)):
        words = graph.words(thread, 6)
        axes.annotate(
            f"{t + 1}  {' '.join(words[:3])}\n{' '.join(words[3:])}", (x, y), ha="center", va="center",
            color=COLOURS[t % len(COLOURS)], fontsize=9.5, fontweight="bold", zorder=4,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1.0},
        )  # fmt: skip
    heights = [y for _, y in places]
    axes.set_ylim(min(low, min(heights) - step), max(high, max(heights) + step))
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(title, loc="left", fontsize=11)
    with atomic_write(path) as temporary:
        figure.savefig(temporary)


def _label_places(threads: Sequence[Any], wide: float, step: float) -> list[tuple[float, float]]:
    """Above the highest point of each thread or below its lowest, as near as no point and no other label is covered."""
    points = np.concatenate(list(threads))
    places: list[tuple[float, float]] = []
    for own in threads:
        (top_x, top_y), (low_x, low_y) = own[np.argmax(own[:, 1])], own[np.argmin(own[:, 1])]
        shifts = [(0.6 + n) * step for n in range(len(threads) + 1)]
        around = [place for d in shifts for place in ((float(top_x), top_y + d), (float(low_x), low_y - d))]
        for x, y in around:
            apart = all(abs(x - a) >= wide or abs(y - b) >= step for a, b in places)
            clear = (np.abs(points - (x, y)) >= (0.5 * wide, 0.5 * step)).any(axis=1).all()
            if apart and clear:
                break
        places.append((x, float(y)))
    return places
