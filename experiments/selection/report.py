"""The table of tuned dials, all means along the dial, and their picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diverset.io.files import atomic_write
from experiments.selection.scores import ALPHA, DIALS, METHODS, METRICS, Scores, tuned_rows
from experiments.tables import interval, list_table

__all__ = ["HEADINGS", "NAMES", "dial_rows", "draw", "tuned_table"]

HEADINGS = ("data", "method", "diversity", "measure", "queries", "mean", "low", "high")
NAMES = {
    "div400": "div400",
    "ir_cranfield": "Cranfield",
    "ir_cisi": "CISI",
    "reuters21578": "Reuters",
    "trec_web_diversity": "TREC",
}
#: Colour and marker of each method; methods without a dial are drawn as lines.
STYLES = {
    "select": ("#c8102e", "o"),
    "MMR": ("#1f4e8c", "s"),
    "max-sum": ("#2e8b57", "^"),
    "max-min": ("#d97706", "v"),
    "facility location": ("#7c3aed", "D"),
    "top-k": ("#444444", "--"),
    "random": ("#999999", ":"),
}


def tuned_table(results: Mapping[str, Scores]) -> str:
    """alpha-nDCG with the dial that cross-validation chose, and the difference to ours paired by query."""
    rows = [["method", *(NAMES[name] for name in results)]]
    for method, (_, has_dial) in METHODS.items():
        line = [method]
        for scores in results.values():
            every = np.arange(scores[method].shape[2])
            ours, values = (scores[m][tuned_rows(scores, m), ALPHA, every] for m in ("select", method))
            dials = ", ".join(f"{dial:g}" for dial in sorted({DIALS[row] for row in tuned_rows(scores, method)}))
            low, high = interval(values - ours)
            difference = "" if method == "select" else f"; {(values - ours).mean():+.3f}, {low:+.3f} to {high:+.3f}"
            line.append(f"{values.mean():.3f} ({f'dial {dials}' if has_dial else 'no dial'}{difference})")
        rows.append(line)
    return list_table(rows)


def dial_rows(results: Mapping[str, Scores]) -> Iterator[Sequence[Any]]:
    """All means with their intervals: one row per data set, method, dial and measure (see `HEADINGS`)."""
    for name, scores in results.items():
        for method, table in scores.items():
            for row, dial in enumerate(DIALS if METHODS[method][1] else DIALS[:1]):
                for values, metric in zip(table[row], METRICS, strict=True):
                    yield name, method, str(dial), metric, len(values), float(values.mean()), *interval(values)


def draw(path: Path, results: Mapping[str, Scores]) -> Path:
    """alpha-nDCG along the dial, one panel per data set, with an interval for ``select``."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "diverset"
    from matplotlib import pyplot as plt

    rows = -(-len(results) // 2)
    figure, grid = plt.subplots(rows, 2, figsize=(9.5, 3.2 * rows + 0.5), layout="constrained", squeeze=False)
    for axes in grid.flat[len(results) :]:
        axes.set_visible(False)
    for (name, scores), axes in zip(results.items(), grid.flat, strict=False):
        for method, (_, has_dial) in METHODS.items():
            colour, sign = STYLES[method]
            values = scores[method][:, ALPHA]
            if not has_dial:
                axes.axhline(values[0].mean(), color=colour, linestyle=sign, label=method)
                continue
            if method == "select":
                low, high = np.array([interval(row) for row in values]).T
                axes.fill_between(DIALS, low, high, color=colour, alpha=0.12, linewidth=0)
            axes.plot(DIALS, values.mean(axis=1), color=colour, marker=sign, markersize=4, label=method)
        axes.set(xlabel="diversity", ylabel="alpha-nDCG at 10", xlim=(-0.03, 1.03))
        axes.set_title(NAMES[name], fontsize=11, loc="left")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(METHODS), frameon=False, columnspacing=1.2)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    return path
