"""Learners at the edges of their input, their defaults, and each step of an iteration beside a plain version of it."""

import inspect
import json
import math

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset.errors import (
    DiversetError,
    ImpossibleEventError,
    KernelError,
    LabelError,
    SizeError,
    UnboundedLikelihoodError,
)
from diverset.learn import (
    Comparison,
    FullRankKernel,
    IndependentItems,
    Instance,
    KDPPMixtureLearner,
    LogisticQuality,
    LowRankKernel,
    MMRMixtureLearner,
    NonsymmetricKernel,
    PoissonItems,
    QualityModel,
    QualityModelCV,
    compare_next_item,
    load_model,
    save_model,
)
from diverset.learn import baskets as baskets_module
from diverset.learn.baskets import read_baskets
from diverset.learn.comparisons import minimize_on_simplex
from diverset.learn.full_rank import Evidence, mean_log_likelihood, moment_kernel, picard_steps
from diverset.learn.kernel_forms import Dense, LowRank
from diverset.learn.low_rank import low_rank_objective, nonsymmetric_objective
from kernels_for_tests import wishart
from reference import law_from_L

BASKETS = [[0, 2], [1, 2], [0], [1], [2], [0, 2], [1], [], [0, 1, 2], [3]]

DEFAULTS = {
    FullRankKernel: {
        "algorithm": "picard",
        "init": "moments",
        "step": None,
        "pseudo_count": 0.0,
        "max_iter": 300,
        "tol": 1e-6,
        "rng": None,
        "verbose": False,
    },
    LowRankKernel: {
        "rank": None,
        "regularization": 0.1,
        "pseudo_count": 0.5,
        "n_epochs": None,
        "batch_size": 200,
        "learning_rate": 0.1,
        "tol": 1e-3,
        "rng": None,
        "verbose": False,
    },
    IndependentItems: {"pseudo_count": 0.5},
    PoissonItems: {"pseudo_count": 0.5, "max_iter": 200, "tol": 1e-6},
    QualityModel: {
        "prior_variance": None,
        "rho": 0.0,
        "fixed_size": False,
        "max_iter": 500,
        "tol": 1e-9,
        "n_jobs": None,
        "warm_start": False,
        "verbose": False,
    },
    QualityModelCV: {
        "prior_variances": (0.01, 0.1, 1.0, 10.0, 100.0),
        "rhos": (0.0, 0.35, 0.7, 1.4),
        "cv": 5,
        "fixed_size": False,
        "max_iter": 500,
        "tol": 1e-7,
        "n_jobs": None,
        "rng": None,
        "verbose": False,
    },
    KDPPMixtureLearner: {
        "gamma": None,
        "gammas": tuple(10.0 ** (e / 2) for e in range(13)),
        "cv": 5,
        "max_iter": 2000,
        "tol": 1e-9,
        "rng": None,
        "scaling": "global",
    },
}
DEFAULTS[NonsymmetricKernel] = DEFAULTS[LowRankKernel] | {"regularization_skew": 0.1}


@pytest.mark.parametrize("learner", DEFAULTS, ids=lambda cls: cls.__name__)
def test_default_parameters(learner):
    found = learner().get_params(deep=False)
    assert found.keys() == DEFAULTS[learner].keys()
    for name, value in DEFAULTS[learner].items():
        assert found[name] == pytest.approx(value) if isinstance(value, tuple) else found[name] == value, name


def test_default_arguments():
    found = inspect.signature(compare_next_item).parameters
    assert [found[name].default for name in ("n", "max_baskets", "rng")] == [10, 1000, 0]
    model = IndependentItems().fit([[i] for i in range(15)])
    assert len(model.recommend([])) == 10


# baskets -----------------------------------------------------------------------------------------------------


def test_counts_sizes_and_frequencies():
    read = read_baskets(BASKETS)
    assert (len(read), read.n_items) == (10, 4)
    assert read.counts.tolist() == [4.0, 4.0, 5.0, 1.0]
    assert read.frequencies == pytest.approx((np.array([4.0, 4.0, 5.0, 1.0]) + 0.5) / 11.0)
    assert read.sizes.tolist() == [2, 2, 1, 1, 1, 2, 1, 0, 3, 1]
    together = read.pair_counts().toarray()
    for i in range(4):
        for j in range(4):
            assert together[i, j] == sum(i in b and j in b for b in BASKETS)
    assert [b.tolist() for b in read.take(np.array([8, 0, 7]))] == [[0, 1, 2], [0, 2], []]
    assert len(read.take(np.zeros(0, dtype=np.int64))) == 0


@pytest.mark.parametrize("chunk", [1, 4, 8, 9, 1 << 19])
def test_answers_do_not_depend_on_the_chunks_of_baskets(chunk, monkeypatch):
    expected = FullRankKernel(max_iter=3).fit(BASKETS).log_prob(BASKETS)
    monkeypatch.setattr(baskets_module, "_CHUNK", chunk)
    read = read_baskets(BASKETS)
    seen = sorted(int(t) for numbers, _ in read.by_size() for t in numbers)
    assert seen == list(range(10))
    for numbers, rows in read.by_size():
        assert len(numbers) * rows.shape[1] ** 2 <= max(chunk, rows.shape[1] ** 2)
        assert [read[t].tolist() for t in numbers] == rows.tolist()
    assert FullRankKernel(max_iter=3).fit(BASKETS).log_prob(BASKETS) == pytest.approx(expected, rel=1e-12)
    assert sum(group.weights.sum() for group in read.groups()) == 10.0


@pytest.mark.parametrize(
    ("basket", "items"),
    [
        ((2, 0), [0, 2]),
        ({1}, [1]),
        (np.array([2, 1], dtype=np.uint8), [1, 2]),
        ([np.int64(2), 0], [0, 2]),
        (range(3), [0, 1, 2]),
        ([], []),
        (np.zeros(0), []),
        (iter([1, 0]), [0, 1]),
    ],
)
def test_one_basket_of_every_type(basket, items):
    assert read_baskets([basket], 3)[0].tolist() == items


@pytest.mark.parametrize("basket", [[0.5], [True], [[0]], 3, "ab", [[0], [1, 2]], np.zeros((1, 0)), [2**70]])
def test_what_is_no_basket(basket):
    with pytest.raises(LabelError, match="basket 1 is "):
        read_baskets([[0], basket], 3)


