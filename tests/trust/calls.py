"""A good call of every public name, whose arguments the fuzzer then changes; what is left out, and why."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset import (
    baselines,
    images,
    kernels,
    learn,
    metrics,
    poses,
    structured,
    text,
    threads,
)
from diverset.integrations import coreset, d_optimal_design, diverse_split, inducing_points, stores
from diverset.integrations.curation import drop_near_duplicates
from diverset.integrations.torch import DiverseBatchSampler
from diverset.theory import classics, mrf, open_questions, processes


@dataclass(frozen=True)
class Call:
    """A function, and arguments that it takes; `kept` are never changed."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    kept: dict[str, Any] = field(default_factory=dict)
    #: Whether NaN may be answered, as its documentation says.
    may_be_nan: bool = False


def call(function, /, _kept=None, *, _nan=False, **arguments):
    return Call(function, arguments, _kept or {}, _nan)


RNG = np.random.default_rng(0)
X = RNG.standard_normal((6, 3))
L = X @ X.T + 0.3 * np.eye(6)
K = L @ np.linalg.inv(L + np.eye(6))
Q = RNG.random(6) + 0.5
SKEW = np.triu(RNG.standard_normal((6, 6)), 1)
POINTS = RNG.random((7, 2))
BASKETS = [[0, 2], [1, 2], [0], [1], [2], [0, 2], [1, 3], []]
TEXTS = ["It rained all day. The river rose.", "Dogs bark at night. The river is high.", "Rain again. Dogs sleep."]
DATES = [datetime.date(2031, 1, day) for day in (1, 3, 4)]
PICTURE = RNG.integers(0, 255, (40, 48, 3), dtype=np.uint8)


@cache
def dpp():
    return dv.DPP(L)


@cache
def other():
    return dv.DPP.from_features(X)


def questions(model, Y, A, B, size=2):
    """What every distribution over sets is asked."""
    answers = [model.log_prob(Y), model.marginal(A), model.probability(include=A, exclude=B)]
    answers += [model.inclusion_probabilities, model.expected_size, model.size_distribution, model.pair_probabilities()]
    answers += [model.condition(include=A, exclude=B).expected_size, model.sample(size, rng=0)]
    return answers


SETS = {"Y": [0, 4], "A": [2], "B": [1, 5]}


def asked(make):
    """A model made of some arguments, and then asked."""

    def function(Y, A, B, size, **arguments):
        return questions(make(**arguments), Y, A, B, size)

    return function


def graph_of(n_values, quality, features, pairwise):
    graph = dv.FactorGraph(n_values)
    for r in range(3):
        graph.add_factor([r], quality=quality, features=features)
    graph.add_factors([[0, 1], [1, 2]], quality=pairwise)
    return graph


GRAPH = {"n_values": [3, 3, 3], "quality": RNG.random(3) + 0.2, "features": RNG.random((3, 2)),
         "pairwise": RNG.random((3, 3)) + 0.1}  # fmt: skip


@cache
def graph():
    return graph_of(**GRAPH)


@cache
def sdpp():
    return dv.StructuredDPP(graph())


def factor_graph(structures, dim, part, values, **arguments):
    made = graph_of(**arguments)
    return [made.log_quality(structures), made.features(structures), made.log_n_structures, made.is_forest,
            made.project(dim, rng=0).n_features, made.restrict({part: values}).log_n_structures]  # fmt: skip


def structured_questions(model, Y, A, y, z):
    answers = [model.log_normalizer, model.expected_size, model.log_prob(Y), model.marginal(A)]
    answers += [model.inclusion_probability(y), model.pair_probability(y, z), model.part_marginals()]
    return [*answers, model.size_distribution, model.sample(rng=0), model.condition(include=A).expected_size]


STRUCTURES = {"Y": [[0, 1, 2], [2, 1, 0]], "A": [[0, 0, 1]], "y": [1, 1, 1], "z": [0, 2, 1]}


def structured_dpp(expected, gamma, Y, A, y, z, **arguments):
    model = dv.StructuredDPP(graph_of(**arguments)).rescale(expected).scale_quality(gamma)
    return structured_questions(model, Y, A, y, z)


def quality_model(power, n, structures, **arguments):
    model = structured.QualityModel(graph_of(**arguments), power)
    return [model.log_normalizer, model.best(), model.n_best(n), model.log_prob(structures), model.part_marginals(),
            model.sample(2, rng=0)]  # fmt: skip


def separable(a, b, by):
    return structured.Separable([a, b], by=by).shape


def kernel_function(X, quality, rows, columns):
    made = dv.sampling.KernelFunction(X, kernels.rbf, quality)
    return [made.block(rows, columns), made.diagonal()]


def intermediate(X, k, size):
    kernel = dv.sampling.KernelFunction(X, _linear)
    return dv.sampling.IntermediateSampler(kernel, k).draw_many(size, np.random.default_rng(0))


def _linear(A, B):
    with np.errstate(all="ignore"):
        return A @ B.T


def box(sides, torus, points, per_side, n):
    made = processes.Box(tuple(sides), torus)
    inside = made.as_points(points)
    return [made.volume, made.distances(inside[0], inside), made.grid(per_side), made.uniform(n, rng=0)]


UNIT = processes.Box((1.0, 1.0))
TORUS = processes.Box((1.0, 1.0), torus=True)
R = np.array([0.1, 0.2, 0.3])


def continuous(modes, eigenvalues, x, steps, lower, upper):
    model = processes.ContinuousDPP(UNIT, modes, eigenvalues)
    return [model.intensity, model.size_distribution, model.log_density(x), model.pair_correlation(steps),
            model.region_eigenvalues(lower, upper), model.kernel(x, x), model.sample(rng=0)]  # fmt: skip


def families(intensity, scale, n_points):
    made = [processes.ContinuousDPP.gaussian(UNIT, intensity=intensity, scale=scale),
            processes.ContinuousDPP.cauchy(TORUS, intensity=intensity, scale=scale),
            processes.ContinuousDPP.projection(TORUS, n_points)]  # fmt: skip
    return [model.sample(rng=0) for model in made]


def gibbs(interaction, activity, points, u, size):
    model = processes.GibbsProcess(TORUS, activity, interaction)
    return [model.log_weight(points), model.papangelou(u, points), model.sample(size, rng=0)]


def pair(kind):
    def function(r, activity, points, u, size, **parameters):
        made = kind(**parameters)
        return [made.reach, made.psi(r), *gibbs(made, activity, points, u, size)]

    return function


GIBBS = {"activity": 5.0, "points": POINTS, "u": POINTS[0] / 2, "size": 1}


def area(gamma, radius, activity, points, u, size):
    return gibbs(processes.AreaInteraction(gamma, radius), activity, points, u, size)


def finite_gibbs(activity, interaction, Y):
    model = processes.FiniteGibbs.pairwise(activity, interaction)
    return [model.log_weight(Y), model.tabulate().law]


def tabulated(log_weights, **sets):
    return questions(processes.TabulatedProcess(log_weights), **sets)


def permanental_counts(K, alpha, counts):
    model = processes.AlphaPermanental(K, alpha)
    return [model.log_prob(counts), model.factorial_moment(counts), model.sample(2, rng=0)]


def classic(kind):
    def function(size, **arguments):
        made = kind(**arguments)
        return [made.sample(size, rng=0), made.dpp.inclusion_probabilities]

    return function


def projection_process(kind):
    def function(n_points, x, size):
        made = kind(n_points)
        return [made.intensity(x), made.kernel(x), made.log_density(x), made.sample(size, rng=0)]

    return function


def beta_ensemble(kind):
    def function(x, size, **arguments):
        made = kind(**arguments)
        return [made.log_normalizer, made.log_density(x), made.sample(size, rng=0)]

    return function


