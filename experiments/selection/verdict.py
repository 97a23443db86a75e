"""Tables of the methods at their default settings: the verdict first, then where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from experiments.selection.defaults import FACTORS, MEASURES, POOLS, SCALES, Found, Setting, held_back
from experiments.selection.report import NAMES
from experiments.tables import interval, list_table

__all__ = [
    "HEADINGS", "RETRIEVAL", "default_rows", "default_tables", "dial_table", "exactly_top", "factor_table",
    "scale_table",
]  # fmt: skip

PRECISION, ALPHA, NEAR, OVERLAP = range(len(MEASURES))
#: Precision is judged on these; Reuters' codes are coarse, so that most of what is found counts as relevant.
RETRIEVAL = ("ir_cranfield", "ir_cisi")
HEADINGS = "data merged scores vectors common method measure queries mean difference low high".split()
#: Mean overlap with top-k by data set, and by number of candidates, method and scale of the scores.
Overlaps = Mapping[str, Mapping[tuple[int, str, str], float]]


def default_tables(found: Found, overlaps: Overlaps) -> dict[str, str]:
    """The verdict over all methods, what the default of ``select`` must reach, and the details."""
    methods = [method for method in dict.fromkeys(method for _, method in found) if method != "top-k"]
    return {
        "selection_verdict.rst": _verdict(found, methods, overlaps),
        "selection_bars.rst": _bars(found, overlaps),
        "selection_precision.rst": _precision(found, methods),
        "selection_alpha.rst": _alpha(found, methods),
    }


def _kept(found: Found, method: str) -> dict[Setting, float]:
    """Precision as a share of top-k's by setting of the single queries."""
    return {
        setting: float(values[PRECISION].mean() / found[setting, "top-k"][PRECISION].mean())
        for setting, values in _of(found, method)
        if not setting.merged and setting.data in RETRIEVAL
    }


def _gains(found: Found, method: str) -> dict[str, np.ndarray]:
    """alpha-nDCG less top-k's of each query, by data set and vectors: the mean with and without a common vector."""
    gains: dict[str, list[np.ndarray]] = {}
    for setting, values in _of(found, method):
        if setting.merged:
            name = NAMES[setting.data] + ("" if setting.vectors == "own" else f", {setting.vectors}")
            gains.setdefault(name, []).append(values[ALPHA] - found[setting, "top-k"][ALPHA])
    return {name: np.mean(parts, axis=0) for name, parts in gains.items()}


