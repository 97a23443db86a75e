r"""Partitions of k, and the irreducible characters of the symmetric group on k letters.

A character is constant on permutations with one cycle type, itself a partition of k. The rule of Murnaghan and Nakayama
gives :math:`\chi^\lambda(\mu)`: take a cycle of :math:`\mu`, remove in every possible way a rim hook of its length from
the diagram of :math:`\lambda`, and add up what is left, with a minus for each row that the hook goes down.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from functools import cache

from diverset.errors import DiversetError
from diverset.numerics.validation import check_size

__all__ = ["as_partition", "character", "class_size", "partitions"]


def partitions(k: int) -> list[tuple[int, ...]]:
    """All partitions of k, each in descending order, from (k,) to (1, ..., 1).

    Examples
    --------
    >>> partitions(4)
    [(4,), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1)]
    """

    def below(total: int, largest: int) -> list[tuple[int, ...]]:
        if total == 0:
            return [()]
        return [(part, *rest) for part in range(min(total, largest), 0, -1) for rest in below(total - part, part)]

    total = check_size(k)
    return below(total, total)


def as_partition(parts: Iterable[int]) -> tuple[int, ...]:
    """`parts` in descending order; refuses anything but positive whole numbers."""
    sizes = [check_size(part, name="a part") for part in parts]
    if 0 in sizes:
        raise DiversetError("a part is 0; a partition has positive parts")
    return tuple(sorted(sizes, reverse=True))


def class_size(cycle_type: Iterable[int]) -> int:
    """Number of permutations with the given lengths of cycles.

    Examples
    --------
    >>> class_size((2, 1, 1))
    6
    """
    mu = as_partition(cycle_type)
    centralizer: int = math.prod(length**count * math.factorial(count) for length, count in Counter(mu).items())
    return math.factorial(sum(mu)) // centralizer


def character(partition: Iterable[int], cycle_type: Iterable[int]) -> int:
    r"""Irreducible character :math:`\chi^\lambda(\mu)` of the symmetric group.

    The partition :math:`(k)` gives 1, and :math:`(1, \dots, 1)` the sign.

    Parameters
    ----------
    partition : iterable of int
        :math:`\lambda`.
    cycle_type : iterable of int
        :math:`\mu`, a partition of the same number.

    Examples
    --------
    >>> [character((2, 1), mu) for mu in ((1, 1, 1), (2, 1), (3,))]
    [2, 0, -1]
    """
    shape, mu = as_partition(partition), as_partition(cycle_type)
    if sum(shape) != sum(mu):
        raise DiversetError(f"{shape} and {mu} are partitions of {sum(shape)} and {sum(mu)}; they must agree")
    return _character(shape, mu)


@cache
def _character(shape: tuple[int, ...], mu: tuple[int, ...]) -> int:
    if not mu:
        return 1
    # First-column hook lengths: removing a rim hook of length h lowers one of them by h, to a value not yet taken.
    rows = len(shape)
    beta = [part + rows - 1 - i for i, part in enumerate(shape)]
    total = 0
    for value in beta:
        lower = value - mu[0]
        if lower < 0 or lower in beta:
            continue
        passed = sum(lower < other < value for other in beta)
        left = sorted([other for other in beta if other != value] + [lower], reverse=True)
        rest = tuple(part for i, b in enumerate(left) if (part := b - (rows - 1 - i)) > 0)
        total += (-1) ** passed * _character(rest, mu[1:])
    return total