def multivariate_jacobi(n_points, parameters, x, size):
    made = classics.MultivariateJacobi(n_points, parameters)
    answers = [made.total_mass, made.intensity(x), made.kernel(x), made.log_density(x), made.sample(size, rng=0)]
    return [*answers, made.integral(lambda at: at[:, 0], rng=0)]


def pairwise_mrf(node_weights, edge_weights, Y, A, B, i, j, size):
    made = mrf.PairwiseMRF(node_weights, edge_weights)
    return [made.log_normalizer, made.log_prob(Y), made.probability(include=A, exclude=B), made.covariance(i, j),
            made.inclusion_probabilities, made.sample(size, rng=0)]  # fmt: skip


def fitted(kind, **parameters):
    """A learner of baskets, fitted and asked."""

    def function(baskets, n_items, basket, k, **arguments):
        model = kind(**parameters, **arguments).fit(baskets, n_items=n_items)
        return [model.score(baskets), model.next_item_scores(basket), model.recommend(basket, k)]

    return function


def compared(train, test, n, max_baskets):
    model = learn.IndependentItems().fit(BASKETS, n_items=5)
    return learn.compare_next_item(model, train, test, n=n, max_baskets=max_baskets).scores


LEARN = {"baskets": BASKETS, "n_items": 5, "basket": [0], "k": 2}


def quality_learner(make):
    def function(features, similarity, observed, coef, **parameters):
        one = learn.Instance(features, similarity=similarity)
        model = make(**parameters).fit([one, one, one, one], [observed, [1], [0], [2, 3]])
        log_prob = model.log_prob([one], [observed])
        answers = [model.coef_, log_prob, model.dpp(one).expected_size]
        return [*answers, model.set_coef(coef).quality(one)] if hasattr(model, "set_coef") else answers

    return function


QUALITY = {"features": X[:, :2], "similarity": kernels.cosine(X) + 0.2 * np.eye(6), "observed": [0, 3],
           "coef": np.array([0.5, -0.2])}  # fmt: skip


def mixture(make):
    def function(first, second, better, worse, **parameters):
        pairs = [learn.Comparison([first, second], better, worse)] * 4
        model = make(**parameters).fit(pairs)
        return [model.weights_, model.predict(pairs), model.score(pairs), model.table(pairs).take([0, 1]).n_experts]

    return function


EXPERTS = {"first": L, "second": K + np.eye(6), "better": [0, 2], "worse": [0, 1]}


def torch_dpp(L, k):
    torch = pytest.importorskip("torch")
    from diverset.learn.torch import DPPDistribution, KDPPDistribution

    value = torch.tensor([[True, False, True, False, False, False]])
    answers = [
        DPPDistribution(torch.as_tensor(L)).log_prob(value),
        KDPPDistribution(torch.as_tensor(L), k).log_prob(value),
    ]
    return [answer.detach().numpy() for answer in answers]


# threads ------------------------------------------------------------------------------------------------------------

EDGES = np.triu(RNG.random((6, 6)), 1)


@cache
def thread_model():
    return threads.ThreadModel(threads.ThreadGraph(EDGES, features=np.abs(X)), length=3, k=2, projection=None, rng=0)


def thread_graph(edges, features, weights, length):
    made = threads.ThreadGraph(edges, features=features, weights=weights)
    return [made.n_threads(length), made.longest, made.thread_counts(length)]


def thread_questions(edges, features, length, k, beta, projection, rho):
    made = threads.ThreadGraph(edges, features=features)
    model = threads.ThreadModel(made, length=length, k=k, beta=beta, projection=projection, rho=rho, rng=0)
    drawn = model.sample(rng=0)
    return [model.node_marginals(), model.log_prob(drawn.threads), model.best(n_starts=2).log_prob]


def corpus(texts, times, which, min_words):
    made = threads.Corpus(texts, times)
    return [len(made.take(which).texts), len(made.without_noise(min_words=min_words).texts)]


def document_graph(texts, times, threshold, min_documents, max_share, damping):
    made = threads.document_graph(
        threads.Corpus(texts, times), threshold=threshold, min_documents=min_documents, max_share=max_share,
        damping=damping,
    )  # fmt: skip
    return [made.graph.weights, made.words(np.array([0]), 2)]


NEWS = ["red dog xy rain", "blue cat yz rain", "red dog zx rain", "green cow xx rain"]
VECTORS = scipy.sparse.csr_matrix(np.abs(X) / np.linalg.norm(X, axis=1, keepdims=True))


# poses --------------------------------------------------------------------------------------------------------------

LIMBS = RNG.random((2, 4, 2, 2)) * 20


def skeleton(torso):
    return poses.Skeleton.upper_body(torso).lengths


def small_skeleton():
    spring = poses.Spring((0.0, 3.0), 2.0)
    return poses.Skeleton([poses.Part("body", 4.0, 2.0), poses.Part("arm", 3.0, 2.0, "body", spring)])


def pose_grid(rows, columns, n_orientations, step, values, positions, angles):
    made = poses.PoseGrid(rows, columns, n_orientations, step)
    return [made.positions(values), made.angles(values), made.nearest(positions, angles)]


GRID = poses.PoseGrid(4, 5, 4, 3.0)


def pose_model(first, second, beta, log_gamma, sigma, reference, k):
    model = poses.PoseModel([first, second], GRID, small_skeleton(), beta=beta, log_gamma=log_gamma, sigma=sigma,
                            reference=reference)  # fmt: skip
    drawn = model.sample(rng=0)
    return [model.dpp.expected_size, model.ends(drawn), model.sample_independent(k, rng=0),
            model.sample_suppressed(k, rng=0), model.scaled(log_gamma).dpp.expected_size]  # fmt: skip


def spring(offset, spread, angle, angle_spread, beta, reach):
    made = poses.Spring(tuple(offset), spread, angle, angle_spread)
    return poses.spring_factor(made, GRID, beta=beta, reach=reach).shape


def part(length, radius, torso):
    made = poses.Skeleton([poses.Part("a", length, radius)])
    return [made.lengths, made.radii, skeleton(torso)]


def simulate(poses_, spread, rate, width, errors):
    noise = poses.DetectorNoise(person_spread=spread, miss_rate=rate, width=width)
    return poses.simulate_maps(poses_, GRID, 0, errors=errors, noise=noise)


def detector(image):
    return poses.LimbDetector(small_skeleton()).responses(image, GRID)


def draw_scene(size, n_people, n_clutter, n_occluders):
    return poses.draw_scene(poses.Skeleton.upper_body(20.0), 0, size=tuple(size), n_people=n_people,
                            n_clutter=n_clutter, n_occluders=n_occluders).poses  # fmt: skip


# texts and images ---------------------------------------------------------------------------------------------------


def rival(make):
    def function(documents, max_words, max_bytes, **arguments):
        made = make(**arguments).fit([text.Cluster(TEXTS, ["Rain and dogs."])])
        return made.summarize(documents, max_words=max_words, max_bytes=max_bytes, rng=0).text

    return function


def oracle(documents, references, max_words):
    return text.Oracle().summarize(text.Cluster(documents, references), max_words=max_words).text


def summary(documents, max_words, method, n_draws, query, update_since):
    made = dv.summarize(
        documents, max_words, method=method, n_draws=n_draws, query=query, update_since=update_since, rng=0
    )
    return [made.text, made.quality, made.novelty, made.inclusion, made.explain(), made.sentences]


