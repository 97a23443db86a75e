"""``diverset compare``: ways to pick rows side by side, with the numbers that tell them apart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

import diverset as dv
from diverset._typing import Array, FloatArray, IntArray
from diverset.apps.candidates import Candidates, Source, find_rows, read_candidates
from diverset.apps.console import say, working
from diverset.apps.select import Limits, check_request, rows_wanted
from diverset.apps.tables import check_output, write_table
from diverset.errors import DiversetError

__all__ = ["METHODS", "Row", "run_compare"]

#: Names on the command line, and functions of ``diverset.baselines``; "dpp" is :func:`diverset.select`.
METHODS = {
    "dpp": "",
    "mmr": "mmr",
    "max-sum": "max_sum",
    "max-min": "max_min",
    "facility-location": "facility_location",
    "top-k": "top_k",
    "random": "random",
}
HEADINGS = {
    "sum_quality": "sum of quality",
    "mean_similarity": "mean similarity",
    "log_volume": "log-volume",
    "vendi_score": "Vendi score",
    "overlap": "shared with dpp",
}


@dataclass(frozen=True, eq=False)
class Row:
    """One method: its picks, as positions among the candidates, and its numbers (None where undefined)."""

    method: str
    picks: IntArray
    numbers: dict[str, float | None]

    def shown(self, name: str) -> str:
        """A number as it is printed, with as many digits as the others of its column."""
        value = self.numbers[name]
        if value is None:
            return "-"
        if not math.isfinite(value):
            return "none"
        return f"{value:.0f}" if name == "overlap" else f"{value:.4g}" if name == "sum_quality" else f"{value:.3f}"


def run_compare(
    source: Source,
    k: int | None = None,
    *,
    methods: Sequence[str] = tuple(METHODS),
    limits: Limits | None = None,
    diversity: float = 0.5,
    seed: int = 0,
    output: Path | None = None,
    console: Console | None = None,
) -> list[Row]:
    """Pick rows in several ways and print how good and how diverse the picks are.

    Parameters
    ----------
    source : Source
        The file, and what its rows are compared by.
    k : int, optional
        How many rows; 10, or all of fewer, if left out.
    methods : sequence of str
        Names in :data:`METHODS`.
    limits : Limits, optional
        Only `given`, `exclude` and `min_quality`, which every method knows.
    diversity : float, default=0.5
        The dial, of those methods that have one.
    seed : int, default=0
        For the random picks.
    output : Path, optional
        Where the comparison goes: CSV, JSON lines, Parquet or an HTML page, by the extension.
    console : Console, optional
        Where to print; standard output if left out. Remarks go to standard error.

    Returns
    -------
    rows : list of Row
        In the order of `methods`.
    """
    console = Console() if console is None else console
    limits = Limits() if limits is None else limits
    for name in methods:
        if name not in METHODS:
            raise DiversetError(f"there is no method {name!r}; choose from {', '.join(METHODS)}")
    if not methods:
        raise DiversetError(f"no methods named; choose from {', '.join(METHODS)}")
    check_request(source, k, limits)
    if output is not None:
        check_output(output)
    with working("Reading") as step:
        candidates = read_candidates(source, step=step)
        k = rows_wanted(candidates, k)
        given = find_rows(limits.given, candidates, "--given")
        exclude = find_rows(limits.exclude, candidates, "--exclude")
        if limits.min_quality is not None:
            assert candidates.quality is not None
            exclude = np.union1d(exclude, np.flatnonzero(candidates.quality < limits.min_quality))
        picks = {}
        for number, name in enumerate(dict.fromkeys(["dpp", *methods]), start=1):
            step(f"Picking by {name}, method {number}")
            picks[name] = _pick(name, candidates, k, diversity=diversity, given=given, exclude=exclude, seed=seed)
        step("Measuring")
        length = _length_scale(candidates)
        rows = [Row(name, picks[name], _numbers(candidates, picks[name], picks["dpp"], length)) for name in methods]
    remarks = list(candidates.notes)
    if k > len(candidates.rows):
        remarks.append(f"{k} rows asked for, and {len(candidates.rows)} can be compared; every method picks them all")
    elif len(picks["dpp"]) < k:
        remarks.append(f"only {len(picks['dpp'])} of the {k} rows asked for could be picked; the limits allow no more")
    for remark in remarks:
        say(remark)
    headings = {name: words for name, words in HEADINGS.items() if any(row.numbers[name] is not None for row in rows)}
    console.print(_table(rows, headings))
    console.print(
        Text(f"{len(picks['dpp'])} of {len(candidates.rows):,} rows, compared by {candidates.compared_by}; {_legend()}")
    )
    if output is not None:
        with working("Writing"):
            _write(output, candidates, rows, headings, k, diversity, seed, remarks)
        console.print(f"Written to {output}", markup=False, highlight=False, soft_wrap=True)
    return rows


def _pick(
    name: str, candidates: Candidates, k: int, *, diversity: float, given: IntArray, exclude: IntArray, seed: int
) -> IntArray:
    function = dv.select if name == "dpp" else getattr(dv.baselines, METHODS[name])
    arguments: dict[str, Any] = {"rng": seed} if name == "random" else {}
    found = function(
        candidates.features,
        k,
        quality=candidates.quality,
        diversity=diversity,
        similarity=candidates.similarity,
        given=given,
        exclude=exclude,
        **arguments,
    )
    return np.asarray(found.indices, dtype=np.int64)


def _length_scale(candidates: Candidates) -> float:
    """The rbf length that fits all rows, as the methods use it; any, where rows do not differ."""
    X = candidates.features
    if candidates.similarity != "rbf" or len(X) < 2 or bool((X == X[0]).all()):
        return 1.0
    return dv.kernels.median_heuristic(X)


def _numbers(candidates: Candidates, picks: IntArray, ours: IntArray, length: float) -> dict[str, float | None]:
    """The numbers of one set of picks."""
    quality = candidates.quality
    S = _similarities(candidates.dense(picks), candidates.similarity, length)
    several = len(picks) > 1
    unit = _unit_diagonal(S)
    return {
        "sum_quality": None if quality is None else float(quality[picks].sum()),
        "mean_similarity": float(dv.metrics.mean_pairwise_similarity(S)) if several else None,
        "log_volume": float(dv.metrics.log_volume(S)),
        "vendi_score": None if unit is None else float(dv.metrics.vendi_score(unit, kernel="precomputed")),
        "overlap": float(len(np.intersect1d(picks, ours))),
    }


def _similarities(X: Array, similarity: str, length: float) -> FloatArray:
    if similarity == "rbf":
        return dv.kernels.rbf(X, length_scale=length)
    return dv.kernels.cosine(X) if similarity == "cosine" else dv.kernels.dot(X)


def _unit_diagonal(S: FloatArray) -> FloatArray | None:
    """Similarities scaled to 1 on the diagonal, as the Vendi score needs; None where one is 0."""
    d = np.sqrt(np.diagonal(S))
    if len(S) == 0 or d.min() == 0.0:
        return None
    unit: FloatArray = S / d[:, np.newaxis] / d
    np.fill_diagonal(unit, 1.0)
    return (unit + unit.T) / 2.0


def _legend() -> str:
    return (
        "log-volume is the log-determinant of the similarities, the Vendi score the effective number of different rows."
    )


def _table(rows: Sequence[Row], headings: dict[str, str]) -> RichTable:
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("method", no_wrap=True)
    for words in headings.values():
        table.add_column(words, justify="right")
    for row in rows:
        table.add_row(row.method, *(row.shown(name) for name in headings))
    return table


def _write(
    output: Path,
    candidates: Candidates,
    rows: Sequence[Row],
    headings: dict[str, str],
    k: int,
    diversity: float,
    seed: int,
    remarks: Sequence[str],
) -> None:
    if output.suffix.lower() == ".html":
        from diverset.apps.page import write_compare_page

        asked = {
            "File": f"{candidates.table.name}, {candidates.table.n:,} rows",
            "Asked for": f"{k} rows",
            "Compared by": f"{candidates.compared_by}, {candidates.similarity} similarity",
            "Quality": candidates.quality_name or "all rows equal",
            "Diversity": f"{diversity:g} (0 is plain top-k, 1 diversity only)",
            "Random picks": f"seed {seed}",
        }
        write_compare_page(output, candidates, rows, headings=headings, asked=asked, remarks=remarks)
        return
    columns: dict[str, Sequence[Any]] = {"method": [row.method for row in rows]}
    for name in HEADINGS:
        columns[name] = [row.numbers[name] for row in rows]
    columns["overlap"] = [int(row.numbers["overlap"] or 0) for row in rows]
    columns["picks"] = [[candidates.label(i) for i in row.picks.tolist()] for row in rows]
    write_table(output, columns)
