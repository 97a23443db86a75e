"""Many sets in one call: the numbers of single calls, however the sets are given."""

import numpy as np
import pytest

import diverset as dv
from diverset.errors import LabelError
from diverset.numerics.linalg import log_dets
from kernels_for_tests import wishart

RNG = np.random.default_rng(0)
F = RNG.standard_normal((50, 7))
F[10] = F[11]  # a set with both is impossible
F[12] = F[13] + 1e-9 * RNG.standard_normal(7)  # and one with these nearly so
L = wishart(30, 40, 1) / 10
SKEW = np.triu(RNG.standard_normal((30, 30)), 1)
COMPLEX = F[:30] + 1j * np.roll(F[:30], 1, axis=1)

MODELS = {
    "features": dv.DPP.from_features(F),
    "quality": dv.DPP.from_features(F, np.logspace(-6, 6, 50)),
    "complex features": dv.DPP.from_features(COMPLEX),
    "float32": dv.DPP.from_features(F.astype(np.float32)),
    "conditioned features": dv.DPP.from_features(F).condition(include=[10, 3], exclude=[5]),
    "dense": dv.DPP(L),
    "dense, deficient": dv.DPP(F @ F.T),
    "conditioned dense": dv.DPP(F @ F.T).condition(include=[10], exclude=[0]),
    "marginal": dv.DPP.from_marginal(dv.DPP(L).K),
    "projection": dv.DPP.from_spectrum([np.inf] * 7, np.linalg.qr(F)[0]),
    "complement": dv.DPP(L).complement(),
    "k-DPP": dv.DPP.from_features(F).of_size(3),
    "sized": dv.SizedDPP(dv.DPP(L), [0.1, 0.4, 0.0, 0.5]),
    "mixture": dv.KDPPMixture([dv.DPP(L), dv.DPP(L).of_size(3)], [0.3, 0.7]),
    "nonsymmetric": dv.NonsymmetricDPP(L + SKEW - SKEW.T),
}


def sets_of(model, count=120):
    rng = np.random.default_rng(3)
    drawn = [np.sort(rng.choice(model.items, size=int(k), replace=False)) for k in rng.integers(0, 9, count)]
    pairs = [[10, 11], [12, 13], [11, 10, 20]]
    return [Y.tolist() for Y in drawn] + [[], *(Y for Y in pairs if set(Y) <= set(model.items.tolist()))]


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_gives_what_single_calls_give(name):
    model = MODELS[name]
    sets = sets_of(model)
    for ask in (model.log_prob, model.marginal):
        single = np.array([ask(Y) for Y in sets])
        got = ask(sets)
        assert got.shape == (len(sets),)
        assert got.dtype == np.float64
        np.testing.assert_array_equal(np.isneginf(got), np.isneginf(single))
        np.testing.assert_allclose(got, np.minimum(single, 0.0) if ask == model.log_prob else single, 1e-9, 1e-13)


@pytest.mark.parametrize("name", MODELS)
def test_the_form_of_a_batch_does_not_matter(name):
    model = MODELS[name]
    sets = sets_of(model, 40)
    expected = model.log_prob(sets)
    indicators = np.isin(np.arange(model.n_items), []) & np.zeros((len(sets), 1), dtype=bool)
    for row, Y in zip(indicators, sets, strict=True):
        row[np.searchsorted(model.items, Y)] = True
    forms = {
        "tuples": tuple(tuple(Y) for Y in sets),
        "sets": [set(Y) for Y in sets],
        "arrays": [np.array(Y, dtype=np.int32) for Y in sets],
        "backwards": [Y[::-1] for Y in sets],
        "indicators": indicators,
        "objects": np.array([*sets, None], dtype=object)[:-1],
    }
    for form in forms.values():
        # Not to the last bit: sums in BLAS depend on where in memory an array begins.
        np.testing.assert_allclose(model.log_prob(form), expected, rtol=1e-13)
    np.testing.assert_allclose(model.marginal(indicators), model.marginal(sets), rtol=1e-13, atol=1e-15)
    # One row of them is one set, and gives one number.
    assert isinstance(model.log_prob(indicators[3]), float)
    assert model.log_prob(indicators[3]) == model.log_prob(sets[3])


