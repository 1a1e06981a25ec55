"""How many pages of what kind share a budget, as numbers that a database can add up: cells of a histogram.

A cell stands for pages whose rates of change are within a fifth of each other, and their weights as well. A page is
counted in one cell at a time; each visit moves it, if what is known of it has changed. So machines add and take away
numbers of cells, some hundreds whatever the pages are, and whoever wants to know how a budget is divided adds them up:
nobody looks at all URLs.
"""

from __future__ import annotations

from collections.abc import Mapping

from scrawler.features.revisit.policies.policy import NO_BOUNDS, Bounds, Demand, bin_of, centre_of

_RATES_FROM, _WEIGHTS_FROM = 140, 90  # are added to bins, which are below 0 for small numbers
_WEIGHTS = 256  # bins of weights that there are room for
_APART = 1 << 17  # is added to cells of pages that no budget is divided among


def cell_of(rate: float, weight: float, shares: bool = True) -> int:
    """Return the number of the cell of a page, 1 or more; one that `shares` no budget is counted apart."""
    rate_bin, weight_bin = bin_of(rate, weight)
    cell = 1 + (rate_bin + _RATES_FROM) * _WEIGHTS + weight_bin + _WEIGHTS_FROM
    return cell if shares else cell + _APART


def is_shared(cell: int) -> bool:
    """Tell whether a budget is divided among the pages of a cell."""
    return 0 < cell < _APART


def kind_of(cell: int) -> tuple[float, float]:
    """Return the rate of change and the weight for which a cell stands."""
    rate_bin, weight_bin = divmod(cell % _APART - 1, _WEIGHTS)
    return centre_of(rate_bin - _RATES_FROM), centre_of(weight_bin - _WEIGHTS_FROM)


def demand_of(cells: Mapping[int, int], per_day: float, bounds: Bounds = NO_BOUNDS) -> Demand:
    """Return how a budget of visits a day is divided among the pages that are counted in cells."""
    demand = Demand(per_day / 86_400.0, bounds)
    for cell, pages in cells.items():
        if is_shared(cell) and pages > 0:
            demand.count(*kind_of(cell), pages)
    return demand
