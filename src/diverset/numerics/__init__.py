"""Numerics that know no DPP: symmetric polynomials, Poisson-binomial laws, linear algebra, checks."""

from typing import TYPE_CHECKING

from diverset._on_use import names_on_use

if TYPE_CHECKING:
    from diverset.numerics import linalg, poisson_binomial, projection, selection, symmetric, validation
else:
    __getattr__, __dir__ = names_on_use(
        __name__,
        {},
        submodules=["linalg", "poisson_binomial", "projection", "selection", "symmetric", "validation"],
    )

__all__ = ["linalg", "poisson_binomial", "projection", "selection", "symmetric", "validation"]
