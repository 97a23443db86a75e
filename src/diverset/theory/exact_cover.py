r"""Exact 3-cover as a DPP: why finding the most probable set is NP-hard ([KuleszaTaskar2012]_, Theorem 2.9).

An instance is a set of 3q elements and a list of triples. The question is whether q of the triples cover every element
exactly once. With one feature per element, :math:`B_{is} = 1/\sqrt3` if triple i contains s, and
:math:`L = \gamma B B^*`, :math:`1 < \gamma \le 9/8`, disjoint triples are orthogonal items, and

.. math::

    \max_Y \det L_Y = \gamma^q \text{ if there is a cover}, \qquad
    \max_Y \det L_Y \le \gamma^{q-1} \text{ if there is none.}

So finding the mode, even to within a factor :math:`8/9 + \varepsilon`, answers an NP-complete question. The
construction is a source of test cases with known answers.
"""

import math
import operator
from collections.abc import Iterable, Sequence
from typing import SupportsFloat

import numpy as np

from diverset._typing import RNGLike
from diverset.core import DPP
from diverset.errors import DiversetError
from diverset.inference.result import Selection
from diverset.numerics.validation import as_generator, as_number, check_count

__all__ = ["exact_cover_dpp", "find_exact_cover", "has_exact_cover", "random_x3c"]

Triple = tuple[int, int, int]
_ATTEMPTS = 1000


def _check_elements(n_elements: int) -> int:
    n = check_count(n_elements, name="n_elements")
    if n % 3:
        raise DiversetError(f"n_elements is {n}; a cover by triples needs a multiple of 3")
    return n


def _check_triples(triples: Iterable[Sequence[int]], n: int) -> list[Triple]:
    checked: list[Triple] = []
    for i, triple in enumerate(triples):
        try:
            members = tuple(sorted(operator.index(s) for s in triple))
        except TypeError:
            members = ()
        if len(members) != 3 or len(set(members)) != 3:
            raise DiversetError(f"triples[{i}] is {triple!r}; it must name three different elements by number")
        if members[0] < 0 or members[2] >= n:
            raise DiversetError(f"triples[{i}] is {tuple(triple)}; elements are numbered 0 to {n - 1}")
        checked.append(members)
    return checked


def _check_gamma(gamma: SupportsFloat) -> float:
    value = as_number(gamma, name="gamma")
    if not 1.0 < value <= 9.0 / 8.0:
        raise DiversetError(f"gamma is {value}; the construction needs 1 < gamma <= 9/8")
    return value


def exact_cover_dpp(n_elements: int, triples: Iterable[Sequence[int]], gamma: SupportsFloat = 9 / 8) -> DPP:
    r"""DPP with :math:`L_{ij} = \gamma |C_i \cap C_j| / 3`, whose mode shows whether there is an exact cover.

    Parameters
    ----------
    n_elements : int
        Number of elements, a multiple of 3; they are numbered from 0.
    triples : iterable of (int, int, int)
        Triple :math:`C_i` is item i.
    gamma : float
        Squared length of an item; above 1, at most 9/8.

    Examples
    --------
    >>> dpp = exact_cover_dpp(6, [(0, 1, 2), (2, 3, 4), (3, 4, 5)])
    >>> dpp.L[0].round(3)
    array([1.125, 0.375, 0.   ])
    """
    n = _check_elements(n_elements)
    factor = math.sqrt(_check_gamma(gamma) / 3.0)
    checked = _check_triples(triples, n)
    B = np.zeros((len(checked), n))
    for i, triple in enumerate(checked):
        B[i, list(triple)] = factor
    return DPP.from_features(B)


