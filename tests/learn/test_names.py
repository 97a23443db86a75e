"""Baskets as people have them, ranks chosen by held-out baskets, and the comparison of recommenders."""

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError, LabelError, SizeError
from diverset.learn import FullRankKernel, IndependentItems, LowRankKernel, NonsymmetricKernel, compare_next_item
from diverset.learn.baskets import numbered, read_baskets
from diverset.learn.low_rank import choose_rank

NAMED = [["tea", "milk"], ["beer"], ["milk", "tea", "sugar"], [], ["beer", "crisps"], ["milk"]]
NAMES = ["beer", "crisps", "milk", "sugar", "tea"]
NUMBERS = [[2, 4], [0], [2, 3, 4], [], [0, 1], [2]]


def table(kind):
    """The lines of the orders, in no order, one of them twice."""
    lines = [(10 + t, item) for t, basket in enumerate(NAMED) for item in basket] + [(12, "milk")]
    lines = [lines[i] for i in np.random.default_rng(0).permutation(len(lines))]
    return kind({"order": [t for t, _ in lines], "item": [item for _, item in lines]})


def as_table():
    return table(pytest.importorskip("pandas", reason="pandas is not installed").DataFrame)


def as_polars():
    return table(pytest.importorskip("polars", reason="polars is not installed").DataFrame)


def as_matrix():
    dense = np.zeros((6, 5), dtype=int)
    for t, basket in enumerate(NUMBERS):
        dense[t, basket] = 1 + t
    return scipy.sparse.csc_matrix(dense)


@pytest.mark.parametrize(
    ("make", "names", "baskets"),
    [
        (lambda: NAMED, NAMES, NUMBERS),
        (lambda: [tuple(b) for b in NAMED], NAMES, NUMBERS),
        (as_table, NAMES, [b for b in NUMBERS if b]),  # a table has no line for an empty order
        (as_polars, NAMES, [b for b in NUMBERS if b]),
        (as_matrix, None, NUMBERS),
    ],
)
def test_every_form_is_read(make, names, baskets):
    read, found = numbered(make())
    read = read_baskets(read)
    assert (None if found is None else found.tolist()) == names
    assert [b.tolist() for b in read] == baskets
    assert read.n_items == 5
    model = IndependentItems().fit(make())
    np.testing.assert_allclose(model.p_, IndependentItems().fit(baskets, n_items=5).p_)
    assert model.score(make()) == pytest.approx(IndependentItems().fit(baskets, n_items=5).score(baskets))


def test_a_model_of_names_speaks_names(tmp_path):
    model = FullRankKernel(pseudo_count=0.5).fit(NAMED)
    by_number = FullRankKernel(pseudo_count=0.5).fit(NUMBERS, n_items=5)
    assert model.names_.tolist() == NAMES
    found = model.recommend(["tea"], n=2)
    assert found == [(NAMES[item], score) for item, score in by_number.recommend([4], 2)]
    assert found[0].item == found[0][0]
    assert len(model.recommend(["tea"])) == 4
    np.testing.assert_array_equal(model.next_item_scores(["tea"]), by_number.next_item_scores([4]))
    assert model.complete(["tea"], 2) == [NAMES[i] for i in by_number.complete([4], 2)]
    assert model.log_prob([["milk", "tea"]]) == by_number.log_prob([[2, 4]])
    dv.learn.save_model(model, tmp_path / "model.dvm")
    assert dv.learn.load_model(tmp_path / "model.dvm").recommend(["tea"], n=2) == found
    # Fitted to numbers afterwards, nothing of the names is left.
    assert model.fit(NUMBERS, n_items=5).recommend([4], 2) == by_number.recommend([4], 2)


def test_numbers_in_a_table_are_names():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    lines = pd.DataFrame({"order": [1, 1, 2, 2, 3], "sku": [20755, 10133, 10133, 20755, 84029]})
    model = IndependentItems().fit(lines)
    assert model.names_.tolist() == [10133, 20755, 84029]
    assert model.recommend([10133], 1)[0].item == 20755


