"""Ports that are not asked, because another service than HTTP listens there (Fetch Standard, "bad ports").

A request to a mail or chat server can do there what its path says, so browsers refuse them all.
"""

from __future__ import annotations

from functools import lru_cache

_BAD_PORTS = """0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117
119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993
995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"""
_REFUSED = frozenset(_BAD_PORTS.split())


@lru_cache(maxsize=1_024)  # most links of a site lead to the same few
def is_refused_port(authority: str) -> bool:
    """Tell whether the port of a normalised authority, host[:port], is one that is never asked."""
    host, _, port = authority.rpartition(":")
    return host != "" and port in _REFUSED  # the end of an IPv6 literal is no port, for it has the bracket
