"""``diverset select``, ``sample`` and ``compare``: the arguments, most of which they share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from diverset.cli.group import app

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


# Options that these commands share.
_WHAT = "What rows are compared by"
_LIMITS = "Limits"
File: TypeAlias = Annotated[
    str, typer.Argument(metavar="FILE", help="Rows: .csv, .tsv, .jsonl, .parquet or .npy; - is standard input.")
]
Size: TypeAlias = Annotated[
    int | None, typer.Option("-k", "--size", help="How many rows to pick; 10, or all of fewer, if left out.")
]
Quality: TypeAlias = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of scores: higher is better, differences near 1 count.")
]
Diversity: TypeAlias = Annotated[float, typer.Option(help="The dial: 0 is plain top-k, 1 looks at diversity only.")]
Label: TypeAlias = Annotated[
    str | None, typer.Option("--id", metavar="COL", help="Column that names rows. Without one, rows count from 1.")
]
TextColumn: TypeAlias = Annotated[
    str | None, typer.Option("--text", metavar="COL", help="Compare the words of a column.", rich_help_panel=_WHAT)
]
Features: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLS", help="Compare columns of numbers: a,b or e* or e0:e63, or lists.", rich_help_panel=_WHAT
    ),
]
Embeddings: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="F.npy", help="Compare embeddings, one for each row of FILE.", rich_help_panel=_WHAT),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Embed the text with this sentence-transformers model.", rich_help_panel=_WHAT),
]
Compare: TypeAlias = Annotated[
    Similarity | None,
    typer.Option(
        "--similarity",
        help="cosine, unless rows are compared by columns of single numbers: rbf, standardised.",
        rich_help_panel=_WHAT,
    ),
]
Given: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="IDS", help="Rows already shown, to keep away from: a,b,c or a file.", rich_help_panel=_LIMITS
    ),
]
Exclude: TypeAlias = Annotated[
    str | None, typer.Option(metavar="IDS", help="Rows not to pick: a,b,c or a file.", rich_help_panel=_LIMITS)
]
MinQuality: TypeAlias = Annotated[
    float | None, typer.Option(metavar="X", help="Pick no row of lower quality.", rich_help_panel=_LIMITS)
]


@app.command(
    epilog="Example:  diverset select papers.csv -k 10 --text abstract --quality score -o picks.html",
)
def select(
    file: File,
    k: Size = None,
    quality: Quality = None,
    diversity: Diversity = 0.5,
    method: Annotated[Method, typer.Option(help="How to look for the best set; sample draws one.")] = Method.greedy,
    label: Label = None,
    seed: Annotated[int | None, typer.Option(min=0, help="For --method sample.", show_default=False)] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the picks: .csv, .jsonl, .parquet, or a page, .html.")
    ] = None,
    text: TextColumn = None,
    features: Features = None,
    embeddings: Embeddings = None,
    model: Model = None,
    similarity: Compare = None,
    given: Given = None,
    exclude: Exclude = None,
    min_quality: MinQuality = None,
    group: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of groups, for --per-group.", rich_help_panel=_LIMITS)
    ] = None,
    per_group: Annotated[
        int | None, typer.Option(metavar="N", help="Most picks from one group.", rich_help_panel=_LIMITS)
    ] = None,
    cost: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of costs, for --budget.", rich_help_panel=_LIMITS)
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="B", help="What all picks together may cost.", rich_help_panel=_LIMITS)
    ] = None,
    window: Annotated[
        int | None, typer.Option(metavar="W", help="Only the last W picks repel.", rich_help_panel=_LIMITS)
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Read a .parquet, .npy or .zarr in blocks: on the Dask cluster at tcp://..., or here.",
        ),
    ] = None,
) -> None:
    """Pick rows of a file that are good and unlike each other."""
    from diverset.apps.candidates import Source
    from diverset.apps.select import Limits, run_select

    run_select(
        Source(
            file, quality, text, features, embeddings, model, None if similarity is None else similarity.value, label
        ),
        k,
        limits=Limits(given, exclude, min_quality, group, per_group, cost, budget, window),
        diversity=diversity,
        method=method.value,
        seed=seed,
        output=output,
        dask=dask,
    )


@app.command(
    epilog="Example:  diverset sample papers.csv -k 10 -n 5 --text abstract --quality score --seed 7 -o draws.csv"
)
def sample(
    file: File,
    k: Size = None,
    draws: Annotated[int, typer.Option("-n", "--draws", help="How many sets to draw.")] = 1,
    quality: Quality = None,
    diversity: Annotated[float, typer.Option(help="The dial: near 0 the best rows, 1 looks at diversity only.")] = 0.5,
    label: Label = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Same seed, same sets.", show_default=False)] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the sets: .csv, .jsonl, .parquet; one set also to a page, .html."),
    ] = None,
    text: TextColumn = None,
    features: Features = None,
    embeddings: Embeddings = None,
    model: Model = None,
    similarity: Compare = None,
    given: Given = None,
    exclude: Exclude = None,
    min_quality: MinQuality = None,
) -> None:
    """Draw random sets of rows, good and unlike each other, with their exact probabilities."""
    from diverset.apps.candidates import Source
    from diverset.apps.sample import run_sample
    from diverset.apps.select import Limits

    run_sample(
        Source(
            file, quality, text, features, embeddings, model, None if similarity is None else similarity.value, label
        ),
        k,
        draws=draws,
        limits=Limits(given, exclude, min_quality),
        diversity=diversity,
        seed=seed,
        output=output,
    )


@app.command(epilog="Example:  diverset compare papers.csv -k 10 --text abstract --quality score -o methods.html")
def compare(
    file: File,
    k: Size = None,
    quality: Quality = None,
    diversity: Diversity = 0.5,
    methods: Annotated[str, typer.Option(metavar="NAMES", help="Methods, with commas between.")] = (
        "dpp,mmr,max-sum,max-min,facility-location,top-k,random"
    ),
    label: Label = None,
    seed: Annotated[int, typer.Option(min=0, help="For the random picks.")] = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the table: .csv, .jsonl, .parquet, or a page, .html.")
    ] = None,
    text: TextColumn = None,
    features: Features = None,
    embeddings: Embeddings = None,
    model: Model = None,
    similarity: Compare = None,
    given: Given = None,
    exclude: Exclude = None,
    min_quality: MinQuality = None,
) -> None:
    """Pick rows in several ways, side by side with numbers: how good, how diverse."""
    from diverset.apps.candidates import Source
    from diverset.apps.compare import run_compare
    from diverset.apps.select import Limits

    run_compare(
        Source(
            file, quality, text, features, embeddings, model, None if similarity is None else similarity.value, label
        ),
        k,
        methods=[name.strip() for name in methods.split(",") if name.strip()],
        limits=Limits(given, exclude, min_quality),
        diversity=diversity,
        seed=seed,
        output=output,
    )
