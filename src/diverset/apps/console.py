"""What the commands say on a terminal: progress, remarks, and text that every terminal can show."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

__all__ = ["aligned", "printable", "say", "working"]


@contextmanager
def working(message: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is being done, if it takes longer than a second; gives a function to change it."""
    console = Console(stderr=True)
    status = Status(f"{message} ...", console=console)
    timer = threading.Timer(1.0, status.start)
    timer.daemon = True
    if console.is_terminal:
        timer.start()
    try:
        yield lambda text: status.update(f"{text} ...")
    finally:
        timer.cancel()
        if console.is_terminal:
            timer.join()
        status.stop()


def say(remark: str) -> None:
    """One line on standard error."""
    print("diverset: note:", " ".join(remark.split()), file=sys.stderr)


def printable(text: str, console: Console, width: int = 400) -> str:
    """Text for a terminal: one line, no control characters, only what its encoding has."""
    line = "".join(mark if mark.isprintable() else " " for mark in " ".join(text[: 4 * width].split()))[:width]
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
