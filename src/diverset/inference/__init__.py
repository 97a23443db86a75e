"""MAP inference and selection: sets of high probability, or high value."""

from diverset.inference.bounds import map_upper_bound
from diverset.inference.budgeted import map_budgeted
from diverset.inference.double_greedy import map_double_greedy, map_nonmonotone
from diverset.inference.exact import map_exact
from diverset.inference.greedy import map_greedy
from diverset.inference.hardness import exact_cover_dpp, find_exact_cover, has_exact_cover, random_x3c
from diverset.inference.local_search import map_local_search
from diverset.inference.relaxed import map_relaxed
from diverset.inference.result import Selection
from diverset.inference.select import select, selection_law

__all__ = [
    "Selection",
    "exact_cover_dpp",
    "find_exact_cover",
    "has_exact_cover",
    "map_budgeted",
    "map_double_greedy",
    "map_exact",
    "map_greedy",
    "map_local_search",
    "map_nonmonotone",
    "map_relaxed",
    "map_upper_bound",
    "random_x3c",
    "select",
    "selection_law",
]
