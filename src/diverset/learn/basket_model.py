"""Base classes of all models of baskets."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.distribution import SetDistribution
from diverset.errors import DiversetError, LabelError, SizeError
from diverset.learn._estimator import Estimator, check_fitted
from diverset.learn.baskets import Baskets, numbered, read_basket, read_baskets
from diverset.learn.kernel_forms import KernelForm
from diverset.numerics.linalg import positions_outside
from diverset.numerics.validation import check_size, is_sparse

__all__ = ["BasketModel", "KernelModel", "Recommended"]


class Recommended(NamedTuple):
    """A recommended item, and its probability given the basket."""

    item: Any
    score: float


class BasketModel(Estimator, abc.ABC):
    """A distribution over baskets, learned from baskets.

    Baskets are lists of item names, lists of item numbers from 0, a table of orders and items, or a sparse matrix: see
    :mod:`diverset.learn.baskets`.
    """

    n_items_: int
    #: Names of the items, of shape (n_items,); None if they are numbers.
    names_: Array | None = None

    @abc.abstractmethod
    def _log_probs(self, baskets: Baskets) -> FloatArray:
        """Log-probability of each basket."""

    @abc.abstractmethod
    def _scores(self, basket: IntArray) -> FloatArray:
        """Probability of every item, given that the items of the basket are in the set."""

    @abc.abstractmethod
    def _learn(self, baskets: Baskets) -> None:
        """Fit the model to checked baskets."""

    def fit(self, baskets: Any, y: Any = None, *, n_items: Any = None) -> Self:
        """Learn from baskets.

        Parameters
        ----------
        baskets : lists of names or numbers, table or sparse matrix
            Observed sets, in any form of :mod:`diverset.learn.baskets`.
        y : None
            Ignored; present for compatibility with scikit-learn.
        n_items : int or sequence of names, optional
            Number of items, or the names of all items, including items in no basket. By default the items that occur.

        Returns
        -------
        self
            The fitted model.
        """
        self._learn(self._observed(baskets, n_items))
        return self

    def _observed(self, data: Any, n_items: Any) -> Baskets:
        """Read the training baskets, and store the names of the items."""
        if n_items is not None and not isinstance(n_items, str) and hasattr(n_items, "__len__"):
            names: Array | None = np.array([*n_items, None], dtype=object)[:-1]  # never a matrix
            if len(set(n_items)) < len(n_items):
                raise LabelError("n_items names an item more than once; give the name of each item once")
            data, n_items = numbered(data, names)[0], None
        else:
            data, names = numbered(data) if n_items is None or not _is_list(data) else (data, None)
        if n_items is not None and names is not None:
            raise DiversetError(f"n_items is {n_items}, but the baskets hold names; leave it out, or give all names")
        self.names_ = names
        read = read_baskets(data, n_items)
        if len(read) == 0:
            raise DiversetError("there are no baskets; learning needs at least one")
        return read

    def _read(self, data: Any) -> Baskets:
        """Read baskets over the items of the fitted model."""
        check_fitted(self, "n_items_")
        baskets = data if self.names_ is None and _is_list(data) else numbered(data, self.names_)[0]
        read = read_baskets(baskets, self.n_items_)
        if read.n_items != self.n_items_:
            raise LabelError(f"the baskets are over {read.n_items} items, and the model over {self.n_items_}")
        return read

    def _positions(self, basket: Any) -> IntArray:
        """Read one basket as ascending positions."""
        check_fitted(self, "n_items_")
        if self.names_ is None:
            return read_basket(basket, self.n_items_)
        return self._read([basket]).flat

    def _items(self, positions: IntArray) -> list[Any]:
        """Names of the items, or their numbers."""
        return list(positions.tolist() if self.names_ is None else self.names_[positions].tolist())

    def log_prob(self, baskets: Any) -> FloatArray:
        """Log-probability of each basket, of shape (n_baskets,); ``-inf`` for an impossible basket."""
        return self._log_probs(self._read(baskets))

    def score(self, baskets: Any, y: Any = None) -> float:
        """Mean log-likelihood per basket."""
        return float(self.log_prob(baskets).mean())

    def next_item_scores(self, basket: Iterable[Any]) -> FloatArray:
        r"""Probability :math:`\Pr(i \in Y \mid A \subseteq Y)` of every item i, given the items A of a basket.

        Parameters
        ----------
        basket : iterable
            The items A, by name or number.

        Returns
        -------
        ndarray of shape (n_items,)
            In the order of ``names_``, or of the item numbers; 1 for the items of A.
        """
        return self._scores(self._positions(basket))

    def recommend(self, basket: Iterable[Any], n: int = 10) -> list[Recommended]:
        """The `n` items most likely to be in a basket with the given items, most likely first.

        Parameters
        ----------
        basket : iterable
            The items in the basket, by name or number; they are not recommended.
        n : int
            Number of recommendations; there are fewer if there are fewer other items.

        Returns
        -------
        list of (item, score)
            Name or number of each item, and its probability given the basket.
        """
        inside = self._positions(basket)
        scores = self._scores(inside)
        ranked = np.argsort(-np.delete(scores, inside), kind="stable")[: check_size(n, name="n")]
        best = positions_outside(inside, self.n_items_)[ranked]
        return [Recommended(*pair) for pair in zip(self._items(best), scores[best].tolist(), strict=True)]

    def complete(self, basket: Iterable[Any], k: int) -> list[Any]:
        """Add `k` items to a basket, each the most likely item given the basket and the items added before it.

        Unlike :meth:`recommend`, which scores each item on its own, this avoids similar items.
        """
        inside = self._items(self._positions(basket))
        wanted = check_size(k)
        if wanted > self.n_items_ - len(inside):
            raise SizeError(f"k is {wanted}, but only {self.n_items_ - len(inside)} items are not in the basket")
        added: list[Any] = []
        for _ in range(wanted):
            added.append(self.recommend([*inside, *added], 1)[0].item)
        return added


def _is_list(data: Any) -> bool:
    return not is_sparse(data) and not hasattr(data, "columns")


class KernelModel(BasketModel):
    """A basket model with a determinantal kernel, stored in the form that its learner computes."""

    form_: KernelForm

    def _keep(self, form: KernelForm) -> None:
        self.form_ = form
        self.n_items_ = form.n
        self.__dict__.pop("dpp_", None)

    @cached_property
    def dpp_(self) -> SetDistribution:
        """The learned distribution, for sampling, conditioning and inference."""
        check_fitted(self, "form_")
        return self.form_.distribution()

    def _log_probs(self, baskets: Baskets) -> FloatArray:
        return self.form_.log_probs(baskets)

    def _scores(self, basket: IntArray) -> FloatArray:
        return self.form_.next_item_scores(basket)
