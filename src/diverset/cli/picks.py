"""The results of ``diverset select`` and ``sample``: rows of a file."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.cells import cell_len
from rich.text import Text

import diverset as dv
from diverset._result import Result
from diverset._typing import FloatArray, IntArray
from diverset.cli.candidates import Candidates, connected, pick_blocks, read_candidates
from diverset.cli.console import Console, aligned, heard, line, printable, table, working
from diverset.cli.select import Request
from diverset.errors import DiversetError, SizeError

__all__ = ["Drawn", "Picks", "draw", "pick"]

#: Number of sets that are printed; all are written.
_SHOWN = 5
#: Least diversity at which draws are random.
_LEAST = 0.01


@dataclass(frozen=True, eq=False)
class _Rows(Result):
    """Rows of a table, with additional columns."""

    _page: ClassVar[str] = "select"
    command_heading: ClassVar[str] = "The same on the command line"

    request: Request
    candidates: Candidates
    given: IntArray
    notes: list[str]

    @property
    def name(self) -> str:
        return Path(self.candidates.table.name).name

    @property
    def _types(self) -> Mapping[str, Any] | None:  # type: ignore[override]
        return self.candidates.table.types

    @abstractmethod
    def added(self) -> tuple[IntArray, dict[str, Sequence[Any]]]:
        """Positions of the rows to write, and columns to write beside those of the file."""

    def _columns(self, typed: bool) -> dict[str, Sequence[Any]]:
        picks, ours = self.added()
        rows = self.candidates.rows[picks].tolist()
        columns: dict[str, Sequence[Any]] = {**self.candidates.table.take(rows, typed=typed)}
        # Columns of the file that have the same names stay.
        prefix = "diverset_" if set(ours) & set(columns) else ""
        return columns | {f"{prefix}{name}": values for name, values in ours.items()}

    def warn_of_names(self) -> None:
        """Add a note if the file has columns with the names of additional ones."""
        ours = self.added()[1]
        taken = " and ".join(name for name in ours if name in self.candidates.table.columns)
        if taken:
            *first, last = (f"diverset_{name}" for name in ours)
            self.notes.append(
                f"{self.candidates.table.name} has a column called {taken} already, which stays; ours are "
                f"{', '.join(first)} and {last}"
            )

    def records(self) -> list[dict[str, Any]]:
        """The rows of the file, with the additional columns."""
        columns = self._columns(typed=True)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def print_rows(self, picks: IntArray, name: str, numbers: FloatArray, console: Console) -> None:
        """One line per pick, with one number; the text is cut to the width that the other columns leave."""
        candidates = self.candidates
        heads = [">#", f"<{printable(candidates.id_name or 'row', console, 20)}"]
        labels = [printable(candidates.label(i), console, 24) for i in picks.tolist()]
        columns = [[str(rank) for rank in range(1, len(picks) + 1)], labels]
        if candidates.quality is not None:
            heads.append(f">{printable(candidates.quality_name or '', console, 16)}")
            columns.append(aligned(candidates.quality[picks]))
        heads.append(f">{name}")
        columns.append([f"{round(float(number), 3) + 0.0:.3f}" for number in numbers])
        widths = [max(map(cell_len, [head[1:], *column])) for head, column in zip(heads, columns, strict=True)]
        left = console.width - sum(widths) - 2 * len(widths) - 2
        texts = []
        if candidates.text_name is not None and left >= 10:
            heads.append(f"<{printable(candidates.text_name, console, left)}")
            texts = [Text(printable(candidates.text(i), console)) for i in picks.tolist()]
            for text in texts:
                # An ellipsis is not in the encoding of every terminal.
                text.truncate(left, overflow="ellipsis" if console.encoding.startswith("utf") else "crop")
        console.print(table(heads, zip(*columns, *([texts] if texts else []), strict=True)))


@dataclass(frozen=True, eq=False)
class Picks(_Rows):
    """The result of ``diverset select``."""

    turn: ClassVar[bool] = True  # the page shows 21 settings of the dial

    selection: dv.Selection

    def added(self) -> tuple[IntArray, dict[str, Sequence[Any]]]:
        """The picks with their rank and gain."""
        ranks = list(range(1, len(self.selection) + 1))
        return self.selection.indices, {"rank": ranks, "gain": self.selection.gains.tolist()}

    def to_dict(self) -> dict[str, Any]:
        """The rows with their rank and gain, and the numbers of the selection."""
        return self.selection.to_dict() | {
            "picks": self.records(),
            "rows": self.candidates.n,
            "compared_by": self.candidates.compared_by,
            "notes": self.notes,
        }

    def command(self, setting: dv.Selection | None) -> str:
        """The command that gives these picks, or those of another setting of the dial."""
        if setting is None:
            return self.request.command()
        return self.request.command(diversity=setting.diversity, keep=None, method="greedy", seed=None)

    def asked(self, output: Path) -> dict[str, Any]:
        """The settings and the numbers of the result, in words."""
        from diverset.pages.base import short
        from diverset.pages.select import asked_of

        request, scales = self.request, {"rank": "by rank", "standard": "standardised", "none": "as they are"}
        limits = {
            "Worst quality": None if request.min_quality is None else f"{request.min_quality:g}",
            "Groups": request.group and f"at most {request.per_group} with the same {request.group}",
            "Budget": request.cost and f"{request.budget:g} in all, by {request.cost}",
            "Window": request.window and f"only the last {request.window} picks repel",
            "Already shown": request.given and short(request.given, 80),
            "Excluded": request.exclude and short(request.exclude, 80),
        }
        facts = file_facts(request, self.candidates, output) | {
            "Scale of the scores": scales[request.scale] if request.quality else None,
            "Method": request.method if request.seed is None else f"{request.method}, seed {request.seed}",
            "Quality to keep": None if request.keep is None else f"{request.keep:.0%}",
        }
        return {name: value for name, value in (facts | asked_of(self.selection) | limits).items() if value}

    def __str__(self) -> str:
        selection = self.selection
        text = f"{len(selection)} of {self.candidates.n:,} rows, compared by {self.candidates.compared_by}; "
        volume = f"log-volume {round(selection.log_det, 3) + 0.0:.3f}"
        text += volume if math.isfinite(selection.log_det) else "no volume"
        if selection.upper_bound is not None:
            text += "; no set is better" if selection.gap < 1e-9 else f"; at most {selection.gap:.3g} below the best"
        text += "."
        kept, now, before = selection.kept, selection.redundancy, selection.redundancy_before
        if kept is None or now is None or before is None:
            return text
        return (
            f"{text}\nDiversity {selection.diversity:.3g} keeps {kept:.0%} of what the best {len(selection)} have over "
            f"the average row; redundancy {now:.2f}, before {before:.2f}."
        )

    def show(self, console: Console) -> None:
        """Print the picks."""
        self.print_rows(self.selection.indices, "gain", self.selection.gains, console)
        console.print(Text(str(self)))


def file_facts(request: Request, candidates: Candidates, output: Path) -> dict[str, Any]:
    """The input, in words, for a page."""
    from diverset.pages.base import file_link

    rows = candidates.total or candidates.table.n
    return {
        "File": {"text": f"{candidates.table.name}, {rows:,} rows", "href": file_link(request.file, output)},
        "Compared by": f"{candidates.compared_by}, {candidates.similarity} similarity",
        "Quality": candidates.quality_name or "all rows equal",
    }


def pick(request: Request, *, dask: str | None = None) -> Picks:
    """Read a file and pick rows; with `dask` (the address of a scheduler, or ``"here"``) in blocks, by Dask."""
    request.check()
    warned: list[str] = []
    with working("Reading") as step, heard(warned):
        if dask is not None:
            with connected(dask):
                candidates, selection, given, k = pick_blocks(request, step)
        else:
            candidates = read_candidates(request, reserved=(request.cost, request.group), step=step)
            k = candidates.size(request)
            arguments = request.arguments(candidates)
            given = arguments["given"]
            step("Picking")
            selection = dv.select(candidates.features, k, **arguments, **request.search)
    notes = [*candidates.notes, *warned, *_remarks(candidates, selection, k)]
    picks = Picks(request, candidates, given, notes, selection)
    picks.warn_of_names()
    return picks


def _remarks(candidates: Candidates, selection: dv.Selection, k: float) -> list[str]:
    remarks = []
    n, picked = candidates.n, len(selection)
    if k > n:
        remarks.append(f"k = {k}, but only {n} rows can be compared" + ("; all are picked" if picked == n else ""))
    elif picked < k:
        remarks.append(f"only {picked} of {k} rows could be picked; the limits allow no more")
    spent = selection.rank_spent
    if spent is not None and spent < picked:
        remarks.append(
            f"from pick {spent + 1} on, every row left was a combination (or a copy) of earlier ones, so those picks "
            "add no volume"
        )
    # Rows of zeros have been named by their place in the file.
    return remarks + [note for note in selection.notes if "a vector of zeros" not in note]


@dataclass(frozen=True, eq=False)
class Drawn(_Rows):
    """The result of ``diverset sample``."""

    turn: ClassVar[bool] = False

    #: Positions of the candidates in each set, ascending.
    sets: list[IntArray]
    log_probs: FloatArray
    #: Probability that a set contains each candidate.
    chances: FloatArray
    arguments: dict[str, Any] = field(repr=False, default_factory=dict)

    def added(self) -> tuple[IntArray, dict[str, Sequence[Any]]]:
        """The rows of all sets, with the number and log-probability of the set and the probability of the row."""
        together = np.concatenate(self.sets)
        of_set = np.repeat(np.arange(len(self.sets)), [len(each) for each in self.sets])
        return together, {
            "draw": (of_set + 1).tolist(),
            "chance": self.chances[together].tolist(),
            "log_prob": self.log_probs[of_set].tolist(),
        }

    @cached_property
    def selection(self) -> dv.Selection:
        """The first set, with the numbers that a page shows."""
        with heard([]):
            return dv.select(self.candidates.features, len(self.sets[0]), **self.arguments, **self.request.search)

    def to_dict(self) -> dict[str, Any]:
        """The sets, each with its log-probability, and the seed."""
        rows = iter(self.records())
        picks = [
            {"log_prob": log_prob, "rows": [next(rows) for _ in each]}
            for each, log_prob in zip(self.sets, self.log_probs.tolist(), strict=True)
        ]
        return {"seed": self.request.seed, "sets": picks, "notes": self.notes}

    def command(self, setting: dv.Selection | None) -> str:
        """The command that draws this set."""
        return self.request.command()

    def asked(self, output: Path) -> dict[str, Any]:
        """The settings and the numbers of the result, in words."""
        facts = Picks(self.request, self.candidates, self.given, self.notes, self.selection).asked(output)
        return facts | {"Log-probability": f"{self.log_probs[0]:.4g}"}

    def __str__(self) -> str:
        return (
            f"{len(self.sets[0])} of {self.candidates.n:,} rows, compared by {self.candidates.compared_by}; chance is "
            f"how often a row is drawn. Seed {self.request.seed} draws the same again."
        )

    def show(self, console: Console) -> None:
        """Print the first few sets."""
        for number, each in enumerate(self.sets[:_SHOWN]):
            if len(self.sets) > 1:
                line(console, f"Set {number + 1}")
            self.print_rows(each, "chance", self.chances[each], console)
            line(console, f"Log-probability of this set: {self.log_probs[number]:.3f}.")
        if len(self.sets) > _SHOWN:
            line(console, f"And {len(self.sets) - _SHOWN:,} more; -o writes them all.")
        console.print(Text(str(self)))


def draw(request: Request, *, draws: int = 1, page: bool = False) -> Drawn:
    """Read a file and draw sets of rows; with ``keep``, at the dial at which the best set keeps that quality."""
    request.check()
    if draws < 1:
        raise DiversetError(f"the number of draws is {draws}; it must be at least 1")
    if page and draws > 1:
        raise DiversetError(f"a page shows one set, not {draws}; draw one, or write .csv")
    if request.seed is None:
        request = replace(request, seed=int(np.random.default_rng().integers(2**31)))
    notes: list[str] = []
    with working("Reading") as step, heard(notes):
        candidates = read_candidates(request, step=step)
        k = candidates.size(request)
        arguments = request.arguments(candidates)
        step("Finding the law")
        if request.keep is not None:
            best = dv.select(candidates.features, k, keep=request.keep, **arguments)
            request = replace(request, keep=None, diversity=max(best.diversity or 0.0, _LEAST))
            notes.append(
                f"diversity is {request.dial:.3g}, at which the best set keeps {best.kept:.0%} of quality; draws vary"
            )
        try:
            law = dv.selection_law(candidates.features, k, diversity=request.dial, **arguments)
        except SizeError as error:
            reason = "copies and combinations of rows are never drawn together, so choose a smaller k"
            raise SizeError(f"{error}; {reason}") from None
        step("Drawing")
        sets = [law.sample(rng=request.seed)] if draws == 1 else law.sample(draws, rng=request.seed)
        chances = np.zeros(candidates.n)
        chances[law.items] = law.inclusion_probabilities
        log_probs = np.array([law.log_prob(each) for each in sets])
    drawn = Drawn(
        request, candidates, arguments["given"], [*candidates.notes, *notes], sets, log_probs, chances, arguments
    )
    different = len({tuple(each.tolist()) for each in sets})
    if different < draws:
        drawn.notes.append(
            f"the {draws} sets hold {different} different one{'s' * (different > 1)}: the likeliest has probability "
            f"{float(np.exp(log_probs.max())):.2g}; a larger --diversity spreads the draws"
        )
    drawn.warn_of_names()
    return drawn
