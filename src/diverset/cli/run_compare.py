"""``diverset compare``: methods and settings of the dial side by side, by :func:`diverset.compare`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

import diverset as dv
from diverset.cli.candidates import Candidates, read_candidates
from diverset.cli.console import heard, say, working
from diverset.cli.request import Request
from diverset.errors import DiversetError
from diverset.io.tables import write_table
from diverset.metrics import read_qrels
from diverset.metrics.compare import DIALS
from diverset.metrics.comparison import HEADINGS, Comparison, Setting, shown

__all__ = ["Trial", "run_compare"]

#: Columns that a narrow terminal does without, the last one first.
_LEFT_OUT = [HEADINGS[name] for name in ("kept", "redundancy", "vendi_score", "overlap", "log_volume")]


@dataclass(frozen=True)
class Trial:
    """What to try, and what decides: names and numbers with commas between, and columns of the file."""

    methods: str | None = None
    dials: str | None = None
    query: str | None = None
    qrels: Path | None = None
    clicked: str | None = None
    measure: str | None = None

    def arguments(self, candidates: Candidates) -> dict[str, Any]:
        """Arguments of :func:`diverset.compare`."""
        queries = None
        if self.query is not None:
            cells = candidates.table.column(self.query)
            queries = [str(cells[i]).strip() for i in candidates.rows.tolist()]
        ids = [candidates.label(i).strip() for i in range(len(candidates.rows))]
        return {
            "methods": None if self.methods is None else _names(self.methods),
            "dials": DIALS if self.dials is None else [_number(dial) for dial in _names(self.dials)],
            "queries": queries,
            "ids": ids,
            "judgements": self._judgements(candidates, queries, ids),
            "measure": self.measure,
        }

    def _judgements(self, candidates: Candidates, queries: list[str] | None, ids: list[str]) -> Any:
        if self.clicked is not None:
            return candidates.table.numbers(self.clicked)[candidates.rows]
        if self.qrels is None:
            return None
        topics = read_qrels(self.qrels)
        if queries is None:
            if len(topics) > 1:
                raise DiversetError(
                    f"{self.qrels} judges {len(topics)} topics; name with --query the column that holds the topic"
                )
            judged = next(iter(topics.values()))
            if not set(ids) & set(judged):
                raise DiversetError(
                    f"no id of {candidates.table.name} is in {self.qrels}; --id names the column of ids"
                )
            return judged
        if not any(name in topics.get(query, ()) for query, name in zip(queries, ids, strict=True)):
            raise DiversetError(
                f"{self.qrels} judges no row of {candidates.table.name} under its {self.query}; --id names the ids"
            )
        return topics


def run_compare(request: Request, trial: Trial | None = None, *, console: Console | None = None) -> Comparison:
    """Pick rows in several ways, and print how good and how diverse the picks are.

    Parameters
    ----------
    request : Request
        What to read, and how many rows to pick.
    trial : Trial, optional
        Methods, settings and judgements.
    console : Console, optional
        Where to print; standard output by default. Remarks go to standard error.

    Returns
    -------
    Comparison
        What :func:`diverset.compare` found.
    """
    screen = Console() if console is None else console
    trial = Trial() if trial is None else trial
    request.check()
    if trial.qrels is not None and trial.clicked is not None:
        raise DiversetError("--qrels and --clicked both hold judgements; give one of them")
    warned: list[str] = []
    with working("Reading") as step, heard(warned):
        candidates = read_candidates(request, reserved=(trial.query, trial.clicked), within=trial.query, step=step)
        k = request.size(candidates) if trial.query is None or request.k is None else request.k
        keep = {} if request.keep is None else {"keep": request.keep}
        options = trial.arguments(candidates) | request.arguments(candidates) | keep
        step("Comparing")
        found = dv.compare(candidates.features, k, rng=request.seed, **options)
    remarks = [*candidates.notes, *warned]
    least = min(len(picks) for picks in found.settings[0].picks)
    if least < k and trial.query is None:
        remarks.append(f"only {least} of the {k} rows asked for could be picked; the limits allow no more")
    for remark in remarks:
        say(remark)
    screen.print(_table(found, screen.width))
    for note in found.notes:
        screen.print(Text(f"{note}."))
    more = len(found) - len(found.headline)
    hidden = f" {more} more settings go into a file, with -o." if more and request.output is None else ""
    queries = f", {len(found.queries)} queries" if trial.query is not None else ""
    screen.print(Text(f"{candidates.n:,} rows{queries}, compared by {candidates.compared_by}.{hidden}"))
    if request.output is not None:
        with working("Writing"):
            _write(request, candidates, found, k, remarks)
        screen.print(f"Written to {request.output}", markup=False, highlight=False, soft_wrap=True)
    return found


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DiversetError(f"--dials names {text!r}; give numbers from 0 to 1, with commas between") from None


def _table(found: Comparison, width: int) -> RichTable:
    """The settings that matter most, with as many columns as the terminal has room for."""
    lines = found.headline
    columns = {HEADINGS[name]: [shown(each.numbers[name]) for each in lines] for name in found.columns}
    if found.measure is not None:
        columns[f"{HEADINGS[found.measure]} against top-k"] = [difference(each, found.measure) for each in lines]
    room = width - 8 - max(len(each.name) for each in lines)
    fits = set()
    first = [heading for heading in columns if found.measure and heading.startswith(HEADINGS[found.measure])]
    others = sorted(columns, key=lambda heading: _LEFT_OUT.index(heading) if heading in _LEFT_OUT else -1)
    for heading in dict.fromkeys([*first, *others]):
        room -= 3 + max(map(len, [*heading.split(), *columns[heading]]))
        if room >= 0:
            fits.add(heading)
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column("method", no_wrap=True)
    for heading in columns:
        if heading in fits:
            table.add_column(heading, justify="right")
    for i, each in enumerate(lines):
        cells = [cells[i] for heading, cells in columns.items() if heading in fits]
        table.add_row("*" if each is found.chosen else "", Text(each.name), *map(Text, cells))
    return table


def difference(setting: Setting, measure: str) -> str:
    """The gain over top-k with its interval, as it is printed."""
    gain, low, high = setting.gains[measure]
    return f"{gain:+.3f}" if low != low else f"{gain:+.3f} [{low:+.3f}, {high:+.3f}]"


def _write(request: Request, candidates: Candidates, found: Comparison, k: float, remarks: Sequence[str]) -> None:
    assert request.output is not None
    if request.output.suffix.lower() == ".html":
        from diverset.pages.compare import write_compare_page

        write_compare_page(request, candidates, found, k, remarks=[*remarks, *found.notes])
        return
    rows = found.rows
    columns: dict[str, Sequence[Any]] = {name: [row[name] for row in rows] for name in rows[0]}
    if found.queries == (None,):
        columns["picks"] = [[candidates.label(i) for i in each.picks[0].tolist()] for each in found]
    write_table(request.output, columns)
