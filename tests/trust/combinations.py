"""Random combinations of arguments, with invariants between the answers and a time and memory limit on every case.

``python tests/trust/combinations.py --calls 100000 --seed 0`` runs until that many public calls were made, prints the
counts, and exits with 1 if a case failed. A case is a function of its seed: ``--only 1234`` repeats one. Cases run in a
child process. The parent kills a child that takes longer than `SECONDS` for one case. A case that needs more than
`GIGABYTES` fails.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse

import diverset as dv
from diverset import baselines
from diverset.errors import DiversetError, DiversetWarning

SECONDS, GIGABYTES = 20.0, 2.0
#: Cases that a child runs before the parent hears from it again.
BATCH = 200
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "float32": lambda X: np.clip(X, -1e30, 1e30).astype(np.float32),
    "list": lambda X: X.tolist(),
    "sparse": scipy.sparse.csr_array,
}


class Calls:
    """Counts public calls, and turns a documented refusal into None."""

    def __init__(self) -> None:
        self.large = True  # whether a selection may have 2,000 rows and more
        self.made: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def __call__(self, name: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        self.made[name] += 1
        try:
            return function(*arguments, **options)
        except DiversetError as error:
            if not str(error).strip():
                raise RuntimeError(f"{name} raised an error without a message") from error
            self.refused[name] += 1
            return None


def rows(rng: np.random.Generator, n: int, D: int) -> np.ndarray:
    """Rows of different lengths and ranks: dependent, duplicated, integer, zero."""
    rank = int(rng.integers(1, D + 1))
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, D))
    kind = rng.integers(5)
    if kind == 1:
        X = X * 10.0 ** rng.uniform(-10, 10, size=(n, 1))
    elif kind == 2:
        X = np.round(X)
    elif kind == 3:
        X = X[rng.integers(n, size=n)]
    elif kind == 4:
        X = X * 10.0 ** rng.integers(-150, 150)
    if rng.random() < 0.2:
        X[rng.random(n) < 0.3] = 0.0
    return X


def try_select(rng: np.random.Generator, calls: Calls) -> None:
    """``select`` and the baselines: as many different picks as there can be, and sums that agree."""
    n = int(rng.choice([rng.integers(1, 40), rng.integers(1, 40), rng.integers(1_990, 2_600)]))
    if not calls.large:
        n = n % 40 + 1
    D = int(rng.choice([1, 2, 3, 8, 40]))
    X = rows(rng, n, D)
    k = int(rng.integers(0, 16))
    options: dict[str, Any] = {"similarity": str(rng.choice(["cosine", "dot", "rbf"]))}
    layout = str(rng.choice(list(LAYOUTS)))
    quality = None
    if rng.random() < 0.8:
        quality = rng.standard_normal(n) * 10.0 ** rng.integers(-6, 7) + rng.choice([0.0, 1e6])
        if rng.random() < 0.2:
            quality = np.round(quality)
        if rng.random() < 0.1:
            quality[rng.random(n) < 0.3] = -np.inf
        options["quality"] = quality
    options["scale"] = [None, "rank", "standard"][rng.integers(3)]
    options["diversity"] = float(rng.choice([0.0, 0.1, 0.5, 0.9, 1.0]))
    free = np.ones(n, dtype=bool) if quality is None else quality > -np.inf
    for name in ("given", "exclude"):
        if rng.random() < 0.2 and n > 2:
            options[name] = rng.choice(n, size=min(3, n - 1), replace=False)
            free[options[name]] = False
    limited = rng.random() < 0.15
    if limited:
        options |= {"costs": rng.random(n) + 0.1, "budget": float(rng.random() * k + 0.1)}
    elif rng.random() < 0.15:
        limited = True
        options |= {"groups": rng.integers(4, size=n), "per_group": int(rng.integers(1, 4))}
    elif rng.random() < 0.15:
        options["window"] = int(rng.integers(0, 5))
    elif n <= 12 and options["diversity"] > 0.0 and rng.random() < 0.5:
        options |= {"method": str(rng.choice(["local-search", "exact", "sample"])), "rng": 0}
    elif quality is not None and rng.random() < 0.2 and np.isfinite(quality).all():
        options["keep"] = float(rng.random())
        limited = False
    found = calls("select", dv.select, LAYOUTS[layout](X), k, **options)
    if found is not None:
        picks = found.indices.tolist()
        assert len(set(picks)) == len(picks), "an item is picked twice"
        assert free[picks].all(), "an item that was given or excluded is picked"
        most = min(k, int(free.sum()))
        assert len(picks) == most or (limited and len(picks) < most), f"{len(picks)} picks of {most}"
        assert not np.isnan(found.gains).any(), "a gain is NaN"
        if np.isfinite(found.gains).all():
            assert np.isclose(found.objective, found.gains.sum(), rtol=1e-9, atol=1e-9), "objective and gains differ"
        if found.upper_bound is not None:
            assert found.upper_bound >= found.objective - 1e-9 * (1.0 + abs(found.objective)), "bound below objective"
        assert found.kept is None or found.kept <= 1.0 + 1e-9, "more is kept than the best have"
    name = str(rng.choice(["mmr", "max_min", "max_sum", "facility_location", "top_k"]))
    if n < 100 and options["similarity"] == "cosine":
        chosen = calls(name, getattr(baselines, name), X, k, quality=quality)
        if chosen is not None:
            assert len(set(chosen.indices.tolist())) == len(chosen.indices), f"{name} picks an item twice"


def model(rng: np.random.Generator, calls: Calls) -> Any:
    """A DPP over at most seven items in one of its representations, scaled by up to 1e16."""
    n = int(rng.integers(1, 8))
    F = rows(rng, n, int(rng.integers(1, n + 2)))
    norm = max(float(np.abs(F).max()), 1e-200)
    F = F / norm * 10.0 ** rng.integers(-8, 9)
    kind = int(rng.integers(6))
    if kind == 0:
        return calls("DPP", dv.DPP, F @ F.T)
    if kind == 1:
        return calls("from_features", dv.DPP.from_features, F, quality=10.0 ** rng.uniform(-6, 6, size=n))
    if kind == 2:
        Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
        p = rng.choice([0.0, 1.0, 0.5, 1e-12, 1.0 - 1e-12], size=n)
        return calls("from_marginal", dv.DPP.from_marginal, (Q * p) @ Q.T)
    if kind == 3:
        Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
        return calls("from_spectrum", dv.DPP.from_spectrum, 10.0 ** rng.uniform(-12, 12, size=n), Q)
    if kind == 4:
        A = rng.standard_normal((n, n))
        return calls("NonsymmetricDPP", dv.NonsymmetricDPP, F @ F.T + (A - A.T) * float(np.abs(F).max()) ** 2)
    base = calls("from_features", dv.DPP.from_features, F)
    return None if base is None else calls("complement", base.complement)


def try_model(rng: np.random.Generator, calls: Calls) -> None:
    """A DPP and its k-DPP: all answers about one law agree."""
    dpp = model(rng, calls)
    if dpp is None:
        return
    items = dpp.items.tolist()
    subsets = [list(c) for size in range(len(items) + 1) for c in combinations(items, size)]
    logs = calls("log_prob", dpp.log_prob, subsets)
    if logs is None:
        return
    law = np.exp(logs)
    assert (logs <= 1e-12).all(), "a log-probability is above 0"
    assert abs(law.sum() - 1.0) < 1e-6, f"probabilities add up to {law.sum()}"
    inside = np.array([[i in subset for i in items] for subset in subsets], dtype=float).reshape(len(subsets), -1)
    inclusion = calls("inclusion_probabilities", lambda: dpp.inclusion_probabilities)
    assert np.allclose(inclusion, law @ inside, atol=1e-6), "inclusion probabilities contradict the law"
    sizes = calls("size_distribution", lambda: dpp.size_distribution)
    truth = np.bincount([len(s) for s in subsets], law, minlength=len(items) + 1)
    assert np.allclose(np.pad(sizes, (0, len(truth) - len(sizes))), truth, atol=1e-6), "sizes contradict the law"
    assert abs(calls("expected_size", lambda: dpp.expected_size) - law @ inside.sum(axis=1)) < 1e-5
    A = [i for i in items if rng.random() < 0.4]
    at = [items.index(i) for i in A]
    value = calls("marginal", dpp.marginal, A)
    assert abs(value - law @ inside[:, at].all(axis=1)) < 1e-6, "a marginal contradicts the law"
    drawn = calls("sample", dpp.sample, 3, rng=int(rng.integers(100)))
    for draw in drawn or []:
        assert law[subsets.index(sorted(draw.tolist()))] > 0.0, "a draw has probability 0"
    for k in range(len(items) + 1):
        if truth[k] > 1e-9 and hasattr(dpp, "of_size"):
            fixed = calls("of_size", dpp.of_size, k)
            if fixed is None:
                continue
            share = np.where([len(s) == k for s in subsets], law, 0.0) / truth[k]
            p = calls("inclusion_probabilities", lambda fixed=fixed: fixed.inclusion_probabilities)
            assert np.allclose(p, share @ inside, atol=1e-5), "a k-DPP contradicts the DPP it comes from"


FAMILIES = {"select": try_select, "model": try_model}


def run_case(seed: int, calls: Calls, *, large: bool = True) -> str | None:
    """The fault that a case shows, or None."""
    calls.large = large
    rng = np.random.default_rng([seed, 7])
    family = list(FAMILIES)[int(rng.integers(len(FAMILIES)))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DiversetWarning)
        try:
            FAMILIES[family](rng, calls)
        except Exception:
            return f"{family}: {traceback.format_exc(limit=-2).strip()}"
    return None


def _may_be_large(seed: int) -> bool:
    """Whether this seed of a long run may select from thousands of rows: few seeds, which take most of the time."""
    return seed % 8 == 0


def _child(inbox: Any, outbox: Any) -> None:
    import resource

    while True:
        first, count = inbox.recv()
        calls, faults = Calls(), []
        for seed in range(first, first + count):
            outbox.send(("begin", seed))
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            fault = run_case(seed, calls, large=_may_be_large(seed))
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
            if grown > GIGABYTES:
                fault = f"memory grew by {grown:.1f} GB"
            if fault is not None:
                faults.append((seed, fault))
        outbox.send(("done", calls.made, calls.refused, faults))


def run(wanted: int, first: int) -> tuple[Counter[str], Counter[str], list[tuple[int, str]]]:
    """Cases from seed `first` on, until `wanted` calls were made; returns calls, refusals and faults."""
    made: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    faults: list[tuple[int, str]] = []
    context = multiprocessing.get_context("spawn")

    def start() -> tuple[Any, Any]:
        mine, inbox = context.Pipe()
        process = context.Process(target=_child, args=(inbox, inbox), daemon=True)
        process.start()
        return process, mine

    process, pipe = start()
    seed, until = first, first
    while made.total() < wanted:
        if seed == until:
            until = seed + BATCH
            pipe.send((seed, BATCH))
        running = seed
        while True:
            if not pipe.poll(SECONDS + (10.0 if running == seed else 0.0)) or not process.is_alive():
                died = not process.is_alive()
                faults.append((running, "the process died" if died else f"no answer within {SECONDS:g} s"))
                process.kill()
                process, pipe = start()
                seed = until = running + 1
                break
            message = pipe.recv()
            if message[0] == "begin":
                running = message[1]
                continue
            made += message[1]
            refused += message[2]
            faults += message[3]
            seed = until
            break
    process.kill()
    return made, refused, faults


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="repeat the case of this seed, in this process")
    options = parser.parse_args()
    if options.only is not None:
        fault = run_case(options.only, Calls(), large=_may_be_large(options.only))
        print(fault or "no fault")
        return int(fault is not None)
    began = time.perf_counter()
    made, refused, faults = run(options.calls, options.seed)
    seconds = round(time.perf_counter() - began)
    print(json.dumps({"calls": made.total(), "seconds": seconds, "made": made, "refused": refused}, indent=1))
    for seed, fault in faults:
        print(f"--only {seed}: {fault}")
    print(f"{made.total()} calls, {len(faults)} faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
