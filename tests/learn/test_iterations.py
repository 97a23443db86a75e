"""Each step of the learners beside a plain version of it, written from its formula."""

import math

import numpy as np
import pytest

import diverset as dv
from baskets_for_tests import BASKETS, EXPERTS, judged
from diverset.errors import DiversetError
from diverset.learn import (
    Comparison,
    FullRankKernel,
    KDPPMixtureLearner,
    LowRankKernel,
    MMRMixtureLearner,
    NonsymmetricKernel,
    PoissonItems,
)
from diverset.learn.baskets import read_baskets
from diverset.learn.comparisons import minimize_on_simplex
from diverset.learn.full_rank import Evidence, mean_log_likelihood, moment_kernel, picard_steps
from diverset.learn.low_rank import low_rank_objective, nonsymmetric_objective
from kernels_for_tests import wishart
from reference import law_from_L

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


@pytest.mark.parametrize(("n", "searched"), [(4, False), (5, True)])
def test_the_rank_is_searched_from_five_baskets_on(n, searched):
    model = LowRankKernel(n_epochs=1, rng=0).fit(BASKETS[:n], n_items=4)
    assert bool(model.rank_scores_) == searched
    assert model.rank_ == 4


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
