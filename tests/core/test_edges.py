"""Every form of a DPP by every route: where a limit chooses between two, both give the law of enumeration."""

import math

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.core import (
    dense,
    dense_marginal,
    eigenpairs,
    factor,
    information,
    lowrank,
    nonsymmetric_low_rank,
    representation,
)
from diverset.core import nonsymmetric_forms as nonsymmetric_forms_module
from diverset.core.cache import Cache
from diverset.core.complement import by_eigenvectors
from diverset.core.dense import DenseLikelihood
from diverset.core.dense_marginal import DenseMarginal
from diverset.core.eigenpairs import from_eigenpairs
from diverset.core.factor import RowFactor
from diverset.core.kdpp import near_size
from diverset.core.kronecker import KroneckerKernel
from diverset.core.lowrank import LowRankLikelihood
from diverset.core.lowrank_marginal import LowRankMarginal
from diverset.core.nonsymmetric_checks import (
    as_square,
    check_atoms,
    check_minors,
    check_reflected,
    check_symmetric_part,
)
from diverset.core.nonsymmetric_forms import DenseForm, log_det_of_set, numerical_rank
from diverset.core.nonsymmetric_low_rank import LowRankForm
from diverset.core.sets import read_indicator, read_sets
from diverset.core.spectrum import Spectrum
from diverset.errors import KernelError, LabelError, NoLikelihoodKernelError, SizeError
from diverset.numerics import accretive
from diverset.numerics.rounding import EPS


def positions(Y):
    return np.array(sorted(Y), dtype=np.int64)


def rows_of(n, width, *, imaginary=False, seed=0):
    rng = np.random.default_rng([seed, n, width])
    B = rng.standard_normal((n, width))
    return B + 1j * rng.standard_normal((n, width)) if imaginary else B


def marginal_of(L):
    return L @ np.linalg.inv(np.eye(len(L)) + L)


def spectrum_of(kappa):
    with np.errstate(divide="ignore"):
        return Spectrum(np.log(kappa) - np.log1p(-np.array(kappa)))


def forms():
    """Pairs of a form and the marginal kernel that it should have, by name."""
    for imaginary in (False, True):
        tag = " complex" if imaginary else ""
        B = rows_of(4, 5, imaginary=imaginary)
        L = B @ B.conj().T
        yield "L" + tag, lambda L=L: DenseLikelihood(L.copy()), marginal_of(L)
        small = 0.01 * L
        yield "small L" + tag, lambda L=small: DenseLikelihood(L.copy()), marginal_of(small)
        K = marginal_of(L)
        K = (K + K.conj().T) / 2.0
        yield "K" + tag, lambda K=K: DenseMarginal(K.copy()), K
        B = rows_of(4, 2, imaginary=imaginary)
        C = B.conj().T @ B
        yield "rows" + tag, lambda B=B, C=C: LowRankLikelihood(RowFactor(B), C.copy(), 0.0), marginal_of(B @ B.conj().T)
        V = np.linalg.qr(rows_of(4, 3, imaginary=imaginary))[0]
        kappa = np.array([0.2, 0.6, 0.9])
        K = (V * kappa) @ V.conj().T
        yield "eigenpairs" + tag, lambda V=V, kappa=kappa: from_eigenpairs(spectrum_of(kappa), V), K
        G = V * np.sqrt(kappa)
        yield "rows of K" + tag, lambda G=G: LowRankMarginal(RowFactor(G), G.conj().T @ G, 0), K
        one = np.array([0.3, 0.8, 1.0])
        K = (V * one) @ V.conj().T
        yield "eigenpairs, one certain" + tag, lambda V=V, one=one: from_eigenpairs(spectrum_of(one), V), K
        G = V * np.sqrt(one)
        yield "rows of K, one certain" + tag, lambda G=G: LowRankMarginal(RowFactor(G), G.conj().T @ G, 1), K
        K = (K + K.conj().T) / 2.0
        yield "K, one certain" + tag, lambda K=K: DenseMarginal(K.copy()), K
    A, B = (lambda F: F @ F.T)(rows_of(2, 3)), (lambda F: F @ F.T)(rows_of(2, 1))
    factors = [DenseLikelihood(A), DenseLikelihood(B)]
    yield "product", lambda f=factors: KroneckerKernel.of(f), marginal_of(np.kron(A, B))


FORMS = {name: (make, K) for name, make, K in forms()}
FORMS |= {
    f"outside {name}": (lambda make=FORMS[name][0]: make().complement(), np.eye(4) - FORMS[name][1])
    for name in ("L", "rows complex", "eigenpairs, one certain", "K", "product")
}
LAWS = {name: reference.law_from_K(K) for name, (_, K) in FORMS.items()}
EVENTS = [([], []), ([0], []), ([], [0]), ([1, 3], []), ([], [1, 2]), ([2], [0]), ([0, 2], [1]), ([1], [0, 3])]
EVENTS += [([3], [0, 1, 2]), ([0, 1, 2], []), ([], [1, 2, 3]), ([0, 3], [1, 2])]

#: Limits set to one end or the other, so that all questions go by one of two routes.
LIMITS = {
    "as they are": {},
    "low": {
        (dense, "_SMALL"): 0.0,
        (dense, "_LARGE"): 0.0,
        (dense_marginal, "_WELL_CONDITIONED"): 0.0,
        (eigenpairs, "_CANCELS"): 1e-300,
        (eigenpairs, "_ALIGNED"): -1.0,
        (lowrank, "_LIKELY"): -1.0,
        (lowrank, "_DOWNDATE_LIMIT"): -1.0,
        (lowrank, "_FELT"): -1.0,
        (representation, "_MANY"): 0,
        (representation, "block_length"): lambda *_: 2,
        (eigenpairs, "block_length"): lambda *_: 2,
        (factor, "block_length"): lambda *_: 2,
    },
    "high": {
        (dense, "_SMALL"): math.inf,
        (dense, "_TOLERABLE"): 1e-300,
        (dense_marginal, "_WELL_CONDITIONED"): math.inf,
        (eigenpairs, "_CANCELS"): 1e300,
        (eigenpairs, "_ALIGNED"): 0.9,
        (lowrank, "_LIKELY"): 2.0,
        (lowrank, "_FELT"): math.inf,
        (lowrank, "CERTAIN"): 2.0,
        (representation, "_CLEAR"): 0.0,
        (representation, "BLOCK"): 2,
        (factor, "BLOCK"): 2,
        (factor, "_CLEAR"): 0.0,
    },
}


@pytest.fixture(params=LIMITS)
def limits(request, monkeypatch):
    for (module, name), value in LIMITS[request.param].items():
        monkeypatch.setattr(module, name, value)
    return request.param


