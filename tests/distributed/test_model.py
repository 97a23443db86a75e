"""DPPs of features in blocks answer as those of the same features in memory."""

import numpy as np
import pytest
import scipy.sparse

import blocks_for_tests
import diverset as dv
from diverset.core.factor import RowFactor
from diverset.errors import DiversetError, KernelError, LabelError
from diverset.inference.inputs import read_items

da = pytest.importorskip("dask.array", reason="Dask is not installed")


def rows(n=400, width=6, *, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, width)) * np.geomspace(1.0, 0.1, width)
    if np.dtype(dtype).kind == "c":
        X = X + 1j * rng.standard_normal((n, width))
    return X.astype(dtype)


def both(X, q=None, chunks=(70, 4)):
    return dv.DPP.from_features(X, q), dv.DPP.from_features(da.from_array(X, chunks=chunks), q)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("weighted", [False, True])
def test_answers_are_those_of_the_features_in_memory(dtype, weighted):
    X = rows(dtype=dtype)
    q = np.random.default_rng(1).random(len(X)) + 0.1 if weighted else None
    here, there = both(X, q)
    assert there.log_normalizer == pytest.approx(here.log_normalizer, rel=1e-13)
    np.testing.assert_allclose(there.eigenvalues, here.eigenvalues, rtol=1e-11)
    for Y in ([], [3], [399, 0, 71], range(6)):
        assert there.log_prob(Y) == pytest.approx(here.log_prob(Y), rel=1e-11)
        assert there.marginal(Y) == pytest.approx(here.marginal(Y), rel=1e-11)
    assert there.probability([3, 90], [8, 350]) == pytest.approx(here.probability([3, 90], [8, 350]), rel=1e-11)
    np.testing.assert_allclose(
        there.pair_probabilities([(3, 90), (91, 2)]), here.pair_probabilities([(3, 90), (91, 2)]), rtol=1e-11
    )
    lazy = there.inclusion_probabilities
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), here.inclusion_probabilities, rtol=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        lambda dpp: dpp.condition([70], [3, 399]),
        lambda dpp: dpp.condition(exclude=[0, 1, 70, 72, 399]),
        lambda dpp: dpp.thin(0.3),
        lambda dpp: dpp.rescale(3.0),
        lambda dpp: dpp.restrict([1, 71, 200, 300, 301, 302, 303, 399]),
        lambda dpp: dpp.condition([70], [3]).condition([1], [399]).thin(0.5).rescale(2.0),
    ],
)
def test_what_is_made_of_them_answers_alike(change):
    here, there = (change(dpp) for dpp in both(rows(), np.linspace(0.5, 2.0, 400)))
    np.testing.assert_array_equal(there.items, here.items)
    assert there.log_normalizer == pytest.approx(here.log_normalizer, rel=1e-11)
    Y = [71, 200, 300]
    assert there.log_prob(Y) == pytest.approx(here.log_prob(Y), rel=1e-10)
    assert there.marginal(Y) == pytest.approx(here.marginal(Y), rel=1e-10)
    np.testing.assert_allclose(np.asarray(there.inclusion_probabilities), here.inclusion_probabilities, rtol=1e-10)


def test_fixed_sizes():
    here, there = (dpp.of_size(4) for dpp in both(rows()))
    assert there.log_normalizer == pytest.approx(here.log_normalizer, rel=1e-12)
    assert there.log_prob([1, 80, 200, 399]) == pytest.approx(here.log_prob([1, 80, 200, 399]), rel=1e-11)
    assert there.marginal([80]) == pytest.approx(here.marginal([80]), rel=1e-11)
    assert there.marginal([80, 399]) == pytest.approx(here.marginal([80, 399]), rel=1e-10)
    np.testing.assert_allclose(there.pair_probabilities([(1, 399)]), here.pair_probabilities([(1, 399)]), rtol=1e-9)
    lazy = there.inclusion_probabilities
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), here.inclusion_probabilities, rtol=1e-11)
    made = dv.KDPP.from_features(da.from_array(rows(), chunks=90), 4)
    assert made.log_prob([1, 80, 200, 399]) == pytest.approx(here.log_prob([1, 80, 200, 399]), rel=1e-11)


