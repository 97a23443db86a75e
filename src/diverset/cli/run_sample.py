"""``diverset sample``: random sets of rows of a file, good and different, with their probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

import diverset as dv
from diverset._typing import FloatArray, IntArray
from diverset.cli.candidates import read_candidates
from diverset.cli.console import heard, say, working
from diverset.cli.request import Request
from diverset.cli.run_select import picks_table, write_picks, write_rows
from diverset.errors import DiversetError, SizeError

__all__ = ["run_sample"]

#: Sets that are printed; all are written.
_SHOWN = 5
#: The least diversity that leaves anything to chance.
_LEAST = 0.01


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


def run_sample(request: Request, *, draws: int = 1, console: Console | None = None) -> list[IntArray]:
    """Read a file, draw sets of rows, print them, and write them if asked to.

    Parameters
    ----------
    request : Request
        What to read, how many rows a set has, and how diverse it is. A seed is made up, and printed, if there is none.
        With ``keep``, the dial is the one at which the most probable set keeps that share of quality.
    draws : int
        How many sets.
    console : Console, optional
        Where to print; standard output by default. Remarks go to standard error.

    Returns
    -------
    list of ndarray
        Positions among the candidates, ascending.
    """
    screen = Console() if console is None else console
    request.check()
    output = request.output
    if draws < 1:
        raise DiversetError(f"{draws} draws asked for; ask for at least 1")
    if output is not None and output.suffix.lower() == ".html" and draws > 1:
        raise DiversetError(f"a page shows one set, and {draws} were asked for; draw one, or write .csv")
    if request.seed is None:
        request = replace(request, seed=int(np.random.default_rng().integers(2**31)))
    notes: list[str] = []
    with working("Reading") as step, heard(notes):
        candidates = read_candidates(request, step=step)
        k = request.size(candidates)
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
            raise SizeError(
                f"{error}; copies and combinations of rows are never drawn together, so ask for fewer"
            ) from None
        step("Drawing")
        sets = [law.sample(rng=request.seed)] if draws == 1 else law.sample(draws, rng=request.seed)
        chances = np.zeros(candidates.n)
        chances[law.items] = law.inclusion_probabilities
        drawn = _Drawn(sets, np.array([law.log_prob(each) for each in sets]), chances)
    remarks = [*candidates.notes, *notes, *_repeated(drawn)]
    for remark in remarks:
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
            f"Seed {request.seed} draws the same again."
        )
    )
    if output is not None:
        with working("Writing"), heard([]):
            if output.suffix.lower() == ".html":
                # The same draw, with what the page says of every row.
                selection = dv.select(
                    candidates.features, k, diversity=request.dial, method="sample", rng=request.seed, **arguments
                )
                more = {"Log-probability": f"{drawn.log_probs[0]:.4g}"}
                write_picks(request, candidates, selection, [selection], arguments["given"], remarks, more)
            else:
                write_rows(output, candidates, *drawn.rows())
        screen.print(f"Written to {output}", markup=False, highlight=False, soft_wrap=True)
    return sets


def _repeated(drawn: _Drawn) -> list[str]:
    """Says so where sets repeat."""
    different = len({tuple(each.tolist()) for each in drawn.sets})
    if different == len(drawn.sets):
        return []
    likely = float(np.exp(drawn.log_probs.max()))
    return [
        f"the {len(drawn.sets)} sets hold {different} different one{'s' * (different > 1)}: the likeliest has "
        f"probability {likely:.2g}; a larger --diversity spreads the draws"
    ]
