"""``diverset select``, ``sample`` and ``compare``: their options, most of which they share.

:func:`_request` lists the shared options once. :func:`_with_request` gives them to a command.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from diverset.cli.group import app

if TYPE_CHECKING:
    from diverset.cli.request import Request

__all__ = ["compare", "sample", "select"]


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


def _option(*names: str, panel: str | None = None, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, **settings)


_WHAT = "What rows are compared by"
_LIMITS = "Limits"
Diversity: TypeAlias = Annotated[
    float | None, _option(help="The dial, 0.5 if left out: 0 is plain top-k, 1 diversity only.")
]
Seed: TypeAlias = Annotated[int | None, _option(min=0, help="Same seed, same sets.", show_default=False)]


def _request(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Rows: .csv, .tsv, .jsonl, .parquet or .npy; - is standard input.")
    ],
    k: Annotated[
        str | None,
        _option("-k", "--size", metavar="N", help="Rows to pick, 10 if left out: a number, or a share such as 0.1."),
    ] = None,
    quality: Annotated[str | None, _option(metavar="COL", help="Column of scores: higher is better.")] = None,
    lower_is_better: Annotated[
        bool, _option("--lower-is-better", help="The column holds distances or ranks: lower is better.")
    ] = False,
    scale: Annotated[
        Scale, _option(help="What counts of the scores: their order, their standardised values, or raw values.")
    ] = Scale.rank,
    keep: Annotated[
        float | None, _option(metavar="SHARE", help="Share of quality to keep, such as 0.9, instead of a dial.")
    ] = None,
    label: Annotated[
        str | None, _option("--id", metavar="COL", help="Column that names rows. Without one, rows count from 1.")
    ] = None,
    output: Annotated[
        Path | None, _option("-o", "--output", help="Write the result: .csv, .jsonl, .parquet, or a page, .html.")
    ] = None,
    text: Annotated[str | None, _option(metavar="COL", help="Compare the words of a column.", panel=_WHAT)] = None,
    features: Annotated[
        str | None,
        _option(metavar="COLS", help="Compare columns of numbers: a,b or e* or e0:e63, or lists.", panel=_WHAT),
    ] = None,
    embeddings: Annotated[
        Path | None, _option(metavar="F.npy", help="Compare embeddings, one for each row of FILE.", panel=_WHAT)
    ] = None,
    model: Annotated[
        str | None,
        _option(metavar="NAME", help="Embed the text with this sentence-transformers model.", panel=_WHAT),
    ] = None,
    similarity: Annotated[
        Similarity | None,
        _option(help="cosine, unless rows are compared by columns of single numbers: rbf, standardised.", panel=_WHAT),
    ] = None,
    given: Annotated[
        str | None,
        _option(metavar="IDS", help="Rows already shown, to keep away from: a,b,c or a file.", panel=_LIMITS),
    ] = None,
    exclude: Annotated[
        str | None, _option(metavar="IDS", help="Rows not to pick: a,b,c or a file.", panel=_LIMITS)
    ] = None,
    min_quality: Annotated[
        float | None, _option(metavar="X", help="Pick no row of worse quality.", panel=_LIMITS)
    ] = None,
) -> "Request":
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
        output=output,
    )


def _with_request(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :func:`_request` before its own; its first argument is what they make."""
    shared = signature(_request).parameters
    own = list(signature(command).parameters.values())[1:]

    @wraps(command, assigned=("__module__", "__name__", "__doc__"))
    def call(**options: Any) -> None:
        request = _request(**{name: options.pop(name) for name in shared})
        command(request, **options)

    call.__signature__ = Signature([*shared.values(), *own])  # type: ignore[attr-defined]
    return call


@app.command(epilog="Example:  diverset select papers.csv -k 10 --text abstract --quality score -o picks.html")
@_with_request
def select(
    request: "Request",
    diversity: Diversity = None,
    method: Annotated[Method, _option(help="How to look for the best set; sample draws one.")] = Method.greedy,
    seed: Annotated[int | None, _option(min=0, help="For --method sample.", show_default=False)] = None,
    group: Annotated[
        str | None, _option(metavar="COL", help="Column of groups, for --per-group.", panel=_LIMITS)
    ] = None,
    per_group: Annotated[int | None, _option(metavar="N", help="Most picks from one group.", panel=_LIMITS)] = None,
    cost: Annotated[str | None, _option(metavar="COL", help="Column of costs, for --budget.", panel=_LIMITS)] = None,
    budget: Annotated[
        float | None, _option(metavar="B", help="What all picks together may cost.", panel=_LIMITS)
    ] = None,
    window: Annotated[int | None, _option(metavar="W", help="Only the last W picks repel.", panel=_LIMITS)] = None,
    dask: Annotated[
        str | None,
        _option(
            metavar="ADDRESS",
            help="Read a .parquet, .npy or .zarr in blocks: on the Dask cluster at tcp://..., or here.",
        ),
    ] = None,
) -> None:
    """Pick rows of a file that are good and unlike each other."""
    from diverset.cli.run_select import run_select

    own = replace(request, diversity=diversity, method=str(method), seed=seed, window=window)
    run_select(replace(own, group=group, per_group=per_group, cost=cost, budget=budget), dask=dask)


@app.command(
    epilog="Example:  diverset sample papers.csv -k 10 -n 5 --text abstract --quality score --seed 7 -o draws.csv"
)
@_with_request
def sample(
    request: "Request",
    draws: Annotated[int, _option("-n", "--draws", help="How many sets to draw.")] = 1,
    diversity: Diversity = None,
    seed: Seed = None,
) -> None:
    """Draw random sets of rows, good and unlike each other, with their exact probabilities."""
    from diverset.cli.run_sample import run_sample

    run_sample(replace(request, diversity=diversity, method="sample", seed=seed), draws=draws)


@app.command(epilog="Example:  diverset compare papers.csv -k 10 --text abstract --quality score -o methods.html")
@_with_request
def compare(
    request: "Request",
    methods: Annotated[
        str | None, _option(metavar="NAMES", help="Methods, with commas between; all by default.")
    ] = None,
    dials: Annotated[
        str | None, _option(metavar="D,D", help="Settings of the dial; 0.1,0.2,...,1 if left out.")
    ] = None,
    query: Annotated[str | None, _option(metavar="COL", help="Column that says to which query a row belongs.")] = None,
    qrels: Annotated[
        Path | None, _option(metavar="F", help="Judgements, as TREC has them: topic, subtopic or 0, id, grade.")
    ] = None,
    clicked: Annotated[
        str | None, _option(metavar="COL", help="Column of clicks or grades: above 0 is relevant.")
    ] = None,
    measure: Annotated[
        str | None, _option(metavar="NAME", help="What decides: alpha_ndcg, ndcg, subtopic_recall or precision.")
    ] = None,
    seed: Annotated[int, _option(min=0, help="For the random picks.")] = 0,
) -> None:
    """Try methods and settings of the dial side by side, and say which to use."""
    from diverset.cli.run_compare import Trial, run_compare

    run_compare(replace(request, seed=seed), Trial(methods, dials, query, qrels, clicked, measure))
