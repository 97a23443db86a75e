"""The birth, death and move walk: every move listed on finite sets, a gas with a known law, its compiled twin."""

import functools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

from diverset.errors import DiversetError, ImpossibleEventError
from diverset.theory.processes import (
    AreaInteraction,
    Box,
    FiniteGibbs,
    GibbsProcess,
    LinearCore,
    SoftCore,
    Strauss,
    VerySoftCore,
    birth_death_chain,
)
from diverset.theory.processes.birth_death import BirthDeathWalk, Move
from reference import law_p_value, subsets

BOX = Box((1.0, 1.0))
POINTS = BOX.uniform(5, rng=8)
RNG = np.random.default_rng(2)


def random_pairs(n):
    psi = RNG.uniform(0.1, 2.0, (n, n))
    return np.triu(psi, 1) + np.triu(psi, 1).T + np.eye(n)


TARGETS = {
    "independent": FiniteGibbs.pairwise([0.5, 2.0, 1.0], np.ones((3, 3))),
    "pairs": FiniteGibbs.pairwise(RNG.uniform(0.2, 3.0, 5), random_pairs(5)),
    "one-item": FiniteGibbs.pairwise([3.0], [[1.0]]),
    "hard-core": FiniteGibbs.from_points(POINTS, 1.5, Strauss(0.0, 0.4), box=BOX),
    "strauss": FiniteGibbs.from_points(POINTS, 0.7, Strauss(0.3, 0.5), box=BOX),
    "clustered": FiniteGibbs.from_points(POINTS, 0.5, Strauss(1.8, 0.5), box=BOX),
    "soft": FiniteGibbs.from_points(POINTS, [0.5, 1, 2, 3, 4], SoftCore(0.2, n=3), box=BOX),
    "area": FiniteGibbs.from_points(POINTS, 0.2, AreaInteraction(0.01, 0.3), box=BOX),
    "triples": FiniteGibbs(4, lambda Y: 0.3 * len(Y) + (1.7 if len(Y) == 3 else 0.0)),
}


def law_of(target):
    weights = {Y: math.exp(target.log_weight(sorted(Y))) for Y in subsets(range(target.n_items))}
    total = sum(weights.values())
    return {Y: w / total for Y, w in weights.items()}


class Uncorrected(BirthDeathWalk):
    """The known fault: the ratio of weights without that of the proposals."""

    def log_birth_ratio(self, log_papangelou, points):
        return log_papangelou


def proposals(walk, places):
    """All moves with their probabilities, for the free places of a finite set."""
    half, n = 0.5 * (1.0 - walk.move), len(walk.points)
    for place in places:
        yield half / len(places), Move(None, place)
    for slot in range(n):
        yield half / n, Move(slot, None)
        for place in places:
            yield walk.move / n / len(places), Move(slot, place)


def transition_matrix(target, law, move, walk=BirthDeathWalk):
    states = [Y for Y, p in law.items() if p > 0.0]
    number = {Y: i for i, Y in enumerate(states)}
    P = np.zeros((len(states), len(states)))
    for Y, i in number.items():
        places = [j for j in range(target.n_items) if j not in Y]
        start = walk(target, np.array(sorted(Y), dtype=np.int64), move=move)
        for probability, step in proposals(start, places):
            log_ratio, gain = start.log_ratio(step)
            accepted = probability * math.exp(min(log_ratio, 0.0))
            if accepted > 0.0:
                state = walk(target, np.array(sorted(Y), dtype=np.int64), move=move)
                state.apply(step)
                after = frozenset(state.points.tolist())
                assert gain == pytest.approx(math.log(law[after] / law[Y]))
                P[i, number[after]] += accepted
        P[i, i] += 1.0 - P[i].sum()
    return P, np.array([law[Y] for Y in states])


@pytest.mark.parametrize("move", [0.0, 0.3])
@pytest.mark.parametrize("name", TARGETS)
def test_every_move_listed_leaves_the_target_alone(name, move):
    target = TARGETS[name]
    P, pi = transition_matrix(target, law_of(target), move)
    assert (P >= -1e-15).all()
    flow = pi[:, None] * P
    assert np.abs(flow - flow.T).max() < 1e-13
    assert np.abs(pi @ P - pi).max() < 1e-13
    linked = P > 0.0
    reached = functools.reduce(lambda within, _: within @ linked, range(20), np.eye(len(P), dtype=bool))
    assert reached.all()


@pytest.mark.parametrize("name", ["independent", "pairs", "strauss", "area", "triples"])
def test_without_the_proposal_ratio_it_does_not(name):
    target = TARGETS[name]
    P, pi = transition_matrix(target, law_of(target), 0.3, walk=Uncorrected)
    assert np.abs(pi @ P - pi).max() > 1e-3


@pytest.mark.parametrize("move", [0.0, 0.4])
def test_moves_are_proposed_as_often_as_listed(move):
    target = TARGETS["pairs"]
    walk = BirthDeathWalk(target, np.array([1, 4]), move=move)
    listed = {(m.slot, m.place): p for p, m in proposals(walk, [0, 2, 3])}
    assert sum(listed.values()) == pytest.approx(1.0)
    listed = {key: p for key, p in listed.items() if p > 0.0}
    rng = np.random.default_rng(0)
    seen = dict.fromkeys(listed, 0)
    for _ in range(6000):
        m = walk.propose(rng)
        seen[m.slot, m.place] += 1
    assert chisquare(list(seen.values()), 6000 * np.array(list(listed.values()))).pvalue > 1e-4


def test_draws_on_a_finite_set_have_the_law():
    target = TARGETS["strauss"]
    sets = target.chain(1500, thin=15, rng=4).sets
    law = target.tabulate()
    table = {Y: law.law[sum(1 << i for i in Y)] for Y in subsets(range(5))}
    assert law_p_value(sets, table) > 1e-4
    independent = TARGETS["pairs"].tabulate().law
    assert law_p_value(sets, {Y: independent[sum(1 << i for i in Y)] for Y in table}) < 1e-10