def test_long_baskets_are_shortened_in_messages():
    for length, shown in ((9, True), (200, False)):
        basket = [0.5] * length
        with pytest.raises(LabelError) as caught:
            read_baskets([basket], 3)
        assert (repr(basket) in str(caught.value)) == shown
        assert len(str(caught.value)) < 120


@pytest.mark.parametrize(
    ("basket", "message"),
    [
        ([0, 3], r"basket 1 names item 3, but items are 0 to 2 \(n_items = 3\); item numbers start at 0"),
        ([4], r"basket 1 names item 4, but items are 0 to 2 \(n_items = 3\)$"),
        ([-1], r"basket 1 names item -1, but items are 0 to 2 \(n_items = 3\)$"),
        ([2, 1, 2], "basket 1 names item 2 more than once"),
    ],
)
def test_items_outside_the_ground_set_and_repeated_items(basket, message):
    with pytest.raises(LabelError, match=message):
        read_baskets([[2], basket], 3)


def test_an_item_may_end_one_basket_and_begin_the_next():
    assert [b.tolist() for b in read_baskets([[1], [1], [0, 1], [1, 2]])] == [[1], [1], [0, 1], [1, 2]]


def test_baskets_as_large_as_the_rank():
    assert LowRankKernel(rank=3, n_epochs=1, rng=0).fit(BASKETS).rank_ == 3
    with pytest.raises(SizeError, match=r"basket 8 has 3 items, but the rank is 2.*\(1 of 10 baskets"):
        LowRankKernel(rank=2, n_epochs=1, rng=0).fit(BASKETS)
    # V and B of rank 2 hold sets of 4, of rank 1 only single items.
    five = [*BASKETS, [4]]
    assert NonsymmetricKernel(rank=2, n_epochs=1, rng=0).fit([*five, [0, 1, 2, 3]]).n_items_ == 5
    with pytest.raises(SizeError, match="V and B of rank 2 holds at most 4"):
        NonsymmetricKernel(rank=2, n_epochs=1, rng=0).fit([*five, [0, 1, 2, 3, 4]])
    with pytest.raises(SizeError, match="holds at most 1"):
        NonsymmetricKernel(rank=1, n_epochs=1, rng=0).fit([[0, 1], [2]])


@pytest.mark.parametrize(
    "matrix",
    [
        scipy.sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
        scipy.sparse.coo_array(([1, 1, 1, 1], ([0, 0, 0, 2], [2, 2, 0, 1])), shape=(3, 3)),
        scipy.sparse.csc_array(np.array([[True, False, True], [False, False, False], [False, True, False]])),
    ],
)
def test_sparse_matrices_of_baskets(matrix):
    model = IndependentItems(pseudo_count=0.0).fit(matrix)
    assert model.p_ == pytest.approx(np.array([1.0, 1.0, 1.0]) / 3.0)
    model.fit(scipy.sparse.csr_array((2, 3)))
    assert model.p_.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(DiversetError, match="holds -1"):
        model.fit(scipy.sparse.csr_array([[1.0, -1.0]]))
    with pytest.raises(DiversetError, match="complex128 values"):
        model.fit(scipy.sparse.csr_array([[1.0 + 1j]]))


# answers of basket models ------------------------------------------------------------------------------------


def test_recommendations_and_completions_at_their_limits():
    model = FullRankKernel(max_iter=5).fit(BASKETS)
    assert model.recommend([0], 0) == []
    listed = model.recommend([0], 99)
    assert sorted(r.item for r in listed) == [1, 2, 3]
    assert [r.score for r in listed] == sorted((r.score for r in listed), reverse=True)
    scores = model.next_item_scores([0])
    assert [r.score for r in listed] == [scores[r.item] for r in listed]
    assert scores[0] == 1.0
    assert model.complete([0], 0) == []
    assert sorted(model.complete([0], 3)) == [1, 2, 3]
    with pytest.raises(SizeError, match="k is 4, but only 3 items"):
        model.complete([0], 4)
    assert model.score(BASKETS) == pytest.approx(model.log_prob(BASKETS).mean())
    # Ties go to the item of lower number.
    even = IndependentItems().fit([[0], [1], [2]])
    assert [r.item for r in even.recommend([], 2)] == [0, 1]


def test_names_given_twice_or_with_a_number_are_refused():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(LabelError, match="more than once"):
        IndependentItems().fit([["a"]], n_items=["a", "a"])
    table = pandas.DataFrame({"order": [1, 1, 2], "item": ["a", "b", "a"]})
    with pytest.raises(DiversetError, match="n_items is 2, but the baskets hold names"):
        IndependentItems().fit(table, n_items=2)
    with pytest.raises(LabelError, match="over 4 items, and the model over 3"):
        IndependentItems().fit([[0], [2]]).log_prob(scipy.sparse.csr_array((1, 4)))


@pytest.mark.parametrize("width", [0, 1, 2, 3])
def test_the_largest_set_of_a_skew_form(width):
    """A skew-symmetric matrix has even rank; larger sets than the rank of L have probability 0."""
    rng = np.random.default_rng(width)
    D = rng.standard_normal((width, width))
    form = LowRank(rng.standard_normal((6, 2)), rng.standard_normal((6, width)), D - D.T)
    assert form.largest == 2 + 2 * (width // 2)
    L = form.blocks(np.arange(6)[None])[0]
    assert np.linalg.matrix_rank(L) == form.largest
    for k in range(7):
        p = math.exp(form.log_probs(read_baskets([range(k)], 6))[0])
        assert p == pytest.approx(np.linalg.det(L[:k, :k]) / np.linalg.det(L + np.eye(6)), abs=1e-12)
        if k > form.largest:
            assert p == 0.0
            with pytest.raises(ImpossibleEventError):
                form.next_item_scores(np.arange(k))


def test_dependent_items_have_no_next_item():
    rows = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1e-4]])
    for form in (Dense(rows @ rows.T), LowRank(rows)):
        for basket in ([0, 1], [3], [0, 3]):
            with pytest.raises(ImpossibleEventError, match="probability 0 to appear together"):
                form.next_item_scores(np.array(basket))
        # Items that almost depend on each other may appear together.
        scores = form.next_item_scores(np.array([0, 2, 4]))
        assert scores == pytest.approx([1.0, 0.0, 1.0, 0.0, 1.0], abs=1e-5)
        assert form.next_item_scores(np.zeros(0, dtype=np.int64)) == pytest.approx(form.marginal_diagonal)


