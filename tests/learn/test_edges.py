"""Basket models at the edges of their input, the defaults of all learners, and their files."""

import inspect
import json
import math

import numpy as np
import pytest
import scipy.sparse

from baskets_for_tests import BASKETS, judged
from diverset.errors import (
    DiversetError,
    ImpossibleEventError,
    LabelError,
    SizeError,
)
from diverset.learn import (
    FullRankKernel,
    IndependentItems,
    KDPPMixtureLearner,
    LowRankKernel,
    NonsymmetricKernel,
    PoissonItems,
    QualityModel,
    QualityModelCV,
    compare_next_item,
    load_model,
    save_model,
)
from diverset.learn import baskets as baskets_module
from diverset.learn.baskets import read_baskets
from diverset.learn.kernel_forms import Dense, LowRank

DEFAULTS = {
    FullRankKernel: {
        "algorithm": "picard",
        "init": "moments",
        "step": None,
        "pseudo_count": 0.0,
        "max_iter": 300,
        "tol": 1e-6,
        "rng": None,
        "verbose": False,
    },
    LowRankKernel: {
        "rank": None,
        "regularization": 0.1,
        "pseudo_count": 0.5,
        "n_epochs": None,
        "batch_size": 200,
        "learning_rate": 0.1,
        "tol": 1e-3,
        "rng": None,
        "verbose": False,
    },
    IndependentItems: {"pseudo_count": 0.5},
    PoissonItems: {"pseudo_count": 0.5, "max_iter": 200, "tol": 1e-6},
    QualityModel: {
        "prior_variance": None,
        "rho": 0.0,
        "fixed_size": False,
        "max_iter": 500,
        "tol": 1e-9,
        "n_jobs": None,
        "warm_start": False,
        "verbose": False,
    },
    QualityModelCV: {
        "prior_variances": (0.01, 0.1, 1.0, 10.0, 100.0),
        "rhos": (0.0, 0.35, 0.7, 1.4),
        "cv": 5,
        "fixed_size": False,
        "max_iter": 500,
        "tol": 1e-7,
        "n_jobs": None,
        "rng": None,
        "verbose": False,
    },
    KDPPMixtureLearner: {
        "gamma": None,
        "gammas": tuple(10.0 ** (e / 2) for e in range(13)),
        "cv": 5,
        "max_iter": 2000,
        "tol": 1e-9,
        "rng": None,
        "scaling": "global",
    },
}
DEFAULTS[NonsymmetricKernel] = DEFAULTS[LowRankKernel] | {"regularization_skew": 0.1}


@pytest.mark.parametrize("learner", DEFAULTS, ids=lambda cls: cls.__name__)
def test_default_parameters(learner):
    found = learner().get_params(deep=False)
    assert found.keys() == DEFAULTS[learner].keys()
    for name, value in DEFAULTS[learner].items():
        assert found[name] == pytest.approx(value) if isinstance(value, tuple) else found[name] == value, name


def test_default_arguments():
    found = inspect.signature(compare_next_item).parameters
    assert [found[name].default for name in ("n", "max_baskets", "rng")] == [10, 1000, 0]
    model = IndependentItems().fit([[i] for i in range(15)])
    assert len(model.recommend([])) == 10


# baskets -----------------------------------------------------------------------------------------------------


def test_counts_sizes_and_frequencies():
    read = read_baskets(BASKETS)
    assert (len(read), read.n_items) == (10, 4)
    assert read.counts.tolist() == [4.0, 4.0, 5.0, 1.0]
    assert read.frequencies == pytest.approx((np.array([4.0, 4.0, 5.0, 1.0]) + 0.5) / 11.0)
    assert read.sizes.tolist() == [2, 2, 1, 1, 1, 2, 1, 0, 3, 1]
    together = read.pair_counts().toarray()
    for i in range(4):
        for j in range(4):
            assert together[i, j] == sum(i in b and j in b for b in BASKETS)
    assert [b.tolist() for b in read.take(np.array([8, 0, 7]))] == [[0, 1, 2], [0, 2], []]
    assert len(read.take(np.zeros(0, dtype=np.int64))) == 0


