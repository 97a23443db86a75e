"""Kernel learning from baskets: gradients, monotone ascent, recovery, next-item scores by enumeration."""

import itertools

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError, ImpossibleEventError, LabelError, SizeError
from diverset.learn import FullRankKernel, LowRankKernel, NonsymmetricKernel
from diverset.learn.baskets import read_baskets
from diverset.learn.full_rank import Evidence, em_steps, mean_log_likelihood, moment_kernel, picard_steps
from diverset.learn.kernel_forms import Dense, LowRank
from diverset.learn.low_rank import _popularity_rows, low_rank_objective, nonsymmetric_objective
from kernels_for_tests import wishart
from reference import conditioned, det, law_from_L, probability, subsets


def drawn(L, number, seed):
    return dv.DPP(L).sample(number, rng=seed)


def skew_parts(n, rank, seed):
    rng = np.random.default_rng(seed)
    V, B, D = rng.standard_normal((n, rank)), rng.standard_normal((n, rank)), rng.standard_normal((rank, rank))
    return 0.6 * V, 0.6 * B, D


FORMS = {
    "dense": Dense(wishart(5, 7, 1)),
    "factor": LowRank(np.random.default_rng(2).standard_normal((5, 3))),
    "wide factor": LowRank(np.random.default_rng(3).standard_normal((5, 8))),
    "skew": LowRank(*(lambda V, B, D: (V, B, D - D.T))(*skew_parts(5, 3, 4))),
}


def kernel_of(form):
    every = np.arange(form.n)[None, :]
    return form.blocks(every)[0]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_answer_as_enumeration_does(form):
    L = kernel_of(form)
    law = law_from_L(L)
    every = [sorted(Y) for Y in law]
    found = form.log_probs(read_baskets(every, 5))
    np.testing.assert_allclose(np.exp(found), [law[frozenset(Y)] for Y in every], atol=1e-12)
    distribution = form.distribution()
    for A in itertools.chain.from_iterable(itertools.combinations(range(5), k) for k in range(3)):
        scores = form.next_item_scores(np.array(A, dtype=np.int64))
        given = conditioned(law, include=A)
        expected = [1.0 if i in A else probability(given, include=[i]) for i in range(5)]
        np.testing.assert_allclose(scores, expected, atol=1e-10)
        assert distribution.marginal(A) == pytest.approx(probability(law, include=A), abs=1e-12)


