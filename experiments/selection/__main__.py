"""Run the experiment: ``python -m experiments.selection --data ../shared/data --out docs/images``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from diverset.errors import DiversetError, MissingExtraError
from experiments.selection.data import DATA_SETS, read_data_set
from experiments.selection.report import candidates_table, draw, tables, write_csv, write_tables
from experiments.selection.scores import Scores, describe, run


def main(arguments: list[str] | None = None) -> int:
    """Read, run, write; a data set that is missing is named and left out."""
    parser = argparse.ArgumentParser(prog="python -m experiments.selection", description=__doc__)
    data = os.environ.get("DIVERSET_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of the public data (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="where tables go (%(default)s)")
    parser.add_argument("--sets", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS), metavar="NAME")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Scores] = {}
    candidates: dict[str, dict[str, float]] = {}
    counts: dict[str, int] = {}
    for name in options.sets:
        try:
            queries = read_data_set(name, options.data)
        except (DiversetError, MissingExtraError) as error:
            print(f"{name}: skipped: {error}", file=sys.stderr)
            continue
        begin = time.perf_counter()
        scores = results[name] = run(queries, step=lambda method, name=name: print(f"{name}: {method}", flush=True))
        print(f"{name}: {len(queries)} queries in {time.perf_counter() - begin:.0f} s", flush=True)
        write_tables(options.out, tables(name, scores))
        candidates[name], counts[name] = describe(queries), len(queries)
    if not results:
        print("Nothing to do: none of the data sets is there.", file=sys.stderr)
        return 0
    write_tables(options.out, {"selection_candidates.rst": candidates_table(candidates, counts)})
    write_csv(options.out / "selection_quality.csv", results)
    draw(options.out / "selection_quality.svg", results)
    print(f"Written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
