"""Tables in reStructuredText: systems, ablation, decoding by risk."""

from __future__ import annotations

import numpy as np

from experiments.summaries.study import ABLATIONS, COLUMNS, Study, bootstrap

__all__ = ["list_table", "tables"]

SYSTEMS = (
    "random", "begin", "lexrank", "lexrank-package", "sumy-package", "submod1", "lr+mmr", "lr+dpp", "dpp-algorithm-6",
    "dpp-map-local", "dpp-greedy", "dpp-mbr100", "dpp-mbr1000", "dpp-mbr5000", "oracle",
)  # fmt: skip
RISK = ("dpp-mbr100", "dpp-mbr1000", "dpp-mbr5000")


def tables(name: str, study: Study) -> dict[str, str]:
    """One file per table of the seed."""
    return {
        f"summaries_{name}_systems.rst": _systems(study),
        f"summaries_{name}_ablation.rst": _ablation(study),
        f"summaries_{name}_risk.rst": _risk(study),
    }


def _systems(study: Study) -> str:
    """ROUGE of every system, and the difference of each to dpp-greedy on the clusters that it was tested on."""
    rows = [["system", "clusters", *COLUMNS, "R-1F less that of dpp-greedy on the same clusters"]]
    for system in SYSTEMS:
        if system not in study.scores:  # a package that is not installed
            continue
        tested = sorted(study.scores[system])
        found = np.array([study.scores[system][t] for t in tested])
        ours = np.array([study.scores["dpp-greedy"][t] for t in tested])
        cells = [str(len(tested)), *(f"{100 * value:.2f}" for value in found.mean(axis=0))]
        rows.append([system, *cells, "" if system == "dpp-greedy" else _difference(found[:, 0] - ours[:, 0])])
    return list_table(rows)


def _ablation(study: Study) -> str:
    rows = [["features", "R-1F", "R-1P", "R-1R", "R-1F less that of all"]]
    tested = sorted(study.scores["dpp-greedy"])
    ours = np.array([study.scores["dpp-greedy"][t] for t in tested])
    for name in ["all", *ABLATIONS]:
        found = ours if name == "all" else np.array([study.scores[name][t] for t in tested])
        cells = [f"{100 * value:.2f}" for value in found[:, :3].mean(axis=0)]
        rows.append([name, *cells, "" if name == "all" else _difference(found[:, 0] - ours[:, 0])])
    return list_table(rows)


def _risk(study: Study) -> str:
    """What more draws bring: differences of R-1F within clusters, and what the draws took."""
    rows = [["decoding", "against", "clusters", "difference of R-1F"]]
    pairs = [(RISK[0], "dpp-greedy"), *zip(RISK[1:], RISK, strict=False)]
    pairs += [(RISK[-1], other) for other in (RISK[0], "dpp-greedy", "lr+dpp", "lr+mmr", "submod1", "lexrank")]
    for ours, other in pairs:
        tested = sorted(study.scores[ours])
        values = np.array([study.scores[ours][t][0] - study.scores[other][t][0] for t in tested])
        rows.append([ours, other, str(len(tested)), _difference(values)])
    return list_table(rows)


def _difference(values: np.ndarray) -> str:
    low, high = bootstrap((100 * values).tolist())
    return f"{100 * values.mean():+.2f} ({low:+.2f} to {high:+.2f})"


def list_table(rows: list[list[str]]) -> str:
    """A table of reStructuredText; the first row is its head."""
    lines = [".. list-table::", "   :header-rows: 1", "   :class: numbers", ""]
    for row in rows:
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"