def assert_law(form, law, tolerance=1e-9):
    """Log-probabilities of all sets and events are those of a law over positions."""
    for Y, p in law.items():
        found = form.log_prob(positions(Y))
        assert math.exp(found) == pytest.approx(p, rel=tolerance, abs=1e-12)
    for inside, outside in EVENTS:
        if max([*inside, *outside], default=-1) < form.n:
            p = reference.probability(law, inside, outside)
            found = form.log_event_probability(positions(inside), positions(outside))
            assert math.exp(found) == pytest.approx(p, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("name", FORMS)
def test_probabilities_by_every_route(name, limits):
    make, K = FORMS[name]
    form = make()
    n = form.n
    law = LAWS[name]
    everything = np.arange(n)
    np.testing.assert_allclose(form.marginal_block(everything, everything), K, atol=1e-12)
    rows, columns = np.array([n - 1, 0]), np.array([1, 0, n - 1])
    np.testing.assert_allclose(form.marginal_block(rows, columns), K[np.ix_(rows, columns)], atol=1e-12)
    np.testing.assert_allclose(form.inclusion(), np.diagonal(K).real, atol=1e-12)
    np.testing.assert_allclose(form.exclusion(), 1.0 - np.diagonal(K).real, atol=1e-12)
    assert form.size_bound >= np.trace(K).real - 1e-12
    assert_law(form, law)
    for k in range(n + 1):
        chosen = [sorted(Y) for Y in law if len(Y) == k]
        sets = np.array(chosen, dtype=np.int64).reshape(len(chosen), k)
        expected = [law[frozenset(Y.tolist())] for Y in sets]
        np.testing.assert_allclose(np.exp(form.log_probs(sets)), expected, rtol=1e-8, atol=1e-12)
        expected = [reference.probability(law, Y.tolist()) for Y in sets]
        np.testing.assert_allclose(np.exp(form.log_marginals(sets)), expected, rtol=1e-8, atol=1e-12)
        size = reference.size_distribution(law)[k]
        assert math.exp(form.spectrum.log_size_probability(k)) == pytest.approx(size, rel=1e-8, abs=1e-12)
    empty = law[frozenset()]
    if empty > 1e-12:
        assert form.log_normalizer == pytest.approx(-math.log(empty), abs=1e-9)
        L = np.linalg.solve(np.eye(n) - K, K)
        np.testing.assert_allclose(form.likelihood_block(rows, columns), L[np.ix_(rows, columns)], atol=1e-9)
        np.testing.assert_allclose(form.likelihood_diagonal(), np.diagonal(L).real, atol=1e-9)
    else:
        assert form.log_normalizer == math.inf
        with pytest.raises(NoLikelihoodKernelError):
            form.likelihood_block(rows, columns)


@pytest.mark.parametrize("name", FORMS)
def test_new_forms_by_every_route(name, limits):
    make, K = FORMS[name]
    form, n = make(), len(K)
    law = LAWS[name]
    for inside, outside in (
        ([], []),
        ([1], []),
        ([], [1]),
        ([0], [n - 1]),
        ([n - 1, 1], []),
        ([], [2, 0]),
        ([2], [0, 1]),
    ):
        if reference.probability(law, inside, outside) < 1e-9:
            continue
        rest = form.condition(positions(inside), positions(outside))
        keep = [i for i in range(n) if i not in inside and i not in outside]
        given = reference.conditioned(law, inside, outside)
        given = {frozenset(keep.index(i) for i in Y): p for Y, p in given.items()}
        assert_law(rest, given, 1e-7)
        assert rest.spectrum.mean_size == pytest.approx(sum(len(Y) * p for Y, p in given.items()), abs=1e-8)
    for keep in ([0], [1, n - 1], list(range(n))):
        part = {frozenset(keep.index(i) for i in Y): p for Y, p in reference.restricted(law, keep).items()}
        assert_law(form.restrict(positions(keep)), part, 1e-7)
    assert_law(form.thin(0.3), reference.thinned(law, 0.3), 1e-7)
    assert_law(form.complement(), reference.complemented(law, range(n)), 1e-7)
    for log_factor in (-1.5, 0.7):
        scaled = reference.normalized({Y: p * math.exp(log_factor * len(Y)) for Y, p in law.items()})
        assert_law(form.scale(log_factor), scaled, 1e-7)
        assert form.scale(log_factor).spectrum.mean_size == pytest.approx(sum(len(Y) * p for Y, p in scaled.items()))


@pytest.mark.parametrize("name", FORMS)
def test_eigenvectors_by_every_route(name, limits):
    make, K = FORMS[name]
    form, n = make(), len(K)
    V, rank = form.eigenvectors(), form.spectrum.rank
    assert V.shape == (n, rank)
    np.testing.assert_allclose(V.conj().T @ V, np.eye(rank), atol=1e-10)
    marginal = form.spectrum.marginal[len(form.spectrum.marginal) - rank :]
    np.testing.assert_allclose((V * marginal) @ V.conj().T, K, atol=1e-10)
    columns, rows = np.array([rank - 1, 0]), np.array([n - 1, 0])
    # Vectors of equal eigenvalues, and phases, are free: projections are compared.
    found = form.eigenvector_columns(columns)
    np.testing.assert_allclose(np.abs(found.conj().T @ V[:, columns]), np.eye(2)[: len(set(columns))], atol=1e-9)
    np.testing.assert_allclose(form.eigenvector_rows(rows), V[rows], atol=1e-12)
    weights = np.linspace(1.0, 2.0, rank)
    if "outside" in name:
        # A complement takes one weight for all eigenvectors that are certain.
        weights[rank - form.spectrum.n_certain :] = 3.0
    block = form.spectral_block(rows, np.arange(n), weights)
    np.testing.assert_allclose(block, ((V * weights) @ V.conj().T)[rows], atol=1e-10)
    expected = np.diagonal((V * weights) @ V.conj().T).real
    np.testing.assert_allclose(form.spectral_diagonal(weights), expected, atol=1e-10)
    assert form.rank == form.spectrum_with_vectors().rank == np.linalg.matrix_rank(K, tol=1e-9, hermitian=True)
    outside = by_eigenvectors(form)
    np.testing.assert_allclose(outside.marginal_block(np.arange(n), np.arange(n)), np.eye(n) - K, atol=1e-10)


@pytest.mark.parametrize(
    "name", ["L", "K", "rows", "rows complex", "eigenpairs, one certain", "outside rows complex", "product"]
)
def test_fixed_sizes_by_every_route(name, limits):
    make, K = FORMS[name]
    dpp = dv.DPP._wrap(make())
    n, law = len(K), LAWS[name]
    pmf = reference.size_distribution(law)
    for k in range(n + 1):
        if pmf[k] < 1e-12:
            with pytest.raises(SizeError, match=f"k is {k}, but the kernel has rank"):
                dv.KDPP(dpp, k)
            continue
        kdpp, own = dv.KDPP(dpp, k), reference.of_size(law, k)
        for include, exclude in (([], []), ([0], []), ([], [0]), ([0, 2], [1]), ([1], [0, 3]), (list(range(n)), [])):
            found = kdpp.probability(include, exclude)
            assert found == pytest.approx(reference.probability(own, include, exclude), abs=1e-9)
        inclusion = [reference.probability(own, [i]) for i in range(n)]
        np.testing.assert_allclose(kdpp.inclusion_probabilities, inclusion, atol=1e-9)
        pairs = [(0, 1), (n - 1, 0), (2, 1)]
        expected = [reference.probability(own, pair) for pair in pairs]
        np.testing.assert_allclose(kdpp.pair_probabilities(pairs), expected, atol=1e-9)
        np.testing.assert_allclose(kdpp.pair_probabilities()[tuple(zip(*pairs, strict=True))], expected, atol=1e-9)
        assert kdpp.size_distribution.tolist() == [0.0] * k + [1.0]
        # Scaled so that k items are likely, it is the same k-DPP, and its size is near k.
        near = near_size(make(), k)
        assert near.spectrum.log_size_probability(k) > -2.0
        other = dv.KDPP(dv.DPP._wrap(near), k)
        for Y, p in own.items():
            if len(Y) == k:
                assert math.exp(kdpp.log_prob(Y)) == pytest.approx(p, abs=1e-10)
                assert math.exp(other.log_prob(Y)) == pytest.approx(p, abs=1e-10)
    sizes = np.where(pmf > 1e-12, np.arange(n + 1) % 3, 0.0)
    sized = dv.SizedDPP(dpp, sizes / sizes.sum())
    own = reference.reweighted(law, sizes / sizes.sum())
    for include, exclude in (([], []), ([0], []), ([], [0]), ([0, 2], [1]), ([1], [0, 3])):
        found = sized.probability(include, exclude)
        assert found == pytest.approx(reference.probability(own, include, exclude), abs=1e-9)
    np.testing.assert_allclose(
        sized.inclusion_probabilities, [reference.probability(own, [i]) for i in range(n)], atol=1e-9
    )
    for Y, p in own.items():
        assert math.exp(sized.log_prob(Y)) == pytest.approx(p, abs=1e-10)


# sets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("items", [range(4), np.arange(4), np.array([1, 5, 7, 9]), range(0)])
def test_batches_of_sets(items):
    labels = list(items)
    sets = [labels[::-1], [], labels[1:3], labels[:2]]
    for given in (sets, [set(Y) for Y in sets], [np.array(Y, dtype=np.int32) for Y in sets], [tuple(Y) for Y in sets]):
        batch = read_sets(given, items)
        assert batch.count == 4
        found = [None] * 4
        for places, positions_ in batch.groups:
            for place, Y in zip(places, positions_, strict=True):
                found[place] = [labels[i] for i in Y]
        assert found == [sorted(Y) for Y in sets]
    assert read_sets(labels, items) is None
    assert read_sets([], items) is None
    assert read_sets(np.array(labels), items) is None
    assert read_sets(range(2), items) is None
    assert read_sets([[]], items).count == 1
    assert read_sets(np.zeros((0, 2), dtype=int), items).count == 0
    mask = np.array([[i % 2 == 0 for i in range(len(labels))], [True] * len(labels)], dtype=bool)
    batch = read_sets(mask, items)
    assert sum(len(places) for places, _ in batch.groups) == 2
    assert read_indicator(mask[0], len(labels)).tolist() == list(range(0, len(labels), 2))
    assert read_indicator(mask[0], len(labels) + 1) is None
    assert read_indicator(list(mask[0]), len(labels)) is None
    with pytest.raises(LabelError, match="indicators have shape"):
        read_sets(np.ones((2, len(labels) + 1), dtype=bool), items)


@pytest.mark.parametrize("items", [range(4), np.array([1, 5, 7, 9])])
def test_batches_of_sets_that_are_refused(items):
    first, last = items[0], items[-1]
    for bad, message in (
        ([[first], [last + 1]], f"set 1 names item {last + 1}"),
        ([[first - 1]], f"set 0 names item {first - 1}"),
        ([[first], [last, first, last]], f"set 1 names item {last} more than once"),
        ([[0.5]], "set 0 holds float64"),
        ([np.array([first]), np.array([0.5])], "set 1 holds float64"),
        ([[first], 3], "set 1 is the number 3"),
        ([[first], [[first]]], "set 1 has shape"),
    ):
        with pytest.raises(LabelError, match=message):
            dv.DPP._wrap(DenseLikelihood(np.eye(4)), items).log_prob(bad)


# rows --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "float32", "fortran", "complex", "csr"])
@pytest.mark.parametrize("transform", [None, "vector", "matrix"])
@pytest.mark.parametrize("quality", [False, True])
def test_rows_in_any_storage(monkeypatch, kind, transform, quality):
    import scipy.sparse

    monkeypatch.setattr(factor, "block_length", lambda *_: 4)
    B = rows_of(9, 3, imaginary=kind == "complex").round(2)
    base = {
        "float32": lambda: B.astype(np.float32),
        "fortran": lambda: np.asfortranarray(B),
        "csr": lambda: scipy.sparse.csr_array(B),
    }.get(kind, lambda: B)()
    B = np.asarray(base.toarray() if kind == "csr" else base, dtype=complex if kind == "complex" else float)
    T = {None: None, "vector": np.array([1.0, 2.0, 0.5]), "matrix": rows_of(3, 2)}[transform]
    q = np.linspace(0.5, 2.0, 9) if quality else None
    whole = B if q is None else q[:, None] * B
    whole = whole if T is None else whole * T if T.ndim == 1 else whole @ T
    rows = RowFactor(base, None, q, T)
    keep = np.array([8, 0, 3, 4, 7])
    for found, expected in (
        (rows, whole),
        (rows.subset(keep), whole[keep]),
        (rows.subset(keep).without(np.array([1, 4])), whole[[8, 3, 4]]),
        (rows.scaled(3.0), 3.0 * whole),
        (rows.subset(keep).scaled(3.0), 3.0 * whole[keep]),
    ):
        n, width = expected.shape
        assert (found.n, found.width) == (n, width)
        np.testing.assert_allclose(found.take(np.arange(n)[::-1]), expected[::-1], rtol=1e-12)
        np.testing.assert_allclose(found.gram(), expected.conj().T @ expected, atol=1e-12)
        np.testing.assert_allclose(found.outer(), expected @ expected.conj().T, atol=1e-12)
        np.testing.assert_allclose(found.norms_squared(), (np.abs(expected) ** 2).sum(axis=1), atol=1e-12)
        M = np.triu(rows_of(width, width, seed=2))
        for upper in (False, True):
            norms = found.norms_squared(M, upper=upper)
            np.testing.assert_allclose(norms, (np.abs(expected @ M) ** 2).sum(axis=1), atol=1e-12)
        np.testing.assert_allclose(found.times(M).take(np.arange(n)), expected @ M, atol=1e-12)
        d = np.arange(1.0, width + 1.0)
        np.testing.assert_allclose(found.times(d).take(np.arange(n)), expected * d, atol=1e-12)
        parts = [block for _, block in found.blocks()]
        assert [len(part) for part in parts] == [4] * (n // 4) + ([n % 4] if n % 4 else [])
    unit = 2.0**-23 if kind == "float32" else EPS
    size = np.sqrt((np.abs(B if q is None else q[:, None] * B) ** 2).sum(axis=1))
    stretch = 1.0 if T is None else 2.0 if T.ndim == 1 else np.linalg.norm(T, 2)
    np.testing.assert_allclose(rows.row_noise(np.arange(9)), unit * stretch * size, rtol=1e-6)
    # Rows orthogonal to a direction, and rows that are not by a little more than 1e-8 of their norm.
    if kind in ("dense", "complex") and transform is None:
        direction = np.linalg.svd(B[:2])[2][2:].conj().T
        flat = RowFactor(B[:2], None, None if q is None else q[:2])
        top = float(np.linalg.norm(flat.gram(), 2))
        assert flat.vanishes_along(direction, top)
        assert not rows.vanishes_along(direction, top)
        assert not flat.vanishes_along(direction + 3e-8, top)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kind", ["none", "vector", "matrix"])
def test_rows_vanish_along_directions_at_any_scale(kind, scale):
    """Up to 1e-8 of the norm of a row, and a sum of squares of 1e-23 of the largest eigenvalue for each feature."""
    B = rows_of(6, 3)
    B[:, 2] = 0.0
    T = {"none": None, "vector": np.full(3, scale), "matrix": scale * np.eye(3)}[kind]
    B = B * scale if T is None else B
    rows, e = RowFactor(B, transform=T), np.eye(3)[:, 2:]
    top = float(np.linalg.norm(rows.gram(), 2))
    assert rows.vanishes_along(e, top)
    for tilt, single, total in (
        (0.9e-8, True, False),
        (1.1e-8, False, False),
        (2e-12, True, True),
        (8e-12, True, False),
    ):
        # All rows alike, so that each has this share of its norm along the direction.
        flat = B.copy()
        flat[:] = B[0]
        flat[:, 2] = tilt * np.linalg.norm(B[0])
        found = RowFactor(flat, transform=T)
        own = float(np.linalg.norm(found.gram(), 2))
        assert found.vanishes_along(e, own) is total
        # A large eigenvalue elsewhere hides the sum, and each row still counts by its own norm.
        assert found.vanishes_along(e, 1e10 * own) is single


def test_entries_of_features_that_are_not_finite_are_named(monkeypatch):
    monkeypatch.setattr(factor, "block_length", lambda *_: 2)
    B = rows_of(5, 2)
    for i, j, value in ((0, 0, np.nan), (3, 1, np.inf), (4, 0, -np.inf)):
        bad = B.copy()
        bad[i, j] = value
        with pytest.raises(KernelError, match=rf"features\[{i}, {j}\] is {value}; every entry"):
            dv.DPP.from_features(bad)
    with pytest.raises(KernelError, match="products of the features overflow"):
        dv.DPP.from_features(1e200 * B)


def test_large_features_are_referenced(monkeypatch):
    monkeypatch.setattr(factor, "COPY_LIMIT", 80)
    small, large = np.ones((5, 2)), np.ones((11, 1))
    assert factor.as_feature_rows(small) is not small
    assert factor.as_feature_rows(large) is large


# spectra -----------------------------------------------------------------------------------------------------


def test_spectra_at_their_ends():
    found = Spectrum.from_likelihood(np.array([-1e-17, 1e-3, 2e-3, 5.0]), 1e-3)
    assert found.log_odds.tolist() == [-math.inf, -math.inf, math.log(2e-3), math.log(5.0)]
    assert (found.rank, found.n_certain) == (2, 0)
    found = Spectrum.from_marginal(np.array([0.25, 0.5, 0.75, 0.875, 1.0]), zero=0.25, one=0.125)
    assert found.log_odds.tolist() == [-math.inf, 0.0, pytest.approx(math.log(3.0)), math.inf, math.inf]
    assert (found.rank, found.n_certain) == (4, 2)
    assert found.with_certain(2) is found
    assert found.with_certain(3).n_certain == 3
    assert found.with_certain(3).log_odds[1] == 0.0
    for rate in (0.5, 1.0):
        np.testing.assert_allclose(found.thinned(rate).marginal, rate * found.marginal, rtol=1e-12)


# entropies ---------------------------------------------------------------------------------------------------


def laws_of(dpp):
    p = information.law(dpp)
    return {frozenset(i for i in range(dpp.n_items) if mask >> i & 1): value for mask, value in enumerate(p)}


@pytest.mark.parametrize("rare", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("name", FORMS)
def test_lists_of_all_sets(monkeypatch, name, rare):
    monkeypatch.setattr(information, "_RARE", rare)
    monkeypatch.setattr(information, "_SUSPECT", rare)
    dpp, law = dv.DPP._wrap(FORMS[name][0]()), LAWS[name]
    found = laws_of(dpp)
    assert found == pytest.approx(law, abs=1e-11)
    relative = information._normalised(information._log_law(dpp, relative=True))
    for mask, value in enumerate(relative):
        p = law[frozenset(i for i in range(dpp.n_items) if mask >> i & 1)]
        assert math.exp(value) == pytest.approx(p, rel=1e-7, abs=1e-12)
    assert information.entropy(dpp).value == pytest.approx(-sum(p * math.log(p) for p in law.values() if p > 1e-14))
    spectrum = dpp._spectrum
    k = max(spectrum.n_certain, 1)
    assert laws_of(dv.KDPP(dpp, k)) == pytest.approx(reference.of_size(law, k), abs=1e-10)


def test_distances_between_two_laws():
    p, q = dv.DPP(np.diag([1.0, 3.0])), dv.DPP(np.array([[1.0, 0.5], [0.5, 2.0]]))
    P, Q = information.law(p), information.law(q)
    assert information.total_variation(p, q) == pytest.approx(0.5 * sum(abs(a - b) for a, b in zip(P, Q, strict=True)))
    assert information.kl_divergence(p, q) == pytest.approx(sum(a * math.log(a / b) for a, b in zip(P, Q, strict=True)))
    overlap = sum(math.sqrt(a * b) for a, b in zip(P, Q, strict=True))
    assert information.hellinger(p, q) == pytest.approx(math.sqrt(1.0 - overlap))
    exact = information.l1_distance(p, q)
    assert (exact.value, exact.standard_error) == (pytest.approx(2.0 * information.total_variation(p, q)), 0.0)
    drawn = information.l1_distance(p, q, n_samples=4_000, rng=0)
    assert abs(drawn.value - exact.value) < 4.0 * drawn.standard_error < 0.1
    some = dv.DPP(np.diag([1.0, 0.0]))
    assert information.kl_divergence(p, some) == math.inf
    assert information.kl_divergence(some, p) == pytest.approx(0.5 * math.log(4.0) + 0.5 * math.log(4.0))
    for same in (p, q, some):
        assert information.kl_divergence(same, same) == information.hellinger(same, same) == 0.0


def test_standard_errors_and_sizes_of_lists():
    found = information._mean(np.array([1.0, 2.0, 6.0]))
    assert found.value == 3.0
    assert found.standard_error == pytest.approx(math.sqrt(7.0 / 3.0))
    listed, drawn = (information.entropy(dv.DPP(np.eye(n)), n_samples=2, rng=0) for n in (16, 17))
    assert (listed.value, listed.standard_error) == (pytest.approx(16 * math.log(2.0)), 0.0)
    # All sets are equally probable, so each draw gives the entropy.
    assert drawn.value == pytest.approx(17 * math.log(2.0))
    assert information.l1_distance(dv.DPP(np.eye(17)), dv.DPP(np.eye(17)), rng=0).standard_error == 0.0
    information._check_listed(20)
    with pytest.raises(dv.errors.TooLargeError, match="listing all subsets of 21 items"):
        information.law(dv.DPP(np.eye(21)))
    for bad in (0, 1):
        with pytest.raises(dv.errors.DiversetError, match=f"n_samples is {bad}"):
            information.entropy(dv.DPP(np.eye(17)), n_samples=bad)


# nonsymmetric kernels ----------------------------------------------------------------------------------------


def skew(n, size=1.0):
    A = np.triu(np.ones((n, n)), 1)
    return size * (A - A.T)


@pytest.mark.parametrize(("n", "units"), [(2, 64.0), (16, 128.0)])
def test_how_far_from_a_distribution_a_nonsymmetric_kernel_may_be(n, units):
    for factor_, fine in ((0.9, True), (1.1, False)):
        x = factor_ * units * EPS
        L = np.diag([1.0] * (n - 1) + [-x]) + skew(n, 0.5)
        K = np.diag([0.5] * (n - 1) + [1.0 + x / 2.0])
        for check, kernel, message in (
            (check_symmetric_part, L, "smallest eigenvalue -"),
            (check_reflected, K, "largest singular value 1"),
        ):
            copy, rounding = as_square(kernel, name="L")
            assert rounding == pytest.approx(units * EPS)
            if fine:
                check(copy, rounding)
                continue
            with pytest.raises(KernelError, match=message):
                check(copy, rounding)
    assert as_square(np.eye(n, dtype=np.float32), name="L")[1] == pytest.approx(units * 2.0**-23)


def test_rounding_of_minors_and_atoms_is_relative_to_their_rows():
    for check, kernel in (
        (check_minors, lambda x: np.array([[2.0, 3.0], [3.0, 4.5 - x]])),
        (check_atoms, lambda x: np.array([[0.5, 0.5], [0.5, 0.5 - x]])),
    ):
        # The norms of the two rows, whose product bounds the determinant.
        A = kernel(0.0)
        scale = np.linalg.norm(A[0]) * np.linalg.norm(A[1]) / A[0, 0]
        for factor_, fine in ((0.9, True), (1.1, False)):
            x = factor_ * 1e-9 * scale
            if fine:
                check(kernel(x), 1e-9)
                continue
            with pytest.raises(KernelError, match=r"\[0, 1\]"):
                check(kernel(x), 1e-9)


def test_every_minor_and_every_atom_is_looked_at():
    for items in ([0], [2], [0, 2], [1, 2], [0, 1, 2]):
        # A kernel with one negative minor among positive ones.
        L = np.eye(3)
        if len(items) == 1:
            L[items, items] = -1.0
        elif len(items) == 2:
            L[items[0], items[1]] = L[items[1], items[0]] = 2.0
        else:
            # The cycle of three: pairs have positive minors, all three together do not.
            L = np.eye(3) - 0.6 * (np.ones((3, 3)) - np.eye(3))
        with pytest.raises(KernelError, match=rf"items \[{', '.join(map(str, items))}\] is -"):
            check_minors(L, 1e-14)
    for n in (0, 1, 3):
        check_minors(np.eye(n) + skew(n), 1e-14)
        check_atoms(0.5 * np.eye(n) + skew(n, 0.1), 1e-14)
    for i in range(3):
        K = 0.5 * np.eye(3)
        K[i, i] = 1.5
        with pytest.raises(KernelError, match="K gives the set"):
            check_atoms(K, 1e-14)
    for check in (check_minors, check_atoms):
        with pytest.raises(dv.errors.DiversetError, match="16 items, and accepts at most 15"):
            check(np.eye(16), 1e-14)


def test_small_pivots_ask_for_the_rank():
    for pivot, asked in ((0.9e-6, True), (1.1e-6, False)):
        calls = []
        found = log_det_of_set(np.array([[1.0, 1.0], [1.0, 1.0 + pivot]]), lambda calls=calls: calls.append(1) or 2)
        assert found == pytest.approx(math.log(pivot), abs=1e-5)
        assert bool(calls) is asked
    tiny = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-8]])
    assert log_det_of_set(tiny, lambda: 2) == pytest.approx(math.log(1e-8), abs=1e-6)
    assert log_det_of_set(tiny, lambda: 1) == -math.inf
    assert numerical_rank(np.diag([1.0, 1e-30, 0.0]), 1e-14) == 2


