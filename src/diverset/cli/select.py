"""``diverset select`` and ``sample``: options become a request, :func:`diverset.select` answers it.

:func:`request_of` lists the options that ``select``, ``sample`` and ``compare`` share.
"""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from diverset.cli.group import Encoding, Seed, app, option, out, sharing

if TYPE_CHECKING:
    from diverset.cli.console import Out
    from diverset.cli.request import Request

__all__ = ["Method", "request_of", "sample", "select"]


class Similarity(StrEnum):
    """How rows are compared."""

    cosine = "cosine"
    rbf = "rbf"
    dot = "dot"


class Method(StrEnum):
    """How rows are picked."""

    greedy = "greedy"
    local_search = "local-search"
    exact = "exact"
    sample = "sample"


class Scale(StrEnum):
    """How scores are calibrated."""

    rank = "rank"
    standard = "standard"
    none = "none"


_WHAT = "What rows are compared by"
_LIMITS = "Limits"
Diversity: TypeAlias = Annotated[
    float | None, option(help="The dial, 0.5 if left out: 0 is plain top-k, 1 diversity only.")
]


def request_of(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Rows: .csv, .tsv, .json, .jsonl, .parquet, .npy; - is standard input."),
    ],
    k: Annotated[
        str | None,
        option("-k", "--size", metavar="N", help="Rows to pick, 10 if left out: a number, or a share such as 0.1."),
    ] = None,
    quality: Annotated[str | None, option(metavar="COL", help="Column of scores: higher is better.")] = None,
    lower_is_better: Annotated[
        bool, option("--lower-is-better", help="The column holds distances or ranks: lower is better.")
    ] = False,
    scale: Annotated[
        Scale, option(help="What counts of the scores: their order, their standardised values, or raw values.")
    ] = Scale.rank,
    keep: Annotated[
        float | None, option(metavar="SHARE", help="Share of quality to keep, such as 0.9, instead of a dial.")
    ] = None,
    label: Annotated[
        str | None, option("--id", metavar="COL", help="Column that names rows. Without one, rows count from 1.")
    ] = None,
    encoding: Encoding = None,
    text: Annotated[str | None, option(metavar="COL", help="Compare the words of a column.", panel=_WHAT)] = None,
    features: Annotated[
        str | None,
        option(metavar="COLS", help="Compare columns of numbers: a,b or e* or e0:e63, or lists.", panel=_WHAT),
    ] = None,
    embeddings: Annotated[
        Path | None, option(metavar="F.npy", help="Compare embeddings, one for each row of FILE.", panel=_WHAT)
    ] = None,
    model: Annotated[
        str | None,
        option(metavar="NAME", help="Embed the text with this sentence-transformers model.", panel=_WHAT),
    ] = None,
    similarity: Annotated[
        Similarity | None,
        option(help="cosine, unless rows are compared by columns of single numbers: rbf, standardised.", panel=_WHAT),
    ] = None,
    given: Annotated[
        str | None,
        option(metavar="IDS", help="Rows already shown, to keep away from: a,b,c or a file.", panel=_LIMITS),
    ] = None,
    exclude: Annotated[
        str | None, option(metavar="IDS", help="Rows not to pick: a,b,c or a file.", panel=_LIMITS)
    ] = None,
    min_quality: Annotated[
        float | None, option(metavar="X", help="Pick no row of worse quality.", panel=_LIMITS)
    ] = None,
) -> "Request":
    """The options that the three commands share."""
    from diverset.cli.request import Request, read_size

    return Request(
        file,
        None if k is None else read_size(k),
        quality,
        keep=keep,
        scale=None if scale == Scale.none else str(scale),
        lower_is_better=lower_is_better,
        id=label,
        text=text,
        features=features,
        embeddings=embeddings,
        model=model,
        similarity=None if similarity is None else str(similarity),
        given=given,
        exclude=exclude,
        min_quality=min_quality,
        encoding=encoding,
    )


@app.command(epilog="Example:  diverset select papers.csv -k 10 --text abstract --quality score -o picks.html")
@sharing(request_of, out)
def select(
    request: "Request",
    out: "Out",
    diversity: Diversity = None,
    method: Annotated[Method, option(help="How to look for the best set; sample draws one.")] = Method.greedy,
    seed: Seed = None,
    group: Annotated[
        str | None, option(metavar="COL", help="Column of groups, for --per-group.", panel=_LIMITS)
    ] = None,
    per_group: Annotated[int | None, option(metavar="N", help="Most picks from one group.", panel=_LIMITS)] = None,
    cost: Annotated[str | None, option(metavar="COL", help="Column of costs, for --budget.", panel=_LIMITS)] = None,
    budget: Annotated[
        float | None, option(metavar="B", help="What all picks together may cost.", panel=_LIMITS)
    ] = None,
    window: Annotated[int | None, option(metavar="W", help="Only the last W picks repel.", panel=_LIMITS)] = None,
    dask: Annotated[
        str | None,
        option(
            metavar="ADDRESS",
            help="Read a .parquet, .npy or .zarr in blocks: on the Dask cluster at tcp://..., or here.",
        ),
    ] = None,
) -> None:
    """Pick rows of a file that are good and unlike each other."""
    from diverset.cli.picks import Picks, pick

    own = replace(request, diversity=diversity, method=str(method), seed=seed, window=window)
    own = replace(own, group=group, per_group=per_group, cost=cost, budget=budget)
    out.check(Picks.formats, own.inputs)
    picks = pick(own, dask=dask)
    out.deliver(picks, picks.show)


@app.command(
    epilog="Example:  diverset sample papers.csv -k 10 -n 5 --text abstract --quality score --seed 7 -o draws.csv"
)
@sharing(request_of, out)
def sample(
    request: "Request",
    out: "Out",
    draws: Annotated[int, option("-n", "--draws", help="How many sets to draw.")] = 1,
    diversity: Diversity = None,
    seed: Seed = None,
) -> None:
    """Draw random sets of rows, good and unlike each other, with their exact probabilities."""
    from diverset.cli.picks import Drawn, draw

    out.check(Drawn.formats, request.inputs)
    is_page = out.path is not None and out.path.suffix.lower() == ".html"
    drawn = draw(replace(request, diversity=diversity, method="sample", seed=seed), draws=draws, page=is_page)
    out.deliver(drawn, drawn.show)
