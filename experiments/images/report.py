"""Tables in reStructuredText."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.images.caltech import CLASSES, PICKS, Mixed
from experiments.images.coverage import Coverage
from experiments.images.mixtures import METHODS, Outcome, significance
from experiments.images.official import MEASURES
from experiments.tables import interval, list_table

__all__ = [
    "accuracy_table",
    "caltech_table",
    "coverage_table",
    "difference_table",
    "official_table",
    "weights_table",
]

MAIN = ("best MMR", "best k-DPP", "mixture MMR", "mixture k-DPP")
OURS = "mixture k-DPP"


def accuracy_table(outcomes: Mapping[str, Outcome]) -> str:
    """Table 7: percentage decided as people's clusters say, mean over splits."""
    rows = [["queries", *MAIN]]
    for name, outcome in outcomes.items():
        means = [100 * outcome.accuracy[method].mean() for method in MAIN]
        rows.append([name, *(f"**{m:.2f}**" if m == max(means) else f"{m:.2f}" for m in means)])
    return list_table(rows)


def difference_table(outcome: Outcome, query: np.ndarray) -> str:
    """All methods, and how far the mixture of k-DPPs is ahead of each, with 99% intervals."""
    rows = [["method", "what it is", "right, %", "ahead by, over splits", "over instances", "over queries"]]
    for name, what in METHODS.items():
        cells = [name, what, f"{100 * outcome.accuracy[name].mean():.2f}"]
        for over in ("splits", "instances", "queries"):
            if name == OURS:
                cells.append("")
                continue
            mean, low, high = significance(outcome, query, OURS, name, over=over)
            cells.append(f"{100 * mean:+.2f} ({100 * low:+.2f} to {100 * high:+.2f})")
        rows.append(cells)
    return list_table(rows)


def weights_table(outcome: Outcome, experts: Sequence[str], *, top: int = 6) -> str:
    """Table 8: kernels with the highest mean weights."""
    rows = [["mixture of k-DPPs", "weight", "mixture MMR", "weight"]]
    means = [outcome.weights[name].mean(axis=0) for name in ("mixture k-DPP", "mixture MMR")]
    orders = [np.argsort(-mean)[:top] for mean in means]
    for a, b in zip(*orders, strict=True):
        rows.append([experts[a], f"{means[0][a]:.2f}", experts[b], f"{means[1][b]:.2f}"])
    return list_table(rows)


def coverage_table(coverage: Coverage) -> str:
    """Table 9: percentage of virtual users better served by the k-DPP, with 99% intervals over queries."""
    share = coverage.users / coverage.users.mean()
    rows = [["similarity judged by", "better served by the k-DPP, %", "99% interval"]]
    for name, values in (
        ("single kernel, mean of 55", coverage.single.mean(axis=0)),
        ("uniform mixture", coverage.uniform),
        ("MMR's own mixture", coverage.mmr),
    ):
        low, high = interval(values, weights=share, level=0.99)
        mean = (values * share).sum() / share.sum()
        rows.append([name, f"{100 * mean:.2f}", f"{100 * low:.2f} to {100 * high:.2f}"])
    return list_table(rows)


def official_table(results: Mapping[str, np.ndarray]) -> str:
    """Measures of the task, mean over queries; and F1@10 less that of Flickr's order, with a 95% interval."""
    rows = [["method", *MEASURES, "F1@10 less Flickr's"]]
    means = {name: values.mean(axis=0) for name, values in results.items()}
    best = np.max(list(means.values()), axis=0)
    base = next(iter(results.values()))
    at = MEASURES.index("F1@10")
    for name, values in results.items():
        cells = [f"**{m:.3f}**" if m == b else f"{m:.3f}" for m, b in zip(means[name], best, strict=True)]
        difference = values[:, at] - base[:, at]
        low, high = interval(difference)
        rows.append([name, *cells, "" if values is base else f"{difference.mean():+.3f} ({low:+.3f} to {high:+.3f})"])
    return list_table(rows)


def caltech_table(mixed: Mixed) -> str:
    """Share of the classes of a folder that the picks show, mean over folders with a 95% interval."""
    rows = [["method", f"classes shown by {PICKS} picks, of {CLASSES}", "95% interval", "less random"]]
    base = mixed.recall["random"]
    features = {f"diverset, {name} alone": values for name, values in mixed.by_feature.items()}
    for name, values in (mixed.recall | features).items():
        low, high = interval(values)
        low2, high2 = interval(values - base)
        ahead = "" if name == "random" else f"{(values - base).mean():+.3f} ({low2:+.3f} to {high2:+.3f})"
        rows.append([name, f"{values.mean():.3f}", f"{low:.3f} to {high:.3f}", ahead])
    return list_table(rows)
