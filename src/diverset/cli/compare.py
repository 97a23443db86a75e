"""``diverset compare``: the arguments of :func:`diverset.compare`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from diverset._result import Result
from diverset.cli.group import Out, Seed, app, option, sharing
from diverset.cli.select import Common, Request
from diverset.errors import DiversetError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from diverset.cli.candidates import Candidates
    from diverset.metrics.compare import Comparison

__all__ = ["compare"]

#: Columns that are left out on a narrow terminal, the last one first.
_LEFT_OUT = ["quality kept", "redundancy", "Vendi score", "shared with top-k", "log-volume"]


@app.command(epilog="Example:  diverset compare papers.csv -k 10 --text abstract --quality score -o methods.html")
@sharing(Common, Out)
def compare(
    common: Common,
    out: Out,
    methods: Annotated[str | None, option("Methods, with commas; all by default.", "NAMES")] = None,
    dials: Annotated[str | None, option("Settings of the dial; 0.1,0.2,...,1 by default.", "D,D")] = None,
    query: Annotated[str | None, option("Column of the query that a row belongs to.", "COL")] = None,
    qrels: Annotated[Path | None, option("Judgements in TREC format: topic, subtopic or 0, id, grade.", "F")] = None,
    clicked: Annotated[str | None, option("Column of clicks or grades: above 0 is relevant.", "COL")] = None,
    measure: Annotated[str | None, option("It decides: alpha_ndcg, ndcg, subtopic_recall, precision.", "NAME")] = None,
    seed: Seed = None,
) -> None:
    """Try methods and settings of the dial side by side, and say which to use."""
    import diverset as dv
    from diverset.cli.candidates import read_candidates
    from diverset.cli.console import heard, working

    request = Request(**vars(common), seed=seed or 0)
    out.check(Compared, [*request.inputs, qrels])
    request.check()
    if qrels is not None and clicked is not None:
        raise DiversetError("--qrels and --clicked both hold judgements; give one of them")
    warned: list[str] = []
    with working("Reading") as step, heard(warned):
        candidates = read_candidates(request, reserved=(query, clicked), within=query, step=step)
        k = candidates.size(request) if query is None or request.wanted is None else request.wanted
        options = request.arguments(candidates) | _judged(candidates, query, qrels, clicked)
        if methods is not None:
            options["methods"] = [name.strip() for name in methods.split(",") if name.strip()]
        if dials is not None:
            options["dials"] = [_number(dial) for dial in dials.split(",") if dial.strip()]
        if request.keep is not None:
            options["keep"] = request.keep
        step("Comparing")
        found = dv.compare(candidates.features, k, rng=request.seed, measure=measure, **options)
    notes = [*candidates.notes, *warned]
    least = min(len(picks) for picks in found.settings[0].picks)
    if least < k and query is None:
        notes.append(f"only {least} of {k} rows could be picked; the limits allow no more")
    compared = Compared(request, candidates, found, k, notes)
    out.deliver(compared, compared.show)


@dataclass(frozen=True, eq=False)
class Compared(Result):
    """A comparison of ways to pick rows of a table."""

    _page: ClassVar[str] = "compare"

    request: Request
    candidates: "Candidates"
    found: "Comparison"
    k: float
    notes: list[str]

    @property
    def title(self) -> str:
        """Heading of the page."""
        rows = f"{self.k:g} of {len(self.candidates.rows):,} rows in"
        if self.found.queries != (None,):
            rows = f"{self.k:g} rows for each of {len(self.found.queries):,} queries in"
        return f"{len(self.found)} ways to pick {rows} {Path(self.candidates.table.name).name}"

    def asked(self, output: Path) -> dict[str, Any]:
        """The input, for the page."""
        from diverset.cli.picks import file_facts

        return file_facts(self.request, self.candidates, output) | {"Random picks": f"seed {self.request.seed}"}

    def command(self) -> str | None:
        """The command of the chosen setting, if ``diverset select`` has it."""
        chosen = self.found.chosen
        if chosen is None or chosen.method != "dpp" or chosen.dial is None:
            return None
        return self.request.command(diversity=chosen.dial, keep=None, seed=None)

    def records(self) -> list[dict[str, Any]]:
        """One row per setting; with one query, the picks by their ids."""
        rows = self.found.records()
        if self.found.queries != (None,):
            return rows
        label = self.candidates.label
        picks = ([label(i) for i in each.picks[0].tolist()] for each in self.found)
        return [row | {"picks": ids} for row, ids in zip(rows, picks, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """All settings, and the chosen one."""
        return self.found.to_dict() | {"settings": self.records(), "notes": [*self.notes, *self.found.notes]}

    def __str__(self) -> str:
        return str(self.found)

    def show(self, console: "Console") -> None:
        """Print the best settings."""
        from diverset.cli.console import line

        found = self.found
        console.print(self._table(console.width))
        for note in found.notes:
            line(console, f"{note}.")
        more = len(found) - len(found.headline)
        hidden = f" {more} more settings go into a file, with -o." if more else ""
        queries = "" if found.queries == (None,) else f", {len(found.queries)} queries"
        line(console, f"{self.candidates.n:,} rows{queries}, compared by {self.candidates.compared_by}.{hidden}")

    def _table(self, width: int) -> "Table":
        """A table with as many columns as fit into the width of the terminal."""
        from diverset.cli.console import table
        from diverset.metrics.compare import HEADINGS, difference, shown

        found = self.found
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
        kept = {f"}}{heading}": cells for heading, cells in columns.items() if heading in fits}
        chosen = ["*" if each is found.chosen else "" for each in lines]
        names = [each.name for each in lines]
        return table(["<", "<method", *kept], zip(chosen, names, *kept.values(), strict=True))


def _judged(candidates: "Candidates", query: str | None, qrels: Path | None, clicked: str | None) -> dict[str, Any]:
    """Queries, ids and judgements, as :func:`diverset.compare` takes them."""
    queries = None
    if query is not None:
        cells = candidates.table.column(query)
        queries = [str(cells[i]).strip() for i in candidates.rows.tolist()]
    ids = [candidates.label(i).strip() for i in range(len(candidates.rows))]
    judgements: Any = None
    if clicked is not None:
        judgements = candidates.table.numbers(clicked)[candidates.rows]
    elif qrels is not None:
        from diverset.metrics import read_qrels

        name, topics = candidates.table.name, read_qrels(qrels)
        judgements = topics if queries is not None else next(iter(topics.values()))
        if queries is None and len(topics) > 1:
            raise DiversetError(f"{qrels} judges {len(topics)} topics; give the column of topics with --query")
        if queries is None and not set(ids) & set(judgements):
            raise DiversetError(f"no id of {name} is in {qrels}; give the column of ids with --id")
        if queries is not None and not any(i in topics.get(topic, ()) for topic, i in zip(queries, ids, strict=True)):
            raise DiversetError(f"{qrels} judges no row of {name} under its {query}; give the column of ids with --id")
    return {"queries": queries, "ids": ids, "judgements": judgements}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DiversetError(f"--dials names {text.strip()!r}; give numbers from 0 to 1, with commas between") from None