# the cache ---------------------------------------------------------------------------------------------------


def test_set_ups_are_dropped_beyond_the_limit():
    class Held:
        def __init__(self, nbytes):
            self.nbytes = nbytes

    cache = Cache(limit=10)
    for key, size in (("a", 4), ("b", 6)):
        cache.recent(key, lambda size=size: Held(size))
    assert (len(cache), cache.nbytes) == (2, 10)
    assert cache.recall("a") is not None
    cache.recent("c", lambda: Held(1))
    assert cache.recall("b") is None
    assert (len(cache), cache.nbytes) == (2, 5)
    cache.recent("large", lambda: Held(100))
    assert (len(cache), cache.nbytes) == (1, 100)


# nonsymmetric kernels by every route -------------------------------------------------------------------------


def nonsymmetric_forms():
    rng = np.random.default_rng(8)
    F, S = rng.standard_normal((5, 3)), rng.standard_normal((3, 3))
    core = np.diag([1.0, 0.5, 0.0]) + S - S.T
    L = F @ core @ F.T
    K = marginal_of(L)
    yield "L", lambda: DenseForm(L.copy()), K
    yield "L, one factorisation", lambda: DenseForm(L.copy(), accretive=False), K
    yield "K", lambda: DenseForm(K=K.copy(), Kc=np.eye(5) - K), K
    yield "rows", lambda: LowRankForm.from_core(F, core), K
    yield "rows, Gram matrix", lambda: LowRankForm.from_core(F, core, F.T @ F), K
    yield "rows of K", lambda: LowRankForm(F, LowRankForm.from_core(F, core, F.T @ F).marginal_core, rank=3), K
    yield "outside rows", lambda: LowRankForm.from_core(F, core).complemented(), np.eye(5) - K
    yield "outside L", lambda: DenseForm(L.copy()).complemented(), np.eye(5) - K


