"""Learning: time of a gradient, error by the number of instances, kernels of thousands of items.

The reference for the quality model is the eigendecomposition of Algorithm 4 of the monograph; for low-rank kernels, the
product V.T @ V that every normaliser needs.
"""

import time
from collections.abc import Iterator

import numpy as np

import diverset as dv
from benchmarks.harness import Row, at_most, compare, state
from diverset.learn.baskets import read_baskets
from diverset.learn.instances import log_likelihood_and_gradient, read_examples
from diverset.learn.low_rank import low_rank_objective


def quality_gradient() -> Iterator[Row]:
    """One gradient of the quality model, dense and through the dual."""
    n, m = 250, 20
    rng = np.random.default_rng(1)
    F, theta = rng.standard_normal((n, m)), 0.1 * rng.standard_normal(m)
    S = dv.kernels.rbf(rng.standard_normal((n, 5)))
    for what, instance in (
        ("dense", dv.learn.Instance(F, similarity=S + 1e-6 * np.eye(n))),
        ("dual, D = 50", dv.learn.Instance(F, diversity=rng.standard_normal((n, 50)))),
    ):
        (example,) = read_examples([instance], [np.arange(0, n, 25)], 0.0)
        yield compare(
            f"quality gradient, n = {n}, {what}",
            lambda example=example: log_likelihood_and_gradient(example, theta, fixed_size=False),
            lambda: np.linalg.eigh(S),
            name="np.linalg.eigh",
            bar=at_most(3),
        )


def consistency() -> Iterator[Row]:
    """Error of the learned weights against the number of instances: theory predicts a slope of -1/2."""
    theta, sizes, seeds = np.array([1.0, -0.5, 0.3]), (25, 100, 400), range(16)
    errors = []
    for T in sizes:
        squares = []
        for seed in seeds:
            rng = np.random.default_rng([T, seed])
            instances = [
                dv.learn.Instance(rng.standard_normal((12, 3)), diversity=rng.standard_normal((12, 6)))
                for _ in range(T)
            ]
            truth = dv.learn.QualityModel().set_coef(theta)
            sets = [truth.dpp(x).sample(rng=rng) for x in instances]
            squares.append(np.sum((dv.learn.QualityModel().fit(instances, sets).coef_ - theta) ** 2))
        errors.append(float(np.sqrt(np.mean(squares))))
    slope = float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])
    shown = ", ".join(f"{error:.3f} at T = {T}" for T, error in zip(sizes, errors, strict=True))
    yield state("error of theta, root mean square", shown, f"slope {slope:.2f}, theory -0.5", slope=slope)


def low_rank_gradient() -> Iterator[Row]:
    """Gradient of a low-rank kernel: linear in the baskets, and n D^2."""
    rng = np.random.default_rng(2)
    D = 64

    def gradient(n: int, number: int) -> float:
        baskets = read_baskets([rng.choice(n, size=10, replace=False) for _ in range(number)], n)
        parameters, penalty = {"V": 0.1 * rng.standard_normal((n, D))}, np.zeros(n)
        low_rank_objective(parameters, baskets, None, penalty)
        best = np.inf
        for _ in range(5):
            start = time.process_time()
            low_rank_objective(parameters, baskets, None, penalty)
            best = min(best, time.process_time() - start)
        return best

    base = gradient(4000, 2000)
    more_baskets, more_items = gradient(4000, 8000), gradient(16000, 2000)
    yield state(
        f"low-rank gradient, D = {D}, baskets of 10",
        f"{1e3 * base:.0f} ms for n = 4,000 and 2,000 baskets",
        f"{more_baskets / base:.1f}x for 4x the baskets, {more_items / base:.1f}x for 4x the items",
        seconds=base,
    )


def many_baskets() -> Iterator[Row]:
    """One pass over 100,000 baskets of 2,000 items."""
    rng = np.random.default_rng(3)
    popularity = 1.0 / np.arange(1, 2001)
    popularity /= popularity.sum()
    baskets = [np.unique(rng.choice(2000, size=k, p=popularity)) for k in np.minimum(1 + rng.poisson(4.0, 100_000), 30)]
    for learner in (dv.learn.LowRankKernel, dv.learn.NonsymmetricKernel):
        start = time.perf_counter()
        learner(rank=30, n_epochs=1, rng=0).fit(baskets, n_items=2000)
        yield state(f"{learner.__name__}, one pass over 100,000 baskets", f"{time.perf_counter() - start:.1f} s")


CASES = (quality_gradient, low_rank_gradient, many_baskets, consistency)