def test_impossible_baskets_are_named():
    form = FORMS["factor"]
    assert form.log_probs(read_baskets([[0, 1, 2, 3]], 5))[0] == -np.inf
    with pytest.raises(ImpossibleEventError, match=r"\[0, 1, 2, 3\] have probability 0"):
        form.next_item_scores(np.arange(4))
    copies = Dense(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    with pytest.raises(ImpossibleEventError, match=r"\[0, 1\]"):
        copies.next_item_scores(np.array([0, 1]))


# gradients -----------------------------------------------------------------------------------------------

BASKETS = [[0, 3], [1], [2, 4, 5], [], [0, 3], [1, 2, 5], [6, 0]]


def differences(objective, parameters, h=1e-6):
    """Gradients by central differences, entry by entry."""
    found = {}
    for name, value in parameters.items():
        found[name] = np.zeros_like(value)
        for where in np.ndindex(value.shape):
            ends = []
            for sign in (1, -1):
                moved = {key: array.copy() for key, array in parameters.items()}
                moved[name][where] += sign * h
                ends.append(objective(moved)[0])
            found[name][where] = (ends[0] - ends[1]) / (2 * h)
    return found


@pytest.mark.parametrize("chosen", [None, np.array([0, 2, 5])])
def test_low_rank_gradient(chosen):
    read = read_baskets(BASKETS, 7)
    parameters = {"V": np.random.default_rng(5).standard_normal((7, 4))}
    penalty = 0.1 / np.maximum(read.counts, 1.0)

    def objective(at):
        return low_rank_objective(at, read, chosen, penalty, 0.05)

    found = objective(parameters)[1]["V"]
    np.testing.assert_allclose(found, differences(objective, parameters)["V"], rtol=0, atol=1e-6)


def test_low_rank_objective_is_the_likelihood():
    read = read_baskets(BASKETS, 7)
    V = np.random.default_rng(6).standard_normal((7, 4))
    penalty = 0.1 / np.maximum(read.counts, 1.0)
    expected = np.mean([dv.DPP.from_features(V).log_prob(b) for b in BASKETS]) - penalty @ (V**2).sum(axis=1)
    assert low_rank_objective({"V": V}, read, None, penalty)[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("chosen", [None, np.array([0, 2, 5])])
def test_nonsymmetric_gradient(chosen):
    read = read_baskets(BASKETS, 7)
    parameters = dict(zip("VBD", skew_parts(7, 3, 7), strict=True))
    penalty = 0.1 / np.maximum(read.counts, 1.0)

    def objective(at):
        return nonsymmetric_objective(at, read, chosen, penalty, 2 * penalty, 0.05)

    found, expected = objective(parameters)[1], differences(objective, parameters)
    for name in parameters:
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-6)


def test_nonsymmetric_objective_is_the_likelihood():
    read = read_baskets(BASKETS, 7)
    V, B, D = skew_parts(7, 3, 8)
    L = V @ V.T + B @ (D - D.T) @ B.T
    log_Z = np.log(det(L + np.eye(7)))
    expected = np.mean([np.log(det(L[np.ix_(b, b)])) for b in BASKETS]) - log_Z
    zero = np.zeros(7)
    found = nonsymmetric_objective({"V": V, "B": B, "D": D}, read, None, zero, zero)[0]
    assert found == pytest.approx(expected, abs=1e-8)


def test_picard_moves_along_the_gradient():
    """L S L - L (I+L)^-1 L is L times the gradient times L, found here by differences of the likelihood."""
    evidence = Evidence(read_baskets(BASKETS, 7))
    L, h = wishart(7, 9, 9), 1e-6
    gradient = np.zeros((7, 7))
    for i, j in itertools.product(range(7), repeat=2):
        E = np.zeros((7, 7))
        E[i, j] += 0.5
        E[j, i] += 0.5
        up, down = mean_log_likelihood(L + h * E, evidence), mean_log_likelihood(L - h * E, evidence)
        gradient[i, j] = (up - down) / (2 * h)
    _, after = next(picard_steps(L, evidence, step=1.0))
    np.testing.assert_allclose(after - L, L @ gradient @ L, atol=1e-6)


# monotone ascent -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", ["picard", "picard-1", "picard-0.5", "em"])
def test_the_likelihood_never_falls(method, seed):
    """Baskets that come from no DPP at all, from starts far from any maximum."""
    rng = np.random.default_rng(seed)
    baskets = [rng.choice(8, size=rng.integers(0, 6), replace=False) for _ in range(40)]
    evidence, L = Evidence(read_baskets(baskets, 8)), 3.0 * wishart(8, 9, seed)
    steps = (
        em_steps(L, evidence)
        if method == "em"
        else picard_steps(L, evidence, step=None if method == "picard" else float(method.split("-")[1]))
    )
    values, kernels = zip(*itertools.islice(steps, 60), strict=True)
    values = [mean_log_likelihood(L, evidence), *values]
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] > values[0] + 0.5
    assert np.linalg.eigvalsh(kernels[-1])[0] > 0.0
    # What is reported is the likelihood of the kernel that is returned.
    assert mean_log_likelihood(kernels[-1], evidence) == pytest.approx(values[-1], abs=1e-9)


def test_a_step_beyond_the_sure_one_can_fall():
    """The twin: a fixed step of 16 without the check leaves the cone or lowers the likelihood at once."""
    rng = np.random.default_rng(0)
    baskets = [rng.choice(8, size=rng.integers(0, 6), replace=False) for _ in range(40)]
    evidence, L = Evidence(read_baskets(baskets, 8)), 3.0 * wishart(8, 9, 0)
    _, after = next(picard_steps(L, evidence, step=1.0))
    assert mean_log_likelihood(L + 16 * (after - L), evidence) < mean_log_likelihood(L, evidence)


