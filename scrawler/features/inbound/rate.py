"""How often one client may ask: a bucket of tokens for each address, of which there is a bounded number."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

_MOST_CLIENTS = 20_000
_IPV6_PREFIX = 64  # of one customer, as a rule


class RateLimit:
    """Lets each client ask `rate` times a second in the mean, and `burst` times at once; for one thread."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when they were counted

    def wait(self, client: str) -> float:
        """Count a request; return 0 if it may go on, else after how many seconds the client may ask again.

        Where there are too many clients to remember, the one that has asked longest ago is forgotten, whose bucket
        is the fullest.
        """
        now = self._clock()
        key = client_key(client)
        tokens, at = self._buckets.pop(key, (float(self._burst), now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        may = tokens >= 1
        self._buckets[key] = (tokens - may, now)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if may else (1 - tokens) / self._rate

    def __len__(self) -> int:
        return len(self._buckets)


def client_key(client: str) -> str:
    """Return what an address is counted by: as a customer has many addresses of IPv6, by the network of them."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client
    if address.version == 4:
        return client
    if address.ipv4_mapped is not None:  # as a socket for both sees those of IPv4
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False).network_address)