def summarizer(documents, references, late, prior_variance, max_words):
    clusters = [text.Cluster(documents, references)] * 2
    settings = {
        "training": "dpp",
        "late": late,
        "prior_variance": prior_variance,
        "max_words": max_words,
        "max_iter": 5,
    }
    return text.Summarizer(**settings).fit(clusters).summarize(documents, n_draws=20).text


def cluster(documents, references, names, most):
    made = text.Cluster(documents, references, names)
    return [made.sentences, made.words, made.position, made.document_of, made.restrict(most).sentences]


def budget(unit, limit, sentences, given):
    made = text.Budget(unit, limit)
    return [made.costs(sentences), made.lengths(sentences), made.allows(sentences), made.crop(given), made.room]


def counts_of(sets, sentences):
    counts = text.word_counts(sentences)
    return [text.pairwise_rouge(sets, counts), text.mean_rouge(sets, counts)]


def vocabulary(descriptors, size):
    made = images.learn_vocabulary([descriptors], size)
    return [made.histogram(descriptors), made.words(descriptors)]


DESCRIPTORS = RNG.integers(0, 255, (30, 128), dtype=np.uint8)


# blocks -------------------------------------------------------------------------------------------------------------


def in_blocks(function):
    """The same with features cut into blocks of rows, where they can be."""

    def on_blocks(features, **arguments):
        import dask
        import dask.array as da

        with dask.config.set(scheduler="synchronous"):
            if isinstance(features, np.ndarray) and features.ndim and len(features):
                features = da.from_array(features, chunks=(2, *features.shape[1:]))
            elif isinstance(features, np.ndarray):
                features = da.from_array(features)
            found = function(features, **arguments)
            return found.compute() if hasattr(found, "compute") else found

    return on_blocks


def dpp_in_blocks(features, quality, Y, size):
    model = dv.DPP.from_features(features, quality)
    lazy = model.inclusion_probabilities
    here = lazy.compute() if hasattr(lazy, "compute") else lazy
    drawn = model.of_size(1).sample(size, rng=0)
    return [model.log_normalizer, model.log_prob(Y), model.marginal(Y), here, drawn]


# the table ----------------------------------------------------------------------------------------------------------

_pick = {"features": X, "k": 3, "quality": Q, "diversity": 0.4, "similarity": "cosine", "given": [1], "exclude": [4]}
_judged = {"ranking": ["a", "c", "b"], "judgements": {"a": {1}, "b": {1, 2}, "c": {2}}, "k": 2}
_rival = {"documents": TEXTS, "max_words": 12, "max_bytes": None}