def frame(**columns):
    return pytest.importorskip("pandas", reason="pandas is not installed").DataFrame(columns)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: [["tea", "milk", "tea"]], "basket 0 names 'tea' more than once"),
        (lambda: [["tea", 3]], "3 is no text"),
        (lambda: ["tea", "milk"], r"pass a list of lists: \[\['tea'"),
        (lambda: frame(a=[1], b=[2], c=[3]), r"columns \['a', 'b', 'c'\]; pass the order and the item"),
        (lambda: frame(a=[1, 2], b=["x", None]), "row 1 of column 'b' is empty"),
        (lambda: scipy.sparse.csr_array([[1.0, -2.0]]), r"holds -2.0"),
        (lambda: [], "there are no baskets"),
    ],
)
def test_bad_baskets(make, message):
    with pytest.raises(DiversetError, match=message):
        IndependentItems().fit(make())


def test_unknown_items_are_named():
    model = IndependentItems().fit(NAMED)
    with pytest.raises(LabelError, match="no item 'kiwi' among the 5 items"):
        model.recommend(["kiwi"])
    with pytest.raises(LabelError, match="no item 0 among"):
        model.recommend([0])
    with pytest.raises(LabelError, match="over 4 items, and the model over 5"):
        IndependentItems().fit(as_matrix()).score(scipy.sparse.csr_array(np.eye(4)))
    with pytest.raises(DiversetError, match="n_items is 7, but the baskets hold names"):
        IndependentItems().fit(as_table(), n_items=7)


BUNDLES = [("chips", "beer", "salsa"), ("milk", "bread", "butter", "eggs"), ("pasta", "tomatoes", "cheese")]


def test_the_rank_that_held_out_baskets_choose_finds_the_bundle():
    rng = np.random.default_rng(0)
    baskets = [list(BUNDLES[rng.integers(3)]) for _ in range(300)]
    # Too few columns for three bundles: salsa, always seen with the two, does not come first.
    assert NonsymmetricKernel(rank=4, rng=0).fit(baskets).recommend(["chips", "beer"], 1)[0].item != "salsa"
    model = NonsymmetricKernel(rng=0).fit(baskets)
    first, second = model.recommend(["chips", "beer"], n=2)
    assert first.item == "salsa"
    assert first.score > second.score + 0.1
    assert model.rank_ == max(model.rank_scores_, key=model.rank_scores_.get) > 4
    assert model.V_.shape == (10, model.rank_)


@pytest.mark.parametrize("seed", [pytest.param(s, marks=[pytest.mark.slow] if s % 5 else []) for s in range(10)])
def test_the_default_recommends_the_rest_of_a_bundle(seed):
    rng = np.random.default_rng(seed)
    # As in the how-to: bundles with one item in ten forgotten; from seed 5 on, other bundles of these items.
    names = np.array([item for bundle in BUNDLES for item in bundle], dtype=object)
    bundles = BUNDLES if seed < 5 else np.split(rng.permutation(names), np.cumsum(rng.permutation([3, 4, 3]))[:-1])
    baskets = [[i for i in bundles[rng.integers(3)] if rng.random() < 0.9] for _ in range(300)]
    model = NonsymmetricKernel(rng=seed).fit(baskets)
    for bundle in bundles:
        missing = rng.integers(len(bundle))
        rest = [item for place, item in enumerate(bundle) if place != missing]
        assert model.recommend(rest, n=1)[0].item == bundle[missing]


def test_a_symmetric_kernel_makes_no_item_more_likely():
    rng = np.random.default_rng(0)
    baskets = [[i for i in BUNDLES[rng.integers(3)] if rng.random() < 0.9] for _ in range(300)]
    model = LowRankKernel(rank=8, rng=0).fit(baskets)
    before, after = model.next_item_scores([]), model.next_item_scores(["chips", "beer"])
    others = [i for i, name in enumerate(model.names_) if name not in ("chips", "beer")]
    assert (after[others] <= before[others] + 1e-12).all()


