"""Variance of gradients over diverse and uniform mini-batches; trace errors of inducing points.

``python -m experiments.training`` prints both tables and writes them as CSV. All data come with scikit-learn or are
drawn here. The features of the batches (64 random Fourier features at half the median distance, default ridge) were
chosen on mixture 0, which the table leaves out. The default of ``inducing_points`` was designed on the three data sets
of its table, among others, whole and at three length scales; the table has random parts of them, at the median length.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from itertools import islice
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.preprocessing import StandardScaler

import diverset as dv
from diverset.integrations import inducing_points
from diverset.integrations.torch import DiverseBatchSampler


def interval(values: np.ndarray) -> str:
    """Mean with the half width of its 95% interval."""
    return f"{values.mean():.3f} ± {1.96 * values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def fourier_features(X: np.ndarray, seed: int, number: int = 64) -> np.ndarray:
    """Random features of the Gaussian kernel with half the median distance as its length."""
    rng = np.random.default_rng(seed)
    length = dv.kernels.median_heuristic(X) / 2
    Z = X @ (rng.standard_normal((X.shape[1], number // 2)) / length)
    return np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(number // 2)


def mixture(seed: int, n: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Twenty clusters of unequal sizes, each of one class but for five rows in a hundred."""
    rng = np.random.default_rng(seed)
    centres = 3.0 * rng.standard_normal((20, 10))
    cluster = rng.choice(20, size=n, p=rng.dirichlet(np.ones(20)))
    X = centres[cluster] + rng.standard_normal((n, 10))
    y = (rng.random(20) < 0.5)[cluster] ^ (rng.random(n) < 0.05)
    return StandardScaler().fit_transform(X), y.astype(int)


def gradients(X: np.ndarray, y: np.ndarray, seed: int, steps: int) -> np.ndarray:
    """Gradient of every row's logistic loss, after some steps of plain stochastic gradients; (n, parameters)."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([X, np.ones(len(X))])
    classes = np.eye(y.max() + 1)[y]
    W = np.zeros((rows.shape[1], classes.shape[1]))

    def residual(part: np.ndarray) -> np.ndarray:
        scores = rows[part] @ W
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True) - classes[part]

    for _ in range(steps):
        part = rng.choice(len(X), size=64, replace=False)
        W -= 0.1 * rows[part].T @ residual(part) / 64
    return (rows[:, :, None] * residual(np.arange(len(X)))[:, None, :]).reshape(len(X), -1)


def errors(batches: list[list[int]], weights: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Squared distance of each batch's weighted mean gradient from the mean over all rows."""
    mean = g.mean(axis=0)
    return np.array([((weights[b] @ g[b] / len(g) - mean) ** 2).sum() for b in batches])


def stratified(labels: np.ndarray, g: np.ndarray, draws: int) -> np.ndarray:
    """Squared errors of one row from each cluster, weighted by the sizes of the clusters."""
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    sizes = np.array([len(rows) for rows in members])
    found = np.empty(draws)
    for i in range(draws):
        chosen = [rows[rng.integers(len(rows))] for rows in members]
        found[i] = ((sizes @ g[chosen] / len(g) - g.mean(axis=0)) ** 2).sum()
    return found


def variance_table(draws: int) -> list[list[str]]:
    """Variance of the gradient relative to uniform batches, with intervals over batches."""
    sets = {f"mixture {seed}": mixture(seed) for seed in (1, 2, 3)}
    digits = load_digits()
    sets["digits"] = (StandardScaler().fit_transform(digits.data), digits.target)
    table = [["data", "steps", "batch", "weighted k-DPP", "CPU ms", "covering k-DPP", "CPU ms", "one of each cluster"]]
    for name, (X, y) in sets.items():
        features, n = fourier_features(X, seed=0), len(X)
        labels = {k: MiniBatchKMeans(k, n_init=1, random_state=0).fit_predict(X) for k in (32, 64)}
        for steps in (0, 300):
            g = gradients(X, y, seed=0, steps=steps)
            for k in (32, 64):
                uniform = g.var(axis=0).sum() / k * (n - k) / (n - 1)
                row = [name, str(steps), str(k)]
                for cover in (False, True):
                    sampler = DiverseBatchSampler(features, k, rng=1, cover=cover)
                    start, batches = time.process_time(), []
                    while len(batches) < draws:
                        batches += islice((batch for batch in sampler if len(batch) == k), draws - len(batches))
                    took = 1e3 * (time.process_time() - start) / draws
                    row += [interval(errors(batches, sampler.weights, g) / uniform), f"{took:.2f}"]
                table.append([*row, interval(stratified(labels[k], g, draws) / uniform)])
                print(*table[-1], sep="  ", flush=True)
    return table


def trace_error(X: np.ndarray, Z: np.ndarray, length: float) -> float:
    """Trace of K less its approximation from the points Z."""
    R = np.linalg.cholesky(dv.kernels.rbf(Z, length_scale=length) + 1e-10 * np.eye(len(Z)))
    return len(X) - float((np.linalg.solve(R, dv.kernels.rbf(Z, X, length_scale=length)) ** 2).sum())


def trace_table(repeats: int) -> list[list[str]]:
    """Trace errors divided by that of k-means centres, on random parts of each data set."""
    table = [["data", "m", "default", "greedy variance", "k-DPP", "uniform rows", "k-means, part of the trace"]]
    for name, load in (("digits", load_digits), ("breast cancer", load_breast_cancer), ("diabetes", load_diabetes)):
        everything = StandardScaler().fit_transform(load().data)
        for m in (50, 200):
            found: dict[str, list[float]] = {key: [] for key in ("trace", "greedy", "kdpp", "uniform", "share")}
            for seed in range(repeats):
                rng = np.random.default_rng(seed)
                X = everything[rng.choice(len(everything), size=int(0.8 * len(everything)), replace=False)]
                length = dv.kernels.median_heuristic(X)
                centres = trace_error(X, KMeans(m, n_init=1, random_state=seed).fit(X).cluster_centers_, length)
                for method in ("trace", "greedy", "kdpp"):
                    points = inducing_points(X, m, length_scale=length, method=method, rng=seed).points
                    found[method].append(trace_error(X, points, length) / centres)
                chosen = rng.choice(len(X), size=m, replace=False)
                found["uniform"].append(trace_error(X, X[chosen], length) / centres)
                found["share"].append(centres / len(X))
            table.append([name, str(m), *(interval(np.array(values)) for values in found.values())])
            print(*table[-1], sep="  ", flush=True)
    return table


def main(arguments: list[str] | None = None) -> int:
    """Make both tables, and write them."""
    parser = argparse.ArgumentParser(prog="python -m experiments.training", description=__doc__)
    parser.add_argument("--data", help="not needed: all data come with scikit-learn or are drawn here")
    parser.add_argument("--out", type=Path, default=Path("docs/images"), help="where tables go (%(default)s)")
    parser.add_argument("--draws", type=int, default=2000, help="batches of each kind (%(default)s)")
    parser.add_argument("--repeats", type=int, default=20, help="random parts of each data set (%(default)s)")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    print("Variance of the gradient, uniform batches = 1")
    tables = {"training_gradients.csv": variance_table(options.draws)}
    print("Trace errors, k-means centres = 1")
    tables["training_traces.csv"] = trace_table(options.repeats)
    for name, table in tables.items():
        with open(options.out / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(table)
    print(f"Written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
