"""The command group that every command joins, and the options that commands share.

Bad input ends in one line on standard error and exit code 2, a fault of the environment in one line and exit code 1.
"""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from diverset import __version__
from diverset.errors import DiversetError, EnvironmentFault, MissingExtraError

if TYPE_CHECKING:
    from diverset.cli.console import Out

__all__ = ["COMPLETE", "Encoding", "Seed", "app", "option", "out", "sharing"]

FAULT, BAD_INPUT, INTERRUPTED = 1, 2, 130
#: Set by the script of a shell that completes a command.
COMPLETE = "_DIVERSET_COMPLETE"
#: Errors of the system that no other input would avoid.
_FAULTS = {getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EIO", "EROFS", "EMFILE", "ENFILE", "ENOMEM")}


class _OneLineErrors(TyperGroup):
    """A command group that answers errors with one line on standard error and an exit code."""

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
        if COMPLETE in os.environ:
            from typer._completion_classes import completion_init  # teaches Click what Typer's scripts ask

            completion_init()
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except BrokenPipeError:  # the reader of standard output has seen enough
            sys.stdout = open(os.devnull, "w")
            code = 0
        except (DiversetError, MissingExtraError, OSError) as error:
            fault = isinstance(error, EnvironmentFault) or getattr(error, "errno", None) in _FAULTS - {None}
            code = _complain(str(error), FAULT if fault else BAD_INPUT)
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


def _complain(message: str, code: int = BAD_INPUT) -> int:
    line = " ".join(message.split())
    shown = "".join(m if m.isprintable() else m.encode("unicode_escape").decode() for m in line)
    print("diverset: error:", shown, file=sys.stderr)
    return code


def option(*names: str, panel: str | None = None, **settings: Any) -> Any:
    """An option of a command, in a panel of the help page."""
    return typer.Option(*names, rich_help_panel=panel, **settings)


Seed: TypeAlias = Annotated[
    int | None, option("--seed", min=0, help="Seed of the random numbers: same seed, same result.", show_default=False)
]
Encoding: TypeAlias = Annotated[
    str | None, option(metavar="NAME", help="Encoding of text files, such as cp1252; UTF-8 first if left out.")
]


def out(
    output: Annotated[
        Path | None,
        option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the result: .html is a page; also .json, .jsonl, .csv, .parquet, .md. - is standard output.",
        ),
    ] = None,
    as_json: Annotated[bool, option("--json", help="Print JSON, for scripts.")] = False,
    quiet: Annotated[
        bool, option("--quiet", "-q", help="Print no remarks, and no result if it goes to a file.")
    ] = False,
    force: Annotated[bool, option("--force", help="Allow the output to overwrite the input.")] = False,
) -> "Out":
    """The options that say where a result goes."""
    from diverset.cli.console import Out

    return Out(output, as_json, quiet, force)


def sharing(*makers: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these functions besides its own; what they return are its first arguments.

    The options of the last function are listed at the end.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = [signature(maker).parameters for maker in makers]
        own = list(signature(command).parameters.values())[len(makers) :]
        first = [parameter for each in parameters[:-1] for parameter in each.values()]
        every = [*first, *own, *parameters[-1].values()]

        @wraps(command, assigned=("__module__", "__name__", "__doc__"))
        def call(**options: Any) -> None:
            made = [m(**{name: options.pop(name) for name in p}) for m, p in zip(makers, parameters, strict=True)]
            command(*made, **options)

        every.sort(key=lambda parameter: parameter.default is not parameter.empty)  # arguments before options
        call.__signature__ = Signature(every)  # type: ignore[attr-defined]
        return call

    return decorate


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
