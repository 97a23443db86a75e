"""``diverset select``: good, different rows of a file, in a table, a file or a page."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

import diverset as dv
from diverset._typing import FloatArray, IntArray
from diverset.cli.candidates import Candidates, read_candidates
from diverset.cli.console import aligned, heard, printable, say, working
from diverset.cli.request import Request
from diverset.io.tables import write_table

__all__ = ["picks_table", "run_select", "write_picks", "write_rows"]


def run_select(request: Request, *, console: Console | None = None, dask: str | None = None) -> dv.Selection:
    """Read a file, pick rows, print them, and write them if asked to.

    Parameters
    ----------
    request : Request
        What to read, how many rows to pick, and how.
    console : Console, optional
        Where to print; standard output by default. Remarks go to standard error.
    dask : str, optional
        Address of a Dask scheduler, or ``"here"``: the file is read in blocks there, and never as a whole.

    Returns
    -------
    Selection
        Positions among the candidates, in pick order.
    """
    screen = Console() if console is None else console
    request.check()
    warned: list[str] = []
    with working("Reading") as step, heard(warned):
        if dask is not None:
            from diverset.cli.run_select_blocks import connected, pick_blocks

            with connected(dask):
                candidates, selection, given = pick_blocks(request, step=step)
            k = len(selection) if request.k is None else request.k
            settings = [selection]
        else:
            candidates = read_candidates(request, reserved=(request.cost, request.group), step=step)
            k = request.size(candidates)
            arguments = request.arguments(candidates) | request.limits(candidates)
            given = arguments["given"]
            step("Picking")
            selection = dv.select(
                candidates.features,
                k,
                diversity=request.dial,
                keep=request.keep,
                method=request.method,
                window=request.window,
                rng=request.seed,
                **arguments,
            )
            settings = [selection]
            if request.output is not None and request.output.suffix.lower() == ".html":
                from diverset.pages.select import turn_the_dial

                settings = turn_the_dial(candidates.features, k, selection, arguments, window=request.window, step=step)
    remarks = [*candidates.notes, *warned, *_remarks(candidates, selection, k)]
    for remark in remarks:
        say(remark)
    screen.print(picks_table(candidates, selection.indices, {"gain": selection.gains}, screen))
    screen.print(Text(_summary(candidates, selection)))
    if request.output is not None:
        with working("Writing"):
            write_picks(request, candidates, selection, settings, given, remarks)
        screen.print(f"Written to {request.output}", markup=False, highlight=False, soft_wrap=True)
    return selection


def _remarks(candidates: Candidates, selection: dv.Selection, k: float) -> list[str]:
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
    # Rows of zeros have been named by their place in the file.
    return remarks + [note for note in selection.notes if "a vector of zeros" not in note]


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
    text = "; ".join(parts) + "."
    kept, now, before = selection.kept, selection.redundancy, selection.redundancy_before
    if kept is None or now is None or before is None:
        return text
    return (
        f"{text}\nDiversity {selection.diversity:.3g} keeps {kept:.0%} of what the best {len(selection)} have over the "
        f"average row; redundancy {now:.2f}, before {before:.2f}."
    )


def write_picks(
    request: Request,
    candidates: Candidates,
    selection: dv.Selection,
    settings: Sequence[dv.Selection],
    given: IntArray,
    remarks: Sequence[str],
    more: dict[str, str] | None = None,
) -> None:
    """Write the picked rows, with their rank and gain, or the page; `more` is what the page says of them."""
    assert request.output is not None
    if request.output.suffix.lower() == ".html":
        from diverset.pages.select import write_select_page

        write_select_page(request, candidates, selection, settings, given=given, remarks=remarks, more=more or {})
        return
    added = {"rank": list(range(1, len(selection) + 1)), "gain": selection.gains.tolist()}
    write_rows(request.output, candidates, selection.indices, added)


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