def test_the_search_over_ranks():
    baskets = read_baskets([[0], [1, 2], [0, 3]] * 10, 40)
    seen = []

    def score(rank, rest, held):
        assert len(rest) == 24
        assert len(held) == 6
        assert rest.n_items == held.n_items == 40
        seen.append(rank)
        return -abs(rank - 9.0)

    assert choose_rank(score, baskets, 2, np.random.default_rng(0))[0] == 9
    assert seen == [4, 6, 9, 14, 21]
    seen.clear()
    assert choose_rank(score, baskets, 33, np.random.default_rng(0))[0] == 33
    assert seen == [33, 40]


def test_given_ranks_and_few_baskets_are_not_searched():
    model = LowRankKernel(rank=2, n_epochs=1, rng=0).fit(NUMBERS[:2], n_items=5)
    assert (model.rank_, model.rank_scores_) == (2, {})
    assert LowRankKernel(n_epochs=1, rng=0).fit(NUMBERS[:2], n_items=5).rank_ == 5
    # The rank reaches the size of the largest basket, which the nonsymmetric kernel holds at about half the rank.
    large = [list(range(9)), [0], [1], [2], [3], [4]] * 4
    assert min(LowRankKernel(n_epochs=1, rng=0).fit(large, n_items=12).rank_scores_) == 9
    assert min(NonsymmetricKernel(n_epochs=1, rng=0).fit(large, n_items=12).rank_scores_) == 5


class Fixed(IndependentItems):
    """A model whose scores are set by hand."""

    def _scores(self, basket):
        return np.array(self.values[len(basket)])


def test_comparison_by_hand():
    train = [[0, 1], [0, 1], [0, 2], [3], [0]]
    test = [[0, 1], [2]]  # the second is too small to ask about
    model = Fixed().fit(train, n_items=4)
    model.values = {1: [0.3, 0.3, 0.3, 0.1]}
    report = compare_next_item(model, train, test, n=1)
    assert report.n_baskets == 1
    # Whether 0 or 1 is missing, three items could come next; the model has it level with item 2.
    row = report["model"]
    assert (row.mean_rank, row.hit_rate, row.percentile) == (1.5, 0.5, 75.0)
    for rule in ("popularity", "co-occurrence"):
        assert (report[rule].mean_rank, report[rule].hit_rate, report[rule].percentile) == (1.0, 1.0, 100.0)
    assert str(report).splitlines()[0].strip().startswith("hit rate at 1")
    assert [line.split()[0] for line in str(report).splitlines()[1:]] == ["model", "popularity", "co-occurrence"]


def test_names_of_items_in_no_basket():
    model = IndependentItems().fit(NAMED, n_items=["kiwi", *reversed(NAMES)])
    assert model.names_.tolist() == ["kiwi", *reversed(NAMES)]
    assert model.p_[0] == 0.5 / 7
    assert np.isfinite(model.score([["kiwi", "tea"]]))
    assert "kiwi" in [item for item, _ in model.recommend(["tea"])]
    with pytest.raises(LabelError, match="names an item more than once"):
        IndependentItems().fit(NAMED, n_items=[*NAMES, "tea"])
    with pytest.raises(LabelError, match="no item 'tea' among the 1 items"):
        IndependentItems().fit(NAMED, n_items=["milk"])


def test_unknown_items_are_left_out_of_the_questions():
    model = IndependentItems().fit(NAMED)
    report = compare_next_item(model, NAMED, [["kiwi", "tea", "beer"], ["kiwi", "milk"]], n=1)
    assert (report.n_baskets, report.n_unknown) == (1, 2)
    assert "2 unknown items left out" in str(report)
    plain = compare_next_item(model, NAMED, [["beer", "tea"]], n=1)
    assert plain.scores["popularity"].mean_rank == report.scores["popularity"].mean_rank
    assert "unknown" not in str(plain)


