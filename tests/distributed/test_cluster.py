"""The same answers from a real cluster, also when a worker is killed on the way."""

import numpy as np
import pytest

import blocks_for_tests
import diverset as dv

pytest.importorskip("distributed", reason="distributed is not installed")


@pytest.fixture
def on_cluster(cluster):
    """The cluster, as Dask's default within a test."""
    with cluster.as_current():
        yield cluster


@pytest.fixture(scope="module")
def here():
    """What one machine answers."""
    X = blocks_for_tests.whole()
    dpp = dv.DPP.from_features(X)
    return {"X": X, "dpp": dpp, "picks": dv.select(X, 7), "past": dv.select(X, 12)}


def draws_in_this_process(k, size, seed):
    import dask

    with dask.config.set(scheduler="synchronous"):
        return dv.DPP.from_features(blocks_for_tests.features()).of_size(k).sample(size, rng=seed)


def test_answers_are_those_of_one_machine(on_cluster, here):
    there = dv.DPP.from_features(blocks_for_tests.features())
    dpp = here["dpp"]
    assert there.log_normalizer == pytest.approx(dpp.log_normalizer, rel=1e-13)
    assert there.log_prob([3, 700, 2999]) == pytest.approx(dpp.log_prob([3, 700, 2999]), rel=1e-11)
    assert there.marginal([3, 700]) == pytest.approx(dpp.marginal([3, 700]), rel=1e-11)
    np.testing.assert_allclose(there.inclusion_probabilities.compute(), dpp.inclusion_probabilities, rtol=1e-12)
    found = dv.select(blocks_for_tests.features(), 12)
    np.testing.assert_array_equal(found.indices, here["past"].indices)
    np.testing.assert_array_equal(found.gains, here["past"].gains)
    mode = dv.map_greedy(there)
    np.testing.assert_array_equal(mode.indices, dv.map_greedy(dpp).indices)
    for a, b in zip(there.of_size(5).sample(30, rng=4), draws_in_this_process(5, 30, 4), strict=True):
        np.testing.assert_array_equal(a, b)


def was_killed(folder, fatal):
    """Whether block 2 was made often enough for its worker to die, and again after that."""
    return len((folder / "made").read_text(encoding="ascii")) > fatal


def test_a_worker_dies_during_the_dual_kernel(on_cluster, here, tmp_path):
    there = dv.DPP.from_features(blocks_for_tests.features(folder=tmp_path, fatal=1))
    assert was_killed(tmp_path, 1)
    assert there.log_normalizer == pytest.approx(here["dpp"].log_normalizer, rel=1e-13)


def test_a_worker_dies_during_the_marginals(on_cluster, here, tmp_path):
    there = dv.DPP.from_features(blocks_for_tests.features(folder=tmp_path, fatal=2))
    p = there.inclusion_probabilities.compute()
    assert was_killed(tmp_path, 2)
    np.testing.assert_allclose(p, here["dpp"].inclusion_probabilities, rtol=1e-12)


@pytest.mark.parametrize("fatal", [1, 3])
def test_a_worker_dies_during_greedy(on_cluster, here, tmp_path, fatal):
    """At the first scan, and at a later one, when it takes down with it what was kept of earlier scans."""
    found = dv.select(blocks_for_tests.features(folder=tmp_path, fatal=fatal), 12)
    assert was_killed(tmp_path, fatal)
    np.testing.assert_array_equal(found.indices, here["past"].indices)
    np.testing.assert_array_equal(found.gains, here["past"].gains)


@pytest.mark.parametrize("fatal", [2, 3])
def test_a_worker_dies_during_sampling(on_cluster, tmp_path, fatal):
    """While cumulative sums are made, and while they are used: they were on the worker that is lost."""
    there = dv.DPP.from_features(blocks_for_tests.features(folder=tmp_path, fatal=fatal))
    draws = there.of_size(5).sample(30, rng=4)
    assert was_killed(tmp_path, fatal)
    for a, b in zip(draws, draws_in_this_process(5, 30, 4), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_worker_dies_with_blocks_that_were_joined(on_cluster, here, tmp_path, monkeypatch):
    """Joined blocks are made again as well, and are counted as one in every round trip."""
    from diverset.distributed import blocks

    monkeypatch.setattr(blocks, "_FEW", 3)
    lazy = blocks_for_tests.features(folder=tmp_path, fatal=2)
    assert len(blocks.Blocks.of(lazy).parts) == 3
    there = dv.DPP.from_features(lazy)
    found = dv.select(lazy, 12)
    assert was_killed(tmp_path, 2)
    assert there.log_normalizer == pytest.approx(here["dpp"].log_normalizer, rel=1e-13)
    np.testing.assert_array_equal(found.indices, here["past"].indices)
    np.testing.assert_array_equal(found.gains, here["past"].gains)


def test_the_command_line_picks_on_a_cluster(cluster, here, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet as parquet
    from typer.testing import CliRunner

    from diverset.cli import app

    table = pa.table({"number": range(3000), "vector": pa.array(here["X"].tolist(), pa.list_(pa.float64()))})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=500)
    out = tmp_path / "picks.csv"
    address = cluster.scheduler.address
    result = CliRunner().invoke(
        app, ["select", str(tmp_path / "x.parquet"), "--dask", address, "-k", "7", "-o", str(out)]
    )
    assert result.exit_code == 0, result.output
    rows = out.read_text(encoding="utf-8").splitlines()[1:]
    assert [int(row.split(",")[0]) for row in rows] == here["picks"].indices.tolist()


def test_features_kept_on_the_workers(on_cluster, here):
    """Blocks that are there already are used as they are, and stay for as long as the model needs them."""
    features = blocks_for_tests.features().persist()
    there = dv.DPP.from_features(features)
    part = dv.DPP.from_features(features[:1200])
    del features
    assert there.log_prob([3, 700, 2999]) == pytest.approx(here["dpp"].log_prob([3, 700, 2999]), rel=1e-11)
    assert part.log_prob([3, 700]) == pytest.approx(
        dv.DPP.from_features(here["X"][:1200]).log_prob([3, 700]), rel=1e-11
    )
