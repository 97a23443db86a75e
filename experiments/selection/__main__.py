"""Run the experiment: ``python -m experiments.selection --data ../shared/data --out docs/images``."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

from diverset import baselines, select
from diverset.errors import DiversetError, DiversetWarning, MissingExtraError
from experiments.selection import report, verdict
from experiments.selection.data import DATA_SETS, Texts, ambiguous, read_data_set
from experiments.selection.defaults import (
    Found,
    along_the_dial,
    default_methods,
    factor_methods,
    over_scales,
    run_defaults,
)
from experiments.selection.scores import Scores, run
from experiments.selection.texts import regrouped
from experiments.tables import write_csv, write_tables

#: Methods whose picks are compared over score scales, and settings of the dial over kinds of vectors.
SCALED = ("select", "select, standard scores", "select, raw scores", "select, normal scores", "pyversity DPP")
DIALS = (0.3, 0.5, 0.7, 0.8, 0.9)


def main(arguments: list[str] | None = None) -> int:
    """Read, run, write; a data set or a package that is missing is named and left out."""
    parser = argparse.ArgumentParser(prog="python -m experiments.selection", description=__doc__)
    data = os.environ.get("DIVERSET_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of the public data (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="where tables go (%(default)s)")
    parser.add_argument("--sets", nargs="+", default=list(DATA_SETS), choices=list(DATA_SETS), metavar="NAME")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    tuned: dict[str, Scores] = {}
    found: Found = {}
    by_factor: Found = {}
    overlaps: dict[str, dict[tuple[int, str, str], float]] = {}
    dials: dict[str, dict[tuple[str, str, bool, float], float]] = {}
    methods = default_methods()
    warnings.simplefilter("ignore", DiversetWarning)  # how often the picks are the top-k is counted at the end
    for name in options.sets:
        try:
            read = read_data_set(name, options.data)
            queries = ambiguous(read)
        except (DiversetError, MissingExtraError) as error:
            print(f"{name}: skipped: {error}", file=sys.stderr)
            continue
        begin = time.perf_counter()
        found |= run_defaults(name, read, methods)
        more = regrouped(read) if isinstance(read, Texts) and name in verdict.RETRIEVAL else read
        by_factor |= run_defaults(name, more, factor_methods())
        if isinstance(read, Texts):
            overlaps[name] = over_scales(read, {method: methods[method] for method in SCALED if method in methods})
            dials[name] = along_the_dial(read, {"select": select, "MMR": baselines.mmr}, DIALS)
        tuned[name] = run(queries)
        print(f"{name}: {len(queries)} queries in {time.perf_counter() - begin:.0f} s", flush=True)
    if not tuned:
        print("Nothing to do: none of the data sets is there.", file=sys.stderr)
        return 0
    tables = {**verdict.default_tables(found, overlaps), "selection_tuned.rst": report.tuned_table(tuned)}
    tables["selection_factor.rst"] = verdict.factor_table(found, by_factor)
    if overlaps:
        tables["selection_scales.rst"] = verdict.scale_table(overlaps)
        tables["selection_vectors.rst"] = verdict.dial_table(dials)
    write_tables(options.out, tables)
    write_csv(options.out / "selection_quality.csv", report.HEADINGS, report.dial_rows(tuned))
    write_csv(options.out / "selection_defaults.csv", verdict.HEADINGS, verdict.default_rows(found))
    report.draw(options.out / "selection_quality.svg", tuned)
    print(f"select picks exactly the top-k for {verdict.exactly_top(found):.0%} of the queries.")
    print(f"Written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
