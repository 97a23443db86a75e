"""``diverset select`` and ``sample``: options become a request, which :func:`diverset.select` answers."""

from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

from diverset.cli.group import Out, Seed, app, option, sharing
from diverset.cli.request import LIMITS, Method, Request

__all__ = ["sample", "select"]

Diversity: TypeAlias = Annotated[float | None, option("The dial, 0.5 by default: 0 is plain top-k, 1 diversity only.")]
_BLOCKS = "Read a .parquet, .npy or .zarr in blocks: on the Dask cluster at tcp://..., or here."


@dataclass
class Search:
    """Options of ``select`` alone."""

    diversity: Diversity = None
    method: Method = "greedy"
    seed: Seed = None
    group: Annotated[str | None, option("Column of groups, for --per-group.", "COL", panel=LIMITS)] = None
    per_group: Annotated[int | None, option("Most picks from one group.", "N", panel=LIMITS)] = None
    cost: Annotated[str | None, option("Column of costs, for --budget.", "COL", panel=LIMITS)] = None
    budget: Annotated[float | None, option("Limit on the total cost.", "B", panel=LIMITS)] = None
    window: Annotated[int | None, option("Only the last W picks repel.", "W", panel=LIMITS)] = None


@app.command(epilog="Example:  diverset select papers.csv -k 10 --text abstract --quality score -o picks.html")
@sharing(Request, Search, Out)
def select(
    request: Request,
    search: Search,
    out: Out,
    dask: Annotated[str | None, option(_BLOCKS, "ADDRESS")] = None,
) -> None:
    """Pick rows of a file that are good and unlike each other."""
    from diverset.cli.picks import Picks, pick

    out.check(Picks, request.inputs)
    picks = pick(replace(request, **vars(search)), dask=dask)
    out.deliver(picks, picks.show)


@app.command(
    epilog="Example:  diverset sample papers.csv -k 10 -n 5 --text abstract --quality score --seed 7 -o draws.csv"
)
@sharing(Request, Out)
def sample(
    request: Request,
    out: Out,
    draws: Annotated[int, option("-n", "--draws", "How many sets to draw.")] = 1,
    diversity: Diversity = None,
    seed: Seed = None,
) -> None:
    """Draw random sets of rows, good and unlike each other, with their exact probabilities."""
    from diverset.cli.picks import Drawn, draw

    out.check(Drawn, request.inputs)
    is_page = out.path is not None and out.path.suffix.lower() == ".html"
    drawn = draw(replace(request, diversity=diversity, method="sample", seed=seed), draws=draws, page=is_page)
    out.deliver(drawn, drawn.show)