CALLS: dict[str, Call] = {
    "diverset.DPP": call(asked(dv.DPP), L=L, size=2, **SETS),
    "diverset.DPP.from_marginal": call(asked(dv.DPP.from_marginal), K=K, size=2, **SETS),
    "diverset.DPP.from_features": call(asked(dv.DPP.from_features), features=X, quality=Q, size=2, **SETS),
    "diverset.DPP.from_quality_diversity": call(
        asked(dv.DPP.from_quality_diversity), quality=Q, similarity=kernels.cosine(X), size=2, **SETS
    ),
    "diverset.DPP.from_spectrum": call(
        asked(dv.DPP.from_spectrum),
        eigenvalues=np.array([2.0, 0.5, 0.1]),
        eigenvectors=np.linalg.qr(X)[0],
        size=2,
        **SETS,
    ),
    "diverset.DPP in blocks": call(in_blocks(dpp_in_blocks), features=X, quality=Q, Y=[0, 4], size=2),
    "diverset.DPP.thin": call(lambda rate, size: dpp().thin(rate).rescale(size).expected_size, rate=0.3, size=1.5),
    "diverset.DPP.restrict": call(lambda A: dpp().restrict(A).log_normalizer, A=[0, 3]),
    "diverset.DPP.sample": call(
        lambda size, method, n_jobs: dpp().sample(size, rng=0, method=method, n_jobs=n_jobs),
        size=2,
        method="spectral",
        n_jobs=1,
    ),
    "diverset.KDPP": call(asked(dv.KDPP), L_or_dpp=L, k=2, size=2, **SETS),
    "diverset.SizedDPP": call(asked(lambda p: dv.SizedDPP(dpp(), p)), p=np.array([0.1, 0.2, 0.3, 0.4]), size=2, **SETS),
    "diverset.KDPPMixture": call(
        asked(lambda weights, k: dv.KDPPMixture([dpp().of_size(k), other().of_size(2)], weights)),
        weights=np.array([0.3, 0.7]),
        k=2,
        size=2,
        **SETS,
    ),
    "diverset.NonsymmetricDPP": call(asked(dv.NonsymmetricDPP), L=L + SKEW - SKEW.T, size=2, **SETS),
    "diverset.core.kronecker_dpp": call(
        asked(lambda first, second: dv.core.kronecker_dpp(first, second)),
        first=L[:2, :2],
        second=L[:3, :3],
        size=2,
        **SETS,
    ),
    "diverset.core.extended_dpp": call(asked(dv.core.extended_dpp), L=L, V=X[:, :1], size=2, **SETS),
    "diverset.FactorGraph": call(factor_graph, structures=[[0, 1, 2]], dim=1, part=1, values=[0, 2], **GRAPH),
    "diverset.StructuredDPP": call(structured_dpp, expected=1.2, gamma=0.3, **STRUCTURES, **GRAPH),
    "diverset.structured.StructuredKDPP": call(
        lambda k, **sets: structured_questions(sdpp().of_size(k), **sets), k=2, **STRUCTURES
    ),
    "diverset.law": call(lambda L: dv.law(dv.DPP(L)), L=L),
    "diverset.entropy": call(lambda n_samples: dv.entropy(dpp(), n_samples=n_samples, rng=0).value, n_samples=50),
    "diverset.total_variation": call(lambda L: dv.total_variation(dpp(), dv.DPP(L)), L=L),
    "diverset.core.hellinger": call(lambda L: dv.core.hellinger(dpp(), dv.DPP(L)), L=L),
    "diverset.kl_divergence": call(lambda L: dv.kl_divergence(dpp(), dv.DPP(L)), L=L + np.eye(6)),
    "diverset.core.l1_distance": call(
        lambda L, n_samples: dv.core.l1_distance(dpp(), dv.DPP(L), n_samples=n_samples, rng=0).value, L=L, n_samples=20
    ),
    "diverset.numerics.project": call(dv.numerics.project, {"rng": 0}, features=X, dim=2, method="signs"),
    "diverset.numerics.project in blocks": call(in_blocks(dv.numerics.project), {"rng": 0}, features=X, dim=2),
    "diverset.numerics.projection_dim": call(dv.numerics.projection_dim, n_items=100, k=2, eps=0.3, delta=0.1),
    "diverset.numerics.projection_bound": call(dv.numerics.projection_bound, k=2, eps=0.3),
    "diverset.select_many": call(dv.select_many, features=[X, X[:3]], k=2, quality=[Q, Q[:3]], diversity=0.5, n_jobs=1),
    "diverset.compare": call(
        lambda **a: dv.compare(**a).chosen.picks,
        features=X,
        k=2,
        quality=Q,
        judgements={0: {1}, 2: {1, 2}},
        dials=[0.5],
        keep=0.9,
    ),
    "diverset.integrations.stores.from_chroma": call(
        stores.from_chroma,
        answer={"ids": [["a", "b"]], "distances": [[0.1, 0.2]], "embeddings": [[[1.0], [2.0]]]},
        query=0,
    ),
    "diverset.integrations.curation.drop_near_duplicates": call(
        lambda **a: drop_near_duplicates(**a).kept, X=X, threshold=0.9, quality=Q, recall=0.9
    ),
    "diverset.select": call(
        dv.select,
        {"rng": 0},
        **_pick,
        method="greedy",
        costs=Q,
        budget=3.0,
        window=2,
        min_quality=0.1,
        groups=[0, 1, 0, 1, 2, 2],
        per_group=2,
    ),
    "diverset.select, by search": call(dv.select, {"rng": 0}, **_pick, method="local-search"),
    "diverset.select in blocks": call(in_blocks(dv.select), {"rng": 0}, **_pick, method="sample"),
    "diverset.selection_law": call(
        lambda **given: dv.selection_law(**given).inclusion_probabilities, **_pick, min_quality=0.1
    ),
    "diverset.map_greedy": call(lambda L, k: dv.map_greedy(dv.DPP(L), k), L=L, k=3),
    "diverset.inference.map_budgeted": call(
        lambda L, costs, budget, rule: dv.inference.map_budgeted(dv.DPP(L), costs, budget, rule=rule),
        L=L,
        costs=Q,
        budget=2.0,
        rule="probability",
    ),
    "diverset.map_local_search": call(
        lambda L, k, start: dv.map_local_search(dv.DPP(L), k, start=start), L=L, k=3, start=[0, 1, 2]
    ),
    "diverset.inference.map_double_greedy": call(lambda L: dv.inference.map_double_greedy(dv.DPP(L), rng=0), L=L),
    "diverset.inference.map_nonmonotone": call(
        lambda L, eps: dv.inference.map_nonmonotone(dv.DPP(L), eps=eps), L=L, eps=0.2
    ),
    "diverset.inference.map_relaxed": call(
        lambda L, k, tol: dv.inference.map_relaxed(dv.DPP(L), k, max_iter=10, tol=tol), L=L, k=3, tol=1e-4
    ),
    "diverset.map_exact": call(
        lambda L, k, gap, time_limit: dv.map_exact(dv.DPP(L), k, gap=gap, time_limit=time_limit),
        L=L,
        k=3,
        gap=0.1,
        time_limit=5.0,
    ),
    "diverset.inference.map_upper_bound": call(lambda L, k: dv.inference.map_upper_bound(dv.DPP(L), k), L=L, k=3),
    "diverset.theory.exact_cover.exact_cover_dpp": call(
        dv.theory.exact_cover.exact_cover_dpp, n_elements=6, triples=[[0, 1, 2], [3, 4, 5], [1, 2, 3]], gamma=1.1
    ),
    "diverset.theory.exact_cover.find_exact_cover": call(
        dv.theory.exact_cover.find_exact_cover, n_elements=6, triples=[[0, 1, 2], [3, 4, 5], [1, 2, 3]]
    ),
    "diverset.theory.exact_cover.has_exact_cover": call(
        lambda n_elements, gamma: dv.theory.exact_cover.has_exact_cover(
            dv.map_greedy(dv.theory.exact_cover.exact_cover_dpp(6, [[0, 1, 2], [3, 4, 5], [1, 2, 3]])),
            n_elements,
            gamma,
        ),
        n_elements=6,
        gamma=1.125,
    ),
    "diverset.theory.exact_cover.random_x3c": call(
        dv.theory.exact_cover.random_x3c, {"rng": 0}, n_elements=6, n_triples=4, solvable=True
    ),
    "diverset.sampling.sampling_trace": call(lambda L: dv.sampling.sampling_trace(dv.DPP(L), rng=0).probabilities, L=L),
    "diverset.sampling.mcmc_chain": call(
        lambda **arguments: dv.sampling.mcmc_chain(dpp(), rng=0, **arguments).log_weights,
        k=2,
        size=5,
        burn_in=2,
        thin=1,
        start=[0, 1],
        n_chains=1,
    ),
    "diverset.sampling.KernelFunction": call(kernel_function, X=X, quality=Q, rows=[0, 2], columns=[1]),
    "diverset.sample_kernel": call(dv.sample_kernel, {"rng": 0, "similarity": _linear}, X=X, quality=Q, k=2, size=2),
    "diverset.sampling.IntermediateSampler": call(intermediate, X=X, k=2, size=2),
    "diverset.structured.Separable": call(separable, a=RNG.random((3, 3)), b=np.eye(2), by=None),
    "diverset.structured.QualityModel": call(quality_model, power=1.0, n=2, structures=[[0, 1, 2]], **GRAPH),
    "diverset.structured.best_set": call(
        lambda k, n_starts: structured.best_set(sdpp(), k, n_starts=n_starts, rng=0), k=2, n_starts=2
    ),
    "diverset.structured.chain_graph": call(
        structured.chain_graph, unary=np.log(RNG.random((3, 2))), pairwise=RNG.random((2, 2)), temperature=2.0
    ),
    "diverset.structured.diverse_labelings": call(
        structured.diverse_labelings,
        {"rng": 0},
        unary=np.log(RNG.random((3, 2))),
        pairwise=RNG.random((2, 2)),
        k=2,
        temperature=2.0,
        method="best",
    ),
    "diverset.structured.junction_tree": call(
        lambda max_states: structured.junction_tree(graph(), max_states=max_states).width, max_states=1000
    ),
    "diverset.structured.loopy_belief_propagation": call(
        lambda **a: structured.loopy_belief_propagation(graph(), **a),
        power=1.0,
        max_iterations=50,
        damping=0.3,
        tolerance=1e-6,
    ),
    "diverset.structured.structure_trace": call(
        lambda k: structured.structure_trace(sdpp().of_size(k), rng=0).marginals, k=2
    ),
    "diverset.poses.PoseGrid": call(
        pose_grid,
        rows=3,
        columns=4,
        n_orientations=4,
        step=2.0,
        values=[0, 5],
        positions=LIMBS[0, 0],
        angles=[0.1, 2.0],
    ),
    "diverset.poses.Part": call(part, length=4.0, radius=2.0, torso=20.0),
    "diverset.poses.Spring": call(
        spring, offset=(0.0, 3.0), spread=2.0, angle=0.1, angle_spread=0.5, beta=1.0, reach=4.0
    ),
    "diverset.poses.Skeleton": call(
        lambda poses_, least: small_skeleton().fitted(poses_, least_spread=least).lengths,
        poses_=LIMBS[:, :2],
        least=0.5,
    ),
    "diverset.poses.reference_points": call(lambda shape: poses.reference_points(GRID, shape), shape=(2, 3)),
    "diverset.poses.location_features": call(
        poses.location_features, positions=LIMBS[0, 0], points=LIMBS[1, 0], sigma=3.0
    ),
    "diverset.poses.PoseModel": call(
        pose_model,
        first=RNG.random(GRID.shape),
        second=RNG.random(GRID.shape),
        beta=1.0,
        log_gamma=-2.0,
        sigma=4.0,
        reference=(2, 3),
        k=2,
    ),
    "diverset.poses.match_poses": call(
        poses.match_poses, predicted=LIMBS, truth=LIMBS[:1] + 1.0, radii=[1.0, 5.0], parts=[0, 1]
    ),
    "diverset.poses.mean_interval": call(poses.mean_interval, values=RNG.random((5, 2))),
    "diverset.poses.maps_on_grid": call(lambda maps: poses.maps_on_grid(maps, GRID), maps=RNG.random((4, 5, 4))),
    "diverset.poses.draw_pose": call(
        lambda position, size: poses.draw_pose(poses.Skeleton.upper_body(20.0), position, 0, size=size),
        position=(10.0, 12.0),
        size=1.0,
    ),
    "diverset.poses.draw_scene": call(draw_scene, size=(60, 80), n_people=2, n_clutter=2, n_occluders=1),
    "diverset.poses.LimbDetector": call(detector, image=RNG.random((12, 15))),
    "diverset.poses.simulate_maps": call(simulate, poses_=LIMBS[:, :2], spread=0.5, rate=0.1, width=3.0, errors=None),
    "diverset.threads.ThreadGraph": call(thread_graph, edges=EDGES, features=np.abs(X), weights=Q, length=3),
    "diverset.threads.ThreadModel": call(
        thread_questions, edges=EDGES, features=np.abs(X), length=3, k=1, beta=1.0, projection=None, rho=0.1
    ),
    "diverset.threads.Corpus": call(corpus, texts=TEXTS, times=DATES, which=[0, 2], min_words=2),
    "diverset.threads.is_noise": call(threads.is_noise, texts=TEXTS, min_words=2, deviations=2.0),
    "diverset.threads.document_graph": call(
        document_graph, texts=NEWS, times=[1, 2, 3, 4], threshold=0.1, min_documents=1, max_share=0.9, damping=0.15
    ),
    "diverset.threads.citation_graph": call(
        lambda citations, texts, times, threshold: (
            threads.citation_graph(
                citations, texts, times=times, threshold=threshold, min_documents=1, max_share=0.9
            ).graph.weights
        ),
        citations=np.tril(np.ones((4, 4)), -1),
        texts=NEWS,
        times=[1, 2, 3, 4],
        threshold=0.1,
    ),
    "diverset.threads.term_vectors": call(threads.term_vectors, texts=NEWS, min_documents=1, max_share=0.9),
    "diverset.threads.salient_terms": call(
        threads.salient_terms, vectors=VECTORS, terms=["a", "b", "c"], nodes=np.array([0, 2]), n=2
    ),
    "diverset.find_threads": call(
        lambda texts, times, k, length, beta, burst, max_gap, events, min_documents, max_share: (
            dv.find_threads(
                threads.Corpus(texts, times),
                k,
                length,
                beta=beta,
                burst=burst,
                max_gap=max_gap,
                events=events,
                min_documents=min_documents,
                max_share=max_share,
            ).threads
        ),
        texts=NEWS,
        times=np.arange(len(NEWS)),
        k=1,
        length=2,
        beta=2.0,
        burst=0.5,
        max_gap=3.0,
        events=1,
        min_documents=1,
        max_share=0.9,
    ),
    "diverset.threads.evaluate": call(
        lambda picked, texts, times: threads.evaluate(picked, threads.Corpus(texts, times)).to_dict(),
        picked=[[0, 1]],
        texts=NEWS,
        times=np.arange(len(NEWS)),
    ),
    "diverset.threads.hold_back": call(
        lambda texts, share: threads.hold_back(threads.Corpus(texts, np.arange(len(texts))), share=share)[0].texts,
        texts=NEWS * 2,
        share=0.5,
    ),
    "diverset.threads.kmeans_threads": call(
        threads.kmeans_threads, {"rng": 0}, vectors=VECTORS, times=np.arange(6), k=2, length=2
    ),
    "diverset.threads.story_score": call(
        threads.story_score, threads=[np.array([0, 2]), np.array([1, 3])], stories=["a", None, "a", "b", "b"]
    ),
    "diverset.threads.coherence": call(
        threads.coherence, vectors=VECTORS, threads=[np.array([0, 2]), np.array([1, 3])]
    ),
    "diverset.threads.interlopers_found": call(
        threads.interlopers_found,
        {"rng": 0},
        vectors=VECTORS,
        threads=[np.array([0, 2, 3]), np.array([1, 4, 5])],
        n=1,
        trials=3,
    ),
    "diverset.threads.bootstrap_mean": call(threads.bootstrap_mean, values=Q, level=0.9, draws=20),
    "diverset.kernels.rbf": call(kernels.rbf, X=X, Y=X[:2], length_scale=0.7),
    "diverset.kernels.matern": call(kernels.matern, X=X, Y=X[:2], nu=1.5, length_scale=0.7),
    "diverset.kernels.cosine": call(kernels.cosine, X=X, Y=X[:2]),
    "diverset.kernels.dot": call(kernels.dot, X=X, Y=X[:2]),
    "diverset.kernels.polynomial": call(kernels.polynomial, X=X, Y=X[:2], degree=2, offset=1.0, scale=0.5),
    "diverset.kernels.median_heuristic": call(kernels.median_heuristic, {"rng": 0}, X=X, max_pairs=10),
    "diverset.kernels.quality_diversity": call(kernels.quality_diversity, quality=Q, similarity=kernels.cosine(X)),
    "diverset.kernels.split_quality_diversity": call(kernels.split_quality_diversity, L=L),
    "diverset.kernels.with_constant_feature": call(kernels.with_constant_feature, features=X, rho=0.5),
    "diverset.kernels.add_constant": call(kernels.add_constant, similarity=kernels.cosine(X), rho=0.5),
    "diverset.kernels.normalize_rows": call(kernels.normalize_rows, X=X),
    "diverset.kernels.nearest_psd": call(kernels.nearest_psd, M=L - np.eye(6), unit_diagonal=False),
    **{f"diverset.baselines.{name}": call(getattr(baselines, name), **_pick) for name in baselines.__all__},
    "diverset.theory.classics.Descents": call(classic(classics.Descents), length=5, values=3, size=2),
    "diverset.theory.classics.Carries": call(classic(classics.Carries), length=5, base=3, size=2),
    "diverset.theory.classics.NonIntersectingWalks": call(
        classic(classics.NonIntersectingWalks), starts=[0, 2], ends=[1, 3], n_steps=3, size=1
    ),
    "diverset.theory.classics.SpanningTrees": call(
        classic(classics.SpanningTrees), graph=[(0, 1), (1, 2), (0, 2), (2, 3)], method="wilson", size=2
    ),
    "diverset.theory.classics.AztecDiamond": call(classic(classics.AztecDiamond), order=2, size=1),
    "diverset.theory.classics.PoissonizedPlancherel": call(
        classic(classics.PoissonizedPlancherel), theta=2.0, window=(-5, 5), size=1
    ),
    "diverset.theory.classics.Ginibre": call(
        projection_process(classics.Ginibre), n_points=3, x=np.array([0.1, 0.5j, 1.0]), size=1
    ),
    "diverset.theory.classics.BetaHermite": call(
        beta_ensemble(classics.BetaHermite), n_points=3, beta=1.5, x=np.array([0.1, 0.5, 1.0]), size=2
    ),
    "diverset.theory.classics.BetaLaguerre": call(
        beta_ensemble(classics.BetaLaguerre), n_points=3, beta=1.5, alpha=0.5, x=np.array([0.1, 0.5, 1.0]), size=2
    ),
    "diverset.theory.classics.BetaJacobi": call(
        beta_ensemble(classics.BetaJacobi), n_points=3, beta=1.5, a=1.5, b=2.0, x=np.array([0.1, 0.5, 0.9]), size=2
    ),
    "diverset.theory.classics.MultivariateJacobi": call(
        multivariate_jacobi, n_points=3, parameters=np.array([[0.0, 0.3]]), x=np.array([[0.1], [0.5], [0.9]]), size=1
    ),
    "diverset.theory.classics.GUE": call(
        projection_process(classics.GUE), n_points=3, x=np.array([0.1, 0.5, 1.0]), size=1
    ),
    "diverset.theory.classics.CUE": call(
        projection_process(classics.CUE), n_points=3, x=np.array([0.1, 0.5, 1.0]), size=1
    ),
    "diverset.theory.classics.krawtchouk_dpp": call(
        lambda order, line: classics.krawtchouk_dpp(order, line).inclusion_probabilities, order=4, line=2
    ),
    "diverset.theory.classics.one_dependent_kernel": call(
        classics.one_dependent_kernel, runs=np.triu(0.5 ** np.abs(np.subtract.outer(range(4), range(4))))
    ),
    "diverset.theory.classics.rsk_shape": call(classics.rsk_shape, sequence=[3.0, 1.0, 2.0]),
    "diverset.theory.mrf.PairwiseMRF": call(
        pairwise_mrf, node_weights=Q, edge_weights={(0, 1): -2.0, (0, 2): 1.0}, i=1, j=2, size=2, **SETS
    ),
    "diverset.theory.mrf.mrf_ternary": call(mrf.mrf_ternary, w=[-1.0, -2.0, 0.0]),
    "diverset.theory.mrf.dpp_ternary": call(mrf.dpp_ternary, S=[0.5, 0.4, 0.3]),
    "diverset.theory.mrf.mrf_slice": call(mrf.mrf_slice, _nan=True, psi_12=R, psi_13=R, value=0.5),
    "diverset.theory.mrf.dpp_slice": call(mrf.dpp_slice, _nan=True, psi_12=R, psi_13=R, value=0.5, nonnegative=True),
    "diverset.theory.mrf.transitivity_gap": call(mrf.transitivity_gap, S=kernels.cosine(X)),
    "diverset.theory.open_questions.entropy_on_line": call(
        open_questions.entropy_on_line, K0=K, K1=0.5 * np.eye(6), n_points=3
    ),
    "diverset.theory.open_questions.search_concavity": call(
        open_questions.search_concavity, {"rng": 0}, n_items=3, n_lines=2, n_points=5
    ),
    "diverset.theory.open_questions.random_marginal_kernel": call(
        open_questions.random_marginal_kernel, {"rng": 0}, n_items=3
    ),
    "diverset.theory.open_questions.log_power_sum": call(
        lambda L, p: open_questions.log_power_sum(dv.DPP(L), p), L=L, p=2.0
    ),
    "diverset.metrics.log_volume": call(metrics.log_volume, similarity_or_features=L, indices=[0, 2]),
    "diverset.metrics.mean_pairwise_similarity": call(
        metrics.mean_pairwise_similarity, similarity_or_features=L, indices=[0, 2]
    ),
    "diverset.metrics.intra_list_diversity": call(
        metrics.intra_list_diversity, similarity_or_features=X, indices=[0, 2], similarity="cosine"
    ),
    "diverset.metrics.vendi_score": call(metrics.vendi_score, X_or_K=X, q=1.0, kernel="cosine"),
    "diverset.metrics.subtopic_recall": call(metrics.subtopic_recall, **_judged),
    "diverset.metrics.ndcg": call(metrics.ndcg, **_judged),
    "diverset.metrics.precision": call(metrics.precision, **_judged),
    "diverset.metrics.alpha_ndcg": call(metrics.alpha_ndcg, **_judged, alpha=0.5),
    "diverset.metrics.err_ia": call(metrics.err_ia, **_judged, weights={1: 0.5, 2: 0.5}, normalized=True),
    "diverset.metrics.precision_ia": call(metrics.precision_ia, **_judged, weights={1: 0.5, 2: 0.5}),
    "diverset.learn.QualityModel": call(
        quality_learner(learn.QualityModel), {"max_iter": 5}, prior_variance=1.0, rho=0.1, tol=1e-6, **QUALITY
    ),
    "diverset.learn.QualityModelCV": call(
        quality_learner(learn.QualityModelCV),
        {"max_iter": 3, "rng": 0},
        prior_variances=[1.0],
        rhos=[0.0],
        cv=2,
        **QUALITY,
    ),
    "diverset.learn.LogisticQuality": call(
        quality_learner(learn.LogisticQuality), {"max_iter": 5}, prior_variance=1.0, rho=0.1, **QUALITY
    ),
    "diverset.learn.Instance": call(
        lambda features, diversity: learn.Instance(features, diversity=diversity).n_items, features=X, diversity=X
    ),
    "diverset.integrations.d_optimal_design": call(d_optimal_design, X=X, k=3, ridge=0.1),
    "diverset.integrations.diverse_split": call(diverse_split, X=X, train_size=0.5, diversity=0.5),
    "diverset.integrations.inducing_points": call(inducing_points, X=X, m=3, length_scale=1.0, method="greedy", move=2),
    "diverset.integrations.coreset": call(coreset, {"rng": 0}, X=X, m=3, ridge=0.1),
    "diverset.integrations.torch.DiverseBatchSampler": call(
        lambda features, **arguments: [*DiverseBatchSampler(features, rng=0, **arguments)],
        features=X,
        batch_size=4,
        ridge=0.1,
        cover=False,
        drop_last=False,
    ),
    "diverset.learn.compare_next_item": call(compared, train=BASKETS, test=BASKETS, n=2, max_baskets=5),
    "diverset.learn.FullRankKernel": call(
        fitted(learn.FullRankKernel, max_iter=3), pseudo_count=0.1, tol=1e-4, algorithm="picard", **LEARN
    ),
    "diverset.learn.LowRankKernel": call(
        fitted(learn.LowRankKernel, n_epochs=2, rng=0),
        rank=2,
        regularization=0.1,
        learning_rate=0.1,
        batch_size=4,
        **LEARN,
    ),
    "diverset.learn.NonsymmetricKernel": call(
        fitted(learn.NonsymmetricKernel, n_epochs=2, rng=0), rank=2, regularization=0.1, learning_rate=0.1, **LEARN
    ),
    "diverset.learn.KDPPMixtureLearner": call(
        mixture(learn.KDPPMixtureLearner), {"max_iter": 20}, gamma=10.0, scaling="global", **EXPERTS
    ),
    "diverset.learn.MMRMixtureLearner": call(mixture(learn.MMRMixtureLearner), {"max_iter": 20}, gamma=10.0, **EXPERTS),
    "diverset.learn.IndependentItems": call(fitted(learn.IndependentItems), pseudo_count=0.5, **LEARN),
    "diverset.learn.PoissonItems": call(fitted(learn.PoissonItems, max_iter=5), pseudo_count=0.5, **LEARN),
    "diverset.learn.torch.DPPDistribution": call(torch_dpp, L=L, k=2),
    "diverset.theory.processes.Box": call(box, sides=(1.0, 2.0), torus=True, points=POINTS, per_side=3, n=2),
    "diverset.theory.processes.ContinuousDPP": call(
        continuous,
        modes=np.array([[0, 0], [1, 0], [0, 1]]),
        eigenvalues=np.array([0.9, 0.5, 0.2]),
        x=POINTS[:2],
        steps=POINTS[:3],
        lower=(0.1, 0.2),
        upper=(0.5, 0.6),
    ),
    "diverset.theory.processes.ContinuousDPP.gaussian": call(families, intensity=4.0, scale=0.1, n_points=3),
    "diverset.theory.processes.poisson": call(
        lambda intensity: processes.poisson(UNIT, intensity, rng=0), intensity=5.0
    ),
    "diverset.theory.processes.matern_process": call(
        lambda **a: processes.matern_process(UNIT, rng=0, **a), intensity=5.0, radius=0.1, kind=2
    ),
    "diverset.theory.processes.matern_survivors": call(
        lambda **a: processes.matern_survivors(box=UNIT, **a), points=POINTS, radius=0.1, kind=2, times=np.arange(7.0)
    ),
    "diverset.theory.processes.matern_intensity": call(
        processes.matern_intensity, intensity=5.0, radius=0.1, kind=2, dim=2
    ),
    "diverset.theory.processes.matern_pair_correlation": call(
        processes.matern_pair_correlation, r=R, intensity=5.0, radius=0.1, kind=2, dim=2
    ),
    "diverset.theory.processes.adsorption": call(
        lambda radius, max_points: processes.adsorption(UNIT, radius, max_points=max_points, rng=0),
        radius=0.3,
        max_points=5,
    ),
    "diverset.theory.processes.GibbsProcess": call(lambda **a: gibbs(processes.Strauss(0.5, 0.1), **a), **GIBBS),
    "diverset.theory.processes.FiniteGibbs": call(finite_gibbs, activity=Q, interaction=np.exp(-(L**2)), Y=[0, 3]),
    "diverset.theory.processes.Strauss": call(
        pair(processes.Strauss), gamma=0.5, radius=0.1, hard_core=0.01, r=R, **GIBBS
    ),
    "diverset.theory.processes.VerySoftCore": call(pair(processes.VerySoftCore), sigma=0.1, r=R, **GIBBS),
    "diverset.theory.processes.SoftCore": call(pair(processes.SoftCore), sigma=0.05, n=4.0, r=R, **GIBBS),
    "diverset.theory.processes.LinearCore": call(pair(processes.LinearCore), sigma=0.1, r=R, **GIBBS),
    "diverset.theory.processes.AreaInteraction": call(area, gamma=0.5, radius=0.1, **GIBBS),
    "diverset.theory.processes.birth_death_chain": call(
        lambda **a: (
            processes.birth_death_chain(
                processes.GibbsProcess(TORUS, 5.0, processes.Strauss(0.5, 0.1)), rng=0, **a
            ).log_weights
        ),
        size=3,
        burn_in=2,
        thin=1,
        start=POINTS[:2],
        move=0.25,
        n_chains=1,
    ),
    "diverset.theory.processes.fit_gibbs": call(
        lambda patterns, grid, border, radius: (
            processes.fit_gibbs(
                patterns, UNIT, processes.Strauss, grid=grid, border=border, radius=radius
            ).log_pseudolikelihood
        ),
        patterns=[POINTS, POINTS[::-1] * 0.9],
        grid=8,
        border=0.0,
        radius=[0.05, 0.1],
    ),
    "diverset.theory.processes.fit_finite_gibbs": call(
        processes.fit_finite_gibbs, sets=[[0], [1, 2], [3], []], statistic=np.abs(L), weights=None
    ),
    "diverset.theory.processes.permanent": call(processes.permanent, A=L[:4, :4]),
    "diverset.theory.processes.immanant": call(processes.immanant, A=L[:3, :3], partition=[2, 1]),
    "diverset.theory.processes.alpha_determinant": call(processes.alpha_determinant, A=L[:3, :3], alpha=0.5),
    "diverset.theory.processes.hyperdeterminant": call(processes.hyperdeterminant, T=RNG.random((2, 2, 2, 2))),
    "diverset.theory.processes.character": call(processes.character, partition=[2, 1], cycle_type=[3]),
    "diverset.theory.processes.class_size": call(processes.class_size, cycle_type=[2, 1]),
    "diverset.theory.processes.partitions": call(processes.partitions, k=4),
    "diverset.theory.processes.permanental": call(lambda L: processes.permanental(L).law, L=L[:4, :4]),
    "diverset.theory.processes.immanantal": call(
        lambda L, partition: processes.immanantal(L, partition).law, L=L[:3, :3], partition=[2, 1]
    ),
    "diverset.theory.processes.alpha_determinantal": call(
        lambda L, alpha: processes.alpha_determinantal(L, alpha).law, L=L[:4, :4], alpha=-0.5
    ),
    "diverset.theory.processes.hyperdeterminantal": call(
        lambda T: processes.hyperdeterminantal(T).law, T=np.ones((2, 2, 2, 2))
    ),
    "diverset.theory.processes.AlphaPermanental": call(permanental_counts, K=K[:3, :3], alpha=1.0, counts=[1, 0, 2]),
    "diverset.theory.processes.TabulatedProcess": call(
        tabulated, log_weights=np.log(RNG.random(8)), Y=[0], A=[2], B=[1]
    ),
    "diverset.theory.processes.halton": call(processes.halton, {"rng": 0}, k=5, dim=2, scramble=True),
    "diverset.theory.processes.sobol": call(processes.sobol, {"rng": 0}, k=4, dim=2, scramble=True),
    "diverset.theory.processes.discrepancy": call(processes.discrepancy, points=POINTS),
    "diverset.theory.processes.star_discrepancy": call(processes.star_discrepancy, points=POINTS),
    "diverset.theory.processes.integration_errors": call(
        lambda integral, sizes, repeats: (
            processes.integration_errors(
                lambda x: x.sum(axis=1), integral, lambda n, rng: rng.random((n, 2)), sizes, repeats=repeats, rng=0
            ).slope
        ),
        _nan=True,
        integral=1.0,
        sizes=[4, 8],
        repeats=3,
    ),
    **{
        f"diverset.theory.processes.{name}": call(partial(getattr(processes, name), box=UNIT), patterns=[POINTS], r=R)
        for name in ("pair_correlation", "ripley_k", "ripley_l", "nearest_neighbour_g")
    },
    "diverset.text.Summarizer": call(
        summarizer, documents=TEXTS, references=["Rain and dogs."], late=1.0, prior_variance=1.0, max_words=10
    ),
    "diverset.summarize": call(
        summary, documents=TEXTS, max_words=12, method="coverage", n_draws=20, query="rain", update_since=TEXTS[:1]
    ),
    "diverset.text.Cluster": call(cluster, documents=TEXTS, references=["Rain."], names=["a", "b", "c"], most=3),
    "diverset.text.Budget": call(
        budget, unit="words", limit=7, sentences=["It rained.", "Dogs."], given="It rained. Dogs."
    ),
    "diverset.text.oracle_summary": call(
        lambda sentences, references, limit, scaling: text.oracle_summary(
            sentences, references, text.Budget("words", limit), scaling=scaling
        ),
        sentences=["It rained.", "Floods in town.", "Rain hit the town."],
        references=["Rain in the town"],
        limit=7,
        scaling=0.5,
    ),
    "diverset.text.Begin": call(rival(text.Begin), **_rival),
    "diverset.text.Random": call(rival(text.Random), **_rival),
    "diverset.text.LexRank": call(rival(text.LexRank), redundancy=0.5, **_rival),
    "diverset.text.Submodular": call(rival(text.Submodular), redundancy=4.0, scaling=0.3, **_rival),
    "diverset.text.RelevanceMMR": call(
        rival(lambda alpha: text.RelevanceMMR(text.default_summarizer(), alpha=alpha)), alpha=0.5, **_rival
    ),
    "diverset.text.Oracle": call(oracle, documents=TEXTS, references=["Rain and dogs."], max_words=10),
    "diverset.text.word_counts": call(counts_of, sets=[[0], [0, 1], [2]], sentences=["a red cat", "a dog", "red wine"]),
    "diverset.text.split_sentences": call(text.split_sentences, text="Dr. Ray left. It rained.", language="en"),
    "diverset.text.words": call(text.words, text="The ex-mayor's plan"),
    "diverset.text.content_words": call(text.content_words, text="The ex-mayor's plan"),
    "diverset.text.stem": call(text.stem, word="relational"),
    "diverset.text.lexrank": call(text.lexrank, similarity=np.abs(kernels.cosine(X)), threshold=0.1, damping=0.15),
    "diverset.text.rouge": call(
        text.rouge, summary="The cats sat.", references=["A cat sat.", "Dogs."], combine="average", max_words=5
    ),
    "diverset.text.rouge_words": call(text.rouge_words, text="The children went.", stemming=True),
    "diverset.images.expert_kernels": call(images.expert_kernels, features={"x": X, "y": np.abs(X)}, rho=0.5),
    "diverset.images.combine": call(images.combine, features={"x": X, "y": np.abs(X)}, names=["x", "y"]),
    "diverset.images.near_duplicates": call(
        images.near_duplicates, features={"gist": X, "color-64": np.abs(X)}, threshold=0.9, order=[5, 4, 3, 2, 1, 0]
    ),
    "diverset.images.color_histogram": call(images.color_histogram, image=PICTURE, bins=8),
    "diverset.images.gist": call(images.gist, image=PICTURE),
    "diverset.images.sift_descriptors": call(images.sift_descriptors, image=PICTURE),
    "diverset.images.learn_vocabulary": call(vocabulary, descriptors=DESCRIPTORS, size=3),
    "diverset.images.center_crop": call(images.center_crop, image=PICTURE),
    "diverset.distributed.rows_of": call(in_blocks(dv.distributed.rows_of), features=X, rows=np.array([0, 3])),
    "diverset.distributed.nystroem": call(
        in_blocks(dv.distributed.nystroem), {"rng": 0}, features=X, landmarks=3, length_scale=0.7
    ),
    "diverset.distributed.greedi": call(
        in_blocks(dv.distributed.greedi),
        features=X,
        k=2,
        quality=Q,
        diversity=0.4,
        similarity="cosine",
        method="greedy",
    ),
}