NONSYMMETRIC = {name: (make, K) for name, make, K in nonsymmetric_forms()}


@pytest.fixture(params=["as they are", "rare", "common"])
def nonsymmetric_limits(request, monkeypatch):
    if request.param != "as they are":
        for module in (nonsymmetric_forms_module, nonsymmetric_low_rank):
            monkeypatch.setattr(module, "RARE", math.inf if request.param == "rare" else -math.inf)
        monkeypatch.setattr(nonsymmetric_forms_module, "_SUSPECT", 0.999 if request.param == "rare" else 0.0)
        monkeypatch.setattr(accretive, "_PLAIN_ERROR", 0.0 if request.param == "rare" else math.inf)
        monkeypatch.setattr(nonsymmetric_low_rank, "block_length", lambda *_: 2)


@pytest.mark.parametrize("name", NONSYMMETRIC)
def test_nonsymmetric_forms_by_every_route(name, nonsymmetric_limits):
    make, K = NONSYMMETRIC[name]
    form, law, n = make(), reference.law_from_K(K), 5
    everything = np.arange(n)
    np.testing.assert_allclose(form.marginal_block(everything, everything), K, atol=1e-11)
    np.testing.assert_allclose(form.outside_block(everything, everything), np.eye(n) - K, atol=1e-11)
    np.testing.assert_allclose(form.marginal_diagonal(), np.diagonal(K), atol=1e-11)
    i, j = np.array([0, 3, 4, 4, 1]), np.array([1, 3, 0, 4, 2])
    np.testing.assert_allclose(form.marginal_entries(i, j), K[i, j], atol=1e-11)
    pmf = reference.size_distribution(law)
    found = form.size_law()
    np.testing.assert_allclose(found, pmf[: len(found)], atol=1e-11)
    assert pmf[len(found) :].sum() < 1e-11
    mean = pmf @ np.arange(n + 1)
    assert form.size_moments() == pytest.approx((mean, pmf @ (np.arange(n + 1) - mean) ** 2), abs=1e-10)
    assert form.rank == max(k for k in range(n + 1) if pmf[k] > 1e-11) or name == "K" or "outside" in name
    assert_law(form, law, 1e-6)
    if pmf[0] > 1e-11:
        assert form.log_normalizer == pytest.approx(-math.log(pmf[0]), abs=1e-9)
        L = np.linalg.solve((np.eye(n) - K).T, K.T).T
        rows, columns = np.array([4, 0]), np.array([1, 0, 4])
        np.testing.assert_allclose(form.likelihood_block(rows, columns), L[np.ix_(rows, columns)], atol=1e-8)
    dpp = dv.NonsymmetricDPP._wrap(everything, form)
    for inside, outside in EVENTS:
        if reference.probability(law, inside, outside) < 1e-8:
            continue
        rest = dpp.condition(inside, outside)
        given = reference.conditioned(law, inside, outside)
        assert rest.items.tolist() == [x for x in range(n) if x not in inside and x not in outside]
        for Y, p in given.items():
            assert math.exp(rest.log_prob(Y)) == pytest.approx(p, rel=1e-6, abs=1e-10)
        np.testing.assert_allclose(rest.expected_size, sum(len(Y) * p for Y, p in given.items()), atol=1e-9)
    part = dpp.restrict([1, 3, 4])
    for Y, p in reference.restricted(law, [1, 3, 4]).items():
        assert math.exp(part.log_prob(Y)) == pytest.approx(p, rel=1e-6, abs=1e-10)
    for Y, p in reference.complemented(law, range(n)).items():
        assert math.exp(dpp.complement().log_prob(Y)) == pytest.approx(p, rel=1e-6, abs=1e-10)
    assert dpp.pair_probabilities([(0, 1), (4, 2)]) == pytest.approx(
        [reference.probability(law, y) for y in ((0, 1), (4, 2))]
    )
    assert dpp.pair_probabilities()[0, 1] == pytest.approx(reference.probability(law, (0, 1)))
    np.testing.assert_allclose(np.diagonal(dpp.pair_probabilities()), np.diagonal(K), atol=1e-11)