def has_exact_cover(selection: Selection, n_elements: int, gamma: SupportsFloat = 9 / 8) -> bool:
    r"""Whether there is an exact cover, by the value of the most probable set of :func:`exact_cover_dpp`.

    For :math:`3q` elements there is one if its log-determinant is above :math:`(q-1)\log\gamma`, and none if its upper
    bound is below :math:`q\log\gamma`.

    Parameters
    ----------
    selection : Selection
        From :func:`diverset.map_exact`, or any method that gives an upper bound.
    n_elements, gamma
        As in :func:`exact_cover_dpp`.

    Raises
    ------
    DiversetError
        If neither the value nor the bound of the selection decides the question.

    Examples
    --------
    >>> from diverset.inference.exact import map_exact
    >>> dpp = exact_cover_dpp(6, [(0, 1, 2), (2, 3, 4), (3, 4, 5)])
    >>> has_exact_cover(map_exact(dpp), 6)
    True
    """
    q = _check_elements(n_elements) // 3
    unit = math.log(_check_gamma(gamma))
    if selection.objective > (q - 0.5) * unit:
        return True
    if selection.upper_bound is not None and selection.upper_bound < (q - 1e-6) * unit:
        return False
    raise DiversetError(
        f"undecided: the best set found has log-determinant {selection.objective:.6g}, a cover would have "
        f"{q * unit:.6g}, and the upper bound is {selection.upper_bound}; give map_exact more time"
    )


def find_exact_cover(n_elements: int, triples: Iterable[Sequence[int]]) -> list[int] | None:
    """Find an exact cover by backtracking: ascending positions of triples, or None if there is no cover.

    Each step covers an element that the fewest remaining triples contain. The cost is exponential.

    Examples
    --------
    >>> find_exact_cover(6, [(0, 1, 2), (2, 3, 4), (3, 4, 5)])
    [0, 2]
    """
    n = _check_elements(n_elements)
    checked = _check_triples(triples, n)

    def extend(uncovered: frozenset[int], usable: list[int]) -> list[int] | None:
        if not uncovered:
            return []
        options = min(([i for i in usable if s in checked[i]] for s in uncovered), key=len)
        for i in options:
            left = uncovered.difference(checked[i])
            rest = extend(left, [j for j in usable if left.issuperset(checked[j])])
            if rest is not None:
                return [i, *rest]
        return None

    found = extend(frozenset(range(n)), list(range(len(checked))))
    return None if found is None else sorted(found)


def random_x3c(n_elements: int, n_triples: int, *, solvable: bool, rng: RNGLike = None) -> list[Triple]:
    """Random instance of exact 3-cover: different ascending triples in random order, with or without a cover.

    Parameters
    ----------
    n_elements : int
        Number of elements, a multiple of 3.
    n_triples : int
        Number of triples.
    solvable : bool
        True hides a random cover among random triples; False draws triples until there is no cover.
    rng : int, Generator or None
        Seed or generator.

    Examples
    --------
    >>> triples = random_x3c(9, 7, solvable=True, rng=0)
    >>> len(triples), find_exact_cover(9, triples) is not None
    (7, True)
    """
    n = _check_elements(n_elements)
    count = check_count(n_triples, name="n_triples")
    possible = math.comb(n, 3)
    if count > possible:
        raise DiversetError(f"n_triples is {count}; {n} elements have only {possible} triples")
    if solvable and count < n // 3:
        raise DiversetError(f"n_triples is {count}; a cover of {n} elements takes {n // 3}")
    generator = as_generator(rng)

    def fill(triples: set[Triple]) -> list[Triple]:
        while len(triples) < count:
            a, b, c = sorted(generator.choice(n, 3, replace=False).tolist())
            triples.add((a, b, c))
        ordered = sorted(triples)
        return [ordered[i] for i in generator.permutation(count)]

    if solvable:
        parts = np.sort(generator.permutation(n).reshape(-1, 3), axis=1).tolist()
        return fill({(a, b, c) for a, b, c in parts})
    for _ in range(_ATTEMPTS):
        triples = fill(set())
        if find_exact_cover(n, triples) is None:
            return triples
    raise DiversetError(f"{_ATTEMPTS} draws of {count} triples over {n} elements all had a cover; take fewer triples")
