"""What the commands say: progress and remarks on standard error, results on standard output or in files."""

import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

from diverset._result import Result
from diverset.errors import DiversetWarning

__all__ = ["Out", "Step", "aligned", "heard", "printable", "say", "visible", "working"]


@dataclass(frozen=True)
class Out:
    """Where the result of a command goes; the options that every command has.

    Remarks are the ``notes`` of the result: the same ones reach the terminal and the page.
    """

    path: Path | None = None
    json: bool = False
    quiet: bool = False
    force: bool = False

    @property
    def is_stdout(self) -> bool:
        """Whether ``-o -`` asks for standard output."""
        return self.path is not None and str(self.path) == "-"

    def check(self, kinds: Iterable[str], inputs: Iterable[str | Path | None] = ()) -> None:
        """Refuse, before any work is done, an output that cannot be written or would overwrite an input."""
        if self.path is not None and not self.is_stdout:
            from diverset.io.files import check_output

            check_output(self.path, tuple(kinds), inputs=inputs, force=self.force)

    def deliver(self, result: Result, show: Callable[[Console], None], kind: str = ".csv") -> None:
        """Print the remarks and the result, and write the file.

        Parameters
        ----------
        result : Result
            With ``notes``, the remarks.
        show : function of a Console
            Prints the result for people.
        kind : str
            Format of ``-o -``.
        """
        if not self.quiet:
            for note in getattr(result, "notes", ()):
                say(note)
        # The file first: a reader that closes the pipe after a few lines still gets it.
        if self.path is not None and not self.is_stdout:
            with working("Writing"):
                result.save(self.path)
        if self.json or self.is_stdout:
            text = result.as_text(".json") if self.json else _as_file(result, kind)
            sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
        elif not self.quiet:
            console = Console()
            show(console)
            if self.path is not None:
                line = visible(f"Written to {self.path}")
                console.print(line, markup=False, highlight=False, soft_wrap=True)


def _as_file(result: Result, kind: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"out{kind}"
        result.save(path)
        return path.read_text(encoding="utf-8")


class Step(Protocol):
    """Says what is being done now, and how much of it, where that is known."""

    def __call__(self, text: str, done: int = 0, total: int | None = None) -> None:
        """`done` of `total`, or some of an unknown amount."""


@contextmanager
def working(message: str) -> Iterator[Step]:
    """Show on a terminal what is being done, if it takes longer than a second; yields a function to change it.

    The bar is filled if the amount of work is known, and moves to and fro if not.
    """
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description} ...", markup=False), BarColumn(), TaskProgressColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(message, total=None)
    timer = threading.Timer(1.0, bar.start)
    timer.daemon = True
    if console.is_terminal:
        timer.start()

    def step(text: str, done: int = 0, total: int | None = None) -> None:
        bar.tasks[0].total = total  # update() takes None for no change
        bar.update(task, description=text, completed=done)

    try:
        yield step
    finally:
        timer.cancel()
        if console.is_terminal:
            timer.join()
            bar.stop()


def say(remark: str) -> None:
    """Print one line on standard error."""
    print("diverset: note:", visible(" ".join(remark.split())), file=sys.stderr)


@contextmanager
def heard(notes: list[str]) -> Iterator[None]:
    """Turn warnings of the library into `notes`; those that repeat a note of a result are dropped."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DiversetWarning)
        yield
    for each in caught:
        if not issubclass(each.category, DiversetWarning):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        elif "only in the notes of the result" not in str(each.message):
            notes.append(str(each.message))


def visible(text: str) -> str:
    r"""Text in which control characters, such as the escapes that a terminal obeys, are written out.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(m if m.isprintable() or m in "\n\t" else m.encode("unicode_escape").decode() for m in text)


def printable(text: str, console: Console, width: int = 400) -> str:
    """Text for a terminal: one line, control characters written out, only what its encoding has."""
    line = visible(" ".join(text[: 4 * width].split()))[:width]
    return line.encode(console.encoding, "replace").decode(console.encoding)


def aligned(values: Iterable[float]) -> list[str]:
    """Numbers of a column, all with as many decimals as the one that needs most (six digits at most).

    >>> aligned([0.97, 0.971, 12.0])
    ['0.970', '0.971', '12.000']
    """
    numbers = list(values)
    texts = [f"{number:.6g}" for number in numbers]
    if any("e" in text for text in texts):
        return texts
    decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
    return [f"{number:.{decimals}f}" for number in numbers]
