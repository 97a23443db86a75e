"""Features read in blocks from files; two rounds; Nystroem features; the command line."""

import os

import numpy as np
import pytest
from typer.testing import CliRunner

import diverset as dv
from diverset.cli import app
from diverset.errors import DiversetError, KernelError

da = pytest.importorskip("dask.array", reason="Dask is not installed")


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((1000, 6)).astype(np.float32)


def test_npy(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    lazy = dv.distributed.read(tmp_path / "x.npy", block_bytes=1000)
    assert lazy.numblocks[0] == 25
    np.testing.assert_array_equal(lazy.compute(), X)
    np.testing.assert_array_equal(dv.select(lazy, 9).indices, dv.select(X, 9).indices)
    np.testing.assert_array_equal(dv.distributed.rows_of(lazy, [7, 3, 900]), X[[7, 3, 900]])
    np.save(tmp_path / "f.npy", np.asfortranarray(X))
    with pytest.raises(KernelError, match="C order"):
        dv.distributed.read(tmp_path / "f.npy")
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY nothing")
    with pytest.raises(DiversetError, match=r"bad\.npy is not an NPY file"):
        dv.distributed.read(tmp_path / "bad.npy")
    with pytest.raises(DiversetError, match="no such file"):
        dv.distributed.read(tmp_path / "none.npy")
    with pytest.raises(DiversetError, match=r"no \.npy"):
        dv.distributed.read(tmp_path / "x.txt")


def test_zarr(X, tmp_path):
    zarr = pytest.importorskip("zarr", reason="Zarr is not installed")
    store = zarr.open_array(str(tmp_path / "x.zarr"), mode="w", shape=X.shape, chunks=(300, 4), dtype=X.dtype)
    store[:] = X
    np.testing.assert_array_equal(dv.select(dv.distributed.read(tmp_path / "x.zarr"), 9), dv.select(X, 9))


def write_parquet(path, X, *, lists=False, **columns):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet as parquet

    features = (
        {"vector": pa.array(X.tolist(), pa.list_(pa.float32()))} if lists else {f"e{j}": X[:, j] for j in range(6)}
    )
    parquet.write_table(pa.table({**columns, **features}), path, row_group_size=150)


@pytest.mark.parametrize("name", ["a::b.parquet", "a[1]*.parquet", "folder[1]"])
@pytest.mark.skipif(os.name == "nt", reason="Windows does not allow these names")
def test_names_with_special_characters(X, tmp_path, name):
    """Local names are neither patterns nor addresses."""
    path = tmp_path / name
    if not path.suffix:
        path.mkdir()
    write_parquet(path if path.suffix else path / "x.parquet", X)
    np.testing.assert_array_equal(dv.distributed.read(path).compute(), X)


@pytest.mark.parametrize("lists", [False, True])
def test_parquet(X, tmp_path, lists):
    write_parquet(tmp_path / "x.parquet", X, lists=lists, score=np.arange(1000.0), name=[f"n{i}" for i in range(1000)])
    columns = "vector" if lists else [f"e{j}" for j in range(6)]
    lazy = dv.distributed.read(tmp_path / "x.parquet", columns, block_bytes=1)
    assert lazy.numblocks[0] == 7
    np.testing.assert_array_equal(lazy.compute(), X)
    rows = dv.distributed.ParquetRows(str(tmp_path / "x.parquet"), block_bytes=1)
    np.testing.assert_array_equal(rows.column("score").compute(), np.arange(1000.0))
    assert rows.take(np.array([999, 3]))["name"] == ["n999", "n3"]
    with pytest.raises(DiversetError, match="no column 'other'"):
        rows.column("other")
    with pytest.raises(KernelError, match="'name'"):
        rows.features(["score", "name"])
    folder = tmp_path / "folder"
    folder.mkdir()
    write_parquet(folder / "a.parquet", X[:400], lists=lists)
    write_parquet(folder / "b.parquet", X[400:], lists=lists)
    np.testing.assert_array_equal(dv.distributed.read(folder).compute(), X)
    np.testing.assert_array_equal(dv.distributed.read(f"file://{folder}").compute(), X)


def test_two_rounds(X):
    lazy, q = da.from_array(X, chunks=130), np.random.default_rng(1).random(1000)
    found = dv.distributed.greedi(lazy, 5, quality=q, diversity=0.6)
    best = dv.select(X, 5, quality=q, diversity=0.6)
    assert len(set(found.indices.tolist())) == 5
    assert best.objective - 0.5 < found.objective
    again = dv.select(X, 5, quality=q, diversity=0.6, exclude=np.setdiff1d(np.arange(1000), found.indices))
    assert found.objective == pytest.approx(again.objective, rel=1e-9)
    # One part is all there is: the picks of one machine.
    np.testing.assert_array_equal(
        dv.distributed.greedi(lazy.rechunk(-1), 5, quality=q).indices, dv.select(X, 5, quality=q)
    )
    with pytest.raises(DiversetError, match="method is 'exact'"):
        dv.distributed.greedi(lazy, 5, method="exact")


@pytest.mark.parametrize("method", ["greedy", "local-search"])
def test_two_rounds_keep_the_bound_by_enumeration(method):
    """The union of the parts' picks holds a set near the best one, far within the proven factor."""
    from itertools import combinations

    rng = np.random.default_rng(2)
    X = rng.standard_normal((18, 3))
    best = max(np.linalg.slogdet(X[list(Y)] @ X[list(Y)].T)[1] for Y in combinations(range(18), 3))
    lazy = da.from_array(X, chunks=6)
    found = dv.distributed.greedi(lazy, 3, diversity=1.0, similarity="dot", method=method)
    assert best - 2.0 * np.log(6.0) <= found.log_det <= best + 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_two_rounds_keep_the_share_of_a_monotone_objective(seed):
    """With qualities that outweigh any loss of volume, the value is at least (1 - 1/e)^2 / min(m, k) of the best."""
    from itertools import combinations

    rng = np.random.default_rng(seed)
    X, q, k, dial = rng.standard_normal((16, 4)), 20.0 + rng.random(16), 3, 0.5
    U = X / np.linalg.norm(X, axis=1, keepdims=True)

    def value(Y):
        return (1 - dial) * q[list(Y)].sum() + dial * np.linalg.slogdet(U[list(Y)] @ U[list(Y)].T)[1]

    values = {Y: value(Y) for m in range(1, k + 1) for Y in combinations(range(16), m)}
    assert all(values[Y] >= values[Y[:-1]] for Y in values if len(Y) > 1)  # monotone, as the guarantee asks
    best = max(values.values())
    found = dv.distributed.greedi(da.from_array(X, chunks=4), k, quality=q, diversity=dial, scale=None)
    assert found.objective == pytest.approx(value(found.indices.tolist()), rel=1e-9)
    assert (1 - np.exp(-1)) ** 2 / min(4, k) * best <= found.objective <= best * (1 + 1e-12)


def test_a_memory_map_answers_like_the_array(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(dv.select(mapped, 9).indices, dv.select(X, 9).indices)
    lazy = dv.distributed.read(tmp_path / "x.npy", block_bytes=1000)
    here, there = dv.KDPP.from_features(mapped, 4), dv.KDPP.from_features(lazy, 4)
    assert there.log_prob([1, 500, 700, 999]) == pytest.approx(here.log_prob([1, 500, 700, 999]), rel=1e-11)
    assert len(there.sample(rng=0)) == 4


def test_nystroem(X):
    lazy = da.from_array(X, chunks=130)
    K = dv.kernels.rbf(X, length_scale=3.0)
    phi = dv.distributed.nystroem(lazy, 50, length_scale=3.0, rng=0)
    assert isinstance(phi, da.Array)
    below = K - phi.compute() @ phi.compute().T
    assert np.linalg.eigvalsh(below).min() > -1e-8  # never above the kernel
    rows = np.sort(np.random.default_rng(0).choice(1000, size=50, replace=False))
    np.testing.assert_allclose(below[np.ix_(rows, rows)], 0.0, atol=1e-8)  # exact between landmarks
    exact = dv.distributed.nystroem(lazy[:40], X[:40], length_scale=3.0).compute()
    np.testing.assert_allclose(exact @ exact.T, K[:40, :40], atol=1e-7)
    linear = dv.distributed.nystroem(lazy, 30, kernel=lambda A, Z: A @ Z.T, rng=0)
    assert linear.shape[1] == 6
    np.testing.assert_array_equal(dv.select(linear, 5, similarity="dot"), dv.select(X, 5, similarity="dot"))
    with pytest.raises(KernelError, match="landmarks have 2 features"):
        dv.distributed.nystroem(lazy, np.ones((3, 2)))


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_command_line(X, tmp_path):
    q = np.random.default_rng(1).random(1000)
    write_parquet(tmp_path / "x.parquet", X, lists=True, score=q, name=[f"n{i}" for i in range(1000)])
    out = tmp_path / "picks.csv"
    result = run("select", tmp_path / "x.parquet", "--dask", "here", "-k", 5, "--quality", "score", "-o", out)
    assert result.exit_code == 0, result.output
    expected = dv.select(X, 5, quality=q).indices
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == [f"n{i}" for i in expected]
    assert "5 of 1,000 rows" in result.output
    page = tmp_path / "picks.html"
    assert run("select", tmp_path / "x.parquet", "--dask", "here", "-k", 5, "-o", page).exit_code == 0
    assert "1,000 rows" in page.read_text(encoding="utf-8")
    np.save(tmp_path / "x.npy", X)
    result = run("select", tmp_path / "x.npy", "--dask", "here", "-k", 3)
    assert result.exit_code == 0, result.output
    assert all(str(i + 1) in result.output for i in dv.select(X, 3))


def picked(*arguments, out):
    result = run("select", *arguments, "--dask", "here", "-k", 6, "-o", out)
    assert result.exit_code == 0, result.output
    lines = out.read_text(encoding="utf-8").splitlines()
    return [line.split(",")[0] for line in lines[1:]], result.output


def test_command_line_with_rows_shown_and_excluded(X, tmp_path):
    """Ids are looked up in the blocks: rows by number, by an id column, and by an earlier output."""
    file, out = tmp_path / "x.parquet", tmp_path / "picks.csv"
    names = [f"n{i}" for i in range(1000)]
    plain = dv.select(X, 6).indices
    given, exclude = [7, 900], plain[:2].tolist()
    expected = dv.select(X, 6, given=given, exclude=exclude).indices
    assert not set(plain[:2]) & set(expected)
    write_parquet(file, X, lists=True, item_id=names)
    ids = [",".join(names[i] for i in rows) for rows in (given, exclude)]
    found, said = picked(file, "--given", ids[0], "--exclude", ids[1], out=out)
    assert found == [names[i] for i in expected]
    # A file of ids, one of them unknown; and the picks of an earlier day.
    (tmp_path / "shown.txt").write_text("n7\nn900\nn5000\n", encoding="utf-8")
    (tmp_path / "earlier.csv").write_text("item_id,x\n" + "".join(f"{names[i]},0\n" for i in exclude), encoding="utf-8")
    found, said = picked(file, "--given", tmp_path / "shown.txt", "--exclude", tmp_path / "earlier.csv", out=out)
    assert found == [names[i] for i in expected]
    assert "1 of 3 ids are not in" in said
    # Without columns, rows count from 1.
    np.save(tmp_path / "x.npy", X)
    numbers = [",".join(str(i + 1) for i in rows) for rows in (given, exclude)]
    found, _ = picked(tmp_path / "x.npy", "--given", numbers[0], "--exclude", numbers[1], out=out)
    assert found == [str(i + 1) for i in expected]
    # The rows shown are on the page, too.
    result = run("select", file, "--dask", "here", "-k", 6, "--given", ids[0], "-o", tmp_path / "picks.html")
    assert result.exit_code == 0, result.output
    assert "already shown" in (tmp_path / "picks.html").read_text(encoding="utf-8")
    write_parquet(file, X, lists=True, item_id=["twice"] * 2 + names[2:])
    result = run("select", file, "--dask", "here", "--given", "twice")
    assert result.exit_code == 2
    assert "'twice' is the item_id of several rows" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--given", "0"], "--given: '0' is no row of"),
        (["--exclude", "3,1001"], "--exclude: '1001' is no row of"),
        (["--given", "a", "--id", "none"], "no column 'none'"),
        (["--text", "name"], "embeddings into a column of lists"),
        (["--features", "nothing"], "no column 'nothing'"),
        (["-k", "2000"], "has 1000 rows"),
        (["--method", "exact"], "method is 'exact'"),
    ],
)
def test_bad_requests_are_one_line(X, tmp_path, arguments, message):
    write_parquet(tmp_path / "x.parquet", X, lists=True, name=["a"] * 1000)
    result = run("select", tmp_path / "x.parquet", "--dask", "here", *arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_a_file_cut_short_before_a_block_is_read_is_an_error_and_not_a_crash(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((1000, 8)))
    lazy = dv.distributed.read(tmp_path / "x.npy", block_bytes=6400)
    os.truncate(tmp_path / "x.npy", 20_000)
    with pytest.raises(DiversetError, match="was cut short while it was read"):
        lazy.compute(scheduler="synchronous")
