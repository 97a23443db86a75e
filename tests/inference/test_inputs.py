"""Frames and tensors: read alike, labels kept, and what cannot be read is said."""

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError, KernelError

RNG = np.random.default_rng(0)
X, Q = RNG.standard_normal((40, 6)), RNG.random(40)
EXPECTED = dv.select(X, k=6, quality=Q).indices.tolist()
NAMES = [f"item-{i}" for i in range(40)]


@pytest.fixture
def pd():
    return pytest.importorskip("pandas")


@pytest.fixture
def pl():
    return pytest.importorskip("polars")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_a_pandas_frame_gives_its_labels(pd):
    frame = pd.DataFrame(X, index=NAMES)
    before = frame.copy()
    chosen = dv.select(frame, k=6, quality=pd.Series(Q, index=NAMES))
    assert chosen.indices.tolist() == EXPECTED
    assert list(chosen.labels) == [NAMES[i] for i in EXPECTED]
    assert frame.loc[chosen.labels].equals(frame.iloc[chosen.indices])
    assert frame.equals(before)
    # By position where there is no index: an array, or a polars column.
    assert dv.select(frame, k=6, quality=Q).indices.tolist() == EXPECTED


@pytest.mark.parametrize("kind", ["dates", "levels", "range", "duplicates"])
def test_any_index_gives_labels(pd, kind):
    index = {
        "dates": lambda: pd.date_range("2026-01-01", periods=40),
        "levels": lambda: pd.MultiIndex.from_arrays([list("ab") * 20, range(40)]),
        "range": lambda: pd.RangeIndex(100, 140),
        "duplicates": lambda: pd.Index(["x"] * 40),
    }[kind]()
    chosen = dv.select(pd.DataFrame(X, index=index), k=6, quality=Q)
    assert chosen.labels.equals(index[EXPECTED])


@pytest.mark.parametrize("dtype", ["float32", "Float64", "float64[pyarrow]", "Sparse[float]"])
def test_every_numeric_type_of_pandas(pd, dtype):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    chosen = dv.select(pd.DataFrame(X, index=NAMES).astype(dtype), k=6, quality=pd.Series(Q, NAMES).astype(dtype))
    assert chosen.indices.tolist() == EXPECTED
    assert chosen.labels.tolist() == [NAMES[i] for i in EXPECTED]


def test_columns_of_another_order_are_not_taken_by_position(pd):
    frame = pd.DataFrame(X, index=NAMES)
    backwards = pd.Series(Q, index=NAMES)[::-1]
    for argument in (
        {"quality": backwards},
        {"costs": backwards, "budget": 1.0},
        {"groups": backwards, "per_group": 1},
    ):
        with pytest.raises(DiversetError, match=r"has another index than the features; put it in their order .*\.loc"):
            dv.select(frame, k=6, **argument)
    assert dv.select(frame, k=6, quality=backwards.loc[frame.index]).indices.tolist() == EXPECTED


def test_frames_that_hold_no_numbers(pd, pl):
    with pytest.raises(KernelError, match=r"column 'title' of features holds (object|str)"):
        dv.select(pd.DataFrame({"x": [1.0, 2.0], "title": ["a", "b"]}), k=1)
    with pytest.raises(KernelError, match="column 'title' of features holds String"):
        dv.select(pl.DataFrame({"x": [1.0, 2.0], "title": ["a", "b"]}), k=1)
    with pytest.raises(KernelError, match="collect it first"):
        dv.select(pl.DataFrame({"x": [1.0, 2.0]}).lazy(), k=1)


def test_missing_values_are_named(pd, pl):
    frame = pd.DataFrame(X).convert_dtypes()
    frame.iloc[2, 1] = pd.NA
    with pytest.raises(KernelError, match=r"features\[2, 1\] is nan"):
        dv.select(frame, k=6)
    with pytest.raises(KernelError, match=r"features\[1, 0\] is nan"):
        dv.select(pl.DataFrame({"a": [1.0, None], "b": [1.0, 2.0]}), k=1)
    with pytest.raises(DiversetError, match=r"quality\[0\] is nan"):
        dv.select(pd.DataFrame(X), k=6, quality=pd.Series([None] * 40, dtype="Float64"))


@pytest.mark.parametrize("dtype", ["Float32", "Float64"])
def test_polars_frames(pl, dtype):
    frame = pl.DataFrame(X).cast(getattr(pl, dtype))
    chosen = dv.select(frame, k=6, quality=pl.Series(Q), groups=pl.Series(["a", "b"] * 20), per_group=3)
    assert np.bincount(chosen.indices % 2).tolist() == [3, 3]
    assert dv.select(frame, k=6, quality=pl.Series(Q)).indices.tolist() == EXPECTED
    assert chosen.labels is None  # polars rows have no names


def test_groups_of_every_kind(pd):
    names = ["a", "b", None, float("nan")] * 10
    for groups in (names, np.array(names, dtype=object), pd.Series(names), pd.Series(names, dtype="string")):
        chosen = dv.select(X, k=40, quality=Q, groups=groups, per_group=2)
        # Items without a group are one group: two of them, two of a, two of b.
        assert np.bincount(np.minimum(chosen.indices % 4, 2)).tolist() == [2, 2, 2]
    category = pd.Series(["a", "b"] * 20, dtype="category")
    assert len(dv.select(X, k=40, groups=category, per_group=1)) == 2
    with pytest.raises(DiversetError, match="name or a number"):
        dv.select(X, k=2, groups=np.array([[1], [2, 3]] * 20, dtype=object), per_group=1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_torch_tensors(torch, dtype):
    T = torch.from_numpy(X).to(getattr(torch, dtype)).requires_grad_()
    quality = torch.from_numpy(Q)
    assert dv.select(T, k=6, quality=quality).indices.tolist() == EXPECTED
    assert dv.select(T.t().contiguous().t(), k=6, quality=quality).indices.tolist() == EXPECTED
    limited = dv.select(
        T, k=6, quality=quality, groups=torch.arange(40) % 3, per_group=1, given=torch.tensor([1, 2]),
        costs=torch.ones(40), budget=2.0,
    )  # fmt: skip
    assert len(limited) == 2
    assert not {1, 2} & set(limited)
    assert T.requires_grad


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_tensors_in_half_precision_are_read_exactly(torch, dtype):
    T, quality = (torch.from_numpy(a).to(getattr(torch, dtype)) for a in (X, Q))
    same = dv.select(T.double().numpy(), k=6, quality=quality.double().numpy())
    assert dv.select(T, k=6, quality=quality).indices.tolist() == same.indices.tolist()


def test_tensors_that_cannot_be_read(torch):
    with pytest.raises(KernelError, match="features is a tensor on meta; move it to memory first"):
        dv.select(torch.empty(4, 2, device="meta"), k=2)
    with pytest.raises(KernelError, match=r"features is a sparse tensor; pass a scipy\.sparse matrix"):
        dv.select(torch.from_numpy(X).to_sparse(), k=2)
    with pytest.raises(KernelError, match="features are complex"):
        dv.select(torch.from_numpy(X).to(torch.complex64), k=2)
