"""Edges, duplicates, ties, memory, and what is refused."""

import inspect
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from diverset import baselines, kernels
from diverset.errors import DiversetError, KernelError, LabelError, SizeError, TooLargeError

GREEDY = [baselines.mmr, baselines.max_sum, baselines.max_min, baselines.facility_location]
ALL = [*GREEDY, baselines.top_k, baselines.random]
names = lambda method: getattr(method, "__name__", None)  # noqa: E731


def points(n=30, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_all_have_one_signature():
    parameters = [list(inspect.signature(method).parameters.values()) for method in ALL]
    assert all(p[:8] == parameters[0] for p in parameters)
    assert [len(p) for p in parameters] == [8, 8, 8, 8, 8, 9]


@st.composite
def calls(draw):
    n = draw(st.integers(0, 9))
    cells = st.integers(-1, 1)
    X = np.array(draw(st.lists(st.tuples(cells, cells), min_size=n, max_size=n)), dtype=float).reshape(n, 2)
    X = np.hstack([X, np.ones((n, 1))])
    some = st.sets(st.integers(0, n - 1)) if n else st.just(set())
    return X, {
        "k": draw(st.integers(0, 12)),
        "quality": draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n)),
        "diversity": draw(st.sampled_from([0.0, 0.5, 1.0])),
        "similarity": draw(st.sampled_from(["cosine", "rbf", "dot"])),
        "given": draw(some),
        "exclude": draw(some),
    }


@given(calls())
def test_always_as_many_items_as_there_are(call):
    X, options = call
    left = set(range(len(X))) - options["given"] - options["exclude"]
    for method in ALL:
        found = method(X, **options)
        assert len(found) == len(found.gains) == min(options["k"], len(left))
        assert set(found) <= left
        assert len(set(found)) == len(found)
        assert np.isfinite(found.gains).all()
        assert found.indices.dtype == np.int64


@pytest.mark.parametrize("method", GREEDY, ids=names)
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array])
@pytest.mark.parametrize("similarity", ["cosine", "rbf", "dot"])
@pytest.mark.parametrize("dial", [0.5, 1.0])
def test_of_copies_the_first_is_picked_first(method, form, similarity, dial):
    """Copies of a row get similarities that differ in the last bit, by where they stand in a matrix product.

    Max-sum and facility location may want a copy before everything else is picked, the others never.
    """
    base = points(23, 7, seed=4)
    X = np.vstack([base, base, base])
    if form is sparse.csr_array and similarity == "rbf":
        X = X.round(1)
    picked = method(form(X), 25, diversity=dial, similarity=similarity).indices.tolist()
    for place, item in enumerate(picked):
        assert item < 23 or item - 23 in picked[:place]
    if method in (baselines.mmr, baselines.max_min) and similarity != "dot":
        assert sorted(picked[:23]) == list(range(23))


@pytest.mark.parametrize("method", GREEDY, ids=names)
@pytest.mark.parametrize("similarity", ["cosine", "rbf", "dot"])
def test_nothing_but_copies(method, similarity):
    X = np.tile([[0.3, -1.7, 0.9]], (12, 1))
    assert method(X, 5, similarity=similarity).indices.tolist() == [0, 1, 2, 3, 4]
    found = method(X, 3, similarity=similarity, given=[0], exclude=[2], diversity=1.0)
    assert found.indices.tolist() == [1, 3, 4]


def test_equal_scores_of_max_min_go_to_better_quality():
    X = np.eye(4)
    assert baselines.max_min(X, 4, quality=[1, 2, 4, 3], diversity=1.0).indices.tolist() == [2, 3, 1, 0]
    assert baselines.mmr(X, 4, quality=[1, 2, 4, 3], diversity=1.0).indices.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("method", GREEDY, ids=names)
