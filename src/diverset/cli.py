"""The ``diverset`` command: parses arguments, calls :mod:`diverset.apps`, reports errors in one line."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

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


def main() -> None:
    """Run the command line; the entry point of the ``diverset`` script."""
    app(prog_name="diverset")
