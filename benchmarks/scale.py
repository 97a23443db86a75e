"""Features beyond memory and on more than one worker: passes over a file, peak memory, strong and weak scaling.

The first case makes a file of 10^7 x 64 float32 (2.6 GB) in a temporary folder. A separate process works on it with
Dask's threads; the case reports its peak memory and the passes over the file. The second runs the same calls on
clusters of one and two worker processes with one thread each and features in their memory. The third has many blocks
of few rows, once as they are and once joined, which is the default.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Row, at_most, peer, state

#: Rows and columns of the file, and the bar for memory.
N, D, MEMORY_GB = 10_000_000, 64, 2.0
#: Rows of the cluster's features; for weak scaling, of each worker.
ROWS, BLOCK = 2_000_000, 125_000
#: Many blocks of few rows, for the cost of each block.
BLOCKS, SHORT = 1_000, 1_000
K = 10


def make_file(path: Path, n: int) -> None:
    """Rows with a falling spectrum and lengths that differ, as embeddings have them."""
    rng = np.random.default_rng(0)
    spread = np.geomspace(1.0, 0.2, D).astype(np.float32)
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, D))
    step = 250_000
    for start in range(0, n, step):
        m = min(step, n - start)
        block = rng.standard_normal((m, D), dtype=np.float32) * spread
        file[start : start + m] = block * (0.5 + rng.random((m, 1), dtype=np.float32))
    file.flush()


# one machine, out of core ------------------------------------------------------------------------------------------


def out_of_core() -> Iterator[Row]:
    """A file larger than the memory it may take."""
    if peer("dask") is None:
        yield state("out of core", "Dask is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        make_file(path, N)
        found = subprocess.run(
            [sys.executable, "-m", "benchmarks.scale", str(path)], capture_output=True, text=True, check=True
        )
    result = json.loads(found.stdout.splitlines()[-1])
    for name, (seconds, passes) in result["phases"].items():
        yield state(
            f"{N:,} x {D} from a file: {name}",
            f"{seconds:.1f} s",
            f"{passes:.2f} passes",
            seconds=seconds,
            passes=passes,
        )
    bar, peak = at_most(MEMORY_GB), result["peak_gb"]
    yield Row(
        "peak memory of all that", f"{peak:.2f} GB", f"file {result['file_gb']:.2f} GB", None, str(bar), bar.met(peak)
    )


def work_on(path: str) -> dict[str, Any]:
    """The work of the separate process: the time of every call, and its passes over the file."""
    import diverset as dv
    from diverset.distributed import storage

    opened, mapped = 0, storage._mapped

    def counted(*arguments: Any) -> Any:
        nonlocal opened
        opened += 1
        return mapped(*arguments)

    storage._mapped = counted  # type: ignore[assignment]
    features = dv.distributed.read(path)
    blocks = features.numblocks[0]
    phases: dict[str, tuple[float, float]] = {}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        nonlocal opened
        opened, start = 0, time.perf_counter()
        answer = call()
        # Draws and probabilities also open blocks, and read only a few rows of them.
        phases[name] = (time.perf_counter() - start, opened / blocks)
        return answer

    dpp = timed("C and the normaliser", lambda: dv.DPP.from_features(features))
    kdpp = dpp.of_size(K)
    timed("inclusion probabilities", lambda: dpp.inclusion_probabilities.compute())
    timed(f"first draw of {K} items", lambda: kdpp.sample(rng=0))
    timed("1,000 further draws", lambda: kdpp.sample(1000, rng=1))
    timed("log-probability of a set", lambda: kdpp.log_prob(range(K)))
    timed(f"greedy, {K} picks, dot", lambda: dv.select(features, K, similarity="dot"))
    timed(f"greedy, {K} picks, cosine", lambda: dv.select(features, K))
    timed(f"two rounds, {K} picks, cosine", lambda: dv.distributed.greedi(features, K))
    # Not getrusage, whose peak begins with that of the parent, which made the file.
    peak = 1024 * int(Path("/proc/self/status").read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) / 1e9
    return {"phases": phases, "peak_gb": peak, "file_gb": os.path.getsize(path) / 1e9}


# one and two workers -----------------------------------------------------------------------------------------------


def workers() -> Iterator[Row]:
    """Strong scaling: the same rows on one worker and on two; weak: the same rows per worker."""
    if peer("distributed") is None:
        yield state("workers", "distributed is not installed")
        return
    times = {
        ("one", ROWS): on_cluster(1, ROWS),
        ("two", ROWS): on_cluster(2, ROWS),
        ("one", ROWS // 2): on_cluster(1, ROWS // 2),
    }
    for name, (seconds, trips) in times["two", ROWS].items():
        one, half = times["one", ROWS][name][0], times["one", ROWS // 2][name][0]
        yield state(
            f"{ROWS:,} x {D} on 1 and 2 workers: {name}",
            f"{one:.2f} s and {seconds:.2f} s",
            f"strong x{one / seconds:.2f}, weak {100 * half / seconds:.0f}%, {trips} round trips",
            one=one,
            two=seconds,
            half_on_one=half,
            round_trips=trips,
        )


def many_blocks() -> Iterator[Row]:
    """Many blocks of few rows, where the cost of each block dominates."""
    if peer("distributed") is None:
        yield state("many blocks", "distributed is not installed")
        return
    for how, join in (("joined", True), ("as they are", False)):
        for name, (seconds, trips) in on_cluster(2, BLOCKS * SHORT, SHORT, join=join).items():
            yield state(
                f"{BLOCKS:,} blocks of {SHORT} rows on 2 workers, {how}: {name}",
                f"{seconds:.2f} s",
                f"{1e3 * seconds / BLOCKS:.2f} ms a block, {trips} round trips",
                seconds=seconds,
                round_trips=trips,
            )


def _rows(seed: int, length: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    spread = np.geomspace(1.0, 0.2, D).astype(np.float32)
    return (
        rng.standard_normal((length, D), dtype=np.float32) * spread * (0.5 + rng.random((length, 1), dtype=np.float32))
    )


def on_cluster(n_workers: int, n: int, length: int = BLOCK, *, join: bool = True) -> dict[str, tuple[float, int]]:
    """Seconds and round trips of each call on a new cluster, after a warm-up."""
    import dask.array as da
    from dask import delayed

    import diverset as dv
    from distributed import Client, LocalCluster, wait
    from diverset.distributed import blocks as module

    trips = 0
    compute = module.compute

    def counted(tasks: Any) -> Any:
        nonlocal trips
        trips += 1
        return compute(tasks)

    found: dict[str, tuple[float, int]] = {}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        nonlocal trips
        trips, start = 0, time.perf_counter()
        answer = call()
        found[name] = (time.perf_counter() - start, trips)
        return answer

    from diverset.distributed import greedy, model

    patched = (module, model, greedy)
    few = module._FEW
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit="4GB"
        ) as cluster,
        Client(cluster),
    ):
        parts = [da.from_delayed(delayed(_rows)(b, length), (length, D), dtype=np.float32) for b in range(n // length)]
        features = da.concatenate(parts).persist()
        wait(features)
        for part in patched:
            part.compute = counted
        try:
            module._FEW = few if join else n
            warm = features[: n_workers * length]
            dv.DPP.from_features(warm).of_size(K).sample(rng=0)
            dv.select(warm, 2)
            dpp = timed("C", lambda: dv.DPP.from_features(features))
            timed("inclusion probabilities, added up", lambda: float(dpp.inclusion_probabilities.sum().compute()))
            kdpp = dpp.of_size(K)
            timed(f"first draw of {K}", lambda: kdpp.sample(rng=0))
            timed("300 further draws", lambda: kdpp.sample(300, rng=1))
            timed(f"greedy, {K} picks, dot", lambda: dv.select(features, K, similarity="dot"))
            timed(f"greedy, {K} picks, cosine", lambda: dv.select(features, K))
        finally:
            module._FEW = few
            for part in patched:
                part.compute = compute
    return found


CASES = (out_of_core, workers, many_blocks)

if __name__ == "__main__":
    print(json.dumps(work_on(sys.argv[1])))