@pytest.mark.parametrize("chunk", [1, 4, 8, 9, 1 << 19])
def test_answers_do_not_depend_on_the_chunks_of_baskets(chunk, monkeypatch):
    expected = FullRankKernel(max_iter=3).fit(BASKETS).log_prob(BASKETS)
    monkeypatch.setattr(baskets_module, "_CHUNK", chunk)
    read = read_baskets(BASKETS)
    seen = sorted(int(t) for numbers, _ in read.by_size() for t in numbers)
    assert seen == list(range(10))
    for numbers, rows in read.by_size():
        assert len(numbers) * rows.shape[1] ** 2 <= max(chunk, rows.shape[1] ** 2)
        assert [read[t].tolist() for t in numbers] == rows.tolist()
    assert FullRankKernel(max_iter=3).fit(BASKETS).log_prob(BASKETS) == pytest.approx(expected, rel=1e-12)
    assert sum(group.weights.sum() for group in read.groups()) == 10.0


@pytest.mark.parametrize(
    ("basket", "items"),
    [
        ((2, 0), [0, 2]),
        ({1}, [1]),
        (np.array([2, 1], dtype=np.uint8), [1, 2]),
        ([np.int64(2), 0], [0, 2]),
        (range(3), [0, 1, 2]),
        ([], []),
        (np.zeros(0), []),
        (iter([1, 0]), [0, 1]),
    ],
)
def test_one_basket_of_every_type(basket, items):
    assert read_baskets([basket], 3)[0].tolist() == items


@pytest.mark.parametrize("basket", [[0.5], [True], [[0]], 3, "ab", [[0], [1, 2]], np.zeros((1, 0)), [2**70]])
def test_what_is_no_basket(basket):
    with pytest.raises(LabelError, match="basket 1 is "):
        read_baskets([[0], basket], 3)


def test_long_baskets_are_shortened_in_messages():
    for length, shown in ((9, True), (200, False)):
        basket = [0.5] * length
        with pytest.raises(LabelError) as caught:
            read_baskets([basket], 3)
        assert (repr(basket) in str(caught.value)) == shown
        assert len(str(caught.value)) < 120


@pytest.mark.parametrize(
    ("basket", "message"),
    [
        ([0, 3], r"basket 1 names item 3, but items are 0 to 2 \(n_items = 3\); item numbers start at 0"),
        ([4], r"basket 1 names item 4, but items are 0 to 2 \(n_items = 3\)$"),
        ([-1], r"basket 1 names item -1, but items are 0 to 2 \(n_items = 3\)$"),
        ([2, 1, 2], "basket 1 names item 2 more than once"),
    ],
)
def test_items_outside_the_ground_set_and_repeated_items(basket, message):
    with pytest.raises(LabelError, match=message):
        read_baskets([[2], basket], 3)


def test_an_item_may_end_one_basket_and_begin_the_next():
    assert [b.tolist() for b in read_baskets([[1], [1], [0, 1], [1, 2]])] == [[1], [1], [0, 1], [1, 2]]


def test_baskets_as_large_as_the_rank():
    assert LowRankKernel(rank=3, n_epochs=1, rng=0).fit(BASKETS).rank_ == 3
    with pytest.raises(SizeError, match=r"basket 8 has 3 items, but the rank is 2.*\(1 of 10 baskets"):
        LowRankKernel(rank=2, n_epochs=1, rng=0).fit(BASKETS)
    # V and B of rank 2 hold sets of 4, of rank 1 only single items.
    five = [*BASKETS, [4]]
    assert NonsymmetricKernel(rank=2, n_epochs=1, rng=0).fit([*five, [0, 1, 2, 3]]).n_items_ == 5
    with pytest.raises(SizeError, match="V and B of rank 2 holds at most 4"):
        NonsymmetricKernel(rank=2, n_epochs=1, rng=0).fit([*five, [0, 1, 2, 3, 4]])
    with pytest.raises(SizeError, match="holds at most 1"):
        NonsymmetricKernel(rank=1, n_epochs=1, rng=0).fit([[0, 1], [2]])


@pytest.mark.parametrize(
    "matrix",
    [
        scipy.sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
        scipy.sparse.coo_array(([1, 1, 1, 1], ([0, 0, 0, 2], [2, 2, 0, 1])), shape=(3, 3)),
        scipy.sparse.csc_array(np.array([[True, False, True], [False, False, False], [False, True, False]])),
    ],
)
def test_sparse_matrices_of_baskets(matrix):
    model = IndependentItems(pseudo_count=0.0).fit(matrix)
    assert model.p_ == pytest.approx(np.array([1.0, 1.0, 1.0]) / 3.0)
    model.fit(scipy.sparse.csr_array((2, 3)))
    assert model.p_.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(DiversetError, match="holds -1"):
        model.fit(scipy.sparse.csr_array([[1.0, -1.0]]))
    with pytest.raises(DiversetError, match="complex128 values"):
        model.fit(scipy.sparse.csr_array([[1.0 + 1j]]))


