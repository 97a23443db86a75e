"""Factor graphs: parts, and factors with qualities and features over them.

A structure gives a value to each part. Factors over a few parts each hold qualities, which multiply, and diversity
features, which add ([KuleszaTaskar2012]_, section 6.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, KernelError, LabelError, MissingExtraError
from diverset.numerics.projection import projection_matrix
from diverset.numerics.validation import check_count, is_sparse
from diverset.structured.potential import Potential, Separable

__all__ = ["Factor", "FactorGraph"]


@dataclass(frozen=True, eq=False)
class Factor:
    """A potential and its parts."""

    parts: tuple[int, ...]
    potential: Potential
    name: str


def _digest(a: Any) -> Any:
    """Hash of the contents of an array, so that equal potentials are stored once."""
    if a is None:
        return None
    if isinstance(a, Separable):
        return a.by, tuple(_digest(A) for A in a.matrices)
    if is_sparse(a):
        held = [a.data, a.indices, a.indptr] if a.format in ("csr", "csc") else [a.tocoo().data, *a.tocoo().coords]
        return a.format, tuple(_digest(x) for x in held)
    array = np.asarray(a)
    if array.dtype.kind not in "biuf":
        return id(a)  # raises an error later
    code = hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16).digest()
    return array.dtype.str, array.shape, code


class FactorGraph:
    r"""Structures made of parts, with qualities and features that factor over small groups of parts.

    .. math::  q(y) = \prod_\alpha q_\alpha(y_\alpha), \qquad \phi(y) = \sum_\alpha \phi_\alpha(y_\alpha)

    ([KuleszaTaskar2012]_, section 6.1).

    Parameters
    ----------
    n_values : sequence of int
        Number of values of each part.
    names : sequence of str, optional
        Names of the parts, for messages and pictures.
    value_names : sequence of sequences, optional
        Names of the values of each part; one sequence for all parts is allowed where they have equally many values.

    Notes
    -----
    The graph is a builder: ``add_factor`` and ``add_factors`` change it, and models made before keep their own copy.
    Arrays are copied; equal ones, such as the transitions of a chain, are stored once.

    Examples
    --------
    Paths of three steps over four places, moving by at most one place. Paths differ if they visit different places.

    >>> import numpy as np, diverset as dv
    >>> move = np.abs(np.subtract.outer(range(4), range(4))) <= 1
    >>> graph = dv.FactorGraph([4, 4, 4])
    >>> for r in range(3):
    ...     graph.add_factor([r], features=np.eye(4))
    >>> for r in range(2):
    ...     graph.add_factor([r, r + 1], quality=move)
    >>> graph
    FactorGraph(3 parts, 5 factors, 4 features, a forest)
    >>> graph.features([[0, 1, 1]])
    array([[1., 2., 0., 0.]])
    """

    def __init__(
        self,
        n_values: Sequence[int],
        *,
        names: Sequence[str] | None = None,
        value_names: Sequence[Any] | None = None,
    ) -> None:
        try:
            sizes = list(n_values)
        except TypeError:
            raise DiversetError(f"n_values is {n_values!r}; give the number of values of each part") from None
        if not sizes:
            raise DiversetError("n_values is empty; a structure has at least one part")
        self._n_values = tuple(check_count(m, name=f"n_values[{r}]") for r, m in enumerate(sizes))
        self._names = self._read_names(names)
        self._value_names = self._read_value_names(value_names)
        self._factors: list[Factor] = []
        self._potentials: dict[tuple[Any, ...], Potential] = {}

    def _read_names(self, names: Sequence[str] | None) -> tuple[str, ...]:
        if names is None:
            return tuple(str(r) for r in range(self.n_parts))
        given = tuple(str(name) for name in names)
        if len(given) != self.n_parts or len(set(given)) != len(given):
            raise LabelError(
                f"names has {len(given)} entries, {len(set(given))} of them distinct, for {self.n_parts} parts"
            )
        return given

    def _read_value_names(self, value_names: Sequence[Any] | None) -> tuple[tuple[Any, ...], ...] | None:
        if value_names is None:
            return None
        given = list(value_names)
        # One list for all parts, unless each entry is itself a list of names.
        nested = all(isinstance(v, Iterable) and not isinstance(v, str) for v in given) and len(given) == self.n_parts
        lists = [tuple(v) for v in given] if nested else [tuple(given)] * self.n_parts
        for r, (values, m) in enumerate(zip(lists, self._n_values, strict=True)):
            if len(values) != m:
                raise LabelError(f"value_names of part {r} has {len(values)} entries for {m} values")
        return tuple(lists)

    # description -----------------------------------------------------------------------------------------

    @property
    def n_parts(self) -> int:
        """Number of parts R."""
        return len(self._n_values)

    @property
    def n_values(self) -> tuple[int, ...]:
        """Number of values of each part."""
        return self._n_values

    @property
    def log_n_structures(self) -> float:
        """Logarithm of the number of structures, forbidden ones included: the sum of log M over the parts."""
        return float(np.log(self._n_values).sum())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts."""
        return self._names

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The factors, in the order they were added."""
        return tuple(self._factors)

    @property
    def n_features(self) -> int:
        """Number of features D; 0 as long as no factor has any."""
        return next((f.potential.n_features or 0 for f in self._factors if f.potential.features is not None), 0)

    @property
    def is_forest(self) -> bool:
        """Whether the graph has no cycle, so that message passing is exact."""
        edges = sum(len(factor.parts) for factor in self._factors)
        return len(np.unique(self._components)) == self.n_parts + len(self._factors) - edges

    @property
    def _components(self) -> IntArray:
        """Number of the connected component of each part, then of each factor; parts of lower number come first."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n = self.n_parts + len(self._factors)
        parts = [r for factor in self._factors for r in factor.parts]
        of = np.repeat(np.arange(self.n_parts, n), [len(factor.parts) for factor in self._factors])
        edges = coo_array((np.ones(len(parts)), (parts, of)), shape=(n, n))
        return np.asarray(connected_components(edges, directed=False)[1], dtype=np.int64)

    def __repr__(self) -> str:
        kind = "a forest" if self.is_forest else "with cycles"
        return f"FactorGraph({self.n_parts} parts, {len(self._factors)} factors, {self.n_features} features, {kind})"

    # building --------------------------------------------------------------------------------------------

    def add_factor(
        self,
        parts: Sequence[int | str],
        quality: Any = None,
        features: Any = None,
        *,
        log_quality: Any = None,
        name: str | None = None,
    ) -> None:
        r"""Add a factor over one, two or more parts.

        Parameters
        ----------
        parts : sequence of int or str
            Which parts, by number or name, in the order of the axes of `quality`.
        quality : array_like, scipy.sparse or Separable, optional
            Nonnegative :math:`q_\alpha`, one axis per part; 1 by default. Entries that a sparse array does not store
            are forbidden, as are zeros. :class:`~diverset.structured.Separable` holds a pairwise quality on a grid of
            values as small matrices.
        features : array_like, optional
            :math:`\phi_\alpha`, of shape (\*quality.shape, D), or (n_entries, D) for the stored entries of a sparse
            quality, in their order; 0 by default.
        log_quality : array_like or scipy.sparse, optional
            Instead of `quality`; ``-inf`` is forbidden.
        name : str, optional
            For messages and pictures.

        Notes
        -----
        Qualities are stored relative to the largest of their factor. Those below 1e-150 of it count as forbidden.
        """
        index = self._index(parts, name)
        label = self._label(parts, name)
        shape = tuple(self._n_values[r] for r in index)
        self._add([index], self._potential(shape, quality, log_quality, features, label), label, name)

    def _add(self, indices: Sequence[tuple[int, ...]], potential: Potential, label: str, name: str | None) -> None:
        if potential.n_features is not None and self.n_features not in (0, potential.n_features):
            raise KernelError(
                f"features of {label} have {potential.n_features} dimensions, those of earlier factors "
                f"{self.n_features}; features of all factors add up, so give them equally many"
            )
        self._factors += [Factor(index, potential, name or "") for index in indices]

    def add_factors(
        self,
        groups: Sequence[Sequence[int | str]],
        quality: Any = None,
        features: Any = None,
        *,
        log_quality: Any = None,
        name: str | None = None,
    ) -> None:
        """Add the same factor over several groups of parts, such as every step of a chain; arrays are read once.

        Parameters
        ----------
        groups : sequence of sequences of int or str
            The parts of each factor, all with equally many values.
        quality, features, log_quality, name
            As for :meth:`add_factor`.
        """
        indices = [self._index(parts, name) for parts in groups]
        shapes = [tuple(self._n_values[r] for r in index) for index in indices]
        odd = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), None)
        if odd is not None:
            raise KernelError(
                f"the parts {list(groups[odd])} and {list(groups[0])} have different numbers of values; "
                "factors that are added together have one shape"
            )
        if indices:
            label = self._label(groups[0], name)
            potential = Potential.read(shapes[0], quality, log_quality, features, label)
            self._add(indices, potential, label, name)

    def _index(self, parts: Sequence[int | str], name: str | None) -> tuple[int, ...]:
        """Numbers of the parts of a new factor."""
        if isinstance(parts, (int, str, np.integer)):
            raise LabelError(f"parts is {parts!r}; pass a sequence of parts, such as [{parts!r}]")
        index = tuple(self.part(r) for r in parts)
        label = self._label(parts, name)
        if not index:
            raise LabelError(f"{label} has no parts; a factor is over one part or more")
        if len(set(index)) != len(index):
            raise LabelError(f"{label} names a part twice")
        return index

    def _label(self, parts: Sequence[int | str], name: str | None) -> str:
        return name if name is not None else f"factor {len(self._factors)} over {list(parts)}"

    def _potential(
        self, shape: tuple[int, ...], quality: Any, log_quality: Any, features: Any, label: str
    ) -> Potential:
        """A new potential, or the one made before from equal arrays."""
        key = (shape, _digest(quality), _digest(log_quality), _digest(features))
        if key not in self._potentials:
            self._potentials[key] = Potential.read(shape, quality, log_quality, features, label)
        return self._potentials[key]

    def part(self, r: int | str) -> int:
        """Number of a part given by its number or name."""
        if isinstance(r, str):
            if r not in self._names:
                raise LabelError(f"no part is called {r!r}; the parts are {', '.join(self._names[:10])}")
            return self._names.index(r)
        if not isinstance(r, (int, np.integer)) or isinstance(r, bool) or not 0 <= r < self.n_parts:
            raise LabelError(f"part {r!r} is not one of 0 to {self.n_parts - 1}")
        return int(r)

    def value(self, part: int | str, value: Any) -> int:
        """Number of a value of a part, given by its number or, where values have names, its name."""
        r = self.part(part)
        names = None if self._value_names is None else self._value_names[r]
        if names is not None and value in names and not isinstance(value, (int, np.integer)):
            return names.index(value)
        if not isinstance(value, (int, np.integer)) or not 0 <= value < self._n_values[r]:
            raise LabelError(f"value {value!r} of part {self._names[r]} is not one of 0 to {self._n_values[r] - 1}")
        return int(value)

    # structures ------------------------------------------------------------------------------------------

    def structures(self, given: Any) -> IntArray:
        """Structures as rows, (n, n_parts), checked; a single one may be given flat."""
        try:
            array = np.asarray(given)
        except ValueError:
            raise LabelError(f"structures are not all as long; each is a row of {self.n_parts} values") from None
        if array.size == 0:
            return np.zeros((0, self.n_parts), dtype=np.int64)
        if array.ndim == 1:
            array = array[None]
        if array.ndim != 2 or array.shape[1] != self.n_parts:
            raise LabelError(f"structures have shape {array.shape}; each is a row of {self.n_parts} values")
        if array.dtype.kind not in "iu":
            raise LabelError(f"structures hold {array.dtype} values; values are whole numbers")
        outside = (array < 0) | (array >= np.array(self._n_values))
        if outside.any():
            i, r = np.argwhere(outside)[0]
            raise LabelError(
                f"structure {i} gives value {array[i, r]} to part {self._names[r]}, whose values are 0 to "
                f"{self._n_values[r] - 1}"
            )
        return array.astype(np.int64)

    def named(self, structures: Any) -> list[tuple[Any, ...]]:
        """Structures as tuples of the names of their values."""
        rows = self.structures(structures).tolist()
        if self._value_names is None:
            return [tuple(row) for row in rows]
        return [tuple(names[y] for names, y in zip(self._value_names, row, strict=True)) for row in rows]

    def log_quality(self, structures: Any) -> FloatArray:
        r"""Logarithms of :math:`q(y)`, ``-inf`` for forbidden structures; of shape (n,)."""
        rows = self.structures(structures)
        total = np.zeros(len(rows))
        for factor in self._factors:
            total += factor.potential.log_quality_at(rows[:, factor.parts])
        return total

    def features(self, structures: Any) -> FloatArray:
        r"""Features :math:`\phi(y)`, of shape (n, D)."""
        rows = self.structures(structures)
        total = np.zeros((len(rows), self.n_features))
        for factor in self._factors:
            phi = factor.potential.features_at(rows[:, factor.parts])
            if phi is not None:
                total += phi
        return total

    # new graphs from this one ----------------------------------------------------------------------------

    def copy(self) -> FactorGraph:
        """A graph with the same factors, to which others can be added; only the list of factors is copied."""
        new = object.__new__(FactorGraph)
        new._n_values, new._names, new._value_names = self._n_values, self._names, self._value_names
        new._factors, new._potentials = list(self._factors), {}
        return new

    def _with_features(self, G: FloatArray) -> FactorGraph:
        new = self.copy()
        mapped: dict[int, Potential] = {}
        for i, factor in enumerate(self._factors):
            potential = factor.potential
            if id(potential) not in mapped:
                mapped[id(potential)] = potential.mapped(G)
            new._factors[i] = Factor(factor.parts, mapped[id(potential)], factor.name)
        return new

    def project(self, dim: int, *, rng: RNGLike = None, method: str = "gaussian") -> FactorGraph:
        """The graph with its features projected to `dim` random directions; see :func:`diverset.numerics.project`."""
        return self._with_features(projection_matrix(self.n_features, dim, rng=rng, method=method))

    def restrict(self, values: Mapping[int | str, Any]) -> FactorGraph:
        """The graph with the values of some parts restricted to a number or name, or a collection of them."""
        new = self.copy()
        for part, allowed in values.items():
            r = self.part(part)
            several = isinstance(allowed, Iterable) and not isinstance(allowed, str)
            chosen = [self.value(r, v) for v in (allowed if several else [allowed])]
            mask = np.zeros(self._n_values[r])
            mask[chosen] = 1.0
            new.add_factor([r], quality=mask, name=f"values allowed to part {self._names[r]}")
        return new

    # pictures --------------------------------------------------------------------------------------------

    def to_networkx(self) -> Any:
        """The bipartite graph of parts and factors, as a `networkx.Graph` with ``kind`` and ``label`` on its nodes."""
        try:
            import networkx
        except ImportError as error:
            raise MissingExtraError('the export needs networkx: pip install "diverset[graphs]"') from error
        graph = networkx.Graph()
        for r, name in enumerate(self._names):
            graph.add_node(("part", r), kind="part", label=name, n_values=self._n_values[r])
        for i, factor in enumerate(self._factors):
            graph.add_node(("factor", i), kind="factor", label=factor.name)
            graph.add_edges_from((("factor", i), ("part", r)) for r in factor.parts)
        return graph