#: Names that are covered by the call of another: what that call makes, takes or returns.
WITHIN = {
    "diverset.metrics.compare.Comparison": "diverset.compare",
    "diverset.integrations.stores.Candidates": "diverset.integrations.stores.from_chroma",
    "diverset.integrations.curation.NearDuplicates": "diverset.integrations.curation.drop_near_duplicates",
    "diverset.threads.find_threads": "diverset.find_threads",
    "diverset.threads.FoundThreads": "diverset.find_threads",
    "diverset.threads.Series": "diverset.find_threads",
    "diverset.threads.EventModel": "diverset.find_threads",
    "diverset.threads.EventPaths": "diverset.find_threads",
    "diverset.threads.example_news": "diverset.find_threads",
    "diverset.threads.ThreadScores": "diverset.threads.evaluate",
    "diverset.SetDistribution": "diverset.DPP",
    "diverset.core.Estimate": "diverset.entropy",
    "diverset.Selection": "diverset.select",
    "diverset.sampling.trace.SamplingTrace": "diverset.sampling.sampling_trace",
    "diverset.sampling.chain.Chain": "diverset.sampling.mcmc_chain",
    "diverset.structured.Factor": "diverset.FactorGraph",
    "diverset.structured.BestSet": "diverset.structured.best_set",
    "diverset.structured.Labelings": "diverset.structured.diverse_labelings",
    "diverset.structured.JunctionTree": "diverset.structured.junction_tree",
    "diverset.structured.LoopyBeliefs": "diverset.structured.loopy_belief_propagation",
    "diverset.structured.StructureTrace": "diverset.structured.structure_trace",
    "diverset.poses.spring_factor": "diverset.poses.Spring",
    "diverset.poses.MatchScores": "diverset.poses.match_poses",
    "diverset.poses.Scene": "diverset.poses.draw_scene",
    "diverset.poses.DetectorNoise": "diverset.poses.simulate_maps",
    "diverset.threads.ThreadSet": "diverset.threads.ThreadModel",
    "diverset.threads.DocumentGraph": "diverset.threads.document_graph",
    "diverset.threads.StoryScore": "diverset.threads.story_score",
    "diverset.threads.Bootstrap": "diverset.threads.bootstrap_mean",
    "diverset.theory.classics.Tiling": "diverset.theory.classics.AztecDiamond",
    "diverset.theory.classics.Classic": "diverset.theory.classics.Descents",
    "diverset.theory.classics.ProjectionProcess": "diverset.theory.classics.GUE",
    "diverset.theory.classics.BetaEnsemble": "diverset.theory.classics.BetaHermite",
    "diverset.theory.open_questions.ConcavitySearch": "diverset.theory.open_questions.search_concavity",
    "diverset.learn.Comparison": "diverset.learn.KDPPMixtureLearner",
    "diverset.learn.ComparisonTable": "diverset.learn.KDPPMixtureLearner",
    "diverset.learn.torch.KDPPDistribution": "diverset.learn.torch.DPPDistribution",
    "diverset.theory.processes.Interaction": "diverset.theory.processes.AreaInteraction",
    "diverset.theory.processes.PairInteraction": "diverset.theory.processes.Strauss",
    "diverset.theory.processes.PatternChain": "diverset.theory.processes.birth_death_chain",
    "diverset.theory.processes.GibbsFit": "diverset.theory.processes.fit_gibbs",
    "diverset.theory.processes.IntegrationErrors": "diverset.theory.processes.integration_errors",
    "diverset.text.Summary": "diverset.summarize",
    "diverset.text.default_summarizer": "diverset.summarize",
    "diverset.text.pairwise_rouge": "diverset.text.word_counts",
    "diverset.text.mean_rouge": "diverset.text.word_counts",
    "diverset.text.Rouge": "diverset.text.rouge",
    "diverset.images.Vocabulary": "diverset.images.learn_vocabulary",
}