def test_sparse_blocks_stay_sparse():
    X = scipy.sparse.random(300, 20, density=0.2, random_state=0, format="csr")
    lazy = da.from_array(X.toarray(), chunks=(50, 20)).map_blocks(scipy.sparse.csr_matrix)
    here, there = dv.DPP.from_features(X), dv.DPP.from_features(lazy)
    assert there.log_normalizer == pytest.approx(here.log_normalizer, rel=1e-12)
    assert there.log_prob([5, 51, 299]) == pytest.approx(here.log_prob([5, 51, 299]), rel=1e-11)
    np.testing.assert_allclose(there.inclusion_probabilities.compute(), here.inclusion_probabilities, rtol=1e-11)
    assert all(len(draw) == 5 for draw in there.of_size(5).sample(3, rng=0))
    projected = dv.numerics.project(lazy, 7, rng=3)
    np.testing.assert_allclose(projected.compute(), dv.numerics.project(X, 7, rng=3), rtol=1e-12)


def test_projection_is_the_one_of_the_same_seed():
    X = rows()
    lazy = da.from_array(X, chunks=(70, 4))
    projected = dv.numerics.project(lazy, 3, rng=5).compute()
    np.testing.assert_allclose(projected, dv.numerics.project(X, 3, rng=5), rtol=1e-12)
    here, there = dv.DPP.from_features(X, projection=3, rng=5), dv.DPP.from_features(lazy, projection=3, rng=5)
    assert there.log_normalizer == pytest.approx(here.log_normalizer, rel=1e-12)


def test_quality_may_be_in_blocks_of_its_own():
    X, q = rows(), np.linspace(0.1, 3.0, 400)
    here, there = (
        dv.DPP.from_features(X, q),
        dv.DPP.from_features(da.from_array(X, chunks=70), da.from_array(q, chunks=33)),
    )
    assert there.log_normalizer == pytest.approx(here.log_normalizer, rel=1e-12)


def test_frames_and_blocks_of_unknown_length():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe", reason="Dask has no frames here")
    X = rows()
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=5)
    expected = dv.DPP.from_features(X).log_normalizer
    assert dv.DPP.from_features(frame).log_normalizer == pytest.approx(expected, rel=1e-12)
    assert dv.DPP.from_features(frame.to_dask_array()).log_normalizer == pytest.approx(expected, rel=1e-12)


def test_few_items_of_many_features_come_here():
    X = rows(5, 9)
    here, there = both(X, chunks=(2, 4))
    assert there.log_prob([1, 4]) == pytest.approx(here.log_prob([1, 4]), rel=1e-12)


def test_only_the_rows_named_are_fetched(monkeypatch):
    fetched = []
    take = RowFactor.take
    monkeypatch.setattr(
        RowFactor,
        "take",
        lambda self, rows: (type(self) is RowFactor and fetched.append(len(rows)), take(self, rows))[1],
    )
    there = dv.DPP.from_features(da.from_array(rows(), chunks=70))
    there.log_prob([3, 90, 91])
    there.marginal([399])
    assert sorted(fetched) == [1, 1, 2]


def test_nothing_is_computed_for_a_lazy_answer(tmp_path):
    there = dv.DPP.from_features(blocks_for_tests.features(folder=tmp_path, fatal=9))
    made = (tmp_path / "made").read_text()
    lazy = there.inclusion_probabilities
    assert (tmp_path / "made").read_text() == made
    lazy.compute()
    assert (tmp_path / "made").read_text() == made + "x"