def test_which_factors_are_orthonormalised_by_their_gram_matrix(monkeypatch):
    monkeypatch.setattr(nonsymmetric_low_rank, "_SMALL", 10)
    assert nonsymmetric_low_rank.gram_if_tall(np.ones((5, 2))) is None
    assert nonsymmetric_low_rank.gram_if_tall(np.ones((11, 1))).tolist() == [[11.0]]
    # Unit columns at an angle: eigenvalues 1 - c and 1 + c of the scaled Gram matrix, whatever the scales.
    for c, fine in ((1.0 - 1.1e-4, True), (1.0 - 0.9e-4, False)):
        G = np.array([[1.0, c], [c, 1.0]]) * np.array([[1e20, 1e5], [1e5, 1e-10]])
        root = nonsymmetric_low_rank._gram_root(G)
        assert (root is not None) is fine
        if fine:
            np.testing.assert_allclose(root.T @ root, G, rtol=1e-12)
            assert root[1, 0] == 0.0
    assert nonsymmetric_low_rank._gram_root(np.diag([1.0, 0.0])) is None
    assert nonsymmetric_low_rank._gram_root(np.diag([1.0, np.inf])) is None
    square, tall = (nonsymmetric_low_rank.factored_form(rows_of(n, 3), np.eye(3)) for n in (3, 4))
    assert (type(square), type(tall)) == (DenseForm, LowRankForm)


