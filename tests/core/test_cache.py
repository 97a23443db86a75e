"""The cache of a model: built once by any number of threads, bounded, left behind by pickling."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_all_start_methods, get_context
from threading import Barrier, Event, Thread

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset.core.cache import Cache
from diverset.errors import DiversetError, ImpossibleEventError
from kernels_for_tests import wishart

L = wishart(60, 80, 0) / 60
F = np.random.default_rng(0).standard_normal((60, 8))
SKEW = np.triu(np.random.default_rng(1).standard_normal((60, 60)), 1)


class Counted:
    """A set-up of so many bytes."""

    def __init__(self, nbytes):
        self.nbytes = nbytes


def test_the_least_recently_used_go_first():
    cache = Cache(limit=100)
    built = []

    def get(key, nbytes=40):
        return cache.recent(key, lambda: built.append(key) or Counted(nbytes))

    a = get("a")
    get("b")
    assert get("a") is a  # now b is the older one
    get("c")
    assert cache.nbytes == 80
    assert get("a") is a
    get("b")
    assert built == ["a", "b", "c", "b"]
    # One alone stays, however large.
    large = get("large", 1_000)
    assert len(cache) == 1
    assert get("large", 1_000) is large


def test_what_is_kept_is_not_counted():
    cache = Cache(limit=10)
    assert cache.keep("factor", lambda: 5) == 5
    cache.recent("x", lambda: Counted(20))
    cache.recent("y", lambda: Counted(20))
    assert cache.keep("factor", lambda: 6) == 5
    assert "factor" in cache


def test_a_failed_builder_leaves_nothing():
    cache = Cache()
    with pytest.raises(ZeroDivisionError):
        cache.keep("x", lambda: 1 // 0)
    assert cache.keep("x", lambda: 2) == 2


def count_calls(monkeypatch, *names):
    calls = []
    for name in names:
        original = getattr(np.linalg, name)
        monkeypatch.setattr(np.linalg, name, lambda *a, name=name, f=original, **k: calls.append(name) or f(*a, **k))
    return calls


@pytest.mark.parametrize("n_threads", [1, 8])
def test_threads_factorise_and_set_up_once(monkeypatch, n_threads):
    from diverset.sampling.rejection import Proposals

    calls = count_calls(monkeypatch, "eigh", "eigvalsh")
    tables, of = [], Proposals.of
    monkeypatch.setattr(Proposals, "of", lambda representation: tables.append(1) or of(representation))
    dpp, barrier = dv.DPP(L), Barrier(n_threads)

    def work(seed):
        barrier.wait()
        return dpp.of_size(5).sample(20, rng=seed, method="rejection")

    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(work, range(n_threads)))
    assert calls == ["eigh"]
    assert len(tables) == 1


@pytest.mark.parametrize(
    "task",
    [
        lambda dpp: dpp.of_size(10).sample(5, rng=0),
        lambda dpp: dpp.of_size(10).inclusion_probabilities,
        lambda dpp: dpp.sample(1_000, rng=0, method="rejection"),
        lambda dpp: dpp.sample(3, rng=0, method="spectral"),
        lambda dpp: dv.SizedDPP(dpp, [0.0, 0.5, 0.5]).sample(50, rng=0),
        lambda dpp: (dpp.rank, dpp.of_size(10).sample(5, rng=0)),
        lambda dpp: (dpp.expected_size, dpp.eigenvalues, dpp.of_size(10).log_prob(range(10))),
        lambda dpp: (dpp.of_size(57).sample(20, rng=0), dpp.of_size(3).sample(20, rng=0), dpp.rank),
    ],
)
@pytest.mark.parametrize("make", [lambda: dv.DPP(L), lambda: dv.DPP.from_marginal(dv.DPP(L).K)])
def test_one_factorisation_serves_all(monkeypatch, make, task):
    dpp = make()
    calls = count_calls(monkeypatch, "eigh", "eigvalsh")
    task(dpp)
    assert calls == ["eigh"]


def test_conditioning_a_k_dpp_factorises_the_rest_once(monkeypatch):
    kdpp = dv.DPP(L).of_size(10)
    calls = count_calls(monkeypatch, "eigh", "eigvalsh")
    given = kdpp.condition(include=[3, 4], exclude=[7])
    assert calls == ["eigh"]
    assert given.k == 8
    given.sample(5, rng=0)
    assert calls == ["eigh"]
    with pytest.raises(ImpossibleEventError, match="probability is 0 in sets of 2"):
        dv.DPP(L).of_size(2).condition(include=[0, 1, 2])


FORKED = Cache()


def _use_in_a_child(_):
    return (
        FORKED.keep("known", lambda: 0),
        FORKED.keep("new", lambda: 2),
        FORKED.recent("set-up", lambda: Counted(8)).nbytes,
    )


@pytest.mark.skipif("fork" not in get_all_start_methods(), reason="processes are not forked on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_while_a_thread_builds_is_not_locked_out():
    FORKED.keep("known", lambda: 1)
    FORKED.recent("old", lambda: Counted(5))
    building, done = Event(), Event()

    def build():
        building.set()
        done.wait(60)
        return 3

    thread = Thread(target=lambda: FORKED.keep("slow", build))
    thread.start()
    try:
        assert building.wait(60)
        with get_context("fork").Pool(2) as pool:
            assert pool.map_async(_use_in_a_child, range(4)).get(timeout=30) == [(1, 2, 8)] * 4
    finally:
        done.set()
        thread.join()
    # Here the thread went on, under the lock it held.
    assert FORKED.keep("slow", lambda: 4) == 3
    assert "new" not in FORKED


def test_a_model_of_many_sizes_keeps_a_bounded_set_up():
    dpp = dv.DPP(wishart(300, 320, 0) / 300)
    sizes = np.zeros(301)
    sizes[40:260] = 1 / 220
    model = dv.SizedDPP(dpp, sizes)
    cache = dpp._representation._cache
    cache.limit = 1 << 20
    first = [draw.tolist() for draw in model.sample(600, rng=0)]
    assert 0 < cache.nbytes <= cache.limit
    assert [draw.tolist() for draw in model.sample(600, rng=0)] == first


# pickling ----------------------------------------------------------------------------------------------------------


def graph():
    rng = np.random.default_rng(2)
    g = dv.FactorGraph([3, 3])
    for r in range(2):
        g.add_factor([r], quality=rng.random(3) + 0.1, features=rng.standard_normal((3, 4)))
    g.add_factor([0, 1], quality=rng.random((3, 3)))
    return g


MODELS = {
    "dense": lambda: dv.DPP(L),
    "marginal": lambda: dv.DPP.from_marginal(dv.DPP(L).K),
    "features": lambda: dv.DPP.from_features(F, np.linspace(0.5, 2.0, 60)),
    "far apart": lambda: dv.DPP.from_features(F * 10.0 ** -np.arange(8)),
    "sparse": lambda: dv.DPP.from_features(scipy.sparse.random(60, 8, 0.3, random_state=0, format="csr")),
    "spectrum": lambda: dv.DPP.from_spectrum([1.0, 2.0, np.inf], np.linalg.qr(F[:, :3])[0]),
    "complement": lambda: dv.DPP.from_features(F).complement(),
    "conditioned": lambda: dv.DPP(L).condition(include=[1], exclude=[2]),
    "rescaled": lambda: dv.DPP(L).rescale(5.0),
    "thinned": lambda: dv.DPP(L).thin(0.5),
    "k-DPP": lambda: dv.DPP(L).of_size(5),
    "sized": lambda: dv.SizedDPP(dv.DPP(L), [0.0, 0.5, 0.5]),
    "mixture": lambda: dv.KDPPMixture([dv.DPP(L).of_size(4), dv.DPP.from_features(F).of_size(4)], [0.3, 0.7]),
    "nonsymmetric": lambda: dv.NonsymmetricDPP(L + SKEW - SKEW.T),
    "nonsymmetric marginal": lambda: dv.NonsymmetricDPP(L + SKEW - SKEW.T).condition(include=[0]),
    "structured": lambda: dv.StructuredDPP(graph()),
    "k structures": lambda: dv.StructuredDPP(graph()).of_size(2),
}
METHODS = ("auto", "sequential", "rejection", "spectral", "dual", "complement", "truncated", "mcmc")


def ask_everything(model):
    """Draws by every method that serves, and every question that takes no argument."""
    for method in METHODS:
        try:
            model.sample(2, rng=0, method=method)
        except DiversetError:
            assert method not in ("auto",)
    for name in dir(type(model)):
        if not name.startswith("_") and isinstance(getattr(type(model), name, None), property):
            try:
                getattr(model, name)
            except DiversetError:
                assert name == "L"
    if isinstance(model, dv.core.SetDistribution):
        model.log_prob([model.items[:4], model.items[3:5]])
        model.marginal(model.items[:2])
        model.pair_probabilities()


def arrays_of(value, seen=None):
    seen = {} if seen is None else seen
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from arrays_of(part, seen)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from arrays_of(part, seen)
    elif hasattr(value, "__dict__"):
        yield from arrays_of(vars(value), seen)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_pickled_without_its_cache_and_comes_back_read_only(name):
    model = MODELS[name]()
    bytes_of_a_fresh_one = len(pickle.dumps(MODELS[name]()))
    ask_everything(model)
    pickled = pickle.dumps(model)
    assert len(pickled) <= bytes_of_a_fresh_one + 64
    back = pickle.loads(pickled)
    held = list(arrays_of(back))
    assert held
    assert not any(array.flags.writeable for array in held)
    assert [d.tolist() for d in back.sample(30, rng=1)] == [d.tolist() for d in model.sample(30, rng=1)]
    ask_everything(back)
    assert [d.tolist() for d in copy.deepcopy(model).sample(3, rng=2)] == [d.tolist() for d in model.sample(3, rng=2)]
