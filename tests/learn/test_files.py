"""Model files: what is saved comes back, and what is no model is refused."""

import hashlib
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


@pytest.mark.parametrize("gamma", [2.0, 0.25])
@pytest.mark.parametrize("learner", [KDPPMixtureLearner, MMRMixtureLearner])
def test_mixtures_come_back(learner, gamma, tmp_path):
    model = learner(gamma=gamma).fit(PAIRS)
    save_model(model, tmp_path / "model.dvm")
    back = load_model(tmp_path / "model.dvm")
    np.testing.assert_array_equal(back.weights_, model.weights_)
    assert back.gamma_ == gamma
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


def forge(path, name, *, parameters=None, names=None, **arrays):
    """Write a file with a right checksum and any content."""
    held = {key: np.asarray(value, dtype="<f8") for key, value in arrays.items()}
    payload = b"".join(array.tobytes() for array in held.values())
    header = {
        "class": name,
        "parameters": parameters or {},
        "names": names,
        "arrays": {key: list(array.shape) for key, array in held.items()},
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    path.write_bytes(f"diverset model 1\n{json.dumps(header)}\n\n".encode() + payload)
    return path


SKEW = {"V": np.eye(2), "B": np.eye(2)}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("IndependentItems", {"p": [5.0, -3.0]}, "p goes from -3 to 5; its entries lie between 0 and 1"),
        ("IndependentItems", {"p": [[0.5]]}, "'p' has shape"),
        ("IndependentItems", {"p": []}, "it has no items"),
        ("IndependentItems", {"p": [0.5], "q": [0.5]}, "'q' is unknown"),
        ("IndependentItems", {"q": [0.5]}, "'p' is missing"),
        ("IndependentItems", {"p": [np.nan]}, "not finite"),
        ("IndependentItems", {"p": [0.5, 0.5], "names": ["a"]}, "not those of 2 items"),
        ("IndependentItems", {"p": [0.5], "parameters": {"pseudo_count": float("nan")}}, "header cannot be read"),
        ("PoissonItems", {"weights": [1.0], "rate": [-5.0]}, "rate goes from -5 to -5"),
        ("PoissonItems", {"weights": [1.0, -1.0], "rate": [1.0]}, "weights goes from -1 to 1"),
        ("PoissonItems", {"weights": [1.0], "rate": [1.0, 2.0]}, "'rate' has shape"),
        ("FullRankKernel", {"L": [1.0, 2.0]}, "'L' has shape"),
        ("FullRankKernel", {"L": np.ones((2, 3))}, "'L' has shape"),
        ("FullRankKernel", {"L": [[1.0, 2.0], [2.0, 1.0]]}, "eigenvalue -1"),
        ("FullRankKernel", {"L": [[1.0, 0.5], [0.0, 1.0]]}, "symmetric"),
        ("LowRankKernel", {"V": [1.0, 2.0]}, "'V' has shape"),
        ("NonsymmetricKernel", {**SKEW, "C": np.eye(2)}, "C is not skew-symmetric"),
        ("NonsymmetricKernel", {**SKEW, "C": np.zeros((3, 3))}, "'C' has shape"),
        ("QualityModel", {"coef": [1.0, 2.0], "covariance": np.eye(3)}, "'covariance' has shape"),
        ("QualityModel", {"coef": [1.0], "names": ["a"]}, "no attribute 'n_items_'"),
        ("KDPPMixtureLearner", {"weights": [0.2, 0.2], "gamma": [1.0]}, "weights sum to 0.4"),
        ("KDPPMixtureLearner", {"weights": [1.5, -0.5], "gamma": [1.0]}, "weights goes from -0.5"),
        ("MMRMixtureLearner", {"weights": [0.5, 0.5], "gamma": [-1.0]}, "gamma goes from -1"),
    ],
)
def test_what_is_loaded_is_checked(tmp_path, name, content, message):
    with pytest.raises(DiversetError, match=message):
        load_model(forge(tmp_path / "model.dvm", name, **content))


def test_forged_files_load_where_they_hold_models(tmp_path):
    path = tmp_path / "model.dvm"
    assert load_model(forge(path, "IndependentItems", p=[0.0, 1.0])).log_prob([[1]]) == 0.0
    assert load_model(forge(path, "FullRankKernel", L=[[3.0]])).log_prob([[0]]) == pytest.approx(np.log(0.75))
    turned = load_model(forge(path, "NonsymmetricKernel", **SKEW, C=[[0.0, 1.0], [-1.0, 0.0]]))
    assert turned.log_prob([[0, 1]]) == pytest.approx(np.log(2.0 / 5.0))


def test_deep_nesting_is_refused(tmp_path):
    path = tmp_path / "model.dvm"
    path.write_bytes(b"diverset model 1\n" + b"[" * 100_000 + b"\n\n")
    with pytest.raises(DiversetError, match="header cannot be read"):
        load_model(path)


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(DiversetError, match="has not been fitted"):
        save_model(FullRankKernel(), tmp_path / "model.dvm")
    with pytest.raises(DiversetError, match="a dict cannot be saved"):
        save_model({}, tmp_path / "model.dvm")
    assert list(tmp_path.iterdir()) == []
