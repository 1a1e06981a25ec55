"""How the sites of a crawl are divided among its machines: a choice, obeyed by all machines."""

from __future__ import annotations

from enum import StrEnum


class PartitionKind(StrEnum):
    """How the sites of a crawl are divided among its machines."""

    INDEPENDENT = "independent"  # any machine claims any free site (paper 004)
    NONE = "none"  # machines that agree on nothing: each has a database of its own
    DYNAMIC = "dynamic"  # more subsets than machines; who has finished one gets the next (paper 000, section 3.2.1)
    MODULO = "modulo"  # hash of the site's key, mod so many logical nodes, each of which is a machine's (formula 1)
    SUBSITE = "subsite"  # the same with the first word of the host (formula 2)
    CONSISTENT = "consistent"  # identifier-seeded consistent hashing (paper 001, section 4.1.5)


OPEN_KINDS = frozenset((PartitionKind.INDEPENDENT, PartitionKind.NONE))  # any site is of who comes first