def test_em_step_is_expectation_and_maximization():
    """Shares of eigenvectors given each basket, by enumeration of the hidden sets: their means are the new kappa."""
    n, baskets = 4, [[0, 1], [2], [1, 3], [0]]
    L = wishart(n, 6, 11)
    lam, V = np.linalg.eigh(L)
    shares = np.zeros(n)
    for Y in baskets:
        hidden = [sorted(J) for J in subsets(range(n)) if len(J) == len(Y)]
        weights = {tuple(J): np.prod(lam[J]) * det(V[np.ix_(Y, J)]) ** 2 for J in hidden}
        for J, w in weights.items():
            shares[list(J)] += w / sum(weights.values()) / len(baskets)
    S = Evidence(read_baskets(baskets, n)).inverses(L)
    np.testing.assert_allclose(lam * np.einsum("ij,ij->j", V, S @ V), shares, atol=1e-12)


@pytest.mark.parametrize("algorithm", ["picard", "em"])
def test_a_kernel_is_recovered(algorithm):
    """Marginals of all pairs, from 20,000 draws of a known kernel."""
    L = wishart(5, 6, 12)
    baskets = drawn(L, 20_000, 13)
    model = FullRankKernel(algorithm=algorithm, max_iter=2000, tol=1e-9).fit(baskets, n_items=5)
    assert model.convergence_.converged
    truth = dv.DPP(L)
    np.testing.assert_allclose(model.dpp_.pair_probabilities(), truth.pair_probabilities(), atol=0.015)
    assert model.score(baskets) >= np.mean([truth.log_prob(b) for b in baskets]) - 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_both_algorithms_meet(seed):
    """Every set as often as the truth says, so that the maximum is there whatever the draws; from a random start."""
    truth = dv.DPP.from_marginal([[0.5, 0.25, 0.15], [0.25, 0.4, 0.2], [0.15, 0.2, 0.3]])
    sets = [list(A) for k in range(4) for A in itertools.combinations(range(3), k)]
    baskets = [A for A in sets for _ in range(round(3000 * np.exp(truth.log_prob(A))))]
    start = wishart(3, 5, seed) + 0.1 * np.eye(3)
    picard, em = (
        FullRankKernel(algorithm=algorithm, init=start, max_iter=4000, tol=1e-10).fit(baskets, n_items=3)
        for algorithm in ("picard", "em")
    )
    assert picard.convergence_.converged
    assert em.convergence_.converged
    assert picard.score(baskets) == pytest.approx(em.score(baskets), abs=1e-7)
    assert em.score(baskets) >= np.mean(truth.log_prob(baskets)) - 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_a_maximum_of_one_algorithm_is_one_of_the_other(seed):
    """The likelihood of more items has several maxima, but both algorithms have the same ones."""
    baskets = drawn(wishart(5, 6, 14), 3000, seed)
    picard = FullRankKernel(max_iter=4000, tol=1e-10).fit(baskets, n_items=5)
    em = FullRankKernel(algorithm="em", init=picard.L_, max_iter=300, tol=1e-10).fit(baskets, n_items=5)
    assert em.convergence_.converged
    assert 0.0 <= em.score(baskets) - picard.score(baskets) + 1e-12 < 1e-6


def test_moments_of_a_dpp_are_found():
    """With many draws of a kernel with positive entries, the start is near the truth."""
    K = np.array([[0.5, 0.2, 0.1], [0.2, 0.4, 0.15], [0.1, 0.15, 0.3]])
    truth = dv.DPP.from_marginal(K)
    start = moment_kernel(read_baskets(truth.sample(50_000, rng=16), 3))
    np.testing.assert_allclose(dv.DPP(start).K, K, atol=0.02)


# the estimators ------------------------------------------------------------------------------------------

