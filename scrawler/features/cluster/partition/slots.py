"""The table of slots: logical nodes, each of which is one machine's (paper 000, section 3.2.3).

A site is hashed to a slot, and the table says whose that is. When a machine comes or goes, only as many entries change
as must, so that nearly all sites stay where they are; hash mod machines would move nearly all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

LOGICAL_NODES = 4096
SUBSETS = 256  # of a dynamic partition: many more than machines, so that the last ones are small
NOBODY = 0  # in place of a machine's id

_ADDRESS = re.compile(r"[0-9.]+(?::[0-9]+)?|\[.*")


def slot_of(name_hash: bytes, slots: int) -> int:
    """Return the slot, of so many, of a name with this hash."""
    return int.from_bytes(name_hash[8:], "big") % slots


def first_word(site_key: str) -> str:
    """Return what stands before the first dot of a host, without its port; an IP address has no words."""
    return site_key if _ADDRESS.fullmatch(site_key) else site_key.partition(".")[0]


def assigned(table: Sequence[int], weights: Mapping[int, int]) -> tuple[int, ...]:
    """Return the table with all slots given to machines (id -> weight, 1 at least), as few of them moved as can be.

    Each machine has its share by weight, rounded down or up. A slot changes hands only if its machine is not among
    them, or has more than that.
    """
    if not weights:
        return tuple(NOBODY for _ in table)
    quotas = _quotas(Counter(one for one in table if one in weights), len(table), weights)
    kept: Counter[int] = Counter()
    moving: list[int] = []
    for slot, owner in enumerate(table):
        if kept[owner] < quotas.get(owner, 0):
            kept[owner] += 1
        else:
            moving.append(slot)
    changed = list(table)
    wanting = [one for one in sorted(weights) for _ in range(quotas[one] - kept[one])]
    for slot, owner in zip(moving, wanting, strict=True):
        changed[slot] = owner
    return tuple(changed)


def _quotas(have: Mapping[int, int], slots: int, weights: Mapping[int, int]) -> dict[int, int]:
    """Return how many slots each machine is to have.

    What is left over from rounding down goes to those that have more already, then to those with the largest rest.
    """
    total = sum(weights.values())
    quotas = {one: slots * weight // total for one, weight in weights.items()}
    with_rest = [one for one, weight in weights.items() if slots * weight % total]
    by_need = sorted(with_rest, key=lambda one: (have.get(one, 0) <= quotas[one], -(slots * weights[one] % total), one))
    for one in by_need[: slots - sum(quotas.values())]:
        quotas[one] += 1
    return quotas


def without(table: Sequence[int], living: Mapping[int, int]) -> tuple[int, ...]:
    """Return a dynamic partition's table in which the subsets of machines that are gone are nobody's again."""
    return tuple(one if one in living else NOBODY for one in table)


def next_taken(table: Sequence[int], machine_id: int) -> tuple[int, ...] | None:
    """Return the table in which the first subset that is nobody's is this machine's; None: all have been given out."""
    for slot, owner in enumerate(table):
        if owner == NOBODY:
            return (*table[:slot], machine_id, *table[slot + 1 :])
    return None


def moved(before: Sequence[int], after: Sequence[int]) -> int:
    """Count the slots that have changed hands."""
    return sum(old != new for old, new in zip(before, after, strict=True))
