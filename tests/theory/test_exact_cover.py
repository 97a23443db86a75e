"""Exact 3-cover through the mode of a DPP: decided both ways, against plain search."""

import math
from itertools import combinations

import numpy as np
import pytest

import diverset as dv
from diverset.inference.exact import map_exact
from diverset.theory.exact_cover import exact_cover_dpp, find_exact_cover, has_exact_cover, random_x3c


def cover_exists(n_elements, triples):
    """By trying all q triples out of those given."""
    q = n_elements // 3
    return any(len(set().union(*C)) == n_elements for C in combinations(triples, q))


@pytest.mark.parametrize("solvable", [True, False])
@pytest.mark.parametrize(("n_elements", "n_triples", "seed"), [(9, 8, 0), (12, 12, 1), (15, 14, 2), (15, 18, 3)])
def test_map_exact_decides_exact_cover(n_elements, n_triples, seed, solvable):
    triples = random_x3c(n_elements, n_triples, solvable=solvable, rng=seed)
    assert len(set(triples)) == n_triples
    assert cover_exists(n_elements, triples) == solvable
    found = map_exact(exact_cover_dpp(n_elements, triples))
    assert found.gap == 0.0
    assert has_exact_cover(found, n_elements) == solvable
    q = n_elements // 3
    if solvable:
        assert found.objective == pytest.approx(q * math.log(9 / 8))
        assert sorted(s for i in found for s in triples[i]) == list(range(n_elements))
    else:
        assert found.objective <= (q - 1) * math.log(9 / 8) + 1e-9


@pytest.mark.parametrize("gamma", [1.01, 9 / 8])
@pytest.mark.parametrize("seed", range(10))
def test_both_halves_of_the_theorem_by_enumeration(seed, gamma):
    triples = random_x3c(9, 7, solvable=bool(seed % 2), rng=seed)
    L = exact_cover_dpp(9, triples, gamma).L
    assert np.allclose(np.diagonal(L), gamma)
    best = max(
        (np.linalg.det(L[np.ix_(Y, Y)]) for size in range(1, 8) for Y in combinations(range(7), size)), default=1.0
    )
    if seed % 2:
        assert best == pytest.approx(gamma**3)
    else:
        assert best <= gamma**2 + 1e-12


def test_plain_search_finds_covers_and_their_absence():
    assert find_exact_cover(6, [(0, 1, 2), (1, 2, 3), (3, 4, 5)]) == [0, 2]
    assert find_exact_cover(6, [(0, 1, 2), (2, 3, 4), (1, 4, 5)]) is None
    assert find_exact_cover(3, []) is None
    for seed in range(20):
        rng = np.random.default_rng(seed)
        triples = [tuple(sorted(rng.choice(9, 3, replace=False).tolist())) for _ in range(8)]
        cover = find_exact_cover(9, triples)
        assert (cover is not None) == cover_exists(9, triples)
        if cover is not None:
            assert sorted(s for i in cover for s in triples[i]) == list(range(9))


def test_undecided_is_said():
    dpp = exact_cover_dpp(6, [(0, 1, 2), (0, 3, 4), (3, 4, 5)])
    with pytest.raises(dv.errors.DiversetError, match="undecided"):
        has_exact_cover(dv.map_greedy(dpp.restrict([1]), k=1), 6)


def test_same_seed_same_instance():
    assert random_x3c(12, 9, solvable=True, rng=5) == random_x3c(12, 9, solvable=True, rng=5)


def test_refusals_name_the_value():
    for call, message in [
        (lambda: exact_cover_dpp(7, []), "n_elements is 7"),
        (lambda: exact_cover_dpp(6, [(0, 1, 1)]), r"triples\[0\] is \(0, 1, 1\)"),
        (lambda: exact_cover_dpp(6, [(0, 1, 6)]), "0 to 5"),
        (lambda: exact_cover_dpp(6, [(0, 1)]), "three different"),
        (lambda: exact_cover_dpp(6, [(0, 1, 2)], gamma=1.2), "gamma is 1.2"),
        (lambda: random_x3c(6, 21, solvable=True), "only 20 triples"),
        (lambda: random_x3c(9, 2, solvable=True), "takes 3"),
        (lambda: random_x3c(3, 1, solvable=False), "all had a cover"),
    ]:
        with pytest.raises(dv.errors.DiversetError, match=message):
            call()