# DPPs at the door --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 0, 2, 3]])
def test_spectra_in_any_order(order):
    V = np.linalg.qr(rows_of(5, 4))[0]
    for lam in (np.array([0.0, 0.5, 0.5, 4.0]), np.array([1.0, 1.0, 1.0, 1.0])):
        dpp = dv.DPP.from_spectrum(lam[order], V[:, order])
        np.testing.assert_allclose(dpp.L, (V * lam) @ V.T, atol=1e-13)
        np.testing.assert_allclose(dpp.eigenvalues, np.sort(lam), atol=1e-13)


def test_spectra_that_are_refused():
    V = np.linalg.qr(rows_of(3, 3))[0]
    for lam, vectors, message in (
        ([1.0, 2.0], V, "2 eigenvalues for eigenvectors of shape"),
        ([1.0] * 3, V[:2], "no more columns than rows"),
        ([1.0, -1e-300, 2.0], V, r"eigenvalues\[1\] is -1e-300"),
        ([1.0, 2.0, np.nan], V, r"eigenvalues\[2\] is nan"),
        ([1.0] * 3, V + 1e-12, "not orthonormal"),
        ([1.0] * 3, 2.0 * V, "not orthonormal"),
    ):
        with pytest.raises(KernelError, match=message):
            dv.DPP.from_spectrum(lam, vectors)
    assert dv.DPP.from_spectrum([1.0] * 3, V + 1e-16).rank == 3
    assert dv.DPP.from_spectrum([1.0] * 3, V.astype(np.float32)).rank == 3
    assert dv.DPP.from_spectrum([], np.zeros((3, 0))).rank == 0


def test_sizes_that_scaling_can_reach():
    dpp = dv.DPP.from_spectrum([0.5, 3.0, np.inf], np.linalg.qr(rows_of(4, 3))[0])
    for size in (1.001, 2.0, 2.999):
        assert dpp.rescale(size).expected_size == pytest.approx(size)
    for size in (1.0, 3.0, 0.5, 4.0):
        with pytest.raises(SizeError, match="strictly between 1 and its rank, 3"):
            dpp.rescale(size)
    for rate in (0.0, 0.25, 1.0):
        assert dpp.thin(rate).expected_size == pytest.approx(rate * dpp.expected_size)
    for rate in (-1e-9, 1.0 + 1e-9):
        with pytest.raises(dv.errors.DiversetError, match="between 0 and 1"):
            dpp.thin(rate)
    wide, square = (dv.DPP.from_features(rows_of(4, width)) for width in (3, 4))
    assert (wide.rank, square.rank) == (3, 4)
    assert isinstance(wide._representation, LowRankLikelihood)
    assert isinstance(square._representation, DenseLikelihood)


