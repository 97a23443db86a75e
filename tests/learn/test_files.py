"""Model files: what is saved comes back, and what is no model is refused."""

import json
import pickle

import numpy as np
import pytest

from diverset.errors import DiversetError
from diverset.learn import (
    Comparison,
    FullRankKernel,
    IndependentItems,
    Instance,
    KDPPMixtureLearner,
    LogisticQuality,
    LowRankKernel,
    MMRMixtureLearner,
    NonsymmetricKernel,
    PoissonItems,
    QualityModel,
    load_model,
    save_model,
)
from diverset.learn.files import _KINDS

BASKETS = [[0, 2], [1], [2, 3], [0], [], [1, 3]] * 5
BASKET_MODELS = [
    FullRankKernel(pseudo_count=0.25, init=np.eye(4)),
    LowRankKernel(rank=3, rng=np.random.default_rng(0), n_epochs=3),
    NonsymmetricKernel(rank=3, rng=0, n_epochs=3),
    IndependentItems(),
    PoissonItems(),
]
INSTANCES = [Instance(np.random.default_rng(t).standard_normal((6, 2))) for t in range(20)]
SETS = [np.flatnonzero(np.random.default_rng(100 + t).random(6) < 0.5) for t in range(20)]
PAIRS = [Comparison([np.eye(4), np.eye(4) + 0.5], [0, 1], [0, 2])]


@pytest.mark.parametrize("model", BASKET_MODELS, ids=lambda m: type(m).__name__)
def test_basket_models_come_back(model, tmp_path):
    model.fit(BASKETS, n_items=4)
    path = tmp_path / "model.dvm"
    save_model(model, path, note="made for a test")
    back = load_model(path)
    assert type(back) is type(model)
    np.testing.assert_array_equal(back.log_prob(BASKETS), model.log_prob(BASKETS))
    assert back.recommend([0], 3) == model.recommend([0], 3)
    head = path.read_bytes().split(b"\n\n")[0].decode("utf-8")
    assert head.startswith("diverset model 1\n")
    assert "made for a test" in head
    assert json.loads(head.split("\n", 1)[1])["class"] == type(model).__name__


@pytest.mark.parametrize("model", [QualityModel(rho=0.3), LogisticQuality()], ids=lambda m: type(m).__name__)
def test_quality_models_come_back(model, tmp_path):
    model.fit(INSTANCES, SETS)
    save_model(model, tmp_path / "model.dvm")
    back = load_model(tmp_path / "model.dvm")
    np.testing.assert_array_equal(back.coef_, model.coef_)
    np.testing.assert_array_equal(back.standard_errors_, model.standard_errors_)
    assert back.score(INSTANCES, SETS) == model.score(INSTANCES, SETS)
    assert back.rho == model.rho


@pytest.mark.parametrize("model", [KDPPMixtureLearner(gamma=2.0), MMRMixtureLearner(gamma=2.0)])
def test_mixtures_come_back(model, tmp_path):
    model.fit(PAIRS)
    save_model(model, tmp_path / "model.dvm")
    back = load_model(tmp_path / "model.dvm")
    np.testing.assert_array_equal(back.weights_, model.weights_)
    assert back.gamma_ == 2.0
    assert back.score(PAIRS) == model.score(PAIRS)


def test_every_kind_is_covered():
    tested = [*BASKET_MODELS, QualityModel(), LogisticQuality(), KDPPMixtureLearner(), MMRMixtureLearner()]
    assert {type(m).__name__ for m in tested} == set(_KINDS)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.dvm"
    save_model(IndependentItems().fit(BASKETS, n_items=4), path)
    return path


class Fires:
    """Unpickling this would raise the alarm."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


def test_pickles_are_not_executed(saved):
    saved.write_bytes(pickle.dumps(Fires()))
    with pytest.raises(DiversetError, match="is not a model file of diverset"):
        load_model(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw[:-1], "its arrays take 32 bytes, and 31 are there"),
        (lambda raw: raw + b"x", "and 33 are there"),
        (lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]), "checksum"),
        (lambda raw: raw.replace(b"diverset model 1", b"diverset model 2"), "version 2 of the format"),
        (lambda raw: raw.replace(b"IndependentItems", b"os.system"), "header cannot be read"),
        (lambda raw: raw.replace(b'"arrays"', b'"arrows"'), "header cannot be read"),
        (lambda raw: raw.replace(b"pseudo_count", b"pseudo_cows"), "does not hold what a IndependentItems needs"),
        (lambda raw: b"", "is not a model file"),
        (lambda raw: raw[:60], "header cannot be read"),
        (lambda raw: raw.replace(b"   4\n", b"   400000000000\n"), "arrays take 3200000000000 bytes"),
    ],
)
def test_damage_is_seen(saved, change, message):
    raw = saved.read_bytes()
    assert change(raw) != raw
    saved.write_bytes(change(raw))
    with pytest.raises(DiversetError, match=message):
        load_model(saved)


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(DiversetError, match="has not been fitted"):
        save_model(FullRankKernel(), tmp_path / "model.dvm")
    with pytest.raises(DiversetError, match="a dict cannot be saved"):
        save_model({}, tmp_path / "model.dvm")
    assert list(tmp_path.iterdir()) == []
