"""Tables in reStructuredText: the verdict, every system, what was changed in the default."""

from __future__ import annotations

import numpy as np

from diverset._typing import FloatArray
from experiments.summaries.data import KINDS, Item
from experiments.summaries.study import DEFAULT, Scores, key, own_systems, rival_systems

__all__ = ["interval", "list_table", "tables"]

TITLES = {"t17_daily": "news, 100 words", "review_summaries": "reviews, 60 words", "opinosis": "opinions, 25 words"}


def tables(found: dict[str, Scores], items: list[Item]) -> dict[str, str]:
    """Text of each file."""
    rivals = [name for name in rival_systems() if name in found and name not in ("oracle", "random")]
    packages = [name for name in found if name.startswith("LexRank (")]
    own = [name for name in own_systems(items) if name in found and name != DEFAULT]
    changed = [name for name in own if not name.startswith("without")]
    return {
        "summaries_verdict.rst": verdict(found, [*rivals, *packages]),
        "summaries_systems.rst": systems(found, [DEFAULT, *rivals, *packages, "random", "oracle"]),
        "summaries_changed.rst": systems(found, [DEFAULT, *changed]),
        "summaries_ablation.rst": verdict(found, [name for name in own if name.startswith("without")]),
        "summaries_held_out.rst": verdict(
            {name: {k: v for k, v in scores.items() if k in _tested(items)} for name, scores in found.items()},
            [*rivals, *packages],
        ),
    }


def _tested(items: list[Item]) -> set[str]:
    return {key(item) for item in items if not item.develops}


def differences(found: dict[str, Scores], other: str, kind: str, column: int = 0) -> FloatArray:
    """Score of the default less that of another system, on the clusters that both were tested on, times 100."""
    shared = [k for k in found[other] if k.startswith(kind) and k in found[DEFAULT]]
    return 100.0 * np.array([found[DEFAULT][k][column] - found[other][k][column] for k in shared])


def interval(parts: list[FloatArray], *, rounds: int = 4000) -> tuple[float, float, float]:
    """Mean over kinds of mean differences, with a 95% interval by resampling clusters within each kind."""
    rng = np.random.default_rng(0)
    means = np.mean([part[rng.integers(0, len(part), (rounds, len(part)))].mean(axis=1) for part in parts], axis=0)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(np.mean([part.mean() for part in parts])), float(low), float(high)


def _shown(parts: list[FloatArray]) -> str:
    if any(len(part) == 0 for part in parts):
        return ""
    middle, low, high = interval(parts)
    return f"{middle:+.2f} ({low:+.2f} to {high:+.2f})"


def verdict(found: dict[str, Scores], rivals: list[str]) -> str:
    """How much better the default is than each rival, in ROUGE-1F."""
    rows = [["default less ...", *TITLES.values(), "mean of the kinds", "ROUGE-2F, mean of the kinds"]]
    for rival in rivals:
        parts = [differences(found, rival, kind) for kind in KINDS]
        pairs = [differences(found, rival, kind, 1) for kind in KINDS]
        rows.append([rival, *(_shown([part]) for part in parts), _shown(parts), _shown(pairs)])
    return list_table(rows)


def systems(found: dict[str, Scores], names: list[str]) -> str:
    """ROUGE-1F and ROUGE-2F of each system, and the share of the limit that it uses."""
    head = [f"{title}: {column}" for title in TITLES.values() for column in ("R-1F", "R-2F", "used")]
    rows = [["system", "clusters", *head]]
    for name in names:
        cells = []
        for kind in KINDS:
            scores = np.array([row for k, row in found[name].items() if k.startswith(kind)]).reshape(-1, 3)
            cells += [f"{100 * value:.1f}" for value in scores.mean(axis=0)[:2]] + [f"{scores[:, 2].mean():.0%}"]
        rows.append([name, str(len(found[name])), *cells])
    return list_table(rows)


def list_table(rows: list[list[str]]) -> str:
    """A table with one header row."""
    lines = [".. list-table::", "   :header-rows: 1", "   :class: numbers", ""]
    for row in rows:
        lines += [f"   {'* -' if c == 0 else '  -'} {cell}".rstrip() for c, cell in enumerate(row)]
    return "\n".join(lines) + "\n"
