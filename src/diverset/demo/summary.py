"""The demo's summary: five short invented reports in fifty words."""

import json
from importlib.resources import files
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from diverset.text import Summary

__all__ = ["run_demo_summary"]


def run_demo_summary(*, max_words: int = 50, output: Path | None = None, console: Console | None = None) -> "Summary":
    """Summarise the reports that come with the package, print the summary and its reasons, and write a page.

    Parameters
    ----------
    max_words : int
        Words of the summary at most.
    output : Path, optional
        Where the page goes (.html), if it is wanted.
    console : Console, optional
        Where to print; standard output if left out.

    Returns
    -------
    summary : Summary
        What was printed.
    """
    from diverset import summarize
    from diverset.text import Cluster

    console = Console() if console is None else console
    lines = (files("diverset") / "data" / "summary_demo.jsonl").read_text(encoding="utf-8").splitlines()
    reports = [json.loads(line) for line in lines]
    cluster = Cluster([report["text"] for report in reports], names=[report["title"] for report in reports])
    summary = summarize(cluster, max_words)
    n = sum(len(report["text"].split()) for report in reports)
    console.print(f"{len(reports)} reports of {n} words, in {len(summary.text.split())}:", highlight=False)
    console.print(Text(summary.text, style="bold"))
    console.print(_table(summary))
    if output is not None:
        summary.save(output)
        console.print(f"Page written to {output}", markup=False, highlight=False, soft_wrap=True)
    return summary


def _table(summary: "Summary") -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Sentence")
    table.add_column("From", no_wrap=True)
    for title in ("Quality", "New", "P(in)"):
        table.add_column(title, justify="right", no_wrap=True)
    for why in summary.explain():
        table.add_row(
            Text(shorten(why["sentence"], 40, placeholder=" …")),
            Text(why["document"]),
            f"no. {why['quality_rank']}",
            f"{why['novelty']:.0%}",
            f"{why['inclusion_probability']:.0%}",
        )
    return table
