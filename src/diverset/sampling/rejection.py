r"""Repeated exact draws whose cost hardly depends on n: propose by leverage, accept by residual.

Given the eigenvectors J of a draw, m of them, its items come one at a time, item i with probability proportional
to the *residual* of its row :math:`v_i = V_{iJ}`: the squared norm of :math:`v_i` projected off the rows already
drawn. Here i is first proposed with probability :math:`\lVert v_i\rVert^2/m`, its leverage, and then accepted
with probability residual over :math:`\lVert v_i\rVert^2` ([BarthelmeTremblayAmblard2023]_). With s items still to
come a proposal is accepted with probability exactly s/m, whatever the kernel, so a draw takes
:math:`m(1 + 1/2 + \dots + 1/m)` proposals on average.

A proposal needs no pass over the items, because :math:`\lVert v_i\rVert^2/m` is the mean of
:math:`|V_{ij}|^2` over j in J: choose j uniformly, and i from the law :math:`|V_{\cdot j}|^2`, for which an
*alias table* ([Walker1977]_) was made once.

The residual is taken against an orthonormal basis W of what is *left*, s vectors, rather than of what is taken:
:math:`\lVert W^* v_i\rVert^2`, a sum of squares in which nothing cancels. A Householder reflection takes one
vector out of W when an item is accepted. A proposal costs O(ms), and m/s are expected before the next
acceptance, so every stage costs :math:`O(m^2)` and a draw :math:`O(m^3)`, where projecting off the rows taken
costs :math:`O(m^3 \log m)`. Proposals do not depend on what was accepted, so they are made, gathered and
projected a block at a time.

Set-up, once for a representation: V, and the alias tables of its r columns, in 20 nr bytes. Then r uniforms for
phase one and :math:`O(m^3)` a draw, k-DPPs included.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.representation import Representation
from diverset.numerics.linalg import orthonormal_columns, squared_modulus
from diverset.numerics.validation import check_fits_in_memory
from diverset.sampling.base import Sampler
from diverset.sampling.eigenvector_law import TILTED, EigenvectorLaw

__all__ = ["Proposals", "RejectionSampler", "alias_tables", "prepare"]

#: Proposals made at a time for fewer than _MANY items, and for more. Multiples of four.
_SHORT_BLOCK, _LONG_BLOCK, _MANY = 8, 16, 32
#: After this many times the expected failures (probability e^-50) a stage computes the residual of every item.
_PATIENCE = 50.0
#: Columns whose tables are made in one call.
_COLUMNS = 16
#: Hint in errors about memory.
_REMEDY = 'method="spectral" makes no tables, method="sequential" no eigenvectors'
#: Longest time of one call of the compiled loop, in seconds, and largest number of draws.
_CALL_SECONDS, _CALL_DRAWS = 0.15, 1024


def alias_tables(V: Array) -> tuple[FloatArray, Array]:
    r"""Alias tables of the laws :math:`|V_{\cdot j}|^2` of all columns of V, (n, r): threshold and alias, both (r, n).

    With a cell i uniform on 0..n-1 and a coin uniform on [0, 1), column j draws item i if the coin is below
    ``threshold[j, i]``, else item ``alias[j, i]``. O(nr) time ([Vose1991]_); two memory accesses a draw.
    """
    from diverset.sampling._rejection_loops import fill_alias_tables

    n, r = V.shape
    threshold = np.empty((r, n))
    alias = np.empty((r, n), dtype=np.int32)
    for start in range(0, r, _COLUMNS):
        part = slice(start, start + _COLUMNS)
        weights = np.ascontiguousarray(squared_modulus(V[:, part]).T)
        weights *= (n / weights.sum(axis=1))[:, None]
        fill_alias_tables(weights, threshold[part], alias[part])
    return threshold, alias


@dataclass(frozen=True, eq=False)
class Proposals:
    """Eigenvectors V, of shape (n, r), and the alias tables of their columns, shared by all draws."""

    V: Array
    threshold: FloatArray
    alias: Array

    @classmethod
    def of(cls, representation: Representation) -> Proposals:
        """Set-up for a representation."""
        n = representation.n
        check_fits_in_memory(8 * n * representation.eigen_width, what=f"the eigenvectors of {n} items", remedy=_REMEDY)
        # Before the spectrum: a dense kernel would otherwise compute its eigenvalues twice.
        V = orthonormal_columns(representation.eigenvectors())
        check_fits_in_memory(12 * V.size, what=f"alias tables for {n} items and rank {V.shape[1]}", remedy=_REMEDY)
        return cls(V, *alias_tables(V))


def prepare(representation: Representation, k: int | None = None) -> RejectionSampler:
    """Sampler of a DPP (k None) or k-DPP; the part that does not depend on k is set up once for a representation."""
    proposals = representation.keep("proposals", lambda: Proposals.of(representation))
    return RejectionSampler(proposals, EigenvectorLaw.of(representation.spectrum.support, k))


class RejectionSampler(Sampler):
    """Draws of a DPP or k-DPP in a compiled loop.

    A stage that fails `patience` times as often as expected computes the residual of every item; negative: at once.
    """

    name = "rejection"

    def __init__(self, proposals: Proposals, law: EigenvectorLaw, patience: float = _PATIENCE) -> None:
        self.proposals = proposals
        self.law = law
        self.patience = patience

    @property
    def chunk(self) -> int:
        """Draws that together take about 0.15 s, by a count of operations: the same number on every machine."""
        law = self.law
        variance = float(law.success @ law.failure)
        m = law.mean_size + math.sqrt(variance)
        tries = 1.0 + 2.5 * math.sqrt(variance) if law.method == TILTED else 1.0
        steps = 6.0 if np.iscomplexobj(self.proposals.V) else 1.5
        seconds = 2e-6 + 3e-9 * tries * len(law.success) + 4e-9 * m**2 * (1.0 + math.log1p(m)) + 4e-10 * steps * m**3
        return max(1, min(_CALL_DRAWS, int(_CALL_SECONDS / seconds)))

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""
        return self._run(1, rng)[0]

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """Several draws, the same as :meth:`draw` would make one after the other."""
        draws: list[IntArray] = []
        for items, offsets in self.draw_flat(size, rng):
            draws += [items[a:b] for a, b in pairwise(offsets.tolist())]
        return draws

    def draw_flat(self, size: int, rng: np.random.Generator) -> Iterator[tuple[IntArray, IntArray]]:
        """The draws of :meth:`draw_many` in blocks: items one after the other, and the offset of each draw.

        For callers that inspect many draws and keep a few: no object is made for each draw.
        """
        chunk = self.chunk
        for start in range(0, size, chunk):
            yield self._run(min(chunk, size - start), rng)

    def _run(self, size: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Items of all draws, and their offsets."""
        from diverset.sampling._rejection_loops import run

        p, law = self.proposals, self.law
        expected = math.ceil(size * law.mean_size * 1.05) + 64
        blocks = (_SHORT_BLOCK, _LONG_BLOCK, _MANY)
        items, offsets = run(rng, size, p.V, p.threshold, p.alias, law.fields, blocks, self.patience, expected)
        return items, offsets
