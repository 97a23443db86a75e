"""Run the experiment: ``python -m experiments.images --data ../shared/data --out docs/images``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import diverset as dv
from diverset import baselines
from diverset.errors import DiversetError, MissingExtraError
from diverset.learn import KDPPMixtureLearner, MMRMixtureLearner
from experiments.images import report
from experiments.images.caltech import run_caltech
from experiments.images.coverage import run_coverage
from experiments.images.instances import Collection, draw_instances, read_collections
from experiments.images.mixtures import GAMMA, MMR_STEPS, Tables, read_tables, run_splits
from experiments.images.official import DIALS, MEASURES, rank_all
from experiments.tables import write_csv, write_tables

#: The rho that weights for rankings and for coverage are learned with.
RHO = 1.0
FOLDS = 5


def main(arguments: list[str] | None = None) -> int:
    """Read, run, write; data that are missing are named and left out."""
    parser = argparse.ArgumentParser(prog="python -m experiments.images", description=__doc__)
    data = os.environ.get("DIVERSET_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of the public data (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="where tables go (%(default)s)")
    parser.add_argument("--splits", type=int, default=100, help="random splits (%(default)s)")
    parser.add_argument("--cache", type=Path, default=None, help="where features of images are kept (nowhere)")
    parser.add_argument("--seed", type=int, default=0, help="of the instances (%(default)s)")
    parser.add_argument("--parts", nargs="+", default=["div400", "caltech"], choices=["div400", "caltech"])
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[list[object]] = []
    for part, run in (("div400", _div400), ("caltech", _caltech)):
        if part not in options.parts:
            continue
        begin = time.perf_counter()
        try:
            rows += run(options)
        except FileNotFoundError as error:
            print(f"{part}: skipped: {error.filename} is missing; say with --data where it is", file=sys.stderr)
            continue
        except (DiversetError, MissingExtraError) as error:
            print(f"{part}: skipped: {error}", file=sys.stderr)
            continue
        print(f"{part}: {time.perf_counter() - begin:.0f} s", flush=True)
    if rows:
        name = "image_search.csv" if len(options.parts) == 2 else f"image_search_{options.parts[0]}.csv"
        write_csv(options.out / name, ["part", "name", "measure", "value"], rows)
        print(f"Written to {options.out}")
    return 0


def _div400(options: argparse.Namespace) -> list[list[object]]:
    collections = read_collections(options.data / "div400")
    instances = draw_instances(collections, seed=options.seed)
    print(f"div400: {len(collections)} queries, {len(instances)} instances", flush=True)
    tables = read_tables(collections, instances)
    everything = run_splits(
        tables,
        splits=options.splits,
        step=lambda split: None if split % 10 else print(f"div400: split {split}", flush=True),
    )
    kdpp, mmr = _weights(tables, range(len(collections)))
    print("div400: coverage", flush=True)
    coverage = run_coverage(collections, kdpp, mmr, rho=RHO)
    print("div400: rankings", flush=True)
    by_protocol = {"testset": _official(collections, tables, _dev_to_test(collections))}
    by_protocol["folds"] = _official(collections, tables, _folds(collections))
    write_tables(
        options.out,
        {
            "image_search_accuracy.rst": report.accuracy_table({f"{len(collections)} landmarks": everything}),
            "image_search_differences.rst": report.difference_table(everything, tables.query),
            "image_search_weights.rst": report.weights_table(everything, tables.experts),
            "image_search_coverage.rst": report.coverage_table(coverage),
            "image_search_testset.rst": report.official_table(by_protocol["testset"]),
            "image_search_folds.rst": report.official_table(by_protocol["folds"]),
        },
    )
    rows: list[list[object]] = [
        ["instances", name, "accuracy", f"{values.mean():.5f}"] for name, values in everything.accuracy.items()
    ]
    for protocol, results in by_protocol.items():
        for method, values in results.items():
            rows += [
                [f"rankings, {protocol}", method, measure, f"{value:.4f}"]
                for measure, value in zip(MEASURES, values.mean(axis=0), strict=True)
            ]
    return rows


def _weights(tables: Tables, queries: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Weights of both mixtures, learned from the instances of some queries."""
    chosen = np.flatnonzero(np.isin(tables.query, list(queries)))
    kdpp = KDPPMixtureLearner(scaling="pair", gamma=GAMMA, max_iter=200).fit(tables.by_rho[RHO].take(chosen))
    mmr = MMRMixtureLearner(gamma=GAMMA, max_iter=MMR_STEPS).fit(tables.mmr.take(chosen))
    return kdpp.weights_, mmr.weights_


