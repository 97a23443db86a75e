"""Normalisers, marginals and sizes: the time they take, and how accurate they are.

Times are those of whole calls on the user's arrays, with checks and construction. The references are the linear algebra
that every method needs, by NumPy and SciPy.
"""

import math
import warnings
from collections.abc import Iterator

import numpy as np
import scipy.linalg

import diverset as dv
from benchmarks.harness import Row, at_most, compare, peer, state
from diverset.numerics import poisson_binomial, symmetric
from diverset.numerics.eigenvector_probabilities import selection_probabilities


def kdpp_marginals() -> Iterator[Row]:
    """Inclusion probabilities of a k-DPP, given the spectrum."""
    n, k = 5_000, 100
    rng = np.random.default_rng(1)
    V = np.linalg.qr(rng.standard_normal((n, n)))[0]
    ascending = 100.0 * np.exp(-np.arange(n)[::-1] / 60.0)
    w = rng.uniform(size=n)
    layouts = {
        "ascending eigenvalues": (ascending, V),
        "Fortran-ordered V": (ascending, np.asfortranarray(V)),
        "descending eigenvalues": (ascending[::-1].copy(), V),
    }
    for layout, (lam, vectors) in layouts.items():

        def ours(lam: np.ndarray = lam, vectors: np.ndarray = vectors) -> np.ndarray:
            return dv.DPP.from_spectrum(lam, vectors).of_size(k).inclusion_probabilities

        def floor(lam: np.ndarray = lam, vectors: np.ndarray = vectors) -> None:
            selection_probabilities(np.log(lam), k)
            vectors**2 @ w

        assert abs(ours().sum() - k) < 1e-9 * k
        yield compare(
            f"k-DPP marginals, n = {n:,}, k = {k}, {layout}", ours, floor, name="V**2 @ w and tables", bar=at_most(3)
        )


def feature_marginals() -> Iterator[Row]:
    """Inclusion probabilities from features."""
    n, D = 200_000, 64
    for dtype, bar in ((np.float64, at_most(3)), (np.float32, None)):
        X = np.random.default_rng(2).standard_normal((n, D)).astype(dtype)
        yield compare(
            f"marginals from features, n = {n:,}, D = {D}, {X.dtype}",
            lambda X=X: dv.DPP.from_features(X).inclusion_probabilities,
            lambda X=X: X.T @ X,
            name=f"X.T @ X in {X.dtype}",
            bar=bar,
        )


def _kernels(n: int) -> Iterator[tuple[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    B = rng.standard_normal((n, 2 * n))
    wishart = B @ B.T / (2 * n)
    yield "Wishart L", wishart
    # Rounding errors of a kernel this large matter next to the identity, so more checks run.
    yield "Wishart L times 1,000", 1e3 * wishart
    x = rng.uniform(size=(n, 2))
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    yield "deficient RBF L", np.exp(-0.5 * squared / 0.1**2)


def dense_normalizer() -> Iterator[Row]:
    """Normaliser of a DPP, from L."""
    n = 3_000
    for kind, L in _kernels(n):
        # SciPy cannot factor the deficient kernel, so its reference is the factorisation that every method needs.
        matrix, name = (L, "cholesky(L)") if kind.startswith("Wishart") else (L + np.eye(n), "cholesky(L + I)")
        yield compare(
            f"log-normaliser, n = {n:,}, {kind}",
            lambda L=L: dv.DPP(L).log_normalizer,
            lambda matrix=matrix: scipy.linalg.cholesky(matrix),
            name=name,
            bar=at_most(2),
        )


def dense_marginals() -> Iterator[Row]:
    """Inclusion probabilities of a DPP, from L."""
    n = 3_000
    for kind, L in _kernels(n):

        def inverse(L: np.ndarray = L) -> np.ndarray:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)  # the deficient kernel
                return scipy.linalg.inv(L)

        yield compare(
            f"marginals, n = {n:,}, {kind}",
            lambda L=L: dv.DPP(L).inclusion_probabilities,
            inverse,
            name="inv(L)",
            bar=at_most(2),
        )


def wide_spectra() -> Iterator[Row]:
    """Symmetric polynomials and laws of size where plain recursions overflow."""
    n, k = 100_000, 1_000
    log_lam = np.random.default_rng(4).uniform(-300.0, 300.0, size=n) * math.log(10.0)
    yield compare(
        f"log e_k, n = {n:,}, k = {k:,}, eigenvalues 1e-300 to 1e300",
        lambda: symmetric.log_elementary_symmetric(log_lam, k),
    )
    yield compare(
        f"eigenvector probabilities of a k-DPP, same spectrum, k = {k:,}", lambda: selection_probabilities(log_lam, k)
    )
    yield compare(f"size distribution, same spectrum, n = {n:,}", lambda: poisson_binomial.pmf(log_lam))
    near_one = np.random.default_rng(5).normal(scale=2.0, size=n)
    yield compare(f"size distribution, n = {n:,}, eigenvalues around 1", lambda: poisson_binomial.pmf(near_one))


def scaled_kernels() -> Iterator[Row]:
    """k-DPPs of scaled kernels: results of ours and of DPPy where numbers leave the range of floats."""
    n, k = 1_000, 200
    B = np.random.default_rng(6).standard_normal((n, n))
    L = B @ B.T / n
    truth = symmetric.log_elementary_symmetric_all(np.log(np.linalg.eigvalsh(L)), k)[k]
    for scale in (1.0, 1e2, 1e8):
        kdpp = dv.KDPP(scale * L, k)
        error = kdpp.log_normalizer - (truth + k * math.log(scale))
        total = kdpp.inclusion_probabilities.sum()
        yield state(
            f"k-DPP, n = {n:,}, k = {k}, L times {scale:g}: error of log e_k",
            f"{error:.0e}, marginals sum to {total:.10g}",
            _dppy_says(scale * L, k, truth + k * math.log(scale)),
            error=error,
            sum_of_marginals=total,
        )


def _dppy_says(L: np.ndarray, k: int, truth: float) -> str:
    """Error of DPPy's log e_k, and the result of its draw."""
    dppy = peer("dppy.finite_dpps")
    if dppy is None:
        return "DPPy is not installed"
    model = dppy.FiniteDPP("likelihood", L=L)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            draw = model.sample_exact_k_dpp(k, random_state=0)
            outcome = f"returns {len(set(draw))} items"
        except Exception as error:
            outcome = f"no draw: {type(error).__name__}: {error}"
        table = model.E_poly
    if table is None:
        return f"DPPy: {outcome}"
    with np.errstate(divide="ignore"):
        error = np.log(table[k, -1]) - truth
    return f"DPPy: {error:.0e}, {outcome}"


CASES = (
    kdpp_marginals,
    feature_marginals,
    dense_normalizer,
    dense_marginals,
    wide_spectra,
    scaled_kernels,
)
