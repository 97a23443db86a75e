"""Ten out of a thousand, and a thousand out of a hundred thousand, beside pyversity, LangChain, apricot and submodlib.

Embeddings are random unit vectors of 128 float32 numbers and scores uniform in [0, 1], the dial in the middle. The
peers named DPP maximise the same determinant. pyversity turns scores into weights by their z-score, as
``scale="standard"`` does: that is the comparison "same kernel"; "scores" is our default scale. MMR and the others
have other objectives; they are timed as the common alternatives. The table says beside each time whether the picks are
those of the textbook algorithm in double precision.
"""

import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import diverset as dv
from benchmarks.harness import Bar, Row, at_least, at_most, compare, peer, state, time_all

pyversity = peer("pyversity")
langchain = peer("langchain_core")
apricot = peer("apricot")
submodlib = peer("submodlib")

D = 128


@functools.lru_cache
def candidates(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit-norm float32 embeddings, and scores."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, D), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, rng.random(n)


def textbook(X: np.ndarray, quality: np.ndarray, k: int) -> np.ndarray:
    """Greedy by Cholesky rows in double precision, every item brought up to date after every pick."""
    X = X.astype(np.float64)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    residual, rows, picks = np.ones(len(X)), np.empty((k, len(X))), []
    for t in range(k):
        with np.errstate(divide="ignore"):
            key = quality + np.log(np.maximum(residual, 0.0))
        key[picks] = -np.inf
        best = int(key.argmax())
        rows[t] = (X @ X[best] - rows[:t, best] @ rows[:t]) / np.sqrt(residual[best])
        residual -= rows[t] ** 2
        picks.append(best)
    return np.array(picks)


def z_scores(scores: np.ndarray) -> np.ndarray:
    """Standardised scores: twice the log of pyversity's weights at diversity 0.5."""
    return (scores - scores.mean()) / scores.std()


#: Picks, items, the bar, and consecutive calls per timing, since the first after a pause has cold caches.
SIZES = ((10, 1_000, 3.0, 50), (50, 10_000, 3.0, 5), (100, 100_000, 6.0, 1), (1_000, 100_000, 15.0, 1))


def pyversity_dpp() -> Iterator[Row]:
    """Greedy MAP against pyversity's, call overhead included."""
    for k, n, bar, calls in SIZES:
        X, scores = candidates(n)
        for what, scale in (("scores", "rank"), ("same kernel", "standard")):
            yield _against_pyversity(f"{k:,} of {n:,}, {what}", X, scores, scale, k, calls, at_least(bar))
        if calls > 1:
            case = f"{k:,} of {n:,}, scores, one call after a pause (ours / theirs)"
            yield _against_pyversity(case, X, scores, "rank", k, 1, None)
        yield _same_picks(k, n)


def _against_pyversity(
    case: str, X: np.ndarray, scores: np.ndarray, scale: str, k: int, calls: int, bar: Bar | None
) -> Row:
    def ours() -> None:
        for _ in range(calls):
            dv.select(X, k, quality=scores, scale=scale)

    def theirs() -> None:
        for _ in range(calls):
            pyversity.dpp(X, scores, k, diversity=0.5)

    return compare(
        case,
        ours,
        None if pyversity is None else theirs,
        name="pyversity DPP",
        bar=bar,
        per=calls,
        is_peer=True,
        rounds=3 if k == 1_000 else 7,
    )


def _same_picks(k: int, n: int) -> Row:
    """How many picks agree with the textbook's, up to the rank, for both libraries on the same kernel."""
    X, scores = candidates(n)
    m = min(k, D)
    exact = textbook(X, z_scores(scores), m)
    ours = dv.select(X, k, quality=scores, scale="standard").indices[:m]
    theirs = "" if pyversity is None else _agreement(pyversity.dpp(X, scores, k, diversity=0.5).indices[:m], exact)
    case = f"{k:,} of {n:,}: picks as in double precision" + (f", up to the rank {m}" if m < k else "")
    return state(case, _agreement(ours, exact), theirs and f"{theirs} pyversity DPP")


def _agreement(picks: np.ndarray, exact: np.ndarray) -> str:
    return f"{int((np.asarray(picks) == exact).sum())} of {len(exact)}"


def beyond_the_rank() -> Iterator[Row]:
    """Quality of the picks after the rank: the information det(X_Y' X_Y) of a thousand rows."""
    k, n = 1_000, 100_000
    X, scores = candidates(n)
    quality = z_scores(scores)
    found = {"ours": dv.select(X, k, quality=scores, scale="standard").indices}
    found["top-k"] = np.argsort(-scores, kind="stable")[:k]
    if pyversity is not None:
        found["pyversity DPP"] = pyversity.dpp(X, scores, k, diversity=0.5).indices
    values = {}
    for name, picks in found.items():
        rows = X[picks].astype(np.float64)
        values[name] = f"{np.linalg.slogdet(rows.T @ rows)[1]:.2f}, {quality[picks].mean():.3f}, {len(set(picks))}"
    others = "; ".join(f"{name}: {value}" for name, value in values.items() if name != "ours")
    yield state(f"{k:,} of {n:,}: log-information, mean quality, different items", values["ours"], others)


def other_peers() -> Iterator[Row]:
    """Other libraries, each on its own objective."""
    for k, n in ((10, 1_000), (50, 10_000)):
        X, scores = candidates(n)
        calls: dict[str, Any] = {"ours": lambda X=X, s=scores, k=k: dv.select(X, k, quality=s)}
        if langchain is not None:
            from langchain_core.vectorstores.utils import maximal_marginal_relevance

            query = X[int(scores.argmax())]
            rows = list(X)
            calls["LangChain MMR"] = lambda q=query, r=rows, k=k: maximal_marginal_relevance(q, r, 0.5, k)
        if pyversity is not None:
            calls["pyversity MMR"] = lambda X=X, s=scores, k=k: pyversity.mmr(X, s, k, diversity=0.5)
        if apricot is not None:
            calls["apricot facility location"] = lambda X=X, k=k: apricot.FacilityLocationSelection(
                k, metric="cosine", optimizer="lazy", verbose=False
            ).fit(X)
        if submodlib is not None and n <= 1_000:  # beyond, its n x n kernel in Python lists takes minutes
            calls["submodlib log-determinant"] = lambda X=X, n=n, k=k: _submodlib_log_det(X, n, k)
        times = time_all(calls, rounds=3, budget=10.0)
        for name, taken in times.items():
            if name != "ours":
                ratio = taken.best / times["ours"].best
                yield Row(f"{k:,} of {n:,}", _ms(times["ours"].best), f"{_ms(taken.best)}  {name}", ratio)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"


def _submodlib_log_det(X: np.ndarray, n: int, k: int) -> object:
    f = submodlib.LogDeterminantFunction(n=n, mode="dense", lambdaVal=0.0, data=X, metric="cosine")
    return f.maximize(budget=k, optimizer="NaiveGreedy", show_progress=False)


def mmr_baseline() -> Iterator[Row]:
    """Our MMR beside pyversity's, with raw scores."""
    for k, n, calls in ((10, 1_000, 20), (50, 10_000, 1)):
        X, scores = candidates(n)

        def ours(X: np.ndarray = X, scores: np.ndarray = scores, k: int = k, calls: int = calls) -> None:
            for _ in range(calls):
                dv.baselines.mmr(X, k, quality=scores, scale=None)

        def theirs(X: np.ndarray = X, scores: np.ndarray = scores, k: int = k, calls: int = calls) -> None:
            for _ in range(calls):
                pyversity.mmr(X, scores, k, diversity=0.5)

        yield compare(
            f"{k} of {n:,} by MMR",
            ours,
            None if pyversity is None else theirs,
            name="pyversity MMR",
            bar=at_least(1.0),
            per=calls,
            is_peer=True,
        )


def many_lists() -> Iterator[Row]:
    """10 of each of 10,000 lists of 500 x 64, beside loops over select and over pyversity."""
    rng = np.random.default_rng(0)
    lists = [rng.standard_normal((500, 64), dtype=np.float32) for _ in range(10_000)]
    scores = [rng.random(500) for _ in lists]
    pairs = list(zip(lists, scores, strict=True))
    calls: dict[str, Any] = {
        "ours": lambda: dv.select_many(lists, 10, quality=scores),
        "a loop over select": lambda: [dv.select(X, 10, quality=q) for X, q in pairs],
    }
    if pyversity is not None:
        calls["a loop over pyversity DPP"] = lambda: [pyversity.dpp(X, q, 10, diversity=0.5) for X, q in pairs]
    times = time_all(calls, rounds=3, budget=30.0)
    for (name, taken), bar in zip(list(times.items())[1:], (at_least(3.0), at_least(10.0)), strict=False):
        ratio = taken.best / times["ours"].best
        row = Row(
            "select_many, 10 of each of 10,000 lists", _ms(times["ours"].best), f"{_ms(taken.best)}  {name}", ratio
        )
        row.bar, row.met = str(bar), bar.met(ratio)
        yield row


def keeping_a_share() -> Iterator[Row]:
    """A search for ``keep=0.9`` beside one selection."""
    for k, n in ((10, 1_000), (50, 10_000)):
        X, scores = candidates(n)
        yield compare(
            f"{k} of {n:,}, keep=0.9",
            lambda X=X, s=scores, k=k: dv.select(X, k, quality=s, keep=0.9),
            lambda X=X, s=scores, k=k: dv.select(X, k, quality=s, diversity=0.9),
            name="one selection at diversity 0.9",
            bar=at_most(8.0),
        )


def from_a_memory_map() -> Iterator[Row]:
    """A hundred of a million embeddings in a file, against ten passes over it."""
    k, n = 100, 1_000_000
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "embeddings.npy"
        X = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=(n, D))
        for start in range(0, n, 50_000):
            block = rng.standard_normal((50_000, D), dtype=np.float32)
            X[start : start + 50_000] = block / np.linalg.norm(block, axis=1, keepdims=True)
        X.flush()
        X, scores, v = np.load(file, mmap_mode="r"), rng.random(n), rng.standard_normal(D, dtype=np.float32)

        def ten_passes() -> None:
            for _ in range(10):
                X @ v

        yield compare(
            f"{k} of {n:,} from a memory map",
            lambda: dv.select(X, k, quality=scores),
            ten_passes,
            name="ten times X @ v",
            bar=at_most(3),
            rounds=3,
        )


CASES = (
    pyversity_dpp,
    beyond_the_rank,
    other_peers,
    mmr_baseline,
    many_lists,
    keeping_a_share,
    from_a_memory_map,
)