def test_what_is_one_set_and_what_is_a_batch():
    dpp = MODELS["dense"]
    for one in ([1, 2], (1, 2), {1, 2}, range(1, 3), np.array([1, 2]), iter([1, 2]), [], np.zeros(0, dtype=int)):
        assert isinstance(dpp.log_prob(one), float)
        assert isinstance(dpp.marginal([] if not isinstance(one, list) else one), float)
    assert dpp.log_prob([]) == dpp.log_prob([[]])[0] == -dpp.log_normalizer
    assert dpp.log_prob(np.array([[1, 2], [3, 4]])).shape == (2,)
    assert dpp.log_prob(np.zeros((0, 30), dtype=bool)).shape == (0,)
    assert dpp.log_prob({frozenset({1, 2}), frozenset({3})}).shape == (2,)
    assert dpp.log_prob([[1, 2], [3]], formula="mixed-rows") == pytest.approx(dpp.log_prob([[1, 2], [3]]))


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([[0, 1], [2, 30]], r"set 1 names item 30, which is not in the ground set \(0 to 29\)"),
        ([[0, 1], [2, 2]], "set 1 names item 2 more than once"),
        ([[0], [0.5]], "set 1 holds float64 values"),
        ([[0], 3], "set 1 is the number 3"),
        ([[0], "ab"], "set 1 is the text 'ab'"),
        ([[True, False]], "set 0 is a boolean mask"),
        (np.zeros((2, 29), dtype=bool), r"shape \(2, 29\); expected one column for each of 30 items"),
        (np.zeros(29, dtype=bool), "boolean mask"),
    ],
)
def test_a_bad_set_is_named(sets, message):
    for ask in (MODELS["dense"].log_prob, MODELS["k-DPP"].dpp.restrict(range(30)).marginal):
        with pytest.raises(LabelError, match=message):
            ask(sets)


def test_draws_as_indicators():
    model = dv.DPP(L).condition(include=[4], exclude=[7])
    sets = model.sample(200, rng=5)
    table = model.sample(200, rng=5, output="indicator")
    assert table.shape == (200, 28)
    assert table.dtype == np.bool_
    assert [model.items[row].tolist() for row in table] == [draw.tolist() for draw in sets]
    np.testing.assert_array_equal(model.log_prob(table), model.log_prob(sets))
    one = model.sample(rng=5, output="indicator")
    assert one.shape == (28,)
    assert model.items[one].tolist() == model.sample(rng=5).tolist()
    assert model.sample(0, output="indicator").shape == (0, 28)
    with pytest.raises(ValueError, match="output is 'matrix'; choose 'sets' or 'indicator'"):
        model.sample(output="matrix")


def test_stacked_determinants_know_what_is_in_doubt():
    B = np.random.default_rng(0).standard_normal((9, 4, 6))
    G = B @ np.swapaxes(B, 1, 2)
    log_det, safe = log_dets(G)
    assert safe.all()
    np.testing.assert_allclose(log_det, np.linalg.slogdet(G)[1], rtol=1e-10)
    scale = np.logspace(-8, 8, 4)
    np.testing.assert_allclose(log_dets(scale[:, None] * G * scale)[0], log_det, rtol=1e-10)
    G[3, 2] = G[3, 1]
    G[3, :, 2] = G[3, :, 1]
    log_det_after, safe = log_dets(G)
    assert safe.tolist() == [i != 3 for i in range(9)]
    np.testing.assert_allclose(log_det_after[safe], log_det[safe], rtol=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_a_batch_of_one_dependent_set_is_impossible(seed):
    q = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, size=2)
    dpp = dv.DPP.from_features([[1e8], [-1e8]], quality=q)
    assert dpp.log_prob([[0, 1]]).tolist() == [-np.inf]


def test_elimination_leaves_its_input_alone():
    G = np.array([[[1.0, 1.0], [1.0, 1.0]]])
    _, safe = log_dets(G)
    assert not safe.any()
    assert G.tolist() == [[[1.0, 1.0], [1.0, 1.0]]]
