"""Numerics that know no DPP: symmetric polynomials, Poisson-binomial laws, linear algebra, checks."""
