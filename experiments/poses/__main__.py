"""Run the experiment: ``python -m experiments.poses --data ../shared/data --out docs/images``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from diverset.errors import DiversetError
from experiments.poses import report
from experiments.poses.data import DATA_SETS, read_images
from experiments.poses.scores import Result, run
from experiments.tables import write_csv, write_tables


def main(arguments: list[str] | None = None) -> int:
    """Read, tune, draw, score, write; a data set that is missing is named and left out."""
    parser = argparse.ArgumentParser(prog="python -m experiments.poses", description=__doc__)
    data = os.environ.get("DIVERSET_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of the public data (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="where pictures go (%(default)s)")
    parser.add_argument("--sets", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS), metavar="NAME")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Result] = {}
    for name in options.sets:
        try:
            images = read_images(name, options.data)
        except DiversetError as error:
            print(f"{name}: skipped: {error}", file=sys.stderr)
            continue
        begin = time.perf_counter()
        results[name] = run(images, step=lambda what, name=name: print(f"{name}: {what}", flush=True))
        print(f"{name}: {len(images.test)} test images in {time.perf_counter() - begin:.0f} s", flush=True)
    if not results:
        print("Nothing to do: none of the data sets is there.", file=sys.stderr)
        return 0
    write_tables(options.out, {"poses_table.rst": report.table(results)})
    write_csv(options.out / "poses.csv", report.HEADINGS, report.csv_rows(results))
    report.draw(options.out / "poses.svg", results)
    print(f"Written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
