"""Tables in reStructuredText, all numbers in CSV, and the picture."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diverset._files import atomic_write
from experiments.selection.scores import DEPTHS, DIALS, METHODS, METRICS, Scores, interval, tuned, tuned_dials

__all__ = ["candidates_table", "draw", "list_table", "tables", "write_csv", "write_tables"]

COLOURS = {
    "select": "#c8102e",
    "MMR": "#1f4e8c",
    "max-sum": "#2e8b57",
    "max-min": "#d97706",
    "facility location": "#7c3aed",
    "top-k": "#444444",
    "random": "#999999",
}
SIGNS = {"select": "o", "MMR": "s", "max-sum": "^", "max-min": "v", "facility location": "D"}
TITLES = {
    "div400": "div400: photos, human clusters",
    "ir_cranfield": "Cranfield, merged queries (stand-in)",
    "ir_cisi": "CISI, merged queries (stand-in)",
    "trec_web_diversity": "TREC, simulated pages (stand-in)",
}


def tables(name: str, scores: Scores) -> dict[str, str]:
    """The tables of a data set: tuned methods against each other, and the main measures along the dial."""
    return {
        f"selection_{name}_tuned.rst": _tuned(scores),
        f"selection_{name}_dial.rst": _along_the_dial(name, scores),
    }


def candidates_table(found: Mapping[str, Mapping[str, float]], counts: Mapping[str, int]) -> str:
    """What the candidates of each data set are like: one line per set."""
    names = list(next(iter(found.values())))
    rows = [["data", "queries", *names]]
    for name, values in found.items():
        numbers = [f"{values[n]:.0f}" if n == "candidates" else f"{values[n]:.2f}" for n in names]
        rows.append([name, str(counts[name]), *numbers])
    return list_table(rows)


def _tuned(scores: Scores) -> str:
    """Each method with its dial chosen by cross-validation, and its difference to ours with an interval."""
    parts = []
    ours = tuned(scores, "select", "alpha-nDCG", 10)
    for depth in DEPTHS:
        means = {method: [tuned(scores, method, metric, depth).mean() for metric in METRICS] for method in METHODS}
        best = np.max(list(means.values()), axis=0)
        rows = [["method", "dial", *METRICS, *(["alpha-nDCG less that of select"] if depth == 10 else [])]]
        for method, (_, has_dial) in METHODS.items():
            cells = [f"**{m:.3f}**" if m == b else f"{m:.3f}" for m, b in zip(means[method], best, strict=True)]
            dials = sorted({DIALS[row] for row in tuned_dials(scores, method)})
            line = [method, ", ".join(f"{dial:g}" for dial in dials) if has_dial else "", *cells]
            if depth == 10:
                difference = tuned(scores, method, "alpha-nDCG", 10) - ours
                low, high = interval(difference)
                line.append("" if method == "select" else f"{difference.mean():+.3f} ({low:+.3f} to {high:+.3f})")
            rows.append(line)
        parts.append(f"At {depth}, with the dial that suits each method:\n\n{list_table(rows)}")
    return "\n".join(parts)


def _along_the_dial(name: str, scores: Scores) -> str:
    parts = []
    for metric in ("subtopic recall", "F1", "alpha-nDCG"):
        at = METRICS.index(metric)
        best = max(scores[method, 10][:, at].mean(axis=1).max() for method in METHODS)
        rows = [["diversity", *METHODS]]
        for row, dial in enumerate(DIALS):
            means = [scores[method, 10][row, at].mean() for method in METHODS]
            rows.append([f"{dial:g}", *(f"**{m:.3f}**" if m == best else f"{m:.3f}" for m in means)])
        words = {"subtopic recall": "Cluster recall" if name == "div400" else "Subtopic recall"}.get(metric, metric)
        parts.append(f"{words} at 10, mean of all queries:\n\n{list_table(rows)}")
    return "\n".join(parts)


def list_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows, the first of them headings, as a table in reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", "   :class: numbers", ""]
    for row in rows:
        lines += [f"   {'* -' if at == 0 else '  -'} {cell}".rstrip() for at, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def write_tables(out: Path, found: Mapping[str, str]) -> list[Path]:
    """Write the tables, each under its name."""
    paths = []
    for name, text in found.items():
        with atomic_write(out / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
        paths.append(out / name)
    return paths


def write_csv(path: Path, results: Mapping[str, Scores]) -> Path:
    """All means with their intervals: one line per data set, method, depth, dial and measure."""
    with atomic_write(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data", "method", "depth", "diversity", "measure", "queries", "mean", "low", "high"])
        for name, scores in results.items():
            for (method, depth), table in scores.items():
                for row, dial in enumerate(DIALS if METHODS[method][1] else DIALS[:1]):
                    for at, metric in enumerate(METRICS):
                        values = table[row, at]
                        low, high = interval(values)
                        setting = dial if METHODS[method][1] else ""
                        numbers = [f"{number:.4f}" for number in (values.mean(), low, high)]
                        writer.writerow([name, method, depth, setting, metric, len(values), *numbers])
    return path


def draw(path: Path, results: Mapping[str, Scores]) -> Path:
    """Left, alpha-nDCG along the dial; right, precision against recall, each curve one method from dial 0 to 1."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "diverset"
    from matplotlib import pyplot as plt

    rows = len(results)
    figure, axes = plt.subplots(rows, 2, figsize=(9.5, 3.3 * rows + 0.5), layout="constrained", squeeze=False)
    for (name, scores), (left, right) in zip(results.items(), axes, strict=True):
        _along(left, scores)
        _against(right, scores)
        left.set_title(TITLES.get(name, name), fontsize=11, loc="left")
        recall = "cluster" if name == "div400" else "subtopic"
        right.set(xlabel="precision at 10", ylabel=f"{recall} recall at 10")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(METHODS), frameon=False, columnspacing=1.2)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    return path


def _along(axes: Any, scores: Scores) -> None:
    at = METRICS.index("alpha-nDCG")
    for method, (_, has_dial) in METHODS.items():
        values = scores[method, 10][:, at]
        mean = values.mean(axis=1)
        if not has_dial:
            axes.axhline(mean[0], color=COLOURS[method], linestyle="--" if method == "top-k" else ":", label=method)
            continue
        if method == "select":
            low, high = np.array([interval(row) for row in values]).T
            axes.fill_between(DIALS, low, high, color=COLOURS[method], alpha=0.12, linewidth=0)
        axes.plot(DIALS, mean, color=COLOURS[method], marker=SIGNS[method], markersize=4, label=method)
    axes.set(xlabel="diversity", ylabel="alpha-nDCG at 10", xlim=(-0.03, 1.03))


def _against(axes: Any, scores: Scores) -> None:
    recall, precision = METRICS.index("subtopic recall"), METRICS.index("precision")
    for method, (_, has_dial) in METHODS.items():
        mean = scores[method, 10].mean(axis=2)
        if has_dial:
            axes.plot(mean[:, precision], mean[:, recall], color=COLOURS[method], marker=SIGNS[method], markersize=4)
        else:
            sign = "*" if method == "top-k" else "X"
            axes.plot(mean[0, precision], mean[0, recall], sign, color=COLOURS[method], markersize=11, zorder=5)