def test_bad_input_is_named_by_its_place():
    X = rows()
    X[133, 2] = np.nan
    lazy = da.from_array(X, chunks=70)
    with pytest.raises(KernelError, match=r"features\[133, 2\] is nan"):
        dv.DPP.from_features(lazy)
    good = da.from_array(rows(), chunks=70)
    q = np.ones(400)
    q[205] = -2.0
    with pytest.raises(KernelError, match=r"quality\[205\] is -2"):
        dv.DPP.from_features(good, q)
    with pytest.raises(KernelError, match=r"quality\[205\] is -2"):
        dv.DPP.from_features(good, da.from_array(q, chunks=100))
    with pytest.raises(KernelError, match="399 entries for 400"):
        dv.DPP.from_features(good, q[:-1])
    with pytest.raises(KernelError, match="overflow"):
        dv.DPP.from_features(good * 1e200)
    with pytest.raises(KernelError, match="expected 2 dimensions"):
        dv.DPP.from_features(good[:, 0])
    with pytest.raises(LabelError, match="item 400"):
        dv.DPP.from_features(good).log_prob([400])
    with pytest.raises(DiversetError, match="method is 'spectral'"):
        dv.DPP.from_features(good).sample(method="spectral")
    with pytest.raises(KernelError, match=r"compute\(\)"):
        read_items(good)


@pytest.fixture
def few(monkeypatch):
    """Blocks are joined although they are few."""
    from diverset.distributed import blocks

    monkeypatch.setattr(blocks, "_FEW", 5)
    return blocks


@pytest.mark.parametrize("sparse", [False, True])
def test_joined_blocks_answer_alike(few, sparse):
    X, q = rows(), np.linspace(0.5, 2.0, 400)
    lazy = da.from_array(X, chunks=((30, 1, 0, 69, 100, 7, 3, 190), (6,)))
    if sparse:
        lazy = lazy.map_blocks(scipy.sparse.csr_matrix)
    joined = few.Blocks.of(lazy)
    assert joined.lengths.tolist() == [31, 69, 100, 10, 190]
    assert few.Blocks.of(lazy, join=False).lengths.tolist() == list(lazy.chunks[0])
    here, there = dv.DPP.from_features(X, q), dv.DPP.from_features(lazy, da.from_array(q, chunks=33))
    assert there.log_normalizer == pytest.approx(here.log_normalizer, rel=1e-13)
    np.testing.assert_allclose(there.inclusion_probabilities.compute(), here.inclusion_probabilities, rtol=1e-12)
    assert there.log_prob([29, 30, 31, 100, 399]) == pytest.approx(here.log_prob([29, 30, 31, 100, 399]), rel=1e-11)
    np.testing.assert_array_equal(
        dv.select(lazy, 9, quality=q, given=[30]).indices, dv.select(X, 9, quality=q, given=[30]).indices
    )
    whole = dv.DPP.from_features(da.from_array(X, chunks=400), q).of_size(4).sample(20, rng=0)
    np.testing.assert_array_equal(np.stack(there.of_size(4).sample(20, rng=0)), np.stack(whole))


def test_blocks_that_are_long_or_few_are_not_joined(few, monkeypatch):
    lazy = da.from_array(rows(), chunks=50)
    assert len(few.Blocks.of(lazy).parts) == 8  # 80 rows would be joined: no two blocks fit
    monkeypatch.setattr(few, "_FEW", 8)
    assert len(few.Blocks.of(lazy).parts) == 8
    monkeypatch.setattr(few, "_FEW", 2)
    assert len(few.Blocks.of(lazy).parts) == 2
    monkeypatch.setattr(few, "_JOINED_BYTES", 100 * 6 * 8)
    assert len(few.Blocks.of(lazy).parts) == 4


def test_a_round_trip_has_one_task_for_each_block(monkeypatch):
    """Tasks are what a scheduler spends time on, so blocks are made within the tasks that need them."""
    from diverset.distributed import blocks

    sizes = []
    written = blocks._written
    monkeypatch.setattr(blocks, "_written", lambda tasks: sizes.append(len(graph := written(tasks))) or graph)
    lazy = da.map_blocks(_made, chunks=((100,) * 40, (6,)), dtype=np.float64)
    there = dv.DPP.from_features(lazy)
    assert sizes == [40 + 3 + 1]  # Gram matrices, and two levels of sums
    sizes.clear()
    dv.select(lazy, 1)
    # The columns of each block; the state of the picks and a scan for each block; then what comes back from each.
    assert sizes[:3] == [40, 40 + 1 + 40, 40 + 40]
    sizes.clear()
    there.of_size(3).sample(rng=0)
    assert sizes[:2] == [2 + 40, 40 + 40]


def _made(block_info=None):
    (first, last), _ = block_info[None]["array-location"]
    return rows(4000, 6)[first:last]
