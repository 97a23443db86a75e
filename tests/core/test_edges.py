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
    lowrank,
    representation,
)
from diverset.core.complement import by_eigenvectors
from diverset.core.dense import DenseLikelihood
from diverset.core.factor import RowFactor
from diverset.core.kdpp import near_size
from diverset.core.sets import read_indicator, read_sets
from diverset.core.spectrum import Spectrum
from diverset.errors import KernelError, LabelError, NoLikelihoodKernelError, SizeError
from diverset.numerics.rounding import EPS
from forms_for_tests import FORMS, LAWS, assert_law, positions, rows_of

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