#: Functions of spectra behind the door: they trust what the distributions, which are fuzzed, have checked.
_INNER = {
    "symmetric": (
        "tilt",
        "tilted_log_mass",
        "log_elementary_symmetric",
        "log_elementary_symmetric_all",
        "elementary_symmetric_table",
        "elementary_symmetric_tree",
    ),
    "eigenvector_probabilities": ("selection_probabilities", "pair_selection_factors"),
    "poisson_binomial": ("mean", "variance", "pmf", "log_pmf", "log_pmf_many"),
}

#: Names that are not called with changed arguments, and why.
EXCEPTIONS = {
    "diverset.pick_images": "reads images: see test_fuzz_readers.py and tests/cli/test_images_cli.py",
    "diverset.metrics.read_qrels": "a reader of files: see test_fuzz_readers.py",
    "diverset.integrations.stores.from_elasticsearch": "takes a store's answer: see tests/integrations/test_stores.py",
    "diverset.integrations.stores.from_faiss": "takes a store's answer: see tests/integrations/test_stores.py",
    "diverset.integrations.stores.from_lancedb": "takes a store's answer: see tests/integrations/test_stores.py",
    "diverset.integrations.stores.from_qdrant": "takes a store's answer: see tests/integrations/test_stores.py",
    "diverset.text.STOP_WORDS": "a constant",
    "diverset.text.PRONOUNS": "a constant",
    "diverset.images.FEATURES": "a constant",
    **{f"diverset.numerics.{m}.{name}": "trusts its callers" for m, names in _INNER.items() for name in names},
    "diverset.images.ImageFeatures": "a record that extract fills",
    "diverset.images.Skipped": "a record that extract fills",
    "diverset.learn.NextItemReport": "a record that compare_next_item fills",
    "diverset.learn.NextItemScores": "a record that compare_next_item fills",
    "diverset.threads.independent_threads": "takes a model and nothing else; the model's own call is fuzzed",
    "diverset.threads.greedy_threads": "takes a model and nothing else; the model's own call is fuzzed",
    "diverset.threads.compare": "takes the results of evaluate and nothing else",
    "diverset.threads.dtm_threads": "seconds a call, in gensim; tests/threads gives it bad input",
    # What reads or writes files is given damaged files by test_fuzz_readers.
    "diverset.learn.save_model": "files",
    "diverset.learn.load_model": "files",
    "diverset.images.extract": "files",
    "diverset.images.FeatureCache": "files",
    "diverset.images.find_images": "files",
    "diverset.images.read_image": "files",
    "diverset.poses.read_score_maps": "files",
    "diverset.distributed.read": "files",
    "diverset.distributed.ParquetRows": "files",
}
