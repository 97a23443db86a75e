"""MAP inference: sets of high probability."""

from diverset.inference.greedy import Selection, map_greedy

__all__ = ["Selection", "map_greedy"]
