"""Run the experiment: ``python -m experiments.summaries --data ../shared/data --out docs/images --keep kept``."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

from diverset.errors import DiversetError
from experiments.summaries.data import read_items
from experiments.summaries.report import tables
from experiments.summaries.study import run
from experiments.summaries.tuning import run_grids
from experiments.tables import write_tables


def main(arguments: list[str] | None = None) -> int:
    """Read, run, write."""
    parser = argparse.ArgumentParser(prog="python -m experiments.summaries", description=__doc__)
    data = os.environ.get("DIVERSET_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of the public data (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="where tables go (%(default)s)")
    parser.add_argument("--keep", type=Path, default=Path("kept"), help="folder of finished systems (%(default)s)")
    options = parser.parse_args(arguments)
    try:
        items = read_items(options.data)
    except DiversetError as error:
        print(f"summaries: skipped: {error}", file=sys.stderr)
        return 0
    for folder in (options.out, options.keep):
        folder.mkdir(parents=True, exist_ok=True)
    say = partial(print, flush=True)
    grids = run_grids(items, options.keep, say)
    found = run(items, options.keep, say)
    write_tables(options.out, tables(found, grids, items))
    return 0


if __name__ == "__main__":
    sys.exit(main())
