"""Every public function on adversarial input: an answer that holds, or a documented error; never anything else."""

import dataclasses
import inspect
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import diverset as dv
from diverset.errors import DiversetWarning
from trust.adversarial import DOCUMENTED, changed_arguments, kernels, matrices, subsets, vectors
from trust.calls import CALLS, EXCEPTIONS, WITHIN

#: Inputs a function; raised by DIVERSET_FUZZ for a long run.
TRIES = int(os.environ.get("DIVERSET_FUZZ", "25"))
fuzz = settings(max_examples=TRIES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def guarded(call):
    """The answer, or None for a documented error with something to say. Inputs that overflow may warn nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DiversetWarning)  # given once a process, whichever call comes first
        try:
            return call()
        except DOCUMENTED as error:
            said = str(error)
    assert said.strip()
    return None


def is_probability(p):
    return bool(np.all(np.isfinite(p)) and np.all(p >= -1e-9) and np.all(p <= 1 + 1e-9))


@fuzz
@given(kernels(), subsets, subsets)
def test_dpp(L, some, others):
    dpp = guarded(lambda: dv.DPP(L))
    if dpp is None:
        return
    for ask in (
        lambda: dpp.log_normalizer,
        lambda: dpp.expected_size,
        lambda: dpp.size_variance,
        lambda: dpp.log_prob(some),
        lambda: dpp.of_size(1).log_normalizer,
        lambda: dpp.complement().expected_size,
        lambda: dpp.thin(0.5).expected_size,
        lambda: dpp.rescale(0.5).expected_size,
        lambda: dpp.condition(include=some, exclude=others).expected_size,
        lambda: dpp.restrict(some).log_normalizer,
        lambda: dv.core.entropy(dpp, rng=0),
    ):
        value = guarded(ask)
        assert value is None or not np.isnan(value if np.isscalar(value) else getattr(value, "value", 0.0))
    for ask in (
        lambda: dpp.marginal(some),
        lambda: dpp.probability(include=some, exclude=others),
        lambda: dpp.inclusion_probabilities,
        lambda: dpp.size_distribution,
    ):
        value = guarded(ask)
        assert value is None or is_probability(value)
    drawn = guarded(lambda: dpp.sample(3, rng=0))
    assert drawn is None or all(set(s.tolist()) <= set(dpp.items.tolist()) for s in drawn)


@fuzz
@given(kernels(), subsets)
def test_marginal_kernel(K, some):
    dpp = guarded(lambda: dv.DPP.from_marginal(K))
    if dpp is None:
        return
    assert is_probability(dpp.inclusion_probabilities)
    value = guarded(lambda: dpp.marginal(some))
    assert value is None or is_probability(value)
    assert len(guarded(lambda: dpp.sample(2, rng=0)) or [0, 0]) == 2


@fuzz
@given(matrices(), st.data())
def test_features(X, data):
    quality = data.draw(st.one_of(st.none(), vectors(n=len(X))))
    dpp = guarded(lambda: dv.DPP.from_features(X, quality=quality))
    if dpp is None:
        return
    p = guarded(lambda: dpp.inclusion_probabilities)
    assert p is None or is_probability(p)
    kdpp = guarded(lambda: dpp.of_size(2))
    if kdpp is not None:
        p = guarded(lambda: kdpp.inclusion_probabilities)
        assert p is None or (is_probability(p) and abs(p.sum() - 2) < 1e-6)
        drawn = guarded(lambda: kdpp.sample(2, rng=0))
        assert drawn is None or all(len(set(s.tolist())) == 2 for s in drawn)


@fuzz
@given(matrices(), st.data())
def test_select(X, data):
    n = len(X)
    quality = data.draw(st.one_of(st.none(), vectors(n=n)))
    similarity = data.draw(st.sampled_from(["cosine", "dot", "rbf", "precomputed", "nonsense"]))
    method = data.draw(st.sampled_from(["greedy", "greedy", "local-search", "exact", "sample"]))
    k = data.draw(st.sampled_from([0, 1, 2, 3, 50, -1, 2.5]))
    dial = data.draw(st.sampled_from([0.0, 0.3, 1.0, -1.0, np.nan]))
    given_ = data.draw(st.one_of(st.none(), subsets))
    picks = guarded(
        lambda: dv.select(
            X, k, quality=quality, similarity=similarity, method=method, diversity=dial, given=given_, rng=0
        )
    )
    if picks is None:
        return
    shown = set() if given_ is None else set(given_)
    assert len(set(picks.indices.tolist())) == len(picks)
    assert not shown & set(picks.indices.tolist())
    if method != "sample":
        assert len(picks) == min(k, n - len(shown))
    assert not np.isnan(picks.gains).any()


MAPS = [
    dv.map_greedy,
    dv.map_local_search,
    dv.map_exact,
    dv.inference.map_double_greedy,
    dv.inference.map_nonmonotone,
    dv.inference.map_relaxed,
]


@pytest.mark.parametrize("method", MAPS, ids=lambda f: f.__name__)
@fuzz
@given(L=kernels())
def test_map(method, L):
    dpp = guarded(lambda: dv.DPP(L))
    if dpp is None:
        return
    seeded = {"rng": 0} if "rng" in inspect.signature(method).parameters else {}
    found = guarded(lambda: method(dpp, **seeded))
    if found is not None:
        assert set(found.indices.tolist()) <= set(dpp.items.tolist())
        assert not np.isnan(found.objective)
        assert found.upper_bound is None or found.upper_bound >= found.objective - 1e-6 * (1 + abs(found.objective))


BASELINES = [getattr(dv.baselines, name) for name in dv.baselines.__all__]


@pytest.mark.parametrize("method", BASELINES, ids=lambda f: f.__name__)
@fuzz
@given(X=matrices(), data=st.data())
def test_baselines(method, X, data):
    quality = data.draw(vectors(n=len(X)))
    k = data.draw(st.integers(0, 4))
    picks = guarded(lambda: method(X, k, quality=quality))
    if picks is not None:
        assert len(set(picks.indices.tolist())) == len(picks) == min(k, int((quality > -np.inf).sum()))


METRICS = [
    dv.metrics.log_volume,
    dv.metrics.mean_pairwise_similarity,
    dv.metrics.intra_list_diversity,
    dv.metrics.vendi_score,
]


@pytest.mark.parametrize("metric", METRICS, ids=lambda f: f.__name__)
@fuzz
@given(X=matrices())
def test_metrics(metric, X):
    value = guarded(lambda: metric(X))
    assert value is None or not np.isnan(value)


KERNELS = ["cosine", "dot", "rbf", "matern", "polynomial", "normalize_rows", "nearest_psd", "median_heuristic"]


@pytest.mark.parametrize("name", KERNELS)
@fuzz
@given(X=matrices())
def test_kernels(name, X):
    value = guarded(lambda: getattr(dv.kernels, name)(X))
    assert value is None or not np.isnan(np.asarray(value)).any()


baskets = st.lists(st.lists(st.integers(-1, 6), max_size=4), max_size=5)


@pytest.mark.parametrize(
    "name", ["FullRankKernel", "LowRankKernel", "NonsymmetricKernel", "IndependentItems", "PoissonItems"]
)
@fuzz
@given(baskets=baskets, n_items=st.integers(-1, 6))
def test_learners(name, baskets, n_items):
    kind = getattr(dv.learn, name)
    short = {key: 3 for key in ("max_iter", "n_epochs", "rank") if key in inspect.signature(kind).parameters}
    model = guarded(lambda: kind(**short).fit(baskets, n_items=n_items))
    if model is not None:
        value = guarded(lambda: model.score(baskets))
        assert value is None or not np.isnan(value)


@fuzz
@given(matrices(), kernels(), subsets)
def test_quality_model(F, S, observed):
    model = guarded(lambda: dv.learn.QualityModel(max_iter=5).fit([dv.learn.Instance(F, similarity=S)], [observed]))
    assert model is None or np.isfinite(model.coef_).all()


@fuzz
@given(matrices(rows=st.just(3), columns=st.just(3)), matrices(rows=st.just(3)), st.data())
def test_structured(Q, F, data):
    def build():
        graph = dv.FactorGraph([3, 3])
        graph.add_factor([0], features=F)
        graph.add_factor([1], quality=data.draw(vectors(n=3)))
        graph.add_factor([0, 1], quality=Q)
        return dv.StructuredDPP(graph)

    model = guarded(build)
    if model is None:
        return
    value = guarded(lambda: model.log_normalizer)
    assert value is None or not np.isnan(value)
    guarded(lambda: model.sample(rng=0))


@fuzz
@given(
    matrices(rows=st.integers(0, 5), columns=st.integers(0, 5)),
    matrices(rows=st.integers(0, 5)),
    st.sampled_from([(0, 0.0), (2, 0.5), (1, 1.0)]),
)
def test_threads(edges, features, shape):
    def build():
        graph = dv.threads.ThreadGraph(edges, features=features)
        smoothing, balance = shape
        return dv.threads.ThreadModel(
            graph, length=2, k=1, projection=None, smoothing=smoothing, balance=balance, rng=0
        )

    model = guarded(build)
    if model is not None:
        p = guarded(model.node_marginals)
        assert p is None or not np.isnan(p).any()
        guarded(lambda: model.sample(rng=0))


texts = st.lists(
    st.one_of(st.text(max_size=60), st.sampled_from(["", " ", ".", "\u200b", "A. B. C.", "日本語。はい。"])), max_size=4
)


@fuzz
@given(texts, st.sampled_from([0, 1, 10, 10**9]), st.sampled_from(["coverage", "greedy", "sample", "mbr"]))
def test_summaries(documents, limit, method):
    summary = guarded(lambda: dv.summarize(documents, max_bytes=limit, method=method, n_draws=50, rng=0))
    assert summary is None or len(summary.text.encode("utf-8", "surrogatepass")) <= limit


@fuzz
@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=3))
def test_rouge(summary, references):
    scores = guarded(lambda: dv.text.rouge(summary, references))
    for score in (scores or {}).values():
        assert is_probability(np.array([score.precision, score.recall, score.f]))


@pytest.mark.parametrize("name", ["permanent", "discrepancy", "star_discrepancy", "ripley_k", "nearest_neighbour_g"])
@fuzz
@given(X=matrices(rows=st.integers(0, 4), columns=st.integers(0, 4)))
def test_processes(name, X):
    guarded(lambda: getattr(dv.theory.processes, name)(X))


@fuzz
@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), max_size=8))
def test_spanning_trees(edges):
    trees = guarded(lambda: dv.theory.classics.SpanningTrees(edges))
    if trees is not None:
        assert is_probability(trees.dpp.inclusion_probabilities)
        assert len(trees.sample(rng=0)) == len(trees.sample(rng=1))


# every public name -------------------------------------------------------------------------------------------------

INDEX = Path(__file__).parents[2] / "docs" / "api" / "index.rst"


def public_names():
    """Names in the reference, with their modules."""
    module, listed = "", False
    for line in INDEX.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        if line and not line.startswith(" "):
            listed = line.startswith(".. autosummary::")
        elif listed and re.fullmatch(r"[\w.]+", line.strip()):
            yield f"{module}.{line.strip()}"


@pytest.mark.skipif(not INDEX.exists(), reason="the documentation is not here")
def test_every_public_name_is_fuzzed():
    names = [name for name in public_names() if not name.startswith("diverset.plots.")]
    assert len(names) > 250
    assert [name for name in names if name not in CALLS and name not in WITHIN and name not in EXCEPTIONS] == []
    assert set(WITHIN.values()) <= set(CALLS)
    assert [name for name in (*WITHIN, *EXCEPTIONS) if name not in names] == []
    assert [name for name in (*WITHIN, *EXCEPTIONS) if name in CALLS] == []


def numbers_in(answer, depth=0):
    """All arrays of floats in what a function returned, records and lists unpacked."""
    if isinstance(answer, float | complex | np.number):
        yield np.asarray(answer)
    elif isinstance(answer, np.ndarray):
        if answer.dtype.kind in "fc":
            yield answer
    elif hasattr(answer, "tocsr"):
        yield answer.data
    elif depth < 5:
        if isinstance(answer, dict):
            answer = list(answer.values())
        elif dataclasses.is_dataclass(answer):
            answer = [getattr(answer, f.name) for f in dataclasses.fields(answer)]
        if isinstance(answer, list | tuple):
            for part in answer:
                yield from numbers_in(part, depth + 1)


@pytest.mark.parametrize("name", CALLS)
@settings(fuzz, max_examples=max(TRIES // 5, 4))
@given(data=st.data())
def test_every_call_answers_or_says_what_is_wrong(name, data):
    call = CALLS[name]
    arguments = data.draw(changed_arguments(call.arguments))
    answer = guarded(lambda: call.function(**arguments, **call.kept))
    assert call.may_be_nan or not any(np.isnan(found).any() for found in numbers_in(answer))
