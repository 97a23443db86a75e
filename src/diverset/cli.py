"""The ``diverset`` command: parses arguments, calls :mod:`diverset.apps`, reports errors in one line."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from diverset.errors import DiversetError, MissingExtraError

__all__ = ["app", "main"]

BAD_INPUT = 2
INTERRUPTED = 130


class _OneLineErrors(TyperGroup):
    """A command group that answers bad input with one line on standard error and exit code 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the group with errors handed over, and turn them into an exit code."""
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except (DiversetError, MissingExtraError, OSError) as error:
            code = _complain(str(error))
        except Exception as error:
            # Usage errors: depending on its version, Typer brings Click along or has it inside.
            if not hasattr(error, "format_message"):
                raise
            code = _complain(error.format_message())
        sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> int:
    print("diverset: error:", " ".join(message.split()), file=sys.stderr)
    return BAD_INPUT


app = typer.Typer(
    name="diverset",
    cls=_OneLineErrors,
    help="Pick sets: diverse, high in quality, with exact probabilities (determinantal point processes).",
    epilog="Example:  diverset demo",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"diverset {version('diverset')}")
        raise typer.Exit


@app.callback()
def _without_command(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog="Example:  diverset demo -k 12 --seed 1 -o cities.svg")
def demo(
    k: Annotated[int, typer.Option("-k", "--size", help="How many cities to pick, 1 to 200.")] = 10,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Also draw a set at random, with this seed.", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the map: .png, .svg or .pdf.")] = Path(
        "diverset-demo.png"
    ),
    length_scale: Annotated[float, typer.Option(help="Distance in km over which cities resemble each other.")] = 500.0,
    population_power: Annotated[
        float, typer.Option(help="Weight of population: 0 is distance only, 3 is nearly the plain top k.")
    ] = 0.5,
) -> None:
    """Pick diverse large U.S. cities out of 200: a table, and a map.

    Populous cities are good, close ones are alike; likely sets hold good cities that are not alike.
    """
    from diverset.apps.demo import run_demo

    run_demo(k, output=output, length_scale=length_scale, population_power=population_power, seed=seed)


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


# Options that `select` and `compare` share.
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


def main() -> None:
    """Run the command line; the entry point of the ``diverset`` script."""
    app(prog_name="diverset")
