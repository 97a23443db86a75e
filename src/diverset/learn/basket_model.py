"""What every model of baskets can be asked once it is fitted."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.core.distribution import SetDistribution
from diverset.errors import SizeError
from diverset.learn._estimator import Estimator, check_fitted
from diverset.learn.baskets import Baskets, read_basket, read_baskets
from diverset.learn.kernel_forms import KernelForm
from diverset.numerics.validation import check_size

__all__ = ["BasketModel", "KernelModel"]


class BasketModel(Estimator, abc.ABC):
    """A distribution over baskets of items 0..n_items-1, learned from baskets."""

    n_items_: int

    @abc.abstractmethod
    def _log_probs(self, baskets: Baskets) -> FloatArray:
        """Log-probability of each basket."""

    @abc.abstractmethod
    def _scores(self, basket: IntArray) -> FloatArray:
        """Probability of every item, given that the basket is taken."""

    def log_prob(self, baskets: Sequence[Iterable[int]]) -> FloatArray:
        """Log-probability of each basket, ``-inf`` for an impossible one; of shape (n_baskets,)."""
        check_fitted(self, "n_items_")
        return self._log_probs(read_baskets(baskets, self.n_items_))

    def score(self, baskets: Sequence[Iterable[int]], y: Any = None) -> float:
        """Mean log-likelihood per basket."""
        return float(self.log_prob(baskets).mean())

    def next_item_scores(self, basket: Iterable[int]) -> FloatArray:
        r"""Probability :math:`\Pr(i \in Y \mid A \subseteq Y)` of every item i, given the items A of a basket.

        Parameters
        ----------
        basket : iterable of int
            The items A.

        Returns
        -------
        ndarray of shape (n_items,)
            1 for the items of A.
        """
        check_fitted(self, "n_items_")
        return self._scores(read_basket(basket, self.n_items_))

    def recommend(self, basket: Iterable[int], k: int) -> IntArray:
        """The `k` items most likely to be in a basket that holds these, best first, each judged by itself.

        Parameters
        ----------
        basket : iterable of int
            What is in it already; never recommended.
        k : int
            How many; all others if there are fewer.
        """
        check_fitted(self, "n_items_")
        inside = read_basket(basket, self.n_items_)
        scores = self._scores(inside)
        scores[inside] = -np.inf
        wanted = min(check_size(k), self.n_items_ - len(inside))
        return np.argsort(-scores, kind="stable")[:wanted].astype(np.int64)

    def complete(self, basket: Iterable[int], k: int) -> IntArray:
        """`k` items to add to a basket, one after the other, each the most likely given all before it.

        Parameters
        ----------
        basket : iterable of int
            What is in it already.
        k : int
            How many to add.

        Returns
        -------
        ndarray of shape (k,)
            In the order they were added: unlike :meth:`recommend`, similar items do not come together.
        """
        inside = read_basket(basket, self.n_items_).tolist()
        wanted = check_size(k)
        if wanted > self.n_items_ - len(inside):
            raise SizeError(f"k is {wanted}, but only {self.n_items_ - len(inside)} items are not in the basket")
        for _ in range(wanted):
            inside.append(int(self.recommend(inside, 1)[0]))
        return np.array(inside[len(inside) - wanted :], dtype=np.int64)


class KernelModel(BasketModel):
    """A basket model with a determinantal kernel, held in the form its learner works with."""

    form_: KernelForm

    def _keep(self, form: KernelForm) -> None:
        self.form_ = form
        self.n_items_ = form.n
        self.__dict__.pop("dpp_", None)

    @cached_property
    def dpp_(self) -> SetDistribution:
        """The learned distribution: sample it, condition it, or hand it to any inference method."""
        check_fitted(self, "form_")
        return self.form_.distribution()

    def _log_probs(self, baskets: Baskets) -> FloatArray:
        return self.form_.log_probs(baskets)

    def _scores(self, basket: IntArray) -> FloatArray:
        return self.form_.next_item_scores(basket)
