"""Kernels learned from baskets, on baskets not seen: held-out log-likelihood and next-item rank.

    python -m experiments.learning                       # baby registries, then the UK retailer
    python -m experiments.learning --only uk_retail
    python -m experiments.learning --published           # training likelihoods beside published ones
    python -m experiments.learning --data /path/to/data  # else DIVERSET_DATA, else ../shared/data

Each data set is split 70 / 30 at random, with fixed seeds. Every model learns from the larger part. ``log-lik`` is the
mean log-likelihood per held-out basket. For the next item, one item of every held-out basket of two or more is taken
out at random and ranked among all items outside the rest of the basket by P(i in Y | rest in Y): ``MPR`` is its mean
percentile rank (50 is chance, 100 perfect) and ``P@k`` how often it is among the first k.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import diverset as dv
from diverset.io.files import atomic_write

HERE = Path(__file__).resolve().parent
REGISTRIES = ("apparel", "bath", "bedding", "diaper", "feeding", "gear", "safety", "toys")
SEEDS = (0, 1, 2)
#: Mean log-likelihood of the training baskets, best of 30 random starts, by Picard iteration and by minorisation and
#: maximisation: output/amazon_results.csv of the repository ISMHinoLab/DPPMMEstimation (Kawashima and Hino 2023), which
#: learns from all registries (how many is the first number; the shared part here is a random 80% of them).
PUBLISHED = {
    "apparel": (14970, -10.2005, -10.1724),
    "bath": (14542, -8.7867, -8.7412),
    "bedding": (16370, -8.7868, -8.7632),
    "diaper": (16759, -10.7100, -10.6665),
    "gear": (16823, -9.2731, -9.2360),
    "toys": (10073, -8.0985, -8.0509),
}
Baskets = list[list[int]]


def registry_models() -> dict[str, Callable[[], object]]:
    """Models for about a hundred items."""
    learn = dv.learn
    return {
        "independent": lambda: learn.IndependentItems(),
        "Poisson size": lambda: learn.PoissonItems(),
        "full rank, Picard": lambda: learn.FullRankKernel(),
        "full rank, EM": lambda: learn.FullRankKernel(algorithm="em"),
        "low rank": lambda: learn.LowRankKernel(rank=30, rng=0),
        "nonsymmetric": lambda: learn.NonsymmetricKernel(rank=30, rng=0),
    }


def retail_models() -> dict[str, Callable[[], object]]:
    """Models for thousands of items."""
    learn = dv.learn
    return {
        "independent": lambda: learn.IndependentItems(),
        "low rank, 100": lambda: learn.LowRankKernel(rank=100, rng=0),
        "nonsymmetric, 50": lambda: learn.NonsymmetricKernel(rank=50, rng=0),
    }


def read_registry(folder: Path, category: str) -> tuple[Baskets, int]:
    """Registries of one category, items from 0."""
    lines = (folder / f"{category}_baskets.csv").read_text(encoding="utf-8").split()
    n_items = len((folder / f"{category}_items.csv").read_text(encoding="utf-8").strip().splitlines()) - 1
    return [[int(item) - 1 for item in line.split(",")] for line in lines], n_items


def read_retail(folder: Path, largest: int = 100) -> tuple[Baskets, int]:
    """Invoices of at most 100 items, as in the papers."""
    with gzip.open(folder / "baskets.tsv.gz", "rt", encoding="utf-8") as lines:
        baskets = [[int(item) for item in line.rstrip("\n").split("\t")[1].split()] for line in lines]
    with gzip.open(folder / "items.csv.gz", "rt", encoding="utf-8") as lines:
        n_items = sum(1 for _ in lines) - 1
    return [basket for basket in baskets if len(basket) <= largest], n_items


def split(baskets: Baskets, seed: int) -> tuple[Baskets, Baskets]:
    """Training and test part, 70 / 30."""
    order = np.random.default_rng(seed).permutation(len(baskets))
    cut = int(0.7 * len(baskets))
    return [baskets[t] for t in order[:cut]], [baskets[t] for t in order[cut:]]


def next_item_ranks(model: object, test: Baskets, n_items: int, seed: int, most: int) -> dict[str, float]:
    """Mean percentile rank and precision at k of one item taken out of each basket."""
    rng = np.random.default_rng(seed)
    percentiles, positions = [], []
    for basket in [basket for basket in test if len(basket) >= 2][:most]:
        target = basket[int(rng.integers(len(basket)))]
        rest = [item for item in basket if item != target]
        scores = model.next_item_scores(rest)
        others = np.setdiff1d(np.arange(n_items), rest)
        percentiles.append(100.0 * np.mean(scores[target] >= scores[others]))
        positions.append(int(np.count_nonzero(scores[others] > scores[target])))
    places = np.array(positions)
    return {"MPR": float(np.mean(percentiles)), **{f"P@{k}": float(np.mean(places < k)) for k in (1, 5, 10)}}


def evaluate(
    models: dict[str, Callable[[], object]], baskets: Baskets, n_items: int, seed: int, most: int
) -> dict[str, dict[str, float]]:
    """Every model on one split."""
    train, test = split(baskets, seed)
    found = {}
    for name, make in models.items():
        start = time.perf_counter()
        model = make().fit(train, n_items=n_items)
        seconds = time.perf_counter() - start
        row = {"train": model.score(train), "log-lik": model.score(test), "seconds": seconds}
        # The Poisson model ranks items by popularity as the independent one does; its scores only cost more.
        ranked = found["independent"] if name == "Poisson size" else next_item_ranks(model, test, n_items, seed, most)
        found[name] = {**ranked, **row}
        print(f"  seed {seed}  {name:20s}" + "  ".join(f"{key} {value:.4g}" for key, value in found[name].items()))
        sys.stdout.flush()
    return found


def mean_table(results: dict[str, list[dict[str, dict[str, float]]]]) -> str:
    """A table of means over the seeds, with the standard deviation of the log-likelihood."""
    lines = [
        "| data | model | log-lik | ± | MPR | P@1 | P@5 | P@10 | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for data, runs in results.items():
        for name in runs[0]:
            values = {key: np.array([run[name][key] for run in runs]) for key in runs[0][name]}
            spread = f"{values['log-lik'].std(ddof=1):.3f}" if len(runs) > 1 else ""
            cells = [f"{values['log-lik'].mean():.3f}", spread, f"{values['MPR'].mean():.1f}"]
            cells += [f"{values[f'P@{k}'].mean():.3f}" for k in (1, 5, 10)] + [f"{values['seconds'].mean():.1f}"]
            lines.append(f"| {data} | {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def published_table(folder: Path) -> str:
    """Full-rank kernels learned from every registry that is here, beside published ones learned from all there are."""
    lines = [
        "| data | published: baskets | Picard | MM | here: baskets | independent | Picard | seconds | EM | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for category, (number, picard, mm) in PUBLISHED.items():
        baskets, n_items = read_registry(folder, category)
        cells = [category, f"{number:,}", f"{picard:.3f}", f"{mm:.3f}", f"{len(baskets):,}"]
        cells.append(f"{dv.learn.IndependentItems().fit(baskets, n_items=n_items).score(baskets):.3f}")
        for algorithm in ("picard", "em"):
            start = time.perf_counter()
            model = dv.learn.FullRankKernel(algorithm=algorithm).fit(baskets, n_items=n_items)
            seconds = time.perf_counter() - start
            cells += [f"{model.score(baskets):.3f}", f"{seconds:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    """Run the selected parts, print the tables, and store the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("DIVERSET_DATA", str(HERE.parents[1].parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default), help="folder with baby_registry and uk_retail")
    parser.add_argument("--only", choices=("baby_registry", "uk_retail"), help="one of the two")
    parser.add_argument("--published", action="store_true", help="only the comparison with published figures")
    parser.add_argument("--categories", nargs="*", default=REGISTRIES, help="registries to use")
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS, help="splits to average over")
    parser.add_argument("--out", type=Path, help="folder for the numbers, learning.json")
    chosen = parser.parse_args()
    if chosen.published:
        print(published_table(chosen.data / "baby_registry"))
        return
    results: dict[str, list[dict[str, dict[str, float]]]] = {}
    for name in ("baby_registry", "uk_retail"):
        folder = chosen.data / name
        if chosen.only not in (None, name):
            continue
        if not folder.is_dir():
            print(f"skipped: {folder} is missing (--data or DIVERSET_DATA names the folder with the data)")
            continue
        if name == "baby_registry":
            for category in chosen.categories:
                baskets, n_items = read_registry(folder, category)
                print(f"{category}: {len(baskets)} baskets over {n_items} items")
                results[category] = [
                    evaluate(registry_models(), baskets, n_items, seed, 10**9) for seed in chosen.seeds
                ]
        else:
            baskets, n_items = read_retail(folder)
            print(f"{name}: {len(baskets)} baskets over {n_items} items")
            results[name] = [evaluate(retail_models(), baskets, n_items, chosen.seeds[0], 2000)]
    if not results:
        return
    print(mean_table(results))
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
        about = {"diverset": dv.__version__, "numpy": np.__version__, "machine": platform.platform()}
        with atomic_write(chosen.out / "learning.json") as temporary:
            temporary.write_text(json.dumps({"about": about, "results": results}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
