"""``diverset select``: good, different rows of a file, in a table, a file or a page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

import diverset as dv
from diverset._typing import FloatArray, IntArray
from diverset.apps.candidates import Candidates, Source, find_rows, read_candidates
from diverset.apps.console import aligned, printable, say, working
from diverset.apps.tables import check_output, write_table
from diverset.errors import DiversetError

__all__ = [
    "Limits",
    "check_request",
    "picks_table",
    "rows_wanted",
    "run_select",
    "what_was_asked",
    "write_picks",
    "write_rows",
]

#: Rows picked when nobody said how many.
DEFAULT_SIZE = 10


@dataclass(frozen=True)
class Limits:
    """What restricts the picks; `given` and `exclude` are ids with commas between, or a file of them."""

    given: str | None = None
    exclude: str | None = None
    min_quality: float | None = None
    group: str | None = None
    per_group: int | None = None
    cost: str | None = None
    budget: float | None = None
    window: int | None = None


def run_select(
    source: Source,
    k: int | None = None,
    *,
    limits: Limits | None = None,
    diversity: float = 0.5,
    method: str = "greedy",
    seed: int | None = None,
    output: Path | None = None,
    console: Console | None = None,
    dask: str | None = None,
) -> dv.Selection:
    """Read a file, pick rows, print them, and write them if asked to.

    Parameters
    ----------
    source : Source
        The file, and what its rows are compared by.
    k : int, optional
        How many rows; 10, or all of fewer, if left out.
    limits : Limits, optional
        What restricts the picks.
    diversity, method, seed
        As ``diversity``, ``method`` and ``rng`` of :func:`diverset.select`.
    output : Path, optional
        Where the picked rows go: CSV, JSON lines, Parquet or an HTML page, by the extension.
    console : Console, optional
        Where to print; standard output if left out. Remarks go to standard error.
    dask : str, optional
        Address of a Dask scheduler, or ``"here"``: the file is read in blocks there, and never as a whole.

    Returns
    -------
    selection : Selection
        Positions among the candidates, in pick order.
    """
    console = Console() if console is None else console
    limits = Limits() if limits is None else limits
    check_request(source, k, limits)
    if output is not None:
        check_output(output)
    if dask is not None:
        candidates, selection, given = _picked_on_dask(dask, source, k, limits, diversity, method, seed)
        k = len(selection) if k is None else k
        return _report(candidates, selection, given, k, limits, diversity, method, seed, output, console)
    with working("Reading") as step:
        candidates = read_candidates(source, reserved=(limits.cost, limits.group), step=step)
        k = rows_wanted(candidates, k)
        given = find_rows(limits.given, candidates, "--given")
        exclude = find_rows(limits.exclude, candidates, "--exclude")
        step("Picking")
        selection = dv.select(
            candidates.features,
            k,
            quality=candidates.quality,
            diversity=diversity,
            similarity=candidates.similarity,
            method=method,
            given=given,
            exclude=exclude,
            min_quality=limits.min_quality,
            window=limits.window,
            rng=seed,
            **_groups_and_costs(candidates, limits),
        )
    return _report(candidates, selection, given, k, limits, diversity, method, seed, output, console)


def _picked_on_dask(
    address: str, source: Source, k: int | None, limits: Limits, diversity: float, method: str, seed: int | None
) -> tuple[Candidates, dv.Selection, IntArray]:
    from diverset.apps.select_blocks import connected, pick_blocks

    arguments = {
        "diversity": diversity,
        "method": method,
        "min_quality": limits.min_quality,
        "window": limits.window,
        "costs": limits.cost,
        "budget": limits.budget,
        "groups": limits.group,
        "per_group": limits.per_group,
        "rng": seed,
        "given": limits.given,
        "exclude": limits.exclude,
    }
    with working("Connecting") as step, connected(address):
        return pick_blocks(source, DEFAULT_SIZE if k is None else k, arguments, step=step)


def _report(
    candidates: Candidates,
    selection: dv.Selection,
    given: IntArray,
    k: int,
    limits: Limits,
    diversity: float,
    method: str,
    seed: int | None,
    output: Path | None,
    console: Console,
) -> dv.Selection:
    """Print the picks and what there is to remark, and write them if asked to."""
    remarks = [*candidates.notes, *_remarks(candidates, selection, k, diversity, limits)]
    for remark in remarks:
        say(remark)
    console.print(picks_table(candidates, selection.indices, {"gain": selection.gains}, console))
    console.print(Text(_summary(candidates, selection)))
    if output is not None:
        asked = what_was_asked(candidates, selection, k, limits, diversity, method, seed)
        with working("Writing"):
            write_picks(output, candidates, selection, given, asked, remarks)
        console.print(f"Written to {output}", markup=False, highlight=False, soft_wrap=True)
    return selection


def check_request(source: Source, k: int | None, limits: Limits) -> None:
    """Refuse options that contradict each other, before any file is read."""
    if k is not None and k < 1:
        raise DiversetError(f"k = {k}; ask for at least 1 row")
    kinds = {"--text": source.text, "--features": source.features, "--embeddings": source.embeddings}
    named = [name for name, value in kinds.items() if value is not None]
    if len(named) > 1:
        raise DiversetError(f"{' and '.join(named)} both say what rows are compared by; give one of them")
    if source.model is not None and named and named != ["--text"]:
        raise DiversetError(f"--model embeds text, and {named[0]} says to compare rows by something else; drop one")
    if (limits.cost is None) != (limits.budget is None):
        raise DiversetError("--cost and --budget go together; give both or neither")
    if (limits.group is None) != (limits.per_group is None):
        raise DiversetError("--group and --per-group go together; give both or neither")
    if limits.min_quality is not None and source.quality is None:
        raise DiversetError("--min-quality needs --quality, the column it refers to")


def rows_wanted(candidates: Candidates, k: int | None) -> int:
    """How many rows to pick; refuses more than the file has."""
    table = candidates.table
    if k is None:
        return min(DEFAULT_SIZE, table.n)
    if k > table.n:
        rows = "1 row" if table.n == 1 else f"{table.n} rows"
        raise DiversetError(f"k = {k}, and {table.name} has {rows}; ask for fewer")
    return k


def _groups_and_costs(candidates: Candidates, limits: Limits) -> dict[str, Any]:
    """Those arguments of :func:`diverset.select` that are columns of the table."""
    table, rows = candidates.table, candidates.rows
    arguments: dict[str, Any] = {}
    if limits.cost is not None:
        costs = table.numbers(limits.cost)
        if costs.min() <= 0.0:
            i = int(costs.argmin())
            raise DiversetError(f"{table.name}, {table.where(i)}: the cost is {costs[i]:g}; costs must be positive")
        arguments |= {"costs": costs[rows], "budget": limits.budget}
    if limits.group is not None:
        groups = np.array([str(cell) for cell in table.column(limits.group)])
        arguments |= {"groups": groups[rows], "per_group": limits.per_group}
    return arguments


def _remarks(candidates: Candidates, selection: dv.Selection, k: int, diversity: float, limits: Limits) -> list[str]:
    remarks = []
    n, picked = candidates.n, len(selection)
    if k > n:
        remarks.append(f"{k} rows asked for, and {n} can be compared" + ("; all are picked" if picked == n else ""))
    elif picked < k:
        remarks.append(f"only {picked} of the {k} rows asked for could be picked; the limits allow no more")
    spent = selection.rank_spent
    if spent is not None and spent < picked:
        remarks.append(
            f"from pick {spent + 1} on, every row left was a combination (or a copy) of earlier ones, so those picks "
            "add no volume"
        )
    quality = candidates.quality
    if quality is not None and 0.0 < diversity < 1.0 and 1 < picked < len(quality) and limits == Limits():
        top = np.argsort(-quality, kind="stable")[:picked]
        spread = float(np.ptp(quality))
        if spread > 20.0 and set(top.tolist()) == set(selection.indices.tolist()):
            remarks.append(
                f"these are simply the best {picked}: {candidates.quality_name} runs from {quality.min():g} to "
                f"{quality.max():g}, and differences near 1 already weigh as much as diversity; raise --diversity, "
                "or rescale the column"
            )
    return remarks


def picks_table(candidates: Candidates, picks: IntArray, numbers: dict[str, FloatArray], console: Console) -> RichTable:
    """One line per pick, with these numbers of each; the text gets what the other columns leave of the width."""
    indices = picks.tolist()
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column(Text(printable(candidates.id_name or "row", console, 20)), no_wrap=True)
    if candidates.quality is not None:
        table.add_column(Text(printable(candidates.quality_name or "", console, 16)), justify="right", no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    scores = [] if candidates.quality is None else aligned(candidates.quality[picks])
    lines = []
    for rank, i in enumerate(indices, start=1):
        own = [f"{round(float(values[rank - 1]), 3) + 0.0:.3f}" for values in numbers.values()]
        lines.append([str(rank), printable(candidates.label(i), console, 24), *scores[rank - 1 : rank], *own])
    if candidates.text_name is None:
        left = 0
    else:
        heads = [str(column.header) for column in table.columns]
        widths = [max(map(cell_len, column)) for column in zip(heads, *lines, strict=True)]
        left = console.width - sum(widths) - 2 * len(widths) - 2
    if left >= 10:
        table.add_column(Text(printable(candidates.text_name or "", console, left)), no_wrap=True)
    for line, i in zip(lines, indices, strict=True):
        cells = [Text(cell) for cell in line]
        if left >= 10:
            cells.append(Text(printable(candidates.text(i), console)))
            # The sign for "and so on" is not in every terminal's encoding.
            cells[-1].truncate(left, overflow="ellipsis" if console.encoding.startswith("utf") else "crop")
        table.add_row(*cells)
    return table


def _summary(candidates: Candidates, selection: dv.Selection) -> str:
    parts = [f"{len(selection)} of {candidates.n:,} rows, compared by {candidates.compared_by}"]
    parts.append(
        f"log-volume {round(selection.log_det, 3) + 0.0:.3f}" if math.isfinite(selection.log_det) else "no volume"
    )
    if selection.upper_bound is not None:
        gap = selection.gap
        parts.append("no set is better" if gap < 1e-9 else f"at most {gap:.3g} below the best")
    return "; ".join(parts) + "."


def what_was_asked(
    candidates: Candidates,
    selection: dv.Selection,
    k: int,
    limits: Limits,
    diversity: float,
    method: str,
    seed: int | None,
) -> dict[str, str]:
    """What was asked, and what came of it, in words for the page."""
    asked = {
        "File": f"{candidates.table.name}, {candidates.total or candidates.table.n:,} rows",
        "Asked for": f"{k} rows",
        "Compared by": f"{candidates.compared_by}, {candidates.similarity} similarity",
        "Quality": candidates.quality_name or "all rows equal",
        "Diversity": f"{diversity:g} (0 is plain top-k, 1 diversity only)",
        "Method": method if seed is None else f"{method}, seed {seed}",
    }
    if limits.min_quality is not None:
        asked["Lowest quality"] = f"{limits.min_quality:g}"
    if limits.group is not None:
        asked["Groups"] = f"at most {limits.per_group} with the same {limits.group}"
    if limits.cost is not None:
        asked["Budget"] = f"{limits.budget:g} in all, by {limits.cost}"
    if limits.window is not None:
        asked["Window"] = f"only the last {limits.window} picks repel"
    for name, value in (("Already shown", limits.given), ("Excluded", limits.exclude)):
        if value is not None:
            asked[name] = value if len(value) <= 80 else f"{value[:77]}..."
    if candidates.quality is not None:
        asked["Sum of quality"] = f"{candidates.quality[selection.indices].sum():.6g}"
    asked["Log-volume"] = f"{selection.log_det:.4g}" if math.isfinite(selection.log_det) else "none: dependent rows"
    return asked


def write_picks(
    output: Path,
    candidates: Candidates,
    selection: dv.Selection,
    given: IntArray,
    asked: dict[str, str],
    remarks: list[str],
) -> None:
    """Write the picked rows, with their rank and gain, or the page."""
    if output.suffix.lower() == ".html":
        from diverset.apps.page import write_select_page

        write_select_page(output, candidates, selection, given=given, asked=asked, remarks=remarks)
        return
    added = {"rank": list(range(1, len(selection) + 1)), "gain": selection.gains.tolist()}
    write_rows(output, candidates, selection.indices, added)


def write_rows(output: Path, candidates: Candidates, picks: IntArray, added: dict[str, Sequence[Any]]) -> None:
    """Write rows of the file with columns of ours, by the extension."""
    table = candidates.table
    columns: dict[str, Sequence[Any]] = {
        **table.take(candidates.rows[picks].tolist(), typed=output.suffix.lower() != ".csv")
    }
    # Columns of these names may mean something else to their owner, and stay.
    prefix = "diverset_" if set(added) & set(columns) else ""
    if prefix:
        *first, last = (f"{prefix}{name}" for name in added)
        taken = " and ".join(name for name in added if name in columns)
        say(f"{table.name} has a column called {taken} already, which stays; ours are {', '.join(first)} and {last}")
    write_table(output, columns | {f"{prefix}{name}": values for name, values in added.items()}, table.types)
