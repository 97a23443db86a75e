"""Base classes of all learners: parameters as in scikit-learn, the report of a fit, a progress bar.

If scikit-learn is installed, the learners are scikit-learn estimators and work with ``clone``, ``GridSearchCV`` and
``cross_val_score``. Otherwise a small base class replaces ``BaseEstimator``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError

__all__ = ["Convergence", "Estimator", "check_fitted", "progress"]

try:
    from sklearn.base import BaseEstimator as _Base
    from sklearn.exceptions import NotFittedError
except ImportError:
    if not TYPE_CHECKING:
        NotFittedError = ValueError

        class _Base:
            """Parameters named after the constructor's arguments, as in ``sklearn.base.BaseEstimator``."""

            @classmethod
            def _names(cls) -> list[str]:
                return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

            def get_params(self, deep: bool = True) -> dict[str, Any]:
                """Parameters by name."""
                return {name: getattr(self, name) for name in self._names()}

            def set_params(self, **params: Any) -> Any:
                """Set parameters by name; returns the estimator."""
                for name, value in params.items():
                    if name not in self._names():
                        raise DiversetError(f"{type(self).__name__} has no parameter {name!r}: {self._names()}")
                    setattr(self, name, value)
                return self

            def __repr__(self) -> str:
                shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
                return f"{type(self).__name__}({shown})"


class Estimator(_Base):
    """A learner with parameters as in scikit-learn. Its input is a list of sets, not a matrix."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # the input of ``fit`` is not a matrix
        return tags


class NotFitted(DiversetError, NotFittedError):
    """A learner was used before ``fit``; a subclass of scikit-learn's ``NotFittedError`` if that is installed."""


def check_fitted(estimator: Any, attribute: str) -> None:
    """Raise an error if the estimator has not been fitted."""
    if not hasattr(estimator, attribute):
        name = type(estimator).__name__
        raise NotFitted(f"this {name} has not been fitted; call {name}().fit(...) first")


@dataclass(frozen=True)
class Convergence:
    """How a fit ended.

    Attributes
    ----------
    converged : bool
        Whether the criterion was met within the maximum number of iterations.
    reason : str
        Description of the criterion.
    objective : ndarray of shape (n_iter + 1,)
        The maximised objective, at the start and after every iteration.
    """

    converged: bool
    reason: str
    objective: FloatArray

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.objective) - 1

    def __str__(self) -> str:
        state = "converged" if self.converged else "not converged"
        first, last = self.objective[0], self.objective[-1]
        return f"{state} after {self.n_iter} iterations ({self.reason}): {first:.6g} -> {last:.6g}"


class Advance(Protocol):
    """Callback of a loop, called once per iteration with the value of the objective."""

    def __call__(self, objective: float) -> None: ...


@contextmanager
def progress(what: str, total: int, shown: bool) -> Iterator[Advance]:
    """A Rich progress bar on standard error if `shown` is true, otherwise nothing."""
    if not shown:
        yield lambda objective: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("objective {task.fields[objective]:.6g}"), console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total, objective=np.nan)
        yield lambda objective: bar.update(task, advance=1, objective=objective)
