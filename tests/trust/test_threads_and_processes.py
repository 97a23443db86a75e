"""One model for many threads or processes gives what it gives to one, and so do any number of jobs."""

import contextlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError

N_THREADS = 16
ROWS = np.random.default_rng(0).standard_normal((60, 8))
SKEW = np.triu(np.random.default_rng(1).standard_normal((60, 60)), 1)


def dense():
    return dv.DPP(ROWS @ ROWS.T + 0.1 * np.eye(len(ROWS)))


def marginal():
    return dv.DPP.from_marginal(np.array(dense().K))


MODELS = {
    "dense": dense,
    "marginal": marginal,
    "features": lambda: dv.DPP.from_features(ROWS),
    "k-DPP": lambda: dense().of_size(5),
    "k-DPP of features": lambda: dv.DPP.from_features(ROWS).of_size(5),
    "sized": lambda: dv.SizedDPP(dense(), np.full(6, 1 / 6)),
    "mixture": lambda: dv.KDPPMixture([dense().of_size(4), dv.DPP.from_features(ROWS).of_size(4)], [0.3, 0.7]),
    "nonsymmetric": lambda: dv.NonsymmetricDPP(ROWS @ ROWS.T + SKEW - SKEW.T + np.eye(len(ROWS))),
}


def work(model, rng):
    """Draws and questions, each of which prepares and keeps something in the model the first time."""
    sets = model.sample(3, rng=rng)
    return [list(s) for s in sets] + [model.log_prob(sets[0])] + model.inclusion_probabilities.tolist()


@pytest.mark.parametrize("name", MODELS)
def test_threads_share_a_fresh_model(name):
    rngs = np.random.default_rng(1).spawn(N_THREADS)
    serial = [work(MODELS[name](), rng) for rng in rngs]
    for _ in range(3):  # races do not show every time
        model = MODELS[name]()
        with ThreadPoolExecutor(N_THREADS) as pool:
            together = list(pool.map(work, [model] * N_THREADS, np.random.default_rng(1).spawn(N_THREADS)))
        assert together == serial


def test_processes_share_a_model():
    rngs = np.random.default_rng(1).spawn(4)
    serial = [work(dense(), rng) for rng in rngs]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        together = list(pool.map(work, [dense()] * 4, np.random.default_rng(1).spawn(4)))
    assert together == serial


def used(name):
    """A model that has been asked and drawn from in every way, so that its cache is full."""
    model = MODELS[name]()
    for method in ("auto", "sequential", "rejection", "spectral", "dual", "complement", "truncated", "mcmc"):
        with contextlib.suppress(DiversetError):
            model.sample(2, rng=0, method=method)
    model.log_prob([[0, 1], [2]])
    model.pair_probabilities()
    model.condition(include=[0])
    return model


def test_processes_share_models_that_were_used():
    rngs = np.random.default_rng(1).spawn(len(MODELS))
    serial = [work(MODELS[name](), rng) for name, rng in zip(MODELS, rngs, strict=True)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        models = [used(name) for name in MODELS]
        together = list(pool.map(work, models, np.random.default_rng(1).spawn(len(MODELS))))
    assert together == serial


@pytest.mark.parametrize("name", MODELS)
def test_threads_draw_one_by_one_from_one_generator(name):
    # Which thread gets which draw is open; that every draw is whole is not.
    model, rng = MODELS[name](), np.random.default_rng(2)
    with ThreadPoolExecutor(N_THREADS) as pool:
        draws = list(pool.map(lambda _: model.sample(rng=rng), range(4 * N_THREADS)))
    assert all(np.isfinite(model.log_prob(draw)) for draw in draws)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_draws(name):
    model = MODELS[name]()
    first = [list(s) for s in model.sample(20, rng=3)]
    assert [list(s) for s in model.sample(20, rng=3)] == first
    assert [list(s) for s in MODELS[name]().sample(20, rng=3)] == first


@pytest.mark.parametrize("n_jobs", [2, 3, 16])
@pytest.mark.parametrize("name", MODELS)
def test_any_number_of_jobs_gives_the_same_draws(name, n_jobs):
    serial = MODELS[name]().sample(150, rng=5)
    assert [list(s) for s in MODELS[name]().sample(150, rng=5, n_jobs=n_jobs)] == [list(s) for s in serial]


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_any_number_of_jobs_learns_the_same_weights(n_jobs):
    rng = np.random.default_rng(2)
    instances = [
        dv.learn.Instance(rng.standard_normal((9, 2)), diversity=rng.standard_normal((9, 4))) for _ in range(8)
    ]
    sets = [[0, 1], [2], [3, 4], [1, 5], [6], [2, 7], [0, 8], [4]]
    serial = dv.learn.QualityModel(n_jobs=1).fit(instances, sets).coef_
    assert np.array_equal(dv.learn.QualityModel(n_jobs=n_jobs).fit(instances, sets).coef_, serial)


def test_threads_select_at_once():
    X = np.random.default_rng(3).standard_normal((500, 16))
    alone = dv.select(X, 20).indices.tolist()
    with ThreadPoolExecutor(N_THREADS) as pool:
        found = list(pool.map(lambda _: dv.select(X, 20).indices.tolist(), range(2 * N_THREADS)))
    assert all(picks == alone for picks in found)
