"""Draws are a function of the generator's state: restored, jumped, advanced, whatever the number of jobs."""

import numpy as np
import pytest

import diverset as dv
from diverset.theory.processes import FiniteGibbs, birth_death_chain
from kernels_for_tests import wishart

F = np.random.default_rng(0).standard_normal((40, 6))
DENSE = dv.DPP(wishart(30, 40, 0) / 30)
SKEW = np.triu(np.random.default_rng(1).standard_normal((30, 30)), 1)


def graph():
    rng = np.random.default_rng(2)
    g = dv.FactorGraph([3, 3, 3])
    for r in range(3):
        g.add_factor([r], quality=rng.random(3) + 0.1, features=rng.standard_normal((3, 4)))
    for r in range(2):
        g.add_factor([r, r + 1], quality=rng.random((3, 3)))
    return g


def blocks():
    da = pytest.importorskip("dask.array")
    return dv.DPP.from_features(da.from_array(F, chunks=(10, 6)))


MODELS = {
    "DPP": lambda: DENSE,
    "marginal": lambda: dv.DPP.from_marginal(DENSE.K),
    "features": lambda: dv.DPP.from_features(F),
    "k-DPP": lambda: DENSE.of_size(4),
    "nearly all": lambda: DENSE.of_size(28),
    "sized": lambda: dv.SizedDPP(DENSE, [0.0, 0.2, 0.3, 0.5]),
    "mixture": lambda: dv.KDPPMixture([DENSE.of_size(3), DENSE], [0.4, 0.6]),
    "nonsymmetric": lambda: dv.NonsymmetricDPP(DENSE.L + SKEW - SKEW.T),
    "structured": lambda: dv.StructuredDPP(graph()),
    "k structures": lambda: dv.StructuredDPP(graph()).of_size(2),
    "dask": blocks,
}
METHODS = ["sequential", "rejection", "spectral", "complement", "truncated", "mcmc"]


def as_lists(draws):
    return [draw.tolist() for draw in draws]


def check(draw):
    """``draw(rng)`` depends on the state of its generator, and on nothing else."""
    rng = np.random.default_rng(3)
    rng.random(5)
    state = rng.bit_generator.state
    first = draw(rng)
    assert draw(rng) != first  # the stream has moved on
    rng.bit_generator.state = state
    assert draw(rng) == first
    # Another object with the same state, which never had a seed sequence of its own.
    other = np.random.Generator(np.random.PCG64())
    other.bit_generator.state = state
    assert draw(other) == first
    advanced = np.random.PCG64()
    advanced.state = state
    # Far enough that a walk which takes one number less does not fall into step again.
    assert draw(np.random.Generator(advanced.advance(1_001))) != first
    jumped = [draw(np.random.Generator(np.random.PCG64(0).jumped())) for _ in range(2)]
    assert jumped[0] == jumped[1] != draw(np.random.Generator(np.random.PCG64(0)))


@pytest.mark.parametrize("name", MODELS)
def test_batches_follow_the_state(name):
    model = MODELS[name]()
    check(lambda rng: as_lists(model.sample(100, rng=rng)))


@pytest.mark.parametrize("method", METHODS)
def test_batches_of_every_method_follow_the_state(method):
    check(lambda rng: as_lists(DENSE.sample(20 if method == "mcmc" else 150, rng=rng, method=method)))


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_of_one_is_a_single_draw(name):
    model = MODELS[name]()
    for seed in range(10):
        assert model.sample(1, rng=seed)[0].tolist() == model.sample(rng=seed).tolist()


@pytest.mark.parametrize("method", METHODS)
def test_a_batch_of_one_is_a_single_draw_by_every_method(method):
    for seed in range(3):
        one = DENSE.sample(rng=seed, method=method)
        assert DENSE.sample(1, rng=seed, method=method)[0].tolist() == one.tolist()


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("structured", "k structures")])
def test_jobs_and_streams_follow_the_state(name):
    model = MODELS[name]()
    rng = np.random.default_rng(4)
    rng.random(3)
    state = rng.bit_generator.state
    for size in (1, 10, 2_000):
        found = []
        for n_jobs in (1, 2, 5):
            rng.bit_generator.state = state
            found.append(as_lists(model.sample(size, rng=rng, n_jobs=n_jobs)))
        rng.bit_generator.state = state
        found.append(as_lists(model.stream(size, rng=rng)))
        assert all(draws == found[0] for draws in found)


class Unspawnable(np.random.MT19937):
    """A bit generator without a seed sequence."""

    seed_seq = None


@pytest.mark.parametrize("name", MODELS)
def test_generators_that_cannot_spawn(name):
    model = MODELS[name]()
    draws = [as_lists(model.sample(1_100, rng=np.random.Generator(Unspawnable(5)))) for _ in range(2)]
    assert draws[0] == draws[1]


@pytest.mark.parametrize("n_chains", [1, 3])
def test_chains_follow_the_state(n_chains):
    check(lambda rng: as_lists(dv.sampling.mcmc_chain(DENSE, size=60, n_chains=n_chains, rng=rng).sets))
    unspawnable = np.random.Generator(Unspawnable(5))
    assert len(dv.sampling.mcmc_chain(DENSE, size=5, n_chains=n_chains, rng=unspawnable).sets) == 5 * n_chains


@pytest.mark.parametrize("n_chains", [1, 3])
def test_chains_of_points_follow_the_state(n_chains):
    target = FiniteGibbs.pairwise([0.5, 2.0, 1.0, 0.7], np.full((4, 4), 0.5) + 0.5 * np.eye(4))
    check(
        lambda rng: as_lists(birth_death_chain(target, size=20, burn_in=50, thin=10, n_chains=n_chains, rng=rng).sets)
    )


def test_children_are_independent_of_each_other():
    # Chunks with equal generators would repeat each other's draws.
    draws = as_lists(DENSE.sample(130, rng=0, method="spectral"))
    assert draws[:60] != draws[64:124]