def test_length_of_rows_does_not_matter_to_the_cosine(method):
    X = points(25)
    expected = method(X, 8).indices.tolist()
    for low, high in [(1e-30, 1e30), (1e-200, 1e200), (1e-300, 1e300)]:
        lengths = np.random.default_rng(1).permutation(np.geomspace(low, high, 25))[:, np.newaxis]
        assert method(X * lengths, 8).indices.tolist() == expected
        assert method(sparse.csr_array(X * lengths), 8).indices.tolist() == expected
    assert method((X * 1e30).astype(np.float32), 8).indices.tolist() == expected


@pytest.mark.parametrize("method", ALL, ids=names)
@pytest.mark.parametrize("similarity", ["cosine", "rbf", "dot", "precomputed", kernels.dot])
def test_few_items(method, similarity):
    none, one = ([[]], [[1.0]]) if similarity == "precomputed" else (np.zeros((0, 2)), [[1.0, 2.0]])
    none = np.zeros((0, 0)) if similarity == "precomputed" else none
    found = method(none, 3, similarity=similarity)
    assert len(found) == 0
    assert found.objective == found.log_det == 0.0
    assert method(one, 3, similarity=similarity).indices.tolist() == [0]
    assert len(method(one, 3, similarity=similarity, given=[0])) == 0


@pytest.mark.parametrize("method", ALL, ids=names)
def test_input_is_left_alone(method):
    X, q = points(), np.arange(30.0)
    S = kernels.cosine(X)
    copies = X.copy(), q.copy(), S.copy()
    for array in (X, q, S):
        array.flags.writeable = False
    method(X, 5, quality=q)
    method(S, 5, quality=q, similarity="precomputed", given=[2])
    for array, copy in zip((X, q, S), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("method", ALL, ids=names)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"features": np.where(np.arange(12).reshape(4, 3) == 7, np.nan, 1.0)}, KernelError, "features[2, 1] is nan"),
        ({"features": np.float32([[1, 2], [3, -np.inf]])}, KernelError, "features[1, 1] is -inf"),
        ({"features": sparse.csr_array([[0.0, 1.0], [np.inf, 0.0]])}, KernelError, "features[1, 0] is inf"),
        ({"features": [1.0, 2.0]}, KernelError, "features has shape (2,)"),
        ({"features": [[1.0 + 2.0j]]}, KernelError, "complex"),
        ({"features": [["a", "b"]]}, KernelError, "features[0, 0] is 'a'; every entry must be a number"),
        ({"quality": [1.0, np.nan, 0.0]}, DiversetError, "quality[1] is nan"),
        ({"quality": [1.0, 0.0, np.inf]}, DiversetError, "quality[2] is inf"),
        ({"quality": [1.0, 2.0]}, DiversetError, "quality has 2 entries for 3 items"),
        ({"quality": [1.0, 2.0j, 0.0]}, DiversetError, "quality is complex"),
        ({"k": -1}, SizeError, "k is -1"),
        ({"k": 2.5}, SizeError, "k is 2.5"),
        ({"diversity": 1.01}, DiversetError, "diversity is 1.01; it lies between 0 (plain top-k) and 1"),
        ({"diversity": -0.1}, DiversetError, "diversity is -0.1"),
        ({"diversity": np.nan}, DiversetError, "diversity is nan"),
        ({"diversity": "high"}, DiversetError, "diversity is 'high'"),
        ({"given": [3]}, LabelError, "given names item 3"),
        ({"exclude": [-1]}, LabelError, "exclude names item -1"),
        ({"given": [0, 0]}, LabelError, "given names item 0 more than once"),
        ({"given": [True, False]}, LabelError, "given is a mask of 2 values for 3 items"),
        ({"scale": "z"}, DiversetError, "scale is 'z'"),
        ({"similarity": "euclid"}, DiversetError, "similarity is 'euclid'"),
        ({"similarity": "precomputed"}, KernelError, "features has shape (3, 2)"),
        ({"similarity": "precomputed", "features": [[1.0, 0.5], [0.2, 1.0]]}, KernelError, "not symmetric"),
        ({"similarity": "precomputed", "features": [[1.0, 1j], [-1j, 1.0]]}, KernelError, "complex"),
    ],
)
def test_what_is_wrong_is_refused(method, change, error, message):
    call = {"features": points(3, 2), "k": 2} | change
    with pytest.raises(error, match=re.escape(message)):
        method(**call)