# answers of basket models ------------------------------------------------------------------------------------


def test_recommendations_and_completions_at_their_limits():
    model = FullRankKernel(max_iter=5).fit(BASKETS)
    assert model.recommend([0], 0) == []
    listed = model.recommend([0], 99)
    assert sorted(r.item for r in listed) == [1, 2, 3]
    assert [r.score for r in listed] == sorted((r.score for r in listed), reverse=True)
    scores = model.next_item_scores([0])
    assert [r.score for r in listed] == [scores[r.item] for r in listed]
    assert scores[0] == 1.0
    assert model.complete([0], 0) == []
    assert sorted(model.complete([0], 3)) == [1, 2, 3]
    with pytest.raises(SizeError, match="k is 4, but only 3 items"):
        model.complete([0], 4)
    assert model.score(BASKETS) == pytest.approx(model.log_prob(BASKETS).mean())
    # Ties go to the item of lower number.
    even = IndependentItems().fit([[0], [1], [2]])
    assert [r.item for r in even.recommend([], 2)] == [0, 1]


def test_names_given_twice_or_with_a_number_are_refused():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(LabelError, match="more than once"):
        IndependentItems().fit([["a"]], n_items=["a", "a"])
    table = pandas.DataFrame({"order": [1, 1, 2], "item": ["a", "b", "a"]})
    with pytest.raises(DiversetError, match="n_items is 2, but the baskets hold names"):
        IndependentItems().fit(table, n_items=2)
    with pytest.raises(LabelError, match="over 4 items, and the model over 3"):
        IndependentItems().fit([[0], [2]]).log_prob(scipy.sparse.csr_array((1, 4)))


@pytest.mark.parametrize("width", [0, 1, 2, 3])
def test_the_largest_set_of_a_skew_form(width):
    """A skew-symmetric matrix has even rank; larger sets than the rank of L have probability 0."""
    rng = np.random.default_rng(width)
    D = rng.standard_normal((width, width))
    form = LowRank(rng.standard_normal((6, 2)), rng.standard_normal((6, width)), D - D.T)
    assert form.largest == 2 + 2 * (width // 2)
    L = form.blocks(np.arange(6)[None])[0]
    assert np.linalg.matrix_rank(L) == form.largest
    for k in range(7):
        p = math.exp(form.log_probs(read_baskets([range(k)], 6))[0])
        assert p == pytest.approx(np.linalg.det(L[:k, :k]) / np.linalg.det(L + np.eye(6)), abs=1e-12)
        if k > form.largest:
            assert p == 0.0
            with pytest.raises(ImpossibleEventError):
                form.next_item_scores(np.arange(k))


def test_dependent_items_have_no_next_item():
    rows = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1e-4]])
    for form in (Dense(rows @ rows.T), LowRank(rows)):
        for basket in ([0, 1], [3], [0, 3]):
            with pytest.raises(ImpossibleEventError, match="probability 0 to appear together"):
                form.next_item_scores(np.array(basket))
        # Items that almost depend on each other may appear together.
        scores = form.next_item_scores(np.array([0, 2, 4]))
        assert scores == pytest.approx([1.0, 0.0, 1.0, 0.0, 1.0], abs=1e-5)
        assert form.next_item_scores(np.zeros(0, dtype=np.int64)) == pytest.approx(form.marginal_diagonal)


