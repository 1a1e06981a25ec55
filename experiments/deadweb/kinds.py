"""Which domain of the list is of which kind, and where it is: the same each time."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

PARKING_ADDRESSES = 20  # at which all parked domains are
PORTALS = 50  # sites to which half of the domains that have moved lead
_IN_NETWORK = 250  # addresses of 127.x.y.*, and networks of 127.x.*.*, that are used
_SEED = 4


class Kind(StrEnum):
    """What becomes of a request to a domain."""

    REFUSED = "refused"  # nobody listens at its port
    PARKED = "parked"  # it shows the page that many others show, from an address that many others have
    MOVED = "moved"  # it redirects, to its own www. or to a portal
    SILENT = "silent"  # no answer to a SYN ever comes
    MUTE = "mute"  # the connection is made, and nothing is ever said on it
    ERROR = "error"  # 403, 404 or 500
    REAL = "real"  # a site with some pages


# Of a hundred domains.
MIXED: Mapping[Kind, int] = {
    Kind.REFUSED: 40,
    Kind.PARKED: 25,
    Kind.MOVED: 20,
    Kind.SILENT: 4,
    Kind.MUTE: 2,
    Kind.ERROR: 4,
    Kind.REAL: 5,
}


@dataclass(frozen=True, slots=True)
class Domain:
    """One line of the list."""

    number: int
    kind: Kind

    @property
    def host(self) -> str:
        """Its name."""
        return f"{self.kind}{self.number}.example"

    @property
    def addresses(self) -> Mapping[str, str]:
        """Where it is, and the host to which it leads, by name."""
        if self.kind is Kind.PARKED:
            return {self.host: f"127.120.0.{self.number % PARKING_ADDRESSES + 1}"}
        own = address_of(self.number)
        return {self.host: own, f"www.{self.host}": own} if self.kind is Kind.MOVED else {self.host: own}


def address_of(number: int) -> str:
    """Return an address that no other number has."""
    network, last = divmod(number, _IN_NETWORK)
    second, third = divmod(network, _IN_NETWORK)
    return f"127.{20 + second}.{third}.{last + 1}"


def portals() -> Mapping[str, str]:
    """Return the addresses of the portals by name."""
    return {f"portal{number}.example": f"127.121.0.{number + 1}" for number in range(PORTALS)}


def domains(number: int, shares: Mapping[Kind, int]) -> Sequence[Domain]:
    """Return so many domains of kinds in these shares, in an order that is the same each time."""
    kinds = [kind for kind, share in shares.items() for _ in range(number * share // sum(shares.values()))]
    kinds += [next(iter(shares))] * (number - len(kinds))
    random.Random(_SEED).shuffle(kinds)
    return [Domain(at, kind) for at, kind in enumerate(kinds)]
