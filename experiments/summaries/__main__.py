"""Run the experiment: ``python -m experiments.summaries --data ../shared/data --out docs/images``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from diverset._files import atomic_write
from diverset.errors import DiversetError
from experiments.summaries.data import DATA_SETS, read_task
from experiments.summaries.report import tables
from experiments.summaries.study import run


def main(arguments: list[str] | None = None) -> int:
    """Read, run, write; a data set that is missing is named and left out."""
    parser = argparse.ArgumentParser(prog="python -m experiments.summaries", description=__doc__)
    data = os.environ.get("DIVERSET_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of the public data (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="where tables go (%(default)s)")
    parser.add_argument("--sets", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS), metavar="NAME")
    parser.add_argument("--keep", type=Path, help="folder for finished folds, which a second run does not run again")
    parser.add_argument("--every", type=int, default=1, help="decode by risk on every so-manieth cluster")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    for name in options.sets:
        try:
            task = read_task(name, options.data)
        except DiversetError as error:
            print(f"{name}: skipped: {error}", file=sys.stderr)
            continue
        begin = time.perf_counter()

        def say(line: str, name: str = name) -> None:
            print(f"{name}: {line}", flush=True)

        study = run(task, every=options.every, say=say, keep=options.keep)
        print(f"{name}: {len(task.clusters)} clusters in {time.perf_counter() - begin:.0f} s", flush=True)
        for file, text in tables(name, study).items():
            with atomic_write(options.out / file) as temporary:
                temporary.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
