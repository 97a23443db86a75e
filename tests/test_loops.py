"""Compiled loops and the same source run as plain Python give the same draws from the same seed."""

import importlib
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np
import pytest

import diverset as dv
from diverset.numerics import kernels
from diverset.sampling import mcmc, rejection, sequential
from diverset.theory.processes import Box, GibbsProcess, LinearCore, SoftCore, Strauss, VerySoftCore
from kernels_for_tests import orthonormal, wishart
from uncompiled import load, uncompiled

PACKAGE = Path(dv.__file__).parent
EXTENSIONS = sorted(path for path in PACKAGE.rglob("*") if path.name.endswith(tuple(EXTENSION_SUFFIXES)))
COMPLEX = pytest.mark.parametrize("complex_", [False, True])


@pytest.mark.parametrize("path", EXTENSIONS, ids=lambda path: path.name.split(".")[0])
def test_the_compiled_module_is_the_one_tested(path):
    # A test collector that imports the source file would put it in place of the compiled module.
    name = ".".join([*path.relative_to(PACKAGE).parent.parts, path.name.split(".")[0]])
    assert importlib.import_module(f"diverset.{name}").__file__ == str(path)


def test_plain_source_is_not_compiled():
    for name in ("numerics._loops", "sampling._rejection_loops"):
        assert load(name).__file__.endswith(".py")
    assert not load("numerics._loops").COMPILED


def test_uncompiled_serves_the_library():
    with uncompiled("sampling._mcmc_loops") as twin:
        assert sys.modules["diverset.sampling._mcmc_loops"] is twin
    assert sys.modules["diverset.sampling._mcmc_loops"] is not twin


@COMPLEX
@pytest.mark.parametrize("patience", [50.0, 0.5, -1.0])
@pytest.mark.parametrize("k", [None, 1, 7, 40])
def test_rejection(k, patience, complex_):
    dpp = dv.DPP(wishart(60, 60, 1, complex_=complex_))
    sampler = rejection.prepare(dpp._representation, k)
    sampler = rejection.RejectionSampler(sampler.proposals, sampler.law, patience)
    rng, twin = np.random.default_rng(0), np.random.default_rng(0)
    draws = sampler.draw_many(6, rng)
    with uncompiled("sampling._rejection_loops"):
        plain = sampler.draw_many(6, twin)
    assert [Y.tolist() for Y in draws] == [Y.tolist() for Y in plain]
    assert rng.random() == twin.random()


@COMPLEX
def test_alias_tables(complex_):
    V = orthonormal(40, 7, 0, complex_=complex_)
    threshold, alias = rejection.alias_tables(V)
    with uncompiled("sampling._rejection_loops"):
        plain = rejection.alias_tables(V)
    np.testing.assert_allclose(threshold, plain[0], rtol=1e-13)
    assert np.array_equal(alias, plain[1])


@COMPLEX
@pytest.mark.parametrize("name", ["cholesky", "marginal", "nonsymmetric", "rows"])
def test_sequential(name, complex_):
    n = 150
    dpp = dv.DPP(5.0 * wishart(n, n, 2, complex_=complex_))
    R = dpp._representation._cholesky
    excess = sequential.cholesky_excess(R, dpp._representation.likelihood_diagonal())
    rows = orthonormal(n, 12, 3, complex_=complex_)
    draw = {
        "cholesky": lambda u: sequential.draw_from_cholesky(R, excess, u, block=40),
        "marginal": lambda u: sequential.draw_from_marginal(dpp.K, u),
        "nonsymmetric": lambda u: sequential.draw_from_nonsymmetric(dpp.K, u),
        "rows": lambda u: sequential.draw_from_rows([rows], 12, u),
    }[name]
    u = np.random.default_rng(4).random(n)
    with uncompiled("sampling._sequential_loops"):
        plain = draw(u)
    assert np.array_equal(draw(u), plain)
    assert len(plain) > 5


@COMPLEX
@pytest.mark.parametrize("k", [None, 1, 20])
def test_mcmc(k, complex_):
    dpp = dv.DPP(wishart(80, 30, 5, complex_=complex_))

    def chain():
        return mcmc.mcmc_chain(dpp, k=k, size=40, burn_in=100, thin=7, rng=6)

    compiled = chain()
    with uncompiled("sampling._mcmc_loops"):
        plain = chain()
    assert [Y.tolist() for Y in compiled.sets] == [Y.tolist() for Y in plain.sets]
    assert compiled.acceptance_rate == plain.acceptance_rate
    np.testing.assert_allclose(compiled.log_weights, plain.log_weights, rtol=0, atol=1e-9)


@pytest.mark.parametrize("torus", [False, True])
@pytest.mark.parametrize(
    "interaction", [None, Strauss(0.3, 0.1), Strauss(0.5, 0.1, 0.05), VerySoftCore(0.2), SoftCore(0.1), LinearCore(0.2)]
)
def test_birth_and_death(interaction, torus):
    model = GibbsProcess(Box((1.0, 0.8), torus=torus), 40.0, interaction)

    def chain():
        return model.chain(10, burn_in=300, thin=20, rng=7)

    compiled = chain()
    with uncompiled("theory.processes._birth_death_loops"):
        plain = chain()
    assert all(np.array_equal(one, other) for one, other in zip(compiled.sets, plain.sets, strict=True))
    np.testing.assert_allclose(compiled.log_weights, plain.log_weights, rtol=0, atol=1e-9)


@COMPLEX
def test_twins_of_reflections(complex_):
    # One reflection that takes y to its last axis, as the loops make it, of a basis and of coordinates.
    parts, s, m = 1 + complex_, 5, 6
    rng = np.random.default_rng(8)
    W = orthonormal(m, m, 9, complex_=complex_)
    x = rng.standard_normal(m * parts).view(W.dtype)
    h = W[:s] @ x
    y, length, last = h.copy(), np.linalg.norm(h), abs(h[-1])
    h[-1] += h[-1] * (length / last)
    tau = 1.0 / (length * (length + last))
    H, T = h[None].copy().view(float), np.array([tau])
    after = W.copy()
    kernels.reflect(H, T, 1, s, after.view(float), m, parts)
    np.testing.assert_allclose(after[: s - 1] @ x, 0.0, atol=1e-14)
    np.testing.assert_allclose(after[: s - 1] @ after[: s - 1].conj().T, np.eye(s - 1), atol=1e-14)
    rows = np.stack([y, 2.0 * y])
    kernels.reflect_rows(H[0], tau, s, rows.view(float), parts)
    np.testing.assert_allclose(rows[:, : s - 1], 0.0, atol=1e-14)