LEARNERS = {
    "full": lambda: FullRankKernel(),
    "em": lambda: FullRankKernel(algorithm="em"),
    "low": lambda: LowRankKernel(rank=4, rng=0),
    "nonsymmetric": lambda: NonsymmetricKernel(rank=4, rng=0),
}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_every_learner_keeps_the_contract(learner):
    from sklearn.base import clone

    baskets = drawn(wishart(6, 3, 17), 400, 18)
    model = learner()
    assert model.fit(baskets, n_items=6) is model
    assert clone(model).get_params() == model.get_params()
    by_hand = np.mean([model.dpp_.log_prob(b) for b in baskets])
    assert model.score(baskets) == pytest.approx(by_hand, abs=1e-9)
    scores = model.next_item_scores([0])
    expected = model.dpp_.condition(include=[0]).inclusion_probabilities
    np.testing.assert_allclose(scores[1:], expected, atol=1e-9)
    best = model.recommend([0], 3)
    assert 0 not in [item for item, _ in best]
    assert [score for _, score in best] == sorted(scores[1:], reverse=True)[:3]
    assert [scores[item] for item, _ in best] == [score for _, score in best]
    assert set(model.complete([0], 2)) <= set(range(1, 6))
    assert model.complete([0], 1) == [best[0].item]
    assert model.convergence_.n_iter > 0
    assert len(model.dpp_.sample(rng=0)) <= 6


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_learning_beats_the_start_and_chance(learner):
    train, test = drawn(wishart(6, 3, 17), 2000, 19), drawn(wishart(6, 3, 17), 2000, 20)
    model = learner().fit(train, n_items=6)
    truth = dv.DPP(wishart(6, 3, 17))
    p = np.bincount(np.concatenate(train), minlength=6) / len(train)
    independent = np.mean([np.log(p[b]).sum() + np.log1p(-np.delete(p, b)).sum() for b in test])
    best = np.mean([truth.log_prob(b) for b in test])
    # Three quarters of the way from independent items to the truth, on baskets not seen.
    assert model.score(test) > independent + 0.75 * (best - independent)
    assert best - independent > 0.2


def test_attraction_needs_a_nonsymmetric_kernel():
    baskets = [[0, 1], [], [0, 1, 2], [2]] * 75
    symmetric = LowRankKernel(rank=3, rng=0).fit(baskets, n_items=3)
    nonsymmetric = NonsymmetricKernel(rank=3, rng=0).fit(baskets, n_items=3)
    assert nonsymmetric.next_item_scores([0])[1] > 0.9
    assert symmetric.next_item_scores([0])[1] < 0.6
    assert nonsymmetric.score(baskets) > symmetric.score(baskets) + 0.5


def test_same_seed_same_kernel():
    baskets = drawn(wishart(6, 3, 17), 100, 22)
    for learner in (LowRankKernel, NonsymmetricKernel):
        first, second = (learner(rank=4, rng=5, n_epochs=3).fit(baskets) for _ in range(2))
        np.testing.assert_array_equal(first.V_, second.V_)
        assert not np.array_equal(first.V_, learner(rank=4, rng=6, n_epochs=3).fit(baskets).V_)


def test_inputs_are_left_alone():
    baskets = [np.array([3, 1]), np.array([0]), np.array([2, 0, 1])]
    kept = [b.copy() for b in baskets]
    start = wishart(4, 5, 23)
    before = start.copy()
    FullRankKernel(init=start).fit(baskets, n_items=4)
    LowRankKernel(rank=3, n_epochs=2).fit(baskets, n_items=4)
    for basket, copy in zip(baskets, kept, strict=True):
        np.testing.assert_array_equal(basket, copy)
    np.testing.assert_array_equal(start, before)


def test_an_item_that_never_occurs():
    model = FullRankKernel(pseudo_count=0.5).fit([[0], [1], [0, 1]] * 20, n_items=3)
    assert np.isfinite(model.score([[2], [0, 2]]))
    for learner in (LowRankKernel, NonsymmetricKernel):
        # As an item that occurred half a time in 40 baskets.
        model = learner(rank=3, rng=0, regularization=0.0, pseudo_count=0.5).fit([[0], [1]] * 20, n_items=3)
        assert model.dpp_.marginal([2]) == pytest.approx(0.5 / 40, rel=0.1)


def test_baskets_of_every_kind_are_read():
    plain = read_baskets([[2, 0], (1,), {3, 1}, np.array([0], dtype=np.uint8), range(2), []])
    assert [b.tolist() for b in plain] == [[0, 2], [1], [1, 3], [0], [0, 1], []]
    assert plain.n_items == 4
    assert plain.counts.tolist() == [3, 3, 1, 1]
    pairs = plain.pair_counts()
    assert (pairs[0, 2], pairs[1, 3], pairs[0, 3], pairs[0, 0]) == (1, 1, 0, 3)
    groups = plain.groups()
    assert sum(g.weights.sum() for g in groups) == 6