def _dev_to_test(collections: Sequence[Collection]) -> list[tuple[list[int], list[int]]]:
    dev = [t for t, one in enumerate(collections) if one.split == "devset"]
    return [(dev, [t for t in range(len(collections)) if t not in dev])]


def _folds(collections: Sequence[Collection]) -> list[tuple[list[int], list[int]]]:
    every = range(len(collections))
    return [([t for t in every if t % FOLDS != f], [t for t in every if t % FOLDS == f]) for f in range(FOLDS)]


def _official(
    collections: Sequence[Collection], tables: Tables, parts: Sequence[tuple[list[int], list[int]]]
) -> dict[str, np.ndarray]:
    """Measures by query: weights and dial (by F1@10) come from the first of each two lists, queries from the second."""
    found: dict[str, list[np.ndarray]] = {}
    at = MEASURES.index("F1@10")
    for train, test in parts:
        kdpp, mmr = _weights(tables, train)
        uniform = np.full(len(kdpp), 1 / len(kdpp))
        shares = {e: np.mean(_right(tables, train, e)) for e in range(len(kdpp))}
        single = np.eye(len(kdpp))[max(shares, key=shares.__getitem__)]
        ways = {
            "select, best kernel": (dv.select, single),
            "select, uniform mixture": (dv.select, uniform),
            "select, learned mixture": (dv.select, kdpp),
            "MMR, uniform mixture": (baselines.mmr, uniform),
            "MMR, learned mixture": (baselines.mmr, mmr),
        }
        judged = [collections[t] for t in test]
        flickr = rank_all(judged, _mixed(uniform), dv.select, [0.0])[0]
        found.setdefault("Flickr's order", []).append(flickr)
        for name, (method, weights) in ways.items():
            tuned = rank_all([collections[t] for t in train], _mixed(weights), method)[:, :, at].mean(axis=1)
            dial = DIALS[int(tuned.argmax())]
            print(f"  {name}: dial {dial}", flush=True)
            found.setdefault(name, []).append(rank_all(judged, _mixed(weights), method, [dial])[0])
    return {name: np.concatenate(values) for name, values in found.items()}


def _right(tables: Tables, queries: Sequence[int], expert: int) -> np.ndarray:
    better, worse, _ = tables.by_rho[RHO].take(np.isin(tables.query, list(queries))).arrays
    return better[:, expert] > worse[:, expert]


def _mixed(weights: np.ndarray) -> Callable[[Collection], np.ndarray]:
    """The weighted sum of the experts."""

    def kernel_of(collection: Collection) -> np.ndarray:
        return sum(w * S for w, S in zip(weights, collection.kernels.values(), strict=True) if w > 0)

    return kernel_of


def _caltech(options: argparse.Namespace) -> list[list[object]]:
    mixed = run_caltech(options.data / "caltech101_subset", cache=options.cache)
    print(f"caltech: {mixed.images} images, {mixed.skipped} unreadable, {len(mixed.copies)} near copies", flush=True)
    for pair in mixed.copies:
        print("  " + " = ".join(pair), flush=True)
    write_tables(options.out, {"image_search_caltech.rst": report.caltech_table(mixed)})
    both = mixed.recall | {f"{name} alone": values for name, values in mixed.by_feature.items()}
    return [["mixed folders", name, "class recall", f"{values.mean():.4f}"] for name, values in both.items()]


if __name__ == "__main__":
    sys.exit(main())