def _sets(gains: Mapping[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """The gains by vectors of each data set."""
    sets: dict[str, dict[str, np.ndarray]] = {}
    for name, values in gains.items():
        sets.setdefault(name.split(",")[0], {})[name] = values
    return sets


def _mean_of_sets(gains: Mapping[str, np.ndarray]) -> float:
    """Each data set counts once, independent of the number of its vectors and queries."""
    return float(np.mean([np.mean([values.mean() for values in by.values()]) for by in _sets(gains).values()]))


def _near_left(found: Found, method: str) -> float:
    """Near-duplicates among the picks as a share of those in top-k, over all settings and queries."""
    pairs = [(values[NEAR].sum(), found[setting, "top-k"][NEAR].sum()) for setting, values in _of(found, method)]
    ours, top = np.sum(pairs, axis=0)
    return float(ours / max(top, 1.0))


def _spread(overlaps: Overlaps, method: str) -> float:
    """The largest range of the overlap over score scales, of all data sets and numbers of candidates; NaN if none."""
    tables = [values for values in overlaps.values() if (POOLS[0], method, "BM25") in values]
    ranges = [np.ptp([values[n, method, scale] for scale in SCALES]) for values in tables for n in POOLS]
    return float(max(ranges, default=np.nan))


def _verdict(found: Found, methods: Sequence[str], overlaps: Overlaps) -> str:
    headings = ("precision kept, worst", "precision kept, mean", "alpha-nDCG less top-k's, worst", "mean of sets")
    rows = [["method", *headings, "near-duplicates left", "spread over score scales"]]
    for method in methods:
        kept, gains = list(_kept(found, method).values()) or [np.nan], _gains(found, method)
        numbers = [f"{min(kept):.2f}", f"{np.mean(kept):.2f}", f"{min(g.mean() for g in gains.values()):+.3f}"]
        numbers += [f"{_mean_of_sets(gains):+.3f}", f"{_near_left(found, method):.2f}"]
        numbers += [f"{_spread(overlaps, method):.2f}"]
        name = f"**{method}**" if method == "select" else method
        rows.append([name, *("" if number == "nan" else number for number in numbers)])
    return list_table(rows)


def _bars(found: Found, overlaps: Overlaps) -> str:
    """What the default must reach, over all queries and over those that took no part in choosing it."""
    half = {key: values[:, held_back(values.shape[1])] for key, values in found.items()}
    rows = [["at the default settings", "aim", "all queries", "queries held back"]]

    def add(what: str, aim: str, form: str, values: Sequence[float], holds: Sequence[bool]) -> None:
        cells = [
            f"{value:{form}}" if good else f"**{value:{form}}**" for value, good in zip(values, holds, strict=True)
        ]
        rows.append([what, aim, *cells])

    kept, gains = [_kept(one, "select") for one in (found, half)], [_gains(one, "select") for one in (found, half)]
    for data in dict.fromkeys(setting.data for setting in kept[0]):
        worst = [min(share for setting, share in one.items() if setting.data == data) for one in kept]
        what = f"precision kept, {NAMES[data]}, worst setting"
        add(what, "at least 0.85", ".2f", worst, [value >= 0.85 for value in worst])
    for data, names in _sets(gains[0]).items():
        # The mean of a set's vectors must reach the aim; its rows by vectors have none, and are bold likewise.
        means = [_mean_of_sets(_sets(one)[data]) for one in gains]
        what = f"alpha-nDCG less top-k's, {data}"
        add(what, "at least -0.005", "+.3f", means, [value >= -0.005 for value in means])
        for name in names if len(names) > 1 else ():
            means = [float(one[name].mean()) for one in gains]
            add(f"by vectors: {name}", "", "+.3f", means, [value >= -0.005 for value in means])
    means = [_mean_of_sets(one) for one in gains]
    add("alpha-nDCG less top-k's, mean of sets", "above 0", "+.3f", means, [value > 0.0 for value in means])
    near = [_near_left(one, "select") for one in (found, half)]
    add("near-duplicates left, share of top-k's", "at most 1/3", ".2f", near, [value <= 1 / 3 for value in near])
    spread = _spread(overlaps, "select")
    add("spread over score scales", "at most 0.15", ".2f", [spread], [spread <= 0.15])
    rows[-1].append("")
    return list_table(rows)


def _precision(found: Found, methods: Sequence[str]) -> str:
    """Precision by data set and score, and the difference to top-k paired by query: means over kinds of vectors."""
    cells = dict.fromkeys((s.data, s.scorer) for s, _ in found if not s.merged and s.data in RETRIEVAL)
    rows = [["method", *(f"{NAMES[data]}, {scorer}" for data, scorer in cells)]]
    for method in ("top-k", *methods):
        line = [method]
        for cell in cells:
            settings = [s for s, _ in _of(found, method) if not s.merged and (s.data, s.scorer) == cell]
            ours, top = (np.mean([found[s, m][PRECISION] for s in settings], axis=0) for m in (method, "top-k"))
            low, high = interval(ours - top)
            difference = "" if method == "top-k" else f" ({(ours - top).mean():+.3f}, {low:+.3f} to {high:+.3f})"
            line.append(f"{ours.mean():.3f}{difference}")
        rows.append(line)
    return list_table(rows)


def _alpha(found: Found, methods: Sequence[str]) -> str:
    """alpha-nDCG less top-k's by data set and vectors; bold where the interval excludes zero."""
    columns = list(_gains(found, "select"))
    rows = [["method", *columns]]
    for method in methods:
        gains = _gains(found, method)
        line = [method]
        for column in columns:
            low, high = interval(gains[column]) if column in gains else (0.0, 0.0)
            text = f"{gains[column].mean():+.3f}" if column in gains else ""
            line.append(f"**{text}**" if low > 0.0 or high < 0.0 else text)
        rows.append(line)
    return list_table(rows)


def scale_table(overlaps: Overlaps) -> str:
    """Overlap with top-k of the same ranking in different units."""
    rows = [["data", "candidates", "method", *SCALES, "spread"]]
    for data, values in overlaps.items():
        for n in POOLS:
            for method in dict.fromkeys(method for _, method, _ in values):
                line = [values[n, method, scale] for scale in SCALES]
                rows.append([NAMES[data], str(n), method, *(f"{v:.2f}" for v in line), f"{np.ptp(line):.2f}"])
    return list_table(rows)


def dial_table(dials: Mapping[str, Mapping[tuple[str, str, bool, float], float]]) -> str:
    """Overlap with top-k along the dial by method and vectors, without and with a common vector: mean of data sets."""
    keys = sorted(next(iter(dials.values())), reverse=True)
    settings = sorted({dial for *_, dial in keys})
    rows = [["method", "vectors", "common vector", *(f"{dial:g}" for dial in settings)]]
    for method, vectors, common in dict.fromkeys(key[:3] for key in keys):
        means = [np.mean([values[method, vectors, common, dial] for values in dials.values()]) for dial in settings]
        rows.append([method, vectors, "yes" if common else "no", *(f"{mean:.2f}" for mean in means)])
    return list_table(rows)


def exactly_top(found: Found, method: str = "select") -> float:
    """Share of queries on which a method picks exactly the top-k."""
    return float(np.mean(np.concatenate([values[OVERLAP] for _, values in _of(found, method)]) == 1.0))


def factor_table(found: Found, regrouped: Found) -> str:
    """What each doubling of the rank may cost; `regrouped` has the queries of `found`, followed by more merged ones."""
    own = {key: values[:, : found[key[0], "top-k"].shape[1]] for key, values in regrouped.items()}
    columns = {f"{factor:g}": dict(_of_factor(own, regrouped, f"{factor:g}")) for factor in FACTORS}
    rows = [[what, *(column[what] for column in columns.values())] for what in next(iter(columns.values()))]
    return list_table([["cost of each doubling of the rank", *columns], *rows])


def _of_factor(own: Found, regrouped: Found, method: str) -> Iterator[tuple[str, str]]:
    """Rows of one factor, and their figures."""
    gains, more = _gains(own, method), _sets(_gains(regrouped, method))
    for data, by in _sets(gains).items():
        if data in (NAMES[name] for name in RETRIEVAL):
            n, m = (len(next(iter(values.values()))) for values in (by, more[data]))
            yield f"alpha-nDCG less top-k's, {data}, {n} queries", f"{_mean_of_sets(by):+.3f}"
            yield f"with {m - n} more merged queries, {data}", f"{_mean_of_sets(more[data]):+.3f}"
            for name, values in more[data].items():
                yield f"with {m - n} more, by vectors: {name}", f"{values.mean():+.3f}"
    yield "alpha-nDCG less top-k's, mean of sets", f"{_mean_of_sets(gains):+.4f}"
    yield "near-duplicates left, share of top-k's", f"{_near_left(own, method):.2f}"
    for vectors in dict.fromkeys(setting.vectors for setting, _ in own if setting.vectors != "own"):
        part = {key: values for key, values in own.items() if key[0].vectors == vectors}
        yield f"by vectors: {vectors}", f"{_near_left(part, method):.2f}"
    yield "queries with exactly the top-k", f"{exactly_top(own, method):.0%}"


def default_rows(found: Found) -> Iterator[Sequence[Any]]:
    """All means, and differences to top-k with intervals: one row per setting, method and measure (`HEADINGS`)."""
    for (setting, method), table in found.items():
        kind = (setting.data, setting.merged, setting.scorer, setting.vectors, setting.common)
        for values, top, measure in zip(table, found[setting, "top-k"], MEASURES, strict=True):
            means = float(values.mean()), float((values - top).mean())
            yield *kind, method, measure, len(values), *means, *interval(values - top)


def _of(found: Found, method: str) -> list[tuple[Setting, np.ndarray]]:
    return [(setting, values) for (setting, name), values in found.items() if name == method]
