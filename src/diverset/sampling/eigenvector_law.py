r"""Phase one of spectral sampling: which eigenvectors take part in a draw.

A DPP chooses each eigenvector independently, with log-odds :math:`\log\lambda_n`. A k-DPP chooses exactly k,
:math:`\Pr(J) \propto \prod_{n \in J} \lambda_n` ([KuleszaTaskar2012]_, section 5.2.2). Multiplying every
:math:`\lambda_n` by one number changes nothing in the law of J given its size; so for a k-DPP the odds are first
shifted until k successes are expected, to probabilities :math:`q_n`, and then either

* the prefix table of the *tilted* trials, :math:`f_n(l) = \Pr(l \text{ successes among the first } n)`, is
  walked backwards, eigenvector n being taken with probability :math:`q_n f_{n-1}(l-1) / f_n(l)`. This is
  Algorithm 8 of the same text with a table of probabilities: nothing overflows. O(rk) memory, O(r) a draw; or
* independent trials are repeated until exactly k succeed, about 2.5 standard deviations of the size in number.

Spectra are ascending log-odds without ``-inf``, as :attr:`diverset.core.spectrum.Spectrum.support` gives them;
``+inf`` (an eigenvalue 1 of K) is always chosen, and kept out of tilt and table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import SizeError
from diverset.numerics import symmetric
from diverset.numerics._loops import prefix_table
from diverset.numerics.symmetric import expit

__all__ = ["TABLE", "TILTED", "TRIALS", "EigenvectorLaw"]

#: Methods, as numbered in the compiled loop: independent trials, a walk through a table, trials until k succeed.
TRIALS, TABLE, TILTED = 0, 1, 2

#: Entries of a table that is still worth its memory (32 MB); a model of sizes keeps one for each.
_TABLE_LIMIT = 4_000_000


@dataclass(frozen=True, eq=False)
class EigenvectorLaw:
    """Law of the set J of eigenvectors in a draw; :meth:`of` makes one.

    `success` and `failure` are the probabilities of each trial, tilted if the size is fixed; the last `n_certain`
    eigenvectors are always chosen, and `wanted` of the others, if the size is fixed. `table` is empty except for
    ``TABLE``.
    """

    method: int
    success: FloatArray
    failure: FloatArray
    n_certain: int
    wanted: int
    table: FloatArray

    @classmethod
    def of(cls, log_odds: FloatArray, k: int | None = None, *, method: int | None = None) -> EigenvectorLaw:
        """Law for ascending log-odds above ``-inf``, of a DPP (k None) or k-DPP.

        By default the table is used if it has no more than 4e6 entries.
        """
        r = len(log_odds)
        n_certain = int(np.count_nonzero(log_odds == np.inf))
        x = log_odds[: r - n_certain]
        nothing = np.zeros((0, 0))
        if k is None:
            return cls(TRIALS, expit(x), expit(-x), n_certain, 0, nothing)
        wanted = k - n_certain
        if not 0 <= wanted <= len(x):
            raise SizeError(f"k is {k}, but the sets of this DPP have {n_certain} to {r} items")
        # No tilt is needed, nor finite, where none or all are chosen.
        t = symmetric.tilt(x, wanted) if wanted < len(x) else np.inf
        success, failure = expit(x + t), expit(-x - t)
        if wanted in (0, len(x)):
            return cls(TRIALS, success, failure, n_certain, wanted, nothing)
        if method is None:
            method = TABLE if (len(x) + 1) * (wanted + 1) <= _TABLE_LIMIT else TILTED
        table = prefix_table(success, failure, wanted) if method == TABLE else nothing
        return cls(method, success, failure, n_certain, wanted, table)

    @property
    def fields(self) -> tuple[int, FloatArray, FloatArray, int, int, FloatArray]:
        """All fields, as the compiled loop takes them."""
        return self.method, self.success, self.failure, self.n_certain, self.wanted, self.table

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.success.nbytes + self.failure.nbytes + self.table.nbytes

    @property
    def mean_size(self) -> float:
        """Expected number of eigenvectors."""
        return self.n_certain + float(self.success.sum())

    def draw(self, rng: np.random.Generator) -> IntArray:
        """Ascending indices of the eigenvectors in one draw."""
        from diverset.sampling._rejection_loops import walk_table

        if self.method == TABLE:
            chosen = walk_table(rng, self.success, self.failure, self.table, self.wanted)
        else:
            while True:
                chosen = np.flatnonzero(rng.random(len(self.success)) < self.success)
                if self.method == TRIALS or len(chosen) == self.wanted:
                    break
        first_certain = len(self.success)
        return np.concatenate([chosen, np.arange(first_certain, first_certain + self.n_certain)])
