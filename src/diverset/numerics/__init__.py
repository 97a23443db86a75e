"""Numerical routines that know no DPP: symmetric polynomials, Poisson-binomial laws, linear algebra, checks."""

from typing import TYPE_CHECKING

from diverset._on_use import names_on_use

__all__ = [
    "eigenvector_probabilities",
    "linalg",
    "poisson_binomial",
    "project",
    "projection",
    "projection_bound",
    "projection_dim",
    "symmetric",
    "validation",
]

if TYPE_CHECKING:
    from diverset.numerics import (
        eigenvector_probabilities,
        linalg,
        poisson_binomial,
        projection,
        symmetric,
        validation,
    )
    from diverset.numerics.projection import project, projection_bound, projection_dim
else:
    __getattr__, __dir__ = names_on_use(
        __name__,
        {"projection": ["project", "projection_bound", "projection_dim"]},
        submodules=["eigenvector_probabilities", "linalg", "poisson_binomial", "projection", "symmetric", "validation"],
    )