def test_comparison_on_bundles():
    rng = np.random.default_rng(1)
    baskets = [[item for item in BUNDLES[rng.integers(3)] if rng.random() < 0.8] for _ in range(400)]
    model = NonsymmetricKernel(rank=10, rng=0, n_epochs=100).fit(baskets[:300])
    report = compare_next_item({"nonsymmetric": model, "full": model}, baskets[:300], baskets[300:], n=3)
    assert report["nonsymmetric"] == report["full"]
    assert report["nonsymmetric"].percentile > report["popularity"].percentile + 20
    assert report["co-occurrence"].percentile > report["popularity"].percentile + 20
    assert report["popularity"].percentile_error > 0


def test_wrong_comparisons():
    model = IndependentItems().fit(NAMED)
    with pytest.raises(DiversetError, match="no test basket has two items"):
        compare_next_item(model, NAMED, [["tea"]])
    with pytest.raises(DiversetError, match="'b' knows other items"):
        compare_next_item({"a": model, "b": IndependentItems().fit(NUMBERS)}, NAMED, NAMED)
    with pytest.raises(DiversetError, match="no models"):
        compare_next_item({}, NAMED, NAMED)
    with pytest.raises(DiversetError, match="has not been fitted"):
        compare_next_item(IndependentItems(), NAMED, NAMED)


LEARNERS = [
    "FullRankKernel",
    "LowRankKernel",
    "NonsymmetricKernel",
    "IndependentItems",
    "PoissonItems",
    "QualityModel",
    "QualityModelCV",
    "LogisticQuality",
    "KDPPMixtureLearner",
    "MMRMixtureLearner",
]


#: The checks of scikit-learn that feed no matrix of numbers.
CHECKS = [
    "parameters_default_constructible",
    "no_attributes_set_in_init",
    "get_params_invariance",
    "set_params",
    "do_not_raise_errors_in_init_or_set_params",
    "estimator_repr",
    "estimator_cloneable",
    "valid_tag_types",
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", LEARNERS)
def test_learners_pass_the_checks_that_apply_to_them(name, check):
    checks = pytest.importorskip("sklearn.utils.estimator_checks", reason="scikit-learn is not installed")
    getattr(checks, f"check_{check}")(name, getattr(dv.learn, name)())


@pytest.mark.parametrize("name", LEARNERS)
def test_scikit_learn_is_told_that_sets_are_no_matrix(name):
    checks = pytest.importorskip("sklearn.utils.estimator_checks", reason="scikit-learn is not installed")
    from sklearn.exceptions import SkipTestWarning

    with pytest.warns(SkipTestWarning, match="requires input"):
        found = checks.check_estimator(getattr(dv.learn, name)(), on_skip=None)
    assert {result["status"] for result in found} == {"passed"}


def test_asking_before_fitting_is_the_error_of_scikit_learn():
    exceptions = pytest.importorskip("sklearn.exceptions", reason="scikit-learn is not installed")
    with pytest.raises(exceptions.NotFittedError, match="has not been fitted"):
        LowRankKernel().score(NAMED)


def test_a_hit_counts_once_however_many_are_recommended():
    baskets = [["a", "b"], ["a", "c"], ["b", "c"]] * 4
    model = LowRankKernel(rank=2, rng=0, n_epochs=2).fit(baskets)
    report = compare_next_item(model, baskets, baskets, n=50)
    assert report["model"].hit_rate == report["popularity"].hit_rate == 1.0


def test_too_large_baskets_are_counted():
    with pytest.raises(SizeError, match=r"1 of 3 baskets are too large.*raise the rank to 3"):
        LowRankKernel(rank=2, rng=0).fit([[0, 1], [0, 1, 2], [2]])
