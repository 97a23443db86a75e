"""The command group that every command joins: one line for bad input, exit code 2, never a traceback."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from diverset import __version__
from diverset.errors import DiversetError, MissingExtraError

__all__ = ["app"]

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
            if hasattr(error, "format_message"):
                code = _complain(error.format_message())
            elif _was_interrupted(error):
                code = INTERRUPTED
            else:
                raise
        sys.exit(code if isinstance(code, int) else 0)


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether an interrupt is behind an error: in compiled code it comes out as a SystemError."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


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


def _loops() -> str:
    """Which loops are in use."""
    from diverset._uncompiled import is_compiled

    if is_compiled():
        from diverset.numerics import _loops

        return f"compiled loops, instruction set {_loops.instruction_set()}"
    return "loops not compiled: slow; install a C compiler, then: pip install --force-reinstall --no-deps diverset"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"diverset {__version__} ({_loops()})")
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
