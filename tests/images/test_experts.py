"""Expert kernels: how many, what they are, and that learners take them."""

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError, KernelError
from diverset.images import FEATURES, combine, expert_kernels, near_duplicates


def made_up(n, seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.random((n, 3 + at)) * rng.uniform(0.1, 50) for at, name in enumerate(FEATURES)}


def test_ten_features_make_fifty_five_kernels():
    features = made_up(7)
    kernels = expert_kernels(features, rho=0.3)
    assert len(kernels) == 55
    assert list(kernels)[:10] == list(FEATURES)
    assert list(kernels)[10] == "color-8 & color-64"
    assert list(kernels)[-1] == "sift-512-center & gist-center"
    unit = {name: X / np.linalg.norm(X, axis=1, keepdims=True) for name, X in features.items()}
    for name, L in kernels.items():
        rows = np.hstack([unit[part] for part in name.split(" & ")])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        assert L == pytest.approx(rows @ rows.T + 0.3, abs=1e-12)
        assert np.linalg.eigvalsh(L).min() > -1e-10


def test_rho_makes_pairs_repel_more():
    """Odds of an unlike pair against a like one: (1 - s)(1 + s + 2 rho) of both, hence they rise with rho."""
    features = {"x": [[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]]}
    odds = []
    for rho in (0.0, 0.5, 5.0):
        kdpp = dv.KDPP(expert_kernels(features, rho=rho)["x"], 2)
        odds.append(np.exp(kdpp.log_prob([0, 1]) - kdpp.log_prob([0, 2])))
        assert odds[-1] == pytest.approx(0.4 * (1.6 + 2 * rho) / (0.2 * (1.8 + 2 * rho)))
    assert odds == sorted(odds)


def test_a_mixture_is_learned_from_them():
    features = made_up(8)
    kernels = list(expert_kernels({name: features[name] for name in FEATURES[:3]}, rho=0.1).values())
    pairs = [dv.learn.Comparison(kernels, [0, 1, i], [0, 1, i + 1]) for i in range(2, 7)]
    learner = dv.learn.KDPPMixtureLearner(gamma=1.0).fit(pairs)
    assert learner.mixture(kernels, 3).log_prob([0, 1, 2]) < 0.0


def test_features_of_different_images_are_refused():
    with pytest.raises(KernelError, match=r"different numbers of rows \(a 2, b 3\)"):
        expert_kernels({"a": np.ones((2, 1)), "b": np.ones((3, 1))})
    with pytest.raises(DiversetError, match="rho"):
        expert_kernels({"a": np.ones((2, 1))}, rho=-1.0)


def copies():
    """Images 0, 2 and 4 are one, 1 and 5 another by shape but not by colour, 3 is alone."""
    shape = np.eye(3)[[0, 1, 0, 2, 0, 1]] + 0.01
    colour = np.eye(4)[[0, 1, 0, 2, 0, 3]] + 0.01
    return {"gist": shape, "color-64": colour}


def test_copies_are_alike_by_shape_and_colour():
    assert near_duplicates(copies()).tolist() == [0, 1, 0, 3, 0, 5]
    assert near_duplicates(copies(), order=[4, 5, 3, 2, 1, 0]).tolist() == [4, 1, 4, 3, 4, 5]
    assert near_duplicates(copies(), threshold=0.0).tolist() == [0] * 6
    assert near_duplicates(copies(), threshold=1.0).tolist() == [0, 1, 0, 3, 0, 5]


def test_no_two_that_are_kept_are_copies():
    rng = np.random.default_rng(0)
    features = {name: rng.random((60, 3)) for name in ("gist", "color-64")}
    found = near_duplicates(features, threshold=0.9, order=rng.permutation(60))
    unit = [X / np.linalg.norm(X, axis=1, keepdims=True) for X in features.values()]
    S = np.minimum(*(X @ X.T for X in unit))
    kept = np.flatnonzero(found == np.arange(60))
    assert 1 < len(kept) < 60
    inner = S[np.ix_(kept, kept)]
    np.fill_diagonal(inner, 0.0)
    assert inner.max() < 0.9
    assert (S[np.arange(60), found] >= 0.9).all()
    assert (found[found] == found).all()


@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        ({"gist": np.ones((2, 1))}, {}, "color-64 is missing"),
        (copies(), {"threshold": 1.5}, "threshold is 1.5"),
        (copies(), {"order": [0, 0, 1, 2, 3, 4]}, "each of the 6 images once"),
    ],
)
def test_bad_requests_are_refused(features, options, message):
    with pytest.raises(DiversetError, match=message):
        near_duplicates(features, **options)


def test_combined_features_weigh_the_same():
    features = {name: X for name, X in made_up(9).items() if name in FEATURES[:3]}
    found = combine(features)
    S = found @ found.T
    plain = 0.0
    for X in features.values():
        C = X - X.mean(axis=0)
        C /= np.linalg.norm(C, axis=1, keepdims=True)
        plain = plain + C @ C.T / 3
    assert S == pytest.approx(plain + 1e-4, abs=1e-12)
    assert combine(features, [FEATURES[0]]).shape == (9, 4)


def test_equal_images_have_a_direction_all_the_same():
    features = {"x": np.full((4, 3), 0.1), "y": np.full((4, 2), 7.0)}
    found = combine(features)
    assert dv.kernels.cosine(found) == pytest.approx(np.ones((4, 4)))
    assert len(dv.select(found, 2)) == 2
    assert combine({"x": np.ones((1, 3))}).shape == (1, 4)
    with pytest.raises(KernelError, match="a 2, b 3"):
        combine({"a": np.ones((2, 1)), "b": np.ones((3, 1))})


def test_joined_features_by_hand():
    joined = combine({"x": [[1.0, 0.0], [0.0, 1.0]], "y": [[1.0], [1.0]]})
    assert joined == pytest.approx(np.array([[0.5, -0.5, 0.0, 0.01], [-0.5, 0.5, 0.0, 0.01]]))
