"""Draws: one and many, dense and from features, beside DPPy.

The time of a first draw includes reading the user's array. Repeated draws are timed in batches, without the set-up,
each batch with its own seed. DPPy stores samples inside its object, so every first draw gets a new object, and the
store is flushed.
"""

import functools
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg

import diverset as dv
from benchmarks.harness import Row, at_most, clock, compare, peer, state

dppy = peer("dppy")
if dppy is not None:
    from dppy.finite_dpps import FiniteDPP


@functools.lru_cache
def rbf_kernel(n: int, expected: float, seed: int = 0) -> np.ndarray:
    """Points in the unit square, near ones alike, scaled to an expected size."""
    X = np.random.default_rng(seed).random((n, 2))
    return dv.DPP(dv.kernels.rbf(X, length_scale=0.7 / np.sqrt(expected))).rescale(expected).L


def theirs(**kernel: Any) -> "FiniteDPP":
    """DPPy's DPP, with its warnings ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FiniteDPP("likelihood", **kernel)


def their_draws(dpp: Any, draw: Callable[[], object], times: int) -> Callable[[], None]:
    """A call that makes DPPy draw, quietly."""

    def call() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(times):
                draw()
            dpp.flush_samples()

    return call


def one_draw() -> Iterator[Row]:
    """(a) A draw without eigenvectors, against the Cholesky factorisation of the same matrix."""
    n = 4_000
    L = rbf_kernel(n, 75.0)
    K = dv.DPP(L).K
    lifted = L + np.eye(n)
    from_K = dv.DPP.from_marginal(K)
    seeds = iter(range(10**9))
    yield compare(
        f"one draw from K, n = {n:,}",
        lambda: from_K.sample(rng=next(seeds), method="sequential"),
        lambda: scipy.linalg.cholesky(lifted),
        name="scipy.linalg.cholesky",
        bar=at_most(4),
    )
    yield compare(
        f"one draw from L, n = {n:,}, checks included",
        lambda: dv.DPP(L).sample(rng=next(seeds)),
        lambda: scipy.linalg.cholesky(lifted),
        name="scipy.linalg.cholesky",
        bar=at_most(10),
    )


def first_draw() -> Iterator[Row]:
    """(b) The first draw from a dense L, everything included."""
    n = 5_000
    L = rbf_kernel(n, 75.0)
    seeds = iter(range(10**9))
    row = compare(f"first draw, dense L, n = {n:,}", lambda: dv.DPP(L).sample(rng=next(seeds)), rounds=3, budget=10.0)
    if dppy is not None:
        # Once: an eigendecomposition of this size is long enough to be measured by a single call.
        now = time.perf_counter if clock() == "wall clock" else time.process_time
        start = now()
        their_draws(dpp := theirs(L=L), dpp.sample_exact, 1)()
        seconds = now() - start
        row.other = f"{seconds:.3g} s  DPPy"
        row.ratio = seconds / min(row.details["ours"]["seconds"])
        row.bar, row.met = "≥ 5", row.ratio >= 5.0
        row.details["dppy"] = {"seconds": [seconds]}
    yield row


def dense_repeated() -> Iterator[Row]:
    """(c) Repeated draws, dense."""
    n = 5_000
    L = rbf_kernel(n, 75.0)
    ours = dv.DPP(L)
    seeds = iter(range(10**9))
    other: Any = None
    if dppy is not None:
        lam = ours.eigenvalues
        other = theirs(L_eig_dec=(lam[len(lam) - ours.rank :], ours.eigenvectors))
    cases = [(None, 50.0, 100), (50, 30.0, 100), (200, 20.0, 20)]
    for k, bar, count in cases:
        distribution = ours if k is None else ours.of_size(k)
        draw = None
        if other is not None:
            other.E_poly = None  # DPPy would read the table of another k beyond its end
            draw = other.sample_exact if k is None else functools.partial(other.sample_exact_k_dpp, size=k)
        case = f"dense n = {n:,}, " + ("about 75 items" if k is None else f"k = {k}")
        yield _repeated(case, distribution, other, draw, count, bar, seeds)


def _repeated(
    case: str, ours: Any, other: Any, draw: Any, batch: int, bar: float, seeds: Iterator[int], theirs_per: int = 2
) -> Row:
    """Ours in batches, theirs a few at a time, both per draw."""
    mine = compare(
        case, lambda: ours.sample(batch, rng=next(seeds), method="rejection"), per=batch, rounds=5, budget=8.0
    )
    if other is None:
        return mine
    peer_row = compare(case, their_draws(other, draw, theirs_per), per=theirs_per, rounds=2, budget=6.0)
    ours_s = min(mine.details["ours"]["seconds"]) / batch
    theirs_s = min(peer_row.details["ours"]["seconds"]) / theirs_per
    mine.other = f"{peer_row.ours}  DPPy"
    mine.ratio = theirs_s / ours_s
    mine.bar, mine.met = f"≥ {bar:g}", mine.ratio >= bar
    mine.details["dppy"] = peer_row.details["ours"]
    return mine


def feature_repeated() -> Iterator[Row]:
    """(d) Repeated draws from features."""
    D = 100
    seeds = iter(range(10**9))
    rng = np.random.default_rng(1)
    spectrum = np.exp(-np.arange(D) / 25.0)
    times = {}
    for n in (10_000, 100_000, 1_000_000):
        X = rng.standard_normal((n, D)) * spectrum
        base = dv.DPP.from_features(X)
        for expected in (22.0, 73.0, 50.0) if n == 100_000 else (50.0,):
            ours = base.rescale(expected)
            case = f"features n = {n:,}, D = {D}, about {expected:g} items"
            if n == 100_000 and expected != 50.0:
                other = draw = None
                if dppy is not None:
                    scale = np.sqrt(ours.eigenvalues[-1] / base.eigenvalues[-1])
                    other = theirs(L_gram_factor=(scale * X).T)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        other.sample_exact()
                    draw = other.sample_exact
                yield _repeated(case, ours, other, draw, 200, 300.0, seeds, 1)
                continue
            row = compare(
                case,
                lambda ours=ours: ours.sample(200, rng=next(seeds), method="rejection"),
                per=200,
                bar=at_most(1e-3),
                budget=6.0,
            )
            times[n] = min(row.details["ours"]["seconds"]) / 200
            yield row
        del X, base, ours
    ratio = times[1_000_000] / times[10_000]
    yield Row("n = 1,000,000 against n = 10,000", "", "", ratio, "≤ 2", ratio <= 2.0)


def small_draws() -> Iterator[Row]:
    """(e) Many small draws."""
    ours = dv.DPP(rbf_kernel(200, 10.0))
    seeds = iter(range(10**9))
    yield compare(
        "10,000 draws of about 10 items, n = 200",
        lambda: ours.sample(10_000, rng=next(seeds), method="rejection"),
        per=10_000,
        bar=at_most(40e-6),
    )


def kernel_function() -> Iterator[Row]:
    """(f) Draws from a kernel function, against VFX."""
    n = 20_000
    X = np.random.default_rng(0).random((n, 2))
    seeds = iter(range(10**9))
    # Length and quality for which about this many items are drawn.
    for expected, length, quality, bar in ((20, 0.125, 0.055, 1.0), (75, 0.046, 0.08, 10.0)):
        similarity = functools.partial(dv.kernels.rbf, length_scale=length)
        q = np.full(n, quality)
        sampler = dv.sampling.IntermediateSampler(dv.sampling.KernelFunction(X, similarity, q, diagonal=1.0))
        size = np.mean([len(d) for d in sampler.draw_many(50, np.random.default_rng(0))])
        case = f"kernel function, n = {n:,}, about {size:.0f} items (aimed at {expected})"
        mine = compare(case, lambda s=sampler: s.draw_many(50, np.random.default_rng(next(seeds))), per=50, budget=6.0)
        if dppy is None:
            yield mine
            continue

        def evaluate(A: np.ndarray, B: np.ndarray | None = None, f: Any = similarity, c: float = quality**2) -> Any:
            # DPPy evaluates the kernel on single points, as vectors.
            return c * f(np.atleast_2d(A), None if B is None else np.atleast_2d(B))

        other = theirs(L_eval_X_data=(evaluate, X))

        def draw(o: Any = other) -> object:
            return o.sample_exact("vfx", verbose=False)

        try:
            their_draws(other, draw, 1)()
            peer_row = compare(case, their_draws(other, draw, 1), rounds=1 if expected > 50 else 3, budget=1.0)
        except Exception as error:
            mine.other = f"DPPy VFX: {type(error).__name__}: {error}"
            yield mine
            continue
        ours_s = min(mine.details["ours"]["seconds"]) / 50
        mine.ratio = min(peer_row.details["ours"]["seconds"]) / ours_s
        mine.other = f"{peer_row.ours}  DPPy VFX"
        mine.bar, mine.met = f"≥ {bar:g}", mine.ratio >= bar
        yield mine


def large_k() -> Iterator[Row]:
    """(g) A thousand items out of a hundred thousand."""
    n, D, k = 100_000, 1_200, 1_000
    X = np.random.default_rng(0).standard_normal((n, D)).astype(np.float32)
    kdpp = dv.DPP.from_features(X).of_size(k)
    draw = kdpp.sample(rng=0, method="rejection")
    assert len(draw) == k
    assert len(np.unique(draw)) == k
    seeds = iter(range(10**9))
    yield compare(
        f"k = {k:,} of n = {n:,}, D = {D:,}", lambda: kdpp.sample(rng=next(seeds), method="rejection"), rounds=3
    )


def what_is_interactive() -> Iterator[Row]:
    """Largest n within three seconds and five minutes, beside the monograph's figures of 2012 on eight cores."""
    dense = (
        ("normalisation", lambda L: dv.DPP(L).log_normalizer, 4_000, "5,000 / 40,000"),
        ("marginals", lambda L: dv.DPP(L).inclusion_probabilities, 4_000, "2,000 / 20,000"),
        ("first draw", lambda L: dv.DPP(L).sample(rng=0), 4_000, "1,000 / 10,000, by eigenvectors"),
        ("eigenvectors", lambda L: dv.DPP(L).eigenvectors, 2_000, "1,000 / 10,000"),
    )
    for name, build, n, then in dense:
        B = np.random.default_rng(0).standard_normal((n, n))
        L = B @ B.T / n
        row = compare(name, lambda L=L, build=build: build(L), rounds=2, budget=4.0)
        yield _reach(f"{name}, dense", row, n, 3, f"2012: {then}")
    X = np.random.default_rng(0).standard_normal((200_000, 100))
    by_features = (
        ("normalisation", lambda X: dv.DPP.from_features(X).log_normalizer),
        ("marginals", lambda X: dv.DPP.from_features(X).inclusion_probabilities),
        ("first draw", lambda X: dv.DPP.from_features(X).sample(rng=0)),
        ("set-up for repeated draws", lambda X: dv.DPP.from_features(X).sample(2, rng=0, method="rejection")),
    )
    for name, build in by_features:
        row = compare(name, lambda build=build: build(X), rounds=2, budget=4.0)
        yield _reach(f"{name}, D = 100", row, len(X), 1, "")


def _reach(case: str, row: Row, n: int, power: int, then: str) -> Row:
    """The n within three seconds and five minutes, by the growth of the cost."""
    seconds = min(row.details["ours"]["seconds"])
    reach = [f"{int(n * (limit / seconds) ** (1 / power)):.2g}" for limit in (3.0, 300.0)]
    now = " / ".join(f"{float(r):,.0f}" for r in reach)
    return state(f"{case}: {row.ours} at n = {n:,}", f"n = {now}", then)


CASES = (
    one_draw,
    first_draw,
    dense_repeated,
    feature_repeated,
    small_draws,
    kernel_function,
    large_k,
    what_is_interactive,
)