def test_a_dpp_dominates_where_its_kernel_does():
    K = marginal_of((lambda B: B @ B.T)(rows_of(3, 3)))
    dpp, less = dv.DPP.from_marginal(K), dv.DPP.from_marginal(0.5 * K)
    assert dpp.dominates(less)
    assert dpp.dominates(dpp)
    assert not less.dominates(dpp)
    with pytest.raises(dv.errors.DiversetError, match="over the same items"):
        dpp.dominates(dpp.restrict([0, 1]))
    for pairs in ([0, 1], [[0, 1, 2]], [[[0, 1]]]):
        with pytest.raises(LabelError, match="pass a list of"):
            dpp.pair_probabilities(pairs)
    with pytest.raises(LabelError, match="pairs names item 2 with itself"):
        dpp.pair_probabilities([(0, 1), (2, 2)])


def test_directions_that_every_draw_spans():
    L, V = (lambda B: B @ B.T)(rows_of(4, 4)), rows_of(4, 2, seed=3)
    for scale in (1.0, 1e-30):
        # Lengths of the directions do not matter.
        dpp = dv.core.extended_dpp(L, V * np.array([scale, 1.0]))
        Q = np.linalg.qr(V)[0]
        rest = (np.eye(4) - Q @ Q.T) @ L @ (np.eye(4) - Q @ Q.T)
        np.testing.assert_allclose(dpp.K, Q @ Q.T + marginal_of(rest), atol=1e-12)
    assert dv.core.extended_dpp(L, np.eye(4)).expected_size == pytest.approx(4.0)
    np.testing.assert_allclose(dv.core.extended_dpp(L, np.zeros((4, 0))).K, marginal_of(L), atol=1e-12)
    top = 64.0 * EPS * np.abs(L).max()
    for gap, fine in ((0.9 * top, True), (1.1 * top, False)):
        bent = L.copy()
        bent[0, 3] += gap
        if fine:
            dv.core.extended_dpp(bent, V)
            continue
        with pytest.raises(KernelError, match=r"L\[0, 3\] is .*L is symmetric"):
            dv.core.extended_dpp(bent, V)
    for value, rank in ((-0.9, 1), (0.9, 1), (1.1, 2), (-1.1, None)):
        # One direction e_0, and an eigenvalue of L on the others near 64 rounding units of the largest entry.
        kernel = np.diag([0.0, 1.0, value * 64.0 * EPS])
        if rank is None:
            with pytest.raises(KernelError, match="smallest eigenvalue -"):
                dv.core.extended_dpp(kernel, np.eye(3)[:, :1])
            continue
        assert dv.core.extended_dpp(kernel, np.eye(3)[:, :1]).rank == 1 + rank
    for bad, message in (
        (np.ones((4, 2)), "dependent columns"),
        (np.zeros((4, 1)), "dependent columns"),
        (np.eye(4, 5), "V has 5 columns for 4 items"),
    ):
        with pytest.raises(KernelError, match=message):
            dv.core.extended_dpp(L, bad)


