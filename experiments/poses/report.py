"""The counterpart of figure 21, a table of what was found, and all numbers in CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from diverset.io.files import atomic_write
from experiments.poses.data import DATA_SETS, TORSO
from experiments.poses.scores import METHODS, N_DRAWS, OWN, RADII, Result, difference
from experiments.tables import list_table

__all__ = ["HEADINGS", "csv_rows", "draw", "table"]

HEADINGS = ["images", "score", "method", "radius_in_torsos", "mean", "half_of_95_interval"]
COLOURS = {"SDPP": "#c8102e", "non-max": "#1f4e8c", "independent": "#2e8b57"}
MARKS = {"SDPP": "o", "non-max": "s", "independent": "^"}
#: Radii shown in the table, as places in RADII: 0.3, 0.5 and 0.8 of a torso.
SHOWN = (2, 4, 7)


def draw(path: Path, results: Mapping[str, Result]) -> None:
    """One row of panels per data set: F1, F1 of the arms, precision and recall, by radius with 95% intervals."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(results), 3, figsize=(11, 3.6 * len(results)), sharex=True, squeeze=False, layout="constrained"
    )
    x = RADII / TORSO
    for row, (name, result) in zip(axes, results.items(), strict=True):
        for method in METHODS:
            look = {"color": COLOURS[method], "capsize": 2.0, "linewidth": 1.4, "markersize": 4}
            for ax, which in ((row[0], "f1"), (row[1], "arms")):
                mean, half = result.curve(which, method)
                ax.errorbar(x, mean, half, label=method, marker=MARKS[method], **look)
            mean, half = result.curve("precision", method)
            row[2].errorbar(x, mean, half, linestyle="--", label=f"{method}, precision", **look)
            mean, half = result.curve("recall", method)
            row[2].errorbar(x, mean, half, marker="o", label=f"{method}, recall", **look)
        titles = ("F1, all parts", "F1, arms", "precision (dashed) and recall (circles)")
        for ax, title in zip(row, titles, strict=True):
            ax.set(ylim=(0.0, 1.0), title=f"{title}\n{DATA_SETS[name]}", xlabel="radius, in torso lengths")
            ax.title.set_fontsize(9)
            ax.tick_params(labelbottom=True)
            ax.grid(alpha=0.3)
        row[0].set_ylabel(f"mean over {len(result.people)} images")
        row[0].legend(loc="lower right", fontsize=8)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], metadata={"Date": None})
    plt.close(figure)


def _signed(mean: float, half: float) -> str:
    return f"{mean:+.3f} ± {half:.3f}"


def table(results: Mapping[str, Result]) -> str:
    """F1, precision and recall at some radii, and by how much the SDPP exceeds the others, as a list-table."""
    head = ["images", "radius", "method", "F1", "arms F1", "precision", "recall", "F1 of the SDPP less this"]
    rows = [head]
    for name, result in results.items():
        for at in SHOWN:
            for method in METHODS + OWN:
                means = [f"{result.curve(which, method)[0][at]:.3f}" for which in ("f1", "arms", "precision", "recall")]
                gap = ""
                if not method.startswith("SDPP"):
                    mean, half = difference(result, "f1", method)
                    gap = _signed(mean[at], half[at])
                rows.append([name, f"{RADII[at] / TORSO:.1f} torso", method, *means, gap])
    lines = [list_table(rows, None)]
    for name, result in results.items():
        s = result.settings
        betas = ", ".join(f"{beta:g} for {method}" for method, beta in s.baseline_betas.items())
        lines += [
            f"{name}: {len(result.people)} test images, {result.people.mean():.2f} people on average, {N_DRAWS} sets "
            f"drawn for each, {result.sizes.mean():.2f} poses in a set. Chosen on the training images: "
            f"beta {s.beta:g}, sigma {s.sigma / TORSO:g} torso, log gamma {s.log_gamma:.2f} (expected size {s.size:g} "
            f"times the number of people); beta {betas}; "
            + ", ".join(f"{k} poses for {method}" for method, k in s.own_k.items())
            + ".",
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def csv_rows(results: Mapping[str, Result]) -> Iterator[list[str]]:
    """Every mean with half of its 95% interval (see `HEADINGS`)."""
    for name, result in results.items():
        for which in ("f1", "arms", "precision", "recall"):
            curves = {method: result.curve(which, method) for method in METHODS + OWN}
            others = (*METHODS[1:], OWN[1])
            curves |= {f"SDPP less {other}": difference(result, which, other) for other in others}
            for method, (mean, half) in curves.items():
                for r, m, h in zip(RADII / TORSO, mean, half, strict=True):
                    yield [name, which, method, f"{r:.1f}", f"{m:.4f}", f"{h:.4f}"]
