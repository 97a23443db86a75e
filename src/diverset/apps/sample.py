"""``diverset sample``: random sets of rows of a file, good and different, with their probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

import diverset as dv
from diverset._typing import FloatArray, IntArray
from diverset.apps.candidates import Source, find_rows, read_candidates
from diverset.apps.console import say, working
from diverset.apps.select import (
    Limits,
    check_request,
    picks_table,
    rows_wanted,
    what_was_asked,
    write_picks,
    write_rows,
)
from diverset.apps.tables import check_output
from diverset.errors import DiversetError, SizeError

__all__ = ["run_sample"]

#: Sets that are printed; all are written.
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Sets, the log-probability of each, and how likely each candidate is to be in one."""

    sets: list[IntArray]
    log_probs: FloatArray
    chances: FloatArray

    def rows(self) -> tuple[IntArray, dict[str, Sequence[Any]]]:
        """All rows of all sets, and what to write beside them."""
        together = np.concatenate(self.sets)
        of_set = np.repeat(np.arange(len(self.sets)), [len(each) for each in self.sets])
        return together, {
            "draw": (of_set + 1).tolist(),
            "chance": self.chances[together].tolist(),
            "log_prob": self.log_probs[of_set].tolist(),
        }


def run_sample(
    source: Source,
    k: int | None = None,
    *,
    draws: int = 1,
    limits: Limits | None = None,
    diversity: float = 0.5,
    seed: int | None = None,
    output: Path | None = None,
    console: Console | None = None,
) -> list[IntArray]:
    """Read a file, draw sets of rows, print them, and write them if asked to.

    Parameters
    ----------
    source : Source
        The file, and what its rows are compared by.
    k : int, optional
        How many rows in a set; 10, or all of fewer, if left out.
    draws : int
        How many sets.
    limits : Limits, optional
        Rows already shown, rows not to draw, and the lowest quality.
    diversity, seed
        As ``diversity`` of :func:`diverset.selection_law`, and of the draws; a seed is made up and said if left out.
    output : Path, optional
        Where the rows go: CSV, JSON lines or Parquet, by the extension; one set also to an HTML page.
    console : Console, optional
        Where to print; standard output if left out. Remarks go to standard error.

    Returns
    -------
    list of ndarray
        Positions among the candidates, ascending.
    """
    screen = Console() if console is None else console
    limits = Limits() if limits is None else limits
    check_request(source, k, limits)
    if draws < 1:
        raise DiversetError(f"{draws} draws asked for; ask for at least 1")
    if output is not None:
        check_output(output)
        if output.suffix.lower() == ".html" and draws > 1:
            raise DiversetError(f"a page shows one set, and {draws} were asked for; draw one, or write .csv")
    if seed is None:
        seed = int(np.random.default_rng().integers(2**31))
    with working("Reading") as step:
        candidates = read_candidates(source, step=step)
        k = rows_wanted(candidates, k)
        given = find_rows(limits.given, candidates, "--given")
        arguments: dict[str, Any] = {
            "quality": candidates.quality,
            "diversity": diversity,
            "similarity": candidates.similarity,
            "given": given,
            "exclude": find_rows(limits.exclude, candidates, "--exclude"),
            "min_quality": limits.min_quality,
        }
        step("Finding the law")
        try:
            law = dv.selection_law(candidates.features, k, **arguments)
        except SizeError as error:
            raise SizeError(
                f"{error}; copies and combinations of rows are never drawn together, so ask for fewer"
            ) from None
        step("Drawing")
        sets = [law.sample(rng=seed)] if draws == 1 else law.sample(draws, rng=seed)
        chances = np.zeros(candidates.n)
        chances[law.items] = law.inclusion_probabilities
        drawn = _Drawn(sets, np.array([law.log_prob(each) for each in sets]), chances)
    for remark in candidates.notes:
        say(remark)
    for number, each in enumerate(sets[:_SHOWN]):
        if draws > 1:
            screen.print(Text(f"Set {number + 1}"))
        screen.print(picks_table(candidates, each, {"chance": chances[each]}, screen))
        screen.print(Text(f"Log-probability of this set: {drawn.log_probs[number]:.3f}."))
    if draws > _SHOWN:
        screen.print(Text(f"And {draws - _SHOWN:,} more" + ("." if output is not None else "; -o writes them all.")))
    screen.print(
        Text(
            f"{k} of {candidates.n:,} rows, compared by {candidates.compared_by}; chance is how often a row is drawn. "
            f"Seed {seed} draws the same again."
        )
    )
    if output is not None:
        with working("Writing"):
            if output.suffix.lower() == ".html":
                # The same draw, with what the page says of every row.
                selection = dv.select(candidates.features, k, method="sample", rng=seed, **arguments)
                asked = what_was_asked(candidates, selection, k, limits, diversity, "sample", seed)
                asked["Log-probability"] = f"{drawn.log_probs[0]:.4g}"
                write_picks(output, candidates, selection, given, asked, list(candidates.notes))
            else:
                write_rows(output, candidates, *drawn.rows())
        screen.print(f"Written to {output}", markup=False, highlight=False, soft_wrap=True)
    return sets