# fixed sizes at any scale ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 1e3, 1e12])
def test_models_of_sizes_do_not_see_the_scale(scale):
    """Sizes that the DPP itself hardly draws: their k-DPPs are rescaled, for several sizes at once as well."""
    B = rows_of(4, 4, seed=6)
    L = B @ B.T
    law = reference.law_from_L(L)
    wanted = np.array([0.1, 0.4, 0.2, 0.0, 0.3])
    dpp = dv.DPP(scale * L)
    models = [(dv.SizedDPP(dpp, wanted), reference.reweighted(law, wanted))]
    models += [(dv.KDPP(dpp, k), reference.of_size(law, k)) for k in range(5)]
    mixture = dv.KDPPMixture([models[2][0], models[0][0], models[3][0]], [0.25, 0.75, 0.0])
    models.append((mixture, reference.mixed([models[2][1], models[0][1]], [0.25, 0.75])))
    for model, own in models:
        for include, exclude in EVENTS:
            found = model.probability(include, exclude)
            assert found == pytest.approx(reference.probability(own, include, exclude), rel=1e-8, abs=1e-12)
            if len(include) == 1 and found > 0.0:
                rest = model.condition(include, exclude)
                given = reference.conditioned(own, include, exclude)
                pmf = reference.size_distribution(given)
                np.testing.assert_allclose(rest.size_distribution, pmf[: len(rest.size_distribution)], atol=1e-9)
                for Y, p in given.items():
                    assert math.exp(rest.log_prob(Y)) == pytest.approx(p, rel=1e-7, abs=1e-12)
        sets = [sorted(Y) for Y in own]
        np.testing.assert_allclose(np.exp(model.log_prob(sets)), list(own.values()), rtol=1e-8, atol=1e-12)
        pairs = [(0, 1), (3, 2)]
        expected = [reference.probability(own, pair) for pair in pairs]
        np.testing.assert_allclose(model.pair_probabilities(pairs), expected, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(model.marginal([[0, 1], [3, 2]]), expected, rtol=1e-8, atol=1e-12)
        pmf = reference.size_distribution(own)
        assert model.expected_size == pytest.approx(pmf @ np.arange(5))
        assert model.size_variance == pytest.approx(pmf @ (np.arange(5) - pmf @ np.arange(5)) ** 2, abs=1e-12)


def test_formulas_for_the_probability_of_a_set():
    L = (lambda B: B @ B.T)(rows_of(4, 4, seed=7))
    dpp, law = dv.DPP(L), reference.law_from_L(L)
    for formula in ("auto", "likelihood", "mixed-rows", "shifted-marginal"):
        for Y, p in law.items():
            assert dpp.log_prob(sorted(Y), formula=formula) == pytest.approx(math.log(p), abs=1e-9)
        assert dpp.log_prob([[0], [1, 2]], formula=formula) == pytest.approx(
            [math.log(law[frozenset([0])]), math.log(law[frozenset([1, 2])])]
        )


# ranks -------------------------------------------------------------------------------------------------------


def gram_of(x, top=1.0):
    """Eigenvalues x and 2 - x, times `top`."""
    return top * np.array([[1.0, 1.0 - x], [1.0 - x, 1.0]])


@pytest.mark.parametrize("top", [1e-30, 1.0, 1e4])
def test_from_which_eigenvalue_on_a_kernel_has_full_rank(top):
    # A matrix: a rounding unit of the largest eigenvalue for each item, and four of the entries: 4 + 4 sqrt(2) units.
    for units, rank in ((8.0, 1), (12.0, 2), (30.0, 2)):
        form = DenseLikelihood(gram_of(units * EPS, top))
        assert (form.rank, form.spectrum.rank) == (rank, rank)
    for noise, x, rank in ((1e-8, 5e-8, 1), (1e-8, 6e-8, 2), (1e-8, 1.2e-7, 2)):
        assert DenseLikelihood(gram_of(x, top), np.full(2, top * noise)).rank == rank
    # The Gram matrix of two features: a unit of the largest eigenvalue for each, or the noise of single precision.
    rows = RowFactor(np.zeros((3, 2)))
    for units, rank in ((3.0, 1), (6.0, 2)):
        assert LowRankLikelihood(rows, gram_of(units * EPS, top), 0.0).spectrum.rank == rank
    for x, rank in ((1.8e-8, 1), (2.2e-8, 2)):
        assert LowRankLikelihood(rows, gram_of(x, top), top * 1e-8).spectrum.rank == rank


def test_which_eigenvalues_of_a_marginal_kernel_are_zero_or_one():
    # A matrix of unit noise: 3 units for each of two items, 2 of the decomposition and 4 sqrt(1.5) of the entries.
    for units, certain in ((12.0, 1), (14.0, 0)):
        assert DenseMarginal(np.diag([0.5, 1.0 - units * EPS])).spectrum.n_certain == certain
    # Eigenvalues x and 1/2 - x of entries near 1/4: one unit of 1/2 and 4 sqrt(2) of 1/4, as above.
    for units, rank in ((2.0, 1), (3.0, 2)):
        assert DenseMarginal(gram_of(4.0 * units * EPS, 0.25)).spectrum.rank == rank
    # Rows: 16 units for each of two columns.
    rows = RowFactor(np.zeros((3, 2)))
    for units, certain in ((31.0, 1), (33.0, 0)):
        form = LowRankMarginal(rows, np.diag([0.5, 1.0 - units * EPS]), 0)
        assert (form.spectrum.rank, form.spectrum.n_certain) == (2, certain)
        assert LowRankMarginal(rows, np.diag([0.5, 1.0 - units * EPS]), 1).spectrum.n_certain == 1
    for units, rank in ((15.0, 1), (17.0, 2)):
        assert LowRankMarginal(rows, np.diag([units * EPS, 0.5]), 0).spectrum.rank == rank
    # Eigenpairs of rows: 4 units for each, at least 16.
    for units, certain in ((14.0, 1), (18.0, 0)):
        G = np.diag(np.sqrt([0.5, 1.0 - units * EPS]))
        assert eigenpairs.marginal_of_rows(G, np.full(2, EPS), 0).spectrum.n_certain == certain


def test_odds_from_both_outcomes():
    """Large odds come from the probability of absence, small ones from that of presence."""
    X = np.linalg.qr(rows_of(4, 3))[0]
    missing = np.array([0.8, 0.3, 1e-12])
    spectrum, V = eigenpairs._from_outcomes(1.0 - missing, np.diag(np.sqrt(missing)), X)
    np.testing.assert_allclose(np.exp(spectrum.log_odds), (1.0 - missing) / missing, rtol=1e-9)
    np.testing.assert_allclose(np.abs(V), np.abs(X), atol=1e-12)
    # Mixed by a rotation of the two that are likely, the eigenvalues of absence are found again.
    c, s = math.cos(0.3), math.sin(0.3)
    mix = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    spectrum, V = eigenpairs._from_outcomes(np.array([0.2, 0.7, 1.0]), mix.T @ np.diag(np.sqrt(missing)), X @ mix)
    np.testing.assert_allclose(np.exp(spectrum.log_odds), (1.0 - missing) / missing, rtol=1e-9)
    np.testing.assert_allclose(np.abs(V), np.abs(X), atol=1e-9)
    # Absence below 16 rounding units, squared, is none.
    for units, certain in ((15.0, 1), (17.0, 0)):
        tiny = np.array([0.5, (units * EPS) ** 2])
        found, _ = eigenpairs._from_outcomes(np.array([0.5, 1.0]), np.diag(np.sqrt(tiny)), X[:, :2])
        assert found.n_certain == certain


# rounding above certainty ------------------------------------------------------------------------------------


class Above:
    """Stands in for a representation whose answers exceed certainty by rounding."""

    n = 3

    def log_prob(self, inside):
        return 1e-12

    def log_event_probability(self, inside, outside):
        return 1e-12

    def log_probs(self, sets):
        return np.full(len(sets), 1e-12)

    log_marginals = log_probs

    def inclusion(self):
        return np.full(3, 1.0)

    def marginal_block(self, rows, columns):
        return np.where(rows[:, None] == columns, 1.0, 1e-9)

    def spectral_diagonal(self, weights):
        return np.array([1.0 + 1e-12, -1e-12, 0.5])


def test_no_probability_exceeds_one():
    dpp = dv.DPP._wrap(Above())
    sets = [[0, 1], [1, 2]]
    assert dpp.log_prob([0, 1]) == dpp.log_event_probability([0], [1]) == 0.0
    assert dpp.log_prob(sets).tolist() == [0.0, 0.0]
    assert dpp.marginal(sets).tolist() == [1.0, 1.0]
    assert dpp.marginal([0]) == 1.0
    # All items of three are certain: pairs lose what they have off the diagonal, and no more than that.
    assert (dpp.pair_probabilities() <= 1.0).all()
    assert dpp.pair_probabilities([(0, 1)])[0] == pytest.approx(1.0, abs=1e-15)
    kdpp = dv.KDPP(np.eye(3), 2)
    kdpp._base, kdpp._log_size = Above(), 0.0
    assert kdpp.log_prob([0, 1]) == 0.0
    assert kdpp.log_prob(sets).tolist() == [0.0, 0.0]
    sized = dv.SizedDPP(dv.DPP(np.eye(3)), [0.0, 0.0, 1.0])
    sized._base, sized._log_ratio = Above(), np.zeros(3)
    assert sized.log_prob([0, 1]) == 0.0
    assert sized.log_prob(sets).tolist() == [0.0, 0.0]
    assert sized.log_prob([0]) == sized.log_prob([0, 1, 2]) == -math.inf
    assert sized.log_prob([[0], [2]]).tolist() == [-math.inf, -math.inf]
    assert sized.log_prob([[0, 1, 2]]).tolist() == [-math.inf]


def test_inclusion_probabilities_stay_between_zero_and_one(monkeypatch):
    for model in (dv.KDPP(np.eye(3), 2), dv.SizedDPP(dv.DPP(np.eye(3)), [0.0, 0.5, 0.5])):
        monkeypatch.setattr(model._base, "spectral_diagonal", Above().spectral_diagonal, raising=False)
        assert model.inclusion_probabilities.tolist() == [1.0, 0.0, 0.5]


def test_how_far_from_orthonormal_eigenvectors_may_be():
    """64 rounding units times the root of the number of items, and times a random combination."""
    for n in (1, 400):
        V = np.full((n, 1), 1.0 / math.sqrt(n))
        limit = 64.0 * math.sqrt(n) * EPS
        assert dv.DPP.from_spectrum([1.0], V * (1.0 + 0.4 * limit)).rank == 1
        with pytest.raises(KernelError, match="not orthonormal"):
            dv.DPP.from_spectrum([1.0], V * (1.0 + 0.6 * limit))
    V = np.linalg.qr(rows_of(400, 3))[0]
    assert dv.DPP.from_spectrum([1.0] * 3, V + 10.0 * EPS).rank == 3
