"""Quality learned without a look at diversity: what conditional DPPs are compared with ([KuleszaTaskar2012]_, 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diverset.errors import DiversetError
from diverset.learn.instances import Instance
from diverset.learn.quality import QualityModel

__all__ = ["LogisticQuality"]


class LogisticQuality(QualityModel):
    r"""Quality by logistic regression: every item by itself, chosen or not.

    The weights maximise :math:`\sum_i \log\Pr(\text{item } i \text{ is chosen or not})` with odds
    :math:`\exp(\theta^T f_i)`, as if all items were independent; similarities come in only afterwards, in :meth:`dpp`,
    :meth:`score` and :meth:`log_prob`. The LR baseline of [KuleszaTaskar2012]_, section 4.2: it isolates what learning
    in context adds, and its sets tend to have the wrong size, since training knew nothing of repulsion.

    Parameters
    ----------
    prior_variance, rho, max_iter, tol, n_jobs, warm_start, verbose
        As in :class:`QualityModel`; `rho` acts on :meth:`dpp` and what is asked of it only.

    Attributes
    ----------
    coef_, covariance_, standard_errors_, log_likelihood_, convergence_, n_features_in_
        As in :class:`QualityModel`; the log-likelihood is that of the logistic regression.

    Examples
    --------
    >>> import diverset as dv
    >>> alike = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> instances = [dv.learn.Instance([[1.0], [1.0], [1.0]], similarity=alike)] * 4
    >>> sets = [[0, 2], [1, 2], [0], [2]]
    >>> logistic = dv.learn.LogisticQuality().fit(instances, sets)
    >>> model = dv.learn.QualityModel().fit(instances, sets)
    >>> round(logistic.dpp(instances[0]).expected_size, 2), round(model.dpp(instances[0]).expected_size, 2)
    (1.25, 1.5)
    """

    def __init__(
        self,
        *,
        prior_variance: float | None = None,
        rho: float = 0.0,
        max_iter: int = 500,
        tol: float = 1e-9,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            prior_variance=prior_variance,
            rho=rho,
            max_iter=max_iter,
            tol=tol,
            n_jobs=n_jobs,
            warm_start=warm_start,
            verbose=verbose,
        )

    def fit(self, instances: Sequence[Instance], sets: Sequence[Iterable[int]]) -> LogisticQuality:
        """Learn the weights, item by item.

        Parameters
        ----------
        instances : sequence of Instance
            Inputs; their similarities play no part.
        sets : sequence of iterables of int
            The observed set of each.

        Returns
        -------
        self : LogisticQuality
            The fitted model.
        """
        listed = list(instances)
        for t, instance in enumerate(listed):
            if not isinstance(instance, Instance):
                raise DiversetError(f"instance {t} is a {type(instance).__name__}; pass diverset.learn.Instance(...)")
        rho, self.rho = self.rho, 0.0
        try:
            super().fit([Instance(instance.features) for instance in listed], sets)
        finally:
            self.rho = rho
        return self
