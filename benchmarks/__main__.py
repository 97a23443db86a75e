"""The command line of the benchmarks: ``run``, ``list`` and ``show``."""

import importlib
import json
import pkgutil
from types import ModuleType
from typing import Annotated

import typer
from rich.console import Console

import benchmarks
from benchmarks import harness

app = typer.Typer(help="Speed and accuracy of diverset, measured.", no_args_is_help=True, add_completion=False)
Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Which benchmarks; all by default.")]


def _benchmarks() -> dict[str, ModuleType]:
    """Modules of this package that declare cases, by name."""
    found = {}
    for info in pkgutil.iter_modules(benchmarks.__path__):
        if info.name not in ("__main__", "harness"):
            module = importlib.import_module(f"benchmarks.{info.name}")
            if hasattr(module, "CASES"):
                found[info.name] = module
    return found


def _chosen(names: list[str] | None) -> dict[str, ModuleType]:
    known = _benchmarks()
    unknown = [name for name in names or [] if name not in known]
    if unknown:
        raise typer.BadParameter(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    return {name: known[name] for name in names} if names else known


def _console() -> Console:
    # Rows are long; piped into a file they should not be folded at 80 columns.
    console = Console()
    return console if console.is_terminal else Console(width=150)


@app.command()
def run(
    names: Names = None,
    only: Annotated[str, typer.Option(help="Only cases with this in their name; nothing is stored then.")] = "",
    cpu: Annotated[bool, typer.Option("--cpu", help="Processor time, for a busy machine and one BLAS thread.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if a bar is missed.")] = False,
) -> None:
    """Measure, print a table, and keep the numbers in benchmarks/results/NAME.json."""
    console = _console()
    results = [harness.run(module, console, only, cpu=cpu) for module in _chosen(names).values()]
    if strict and any(row["met"] is False for result in results for row in result["rows"]):
        raise typer.Exit(1)


@app.command("list")
def list_() -> None:
    """Name the benchmarks and their cases."""
    for name, module in _benchmarks().items():
        typer.echo(f"{name}: {(module.__doc__ or '').splitlines()[0]}")
        for case in module.CASES:
            typer.echo(f"  {case.__name__}: {(case.__doc__ or '').splitlines()[0]}")


@app.command()
def show(
    names: Names = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="As a table for the README.")] = False,
    rst: Annotated[bool, typer.Option("--rst", help="As a table for the documentation.")] = False,
) -> None:
    """Print the last stored results again."""
    console = _console()
    for name in _chosen(names):
        path = harness.RESULTS / f"{name}.json"
        if not path.exists():
            raise typer.BadParameter(f"{name} has not been run yet: python -m benchmarks run {name}")
        result = json.loads(path.read_text(encoding="utf-8"))
        if rst:
            typer.echo(f"{harness.rst(result)}\n\n{harness.describe(result)}")
        elif markdown:
            typer.echo(f"{harness.markdown(result)}\n\n{harness.describe(result)}")
        else:
            console.print(harness.table(result))
            console.print(harness.describe(result), style="dim", highlight=False)


if __name__ == "__main__":
    app(prog_name="python -m benchmarks")
