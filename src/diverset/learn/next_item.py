"""Evaluation of next-item prediction: hit rate and rank of a removed item, compared with two simple baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, ImpossibleEventError
from diverset.learn._estimator import check_fitted
from diverset.learn.basket_model import BasketModel
from diverset.learn.baskets import Baskets, numbered, read_baskets
from diverset.numerics.linalg import positions_outside
from diverset.numerics.validation import as_generator, check_count

__all__ = ["NextItemReport", "NextItemScores", "compare_next_item"]

Scores = Callable[[IntArray], FloatArray]


@dataclass(frozen=True)
class NextItemScores:
    """Results of one recommender.

    Attributes
    ----------
    hit_rate : float
        Fraction of the baskets whose removed item is among the first n recommendations.
    mean_rank : float
        Mean rank of the removed item, from 1.
    percentile : float
        Mean percentage of the other items that are ranked after the removed item; 50 by chance.
    hit_error, rank_error, percentile_error : float
        Half-widths of 95% confidence intervals of the three means over the baskets.
    """

    hit_rate: float
    mean_rank: float
    percentile: float
    hit_error: float
    rank_error: float
    percentile_error: float


@dataclass(frozen=True)
class NextItemReport:
    """A table of :class:`NextItemScores`, by the name of the recommender; ``print`` shows it.

    Attributes
    ----------
    scores : dict of str to NextItemScores
        The models in the order given, then ``"popularity"`` and ``"co-occurrence"``.
    n : int
        A removed item among the first n recommendations is a hit.
    n_baskets : int
        Number of baskets from which an item was removed.
    n_unknown : int
        Number of items of test baskets that were ignored because the models do not know them.
    """

    scores: dict[str, NextItemScores]
    n: int
    n_baskets: int
    n_unknown: int = 0

    def __getitem__(self, name: str) -> NextItemScores:
        return self.scores[name]

    def __str__(self) -> str:
        width = max(len(name) for name in self.scores)
        lines = [f"{'':{width}}  hit rate at {self.n:<3}  mean rank        percentile     {self.n_baskets} baskets"]
        if self.n_unknown:
            lines[0] += f", {self.n_unknown} unknown items left out"
        for name, row in self.scores.items():
            hit, rank = f"{row.hit_rate:.3f} ± {row.hit_error:.3f}", f"{row.mean_rank:6.1f} ± {row.rank_error:<6.1f}"
            lines.append(f"{name:{width}}  {hit}    {rank}  {row.percentile:5.1f} ± {row.percentile_error:.1f}")
        return "\n".join(lines)


def compare_next_item(
    models: BasketModel | Mapping[str, BasketModel],
    train: Any,
    test: Any,
    *,
    n: int = 10,
    max_baskets: int = 1000,
    rng: RNGLike = 0,
) -> NextItemReport:
    """Remove an item from each test basket, and let each model rank it among all other items.

    Parameters
    ----------
    models : fitted model, or mapping of names to fitted models
        Models fitted to the same items.
    train : baskets
        Training baskets for the two baselines, in any form that ``fit`` accepts.
    test : baskets
        Held-out baskets. Names that the models do not know are ignored, and so are baskets of fewer than two items.
    n : int
        A removed item among the first n recommendations is a hit.
    max_baskets : int
        Maximum number of test baskets; if there are more, a random sample is used.
    rng : int, Generator or None
        Seed or generator for the choice of baskets and removed items.

    Returns
    -------
    NextItemReport
        Scores of each model, of ``"popularity"`` (the fraction of training baskets that contain an item) and of
        ``"co-occurrence"`` (this fraction among the training baskets that contain a given item of the basket, averaged
        over its items), all on the same removed items.

    Notes
    -----
    Ties share their mean rank, and count as a hit with the probability that a random order would give. If a model gives
    the rest of a basket probability zero, all items tie.

    Examples
    --------
    >>> import diverset as dv
    >>> baskets = [["tea", "milk"], ["beer", "crisps"], ["tea", "milk", "sugar"], ["beer"]] * 30
    >>> model = dv.learn.NonsymmetricKernel(rank=4, rng=0).fit(baskets[:80])
    >>> report = compare_next_item(model, baskets[:80], baskets[80:], n=1)
    >>> report["model"].hit_rate > report["popularity"].hit_rate
    True
    """
    named = dict(models) if isinstance(models, Mapping) else {"model": models}
    if not named:
        raise DiversetError("there are no models to compare; give at least one")
    first = next(iter(named.values()))
    check_fitted(first, "n_items_")
    seen, (questions, n_unknown) = first._read(train), _known_part(test, first)
    for name, model in named.items():
        check_fitted(model, "n_items_")
        if model.n_items_ != first.n_items_ or not np.array_equal(np.asarray(model.names_), np.asarray(first.names_)):
            raise DiversetError(f"the model {name!r} knows other items than the first; fit all to the same baskets")
    hits_within = check_count(n, name="n")
    generator = as_generator(rng)
    usable = np.flatnonzero(questions.sizes >= 2)
    if len(usable) == 0:
        raise DiversetError("no test basket has two items or more, so none can be taken out")
    most = check_count(max_baskets, name="max_baskets")
    if len(usable) > most:
        usable = np.sort(generator.choice(usable, size=most, replace=False))
    asked = [(questions[t], int(generator.integers(len(questions[t])))) for t in usable.tolist()]
    rules: dict[str, Scores] = {name: model._scores for name, model in named.items()}
    rules |= {"popularity": lambda basket: seen.counts, "co-occurrence": _co_occurrence(seen)}
    scores = {name: _summary(rule, asked, first.n_items_, hits_within) for name, rule in rules.items()}
    return NextItemReport(scores, hits_within, len(asked), n_unknown)


def _known_part(data: Any, model: BasketModel) -> tuple[Baskets, int]:
    """Baskets without the items that a model of names does not know, and the number of items ignored."""
    if model.names_ is None:
        return model._read(data), 0
    found, names = numbered(data)
    read = read_baskets(found)
    if names is None:  # a sparse matrix: its columns are the items of the model
        return model._read(data), 0
    place = {name: i for i, name in enumerate(model.names_.tolist())}
    positions = np.array([place.get(name, -1) for name in names.tolist()], dtype=np.int64)[read.flat]
    owner = np.repeat(np.arange(len(read)), read.sizes)[positions >= 0]
    starts = np.searchsorted(owner, np.arange(len(read) + 1))
    flat = positions[positions >= 0]
    flat = flat[np.lexsort((flat, owner))]
    return Baskets(flat, starts.astype(np.int64), model.n_items_), int(np.count_nonzero(positions < 0))


def _co_occurrence(baskets: Baskets) -> Scores:
    together = baskets.pair_counts()
    counts = baskets.counts
    # Popularity breaks ties between items that never occurred with an item of the basket.
    popular = 1e-6 * counts / max(len(baskets), 1)

    def scores(basket: IntArray) -> FloatArray:
        shares = sum(together[[i]].toarray()[0] / max(counts[i], 1.0) for i in basket.tolist())
        return np.asarray(shares / len(basket) + popular)

    return scores


def _summary(rule: Scores, asked: list[tuple[IntArray, int]], n_items: int, n: int) -> NextItemScores:
    ranks, hits, percentiles = (np.empty(len(asked)) for _ in range(3))
    for q, (basket, place) in enumerate(asked):
        rest = np.delete(basket, place)
        others = positions_outside(rest, n_items)
        try:
            scores = rule(rest)
        except ImpossibleEventError:
            scores = np.zeros(n_items)
        target = scores[basket[place]]
        better, equal = (int(np.count_nonzero(at)) for at in (scores[others] > target, scores[others] == target))
        ranks[q] = better + (equal + 1) / 2
        hits[q] = min(max((n - better) / equal, 0.0), 1.0)
        percentiles[q] = 100.0 * (len(others) - ranks[q]) / max(len(others) - 1, 1)
    means = [float(values.mean()) for values in (hits, ranks, percentiles)]
    errors = [1.96 * float(values.std(ddof=1)) / len(asked) ** 0.5 if len(asked) > 1 else float("nan")
              for values in (hits, ranks, percentiles)]  # fmt: skip
    return NextItemScores(*means, *errors)
