"""Small structured models and their ground truth, by listing every structure: nothing here uses message passing."""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
import scipy.sparse

import diverset as dv


@dataclass
class Model:
    """Factors as dense arrays: (parts, quality, features or None)."""

    n_values: tuple
    factors: list = field(default_factory=list)

    def add(self, parts, quality=None, features=None):
        shape = tuple(self.n_values[r] for r in parts)
        self.factors.append((tuple(parts), np.ones(shape) if quality is None else quality, features))

    @property
    def structures(self):
        return np.array(list(product(*(range(m) for m in self.n_values))))

    @property
    def n_features(self):
        return next(f.shape[-1] for _, _, f in self.factors if f is not None)

    @property
    def rows(self):
        """B: quality times features of every structure, by the definition."""
        B = []
        for y in self.structures:
            q, phi = 1.0, np.zeros(self.n_features)
            for parts, quality, features in self.factors:
                at = tuple(y[r] for r in parts)
                q *= quality[at]
                if features is not None:
                    phi = phi + features[at]
            B.append(q * phi)
        return np.array(B)

    @property
    def qualities(self):
        return np.array(
            [np.prod([q[tuple(y[r] for r in parts)] for parts, q, _ in self.factors]) for y in self.structures]
        )

    def graph(self, *, sparse=False, log=False, scale=1.0):
        g = dv.FactorGraph(self.n_values)
        for i, (parts, quality, features) in enumerate(self.factors):
            q = quality * (scale if i == 0 else 1.0)
            if sparse and len(parts) >= 2:
                q = scipy.sparse.coo_array(q)
                if features is not None and len(parts) > 2:
                    features = features[q.coords]
            if log and not scipy.sparse.issparse(q):
                with np.errstate(divide="ignore"):
                    g.add_factor(parts, features=features, log_quality=np.log(q))
            else:
                g.add_factor(parts, q, features)
        return g


def chain(rng, n_values, D=3, *, pair_features=False, forbidden=0.0):
    model = Model(tuple(n_values))
    for r, m in enumerate(n_values):
        model.add([r], rng.uniform(0.2, 1.5, m), rng.standard_normal((m, D)))
    for r in range(len(n_values) - 1):
        shape = (n_values[r], n_values[r + 1])
        q = rng.uniform(0.2, 1.5, shape)
        q[rng.random(shape) < forbidden] = 0.0
        model.add([r, r + 1], q, rng.standard_normal((*shape, D)) if pair_features else None)
    return model


def tree(rng, n_values, D=3, *, pair_features=False):
    """A random tree: each part hangs on an earlier one, the axes of its factor in either order."""
    model = Model(tuple(n_values))
    for r, m in enumerate(n_values):
        if rng.random() < 0.7 or r == 0:
            model.add([r], rng.uniform(0.2, 1.5, m), rng.standard_normal((m, D)))
    for r in range(1, len(n_values)):
        s = int(rng.integers(r))
        parts = [r, s] if rng.random() < 0.5 else [s, r]
        shape = tuple(n_values[i] for i in parts)
        phi = rng.standard_normal((*shape, D)) if pair_features and rng.random() < 0.6 else None
        model.add(parts, rng.uniform(0.0, 1.5, shape), phi)
    return model


def cases():
    """Models that differ in shape; all but the last few are forests."""
    rng = np.random.default_rng(7)
    found = {
        "chain": chain(rng, [3, 2, 4]),
        "chain with pair features": chain(rng, [2, 3, 2, 2], pair_features=True),
        "chain with forbidden entries": chain(rng, [3, 3, 3], forbidden=0.35),
        "one part": chain(rng, [5]),
    }
    alike = Model((3, 3, 3))
    q, phi, T = rng.random(3), rng.standard_normal((3, 4)), rng.random((3, 3))
    for r in range(3):
        alike.add([r], q, phi)
    for r in range(2):
        alike.add([r, r + 1], T)
    found["chain of equal parts"] = alike
    star = Model((2, 2, 3, 2))
    star.add([0], rng.random(2))
    for r in (1, 2, 3):
        star.add([r], features=rng.standard_normal((star.n_values[r], 3)))
        star.add([r, 0], rng.random((star.n_values[r], 2)))
    found["star, centre without features"] = star
    for seed in range(4):
        generator = np.random.default_rng(seed)
        sizes = generator.permutation([2, 2, 2, 3, 2])
        found[f"tree {seed}"] = tree(generator, sizes.tolist(), pair_features=seed % 2 == 1)
    ternary = Model((2, 3, 2, 2))
    q = rng.random((3, 2, 2))
    q[0, 0, 0] = q[2, 1, 0] = 0.0
    ternary.add([1, 2, 3], q, rng.standard_normal((3, 2, 2, 3)))
    ternary.add([0, 1], rng.random((2, 3)))
    ternary.add([0], features=rng.standard_normal((2, 3)))
    ternary.add([3], rng.random(2), rng.standard_normal((2, 3)))
    ternary.add([3], rng.random(2), rng.standard_normal((2, 3)))
    found["ternary factor"] = ternary
    bare = Model((2, 3, 2, 2))
    bare.add([2, 0, 1], rng.random((2, 2, 3)))
    bare.add([3, 1], rng.random((2, 3)))
    bare.add([3], features=rng.standard_normal((2, 3)))
    found["ternary factor without features"] = bare
    forest = Model((2, 3, 2, 2, 2))
    forest.add([0, 2], rng.random((2, 2)), rng.standard_normal((2, 2, 4)))
    forest.add([1], rng.random(3), rng.standard_normal((3, 4)))
    forest.add([3], rng.random(2))
    found["forest with a part that nothing is said about"] = forest
    return found


def loops():
    """Graphs with cycles."""
    rng = np.random.default_rng(11)
    ring = Model((2, 3, 2, 3))
    for r in range(4):
        s = (r + 1) % 4
        q = rng.random((ring.n_values[r], ring.n_values[s]))
        q[0, 0] *= r % 2
        ring.add([r, s], q, rng.standard_normal((*q.shape, 3)) if r == 1 else None)
        ring.add([r], features=rng.standard_normal((ring.n_values[r], 3)))
    grid = Model((2,) * 6)
    for r, s in [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]:
        grid.add([r, s], rng.random((2, 2)))
    for r in range(6):
        grid.add([r], rng.random(2), rng.standard_normal((2, 3)))
    twice = Model((3, 2, 2))
    twice.add([0, 1], rng.random((3, 2)))
    twice.add([1, 0], rng.random((2, 3)), rng.standard_normal((2, 3, 2)))
    twice.add([2], rng.random(2), rng.standard_normal((2, 2)))
    return {"ring": ring, "grid": grid, "two factors over one pair, and a part apart": twice}


def grid(*n_values):
    """All structures of parts with these numbers of values, one per row."""
    return np.stack([i.ravel() for i in np.indices(n_values)], axis=1)


def two_parts(**factor):
    """Parts of three and two values: a direction for each value of the first, and one more factor over both."""
    graph = dv.FactorGraph([3, 2], names=["a", "b"])
    graph.add_factor([0], features=np.eye(3))
    graph.add_factor([0, 1], **factor)
    return graph