@pytest.mark.parametrize(
    ("baskets", "n_items", "error", "message"),
    [
        ([], 3, DiversetError, "there are no baskets"),
        ([[0], [3]], 3, LabelError, r"basket 1 names item 3, but items are 0 to 2.*counted from 1"),
        ([[0], [-1]], 3, LabelError, "basket 1 names item -1"),
        ([[0], [2, 2]], 3, LabelError, "basket 1 names item 2 more than once"),
        ([[0], ["a"]], 3, LabelError, "basket 1 is"),
        ([[0], [0.5]], 3, LabelError, r"basket 1 is \[0.5\]"),
        ([0, 1], 3, LabelError, "basket 0 is 0"),
        ("abc", 3, DiversetError, "baskets is a str"),
        ([[0]], 0, DiversetError, "n_items is 0"),
    ],
)
def test_bad_baskets(baskets, n_items, error, message):
    for learner in LEARNERS.values():
        with pytest.raises(error, match=message):
            learner().fit(baskets, n_items=n_items)


def test_baskets_above_the_rank():
    with pytest.raises(SizeError, match=r"basket 1 has 4 items, but the rank is 2.*1 of 2 .*raise the rank to 4"):
        LowRankKernel(rank=2).fit([[0], [0, 1, 2, 3]], n_items=6)
    with pytest.raises(SizeError, match="basket 0 has 5 items, but a kernel with V and B of rank 2 holds at most 4"):
        NonsymmetricKernel(rank=2).fit([[0, 1, 2, 3, 4]], n_items=6)


def test_bad_parameters():
    with pytest.raises(DiversetError, match="algorithm is 'newton'"):
        FullRankKernel(algorithm="newton").fit([[0]])
    with pytest.raises(DiversetError, match="init is 'zero'"):
        FullRankKernel(init="zero").fit([[0]])
    with pytest.raises(DiversetError, match=r"init has shape \(2, 2\)"):
        FullRankKernel(init=np.eye(2)).fit([[0]], n_items=3)
    with pytest.raises(DiversetError, match="init makes an observed basket impossible"):
        FullRankKernel(init=np.diag([1.0, 0.0])).fit([[1]])
    with pytest.raises(DiversetError, match="rank is 0"):
        LowRankKernel(rank=0).fit([[0]])
    with pytest.raises(DiversetError, match="regularization is -1"):
        LowRankKernel(rank=1, regularization=-1).fit([[0]])
    with pytest.raises(DiversetError, match="has not been fitted"):
        FullRankKernel().score([[0]])
    with pytest.raises(DiversetError, match="has not been fitted"):
        LowRankKernel().recommend([0], 1)
    model = FullRankKernel().fit([[0], [1], [0, 1], []])
    with pytest.raises(LabelError, match="basket names item 7"):
        model.recommend([7], 1)
    with pytest.raises(SizeError, match="only 1 items"):
        model.complete([0], 2)


def test_sklearn_searches_over_it():
    from sklearn.model_selection import GridSearchCV

    baskets = [b.tolist() for b in drawn(wishart(6, 3, 17), 300, 24)]
    search = GridSearchCV(LowRankKernel(rng=0, n_epochs=5), {"rank": [5, 6]}, cv=2).fit(baskets, n_items=6)
    assert search.best_estimator_.n_items_ == 6


def test_progress_is_shown(capsys):
    LowRankKernel(rank=2, n_epochs=2, verbose=True).fit([[0], [1]])
    assert "LowRankKernel" in capsys.readouterr().err


def test_the_start_of_low_rank_learning_has_the_odds_of_the_items():
    read = read_baskets([[0], [0, 1], [0, 2], [1]], 4)
    rows = _popularity_rows(read, 3, np.random.default_rng(0))
    p = read.frequencies
    assert rows.shape == (4, 3)
    np.testing.assert_allclose((rows**2).sum(axis=1), p / (1.0 - p), rtol=1e-12)


def test_an_item_in_every_basket_takes_one_step_of_em():
    evidence = Evidence(read_baskets([[0], [0, 1], [0, 2], [0, 1, 2]], 3))
    value, L = next(em_steps(np.diag([1.0, 0.5, 2.0]), evidence))
    # Independent items: the eigenvalues are the odds of the frequencies, those of a certain item short of infinity.
    np.testing.assert_allclose(np.diagonal(L)[1:], 1.0, rtol=1e-9)
    assert L[0, 0] == pytest.approx(1e7, rel=1e-6)
    assert value == pytest.approx(-2.0 * np.log(2.0), abs=1e-6)