def test_certain_items_of_independent_baskets():
    model = IndependentItems(pseudo_count=0.0).fit([[0, 1], [0], [0, 1], [0]], n_items=3)
    assert model.p_.tolist() == [1.0, 0.5, 0.0]
    assert np.exp(model.log_prob([[0], [0, 1], [1], [], [0, 2]])) == pytest.approx([0.5, 0.5, 0.0, 0.0, 0.0])
    two = IndependentItems(pseudo_count=0.0).fit([[0, 1]], n_items=2)
    assert np.exp(two.log_prob([[0, 1], [0], [1], []])).tolist() == [1.0, 0.0, 0.0, 0.0]
    smooth = IndependentItems(pseudo_count=2.0).fit([[0], [0]], n_items=2)
    assert smooth.p_ == pytest.approx([4.0 / 6.0, 2.0 / 6.0])
    assert two.next_item_scores([0]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rate", [0.3, 2.0, 30.0])
def test_poisson_model_is_its_formula(rate):
    w = np.array([0.5, 2.0, 1.0, 0.0, 1.5])
    model = PoissonItems()
    model._keep(w, rate)
    sets = [[], [0], [1, 2], [0, 1, 2, 4]]
    e = np.poly(-w)  # elementary symmetric polynomials e_0, e_1, ...
    mass = np.array([rate**k / math.factorial(k) for k in range(5)])
    expected = [mass[len(Y)] / mass.sum() * np.prod(w[Y]) / e[len(Y)] for Y in sets]
    assert np.exp(model.log_prob(sets)) == pytest.approx(expected, rel=1e-10)
    assert model.log_prob([[3]])[0] == -math.inf
    law = model.dpp_
    for basket in ([], [1], [0, 1], [0, 1, 2]):
        given = model.next_item_scores(basket)
        for i in range(5):
            together = law.marginal(sorted({*basket, i})) / law.marginal(basket)
            assert given[i] == pytest.approx(together, abs=1e-9)
    with pytest.raises(ImpossibleEventError):
        model.next_item_scores([3])


# the comparison of recommenders ------------------------------------------------------------------------------


def test_errors_of_the_comparison_are_those_of_a_mean():
    model = IndependentItems().fit([[0], [0], [0], [1], [1], [2]], n_items=4)
    report = compare_next_item(model, [[0], [0], [0], [1], [1], [2]], [[0, 3]] * 40, n=1, rng=0)
    row = report["model"]
    # Removed: item 0 (rank 1 of 3) or item 3 (last of 3).
    p = row.hit_rate
    assert 0.2 < p < 0.8
    assert row.mean_rank == pytest.approx(p + 3.0 * (1.0 - p))
    assert row.percentile == pytest.approx(100.0 * p)
    spread = math.sqrt(p * (1.0 - p) * 40 / 39) / math.sqrt(40)
    assert row.hit_error == pytest.approx(1.96 * spread)
    assert row.rank_error == pytest.approx(2.0 * 1.96 * spread)
    assert row.percentile_error == pytest.approx(100.0 * 1.96 * spread)
    assert report.n_baskets == 40
    single = compare_next_item(model, [[0]], [[0, 3], [1]], n=1)
    assert single.n_baskets == 1
    assert math.isnan(single["model"].hit_error)
    two = compare_next_item(model, [[0]], [[0, 3]] * 2, n=1)
    assert not math.isnan(two["model"].hit_error)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_tied_items_share_ranks_and_hits(n):
    """All four other items tie: the removed one is among the first n with probability n / 4."""
    model = IndependentItems().fit([[0], [1], [2], [3], [4]])
    report = compare_next_item(model, [[0]], [[0, 1]], n=n)
    assert report["model"].hit_rate == pytest.approx(n / 4)
    assert report["model"].mean_rank == pytest.approx(2.5)
    assert report["model"].percentile == pytest.approx(50.0)


def test_baselines_of_the_comparison():
    train = [[0, 1], [0, 1], [0, 2], [3], [3], [3], [3]]
    model = IndependentItems().fit(train)
    report = compare_next_item(model, train, [[0, 1]] * 20, n=1, rng=1)
    # Item 1 goes with 0 most often, and item 0 always with 1, though item 3 is the most popular.
    assert report["co-occurrence"].hit_rate == 1.0
    assert report["popularity"].hit_rate == 0.0
    assert 2.0 <= report["popularity"].mean_rank <= 3.0
    # Items that never went with those of the basket are ranked by their popularity.
    rare = compare_next_item(model, train, [[1, 3]] * 20, n=1, rng=1)
    assert rare["co-occurrence"].mean_rank == pytest.approx(2.0, abs=0.6)
    assert compare_next_item(model, train, [[0, 1]] * 20, max_baskets=20).n_baskets == 20
    assert compare_next_item(model, train, [[0, 1]] * 20, max_baskets=19).n_baskets == 19


# iterations beside plain versions ----------------------------------------------------------------------------


def plain_adam(parameters, objective, n, epochs, batch, rate, rng):
    """Adam as in the paper, with a step that decays along half a cosine and is relative to the first values."""
    sizes = {name: np.sqrt((x**2).mean()) for name, x in parameters.items()}
    m = {name: 0.0 * x for name, x in parameters.items()}
    v = {name: 0.0 * x for name, x in parameters.items()}
    per_pass = -(-n // batch)
    t, trace = 0, []
    for _ in range(epochs):
        order = rng.permutation(n)
        values = []
        for b in range(per_pass):
            chosen = order[b * batch : (b + 1) * batch]
            value, gradients = objective(parameters, chosen)
            values += [value] * len(chosen)
            if t == 0:
                trace.append(value)
            decay = (1 + np.cos(np.pi * t / (epochs * per_pass))) / 2
            t += 1
            for name, g in gradients.items():
                m[name] = 0.9 * m[name] + 0.1 * g
                v[name] = 0.999 * v[name] + 0.001 * g**2
                mean, square = m[name] / (1 - 0.9**t), v[name] / (1 - 0.999**t)
                step = mean / (np.sqrt(square) + 1e-8 / np.sqrt(1 - 0.999**t))
                parameters[name] = parameters[name] + decay * rate * sizes[name] * step
        trace.append(np.mean(values))
    return trace


def first_rows(read, width, rng):
    p = (read.counts + 0.5) / (len(read) + 1)
    rows = rng.standard_normal((read.n_items, width))
    return rows / np.linalg.norm(rows, axis=1)[:, None] * np.sqrt(p / (1 - p))[:, None]


@pytest.mark.parametrize("batch", [3, 4, 5, 10, 200])
def test_low_rank_learning_is_adam_on_its_objective(batch):
    read = read_baskets(BASKETS)
    model = LowRankKernel(
        rank=3, n_epochs=4, batch_size=batch, learning_rate=0.3, regularization=0.7, pseudo_count=2.0, rng=5
    ).fit(BASKETS)
    rng = np.random.default_rng(5)
    parameters = {"V": first_rows(read, 3, rng)}
    penalty = 0.7 / np.maximum(read.counts, 1.0)
    trace = plain_adam(
        parameters, lambda at, chosen: low_rank_objective(at, read, chosen, penalty, 0.2), 10, 4, batch, 0.3, rng
    )
    np.testing.assert_allclose(model.V_, parameters["V"], rtol=1e-8)
    np.testing.assert_allclose(model.convergence_.objective, trace, rtol=1e-8)
    assert model.convergence_.converged == (trace[-1] - trace[-2] < 1e-3)


def test_nonsymmetric_learning_is_adam_on_its_objective():
    read = read_baskets(BASKETS)
    model = NonsymmetricKernel(
        rank=3, n_epochs=3, batch_size=4, regularization=0.7, regularization_skew=0.3, pseudo_count=1.0, rng=5
    ).fit(BASKETS)
    rng = np.random.default_rng(5)
    parameters = {"V": first_rows(read, 3, rng), "B": first_rows(read, 3, rng), "D": rng.standard_normal((3, 3))}
    mu = np.maximum(read.counts, 1.0)
    plain_adam(
        parameters,
        lambda at, chosen: nonsymmetric_objective(at, read, chosen, 0.7 / mu, 0.3 / mu, 0.1),
        10, 3, 4, 0.1, rng,
    )  # fmt: skip
    np.testing.assert_allclose(model.B_, parameters["B"], rtol=1e-7)
    np.testing.assert_allclose(model.C_, parameters["D"] - parameters["D"].T, rtol=1e-7)


@pytest.mark.parametrize(("n", "batch", "passes"), [(10, 200, 1000), (10, 5, 500), (10, 3, 250), (400, 10, 30)])
def test_default_number_of_passes(n, batch, passes):
    """30 passes, or as many as 1,000 steps need."""
    baskets = [[t % 3] for t in range(n)]
    model = LowRankKernel(rank=1, batch_size=batch, rng=0).fit(baskets)
    assert model.convergence_.n_iter == passes


def test_learning_rates_that_overflow_are_refused():
    with pytest.raises(DiversetError, match="lower"):
        LowRankKernel(rank=3, learning_rate=1e300, rng=0).fit(BASKETS)


@pytest.mark.parametrize("count", [1, 2])
def test_a_pseudo_count_is_baskets_of_one_item_each(count):
    more = BASKETS + [[i] for i in range(4)] * count
    L = wishart(4, 6, 0)
    evidence, plain = Evidence(read_baskets(BASKETS), float(count)), Evidence(read_baskets(more))
    assert mean_log_likelihood(L, evidence) == pytest.approx(mean_log_likelihood(L, plain), rel=1e-12)
    assert evidence.inverses(L) == pytest.approx(plain.inverses(L), rel=1e-12)
    start = np.eye(4)
    ours = FullRankKernel(pseudo_count=count, init=start, max_iter=4, step=1.0).fit(BASKETS)
    theirs = FullRankKernel(init=start, max_iter=4, step=1.0).fit(more)
    assert ours.L_ == pytest.approx(theirs.L_, rel=1e-9)


def test_likelihood_of_a_kernel_is_the_mean_over_baskets():
    L = wishart(4, 6, 1)
    law = law_from_L(L)
    exact = np.mean([math.log(law[frozenset(Y)]) for Y in BASKETS])
    assert mean_log_likelihood(L, Evidence(read_baskets(BASKETS))) == pytest.approx(exact, rel=1e-12)
    singular = np.ones((4, 4))
    assert mean_log_likelihood(singular, Evidence(read_baskets(BASKETS))) == -math.inf


@pytest.mark.parametrize("step", [0.5, 1.0])
def test_a_picard_step_is_its_formula(step):
    L = wishart(4, 6, 2)
    read = read_baskets(BASKETS)
    S = np.zeros((4, 4))
    for basket in read:
        S[np.ix_(basket, basket)] += np.linalg.inv(L[np.ix_(basket, basket)]) / 10
    value, found = next(picard_steps(L, Evidence(read), step=step))
    expected = L + step * L @ (S - np.linalg.inv(np.eye(4) + L)) @ L
    assert found == pytest.approx(expected, rel=1e-10)
    assert value == pytest.approx(mean_log_likelihood(expected, Evidence(read)), rel=1e-12)


def test_picard_steps_grow_while_they_help():
    """The first step is the plain one, the second 1.3 times as long if that does not lower the likelihood."""
    L, read = 0.1 * np.eye(4), read_baskets(BASKETS)
    evidence = Evidence(read)
    ours, plain = picard_steps(L, evidence, step=None), picard_steps(L, evidence, step=1.0)
    (_, first), (_, expected) = next(ours), next(plain)
    assert first == pytest.approx(expected, rel=1e-12)
    (_, second), (_, plain_second) = next(ours), next(plain)
    assert second - first == pytest.approx(1.3 * (plain_second - first), rel=1e-9)


@pytest.mark.parametrize("algorithm", ["picard", "em"])
@pytest.mark.parametrize("limit", [1, 3])
def test_fits_end_after_their_iterations(algorithm, limit):
    model = FullRankKernel(algorithm=algorithm, max_iter=limit, tol=0.0, init="wishart", rng=0).fit(BASKETS)
    assert model.convergence_.n_iter == limit
    assert not model.convergence_.converged
    rough = FullRankKernel(algorithm=algorithm, max_iter=50, tol=10.0, rng=0).fit(BASKETS)
    assert (rough.convergence_.n_iter, rough.convergence_.converged) == (1, True)
    assert model.convergence_.objective[-1] == pytest.approx(model.score(BASKETS), rel=1e-9)


@pytest.mark.parametrize(
    "learner",
    [
        lambda tol: FullRankKernel(max_iter=1, tol=tol),
        lambda tol: FullRankKernel(algorithm="em", max_iter=1, tol=tol),
        lambda tol: LowRankKernel(rank=3, n_epochs=4, tol=tol, rng=0),
    ],
)
def test_converged_is_a_last_gain_below_the_tolerance(learner):
    """Not a gain that equals it."""
    trace = learner(0.0).fit(BASKETS).convergence_.objective
    gain = float(trace[-1] - trace[-2])
    assert gain > 0.0
    equal, above = (learner(tol).fit(BASKETS).convergence_ for tol in (gain, math.nextafter(gain, 1.0)))
    assert equal.objective.tolist() == above.objective.tolist() == trace.tolist()
    assert (equal.converged, above.converged) == (False, True)


def test_converged_weights_of_poisson_items():
    trace = PoissonItems(max_iter=3, tol=0.0).fit(BASKETS).convergence_.objective
    error = -float(trace[-1])
    assert error < -trace[-2]
    for tol, converged in ((error, False), (math.nextafter(error, 1.0), True)):
        found = PoissonItems(max_iter=3, tol=tol).fit(BASKETS).convergence_
        assert (found.converged, found.n_iter) == (converged, 3)


def test_starts_of_full_rank_learning():
    read = read_baskets(BASKETS)
    rng = np.random.default_rng(3)
    B = rng.standard_normal((4, 4))
    start = FullRankKernel(init="wishart", rng=3, max_iter=1).fit(BASKETS).convergence_.objective[0]
    assert start == pytest.approx(mean_log_likelihood(B @ B.T / 4, Evidence(read)), rel=1e-12)
    for wrong in (np.eye(3), np.ones((4, 3)), 1j * np.array([[0, 1], [-1, 0]]), np.diag([1.0, 1, 1, -1])):
        with pytest.raises(DiversetError):
            FullRankKernel(init=wrong).fit(BASKETS)
    with pytest.raises(DiversetError, match="makes an observed basket impossible"):
        FullRankKernel(init=np.ones((4, 4))).fit(BASKETS)


@pytest.mark.parametrize("seed", range(6))
def test_first_kernel_has_the_observed_frequencies(seed):
    """Entries off the diagonal are those of a DPP with these pairs, shrunk until the matrix is safely positive."""
    rng = np.random.default_rng(seed)
    n = 6
    baskets = [np.flatnonzero(rng.random(n) < 0.35) for _ in range(9 if seed % 2 else 60)]
    read = read_baskets(baskets, n)
    K = dv.DPP(moment_kernel(read)).K
    p = (read.counts + 0.5) / (len(read) + 1)
    raw = np.sqrt(np.maximum(np.outer(p, p) - read.pair_counts().toarray() / len(read), 0.0))
    np.fill_diagonal(raw, 0.0)
    lowest = np.linalg.eigvalsh(raw / np.sqrt(np.outer(p, p)))[0]
    shrink = min(1.0, 0.9 / -lowest)
    expected = shrink * raw + np.diag(p)
    kappa, V = np.linalg.eigh(expected)
    assert kappa[0] > 0.0
    assert K == pytest.approx((V * np.minimum(kappa, 1.0 - 1e-3)) @ V.T, abs=1e-10)


# weights on the simplex --------------------------------------------------------------------------------------


def test_descent_on_the_simplex_reports_its_gap():
    target = np.array([0.6, 0.3, 0.1])
    calls = []

    def objective(theta):
        calls.append(theta)
        return float(((theta - target) ** 2).sum()), 2.0 * (theta - target)

    start = np.full(3, 1.0 / 3.0)
    theta, report = minimize_on_simplex(objective, start, max_iter=50, tol=1e-12)
    assert theta == pytest.approx(target, abs=1e-6)
    assert report.converged
    assert (np.diff(report.objective) >= 0.0).all()
    assert report.objective[0] == pytest.approx(-((start - target) ** 2).sum())
    assert report.objective[-1] == pytest.approx(0.0, abs=1e-12)
    # For a quadratic with equal curvatures, the second step of Barzilai and Borwein ends at the minimum.
    assert report.n_iter <= 3
    once = minimize_on_simplex(objective, start, max_iter=1, tol=0.0)[1]
    assert (once.n_iter, once.converged) == (1, False)
    there, done = minimize_on_simplex(objective, target, max_iter=5, tol=1e-9)
    assert (done.n_iter, done.converged) == (0, True)
    assert there == pytest.approx(target)
    corner, linear = minimize_on_simplex(
        lambda theta: (float(theta @ [3.0, 1.0, 2.0]), np.array([3.0, 1.0, 2.0])), start, max_iter=50, tol=1e-9
    )
    assert corner == pytest.approx([0.0, 1.0, 0.0], abs=1e-9)
    assert linear.converged


def alike(pairs, n=4):
    S = np.eye(n)
    for i, j in pairs:
        S[i, j] = S[j, i] = 0.9
    return S


EXPERTS = [alike([(0, 1)]), alike([(0, 2)]), alike([(0, 3), (1, 2)])]


def judged():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(12):
        i, j, k = rng.permutation(4)[:3]
        first, second = sorted([int(i), int(j)]), sorted([int(i), int(k)])
        better = np.linalg.det(EXPERTS[1][np.ix_(first, first)]) >= np.linalg.det(EXPERTS[1][np.ix_(second, second)])
        found.append(Comparison(EXPERTS, *((first, second) if better else (second, first))))
    return found


@pytest.mark.parametrize("folds", [2, 4])
@pytest.mark.parametrize("learner", [KDPPMixtureLearner, MMRMixtureLearner])
def test_gamma_has_the_fewest_mistakes_on_held_out_comparisons(learner, folds):
    pairs, gammas = judged(), [0.1, 1.0, 30.0, 3.0]
    model = learner(gammas=gammas, cv=folds, rng=7).fit(pairs)
    part = np.random.default_rng(7).permutation(np.arange(len(pairs)) % folds)
    right = {}
    for gamma in sorted(gammas):
        right[gamma] = 0.0
        for fold in range(folds):
            inside = [c for c, f in zip(pairs, part, strict=True) if f != fold]
            outside = [c for c, f in zip(pairs, part, strict=True) if f == fold]
            right[gamma] += learner(gamma=gamma).fit(inside).score(outside) * len(outside)
    assert model.gamma_ == max(right, key=right.get)  # the smallest of equally good ones


@pytest.mark.parametrize("gamma", [0.5, 20.0])
def test_the_search_for_weights_starts_from_equal_ones(gamma):
    pairs = judged()
    logs = np.array([[[dv.KDPP(S, 2).log_prob(Y) for S in EXPERTS] for Y in (c.better, c.worse)] for c in pairs])
    p = np.exp(logs - logs.max())
    loss = np.log1p(np.exp(-gamma * (p[:, 0] - p[:, 1]).mean(axis=1))).mean()
    report = KDPPMixtureLearner(gamma=gamma, max_iter=1).fit(pairs).convergence_
    assert report.objective[0] == pytest.approx(-loss, rel=1e-12)
    assert report.n_iter == 1
    mean = np.mean(EXPERTS, axis=0)
    margins = []
    for c in pairs:
        better, worse = set(c.better), set(c.worse)
        (shared,), (plus,), (minus,) = better & worse, better - worse, worse - better
        margins.append(mean[minus, shared] - mean[plus, shared])
    report = MMRMixtureLearner(gamma=gamma, max_iter=1).fit(pairs).convergence_
    assert report.objective[0] == pytest.approx(-np.log1p(np.exp(-gamma * np.array(margins))).mean(), rel=1e-12)


def test_gamma_without_folds_is_the_middle_candidate():
    pairs = judged()
    assert KDPPMixtureLearner(gammas=[1.0, 9.0, 4.0], cv=1).fit(pairs).gamma_ == 4.0
    assert KDPPMixtureLearner(gammas=[1.0, 9.0]).fit(pairs[:1]).gamma_ == 9.0
    assert KDPPMixtureLearner(gammas=[5.0]).fit(pairs).gamma_ == 5.0
    with pytest.raises(DiversetError, match="gammas is empty"):
        KDPPMixtureLearner(gammas=[]).fit(pairs)


def test_ties_count_one_half():
    same = [Comparison([np.eye(3), 2.0 * np.eye(3)], [0, 1], [1, 2])]
    model = KDPPMixtureLearner(gamma=1.0).fit(same)
    assert model.score(same) == 0.5
    assert model.predict(same).tolist() == [False]
    assert model.weights_ == pytest.approx([0.5, 0.5])
    mmr = MMRMixtureLearner(gamma=1.0).fit(same)
    assert mmr.score(same) == 0.5
    better = [Comparison(EXPERTS[:1], [0, 2], [0, 1])]
    for learner in (KDPPMixtureLearner, MMRMixtureLearner):
        fitted = learner(gamma=1.0).fit(better)
        assert (fitted.score(better), fitted.predict(better).tolist()) == (1.0, [True])
        turned = [Comparison(EXPERTS[:1], [0, 1], [0, 2])]
        assert (fitted.score(turned), fitted.predict(turned).tolist()) == (0.0, [False])


@pytest.mark.parametrize(
    ("better", "worse", "message"),
    [([0, 1], [2, 3], "share 0 items and differ in 2"), ([0], [1], "share 0 items"), ([0, 1], [0, 1], "differ in 0")],
)
def test_sets_for_mmr_share_all_but_one_item(better, worse, message):
    with pytest.raises(DiversetError, match=message):
        MMRMixtureLearner(gamma=1.0).fit([Comparison(EXPERTS, better, worse)])


# quality -----------------------------------------------------------------------------------------------------


def quality_data(number=12, n=5, seed=0):
    rng = np.random.default_rng(seed)
    instances = [Instance(rng.standard_normal((n, 2)), diversity=rng.standard_normal((n, 3))) for _ in range(number)]
    truth = QualityModel().set_coef([0.8, -0.4])
    return instances, [truth.dpp(x).sample(rng=rng) for x in instances]


def test_cross_validation_by_hand():
    instances, sets = quality_data()
    variances, rhos, folds = [0.1, 10.0], [0.0, 0.7], 3
    model = QualityModelCV(prior_variances=variances, rhos=rhos, cv=folds, rng=2).fit(instances, sets)
    part = np.random.default_rng(2).permutation(np.arange(12) % folds)
    expected = np.zeros((2, 2))
    for r, rho in enumerate(rhos):
        for v, variance in enumerate(variances):
            for fold in range(folds):
                inside, outside = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
                fitted = QualityModel(rho=rho, prior_variance=variance)
                fitted.fit([instances[t] for t in inside], [sets[t] for t in inside])
                held_out = fitted.log_prob([instances[t] for t in outside], [sets[t] for t in outside])
                expected[r, v] += held_out.sum() / 12
    assert model.scores_ == pytest.approx(expected, abs=1e-6)
    r, v = np.unravel_index(expected.argmax(), expected.shape)
    assert (model.rho_, model.prior_variance_) == (rhos[r], variances[v])
    plain = QualityModel(rho=rhos[r], prior_variance=variances[v]).fit(instances, sets)
    assert model.coef_ == pytest.approx(plain.coef_, abs=1e-6)
    assert model.score(instances, sets) == pytest.approx(plain.score(instances, sets), abs=1e-8)


def test_numbers_of_folds_at_their_limits():
    instances, sets = quality_data(4)
    search = {"prior_variances": [1.0], "rhos": [0.0], "rng": 0}
    for folds in (2, 4):
        assert QualityModelCV(cv=folds, **search).fit(instances, sets).scores_.shape == (1, 1)
    for folds in (1, 5):
        with pytest.raises(DiversetError, match=f"cv is {folds} for 4 instances; it must be 2 to 4"):
            QualityModelCV(cv=folds, **search).fit(instances, sets)
    with pytest.raises(DiversetError, match="4 instances but 3 observed sets"):
        QualityModelCV(cv=2, **search).fit(instances, sets[:3])
    for empty in ({"prior_variances": []}, {"rhos": []}):
        with pytest.raises(DiversetError, match="at least one candidate"):
            QualityModelCV(cv=2, **(search | empty)).fit(instances, sets)


@pytest.mark.parametrize("fixed_size", [False, True])
def test_gradient_and_covariance_at_the_maximum(fixed_size):
    instances, sets = quality_data(seed=3)
    for variance in (None, 0.5):
        model = QualityModel(prior_variance=variance, fixed_size=fixed_size).fit(instances, sets)
        pull = 0.0 if variance is None else model.coef_ / variance
        assert model.gradient(instances, sets) == pytest.approx(pull, abs=1e-6)
        assert model.gradient(instances, sets, model.coef_) == pytest.approx(pull, abs=1e-6)
        assert model.log_likelihood_ == pytest.approx(model.log_prob(instances, sets).sum())
        assert model.convergence_.converged
        step = 1e-4
        hessian = np.array(
            [
                (
                    model.gradient(instances, sets, model.coef_ + step * e)
                    - model.gradient(instances, sets, model.coef_ - step * e)
                )
                / (2 * step)
                for e in np.eye(2)
            ]
        )
        information = -hessian + (0.0 if variance is None else np.eye(2) / variance)
        assert model.covariance_ == pytest.approx(np.linalg.inv(information), rel=1e-5)
        assert model.standard_errors_ == pytest.approx(np.sqrt(np.diagonal(model.covariance_)))


def test_quality_is_the_root_of_the_odds():
    model = QualityModel().set_coef([1.0, -2.0])
    instance = Instance([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    assert model.quality(instance) == pytest.approx(np.exp([0.5, -1.0, -1.0]))
    assert model.dpp(instance).L == pytest.approx(np.diag(np.exp([1.0, -2.0, -2.0])))
    big = QualityModel().set_coef([1400.0])
    assert big.quality(Instance([[1.0]]))[0] == pytest.approx(math.exp(700.0))
    with pytest.raises(KernelError, match=r"a quality is exp\(701\)"):
        big.quality(Instance([[1.0], [701.0 / 700.0]]))


def test_qualities_up_to_the_range_of_floats():
    instance = Instance([[1.0], [0.0]])
    for coef, expected in ((680.0, -math.log(2.0)), (684.0, -math.inf), (-5000.0, -5000.0 - math.log(2.0))):
        model = QualityModel().set_coef([coef])
        assert model.log_prob([instance], [[0]])[0] == pytest.approx(expected, rel=1e-12)
        assert model.gradient([instance], [[0]]).shape == (1,)
    # With a fixed size, a common factor of the qualities does not matter.
    fixed = QualityModel(fixed_size=True).set_coef([5000.0])
    assert fixed.log_prob([instance, instance], [[0], [1]]) == pytest.approx([0.0, -5000.0], abs=1e-9)


def test_features_that_are_constant_or_dependent_are_named():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((2, 4, 2))
    sets = [[0], [1, 2]]

    def fit(columns, **parameters):
        QualityModel(**parameters).fit([Instance(columns(F[t])) for t in range(2)], sets)

    with pytest.raises(DiversetError, match="feature 1 is always 0"):
        fit(lambda f: np.column_stack([f[:, 0], np.zeros(4), f[:, 1]]))
    with pytest.raises(DiversetError, match=r"feature 2 is constant within every instance.*instance 0: value 3"):
        fit(lambda f: np.column_stack([f, np.full(4, 3.0)]), fixed_size=True)
    with pytest.raises(DiversetError, match=r"features \[0, 2\] are linearly dependent"):
        fit(lambda f: np.column_stack([f, 5.0 * f[:, 0]]))
    with pytest.raises(DiversetError, match=r"features \[0, 1, 2\] are linearly dependent"):
        fit(lambda f: np.column_stack([f, f.sum(axis=1) * 1e-8]))
    with pytest.raises(DiversetError, match=r"features \[0, 2\] are linearly dependent"):
        fit(lambda f: np.column_stack([f, f[:, 0] + 7.0]), fixed_size=True)
    # A prior determines them.
    fit(lambda f: np.column_stack([f, f[:, 0]]), prior_variance=1.0)


def test_warm_starts_and_limits_of_iterations():
    instances, sets = quality_data()
    cold = QualityModel().fit(instances, sets)
    warm = QualityModel(warm_start=True).fit(instances, sets)
    again = warm.fit(instances, sets).convergence_
    assert again.n_iter < cold.convergence_.n_iter
    assert warm.coef_ == pytest.approx(cold.coef_, abs=1e-7)
    # At the maximum there is nothing to do, whatever the scale of the features.
    scaled = [Instance(x.features * [1e-2, 1e2], diversity=x.diversity) for x in instances]
    assert QualityModel(warm_start=True).fit(scaled, sets).fit(scaled, sets).convergence_.n_iter == 0
    # Weights of another number of features are no start.
    narrow = [Instance(x.features[:, :1], diversity=x.diversity) for x in instances]
    assert warm.fit(narrow, sets).coef_ == pytest.approx(QualityModel().fit(narrow, sets).coef_, abs=1e-7)
    short = QualityModel(max_iter=1).fit(instances, sets)
    assert short.convergence_.n_iter == 1
    assert not short.convergence_.converged
    for variance, fine in ((1e-100, True), (0.5e-100, False)):
        model = QualityModel(prior_variance=variance)
        if fine:
            assert model.fit(instances, sets).coef_ == pytest.approx([0.0, 0.0], abs=1e-90)
        else:
            with pytest.raises(DiversetError, match="leaves nothing to learn"):
                model.fit(instances, sets)


def test_logistic_quality_ignores_rho_and_similarity_in_training():
    instances, sets = quality_data()
    model = LogisticQuality(rho=0.9).fit(instances, sets)
    assert model.rho == 0.9
    plain = QualityModel().fit([Instance(x.features) for x in instances], sets)
    assert model.coef_ == pytest.approx(plain.coef_, abs=1e-7)


@pytest.mark.parametrize("fixed_size", [False, True])
def test_empty_sets_and_empty_instances(fixed_size):
    rng = np.random.default_rng(0)
    instances = [Instance(rng.standard_normal((4, 2))) for _ in range(6)]
    sets = [[], [0], [1, 2], [3], [0, 1, 2], [0]]
    model = QualityModel(fixed_size=fixed_size, prior_variance=1.0).fit(instances, sets)
    more = model.log_prob([*instances, Instance(np.zeros((0, 2)))], [*sets, []])
    assert more[-1] == 0.0
    if fixed_size:
        assert more[0] == pytest.approx(0.0, abs=1e-12)
    q = np.exp(instances[1].features @ model.coef_)
    total = q.sum() if fixed_size else np.prod(1.0 + q)
    assert more[1] == pytest.approx(math.log(q[0] / total), abs=1e-9)
    wider = QualityModel(fixed_size=fixed_size, prior_variance=1.0)
    wider.fit([*instances, Instance(np.zeros((0, 2)))], [*sets, []])
    assert wider.coef_ == pytest.approx(model.coef_, abs=1e-6)


@pytest.mark.parametrize(
    ("S", "chosen", "named"),
    [
        ([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0, 1, 2], r"\[0, 1\]"),
        ([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]], [0, 1, 2], r"\[0, 1, 2\]"),
        ([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [0, 1], r"\[1\]"),
        ([[1.0, 0.0, 0.0], [0.0, 4.0, 2.0], [0.0, 2.0, 1.0]], [0, 1, 2], r"\[1, 2\]"),
    ],
)
def test_dependent_items_of_an_observed_set_are_named(S, chosen, named):
    with pytest.raises(UnboundedLikelihoodError, match=rf"instance 0: .* its items {named} are linearly dependent"):
        QualityModel().fit([Instance(np.ones((3, 1)), similarity=S)], [chosen])


def test_separating_directions_are_described():
    """In four instances the set is the best by the first feature; only three of them are named."""
    instances = [Instance([[1.0 + t, 0.5], [-1.0, -0.5 - t]]) for t in range(4)]
    with pytest.raises(UnboundedLikelihoodError, match=r"instance 0, instance 1, instance 2, \.\.\. \(items \[0, 1\]"):
        QualityModel().fit(instances, [[0]] * 4)
    with pytest.raises(UnboundedLikelihoodError, match=r"seen in instance 0, instance 1, instance 2 \(items"):
        QualityModel().fit(instances[:3], [[0]] * 3)


# files -------------------------------------------------------------------------------------------------------


def forged(path, change):
    """Change the header of a saved model."""
    head, _, payload = path.read_bytes().partition(b"\n\n")
    first, _, text = head.partition(b"\n")
    header = json.loads(text)
    payload = change(header, payload) or payload
    path.write_bytes(first + b"\n" + json.dumps(header, indent=1).encode() + b"\n\n" + payload)


def test_numbers_at_the_edges_of_their_range_are_loaded(tmp_path):
    path = tmp_path / "model"
    certain = IndependentItems(pseudo_count=0.0).fit([[0]], n_items=2)
    save_model(certain, path)
    assert load_model(path).p_.tolist() == [1.0, 0.0]
    certain.p_ = np.array([1.0, 1.0 + 1e-9])
    save_model(certain, path)
    with pytest.raises(DiversetError, match="entries lie between 0 and 1"):
        load_model(path)
    certain.p_ = np.array([1.0, -1e-9])
    save_model(certain, path)
    with pytest.raises(DiversetError, match="entries lie between 0 and 1"):
        load_model(path)
    certain.p_ = np.zeros(0)
    save_model(certain, path)
    with pytest.raises(DiversetError, match="it has no items"):
        load_model(path)


def test_weights_of_mixtures_sum_to_one(tmp_path):
    path = tmp_path / "model"
    model = KDPPMixtureLearner(gamma=1.0).fit(judged())
    for weights, message in (
        ([0.5, 0.5 + 1e-7, 0.0], None),
        ([0.5, 0.5 + 1e-5, 0.0], "weights sum to"),
        ([0.5, 0.5 - 1e-5, 0.0], "weights sum to"),
        ([1.1, -0.1, 0.0], "weights goes from -0.1"),
    ):
        model.weights_ = np.array(weights)
        save_model(model, path)
        if message is None:
            assert load_model(path).weights_.tolist() == weights
        else:
            with pytest.raises(DiversetError, match=message):
                load_model(path)
    model.weights_, model.gamma_ = np.array([1.0, 0.0, 0.0]), -1.0
    save_model(model, path)
    with pytest.raises(DiversetError, match="gamma goes from -1"):
        load_model(path)


def test_skew_matrices_are_skew_up_to_rounding(tmp_path):
    path = tmp_path / "model"
    model = NonsymmetricKernel(rank=2, n_epochs=1, rng=0).fit(BASKETS)
    for gap, fine in ((1e-10, True), (1e-8, False)):
        C = np.array([[0.0, 3.0], [-3.0 * (1.0 + gap), 0.0]])
        model._keep(LowRank(model.V_, model.B_, C))
        save_model(model, path)
        if fine:
            assert load_model(path).C_.tolist() == C.tolist()
        else:
            with pytest.raises(DiversetError, match="not skew-symmetric"):
                load_model(path)


def test_only_plain_parameters_are_saved(tmp_path):
    path = tmp_path / "model"
    model = QualityModelCV  # a search is no model that can be saved
    with pytest.raises(DiversetError, match="cannot be saved"):
        save_model(model(), path)
    learner = KDPPMixtureLearner(gammas=(1.0, math.inf), rng=np.random.default_rng(0), gamma=2.0).fit(judged())
    save_model(learner, path, note="from a test")
    loaded = load_model(path)
    assert loaded.gamma == 2.0
    assert loaded.rng is None
    assert len(loaded.gammas) == 13
    assert b'"note": "from a test"' in path.read_bytes()


@pytest.mark.parametrize(
    ("names", "fine"),
    [(["a", "b"], True), ([5, "b"], True), (["a", "a"], False), (["a"], False), (["a", 1.5], False), ("ab", False)],
)
def test_names_of_a_saved_model(tmp_path, names, fine):
    path = tmp_path / "model"
    save_model(IndependentItems().fit([["x", "y"]]), path)
    forged(path, lambda header, payload: header.update(names=names))
    if fine:
        assert load_model(path).names_.tolist() == names
    else:
        with pytest.raises(DiversetError, match="its names are not those of 2 items"):
            load_model(path)


@pytest.mark.parametrize("shape", [[-1, -2], [2.0], [True, 2], [2**40], ["2"], 2, [[2]]], ids=str)
def test_shapes_in_a_header_are_whole_numbers(tmp_path, shape):
    path = tmp_path / "model"
    save_model(IndependentItems().fit([[0, 1]]), path)
    forged(path, lambda header, payload: header.update(arrays={"p": shape}))
    with pytest.raises(DiversetError, match="is damaged: its header cannot be read"):
        load_model(path)


@pytest.mark.parametrize("extra", [b"", b"\0" * 8])
def test_files_that_are_too_short_or_too_long(tmp_path, extra):
    path = tmp_path / "model"
    save_model(IndependentItems().fit([[0, 1]]), path)
    data = path.read_bytes()
    path.write_bytes(data + extra if extra else data[:-8])
    with pytest.raises(DiversetError, match=f"take 16 bytes, and {24 if extra else 8} are there"):
        load_model(path)
