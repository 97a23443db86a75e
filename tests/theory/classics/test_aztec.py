"""Domino tilings: all of them up to order 3, shuffling by branches, the kernel by two routes, the arctic circle."""

from collections import Counter

import numpy as np
import pytest

import reference
from branches import every_branch
from diverset.theory.classics import AztecDiamond, Tiling, krawtchouk_dpp


def tilings(diamond):
    """All tilings by backtracking, each a sorted list of (x, y, direction)."""
    squares = {(int(x), int(y)) for x, y in diamond.squares}

    def extend(left):
        if not left:
            yield []
            return
        x, y = min(left, key=lambda square: (square[1], square[0]))
        even = (x + y + diamond.order) % 2 == 0
        for other, name in (((x + 1, y), "north" if even else "south"), ((x, y + 1), "east" if even else "west")):
            if other in left:
                for rest in extend(left - {(x, y), other}):
                    yield [(x, y, name), *rest]

    return [tuple(sorted(t)) for t in extend(frozenset(squares))]


def particles(diamond, tiling):
    place = {(int(x), int(y)): i for i, (x, y) in enumerate(diamond.sites)}
    return frozenset(place[x, y] for x, y, name in tiling if name in ("north", "east"))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_kernel_is_that_of_all_tilings(order):
    diamond = AztecDiamond(order)
    everything = tilings(diamond)
    assert len(everything) == diamond.n_tilings == 2 ** (order * (order + 1) // 2)
    law = Counter(particles(diamond, tiling) for tiling in everything)
    for A, p in reference.law_from_K(diamond.kernel).items():
        assert law[A] / len(everything) == pytest.approx(p, abs=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_shuffling_draws_every_tiling_alike(order):
    diamond = AztecDiamond(order)
    law = Counter()
    for tiling, p in every_branch(diamond._make):
        law[tuple(tiling.dominoes())] += p
    assert set(law) == set(tilings(diamond))
    assert list(law.values()) == pytest.approx([1 / diamond.n_tilings] * diamond.n_tilings, rel=1e-12)


def test_the_branch_walk_sees_holes_that_share_a_coin():
    """A known fault, invisible in any one tiling."""

    class OneCoin:
        def __init__(self, choices):
            self.choices = choices

        def random(self, size):
            return np.repeat(self.choices.random(1), size)

    diamond = AztecDiamond(2)
    law = Counter()
    for tiling, p in every_branch(lambda choices: diamond._make(OneCoin(choices))):
        law[tuple(tiling.dominoes())] += p
    assert max(abs(law[t] - 1 / 8) for t in tilings(diamond)) > 0.1


@pytest.mark.parametrize("order", [1, 2, 5, 16, 40])
def test_lines_are_krawtchouk_ensembles(order):
    """An independent route: orthogonal polynomials know nothing of dominoes."""
    diamond = AztecDiamond(order)
    K = diamond.kernel
    for line in {1, (order + 1) // 2, order}:
        on = diamond.sites_on_line(line)
        block, known = K[np.ix_(on, on)], krawtchouk_dpp(order, line).K
        assert np.diagonal(block) == pytest.approx(np.diagonal(known), abs=1e-12)
        assert block * block.T == pytest.approx(known**2, abs=1e-12)


@pytest.mark.parametrize(("order", "line"), [(4, 1), (4, 2), (4, 4)])
def test_the_krawtchouk_ensemble_has_its_density(order, line):
    weights = {}
    from math import comb

    for h in reference.subsets(range(order + 1)):
        if len(h) == line:
            places = sorted(h)
            gaps = np.prod([(a - b) ** 2 for a in places for b in places if a < b])
            weights[h] = float(gaps * np.prod([comb(order, a) for a in places]))
    law = reference.normalized(weights)
    for A, p in reference.law_from_K(krawtchouk_dpp(order, line).K).items():
        assert law.get(A, 0.0) == pytest.approx(p, abs=1e-13)


def test_both_samplers_follow_the_law():
    diamond = AztecDiamond(3)
    law = reference.law_from_K(diamond.kernel)
    law = {A: p if p > 1e-9 else 0.0 for A, p in law.items()}
    assert reference.law_p_value(diamond.sample(2_000, rng=0), law) > 1e-4
    assert reference.law_p_value(diamond.dpp.sample(5_000, rng=1), law) > 1e-4


def test_a_window_on_a_larger_diamond():
    """Eight grey squares across the edge of the circle, at an order whose tilings cannot be listed."""
    diamond = AztecDiamond(8)
    window = diamond.sites_on_line(4)[[0, 1, 2, 4, 5, 7]].tolist() + diamond.sites_on_line(5)[[3, 4]].tolist()
    law = reference.law_from_K(diamond.kernel[np.ix_(window, window)])
    draws = [np.flatnonzero(np.isin(window, Y)) for Y in diamond.sample(1_500, rng=5)]
    assert reference.law_p_value(draws, law) > 1e-4
    alone = reference.law_from_K(np.diag(np.diagonal(diamond.kernel)[window]))
    assert reference.law_p_value(draws, alone) < 1e-4


@pytest.mark.parametrize("order", [10, 30])
def test_draws_of_the_dpp_have_the_right_number_on_every_line(order):
    diamond = AztecDiamond(order)
    for Y in diamond.dpp.sample(3, rng=0):
        assert [len(np.intersect1d(Y, diamond.sites_on_line(r))) for r in (1, 2, order)] == [1, 2, order]


def test_a_tiling_covers_every_square_once():
    tiling = AztecDiamond(12).sample_objects(rng=0)
    covered = Counter()
    for x, y, name in tiling.dominoes():
        covered[x, y] += 1
        covered[(x + 1, y) if name in ("north", "south") else (x, y + 1)] += 1
    assert set(covered.values()) == {1}
    assert set(covered) == {(int(x), int(y)) for x, y in AztecDiamond(12).squares}


def test_the_arctic_circle():
    """Outside a slightly larger circle all dominoes point away from the centre; well inside they do not."""
    diamond = AztecDiamond(120)
    tiling = diamond.sample_objects(rng=1)
    slack = 2.5 * diamond.order ** (1 / 3)  # fluctuations are of order n^(1/3)
    for name, (dx, dy) in {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}.items():
        corner = getattr(tiling, name)
        centre = corner + (np.array([1.0, 0.5]) if dx == 0 else np.array([0.5, 1.0]))
        outside = np.hypot(*centre.T) > diamond.arctic_radius + slack
        towards = centre @ np.array([dx, dy]) >= np.abs(centre @ np.array([dy, dx]))
        assert towards[outside].all()
        inside = np.hypot(*centre.T) < 0.7 * diamond.arctic_radius
        assert not towards[inside].all()


def test_bad_input():
    with pytest.raises(ValueError, match="order is 0"):
        AztecDiamond(0)
    with pytest.raises(ValueError, match="line is 4"):
        krawtchouk_dpp(3, 4)
    empty = np.zeros((0, 2), dtype=np.int64)
    with pytest.raises(ValueError, match="tiling is of order 2"):
        AztecDiamond(3).items_of(Tiling(2, empty, empty, empty, empty))
