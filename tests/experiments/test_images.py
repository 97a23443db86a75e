"""The experiment on image search: instances with known answers, its tables, and data that are missing."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

import diverset as dv
from experiments.images import coverage, instances, mixtures, official, report
from experiments.images.__main__ import main
from experiments.images.caltech import Mixed, mixed_folders, run_caltech
from experiments.images.instances import DESCRIPTORS, Collection, draw_instances, read_collections
from images_for_tests import save, scene

DATA = Path(os.environ.get("DIVERSET_DATA", Path(__file__).parents[3] / "shared" / "data"))


def collection(seed, informative=3, n_clusters=5, per_cluster=5):
    """Photos in clusters that the first descriptors show and the others do not; four are not relevant."""
    rng = np.random.default_rng(seed)
    clusters = [f"c{c}" for c in range(n_clusters) for _ in range(per_cluster)] + [None] * 4
    number = np.array([n_clusters if c is None else int(c[1:]) for c in clusters])
    centres = rng.standard_normal((n_clusters + 1, 12))
    features = {}
    for at, name in enumerate(DESCRIPTORS):
        noise = rng.standard_normal((len(clusters), 12))
        features[name] = centres[number] + 0.4 * noise if at < informative else noise
    kernels = dv.images.expert_kernels({name: features[name] for name in (*DESCRIPTORS[:4], "HOG")})
    return Collection(f"q{seed}", "devset" if seed % 2 else "testset", kernels, clusters)


@pytest.fixture(scope="module")
def collections():
    return [collection(seed) for seed in range(4)]


def test_the_better_candidate_brings_a_new_cluster(collections):
    found = draw_instances(collections, per_query=6)
    assert len(found) == 24
    assert found == draw_instances(collections, per_query=6)
    assert found != draw_instances(collections, per_query=6, seed=1)
    for one in found:
        clusters = collections[one.collection].clusters
        covered = {clusters[i] for i in one.partial}
        assert len(set(one.partial)) == 5
        assert None not in covered
        assert clusters[one.better] not in covered | {None}
        assert clusters[one.worse] in covered
        assert not {one.better, one.worse} & set(one.partial)


def test_all_methods_on_splits_with_a_known_answer(collections):
    tables = mixtures.read_tables(collections, draw_instances(collections, per_query=30))
    outcome = mixtures.run_splits(tables, splits=3)
    assert set(outcome.accuracy) == set(mixtures.METHODS)
    for name in mixtures.METHODS:
        assert outcome.accuracy[name].shape == (3,)
        assert outcome.accuracy[name].mean() > 0.85  # the first three descriptors show the clusters
        seen = np.isfinite(outcome.per_instance[name])
        assert 60 <= seen.sum() <= 90  # a quarter of 120, three times, some of them again
    weights = outcome.weights["mixture k-DPP"].mean(axis=0)
    assert weights.sum() == pytest.approx(1.0)
    blind = [tables.experts.index("CN3x3"), tables.experts.index("HOG")]
    assert weights[blind].sum() < 0.05
    same = mixtures.significance(outcome, tables.query, "mixture k-DPP", "mixture k-DPP", over="splits")
    assert same == (0.0, 0.0, 0.0)
    assert report.accuracy_table({"all": outcome}).count("\n   * - ") == 2
    assert report.difference_table(outcome, tables.query).count("\n   * - ") == 1 + len(mixtures.METHODS)
    assert report.weights_table(outcome, tables.experts).count("\n   * - ") == 7
    part = mixtures.run_splits(tables, splits=1, queries=[0])
    assert np.isfinite(part.per_instance["best MMR"]).sum() == round(0.25 * 30)


def test_tables_are_those_of_the_learners(collections):
    drawn = draw_instances(collections, per_query=3)
    tables = mixtures.read_tables(collections, drawn)
    for rho in (0.0, 1.0):
        pairs = []
        kernels = []
        for one in collections:
            relevant = np.ix_(one.relevant, one.relevant)
            kernels.append([S[relevant] + rho for S in one.kernels.values()])
        for one in drawn:
            at = {int(i): spot for spot, i in enumerate(collections[one.collection].relevant)}
            shared = [at[i] for i in one.partial]
            sets = [[*shared, at[candidate]] for candidate in (one.better, one.worse)]
            pairs.append(dv.learn.Comparison(kernels[one.collection], *sets))
        plain = dv.learn.KDPPMixtureLearner(scaling="pair").table(pairs)
        for found, expected in zip(tables.by_rho[rho].arrays, plain.arrays, strict=True):
            assert found == pytest.approx(expected, abs=1e-8)
        assert tables.by_rho[rho].kind == plain.kind
    plain = dv.learn.KDPPMixtureLearner().table(pairs)
    assert tables.global_scale.arrays[2] == pytest.approx(plain.arrays[2], abs=1e-8)
    assert tables.global_scale.kind == plain.kind
    theta = np.random.default_rng(0).dirichlet(np.ones(len(tables.experts)))
    model = dv.learn.MMRMixtureLearner()
    assert model._margins(tables.mmr.arrays, theta)[0] == pytest.approx(
        model._margins(model.table(pairs).arrays, theta)[0]
    )


def test_significance_is_that_of_the_differences():
    rng = np.random.default_rng(0)
    values = {"a": rng.random(400) + 0.3, "b": rng.random(400)}
    outcome = mixtures.Outcome({name: value[:100] for name, value in values.items()}, values, {})
    query = np.repeat(np.arange(20), 20)
    difference = values["a"] - values["b"]
    spreads = {
        "instances": difference.std() / 20,
        "queries": difference.reshape(20, 20).mean(axis=1).std() / np.sqrt(20),
        "splits": difference[:100].std() / 10,
    }
    for over, spread in spreads.items():
        mean, low, high = mixtures.significance(outcome, query, "a", "b", over=over)
        assert mean == pytest.approx(difference[:100].mean() if over == "splits" else difference.mean())
        assert (high - low) / 2 == pytest.approx(2.576 * spread, rel=0.15)


def test_virtual_users_are_counted(collections):
    m = len(collections[0].kernels)
    found = coverage.run_coverage(collections, np.full(m, 1 / m), np.full(m, 1 / m), rho=1.0)
    assert found.single.shape == (m, 4)
    assert found.users.tolist() == [25] * 4
    assert ((found.single >= 0) & (found.single <= 1)).all()
    assert found.uniform.shape == found.mmr.shape == (4,)
    assert report.coverage_table(found).count("\n   * - ") == 4


def test_mmr_without_relevance_by_hand():
    S = np.array([[1.0, 0.9, 0.1, 0.5], [0.9, 1.0, 0.2, 0.4], [0.1, 0.2, 1.0, 0.6], [0.5, 0.4, 0.6, 1.0]])
    assert coverage._mmr(S, 0, 4) == [0, 2, 3, 1]
    assert coverage._mmr(S, 3, 2) == [3, 1]


def test_official_measures_by_hand():
    clusters = ["a"] * 10 + ["b"] * 5 + [None] * 5 + ["c"] * 2
    one = Collection("q", "devset", {"x": np.eye(22)}, clusters)
    found = dict(zip(official.MEASURES, official.measure(range(20), one), strict=True))
    assert found == pytest.approx(
        {
            "CR@10": 1 / 3,
            "P@10": 1.0,
            "F1@10": 0.5,
            "CR@20": 2 / 3,
            "P@20": 0.75,
            "F1@20": 2 * (2 / 3) * 0.75 / (2 / 3 + 0.75),
        }
    )
    table = official.rank_all([one], lambda c: c.kernels["x"], dv.select, [0.0])
    assert table[0, 0].tolist() == pytest.approx(list(found.values()))  # the dial at 0 is Flickr's order
    text = report.official_table({"Flickr's order": table[0], "other": table[0]})
    assert "+0.000 (+0.000 to +0.000)" in text


def test_mixed_folders_and_their_table():
    labels = np.repeat([f"k{i}" for i in range(8)], 50)
    folders = mixed_folders(labels, number=5)
    assert all(len(set(labels[rows])) == 6 and len(set(rows)) == len(rows) for rows in folders)
    assert all((a == b).all() for a, b in zip(folders, mixed_folders(labels, number=5), strict=True))
    found = Mixed({"diverset images": np.full(5, 0.9), "random": np.full(5, 0.8)}, {"gist": np.full(5, 0.7)}, 9, 0, [])
    assert "+0.100 (+0.100 to +0.100)" in report.caltech_table(found)


def test_the_pixel_pipeline_on_made_up_classes(tmp_path, monkeypatch):
    from experiments.images import caltech

    monkeypatch.setattr(caltech, "LEAST", 2)
    monkeypatch.setattr(caltech, "MOST", 3)
    for c in range(6):
        for i in range(3):
            save(tmp_path / "images" / f"class{c}" / f"{i}.png", scene(10 * c + i, 60, 80, colour=np.eye(6, 3)[c]))
    found = run_caltech(tmp_path, n_folders=2)
    assert found.images == 18
    assert found.copies == []
    assert set(found.by_feature) == set(dv.images.FEATURES)
    assert all(0 < value <= 1 for values in found.recall.values() for value in values)


def test_missing_data_are_named(tmp_path, capsys):
    assert main(["--data", str(tmp_path / "nowhere"), "--out", str(tmp_path / "out")]) == 0
    captured = capsys.readouterr()
    assert captured.err.count(": skipped: ") == 2
    assert "--data" in captured.err


def test_descriptors_become_experts(tmp_path):
    folder = tmp_path / "div400"
    folder.mkdir()
    rng = np.random.default_rng(0)
    arrays = {name: rng.random((7, 5)).astype(np.float32) for name in DESCRIPTORS}
    np.savez(folder / "div400_features.npz", topic_ptr=np.array([0, 3, 7]), **arrays)
    clusters = [["c1", None, "c1"], ["c1", "c2", "c3", "c1"]]
    with gzip.open(folder / "div400_topics.jsonl.gz", "wt") as file:
        for t, photos in enumerate(clusters):
            file.write(
                json.dumps({"query": f"q{t}", "split": "devset", "photos": [{"cluster": c} for c in photos]}) + "\n"
            )
    first, second = read_collections(folder)
    assert len(first.kernels) == 55
    assert first.relevant.tolist() == [0, 2]
    assert second.kernels["CM & LBP"].shape == (4, 4)
    assert instances.PER_QUERY == 20


@pytest.mark.slow
def test_real_collections_are_read():
    if not (DATA / "div400").is_dir():
        pytest.skip(f"{DATA / 'div400'} is missing")
    found = read_collections(DATA / "div400")
    assert len(found) == 50
    recall = np.mean([official.measure(range(20), one)[0] for one in found])
    assert recall == pytest.approx(0.394, abs=5e-4)  # as the data's own notes measured
