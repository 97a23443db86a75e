"""Tables in reStructuredText: the verdict, every system, what was changed in the default."""

from __future__ import annotations

import numpy as np

from diverset._typing import FloatArray
from experiments.summaries.data import KINDS, LEARNED, Item
from experiments.summaries.study import DEFAULT, Scores, key, own_systems
from experiments.summaries.tuning import OTHER, OWN, Table, tuned
from experiments.tables import list_table, stratified_interval

__all__ = ["tables"]

TITLES = {"t17_daily": "news, 100 words", "review_summaries": "reviews, 60 words", "opinosis": "opinions, 25 words"}


def tables(found: dict[str, Scores], grids: dict[str, Table], items: list[Item]) -> dict[str, str]:
    """Text of each file.

    Parameters
    ----------
    found : dict
        Scores of the default and of what was changed in it.
    grids : dict
        Scores of every setting of every system.
    items : list of Item
        The clusters.
    """
    develops, tests = ([item for item in items if item.develops is wanted] for wanted in (True, False))
    rivals = [name for name in grids if name not in (OWN, OTHER)]
    halves = {name: halved(grids[name], develops, tests) for name in [*rivals, OWN]}
    held_out = {name: tuned(grids[name], develops, tests)[1] for name in rivals}
    held_out[DEFAULT] = {k: row for k, row in found[DEFAULT].items() if k in {key(item) for item in tests}}
    same = {name: scores for name, scores in halves.items() if name in rivals} | {DEFAULT: halves[OWN]}
    own = [name for name in own_systems(items) if name in found and name not in (DEFAULT, "random", "oracle")]
    trained = [name for name in own if ", " in name]
    left_out = [name for name in own if name.startswith("without")]
    changed = [name for name in own if name not in trained and name not in left_out]
    everything = found | halves
    made = {
        "summaries_verdict.rst": verdict(everything, rivals),
        "summaries_held_out.rst": verdict(held_out, rivals),
        "summaries_same_tuning.rst": verdict(same, rivals),
        "summaries_systems.rst": systems(everything, [DEFAULT, OWN, *rivals, "random", "oracle"]),
        "summaries_kinds.rst": other_kinds(grids, rivals, items),
        "summaries_settings.rst": settings(grids[OWN], develops, tests),
        "summaries_chosen.rst": chosen(grids, develops, tests),
    }
    if changed:
        made["summaries_changed.rst"] = systems(found, [DEFAULT, *changed])
    if trained:
        made["summaries_training.rst"] = systems(found, trained)
    if left_out:
        made["summaries_ablation.rst"] = verdict(found, left_out)
    return made


def halved(table: Table, first: list[Item], second: list[Item]) -> Scores:
    """Scores on each half by the setting that is best on the other half."""
    return tuned(table, second, first)[1] | tuned(table, first, second)[1]


def other_kinds(grids: dict[str, Table], rivals: list[str], items: list[Item]) -> str:
    """ROUGE-1F on each kind by the setting that is best on the two other kinds."""
    rows = [["system", *TITLES.values(), "mean of the kinds"]]
    for name in [OWN, *rivals]:
        means = []
        for kind in KINDS:
            others = [item for item in items if item.kind != kind]
            setting = tuned(grids[name], others, [])[0]
            table = grids[OTHER] if name == OWN and kind in LEARNED else grids[name]
            # All on the same news: those on which ours was run.
            scores = [row[0] for k, row in table[setting].items() if k.startswith(kind) and _is_shared(k, grids)]
            means.append(100 * float(np.mean(scores)))
        rows.append([name, *(f"{mean:.1f}" for mean in means), f"{np.mean(means):.1f}"])
    return list_table(rows)


def _is_shared(k: str, grids: dict[str, Table]) -> bool:
    return any(k in scores for scores in grids[OWN].values())


def settings(table: Table, develops: list[Item], tests: list[Item]) -> str:
    """ROUGE-1F of every setting of ours on the halves."""
    rows = [["setting", *(f"{title}: {half}" for title in TITLES.values() for half in ("first half", "second half"))]]
    for name, scores in table.items():
        means = [
            np.mean([scores[key(item)][0] for item in half if item.kind == kind and key(item) in scores])
            for kind in KINDS
            for half in (develops, tests)
        ]
        rows.append([name, *(f"{100 * mean:.1f}" for mean in means)])
    return list_table(rows)


def chosen(grids: dict[str, Table], develops: list[Item], tests: list[Item]) -> str:
    """Settings of each system that are best on each half."""
    rows = [["system", "settings", "best on the first half", "best on the second half"]]
    for name, table in grids.items():
        if name != OTHER:
            rows.append([name, str(len(table)), *(tuned(table, half, [])[0] for half in (develops, tests))])
    return list_table(rows)


def differences(found: dict[str, Scores], other: str, kind: str, column: int = 0) -> FloatArray:
    """Score of the default less that of another system, on the clusters that both were tested on, times 100."""
    shared = [k for k in found[other] if k.startswith(kind) and k in found[DEFAULT]]
    return 100.0 * np.array([found[DEFAULT][k][column] - found[other][k][column] for k in shared])


def _shown(parts: list[FloatArray]) -> str:
    if any(len(part) == 0 for part in parts):
        return ""
    middle, low, high = stratified_interval(parts)
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
        if name not in found:
            continue
        cells = []
        for kind in KINDS:
            scores = np.array([row for k, row in found[name].items() if k.startswith(kind)]).reshape(-1, 3)
            cells += [f"{100 * value:.1f}" for value in scores.mean(axis=0)[:2]] + [f"{scores[:, 2].mean():.0%}"]
        rows.append([name, str(len(found[name])), *cells])
    return list_table(rows)
