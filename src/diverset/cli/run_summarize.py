"""``diverset summarize``: read files, call :func:`diverset.summarize`, and print or write the result."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from diverset.cli.console import say, working
from diverset.errors import DiversetError
from diverset.io.documents import read_cluster
from diverset.io.files import atomic_write, check_writable

if TYPE_CHECKING:
    from diverset.text import Summary

__all__ = ["run_summarize", "write_summary"]

OUTPUTS = (".md", ".txt", ".html", ".json")


def run_summarize(
    paths: Sequence[str],
    *,
    update_since: str | None = None,
    seed: int | None = None,
    output: Path | None = None,
    console: Console | None = None,
    **options: Any,
) -> "Summary":
    """Read documents, summarise them, and print or write the summary.

    Parameters
    ----------
    paths : sequence of str
        Files, folders, or ``-``; see :func:`diverset.io.documents.read_cluster`.
    update_since : str, optional
        File or folder of what was read before.
    seed : int, optional
        As ``rng`` of :func:`diverset.summarize`.
    output : Path, optional
        Where the summary goes: alone (.md, .txt), with its reasons (.json), or as a page (.html).
    console : Console, optional
        Where to print the summary if it is not written.
    options
        Other arguments of :func:`diverset.summarize`.

    Returns
    -------
    summary : Summary
        What was printed or written.
    """
    if output is not None:
        _kind(output)
        check_writable(output)
    with working("Reading") as step:
        cluster = read_cluster(paths)
        if not len(cluster):
            raise DiversetError("there is nothing to summarise: the documents hold no sentence")
        read = None if update_since is None else read_cluster([update_since])
        step("Summarising")
        from diverset import summarize

        summary = summarize(cluster, update_since=read, rng=seed, **options)
    for note in summary.notes:
        say(note)
    if output is None:
        console = Console(soft_wrap=True) if console is None else console
        text = summary.text.encode(console.encoding, "replace").decode(console.encoding)
        console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)
    else:
        write_summary(output, summary)
    return summary


def _kind(output: Path) -> str:
    if output.suffix.lower() not in OUTPUTS:
        raise DiversetError(f"cannot write {output}: its name must end in {', '.join(OUTPUTS[:-1])} or {OUTPUTS[-1]}")
    return output.suffix.lower()


def write_summary(path: str | os.PathLike[str], summary: "Summary") -> None:
    """Write a summary as its name asks for: alone (.md, .txt), with reasons (.json), or as a page (.html)."""
    output = Path(path)
    kind = _kind(output)
    if kind == ".html":
        from diverset.pages.summary import write_summary_page

        write_summary_page(output, summary)
        return
    text = json.dumps(summary.to_dict(), indent=2, ensure_ascii=False) if kind == ".json" else summary.text
    with atomic_write(output) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8", errors="replace", newline="\n")
