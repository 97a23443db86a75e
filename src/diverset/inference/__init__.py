"""MAP inference and selection: find sets of high probability or of high objective."""

from typing import TYPE_CHECKING

from diverset._on_use import names_on_use
from diverset.inference.result import Selection

# Imported eagerly: with a lazy import, the module `select` would hide the function of the same name.
from diverset.inference.select import select, selection_law

if TYPE_CHECKING:
    from diverset.inference.bounds import map_upper_bound
    from diverset.inference.exact import map_exact
    from diverset.inference.greedy import map_budgeted, map_greedy
    from diverset.inference.local_search import map_local_search
    from diverset.inference.submodular import map_double_greedy, map_nonmonotone, map_relaxed
else:
    __getattr__, __dir__ = names_on_use(
        __name__,
        {
            "bounds": ["map_upper_bound"],
            "exact": ["map_exact"],
            "greedy": ["map_budgeted", "map_greedy"],
            "local_search": ["map_local_search"],
            "submodular": ["map_double_greedy", "map_nonmonotone", "map_relaxed"],
        },
    )

__all__ = [
    "Selection",
    "map_budgeted",
    "map_double_greedy",
    "map_exact",
    "map_greedy",
    "map_local_search",
    "map_nonmonotone",
    "map_relaxed",
    "map_upper_bound",
    "select",
    "selection_law",
]