# a gas of rods on a circle ------------------------------------------------------------------------------------------


def rods_law(activity, length, radius):
    """Number of points on a circle, no two within the radius: weight activity^n times a volume over n!."""
    n = np.arange(1, int(length / radius) + 1)
    weights = [1.0, *(activity**n * length * (length - n * radius) ** (n - 1) / [math.factorial(k) for k in n])]
    weights = np.array(weights)
    return weights / weights.sum()


def counts_p_value(patterns, law):
    seen = np.bincount([len(X) for X in patterns], minlength=len(law)).astype(float)
    expected = len(patterns) * law
    rare = expected < 5.0
    o, e = np.append(seen[~rare], seen[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    return chisquare(o[e > 0], e[e > 0] * o.sum() / e.sum()).pvalue


RODS = GibbsProcess(Box((10.0,), torus=True), 1.2, Strauss(0.0, 0.8))


@pytest.mark.parametrize("move", [0.0, 0.3])
def test_numbers_of_hard_rods(move):
    patterns = birth_death_chain(RODS, size=2500, burn_in=500, thin=60, move=move, rng=7).sets
    assert counts_p_value(patterns, rods_law(1.2, 10.0, 0.8)) > 1e-4


def test_numbers_of_hard_rods_see_a_wrong_ratio():
    rng = np.random.default_rng(7)
    walk = Uncorrected(RODS, RODS.no_points())
    patterns = []
    for _ in range(800):
        for _ in range(20):
            walk.step(rng)
        patterns.append(walk.points.copy())
    assert counts_p_value(patterns, rods_law(1.2, 10.0, 0.8)) < 1e-10


INTERACTIONS = {
    "none": None,
    "strauss": Strauss(0.3, 0.2, hard_core=0.05),
    "hard": Strauss(0.0, 0.15),
    "very-soft": VerySoftCore(0.2),
    "soft": SoftCore(0.1, n=5),
    "linear": LinearCore(0.25),
}


@pytest.mark.parametrize("torus", [False, True])
@pytest.mark.parametrize("name", INTERACTIONS)
def test_compiled_steps_are_the_plain_ones(name, torus):
    model = GibbsProcess(Box((1.0, 0.8), torus=torus), 60.0, INTERACTIONS[name])
    plain, compiled = (BirthDeathWalk(model, model.no_points(), move=0.3) for _ in range(2))
    rng, other = np.random.default_rng(1), np.random.default_rng(1)
    for steps in (1, 7, 592):
        for _ in range(steps):
            plain.step(rng)
        compiled.advance(steps, other)
        assert np.array_equal(plain.points, compiled.points)
        assert plain.accepted == compiled.accepted
        assert plain.log_weight == pytest.approx(compiled.log_weight, abs=1e-9)
    assert model.log_weight(plain.points) == pytest.approx(plain.log_weight, abs=1e-9)
    assert len(plain.points) > 5


def test_activity_may_vary():
    slope = GibbsProcess(Box((1.0,)), lambda x: 20.0 * x[:, 0])
    chain = slope.chain(600, rng=2)
    n = np.array([len(X) for X in chain.sets])
    right = np.array([(X[:, 0] > math.sqrt(0.5)).sum() for X in chain.sets])
    error = math.sqrt(10.0 / chain.effective_sample_size)
    assert abs(n.mean() - 10.0) < 4.0 * error
    assert abs(right.mean() - 5.0) < 4.0 * error
    assert chain.effective_sample_size > 150


def test_chains_report_themselves():
    model = GibbsProcess(BOX, 20.0, Strauss(0.5, 0.1))
    chain = model.chain(50, n_chains=3, rng=0)
    assert len(chain) == 150
    assert chain.log_weights.shape == (3, 50)
    assert 0.2 < chain.acceptance_rate < 1.0
    again = model.chain(50, n_chains=3, rng=0)
    assert all(np.array_equal(X, Y) for X, Y in zip(chain.sets, again.sets, strict=True))
    far = model.chain(1, burn_in=0, thin=1, start=chain.sets[-1], rng=0).sets[0]
    assert abs(len(far) - len(chain.sets[-1])) <= 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GibbsProcess(BOX, 10.0, Strauss(1.5, 0.1)), "attracts without limit"),
        (lambda: GibbsProcess(Box.unit(3), 10.0, AreaInteraction(0.5, 0.1)), "one or two dimensions; the box has 3"),
        (lambda: GibbsProcess(Box.unit(2, torus=True), 10.0, AreaInteraction(0.5, 0.3)), "reaches 0.6"),
        (lambda: GibbsProcess(BOX, -1.0), "activity is -1"),
        (lambda: Strauss(-0.1, 0.1), "gamma is -0.1"),
        (lambda: Strauss(0.1, 0.1, hard_core=0.2), "hard_core is 0.2"),
        (lambda: SoftCore(0.1, n=2), "n is 2"),
        (lambda: RODS.chain(3, move=1.0), "move is 1"),
        (lambda: FiniteGibbs.pairwise([1.0, 1.0], [[1, 2], [3, 1]]), "symmetric"),
        (lambda: FiniteGibbs.pairwise([1.0, 1.0], [[1, -2], [-2, 1]]), "entry -2"),
        (lambda: FiniteGibbs(25, lambda Y: 0.0).tabulate(), "25 items"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(DiversetError, match=message):
        call()


def test_a_start_that_cannot_be_is_refused():
    with pytest.raises(ImpossibleEventError, match="point 0"):
        RODS.chain(3, start=[[1.0], [1.1]])
