"""How the cost of a draw grows with n and with k, beside DPPy, and a picture of it.

Writes ``docs/images/sampling_scaling.svg``: log-log, with the exponents the docstrings claim as dashed lines.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import diverset as dv
from benchmarks.harness import Row, clock, peer, state
from benchmarks.sampling import dppy, their_draws, theirs
from diverset.io.files import atomic_write

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "sampling_scaling.svg"


def best_of(call: Callable[[], object], *, repeats: int = 3, seconds: float = 4.0) -> float:
    """Shortest of a few calls, the first one unmeasured unless it is long."""
    now = time.perf_counter if clock() == "wall clock" else time.process_time
    start = now()
    call()
    first = now() - start
    if first > seconds:
        return first
    times = []
    for _ in range(repeats):
        start = now()
        call()
        times.append(now() - start)
    return min(times)


def kernel(n: int) -> np.ndarray:
    """Points in the unit square, near ones alike; draws of about 30 items for every n."""
    X = np.random.default_rng(0).random((n, 2))
    return (60.0 / n) * dv.kernels.rbf(X, length_scale=0.12)


Curves = dict[str, tuple[list[int], list[float]]]


def first_draws() -> Curves:
    """Seconds of a first draw from a dense kernel, by n."""
    curves: Curves = {}
    for n in (250, 500, 1_000, 2_000, 4_000):
        L = kernel(n)
        _add(curves, "diverset, from L", n, best_of(lambda L=L: dv.DPP(L).sample(rng=0, method="sequential")))
        K = dv.DPP(L).K
        marginal = dv.DPP.from_marginal(K)
        _add(curves, "diverset, from K", n, best_of(lambda d=marginal: d.sample(rng=0, method="sequential")))
        if dppy is not None and n <= 2_000:

            def first(L: np.ndarray = L) -> None:
                their_draws(dpp := theirs(L=L), dpp.sample_exact, 1)()

            _add(curves, "DPPy", n, best_of(first, repeats=2))
    return curves


def repeated_draws() -> Curves:
    """Seconds of a further draw from features, about 20 items, by n."""
    curves: Curves = {}
    for n in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000):
        X = np.random.default_rng(0).standard_normal((n, 60)) * np.exp(-np.arange(60) / 15.0)
        dpp = dv.DPP.from_features(X).rescale(20.0)
        _add(curves, "diverset", n, best_of(lambda d=dpp: d.sample(200, rng=0, method="rejection")) / 200)
        if dppy is not None and n <= 100_000:
            scale = np.sqrt(dpp.eigenvalues[-1] / dv.DPP.from_features(X).eigenvalues[-1])
            other = theirs(L_gram_factor=(scale * X).T)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                other.sample_exact()
            _add(curves, "DPPy", n, best_of(their_draws(other, other.sample_exact, 2), repeats=2) / 2)
    return curves


def k_dpp_draws() -> Curves:
    """Seconds of a further draw of a k-DPP, dense n = 2,000, by k."""
    curves: Curves = {}
    n = 2_000
    L = 100.0 * (0.1 * np.eye(n) + kernel(n) * n / 60.0)
    dpp = dv.DPP(L)
    other = None if dppy is None else theirs(L=L)
    for k in (5, 10, 20, 50, 100, 200, 400):
        kdpp, count = dpp.of_size(k), max(2, 400 // k)
        _add(curves, "diverset", k, best_of(lambda d=kdpp, c=count: d.sample(c, rng=0, method="rejection")) / count)
        if other is not None and k <= 200:
            other.E_poly = None  # DPPy would read the table of another k beyond its end
            call = their_draws(other, lambda k=k: other.sample_exact_k_dpp(size=k), 1)
            _add(curves, "DPPy", k, best_of(call, repeats=2))
    return curves


def _add(curves: Curves, name: str, x: int, seconds: float) -> None:
    xs, ys = curves.setdefault(name, ([], []))
    xs.append(x)
    ys.append(seconds)


def scaling() -> Iterator[Row]:
    """Measure all three, draw the picture, and report the slopes."""
    panels = {
        "First draw, dense": (first_draws(), "n", [("n³", 3)]),
        "Further draws, from features": (repeated_draws(), "n", [("n⁰", 0), ("n", 1)]),
        "Further draws, k-DPP, n = 2,000": (k_dpp_draws(), "k", [("k³", 3)]),
    }
    if peer("matplotlib") is not None:
        _draw(panels)
    for title, (curves, x, _) in panels.items():
        for name, (xs, ys) in curves.items():
            half = len(xs) // 2
            slope = np.polyfit(np.log(xs[half:]), np.log(ys[half:]), 1)[0]
            yield state(
                f"{title}: {name}",
                f"{ys[-1] * 1e3:.3g} ms at {x} = {xs[-1]:,}",
                f"grows like {x}^{slope:.2f} over the upper half",
                x=xs,
                seconds=ys,
            )


def _draw(panels: dict[str, tuple[Curves, str, list[tuple[str, int]]]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    styles = {"diverset": ("#c8102e", "o"), "diverset, from L": ("#c8102e", "o"), "diverset, from K": ("#e58a9a", "s")}
    for ax, (title, (curves, x, claims)) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for name, (xs, ys) in curves.items():
            colour, marker = styles.get(name, ("#1f4e8c", "^"))
            ax.loglog(xs, ys, marker=marker, color=colour, label=name)
        ours = next(iter(curves.values()))
        other = curves.get("DPPy", ours)
        for label, power in claims:
            xs, ys = (np.array(c, dtype=float) for c in (other if power == 1 and "DPPy" in curves else ours))
            ax.loglog(xs, ys[-1] * (xs / xs[-1]) ** power * 1.6, "--", color="0.6", linewidth=1)
            ax.annotate(label, (xs[-1], ys[-1] * 1.6), color="0.4", va="bottom", ha="right")
        ax.set(title=title, xlabel=x, ylabel="seconds a draw")
        ticks = ours[0][:: 2 if len(ours[0]) > 5 else 1]
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.set_xticks([], minor=True)
        ax.legend(frameon=False)
        ax.grid(True, which="major", color="0.92")
    PICTURE.parent.mkdir(exist_ok=True)
    with atomic_write(PICTURE) as path:
        figure.savefig(path, metadata={"Date": None})


CASES = (scaling,)