@pytest.mark.parametrize("method", GREEDY, ids=names)
def test_a_wrong_function_is_refused(method):
    X = points(5)
    with pytest.raises(DiversetError, match=r"returned float64 of shape \(5,\) for 5 and"):
        method(X, 2, similarity=lambda A, B: np.zeros(len(A)))
    with pytest.raises(DiversetError, match="is nan; every entry must be finite"):
        method(X, 2, similarity=lambda A, B: np.full((len(A), len(B)), np.nan))
    with pytest.raises(DiversetError, match="returned complex128"):
        method(X, 2, similarity=lambda A, B: np.full((len(A), len(B)), 1j))
    with pytest.raises(KernelError, match="beyond the range of floats"):
        method(1e200 * X, 2, similarity="dot")


def peak_bytes(method, *args, **options):
    method(points(3), 2)  # imports and caches first
    tracemalloc.start()
    method(*args, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_too_many_picks_for_a_log_determinant_are_refused_at_once(monkeypatch):
    monkeypatch.setattr("diverset.numerics.validation.available_memory", lambda: 10**8)
    with pytest.raises(TooLargeError, match="the log-determinant over 6000 picks needs"):
        baselines.top_k(points(6000, 2), 6000, similarity="rbf")
    assert len(baselines.top_k(points(6000, 2), 6000)) == 6000


LARGE = points(90_000, 64).astype(np.float32)  # 23 MB, or 46 MB in double precision; an n x n matrix takes 65 GB


@pytest.mark.needs_compiled  # the uncompiled loops copy features to double precision
@pytest.mark.parametrize(
    ("method", "similarity"),
    [*((method, "cosine") for method in ALL if method is not baselines.facility_location), (baselines.mmr, "dot")],
    ids=names,
)
def test_memory_is_linear(method, similarity):
    assert peak_bytes(method, LARGE, 3, similarity=similarity, given=[1]) < 10e6


def test_distances_work_on_a_block_of_rows():
    """A block of 16 MB, and three times that to work with."""
    assert peak_bytes(baselines.mmr, LARGE, 2, similarity="rbf") < 85e6


def test_memory_of_facility_location_is_a_block():
    assert peak_bytes(baselines.facility_location, points(3000, 6), 2) < 40e6 < 8 * 3000**2


def test_facility_location_is_lazy():
    """The first pick looks at every item, the later ones at fewer."""
    looked_at, rng = [], np.random.default_rng(0)

    def similarity(A, B):
        looked_at.append(len(B))
        return kernels.cosine(A, B) + 1e-16 * rng.normal(size=(len(A), len(B)))

    X = np.vstack([points(20, 30, seed=s) * 0.3 + points(1, 30, seed=100 + s) for s in range(15)])
    found = baselines.facility_location(X, 10, similarity=similarity, diversity=1.0)
    assert found.indices.tolist() == baselines.facility_location(X, 10, diversity=1.0).indices.tolist()
    assert sum(looked_at) < 300 * 10 / 2
    looked_at.clear()
    baselines.facility_location(np.tile(points(1, 7), (300, 1)), 50, similarity=similarity)
    # Once for the picks, once for their log-determinant; copies have nothing to add and are not looked at for it.
    assert sum(looked_at) <= 300 + 299 + 50 + 50


def test_import_is_light():
    heavy = ["sklearn", "matplotlib", "pandas", "scipy.spatial", "scipy.stats"]
    code = f"import sys, diverset.baselines, diverset.metrics; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
