"""Structured DPPs: large sparse chains, pose-like trees, and how cost grows with the number of parts.

The chain has the size of a corpus of news articles: 34,500 values per part, 3.5 million allowed transitions, 8 parts,
50 features. The reference is work that every method needs: 7 products of the sparse transition matrix with a block of
50 vectors, by SciPy.
"""

import time
import tracemalloc
from collections.abc import Iterator

import numpy as np
import scipy.sparse

import diverset as dv
from benchmarks.harness import Row, at_most, compare, state
from diverset.structured import Separable

M, TRANSITIONS, R, D, K = 34_500, 3_500_000, 8, 50, 10


def corpus(
    n_values: int = M, n_transitions: int = TRANSITIONS
) -> tuple[np.ndarray, np.ndarray, scipy.sparse.csr_array]:
    """Qualities, features and transitions of documents in order of time: each leads to some that follow, at random."""
    rng = np.random.default_rng(0)
    per_row = round(1.068 * n_transitions / n_values)  # some are drawn twice
    window = 8 * per_row
    start = np.repeat(np.arange(n_values), per_row)
    end = (start + rng.integers(1, window, size=len(start))) % n_values
    T = scipy.sparse.coo_array((np.ones(len(start)), (start, end)), shape=(n_values, n_values)).tocsr()
    T.sum_duplicates()
    T.data = rng.uniform(0.1, 1.0, size=T.nnz)
    X = rng.standard_normal((n_values, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return rng.uniform(0.1, 1.0, size=n_values), X, T


def chain(n_parts: int, quality: np.ndarray, X: np.ndarray, T: scipy.sparse.csr_array) -> dv.FactorGraph:
    """Chain in which every step has the same transitions."""
    graph = dv.FactorGraph([len(quality)] * n_parts)
    for r in range(n_parts):
        graph.add_factor([r], quality, X)
    for r in range(n_parts - 1):
        graph.add_factor([r, r + 1], T)
    return graph


def _peak(call: object) -> float:
    """Peak memory that a call allocates, in bytes."""
    tracemalloc.start()
    try:
        call()  # type: ignore[operator]
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def large_chain() -> Iterator[Row]:
    """C and one set of ten structures of a large sparse chain, beside SciPy's products."""
    documents = corpus()
    graph, (_, X, T) = chain(R, *documents), documents

    def products() -> None:
        for _ in range(R - 1):
            T @ X

    name = f"{R - 1} products of T with M x {D} by SciPy"
    size = f"M = {M:,}, {T.nnz:,} transitions, R = {R}, D = {D}"
    yield compare(f"C, {size}", lambda: dv.StructuredDPP(graph).dual_kernel, products, name=name, bar=at_most(1))
    model = dv.StructuredDPP(graph).of_size(K)
    model.sample(rng=0)
    seeds = iter(range(10**6))
    yield compare(
        f"one set of {K}, same chain", lambda: model.sample(rng=next(seeds)), products, name=name, bar=at_most(1)
    )
    unit = 8 * M * D
    for what, call in {
        "C, over the graph": lambda: dv.StructuredDPP(graph).dual_kernel,
        "C and one set, over the graph": lambda: dv.StructuredDPP(graph).of_size(K).sample(rng=0),
        "graph, C and one set, over the arrays": lambda: (
            dv.StructuredDPP(chain(R, *documents)).of_size(K).sample(rng=0)
        ),
    }.items():
        units = _peak(call) / unit
        row = state(f"peak memory, {what}, in blocks of M x D doubles", f"{units:.1f}", units=units)
        row.bar, row.met = str(at_most(12)), at_most(12).met(units)
        yield row


def many_sets() -> Iterator[Row]:
    """Sets of one call share their messages."""
    graph = chain(R, *corpus())
    model = dv.StructuredDPP(graph).of_size(K)
    yield compare("50 sets of 10, large chain", lambda: model.sample(50, rng=0), per=50, rounds=2, budget=5.0)


def pose_tree() -> Iterator[Row]:
    """Four parts of 75,000 values each, the root in the middle; springs on a grid, never formed."""
    height, width, angles = 50, 60, 25
    rng = np.random.default_rng(2)
    y, x, a = np.meshgrid(np.arange(height), np.arange(width), np.arange(angles), indexing="ij")
    points = np.stack([y.ravel(), x.ravel()], axis=1).astype(float)
    reference = np.stack(np.meshgrid(np.linspace(4, 46, 4), np.linspace(4, 56, 8), indexing="ij"), -1).reshape(-1, 2)
    squared = ((points[:, None] - reference) ** 2).sum(axis=2)
    features = np.exp(-0.5 * squared / 8.0**2)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    n = len(points)

    def spring(size: int, shift: float, width: float) -> np.ndarray:
        i = np.arange(size)
        return np.exp(-0.5 * ((i[None] - i[:, None] - shift) / width) ** 2)

    turn = np.exp(2.0 * np.cos(2 * np.pi * np.subtract.outer(np.arange(angles), np.arange(angles)) / angles))

    def pose(pairwise: object) -> dv.FactorGraph:
        graph = dv.FactorGraph([n] * 4, names=["torso", "head", "left arm", "right arm"])
        for r in range(4):
            graph.add_factor([r], rng.gamma(0.3, size=n), features)
        for r, (dy, dx) in enumerate([(-8, 0), (2, -5), (2, 5)], start=1):
            graph.add_factor([0, r], pairwise(dy, dx))  # type: ignore[operator]
        return graph

    def windows(dy: int, dx: int) -> scipy.sparse.csr_array:
        """Children within two pixels of the expected place, with any of three near angles."""
        rows, columns, values = [], [], []
        index = np.arange(n).reshape(height, width, angles)
        for i in range(-2, 3):
            for j in range(-2, 3):
                to_y, to_x = y + dy + i, x + dx + j
                inside = (to_y >= 0) & (to_y < height) & (to_x >= 0) & (to_x < width)
                for turned in (-1, 0, 1):
                    rows.append(index[inside])
                    columns.append(index[to_y[inside], to_x[inside], (a[inside] + turned) % angles])
                    values.append(np.full(inside.sum(), np.exp(-0.5 * (i * i + j * j) - 0.5 * turned**2)))
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return scipy.sparse.coo_array(entries, shape=(n, n)).tocsr()

    springs = {
        "separable Gaussians": lambda dy, dx: Separable([spring(height, dy, 3.0), spring(width, dx, 3.0), turn]),
        "sparse windows": windows,
    }
    for kind, pairwise in springs.items():
        graph = pose(pairwise)
        start = time.perf_counter()
        model = dv.StructuredDPP(graph).rescale(5.0)
        middle = time.perf_counter()
        drawn = model.of_size(5).sample(rng=0)
        end = time.perf_counter()
        assert drawn.shape == (5, 4)
        peak = _peak(lambda graph=graph: dv.StructuredDPP(graph).of_size(5).sample(rng=0))
        yield state(
            f"4 parts of {n:,} values, 32 features, {kind}",
            f"C {middle - start:.2f} s, a set of 5 {end - middle:.2f} s",
            f"peak memory {peak / 2**20:.0f} MiB",
            kernel=middle - start,
            set=end - middle,
            peak=peak,
        )


def long_chains() -> Iterator[Row]:
    """Cost is linear in the number of parts."""
    times = {}
    documents = corpus(2_000, 100_000)
    for n_parts in (8, 16, 32, 64, 128):
        graph = chain(n_parts, *documents)
        times[n_parts] = min(_timed(lambda graph=graph: dv.StructuredDPP(graph).dual_kernel) for _ in range(5))
        shown = f"{times[n_parts] * 1e3:.0f} ms, {times[n_parts] / n_parts * 1e3:.2f} ms a part"
        yield state(f"C of {n_parts} parts, M = 2,000, 100,000 transitions", shown, seconds=times[n_parts])
    slope = np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]
    yield state("exponent of the number of parts", f"{slope:.2f}", slope=slope)


def _timed(call: object) -> float:
    start = time.perf_counter()
    call()  # type: ignore[operator]
    return time.perf_counter() - start


CASES = (large_chain, many_sets, pose_tree, long_chains)
