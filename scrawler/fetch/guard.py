"""The address guard: which addresses a crawler connects to only where the user says so.

Source: the IANA special-purpose address registries (RFC 6890). The lists are our own, because what `ipaddress` calls
private differs between versions of Python.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from socket import AF_INET, inet_pton

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class _Ranges:
    """Networks as ranges of numbers: to ask one after the other takes ten times as long."""

    def __init__(self, *networks: str) -> None:
        """Take networks of one version, of which none lies in another one."""
        read = [ip_network(network) for network in networks]
        self._first = sorted(int(network.network_address) for network in read)
        self._last = sorted(int(network.broadcast_address) for network in read)

    def __contains__(self, address: Address) -> bool:
        number = int(address)
        at = bisect_right(self._first, number) - 1
        return at >= 0 and number <= self._last[at]


# Networks that nobody crawls on purpose: not unicast, of the local link, or with the credentials of a cloud's machine.
_NEVER_4 = _Ranges(
    "0.0.0.0/8",
    "169.254.0.0/16",  # link-local, 169.254.169.254 among them
    "100.100.100.200/32",  # metadata (Alibaba Cloud), inside the carriers' range
    "168.63.129.16/32",  # metadata (Azure), a public address
    "192.0.0.0/24",
    "192.88.99.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
)
_NEVER_6 = _Ranges(
    "fd00:ec2::254/128",  # metadata (Amazon), inside the private range, as are the next four
    "fd00:ec2::23/128",  # credentials (Amazon's Kubernetes)
    "fd20:ce::254/128",  # metadata (Google)
    "fd00:42::42/128",  # metadata (Scaleway)
    "fd00:c1::a9fe:a9fe/128",  # metadata (Oracle)
    "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID, ...
    "2001:db8::/32",
    "3fff::/20",
)
_PRIVATE_4 = _Ranges(
    "10.0.0.0/8",
    "100.64.0.0/10",  # carrier-grade NAT
    "127.0.0.0/8",
    "172.16.0.0/12",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
)
_PRIVATE_6 = _Ranges("::1/128", "fc00::/7")
_GLOBAL_6 = IPv6Network("2000::/3")  # the only global unicast space there is
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_6TO4 = IPv6Network("2002::/16")
_ISATAP = (0x00005EFE, 0x02005EFE)  # bits 64 to 95, whatever the network before them (RFC 5214, 6.1)


def allowed_networks(entries: Iterable[str]) -> tuple[Network, ...]:
    """Read addresses and networks that are allowed; an IPv4 address written as an IPv6 one is that IPv4 address.

    Raises ValueError.
    """
    networks = map(ip_network, entries)
    return tuple(
        ip_network(_judged(network.network_address)) if _is_single(network) else network for network in networks
    )


def refuses(address: str, allow_private: bool, allowed: tuple[Network, ...] = ()) -> bool:
    """Tell whether connecting to an IP address is refused.

    With `allow_private`, or inside one of the networks `allowed`, loopback, private, carrier-grade NAT and
    documentation addresses pass. Link-local, multicast, reserved and metadata addresses pass only if `allowed` has
    that very address as an entry, for a network around it may have been listed without a thought of them. What is not
    an IP address never passes. An IPv6 form that carries an IPv4 address (mapped, NAT64, 6to4) is judged by that one,
    an ISATAP one, which any network can have, by both.
    """
    try:
        parsed = _judged(_parsed(address))
    except ValueError:
        return True
    if isinstance(parsed, IPv6Address) and parsed.scope_id is not None:
        return True
    if any(_is_single(network) and parsed in network for network in allowed):
        return False
    tunnelled = _tunnelled(parsed)
    if tunnelled is not None and refuses(str(tunnelled), allow_private, allowed):
        return True
    if _is_never(parsed):
        return True
    if allow_private or not _is_private(parsed):
        return False
    return not any(parsed in network for network in allowed)


def _parsed(address: str) -> Address:
    """Read an address. Raises ValueError. The system reads one of IPv4 in a fifth of the time that Python takes."""
    try:
        return IPv4Address(inet_pton(AF_INET, address))
    except OSError:
        return ip_address(address)


def _is_single(network: Network) -> bool:
    return network.prefixlen == network.max_prefixlen


def _judged(address: Address) -> Address:
    return _embedded(address) or address if isinstance(address, IPv6Address) else address


def _embedded(address: IPv6Address) -> IPv4Address | None:
    if address in _MAPPED or address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _6TO4:
        return IPv4Address(int(address) >> 80 & 0xFFFFFFFF)
    return None


def _tunnelled(address: Address) -> IPv4Address | None:
    if address.version == 6 and int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def _is_private(address: Address) -> bool:
    return address in (_PRIVATE_4 if address.version == 4 else _PRIVATE_6)


def _is_never(address: Address) -> bool:
    if address.version == 4:
        return address in _NEVER_4
    return address in _NEVER_6 or (address not in _GLOBAL_6 and not _is_private(address))
