"""Phase one: which eigenvectors, by the exact law of the walk through the table and by counts."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

import reference
from diverset.errors import SizeError
from diverset.sampling import eigenvector_law
from diverset.sampling.eigenvector_law import TABLE, TILTED, TRIALS, EigenvectorLaw

SPECTRA = {
    "plain": np.log([0.1, 1.0, 5.0, 200.0]),
    "tied": np.zeros(6),
    "scaled up": np.log([0.3, 0.5, 2.0, 7.0, 9.0]) + np.log(1e12),
    "scaled down": np.log([0.3, 0.5, 2.0, 7.0, 9.0]) - np.log(1e12),
    "far apart": np.array([-700.0, -690.0, 0.0, 1.0, 600.0, 650.0]),
    "one": np.array([0.3]),
}


def size_k_law(log_odds, k):
    """P(J) proportional to the product of eigenvalues over the sets of k indices."""
    log_weight = {frozenset(J): sum(log_odds[list(J)]) for J in combinations(range(len(log_odds)), k)}
    top = max(log_weight.values())
    return reference.normalized({J: np.exp(w - top) for J, w in log_weight.items()})


@dataclass(frozen=True, eq=False)
class TableWalk:
    """The walk back through the table, written as steps so that every branch can be followed."""

    law: EigenvectorLaw
    n: int = -1
    items: tuple[int, ...] = ()

    def __post_init__(self):
        if self.n < 0:
            object.__setattr__(self, "n", len(self.law.success))
        if 0 < self.n == self.law.wanted - len(self.items):
            object.__setattr__(self, "items", (*self.items, *range(self.n - 1, -1, -1)))

    @property
    def done(self):
        return len(self.items) == self.law.wanted

    def weights(self):
        left, n, f = self.law.wanted - len(self.items), self.n, self.law.table
        take = self.law.success[n - 1] * f[n - 1, left - 1]
        leave = self.law.failure[n - 1] * f[n - 1, left]
        return float(leave / (take + leave)), float(take / (take + leave))

    def pick(self, taken):
        return type(self)(self.law, self.n - 1, (*self.items, self.n - 1) if taken else self.items)


def draw_by_steps(law, rng):
    walk = TableWalk(law)
    while not walk.done:
        leave, take = walk.weights()
        walk = walk.pick(int(rng.random() * (take + leave) < take or leave == 0.0))
    return sorted(walk.items)


@pytest.mark.parametrize("k", [1, 3, 7, 8])
def test_the_walk_of_a_draw_takes_these_steps(k):
    law = EigenvectorLaw.of(np.linspace(-3.0, 4.0, 9), k)
    assert law.method == TABLE
    for seed in range(50):
        expected = draw_by_steps(law, np.random.default_rng(seed))
        assert law.draw(np.random.default_rng(seed)).tolist() == expected


def law_of_walk(walk, prob=1.0, law=None):
    """Exact law of the walk: follow every branch and add up probabilities."""
    law = Counter() if law is None else law
    if walk.done:
        law[frozenset(walk.items)] += prob
    else:
        for taken, p in enumerate(walk.weights()):
            if p > 0.0:
                law_of_walk(walk.pick(taken), prob * p, law)
    return law


@pytest.mark.parametrize("name", SPECTRA)
def test_the_table_has_the_exact_law(name):
    log_odds = SPECTRA[name]
    for k in range(1, len(log_odds)):
        found = EigenvectorLaw.of(log_odds, k)
        assert found.method == TABLE
        assert ((found.table >= 0.0) & (found.table <= 1.0 + 1e-15)).all()
        law = law_of_walk(TableWalk(found))
        for J, p in size_k_law(log_odds, k).items():
            assert law[J] == pytest.approx(p, abs=1e-12)


class OffByOne(TableWalk):
    """The known fault: the count is not lowered when an eigenvector is taken."""

    def weights(self):
        left, n, f = self.law.wanted - len(self.items), self.n, self.law.table
        take, leave = self.law.success[n - 1] * f[n - 1, left], self.law.failure[n - 1] * f[n - 1, left]
        return leave / (take + leave), take / (take + leave)

    def pick(self, taken):
        return OffByOne(self.law, self.n - 1, (*self.items, self.n - 1) if taken else self.items)


def test_the_branch_walk_sees_an_off_by_one():
    log_odds = SPECTRA["plain"]
    wrong = law_of_walk(OffByOne(EigenvectorLaw.of(log_odds, 2)))
    assert max(abs(wrong[J] - p) for J, p in size_k_law(log_odds, 2).items()) > 1e-2


@pytest.mark.parametrize("method", [TABLE, TILTED])
def test_draws_of_exactly_k_follow_the_law(method):
    log_odds = SPECTRA["plain"]
    law = EigenvectorLaw.of(log_odds, 2, method=method)
    rng = np.random.default_rng(0)
    draws = [law.draw(rng) for _ in range(20_000)]
    assert reference.law_p_value(draws, size_k_law(log_odds, 2)) > 1e-4
    # The same draws are told apart from the law of eigenvalues that differ by a tenth.
    assert reference.law_p_value(draws, size_k_law(log_odds * 1.1, 2)) < 1e-4


def test_independent_trials_follow_the_law():
    log_odds = np.append(SPECTRA["plain"], np.inf)
    p = np.array([*(lam / (1.0 + lam) for lam in np.exp(SPECTRA["plain"])), 1.0])
    exact = {J: float(np.prod([p[i] if i in J else 1.0 - p[i] for i in range(5)])) for J in reference.subsets(range(5))}
    law = EigenvectorLaw.of(log_odds)
    assert law.method == TRIALS
    assert law.mean_size == pytest.approx(p.sum())
    rng = np.random.default_rng(0)
    assert reference.law_p_value([law.draw(rng) for _ in range(20_000)], exact) > 1e-4


def test_certain_eigenvectors_are_always_in():
    log_odds = np.array([-1.0, 0.0, 2.0, np.inf, np.inf])
    rng = np.random.default_rng(0)
    for method in (TABLE, TILTED):
        for k in (2, 3, 4, 5):
            law = EigenvectorLaw.of(log_odds, k, method=method)
            assert law.mean_size == pytest.approx(k)
            for _ in range(20):
                J = law.draw(rng)
                assert len(J) == k
                assert (np.diff(J) > 0).all()
                assert {3, 4} <= set(J.tolist())
                assert J.dtype == np.int64


def test_none_and_all():
    rng = np.random.default_rng(0)
    assert EigenvectorLaw.of(np.zeros(4), 0).draw(rng).tolist() == []
    assert EigenvectorLaw.of(np.zeros(4), 4).draw(rng).tolist() == [0, 1, 2, 3]
    assert EigenvectorLaw.of(np.zeros(0), 0).draw(rng).tolist() == []
    assert EigenvectorLaw.of(np.zeros(0)).draw(rng).tolist() == []


def test_an_impossible_size_is_refused():
    with pytest.raises(SizeError, match="k is 5, but the sets of this DPP have 1 to 3 items"):
        EigenvectorLaw.of(np.array([0.0, 1.0, np.inf]), 5)
    with pytest.raises(SizeError, match="k is 0"):
        EigenvectorLaw.of(np.array([0.0, 1.0, np.inf]), 0)


def test_a_large_table_gives_way_to_trials(monkeypatch):
    assert EigenvectorLaw.of(np.zeros(50), 20).method == TABLE
    monkeypatch.setattr(eigenvector_law, "_TABLE_LIMIT", 100)
    law = EigenvectorLaw.of(np.zeros(50), 20)
    assert law.method == TILTED
    assert law.table.size == 0