def test_certain_items_of_independent_baskets():
    model = IndependentItems(pseudo_count=0.0).fit([[0, 1], [0], [0, 1], [0]], n_items=3)
    assert model.p_.tolist() == [1.0, 0.5, 0.0]
    assert np.exp(model.log_prob([[0], [0, 1], [1], [], [0, 2]])) == pytest.approx([0.5, 0.5, 0.0, 0.0, 0.0])
    two = IndependentItems(pseudo_count=0.0).fit([[0, 1]], n_items=2)
    assert np.exp(two.log_prob([[0, 1], [0], [1], []])).tolist() == [1.0, 0.0, 0.0, 0.0]
    smooth = IndependentItems(pseudo_count=2.0).fit([[0], [0]], n_items=2)
    assert smooth.p_ == pytest.approx([4.0 / 6.0, 2.0 / 6.0])
    assert two.next_item_scores([0]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rate", [0.3, 2.0, 30.0])
def test_poisson_model_is_its_formula(rate):
    w = np.array([0.5, 2.0, 1.0, 0.0, 1.5])
    model = PoissonItems()
    model._keep(w, rate)
    sets = [[], [0], [1, 2], [0, 1, 2, 4]]
    e = np.poly(-w)  # elementary symmetric polynomials e_0, e_1, ...
    mass = np.array([rate**k / math.factorial(k) for k in range(5)])
    expected = [mass[len(Y)] / mass.sum() * np.prod(w[Y]) / e[len(Y)] for Y in sets]
    assert np.exp(model.log_prob(sets)) == pytest.approx(expected, rel=1e-10)
    assert model.log_prob([[3]])[0] == -math.inf
    law = model.dpp_
    for basket in ([], [1], [0, 1], [0, 1, 2]):
        given = model.next_item_scores(basket)
        for i in range(5):
            together = law.marginal(sorted({*basket, i})) / law.marginal(basket)
            assert given[i] == pytest.approx(together, abs=1e-9)
    with pytest.raises(ImpossibleEventError):
        model.next_item_scores([3])


# the comparison of recommenders ------------------------------------------------------------------------------


def test_errors_of_the_comparison_are_those_of_a_mean():
    model = IndependentItems().fit([[0], [0], [0], [1], [1], [2]], n_items=4)
    report = compare_next_item(model, [[0], [0], [0], [1], [1], [2]], [[0, 3]] * 40, n=1, rng=0)
    row = report["model"]
    # Removed: item 0 (rank 1 of 3) or item 3 (last of 3).
    p = row.hit_rate
    assert 0.2 < p < 0.8
    assert row.mean_rank == pytest.approx(p + 3.0 * (1.0 - p))
    assert row.percentile == pytest.approx(100.0 * p)
    spread = math.sqrt(p * (1.0 - p) * 40 / 39) / math.sqrt(40)
    assert row.hit_error == pytest.approx(1.96 * spread)
    assert row.rank_error == pytest.approx(2.0 * 1.96 * spread)
    assert row.percentile_error == pytest.approx(100.0 * 1.96 * spread)
    assert report.n_baskets == 40
    single = compare_next_item(model, [[0]], [[0, 3], [1]], n=1)
    assert single.n_baskets == 1
    assert math.isnan(single["model"].hit_error)
    two = compare_next_item(model, [[0]], [[0, 3]] * 2, n=1)
    assert not math.isnan(two["model"].hit_error)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_tied_items_share_ranks_and_hits(n):
    """All four other items tie: the removed one is among the first n with probability n / 4."""
    model = IndependentItems().fit([[0], [1], [2], [3], [4]])
    report = compare_next_item(model, [[0]], [[0, 1]], n=n)
    assert report["model"].hit_rate == pytest.approx(n / 4)
    assert report["model"].mean_rank == pytest.approx(2.5)
    assert report["model"].percentile == pytest.approx(50.0)


def test_baselines_of_the_comparison():
    train = [[0, 1], [0, 1], [0, 2], [3], [3], [3], [3]]
    model = IndependentItems().fit(train)
    report = compare_next_item(model, train, [[0, 1]] * 20, n=1, rng=1)
    # Item 1 goes with 0 most often, and item 0 always with 1, though item 3 is the most popular.
    assert report["co-occurrence"].hit_rate == 1.0
    assert report["popularity"].hit_rate == 0.0
    assert 2.0 <= report["popularity"].mean_rank <= 3.0
    # Items that never went with those of the basket are ranked by their popularity.
    rare = compare_next_item(model, train, [[1, 3]] * 20, n=1, rng=1)
    assert rare["co-occurrence"].mean_rank == pytest.approx(2.0, abs=0.6)
    assert compare_next_item(model, train, [[0, 1]] * 20, max_baskets=20).n_baskets == 20
    assert compare_next_item(model, train, [[0, 1]] * 20, max_baskets=19).n_baskets == 19


# files -------------------------------------------------------------------------------------------------------


def forged(path, change):
    """Change the header of a saved model."""
    head, _, payload = path.read_bytes().partition(b"\n\n")
    first, _, text = head.partition(b"\n")
    header = json.loads(text)
    payload = change(header, payload) or payload
    path.write_bytes(first + b"\n" + json.dumps(header, indent=1).encode() + b"\n\n" + payload)


def test_numbers_at_the_edges_of_their_range_are_loaded(tmp_path):
    path = tmp_path / "model"
    certain = IndependentItems(pseudo_count=0.0).fit([[0]], n_items=2)
    save_model(certain, path)
    assert load_model(path).p_.tolist() == [1.0, 0.0]
    certain.p_ = np.array([1.0, 1.0 + 1e-9])
    save_model(certain, path)
    with pytest.raises(DiversetError, match="entries lie between 0 and 1"):
        load_model(path)
    certain.p_ = np.array([1.0, -1e-9])
    save_model(certain, path)
    with pytest.raises(DiversetError, match="entries lie between 0 and 1"):
        load_model(path)
    certain.p_ = np.zeros(0)
    save_model(certain, path)
    with pytest.raises(DiversetError, match="it has no items"):
        load_model(path)


def test_weights_of_mixtures_sum_to_one(tmp_path):
    path = tmp_path / "model"
    model = KDPPMixtureLearner(gamma=1.0).fit(judged())
    for weights, message in (
        ([0.5, 0.5 + 1e-7, 0.0], None),
        ([0.5, 0.5 + 1e-5, 0.0], "weights sum to"),
        ([0.5, 0.5 - 1e-5, 0.0], "weights sum to"),
        ([1.1, -0.1, 0.0], "weights goes from -0.1"),
    ):
        model.weights_ = np.array(weights)
        save_model(model, path)
        if message is None:
            assert load_model(path).weights_.tolist() == weights
        else:
            with pytest.raises(DiversetError, match=message):
                load_model(path)
    model.weights_, model.gamma_ = np.array([1.0, 0.0, 0.0]), -1.0
    save_model(model, path)
    with pytest.raises(DiversetError, match="gamma goes from -1"):
        load_model(path)


def test_skew_matrices_are_skew_up_to_rounding(tmp_path):
    path = tmp_path / "model"
    model = NonsymmetricKernel(rank=2, n_epochs=1, rng=0).fit(BASKETS)
    for gap, fine in ((1e-10, True), (1e-8, False)):
        C = np.array([[0.0, 3.0], [-3.0 * (1.0 + gap), 0.0]])
        model._keep(LowRank(model.V_, model.B_, C))
        save_model(model, path)
        if fine:
            assert load_model(path).C_.tolist() == C.tolist()
        else:
            with pytest.raises(DiversetError, match="not skew-symmetric"):
                load_model(path)


def test_only_plain_parameters_are_saved(tmp_path):
    path = tmp_path / "model"
    model = QualityModelCV  # a search is no model that can be saved
    with pytest.raises(DiversetError, match="cannot be saved"):
        save_model(model(), path)
    learner = KDPPMixtureLearner(gammas=(1.0, math.inf), rng=np.random.default_rng(0), gamma=2.0).fit(judged())
    save_model(learner, path, note="from a test")
    loaded = load_model(path)
    assert loaded.gamma == 2.0
    assert loaded.rng is None
    assert len(loaded.gammas) == 13
    assert b'"note": "from a test"' in path.read_bytes()


@pytest.mark.parametrize(
    ("names", "fine"),
    [(["a", "b"], True), ([5, "b"], True), (["a", "a"], False), (["a"], False), (["a", 1.5], False), ("ab", False)],
)
def test_names_of_a_saved_model(tmp_path, names, fine):
    path = tmp_path / "model"
    save_model(IndependentItems().fit([["x", "y"]]), path)
    forged(path, lambda header, payload: header.update(names=names))
    if fine:
        assert load_model(path).names_.tolist() == names
    else:
        with pytest.raises(DiversetError, match="its names are not those of 2 items"):
            load_model(path)


@pytest.mark.parametrize("shape", [[-1, -2], [2.0], [True, 2], [2**40], ["2"], 2, [[2]]], ids=str)
def test_shapes_in_a_header_are_whole_numbers(tmp_path, shape):
    path = tmp_path / "model"
    save_model(IndependentItems().fit([[0, 1]]), path)
    forged(path, lambda header, payload: header.update(arrays={"p": shape}))
    with pytest.raises(DiversetError, match="is damaged: its header cannot be read"):
        load_model(path)


@pytest.mark.parametrize("extra", [b"", b"\0" * 8])
def test_files_that_are_too_short_or_too_long(tmp_path, extra):
    path = tmp_path / "model"
    save_model(IndependentItems().fit([[0, 1]]), path)
    data = path.read_bytes()
    path.write_bytes(data + extra if extra else data[:-8])
    with pytest.raises(DiversetError, match=f"take 16 bytes, and {24 if extra else 8} are there"):
        load_model(path)
