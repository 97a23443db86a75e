"""The command group that every command joins, and the options that commands share."""

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from diverset import __version__
from diverset._result import Result
from diverset.errors import DiversetError, EnvironmentFault, MissingExtraError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["COMPLETE", "Encoding", "Out", "Seed", "app", "option", "sharing"]

FAULT, BAD_INPUT, INTERRUPTED = 1, 2, 130
#: Environment variable that the completion script of a shell sets.
COMPLETE = "_DIVERSET_COMPLETE"


class _OneLineErrors(TyperGroup):
    """A command group that answers errors with one line: exit code 2 for bad input, 1 for faults of the machine."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the group, and turn errors into exit codes."""
        if COMPLETE in os.environ:
            from typer._completion_classes import completion_init  # registers the shells that Typer supports

            completion_init()
        try:
            code = super().main(*args, **extra | {"standalone_mode": False})
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except BrokenPipeError:  # the reader of standard output has closed it
            sys.stdout = open(os.devnull, "w")
            code = 0
        except (DiversetError, MissingExtraError, OSError) as error:
            from diverset.io.files import FAULTS

            fault = isinstance(error, EnvironmentFault) or getattr(error, "errno", None) in FAULTS
            code = _complain(str(error), FAULT if fault else BAD_INPUT)
        except Exception as error:
            # Usage errors have no public class: depending on its version, Typer depends on Click or contains it.
            if hasattr(error, "format_message"):
                code = _complain(error.format_message())
            elif _was_interrupted(error):
                code = INTERRUPTED
            else:
                raise
        sys.exit(code if isinstance(code, int) else 0)


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether an interrupt caused an error: compiled code turns it into a SystemError."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _complain(message: str, code: int = BAD_INPUT) -> int:
    from diverset.cli.console import visible

    print("diverset: error:", visible(" ".join(message.split())), file=sys.stderr)
    return code


def option(*words: str, panel: str | None = None, **settings: Any) -> Any:
    """An option of a command: its flags, its help and its metavar, in a panel of the help page."""
    flags = [word for word in words if word.startswith("-")]
    text, *metavar = words[len(flags) :]
    return typer.Option(*flags, help=text, metavar=next(iter(metavar), None), rich_help_panel=panel, **settings)


Seed: TypeAlias = Annotated[
    int | None, option("--seed", "Seed of the random numbers: same seed, same result.", min=0, show_default=False)
]
Encoding: TypeAlias = Annotated[
    str | None, option("Encoding of text files, such as cp1252. The default tries UTF-8 first.", "NAME")
]
_OUTPUT = "Write the result: .html is a page; also .json, .jsonl, .csv, .parquet, .md. - is standard output."


@dataclass(frozen=True)
class Out:
    """The options that every verb has: where its result goes."""

    output: Annotated[Path | None, option("-o", "--output", _OUTPUT, "FILE")] = None
    as_json: Annotated[bool, option("--json", "Print JSON, for scripts.")] = False
    quiet: Annotated[bool, option("--quiet", "-q", "Print no remarks, and no written result.")] = False
    force: Annotated[bool, option("--force", "Allow the output to overwrite the input.")] = False
    raw_cells: Annotated[bool, option("--raw-cells", "Put no apostrophe before formulas in .csv.")] = False

    @property
    def path(self) -> Path | None:
        """The file to write, if the output is not standard output."""
        return None if self.output is None or str(self.output) == "-" else self.output

    def check(self, kind: type[Result], inputs: Iterable[str | Path | None] = ()) -> None:
        """Refuse, before any work is done, an output that cannot be written or would overwrite an input."""
        if self.path is not None:
            from diverset.io.files import check_output

            check_output(self.path, kind.formats, inputs=inputs, force=self.force)

    def deliver(self, result: Result, show: Callable[["Console"], None], kind: str = ".csv") -> None:
        """Print the notes and the result, and write the file; `kind` is the format of ``-o -``."""
        from diverset.cli.console import Console, line, say, visible, working

        if not self.quiet:
            for note in getattr(result, "notes", ()):
                say(note)
        # The file first, so that it is written even if the reader of standard output closes it early.
        if self.path is not None:
            with working("Writing"):
                result.save(self.path, raw_cells=self.raw_cells)
        if self.as_json or self.path != self.output:
            text = result.as_text(".json" if self.as_json else kind, raw_cells=self.raw_cells)
            sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
        elif not self.quiet:
            console = Console()
            show(console)
            if self.path is not None:
                line(console, f"Written to {self.path}", soft_wrap=True)


def sharing(*makers: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these classes besides its own; objects of them are its first arguments."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        shared = [signature(maker).parameters for maker in makers]
        own = list(signature(command).parameters.values())[len(makers) :]
        first = [parameter for each in shared[:-1] for parameter in each.values()]
        every = [*first, *own, *shared[-1].values()]

        @wraps(command, assigned=("__module__", "__name__", "__doc__"))
        def call(**options: Any) -> None:
            given = ({name: options.pop(name) for name in each} for each in shared)
            made = [maker(**each) for maker, each in zip(makers, given, strict=True)]
            command(*made, **options)

        call.__signature__ = Signature([p.replace(kind=p.KEYWORD_ONLY) for p in every])  # type: ignore[attr-defined]
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


def _print_version(wanted: bool) -> None:
    if wanted:
        from diverset._uncompiled import is_compiled

        loops = "loops not compiled: slow; install a C compiler, then: pip install --force-reinstall --no-deps diverset"
        if is_compiled():
            from diverset.numerics import _loops

            loops = f"compiled loops, instruction set {_loops.instruction_set()}"
        typer.echo(f"diverset {__version__} ({loops})")
        raise typer.Exit


@app.callback()
def _without_command(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
