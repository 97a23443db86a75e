"""What the commands say on a terminal: progress, remarks, and text that every terminal can show."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status

__all__ = ["printable", "say", "working"]


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
